# SPDX-License-Identifier: EPL-2.0
"""The boards. Adding one is a class like these; docs/adding-a-board.md shows it.

What Aidge 0.10.0 and its tutorial call ``LinuxTarget`` is in 0.10.1 an ``SBC`` with a Linux execution domain.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import aidge_export_cpp  # noqa: F401 - registers a host of its own, which must come first
from aidge_core.export_utils import ExportApplication, TargetExport, get_target_export, register_target_export
from aidge_core.export_utils.artifact import register_target_export_strategy
from aidge_core.hw_model import register_target
from aidge_core.hw_model.accelerators import Accelerator
from aidge_core.hw_model.components import Memory
from aidge_core.hw_model.processing_elements import CPU, Riscv
from aidge_core.hw_model.registry import TARGET_REGISTRY
from aidge_core.hw_model.targets.sbc_targets import SBC

from aidge_export_gk7206.assets import asset

PROJECT_FILES = ("cmake", "project")
Board = TypeVar("Board", bound="LinuxBoard")


class LinuxBoard(SBC):
    """A board whose exports are this package's CMake projects.

    :param name: Name of the target.
    :param cpu: Processor; its ``arch`` names the toolchain file ``cmake/<arch>.toolchain``, none for this machine.
    :param memory: The memory that activations and weights live in.
    :param accelerators: Other processing elements of the board.
    """

    #: Output channels that a vector kernel needs: XNNPACK runs layers with fewer on scalar kernels.
    vector_channels = 1
    #: Toolchain files that its exports carry besides the one of its processor.
    other_toolchains: tuple[str, ...] = ()
    #: Put before the names of layers, where a program has several models.
    symbol_prefix = ""
    #: Whether to write exports that are larger than the board's memory.
    force = False
    #: Bytes of the media memory zone, which the NPU works in; 0 on boards without one.
    mmz_capacity = 0

    def __init__(self, name: str, cpu: CPU, memory: Memory, accelerators: Sequence[Accelerator] = ()) -> None:
        super().__init__(name=name, cpu=cpu, memory=memory, accelerators=accelerators)
        self.board_files_path: Path | None = asset(*PROJECT_FILES)
        if cpu.arch is not None:
            self.board_toolchain_path = asset("cmake", f"{cpu.arch}.toolchain")


def board(name: str, *aliases: str) -> Callable[[type[Board]], type[Board]]:
    """Registers a board: with Aidge's hardware model, and as one whose projects this package writes.

    :param name: Name of the target.
    :type name: str
    :param aliases: Other names of it.
    :type aliases: str
    :return: Decorator of a :class:`LinuxBoard`.
    :rtype: Callable
    """

    def register(cls: type[Board]) -> type[Board]:
        register_target(name, *aliases)(cls)
        for key in (name, *aliases):
            try:
                get_target_export(key)
            except KeyError:
                # Without it Aidge cannot export for a target.
                register_target_export(TargetExport(key))
            register_target_export_strategy(key)(_write_project)
        return cls

    return register


def _write_project(context: Any, application: ExportApplication) -> dict[str, Any] | None:
    from aidge_export_gk7206.project import write_project

    return write_project(context, application)


@board("k230")
class K230(LinuxBoard):
    """Canaan K230: one C908 core (rv64gcv, RVV 1.0, 128-bit vectors) is visible to Linux.

    Memory is MemTotal of a CanMV K230 under Ubuntu 24.04: 490 316 kB.
    """

    vector_channels = 16

    def __init__(self, xnn_pack: bool = False) -> None:
        super().__init__(
            name="k230",
            cpu=Riscv(xnn_pack=xnn_pack),
            memory=Memory(capacity=490_316 * 1024, priority=0, mem_type="LPDDR3", external=True),
        )
        self.board_reference_current_ma = 2000.0
        self.default_supply_voltage_v = 5.0


class CortexA7(CPU):
    """Two cores of Arm's Cortex-A7: armv7-a with NEON and VFPv4, hard float. A program uses one."""

    def __init__(self, xnn_pack: bool = False) -> None:
        super().__init__(xnn_pack=xnn_pack)
        self.compatible_exports = ["aidge_export_gk7206", *CPU.compatible_exports]
        self._lib.insert(0, "export_gk7206")
        self._arch = "armv7-cortex-a7"
        self.frequency_hz = 1_188_000_000
        self.cores = 2


class XmediaNpu(Accelerator):
    """The NPU that Goke's runtime xmedia_cl drives; it runs regions that the vendor's compiler put into a .xmm file."""

    compatible_exports: ClassVar[list[str]] = ["aidge_export_gk7206"]

    def __init__(self) -> None:
        super().__init__(accelerator_type="xmedia_npu")


@board("gk7206", "gk7206v12a")
class GK7206V12A(LinuxBoard):
    """Goke GK7206V12A: two Cortex-A7 cores and an NPU, 256 MB of DDR3.

    Of these Linux has 32 MB; the rest is the media memory zone (MMZ), of physically contiguous blocks, which the NPU
    works in. The vendor's ``load`` script divides them so; its option ``-osmem`` moves the border.

    """

    board_name = "gk7206"
    other_toolchains = ("gk7206-sdk.toolchain",)
    mmz_capacity = 224 * 2**20

    def __init__(self, xnn_pack: bool = False) -> None:
        self.npu = XmediaNpu()
        super().__init__(
            name=self.board_name,
            cpu=CortexA7(xnn_pack=xnn_pack),
            memory=Memory(capacity=32 * 2**20, priority=0, mem_type="DDR3", external=True),
            accelerators=[self.npu],
        )
        # Private: no planner may place a tensor there.
        self.npu.mmz = Memory(capacity=self.mmz_capacity, priority=1, mem_type="DDR3", external=True, private=True)


@board("gk7206v11a")
class GK7206V11A(GK7206V12A):
    """Goke GK7206V11A: the same with 128 MB of DDR3."""

    board_name = "gk7206v11a"
    mmz_capacity = 96 * 2**20


@board("host")
class Host(LinuxBoard):
    """This machine, for development and reference.

    Without XNNPACK it stays Aidge's own: the same files, the same flags.
    """

    mmz_capacity = 224 * 2**20  # the simulator's

    def __init__(self, xnn_pack: bool = False) -> None:
        super().__init__(name="host", cpu=CPU(xnn_pack=xnn_pack), memory=Memory(capacity=1_000_000_000, priority=0))
        # Regions for the NPU run on its simulator.
        self.cpu.lib.append("export_gk7206")
        if not xnn_pack:
            self.board_files_path = None


def names() -> list[str]:
    """The targets that are boards of this package, aliases included."""
    return sorted(name for name, cls in TARGET_REGISTRY.items() if issubclass(cls, LinuxBoard))


def has_npu(name: str) -> bool:
    """Whether a target has the NPU, or this machine's simulator of it."""
    return bool(TARGET_REGISTRY[name].mmz_capacity)
