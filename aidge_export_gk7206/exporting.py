# SPDX-License-Identifier: EPL-2.0
"""An ONNX file to a compiled project with its reference: what ``aidge-gk7206 export`` does."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy.typing as npt
from aidge_core.export_utils import compile_export
from aidge_core.export_utils.config import ExportConfig
from aidge_core.export_utils.export import finalize_export

from aidge_export_gk7206 import explanations, reference, targets
from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.model_source import open_model, wanted_shapes
from aidge_export_gk7206.offloading import NpuOptions
from aidge_export_gk7206.simulator_export import write_simulator_model
from aidge_export_gk7206.toolchains import find_tool, require_tool

Array = npt.NDArray[Any]
Progress = Callable[[str], None]


@dataclass
class ExportReport:
    """What an export made.

    :ivar nodes: Layers, each with name, type, library and reason.
    :ivar memory: What Linux and the NPU need of the board's memory, in bytes.
    :ivar steps: Milliseconds spent in each step.
    """

    folder: Path
    target: str
    nodes: list[dict[str, str]]
    arena_bytes: int
    weights_bytes: int
    macs: int
    memory: dict[str, dict[str, int]]
    steps: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def export_model(
    model: str | Path,
    config: ExportConfig,
    *,
    sample: Array | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    npu: NpuOptions | None = None,
    force: bool = False,
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
    :param npu: What is to run on the NPU; None for nothing.
    :type npu: NpuOptions | None
    :param force: Whether to export what is larger than the board's memory, and samples that the NPU cannot hold.
    :type force: bool
    :param progress: Told the name of every step when it begins.
    :type progress: Callable[[str], None] | None
    :return: What was made.
    :rtype: ExportReport
    :raises ExportError: Something that the user can mend.
    """
    _check_config(config, on_npu=npu is not None)
    begun: list[str] = []

    def note(name: str) -> None:
        begun.append(name)
        if progress is not None:
            progress(name)

    try:
        return _export(Path(model), config, sample, shapes or {}, npu, force, note)
    # Aidge raises whatever it likes.
    except Exception as error:
        if config.xnn or npu is not None or not begun or begun[-1] == "compile":
            raise
        wanted = wanted_shapes(sample, shapes or {})
        raise explanations.explained(error, begun[-1], Path(model), wanted) from error


def _export(
    model: Path,
    config: ExportConfig,
    sample: Array | None,
    shapes: Mapping[str, Sequence[int]],
    npu: NpuOptions | None,
    force: bool,
    progress: Progress,
) -> ExportReport:
    steps: dict[str, float] = {}
    warnings: list[str] = []

    @contextmanager
    def step(name: str) -> Iterator[None]:
        progress(name)
        start = time.perf_counter()
        yield
        steps[name] = (time.perf_counter() - start) * 1e3

    with ExitStack() as stack:
        with step("prepare"):
            scratch = Path(stack.enter_context(TemporaryDirectory(prefix="aidge-gk7206-")))
            source = open_model(model, shapes, sample, xnn=config.xnn, npu=npu, scratch=scratch, force=force)
            warnings += source.warnings
        name = config.export_folder or f"export_{source.graph.name()}_{config.dtype}_{config.target}"
        with step("reference"):
            golden = source.golden()
        with step("adapt"):
            context = source.adapt(replace(config, export_folder=name))
            context.device.force = force
        with step("generate"):
            folder = Path(finalize_export(context, config.application).path)
            description = reference.store(folder, [source.sample], golden)
            if golden is not None:
                explanations.check_outputs(description["outputs"], golden.outputs)
        if source.region is not None:
            with step("simulator"):
                warnings += write_simulator_model(folder, source.region, config)
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
        description["memory"],
        steps,
        warnings,
    )


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


def _check_config(config: ExportConfig, *, on_npu: bool) -> None:
    """Refuses what would end in a silent fallback."""
    known = targets.names()
    if on_npu and config.target in known and not targets.has_npu(config.target):
        raise ExportError(
            f"target '{config.target}' has no NPU for .xmm files", "choose gk7206, or host to simulate it"
        )
    if config.target not in known:
        raise ExportError(f"target '{config.target}' is not one of this package's", f"choose {' or '.join(known)}")
    if config.dtype != "float32":
        raise ExportError(
            f"dtype {config.dtype} is not supported: the XNNPACK kernels here are float32",
            "export with --dtype float32",
        )
