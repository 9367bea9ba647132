# SPDX-License-Identifier: EPL-2.0
"""Latency on this machine, against a bare chain of XNNPACK operators, a stock export and ONNX Runtime."""

import math
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.contenders import HOST, Work
from bench.machine import PROGRAMS, CommandError
from bench.results import Figure, UnavailableError
from bench.workers import Timing, compare, ratio

CHAIN = "latency, export / bare chain of XNNPACK operators"
STOCK = "latency, stock export_cpp / export"
RUNTIME = "latency, export / ONNX Runtime on one thread"
TIMES = "latency of the export"

_CHAIN_LIMITS = {"resnet18": 1.05, "mobilenetv2_224": 1.05, "lenet": 1.1}
#: Models that are no convolutional networks: what a stock export takes is told, not judged.
_OTHERS = {"attn", "autoenc", "conv1d"}
#: Models that aidge_export_cpp 0.10.1 exports, but wrong: the work is about the same, so the time is told, not judged.
_STOCK_IS_WRONG = {
    "asympad": "its average pooling counts padding",
    "dscnn": "its global average pooling swaps height and width",
}


def measure(
    work: Work, models: Sequence[Path], core: int, rounds: int, peers: Sequence[str], clock: str
) -> list[Figure]:
    """Latency of every model.

    :param peers: What to compare with: ``"chain"``, ``"stock"``, ``"onnxruntime"``.
    :param clock: ``"wall"``, or ``"cpu"``: time on the processor, for machines with other work.
    """
    figures: list[Figure] = []
    against_runtime: list[float] = []
    for model in models:
        commands: dict[str, list[str | Path]] = {}
        absent: dict[str, str] = {}
        commands["export"] = [work.export_program(model, "host", HOST) / "harness", "serve", clock]
        for peer in peers:
            try:
                commands[peer] = _command(work, peer, model, clock)
            except (UnavailableError, CommandError) as reason:
                absent[peer] = str(reason)
        timings = compare(commands, core, rounds)
        print(f"{model.stem}: " + _times(timings), file=sys.stderr, flush=True)
        figures += _figures(model.stem, timings, absent)
        if "onnxruntime" in timings:
            against_runtime.append(ratio(timings["export"], timings["onnxruntime"]))
    if against_runtime:
        mean = math.exp(sum(map(math.log, against_runtime)) / len(against_runtime))
        figures.append(Figure(RUNTIME, f"geometric mean of {len(against_runtime)}", mean, limit=1.0))
    return figures


def _command(work: Work, peer: str, model: Path, clock: str) -> list[str | Path]:
    if peer == "onnxruntime":
        return [sys.executable, PROGRAMS.parent / "ort_worker.py", model, clock]
    program = work.chain_program(model) if peer == "chain" else work.stock_program(model, HOST)
    return [program / "harness", "serve", clock]


def _figures(name: str, timings: dict[str, Timing], absent: dict[str, str]) -> list[Figure]:
    ours = timings["export"]
    note = _times(timings)
    judged = name not in _OTHERS and name not in _STOCK_IS_WRONG
    figures = [Figure(TIMES, name, ours.median, "ms", note=f"({ours.best:.4g} ms at best)")]
    for peer, what in (("chain", CHAIN), ("stock", STOCK), ("onnxruntime", RUNTIME)):
        limit = {"chain": _CHAIN_LIMITS.get(name), "stock": 2.7 if judged else None}.get(peer)
        better = ">=" if peer == "stock" else "<="
        if peer in absent:
            figures.append(
                Figure(what, name, None, limit=limit, better=better, note=absent[peer].splitlines()[0][:150])
            )
        elif peer in timings:
            other = timings[peer]
            value = ratio(other, ours) if peer == "stock" else ratio(ours, other)
            wrong = f"; stock is wrong: {_STOCK_IS_WRONG[name]}" if peer == "stock" and name in _STOCK_IS_WRONG else ""
            figures.append(Figure(what, name, value, limit=limit, better=better, note=note + wrong))
    return figures


def _times(timings: dict[str, Timing]) -> str:
    """Median, and the best in brackets."""
    return ", ".join(f"{name} {timing.median:.4g} ({timing.best:.4g})" for name, timing in timings.items()) + " ms"
