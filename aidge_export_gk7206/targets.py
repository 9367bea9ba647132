# SPDX-License-Identifier: EPL-2.0
"""The boards. Adding one is a class like these; docs/adding-a-board.md shows it.

What Aidge 0.10.0 and its tutorial call ``LinuxTarget`` is in 0.10.1 an ``SBC`` with a Linux execution domain.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from aidge_core.export_utils import ExportApplication, TargetExport, get_target_export, register_target_export
from aidge_core.export_utils.artifact import register_target_export_strategy
from aidge_core.hw_model import register_target
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
    """

    #: Output channels that a vector kernel needs: XNNPACK runs layers with fewer on scalar kernels.
    vector_channels = 1

    def __init__(self, name: str, cpu: CPU, memory: Memory) -> None:
        super().__init__(name=name, cpu=cpu, memory=memory)
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


@board("host")
class Host(LinuxBoard):
    """This machine, for development and reference.

    Without XNNPACK it stays Aidge's own: the same files, the same flags.
    """

    def __init__(self, xnn_pack: bool = False) -> None:
        super().__init__(name="host", cpu=CPU(xnn_pack=xnn_pack), memory=Memory(capacity=1_000_000_000, priority=0))
        if not xnn_pack:
            self.board_files_path = None


def names() -> list[str]:
    """The targets that are boards of this package, aliases included."""
    return sorted(name for name, cls in TARGET_REGISTRY.items() if issubclass(cls, LinuxBoard))
