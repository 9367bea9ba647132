# SPDX-License-Identifier: EPL-2.0
"""Outputs of every model on the host and, under QEMU, on the K230, against ONNX Runtime."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.contenders import Work
from bench.machine import REPOSITORY, CommandError
from bench.results import Figure

WHAT = "largest difference from ONNX Runtime / max(1, largest value), {target} on {runner}"
LIMIT = 1e-5
RUNNERS = {"host": "host", "k230": "qemu"}


def measure(work: Work, models: Sequence[Path], targets: Sequence[str]) -> list[Figure]:
    """Largest relative difference of every model on every target."""
    figures = []
    for target in targets:
        for model in models:
            figure = _compare(work, model, target)
            print(f"{figure.what.split(',')[-1].strip()}: {model.stem}: {figure.value}", file=sys.stderr, flush=True)
            figures.append(figure)
    return figures


def _compare(work: Work, model: Path, target: str) -> Figure:
    runner = RUNNERS[target]
    figure = Figure(WHAT.format(target=target, runner=runner), model.stem, None, limit=LIMIT)
    try:
        folder = work.export(model, target, compiled=True)
    except CommandError as error:
        figure.note = str(error).splitlines()[-1][:200]
        return figure
    command = [
        sys.executable,
        str(REPOSITORY / "aidge_gk7206_cli.py"),
        "validate",
        str(folder),
        "--on",
        runner,
        "--json",
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        outputs = json.loads(result.stdout)["outputs"]
    except (ValueError, KeyError):
        figure.note = result.stderr.strip()[-200:]
        return figure
    differences = [(output["max_abs_diff"], output["max_abs_reference"]) for output in outputs]
    if all(difference is not None and reference is not None for difference, reference in differences):
        figure.value = max(difference / max(1.0, reference) for difference, reference in differences)
        worst = ", ".join(f"{difference:.2g} of {reference:.4g}" for difference, reference in differences)
        figure.note = f"{len(outputs)} output{'s' * (len(outputs) > 1)}: {worst}"
    else:
        figure.note = "an output is not finite"
    return figure
