# SPDX-License-Identifier: EPL-2.0
"""An ONNX file to a compiled project with its reference: what ``aidge-gk7206 export`` does."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aidge_core
import numpy as np
import numpy.typing as npt
from aidge_core.export_utils import compile_export
from aidge_core.export_utils.config import ExportConfig
from aidge_core.export_utils.export import finalize_export, prepare_export

from aidge_export_gk7206 import reference, targets
from aidge_export_gk7206.assets import asset
from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.toolchains import find_tool, require_tool

Array = npt.NDArray[Any]
Progress = Callable[[str], None]


@dataclass
class ExportReport:
    """What an export made.

    :ivar nodes: Layers, each with name, type, library and reason.
    :ivar steps: Milliseconds spent in each step.
    """

    folder: Path
    target: str
    nodes: list[dict[str, str]]
    arena_bytes: int
    weights_bytes: int
    macs: int
    steps: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def export_model(
    model: str | Path,
    config: ExportConfig,
    *,
    sample: Array | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    progress: Progress | None = None,
) -> ExportReport:
    """Exports an ONNX file.

    :param model: Path of the model.
    :type model: str | Path
    :param config: Aidge's export options.
    :type config: ExportConfig
    :param sample: An input in ONNX layout, compiled in and used for the reference; random numbers when absent.
    :type sample: numpy.ndarray | None
    :param shapes: Shapes of inputs whose sizes the model leaves open, by name.
    :type shapes: Mapping[str, Sequence[int]] | None
    :param progress: Told the name of every step when it begins.
    :type progress: Callable[[str], None] | None
    :return: What was made.
    :rtype: ExportReport
    :raises ExportError: Something that the user can mend.
    """
    _check_config(config)
    steps: dict[str, float] = {}

    @contextmanager
    def step(name: str) -> Iterator[None]:
        if progress is not None:
            progress(name)
        start = time.perf_counter()
        yield
        steps[name] = (time.perf_counter() - start) * 1e3

    with step("prepare"):
        wanted = dict(shapes or {})
        if sample is not None:
            wanted.setdefault("", list(sample.shape))
        prepared = _prepare(model, wanted, config.xnn)
        shape = prepared.input_shape
        array = reference.random_input(shape) if sample is None else _checked_sample(sample, shape)
    folder = config.export_folder or f"export_{prepared.graph.name()}_{config.dtype}_{config.target}"
    # Prepared kernels take any layout, and Aidge has no name for one of more than four axes; Aidge's own operators work
    # on images that are channels last.
    layout = "nhwc" if not config.xnn else "default" if len(shape) > 4 else None
    config = replace(config, clone_model=False, dformat=layout, export_folder=folder)
    with step("reference"):
        golden = reference.run(Path(model), prepared.input_name, array)
    with step("adapt"):
        tensor = aidge_core.Tensor(np.ascontiguousarray(array))
        if len(shape) == 4:
            tensor.set_data_format(aidge_core.dformat.nchw)
        context = prepare_export(prepared.graph, config, input_tensors=[tensor])
        # Aidge's own project, which it makes for the host, could not be run on other inputs.
        context.device.board_files_path = asset(*targets.PROJECT_FILES)
    with step("generate"):
        artifact = finalize_export(context, config.application)
        folder = Path(artifact.path)
        description = reference.store(folder, [array], golden)
    if config.compile:
        with step("compile"), _build_tools():
            compile_export(
                str(folder),
                build_system=context.device.build_system,
                arch=context.device.arch,
                build_jobs=config.build_jobs or os.cpu_count(),
                static_analysis=config.static_analysis,
            )
    return ExportReport(
        folder,
        config.target,
        description["nodes"],
        description["arena_bytes"],
        description["weights_bytes"],
        description["macs"],
        steps,
    )


@dataclass(frozen=True)
class _Prepared:
    """A graph to export, and the input of the ONNX model."""

    graph: aidge_core.GraphView
    input_name: str
    input_shape: tuple[int, ...]


def _prepare(model: str | Path, shapes: Mapping[str, Sequence[int]], xnn: bool) -> _Prepared:
    """Makes the graph: of kernel operators where XNNPACK is to run them, of Aidge's own operators otherwise."""
    from aidge_export_gk7206.preparation import load, lower, to_aidge
    from aidge_export_gk7206.preparation.portable import to_portable

    name = Path(model).stem
    if not xnn:
        portable = to_portable(load(model), name, shapes)
        return _Prepared(portable.graph, portable.input_name, portable.input_shape)
    kernels = lower(load(model), name, shapes)
    (port,) = kernels.inputs
    return _Prepared(to_aidge(kernels), port.name, port.shape)


@contextmanager
def _build_tools() -> Iterator[None]:
    """Lets Aidge find the CMake and Ninja of the Python environment, whether that is activated or not."""
    before = dict(os.environ)
    os.environ["PATH"] = os.pathsep.join([str(Path(require_tool("cmake")).parent), before.get("PATH", os.defpath)])
    if find_tool("ninja") is not None:
        os.environ.setdefault("CMAKE_GENERATOR", "Ninja")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _shown(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "a scalar"


def _check_config(config: ExportConfig) -> None:
    """Refuses what would end in a silent fallback."""
    known = targets.names()
    if config.target not in known:
        raise ExportError(f"target '{config.target}' is not one of this package's", f"choose {' or '.join(known)}")
    if config.dtype != "float32":
        raise ExportError(
            f"dtype {config.dtype} is not supported: the XNNPACK kernels here are float32",
            "export with --dtype float32",
        )


def _checked_sample(sample: Array, shape: tuple[int, ...]) -> Array:
    if sample.dtype != np.float32:
        raise ExportError(
            f"the sample input is {sample.dtype}, the model takes float32", "convert it with astype('float32')"
        )
    if sample.shape != shape:
        raise ExportError(
            f"the sample input is {_shown(sample.shape)}, the shape that was given {_shown(shape)}",
            "leave one of them out",
        )
    return sample
