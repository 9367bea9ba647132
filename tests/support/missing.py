# SPDX-License-Identifier: EPL-2.0
"""Tools that tests need: without one a test is skipped, in CI it fails."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.toolchains import find_compiler, find_tool
from aidge_export_gk7206.xnnpack import provider

ARCHITECTURES = {"host": "native", "k230": "riscv64", "gk7206": "armv7", "gk7206v11a": "armv7"}
#: Begins the reason of what may be skipped in CI, too.
OPTIONAL = "not part of the project: "


def in_ci() -> bool:
    """Whether this is a run of the CI, where everything that tests need is there."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def missing(reason: str) -> NoReturn:
    """Skips the test: something is needed that the machine does not have. conftest.py makes a failure of it in CI."""
    pytest.skip(reason)


def optional(reason: str) -> NoReturn:
    """Skips the test, in CI as well: it wants something that is not the project's."""
    pytest.skip(OPTIONAL + reason)


def need_program(name: str, package: str | None = None) -> str:
    """Path of a program."""
    path = find_tool(name) or shutil.which(name)
    if path is None:
        missing(f"needs {name}: sudo apt-get install {package or name}")
    return path


def need_build_tools(target: str) -> None:
    """Everything that compiling an export for a target takes."""
    arch = ARCHITECTURES[target]
    need_program("cmake")
    try:
        compiler = find_compiler(arch)
    except ExportError as error:
        missing(str(error))
    if arch == "native" and os.environ.get("XNNPACK_ROOT"):
        return
    if provider.find(arch, compiler.identity) is None:
        missing(f"no XNNPACK for {arch} by {compiler.identity}: run `aidge-gk7206 xnnpack build --arch {arch}`")
