# SPDX-License-Identifier: EPL-2.0
"""What exporting and compiling costs, against a stock export."""

import json
import shutil
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.contenders import Work
from bench.machine import PROGRAMS, CommandError, run
from bench.results import Figure

INSIDE = "seconds inside export() before the compiler, export / stock export_cpp"
COMPILE = "compiling an export, XNNPACK built before"
PEAK = "largest compiler process"
_JUDGED = "resnet18"


def measure(work: Work, models: Sequence[Path], repeat: int, stock_compile: bool) -> list[Figure]:
    """Export time, compile time and compiler memory of every model.

    :param repeat: How often everything is done.
    :param stock_compile: Whether to compile the stock export too, which can take minutes.
    """
    figures: list[Figure] = []
    for model in models:
        figures += _export_time(work, model, repeat)
        export = work.export(model, "host")
        figures += _compile(work, export, model.stem, model.stem, repeat, judged=model.stem == _JUDGED)
        if stock_compile:
            figures += _compile(work, work.stock(model), model.stem, f"{model.stem}, stock", 1, judged=False)
        print(f"{model.stem}: export and compilation measured", file=sys.stderr, flush=True)
    return figures


def _export_time(work: Work, model: Path, repeat: int) -> list[Figure]:
    folder = work.folder / "timed"
    times: dict[str, list[dict[str, float]]] = {"own": [], "stock": []}
    for _ in range(repeat):
        for kind, taken in times.items():
            shutil.rmtree(folder, ignore_errors=True)
            script = PROGRAMS.parent / f"{kind}_export.py"
            try:
                answer = run([sys.executable, script, model, folder], cwd=work.scratch())
            except CommandError as error:
                return [Figure(INSIDE, model.stem, None, note=f"{kind}: {str(error).splitlines()[-1][:120]}")]
            taken.append(json.loads(answer.splitlines()[-1]))
    median = {
        kind: {key: statistics.median(taken[key] for taken in all_) for key in all_[0]} for kind, all_ in times.items()
    }
    note = ", ".join(f"{kind} {m['export_s']:.3g} s (before it {m['prepare_s']:.2g} s)" for kind, m in median.items())
    value = statistics.median(
        own["export_s"] / stock["export_s"] for own, stock in zip(times["own"], times["stock"], strict=True)
    )
    return [Figure(INSIDE, model.stem, value, limit=1.0 if model.stem == _JUDGED else None, note=note)]


def _compile(work: Work, export: Path, name: str, subject: str, repeat: int, *, judged: bool) -> list[Figure]:
    build = work.folder / "timed-build" / name
    configure: list[float] = []
    compile_: list[float] = []
    peaks: list[float] = []
    for _ in range(repeat):
        shutil.rmtree(build, ignore_errors=True)
        configure.append(_peak(["cmake", "-G", "Ninja", "-S", str(export), "-B", str(build)])["seconds"])
        answer = _peak(["cmake", "--build", str(build)])
        compile_.append(answer["seconds"])
        peaks.append(answer["peak_kb"] / 1024)
    shutil.rmtree(build, ignore_errors=True)
    note = f"and configuring {min(configure):.2g} s; best of {repeat}"
    return [
        Figure(COMPILE, subject, min(compile_), "s", limit=4.0 if judged else None, note=note),
        Figure(PEAK, subject, max(peaks), "MB", limit=200.0 if judged else None),
    ]


def _peak(command: list[str]) -> dict[str, float]:
    answer: dict[str, float] = json.loads(run([sys.executable, "-S", PROGRAMS.parent / "peak.py", *command]))
    return answer
