# SPDX-License-Identifier: EPL-2.0
"""Instructions per inference on the K230's architecture, counted by a QEMU plugin, and the micro-kernels that ran.

The estimate of the K230's C908 takes two cycles for every 128-bit register that a vector instruction goes through (its
vector unit is 64 bits wide), 0.976 cycles for every other instruction, and 1.6 GHz. These numbers were fitted to two
times known from a board, ResNet-18 with XNNPACK (651 ms) and with export_cpp built by g++ 12 (6267 ms). It knows
nothing of caches: an estimate, not a measurement. The lower figure hides scalar work behind vector work, the higher
does not.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.contenders import RISCV, Compiler, Work, riscv_gcc, version
from bench.machine import PROGRAMS, CommandError, run
from bench.results import Figure, UnavailableError

TOTAL = "instructions per inference under QEMU riscv64, VLEN {vlen}"
RATIO = "instructions, stock export_cpp / export, both by {compiler}"
SCALAR = "scalar micro-kernels of float32 that ran"
ESTIMATE = "estimate of the K230's time, no measurement"

_LIMITS = {"resnet18": 20.0, "resnet8": 18.0, "mobilenetv1_025_96": 14.0, "lenet": 6.0}
_VECTOR_CYCLES, _SCALAR_CYCLES, _HERTZ = 2.0, 0.976, 1.6e9
_MICRO_KERNEL = re.compile(r"^xnn_\w+ukernel\w*$")


@dataclass(frozen=True)
class Row:
    """What a function executed in one inference."""

    instructions: int
    vector: int
    cycles: int


@dataclass(frozen=True)
class Count:
    """What an inference executed, by function."""

    functions: dict[str, Row]

    @property
    def instructions(self) -> int:
        return sum(row.instructions for row in self.functions.values())

    def milliseconds(self) -> tuple[float, float]:
        """Estimated time on the board, at least and at most."""
        low = high = 0.0
        for row in self.functions.values():
            vector = _VECTOR_CYCLES * row.cycles
            scalar = _SCALAR_CYCLES * (row.instructions - row.vector)
            low, high = low + max(vector, scalar), high + vector + scalar
        return low / _HERTZ * 1e3, high / _HERTZ * 1e3

    def micro_kernels(self) -> dict[str, int]:
        """XNNPACK's micro-kernels that ran, each with its instructions, most first."""
        found = {name: row.instructions for name, row in self.functions.items() if _MICRO_KERNEL.match(name)}
        return dict(sorted(found.items(), key=lambda item: -item[1]))


def measure(work: Work, models: Sequence[Path], vlen: int, compilers: Sequence[str]) -> list[Figure]:
    """Instructions of every model, against a stock export built by the same compiler.

    :param vlen: Bits of a vector register.
    :param compilers: ``"toolchain"``, what cmake/riscv64.toolchain finds, and ``"gcc"``, riscv64-linux-gnu-g++.
    """
    known = {"toolchain": RISCV, "gcc": riscv_gcc()}
    figures: list[Figure] = []
    for model in models:
        for compiler in (known[name] for name in compilers):
            program = work.export_program(model, "k230", compiler)
            ours = count(work, program / "harness", vlen)
            print(f"{model.stem}: {ours.instructions:,.0f} instructions", file=sys.stderr, flush=True)
            if compiler is RISCV:
                figures += _own_figures(model.stem, ours, vlen)
            figures.append(_ratio(work, model, vlen, compiler, version(program), ours))
    return figures


def count(work: Work, program: Path, vlen: int) -> Count:
    """Counts one inference: what two take more than one."""
    one, two = (_execute(work, program, vlen, runs) for runs in (1, 2))
    functions: dict[str, Row] = {}
    for name, row in two.items():
        difference = [a - b for a, b in zip(row, one.get(name, (0, 0, 0)), strict=True)]
        if difference[0] > 0:
            functions[name] = Row(*difference)
    return Count(functions)


def _execute(work: Work, program: Path, vlen: int, runs: int) -> dict[str, tuple[int, ...]]:
    plugin = work.folder / "instructions.so"
    source = PROGRAMS / "instructions.c"
    if not plugin.exists() or plugin.stat().st_mtime < source.stat().st_mtime:
        work.folder.mkdir(parents=True, exist_ok=True)
        run(["cc", "-O2", "-shared", "-fPIC", "-o", plugin, source])
    counts = work.folder / "instructions.txt"
    counts.unlink(missing_ok=True)
    cpu = f"rv64,v=true,vlen={vlen},elen=64"
    run(["qemu-riscv64", "-cpu", cpu, "-plugin", f"{plugin},out={counts}", program, "loop", str(runs)])
    if not counts.exists():
        raise CommandError("QEMU did not run the plugin: it needs qemu-user with plugins, which static builds lack")
    rows = [line.split("\t") for line in counts.read_text(encoding="utf-8").splitlines()]
    return {row[3]: tuple(map(int, row[:3])) for row in rows}


def _own_figures(name: str, ours: Count, vlen: int) -> list[Figure]:
    low, high = ours.milliseconds()
    kernels = ours.micro_kernels()
    scalar = {kernel: n for kernel, n in kernels.items() if "scalar" in kernel and kernel.startswith("xnn_f32")}
    shown = ", ".join(
        f"{kernel.removeprefix('xnn_')} {100 * n / ours.instructions:.1f} %" for kernel, n in kernels.items()
    )
    return [
        Figure(TOTAL.format(vlen=vlen), name, ours.instructions / 1e6, "M", note=shown),
        Figure(SCALAR, name, float(len(scalar)), limit=0.0, note=", ".join(scalar)),
        Figure(ESTIMATE, name, high, "ms", note=f"at least {low:.4g} ms"),
    ]


def _ratio(work: Work, model: Path, vlen: int, compiler: Compiler, name: str, ours: Count) -> Figure:
    figure = Figure(RATIO.format(compiler=name), model.stem, None, limit=_LIMITS.get(model.stem), better=">=")
    try:
        stock = count(work, work.stock_program(model, compiler) / "harness", vlen)
    except (UnavailableError, CommandError) as reason:
        figure.note = str(reason).splitlines()[0][:150]
        return figure
    figure.value = stock.instructions / ours.instructions
    times = [f"{low:.4g} to {high:.4g}" for low, high in (stock.milliseconds(), ours.milliseconds())]
    figure.note = (
        f"{stock.instructions / 1e6:.4g} M against {ours.instructions / 1e6:.4g} M; "
        f"estimated times {times[0]} against {times[1]} ms"
    )
    return figure
