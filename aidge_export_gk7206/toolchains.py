# SPDX-License-Identifier: EPL-2.0
"""Finds CMake, Ninja and the compilers. For a cross compiler the toolchain file itself is asked."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from aidge_export_gk7206.assets import asset
from aidge_export_gk7206.errors import ExportError

#: Architectures that code can be built for, each with its toolchain file.
TOOLCHAINS: dict[str, str | None] = {
    "riscv64": "riscv64.toolchain",
    "armv7": "armv7-cortex-a7.toolchain",
    "native": None,
}


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler and what runs its programs.

    :param path: The compiler.
    :param family: ``GNU`` or ``Clang``, as CMake names it.
    :param version: For instance ``19.1.7``.
    :param emulator: Command line of QEMU; empty when missing or not needed.
    """

    path: str
    family: str
    version: str
    emulator: str = ""

    @property
    def identity(self) -> str:
        """Family and version, as a cached build's stamp has them."""
        return f"{self.family} {self.version}"


def find_tool(name: str) -> str | None:
    """Looks for a program beside the Python interpreter (wheels put it there), then on the PATH.

    :param name: Name of the program.
    :return: Its path, None when it is nowhere.
    """
    beside = str(Path(sys.executable).parent)
    return shutil.which(name, path=os.pathsep.join([beside, os.environ.get("PATH", os.defpath)]))


def require_tool(name: str) -> str:
    """Like find_tool, for programs that cannot be done without.

    :param name: Name of the program, the same as its package on PyPI.
    :return: Its path.
    :raises ExportError: It is nowhere.
    """
    path = find_tool(name)
    if path is None:
        problem = f"{name} is not beside {sys.executable} nor on the PATH"
        raise ExportError(problem, f"{sys.executable} -m pip install {name}")
    return path


def toolchain_file(arch: str) -> Path | None:
    """The CMake toolchain file of an architecture.

    :param arch: ``riscv64``, ``armv7`` or ``native``.
    :return: Its path, None for native.
    :raises ExportError: There is no such architecture.
    """
    if arch not in TOOLCHAINS:
        raise ExportError(f"unknown architecture {arch!r}", f"use one of {', '.join(TOOLCHAINS)}")
    name = TOOLCHAINS[arch]
    return asset("cmake", name) if name else None


def find_compiler(arch: str) -> Compiler:
    """The compiler that a build for an architecture will use.

    :param arch: ``riscv64``, ``armv7`` or ``native``.
    :return: The compiler.
    :raises ExportError: There is none, or only one that is too old.
    """
    file = toolchain_file(arch)
    if file is None:
        return _native_compiler()
    command = [require_tool("cmake"), f"-DTOOLCHAIN={file}", "-P", str(asset("cmake", "provider", "describe.cmake"))]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        problem, remedy = split_cmake_error(result.stderr)
        raise ExportError(problem, remedy)
    found = json.loads(result.stdout)
    family = "Clang" if "clang" in Path(found["cxx"]).name else "GNU"
    return Compiler(found["cxx"], family, found["version"], found["emulator"])


def split_cmake_error(text: str) -> tuple[str, str]:
    """The message of a failed CMake run, without CMake's own words around it.

    :param text: What CMake wrote to stderr.
    :return: The message on one line, and the indented command in it that mends it (empty when there is none).
    """
    match = re.search(r"CMake Error[^\n]*:\n(.*?)(?:\n\n\n|\nCall Stack|\Z)", text, re.DOTALL)
    lines = (match.group(1) if match else text).splitlines()
    remedy = next((line.strip() for line in lines if line.startswith("    ")), "")
    before = " ".join(line.strip() for line in lines if not line.startswith("    "))
    problem = re.split(r"\. +Install (?:one|it):", before)[0] if remedy else before
    return " ".join(problem.split()), remedy


def _native_compiler() -> Compiler:
    name = os.environ.get("CXX") or "c++"
    path = shutil.which(name)
    if path is None:
        raise ExportError(f"no C++ compiler for this machine ({name} is not on the PATH)", "sudo apt-get install g++")
    # The name c++ does not tell what it is.
    banner = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    family, options = (
        ("Clang", ["-dumpversion"]) if "clang" in banner else ("GNU", ["-dumpfullversion", "-dumpversion"])
    )
    version = subprocess.run([path, *options], capture_output=True, text=True, check=False).stdout.strip()
    return Compiler(path, family, version)
