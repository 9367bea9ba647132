# SPDX-License-Identifier: EPL-2.0
"""Runs exports for this machine."""

import platform
from pathlib import Path

from aidge_export_gk7206.runners.base import LocalRunner


class HostRunner(LocalRunner):
    """Starts the program directly."""

    name = "host"

    def available(self) -> str | None:
        return None

    def command(self, binary: Path) -> list[str]:
        return [str(binary)]


def runs_here(arch: str | None) -> bool:
    """Whether this machine runs programs of an architecture: the board itself does.

    :param arch: Architecture as an export names it; None is that of the machine it was exported on.
    :type arch: str | None
    :return: Whether it does.
    :rtype: bool
    """
    machine = platform.machine()
    return arch is None or arch == machine or (arch.startswith("armv7") and machine == "armv7l")
