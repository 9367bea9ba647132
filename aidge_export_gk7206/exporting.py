# SPDX-License-Identifier: EPL-2.0
"""An ONNX file to a compiled project with its reference: what ``aidge-gk7206 export`` does."""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aidge_core
import numpy as np
import numpy.typing as npt
import onnx
from aidge_core.export_utils import compile_export
from aidge_core.export_utils.config import ExportConfig
from aidge_core.export_utils.export import finalize_export, prepare_export

from aidge_export_gk7206 import reference, targets
from aidge_export_gk7206.assets import asset
from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.toolchains import find_tool, require_tool
from aidge_export_gk7206.xnnpack.fallbacks import REMEDY

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
    if config.xnn:
        return _export_model(model, config, sample, shapes, progress)
    steps: list[str] = []

    def note(step: str) -> None:
        steps.append(step)
        if progress is not None:
            progress(step)

    try:
        return _export_model(model, config, sample, shapes, note)
    # Aidge raises whatever it likes.
    except Exception as error:
        if not steps or steps[-1] == "compile":
            raise
        raise _explained(error, steps[-1], model, sample, shapes) from error


def _export_model(
    model: str | Path,
    config: ExportConfig,
    sample: Array | None,
    shapes: Mapping[str, Sequence[int]] | None,
    progress: Progress | None,
) -> ExportReport:
    steps: dict[str, float] = {}

    @contextmanager
    def step(name: str) -> Iterator[None]:
        if progress is not None:
            progress(name)
        start = time.perf_counter()
        yield
        steps[name] = (time.perf_counter() - start) * 1e3

    with step("prepare"):
        wanted = _wanted_shapes(sample, shapes)
        prepared = _prepare(model, wanted, config.xnn)
        shape = prepared.input_shape
        array = reference.random_input(shape) if sample is None else _checked_sample(sample)
    folder = config.export_folder or f"export_{prepared.graph.name()}_{config.dtype}_{config.target}"
    # Prepared kernels take any layout; Aidge's own operators work on images that are channels last.
    config = replace(config, clone_model=False, dformat=None if config.xnn else "nhwc", export_folder=folder)
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
        _check_outputs(description["outputs"], golden.outputs)
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


def _wanted_shapes(sample: Array | None, shapes: Mapping[str, Sequence[int]] | None) -> dict[str, Sequence[int]]:
    wanted = dict(shapes or {})
    if sample is not None:
        wanted.setdefault("", list(sample.shape))
    return wanted


def _explained(
    error: Exception,
    step: str,
    model: str | Path,
    sample: Array | None,
    shapes: Mapping[str, Sequence[int]] | None,
) -> Exception:
    """An error of the way without XNNPACK, with a remedy that can be followed: to take the other way, if that works."""
    if isinstance(error, ExportError) and "prepare(" not in error.remedy:
        return error
    if isinstance(error, OSError):
        return error
    from aidge_export_gk7206.preparation import load, lower

    try:
        lower(load(model), Path(model).stem, _wanted_shapes(sample, shapes))
    except ExportError as other:
        return other
    except Exception:
        return _invalid(model) or error
    return ExportError(_problem(error, step), "export with XNNPACK (--xnn)")


def _invalid(model: str | Path) -> ExportError | None:
    """What ONNX's own checker finds wrong with a model."""
    try:
        onnx.checker.check_model(str(model))
    except onnx.checker.ValidationError as invalid:
        reason = " ".join((str(invalid).strip().splitlines() or ["no reason given"])[0].split())
        return ExportError(f"{model}: not a valid ONNX model ({reason})", "check the file with onnx.checker")
    return None


def _problem(error: Exception, step: str) -> str:
    """What is wrong, in one line."""
    if isinstance(error, ExportError):
        return error.problem
    text = str(error).strip()
    if (missing := re.search(r"No implementation found for node ([^\n]*)\[(\w+)\]", text)) is not None:
        return f"layer '{missing.group(1)}' ({missing.group(2)}): export_cpp has no kernel for it"
    first = (text.splitlines() or ["no message"])[0].rstrip(" .:")
    return f"{first} ({type(error).__name__} in step '{step}')"


def _check_outputs(described: list[dict[str, Any]], expected: list[Array]) -> None:
    """Refuses a program whose outputs are not the model's.

    :raises ExportError: Aidge has lost one, or its shape.
    """
    found = [(str(port["name"]), tuple(port["shape"])) for port in described]
    # Aidge has no scalars.
    if [shape or (1,) for _, shape in found] != [array.shape or (1,) for array in expected]:
        shapes = ", ".join(f"'{name}' {list(shape)}" for name, shape in found)
        wanted = ", ".join(str(list(array.shape)) for array in expected)
        raise ExportError(f"Aidge has lost track of the outputs: {shapes} instead of {wanted}", REMEDY)


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


def _checked_sample(sample: Array) -> Array:
    if sample.dtype != np.float32:
        raise ExportError(
            f"the sample input is {sample.dtype}, the model takes float32", "convert it with astype('float32')"
        )
    if not np.isfinite(sample).all():
        raise ExportError(
            f"the sample input holds {np.count_nonzero(~np.isfinite(sample))} values that are infinite or not a number",
            "its outputs could not be compared: give finite ones",
        )
    return sample
