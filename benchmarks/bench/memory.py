# SPDX-License-Identifier: EPL-2.0
"""Memory of a running export on this machine: what stays resident, what the forward function takes from the heap."""

import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.contenders import HOST, Work
from bench.machine import CommandError, run
from bench.results import Figure, UnavailableError

RESIDENT = "resident memory after init and one run, beyond an empty program, packed weights and arena"
HEAP = "heap allocations in ten runs after init"
_MEGA = 1024.0 * 1024.0
_LIMIT_MB = 8.0
_RUNS = 5


def measure(work: Work, models: Sequence[Path]) -> list[Figure]:
    """Resident memory and heap allocations of every model."""
    figures: list[Figure] = []
    empty = _resident(work.empty_program())
    for model in models:
        program = work.export_program(model, "host", HOST)
        heap = dict(line.split() for line in run([program / "allocations"]).splitlines())
        figures.append(Figure(HEAP, model.stem, float(heap["run"]), limit=0.0, note=f"{heap['init']} during init"))
        figures.append(_beyond(work, model, _resident(program), empty))
        print(f"{model.stem}: memory measured", file=sys.stderr, flush=True)
    return figures


def _beyond(work: Work, model: Path, resident: float, empty: float) -> Figure:
    try:
        packed = _packed(work.chain_program(model))
    except (UnavailableError, CommandError) as reason:
        return Figure(RESIDENT, model.stem, None, "MB", limit=_LIMIT_MB, note=str(reason).splitlines()[0][:150])
    export = json.loads((work.export(model, "host") / "export.json").read_text(encoding="utf-8"))
    arena = export["arena_bytes"] / _MEGA
    note = f"{resident:.1f} MB, empty program {empty:.1f}, packed weights {packed:.1f}, arena {arena:.1f} MB"
    return Figure(RESIDENT, model.stem, resident - empty - packed - arena, "MB", limit=_LIMIT_MB, note=note)


def _resident(program: Path) -> float:
    """Megabytes: the median of some runs."""
    values = []
    for _ in range(_RUNS):
        fields = dict(line.split(":") for line in run([program / "harness", "memory"]).splitlines())
        values.append(float(fields["VmRSS"].split()[0]) / 1024)
    return statistics.median(values)


def _packed(chain: Path) -> float:
    """Megabytes that XNNPACK takes when it creates the operators of a chain: the same ones as the export's."""
    answer = run([chain / "harness", "loop", "1"], env={"CHAIN_PACKED": "1"})
    return float(answer.split()[1]) / _MEGA
