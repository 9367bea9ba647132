# SPDX-License-Identifier: EPL-2.0
"""What there is to export: an ONNX file, one with a region on the NPU, or a model of the NPU alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aidge_core
import numpy as np
import numpy.typing as npt
from aidge_core.export_utils.config import ExportConfig
from aidge_core.export_utils.export import ExportContext, prepare_export

from aidge_export_gk7206 import reference, targets
from aidge_export_gk7206.assets import asset
from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.npu.checks import warnings
from aidge_export_gk7206.npu.offload import Region
from aidge_export_gk7206.npu.xmm import read
from aidge_export_gk7206.offloading import NpuOptions, golden_vectors, kernels_from_xmm, offload_model, random_sample
from aidge_export_gk7206.preparation import load, lower, to_aidge
from aidge_export_gk7206.reference import Golden

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ModelSource:
    """A graph to export, with what it must give.

    :ivar graph: The graph.
    :ivar is_prepared: Whether it is of kernel operators, not of Aidge's own.
    :ivar sample: An input, in the layout of the model.
    :ivar golden: Computes the outputs for the sample; gives None where nobody can.
    :ivar is_image: Whether the sample's axes are those of ONNX, so that images are channels first.
    :ivar warnings: What is worth knowing of it.
    :ivar region: What runs on the NPU and is known as a graph.
    """

    graph: aidge_core.GraphView
    is_prepared: bool
    sample: Array
    golden: Callable[[], Golden | None]
    is_image: bool = True
    warnings: tuple[str, ...] = ()
    region: Region | None = None

    def adapt(self, config: ExportConfig) -> ExportContext:
        """Lets Aidge choose the libraries and schedule the layers."""
        # Prepared kernels take any layout, and Aidge has no name for one of more than four axes; Aidge's own operators
        # work on images that are channels last.
        layout = "nhwc" if not self.is_prepared else "default" if self.sample.ndim > 4 else None
        tensor = aidge_core.Tensor(np.ascontiguousarray(self.sample))
        if self.sample.ndim == 4 and self.sample.dtype == np.float32 and self.is_image:
            tensor.set_data_format(aidge_core.dformat.nchw)
        config = replace(config, clone_model=False, dformat=layout)
        context = prepare_export(self.graph, config, input_tensors=[tensor])
        # Aidge's own project, which it makes for the host, could not be run on other inputs.
        context.device.board_files_path = asset(*targets.PROJECT_FILES)
        return context


def open_model(
    path: Path,
    shapes: Mapping[str, Sequence[int]],
    sample: Array | None,
    *,
    xnn: bool,
    npu: NpuOptions | None,
    scratch: Path,
    force: bool = False,
) -> ModelSource:
    """Reads a model and prepares its graph.

    :param path: ONNX or ``.xmm`` file.
    :param shapes: Shapes of inputs whose sizes the model leaves open, by name.
    :param sample: An input; random numbers when absent.
    :param xnn: Whether XNNPACK runs what the NPU does not.
    :param npu: What is to run on the NPU.
    :param scratch: A folder for files that the export needs while it is made.
    :param force: Whether to take samples that the NPU cannot hold.
    :raises ExportError: The model cannot be exported right.
    """
    raw = npu is not None and npu.preprocessing.raw
    if sample is not None and sample.dtype != (np.uint8 if raw else np.float32):
        dtype = "uint8" if raw else "float32"
        raise ExportError(
            f"the sample input is {sample.dtype}, the program takes {dtype}", f"convert it with astype('{dtype}')"
        )
    if sample is not None and not np.isfinite(sample).all():
        raise ExportError(
            f"the sample input holds {np.count_nonzero(~np.isfinite(sample))} values that are infinite or not a number",
            "its outputs could not be compared: give finite ones",
        )
    if path.suffix == ".xmm":
        return _from_xmm(path, sample, npu or NpuOptions())
    wanted = wanted_shapes(None if raw else sample, shapes)
    if npu is not None:
        return _offloaded(path, wanted, sample, xnn, npu, scratch, force)
    return _whole(path, wanted, sample, xnn)


def wanted_shapes(sample: Array | None, shapes: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    """Shapes of inputs by name: those that were given, else that of the sample."""
    wanted = dict(shapes)
    if sample is not None:
        wanted.setdefault("", list(sample.shape))
    return wanted


def _whole(path: Path, shapes: Mapping[str, Sequence[int]], sample: Array | None, xnn: bool) -> ModelSource:
    """Of kernel operators where XNNPACK is to run them, of Aidge's own operators otherwise."""
    from aidge_export_gk7206.preparation.portable import to_portable

    if xnn:
        kernels = lower(load(path), path.stem, shapes)
        (port,) = kernels.inputs
        graph, name, shape = to_aidge(kernels), port.name, port.shape
    else:
        portable = to_portable(load(path), path.stem, shapes)
        graph, name, shape = portable.graph, portable.input_name, portable.input_shape
    array = reference.random_input(shape) if sample is None else _checked(sample, shape)
    return ModelSource(graph, xnn, array, lambda: reference.run(path, name, array))


