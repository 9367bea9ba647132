# SPDX-License-Identifier: EPL-2.0
"""Runs exports for other architectures under QEMU's user-mode emulation."""

from __future__ import annotations

import os
import shutil
import struct
from dataclasses import dataclass
from pathlib import Path

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.runners.base import LocalRunner

_PT_INTERP = 3


@dataclass(frozen=True)
class Emulation:
    """How to emulate one architecture.

    :ivar program: QEMU's program; Debian also has it with ``-static`` at the end.
    :ivar cpu: Argument of ``-cpu``; ``{vlen}`` stands for the bits of a vector register.
    :ivar sysroot: Where Debian puts the C library of that architecture, for programs that are linked dynamically.
    :ivar packages: What to install for that C library.
    """

    program: str
    cpu: str
    sysroot: str
    packages: str


EMULATIONS = {
    "riscv64": Emulation(
        "qemu-riscv64", "rv64,v=true,vlen={vlen},elen=64", "/usr/riscv64-linux-gnu", "libc6-riscv64-cross"
    ),
    "armv7": Emulation("qemu-arm", "cortex-a7", "/usr/arm-linux-gnueabihf", "libc6-armhf-cross"),
}


class QemuRunner(LocalRunner):
    """Starts the program under QEMU.

    :param arch: Architecture as an export names it.
    :type arch: str
    :param vlen: Bits of a RISC-V vector register.
    :type vlen: int
    :raises ExportError: QEMU is not set up for that architecture, or the length is not one.
    """

    name = "qemu"

    def __init__(self, arch: str, vlen: int = 128) -> None:
        # The names of toolchain files say more, e.g. armv7-cortex-a7.
        found = EMULATIONS.get(arch.split("-", maxsplit=1)[0])
        if found is None:
            known = ", ".join(EMULATIONS)
            raise ExportError(f"runner 'qemu' does not know architecture '{arch}'", f"it knows {known}")
        if not (128 <= vlen <= 1024 and vlen & (vlen - 1) == 0):
            raise ExportError(f"vector length {vlen} is not possible", "use 128, 256, 512 or 1024 bits")
        self._emulation = found
        self._vlen = vlen

    def available(self) -> str | None:
        if self._emulator() is None:
            return f"{self._emulation.program} is not installed: sudo apt-get install qemu-user"
        return None

    def command(self, binary: Path) -> list[str]:
        command = [self._emulator() or self._emulation.program, "-cpu", self._emulation.cpu.format(vlen=self._vlen)]
        if _is_dynamic(binary):
            command += ["-L", self._sysroot()]
        return [*command, str(binary)]

    def _emulator(self) -> str | None:
        return shutil.which(self._emulation.program) or shutil.which(f"{self._emulation.program}-static")

    def _sysroot(self) -> str:
        toolchain = os.environ.get("RISCV_TOOLCHAIN_ROOT")
        candidates = [os.environ.get("QEMU_LD_PREFIX"), f"{toolchain}/sysroot" if toolchain else None]
        for candidate in [*candidates, self._emulation.sysroot]:
            if candidate and Path(candidate, "lib").is_dir():
                return candidate
        raise ExportError(
            f"the program needs shared libraries, and {self._emulation.sysroot} has none",
            f"sudo apt-get install {self._emulation.packages}, or set QEMU_LD_PREFIX to the board's root",
        )


def _is_dynamic(binary: Path) -> bool:
    """Whether a program asks for a dynamic linker: whether its ELF file has a segment PT_INTERP."""
    data = binary.read_bytes()[:4096]
    if data[:4] != b"\x7fELF" or len(data) < 64:
        raise ExportError(f"'{binary}' is not a program", "compile the export again")
    wide = data[4] == 2
    (offset,) = struct.unpack_from("<Q" if wide else "<I", data, 32 if wide else 28)
    size, count = struct.unpack_from("<HH", data, 54 if wide else 42)
    headers = [offset + i * size for i in range(count)]
    return any(struct.unpack_from("<I", data, at)[0] == _PT_INTERP for at in headers if at + 4 <= len(data))
