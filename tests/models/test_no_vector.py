# SPDX-License-Identifier: EPL-2.0
"""A program for the K230 on a processor without the vector extension."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from support.missing import need_program

from aidge_export_gk7206.runners.qemu import QemuRunner


@pytest.mark.slow
def test_says_that_the_vector_extension_is_missing(projects: Any) -> None:
    need_program("qemu-riscv64", "qemu-user")
    command = QemuRunner("riscv64").command(projects.get("lenet", "k230").binary())
    command[command.index("-cpu") + 1] = "rv64,v=false"
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1, "an illegal instruction before the check"
    assert len(result.stderr.splitlines()) == 1
    assert "vector extension" in result.stderr
