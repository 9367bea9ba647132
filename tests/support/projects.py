# SPDX-License-Identifier: EPL-2.0
"""Exports compiled and run."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aidge_core
import numpy as np
import numpy.typing as npt
from aidge_core.export_utils.config import ExportConfig

from aidge_export_gk7206.export_folder import ExportFolder
from aidge_export_gk7206.exporting import export_model
from aidge_export_gk7206.runners.base import Runner
from aidge_export_gk7206.runners.host import HostRunner
from aidge_export_gk7206.runners.qemu import QemuRunner
from aidge_export_gk7206.toolchains import require_tool

Array = npt.NDArray[Any]

aidge_core.Log.set_console_level(aidge_core.Level.Error)

#: Where programs run, and the target that they are exported for.
RUNNERS = {"host": "host", "vlen128": "k230", "vlen256": "k230"}
#: Toolchain files that targets are compiled with.
TOOLCHAINS = {"k230": "riscv64", "gk7206": "armv7-cortex-a7", "gk7206v11a": "armv7-cortex-a7"}
TOLERANCE = 1e-5
# Neither Aidge nor onnxscript is made for threads.
_exporting = threading.Lock()


def export(model: Path, folder: Path, target: str, sample: Array | None = None, **options: Any) -> ExportFolder:
    """Exports a model without compiling it."""
    config = ExportConfig(target=target, xnn=options.pop("xnn", True), export_folder=str(folder), compile=False)
    with _exporting:
        export_model(model, config, sample=sample, **options)
    return ExportFolder.load(folder)


def environment(target: str) -> dict[str, str]:
    """Variables for a build: XNNPACK_ROOT is for this machine only."""
    return {key: value for key, value in os.environ.items() if target == "host" or key != "XNNPACK_ROOT"}


def configure(folder: Path, target: str, *options: str, build: str = "build") -> None:
    """Runs CMake on an export.

    :raises AssertionError: It failed.
    """
    toolchain = ["--toolchain", f"cmake/{TOOLCHAINS[target]}.toolchain"] if target in TOOLCHAINS else []
    command = [require_tool("cmake"), "-S", ".", "-B", build, "-G", "Ninja", *toolchain, *options]
    result = subprocess.run(command, cwd=folder, env=environment(target), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-1000:] + result.stderr[-3000:]


def compile_target(folder: Path, target: str, *names: str, build: str = "build", jobs: int = 1) -> str:
    """Builds targets of a configured export, by default all.

    :return: What the build said.
    :raises AssertionError: It failed.
    """
    command = [require_tool("cmake"), "--build", build, "--parallel", str(jobs)]
    for name in names:
        command += ["--target", name]
    result = subprocess.run(command, cwd=folder, env=environment(target), capture_output=True, text=True, check=False)
    text = result.stdout + result.stderr
    errors = [line for line in text.splitlines() if "error" in line or "undefined reference" in line]
    assert result.returncode == 0, "\n".join(errors[:8]) or text[-3000:]
    return text


def runner_of(name: str) -> Runner:
    """``host``, ``vlen128``, ``vlen256`` or ``cortex-a7``."""
    if name == "cortex-a7":
        return QemuRunner("armv7")
    return HostRunner() if name == "host" else QemuRunner("riscv64", vlen=int(name.removeprefix("vlen")))


def difference(output: Array, expected: Array) -> float:
    """Largest difference, in units of the tolerance: at most 1 is good."""
    assert output.shape == expected.shape
    if output.size == 0:
        return 0.0
    equal = (output == expected) | (np.isnan(output) & np.isnan(expected))
    wrong = np.where(equal, 0.0, np.abs(output.astype(np.float64) - expected))
    finite = expected[np.isfinite(expected)]
    scale = max(1.0, float(np.abs(finite).max(initial=0.0)))
    return float(np.nan_to_num(wrong, nan=np.inf).max()) / (TOLERANCE * scale)


def check_outputs(outputs: Sequence[Array], expected: Sequence[Array]) -> None:
    """Compares with the reference: max_abs_diff <= 1e-5 * max(1, max_abs_reference)."""
    assert len(outputs) == len(expected)
    for i, (output, wanted) in enumerate(zip(outputs, expected, strict=True)):
        off = difference(output, wanted)
        assert off <= 1, f"output {i} {list(wanted.shape)} is off by {off:.3g} times the tolerance"
