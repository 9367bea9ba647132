#!/usr/bin/env python3
# SPDX-License-Identifier: EPL-2.0
"""Measures exports side by side with what they compete with: see docs/measurements.md."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from bench import accuracy, export_cost, instructions, latency, machine, memory, models, session
from bench.contenders import Work
from bench.results import Figure, table

Section = Callable[[argparse.Namespace, Work, list[Path]], list[Figure]]

SECTIONS: dict[str, Section] = {
    "accuracy": lambda args, work, paths: accuracy.measure(work, paths, args.targets),
    "latency": lambda args, work, paths: latency.measure(work, paths, args.core, args.rounds, args.peers, args.clock),
    "instructions": lambda args, work, paths: instructions.measure(work, paths, args.vlen, args.compilers),
    "export": lambda args, work, paths: export_cost.measure(work, paths, args.repeat, args.stock_compile),
    "session": lambda args, work, paths: session.measure(work, args.core, args.rounds),
    "memory": lambda args, work, paths: memory.measure(work, paths),
}


def main() -> int:
    args = _parser().parse_args()
    work = Work(args.work)
    paths = models.find(args.models, args.model, args.work) if set(args.what) != {"session"} else []
    figures: list[Figure] = []
    for section in args.what:
        figures += SECTIONS[section](args, work, paths)
    about = machine.describe() | {f"XNNPACK, {name}": text for name, text in work.xnnpack.items()}
    print("\n".join(f"{key}: {value}" for key, value in about.items()))
    print()
    print(table(figures))
    if args.json is not None:
        answer = {"machine": about, "figures": [figure.to_json() for figure in figures]}
        args.json.write_text(json.dumps(answer, indent=2) + "\n", encoding="utf-8")
    return 0 if all(figure.reached is not False for figure in figures) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="+", choices=SECTIONS, help="what to measure")
    parser.add_argument("--models", type=Path, help="folder of .onnx files (default: those of tests/zoo.py)")
    parser.add_argument("--model", nargs="*", default=[], metavar="NAME", help="some of them only")
    parser.add_argument(
        "--work", type=Path, default=Path("build/benchmarks"), help="where to build (default: %(default)s)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    parser.add_argument("--core", type=int, default=1, help="core for timed programs (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=21, help="turns of each timed program (default: %(default)s)")
    parser.add_argument(
        "--peers", nargs="+", default=["chain", "stock", "onnxruntime"], choices=["chain", "stock", "onnxruntime"],
        help="what to compare latency with (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--clock", choices=["wall", "cpu"], default="wall", help="of latency: cpu where other programs run as well"
    )
    parser.add_argument(
        "--targets", nargs="+", default=["host", "k230"], choices=["host", "k230"], help="of accuracy (default: both)"
    )
    parser.add_argument("--vlen", type=int, default=128, help="bits of a vector register (default: %(default)s)")
    parser.add_argument(
        "--compilers",
        nargs="+",
        default=["toolchain", "gcc"],
        choices=["toolchain", "gcc"],
        help="of instructions: what cmake/riscv64.toolchain finds, riscv64-linux-gnu-g++ (default: both)",
    )
    parser.add_argument("--repeat", type=int, default=5, help="exports and compilations (default: %(default)s)")
    parser.add_argument("--stock-compile", action="store_true", help="export: also compile a stock export, once")
    return parser


if __name__ == "__main__":
    sys.exit(main())
