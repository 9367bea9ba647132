# SPDX-License-Identifier: EPL-2.0
"""What the model computes elsewhere: by ONNX Runtime, or by Aidge's CPU backend where that is not installed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from aidge_export_gk7206.errors import ExportError

Array = npt.NDArray[Any]
FOLDER = "reference"
_SEED = 1234


@dataclass(frozen=True)
class Golden:
    """Outputs of the model for one input.

    :ivar source: Who computed them, with version.
    :ivar tolerances: For each output how far a program may be from it beyond rounding, where something is quantised.
    """

    source: str
    outputs: list[Array]
    tolerances: list[float] | None = None


def random_input(shape: tuple[int, ...]) -> Array:
    """The sample that is used when none is given: uniform in [0, 1), always the same."""
    return np.random.default_rng(_SEED).random(shape, dtype=np.float32)


def run(model: Path, name: str, array: Array) -> Golden:
    """Runs an ONNX file.

    :param model: Path of the file.
    :param name: Name of its input.
    :param array: The input, ONNX layout.
    :raises ExportError: The reference refuses the model.
    """
    if find_spec("onnxruntime") is not None:
        return run_onnxruntime(model, {name: array})
    return _backend_cpu(model, array)


class OnnxRuntime:
    """A model that ONNX Runtime runs.

    :param model: Path of an ONNX file, or its contents.
    :param threads: How many it may use; 0 for one per processor.
    :raises ExportError: ONNX Runtime is not installed, or refuses the model.
    """

    def __init__(self, model: Path | bytes, threads: int = 0) -> None:
        try:
            import onnxruntime
        except ModuleNotFoundError:
            raise ExportError("onnxruntime is not installed", "pip install onnxruntime") from None

        self.source = f"onnxruntime {onnxruntime.__version__}"
        self._name = "a part of the model" if isinstance(model, bytes) else str(model)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = threads
        # Slower, but without the mistakes of its rewrites: 1.32 fuses a transpose into a product with a vector,
        # wrongly.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        source = model if isinstance(model, bytes) else str(model)
        try:
            self._session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise self._refused(error) from error

    def run(self, inputs: Mapping[str, Array]) -> Golden:
        """Runs the model.

        :param inputs: Its inputs by name, ONNX layout.
        :raises ExportError: ONNX Runtime cannot.
        """
        try:
            outputs = self._session.run(None, dict(inputs))
        except Exception as error:
            raise self._refused(error) from error
        return Golden(self.source, [np.asarray(output) for output in outputs])

    def _refused(self, error: Exception) -> ExportError:
        reason = (str(error).splitlines() or [""])[0]
        return ExportError(f"onnxruntime cannot run {self._name}: {reason}", "check the model")


def run_onnxruntime(model: Path | bytes, inputs: Mapping[str, Array]) -> Golden:
    """Runs a model with ONNX Runtime, once; see :class:`OnnxRuntime`."""
    return OnnxRuntime(model).run(inputs)


def _backend_cpu(model: Path, array: Array) -> Golden:
    import aidge_backend_cpu  # noqa: F401 - registers the backend
    import aidge_core
    import aidge_onnx

    graph = aidge_onnx.load_onnx(str(model))
    graph.set_backend("cpu")
    graph.set_datatype(aidge_core.dtype.float32)
    graph.forward_dims([list(array.shape)], allow_data_dependency=True)
    tensor = aidge_core.Tensor(np.ascontiguousarray(array))
    outputs = aidge_core.SequentialScheduler(graph).forward(data=[tensor])
    return Golden(f"aidge_backend_cpu {version('aidge-backend-cpu')}", [np.array(output) for output in outputs])


def store(export_folder: Path, inputs: list[Array], golden: Golden | None) -> dict[str, Any]:
    """Writes inputs and outputs into the export and names them in export.json.

    :param golden: None where nobody can compute the outputs; then export.json names the inputs only.
    :return: The new contents of export.json.
    """
    path = export_folder / "export.json"
    description: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    folder = export_folder / FOLDER
    folder.mkdir(exist_ok=True)
    files: dict[str, list[str]] = {}
    for side, arrays in (("inputs", inputs), ("outputs", golden.outputs if golden else [])):
        files[side] = [f"{FOLDER}/{side[:-1]}_{i}.npy" for i in range(len(arrays))]
        for file, array in zip(files[side], arrays, strict=True):
            np.save(export_folder / file, np.asarray(array, order="C"))
    description["reference"] = {"source": golden.source if golden else "none", **files}
    if golden is not None and golden.tolerances is not None:
        description["reference"]["tolerances"] = golden.tolerances
    path.write_text(json.dumps(description, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return description
