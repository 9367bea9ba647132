# SPDX-License-Identifier: EPL-2.0
"""Times several programs side by side: all are started, then asked in turn, so that they meet the same noise."""

import os
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from bench.machine import CommandError, pinned


@dataclass
class Timing:
    """What one program took, in milliseconds: one median and one minimum per round."""

    medians: list[float] = field(default_factory=list)
    minima: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.medians)

    @property
    def best(self) -> float:
        return min(self.minima)


class Worker:
    """A program that runs a network as often as it is told and prints how long each run took."""

    def __init__(self, command: Sequence[str | Path], core: int) -> None:
        self._command = [str(part) for part in command]
        self._process = subprocess.Popen(
            [*pinned(core), *self._command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        if self._answer() != "ready":
            raise CommandError(f"{' '.join(self._command)} does not start")

    def run(self, times: int) -> list[float]:
        """Milliseconds of each of so many runs."""
        stdin: IO[str] | None = self._process.stdin
        assert stdin is not None
        stdin.write(f"{times}\n")
        stdin.flush()
        return [int(value) / 1e6 for value in self._answer().split()]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise CommandError(f"{' '.join(self._command)} ended with {self._process.wait()}")
        return line.strip()


def compare(
    commands: Mapping[str, Sequence[str | Path]], core: int, rounds: int, slice_ms: float = 60.0
) -> dict[str, Timing]:
    """Times programs in turn.

    :param commands: By name, each a command with the protocol of ``harness serve``.
    :param core: All of them run on it, one at a time.
    :param rounds: How often each gets its turn.
    :param slice_ms: How long a turn lasts, roughly; at least three runs.
    """
    workers = {name: Worker(command, core) for name, command in commands.items()}
    timings = {name: Timing() for name in workers}
    try:
        counts = {}
        for name, worker in workers.items():
            typical = statistics.median(worker.run(5))
            counts[name] = min(max(round(slice_ms / typical), 3), 3000)
            worker.run(counts[name])
        names = list(workers)
        for turn in range(rounds):
            # Each follows each other one equally often.
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                # The first run of a turn finds the caches full of another program's data.
                times = workers[name].run(counts[name] + 1)[1:]
                timings[name].medians.append(statistics.median(times))
                timings[name].minima.append(min(times))
    finally:
        for worker in workers.values():
            worker.close()
    return timings


def ratio(a: Timing, b: Timing) -> float:
    """How much longer a takes than b: the median over the rounds of what they took in the same round."""
    return statistics.median(x / y for x, y in zip(a.medians, b.medians, strict=True))
