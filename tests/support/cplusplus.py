# SPDX-License-Identifier: EPL-2.0
"""Compilers for C++ tests: this machine's with sanitizers, and that of the Cortex-A7 with QEMU to run what it makes."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.missing import missing, need_program

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
#: What the vendor's SDK compiles programs with.
SDK = [
    *["-mcpu=cortex-a7", "-mfloat-abi=hard", "-mfpu=neon-vfpv4", "-mthumb", "-fPIC", "-Os", "-ffunction-sections"],
    *["-fdata-sections", "-fstack-protector-strong", "-fno-aggressive-loop-optimizations"],
]


@dataclass(frozen=True)
class Build:
    """How to compile a test, and how to run it.

    :ivar packages: Debian packages of compiler and emulator.
    :ivar emulator: What to put before the program.
    """

    compiler: str
    options: Sequence[str]
    packages: Sequence[str] = ()
    emulator: Sequence[str] = ()

    def compile(self, arguments: Sequence[str | Path], program: Path) -> list[str]:
        """Compiles C++17 with warnings as errors; the command that runs it."""
        for tool, package in zip([self.compiler, *self.emulator[:1]], self.packages, strict=False):
            need_program(tool, package)
        command = [self.compiler, "-std=c++17", *WARNINGS, *self.options, *map(str, arguments), "-o", str(program)]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode != 0 and "cannot find -l" in built.stderr:
            missing(f"{self.compiler} lacks a library: {built.stderr.strip().splitlines()[-1]}")
        assert built.returncode == 0, built.stderr
        return [*self.emulator, str(program)]


BUILDS = {
    "host": Build("g++", ["-O2", *SANITIZERS], ["g++"]),
    "optimised": Build("g++", ["-O3"], ["g++"]),
    "clang": Build("clang++-19", ["-O2"], ["clang-19"]),
    "cortex-a7": Build(
        "arm-linux-gnueabihf-g++",
        [*SDK, "-static"],
        ["g++-arm-linux-gnueabihf", "qemu-user"],
        ["qemu-arm", "-cpu", "cortex-a7"],
    ),
    "cortex-a7-fp16": Build(
        "arm-linux-gnueabihf-g++",
        [*SDK, "-static", "-mfp16-format=ieee"],
        ["g++-arm-linux-gnueabihf", "qemu-user"],
        ["qemu-arm", "-cpu", "cortex-a7"],
    ),
}
