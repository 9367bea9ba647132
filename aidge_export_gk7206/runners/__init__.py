# SPDX-License-Identifier: EPL-2.0
"""What runs an export: this machine or an emulator, behind one interface."""

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.export_folder import ExportFolder
from aidge_export_gk7206.runners.base import Runner, RunOptions, RunResult
from aidge_export_gk7206.runners.host import HostRunner, runs_here
from aidge_export_gk7206.runners.qemu import QemuRunner

RUNNERS = ("auto", "host", "qemu")

__all__ = ["RUNNERS", "HostRunner", "QemuRunner", "RunOptions", "RunResult", "Runner", "get_runner"]


def get_runner(name: str, export: ExportFolder, vlen: int = 128) -> Runner:
    """The runner for an export.

    :param name: ``"host"``, ``"qemu"``, or ``"auto"``: host where this machine can run the export, else QEMU.
    :type name: str
    :param export: The export.
    :type export: ExportFolder
    :param vlen: Bits of a RISC-V vector register under QEMU.
    :type vlen: int
    :return: A runner that fits the export.
    :rtype: Runner
    :raises ExportError: There is none of that name, or it cannot run an export for that architecture.
    """
    if name not in RUNNERS:
        raise ExportError(f"no runner '{name}'", f"there are {', '.join(RUNNERS)}")
    here = runs_here(export.arch)
    if name == "host" and not here:
        raise ExportError(f"the export in '{export.path}' is for {export.arch}, not for this machine", "use --on qemu")
    if name == "host" or (name == "auto" and here):
        return HostRunner()
    if export.arch is None:
        raise ExportError(f"the export in '{export.path}' is for this machine", "use --on host")
    return QemuRunner(export.arch, vlen)
