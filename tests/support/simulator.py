# SPDX-License-Identifier: EPL-2.0
"""Programs that use the simulator of the NPU runtime, and models for them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aidge_export_gk7206.assets import asset
from aidge_export_gk7206.npu.layout import DataType
from aidge_export_gk7206.npu.writer import NodeSpec, TensorSpec, XmmSpec, write_xmm
from support.missing import need_program

SOURCES = Path(__file__).parent.parent / "simulator"
WARNINGS = "-Wall -Wextra -Werror -Wpedantic -Wconversion -Wsign-conversion -Wshadow"
MISUSE = 97
ABORTED = -6


@dataclass(frozen=True)
class Programs:
    """Compiled test programs.

    :ivar folder: Where they are.
    :ivar launcher: What runs them, e.g. an emulator.
    """

    folder: Path
    launcher: Sequence[str] = ()
    environment: dict[str, str] = field(default_factory=dict)

    def run(
        self, name: str, *arguments: object, stdin: bytes = b"", cwd: Path | None = None, **variables: object
    ) -> subprocess.CompletedProcess[str]:
        """Runs one; ``strict=1`` sets XMEDIA_SIM_STRICT, and so on."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("XMEDIA_SIM_")}
        environment |= self.environment
        environment |= {f"XMEDIA_SIM_{key.upper()}": str(value) for key, value in variables.items()}
        command = [*self.launcher, str(self.folder / name), *map(str, arguments)]
        result = subprocess.run(command, input=stdin, capture_output=True, env=environment, cwd=cwd, check=False)
        return subprocess.CompletedProcess(command, result.returncode, result.stdout.decode(), result.stderr.decode())

    def passes(self, name: str, *arguments: object, **options: object) -> str:
        """Runs one that must succeed.

        :return: What it wrote to stdout.
        """
        result = self.run(name, *arguments, **options)  # type: ignore[arg-type]
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout


def build(folder: Path, *options: str, flags: str = "") -> None:
    """Compiles all programs with warnings as errors."""
    cmake = need_program("cmake")
    configure = [cmake, "-S", str(SOURCES), "-B", str(folder), f"-DSIMULATOR={asset('simulator')}"]
    # Sanitizers see more without optimisation's merging of accesses, and -O1 compiles faster than -O2.
    configure += [f"-DCMAKE_CXX_FLAGS=-O1 {WARNINGS} {flags}", f"-DCMAKE_C_FLAGS=-std=c99 {WARNINGS} {flags}", *options]
    for command in (configure, [cmake, "--build", str(folder), "--parallel", "2"]):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr


def two_by_two(**options: object) -> XmmSpec:
    """Two inputs, two outputs, constants, a workspace."""
    tensors = [
        TensorSpec([1, 4, 4, 3], "input", name="image"),
        TensorSpec([1, 5], "input", DataType.INT8),
        TensorSpec([4, 4], "constant", DataType.INT8, data=bytes(range(16))),
        TensorSpec([3], "constant", DataType.INT32, data=bytes(range(100, 112))),
        TensorSpec([1, 300], "workspace"),
        TensorSpec([1, 7], "output", scale=0.5, zero_point=3),
        TensorSpec([1, 4, 2, 2], "output", DataType.INT8),
    ]
    return XmmSpec(tensors, nodes=[NodeSpec("node", [0, 1, 2, 3], [5, 6])], **options)  # type: ignore[arg-type]


def saved(folder: Path, spec: XmmSpec | bytes, name: str = "model.xmm") -> Path:
    path = folder / name
    path.write_bytes(spec if isinstance(spec, bytes) else write_xmm(spec))
    return path


def described(programs: Programs, path: Path, *arguments: str) -> dict[str, object]:
    text = programs.passes("describe", path, *arguments)
    answer = json.loads(text[text.index("{") :])
    assert isinstance(answer, dict)
    return answer