def _checked(sample: Array, shape: tuple[int, ...]) -> Array:
    if sample.shape != shape:
        raise ExportError(
            f"the sample input is {_shown(sample.shape)}, the shape that was given {_shown(shape)}",
            "leave one of them out",
        )
    return sample


def _shown(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "a scalar"


def _offloaded(
    path: Path,
    shapes: Mapping[str, Sequence[int]],
    sample: Array | None,
    xnn: bool,
    npu: NpuOptions,
    scratch: Path,
    force: bool,
) -> ModelSource:
    if sample is not None and not npu.preprocessing.raw:
        npu = replace(npu, samples=[sample, *npu.samples])
    offloaded = offload_model(load(path), path.stem, shapes, npu, scratch)
    others = [op for op in offloaded.kernels.ops if op.type.startswith("Xnn")]
    if others and not xnn:
        raise ExportError(
            f"{len(others)} layers are not on the NPU, the first is '{others[0].layer}' ({others[0].origin})",
            "export with --xnn, so that XNNPACK runs them",
        )
    (port,) = offloaded.kernels.inputs
    array = None if sample is None else _checked(sample, port.shape)
    if array is None and port.dtype == "float32":
        array = offloaded.samples[0] if offloaded.samples else random_sample(port.shape, npu.preprocessing)
    elif array is None:
        array = random_input(port.shape, port.dtype)
    if not force:
        offloaded.check_range(array)
    notes = warnings(offloaded.region.file)
    if npu.file is None and not npu.samples:
        notes.append("its ranges come from random numbers: give samples with --calibration or --input")
    return ModelSource(
        to_aidge(offloaded.kernels),
        True,
        array,
        lambda: offloaded.golden(array),
        warnings=tuple(f"{offloaded.region.path.name}: {note}" for note in notes),
        region=offloaded.region,
    )


def _from_xmm(path: Path, sample: Array | None, npu: NpuOptions) -> ModelSource:
    if npu.file is not None or npu.outputs or not npu.preprocessing.is_identity:
        raise ExportError("the model is a .xmm file itself", "leave out --xmm, --xmm-output, --mean, --std and --order")
    kernels = kernels_from_xmm(path, raw=npu.preprocessing.raw)
    notes = tuple(f"{path.name}: {note}" for note in warnings(read(path)))
    (port,) = kernels.inputs
    vectors = golden_vectors(path) if sample is None else None
    if vectors is not None:
        return ModelSource(to_aidge(kernels), True, vectors.sample(port.dtype), lambda: vectors.golden, False, notes)
    array = random_input(port.shape, port.dtype) if sample is None else sample
    if array.shape != port.shape:
        raise ExportError(f"the sample is {list(array.shape)}, the file takes {list(port.shape)}", "reshape it")
    return ModelSource(to_aidge(kernels), True, array, lambda: None, False, notes)


def random_input(shape: tuple[int, ...], dtype: str) -> Array:
    """The sample that is used when none is given: always the same."""
    if dtype == "uint8":
        return (reference.random_input(shape) * 256).astype(np.uint8)
    return reference.random_input(shape)
