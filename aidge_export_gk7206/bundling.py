# SPDX-License-Identifier: EPL-2.0
"""An ONNX file to a bundle for the vendor's compiler: what ``aidge-gk7206 bundle`` does."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aidge_export_gk7206.npu.bundle import check_folder, write_bundle
from aidge_export_gk7206.npu.bundle_readme import Origin
from aidge_export_gk7206.npu.offload import cut
from aidge_export_gk7206.npu.preprocessing import Preprocessing
from aidge_export_gk7206.preparation import cleaned, load
from aidge_export_gk7206.tensor_files import load_array


def bundle_model(
    model: Path,
    folder: Path,
    samples: Sequence[Path],
    *,
    sample: Path | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    outputs: Sequence[str] = (),
    preprocessing: Preprocessing | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Writes what the vendor's compiler needs of a model.

    :param model: The ONNX file.
    :type model: Path
    :param folder: Where to write; see :func:`aidge_export_gk7206.npu.bundle.write_bundle`.
    :type folder: Path
    :param samples: Files to calibrate with, see :mod:`aidge_export_gk7206.samples`.
    :type samples: Sequence[Path]
    :param sample: One more, which comes first; as a tensor it also fixes the dims that the model leaves open.
    :type sample: Path | None
    :param shapes: Shapes of inputs whose sizes the model leaves open, by name.
    :type shapes: Mapping[str, Sequence[int]] | None
    :param outputs: Tensors where the NPU's part ends, by default the model's outputs.
    :type outputs: Sequence[str]
    :param preprocessing: What the model's input is made from pixels with.
    :type preprocessing: Preprocessing | None
    :param progress: Told the name of every step when it begins.
    :type progress: Callable[[str], None] | None
    :return: What the bundle's ``bundle.json`` says.
    :rtype: dict[str, Any]
    :raises ExportError: Something that the user can mend.
    """
    report = progress or (lambda step: None)
    check_folder(folder)
    report("prepare")
    wanted = dict(shapes or {})
    files = list(samples)
    if sample is not None:
        files.insert(0, sample)
        if sample.suffix == ".npy" and (array := load_array(sample)).dtype == np.float32:
            wanted.setdefault("", list(array.shape))
    graph = load(model)
    cleaned(graph, wanted)
    region = cut(graph, list(outputs) or [value.name or "" for value in graph.graph.outputs])
    report(f"{len(files)} samples")
    return write_bundle(folder, region, files, preprocessing or Preprocessing(), Origin(model.name, tuple(outputs)))
