# SPDX-License-Identifier: EPL-2.0
"""What the commands of ``aidge-gk7206`` print."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aidge_export_gk7206.export_folder import ExportFolder
from aidge_export_gk7206.tables import print_table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from aidge_export_gk7206.runners import RunResult
    from aidge_export_gk7206.validation import Validation


def note(text: str) -> None:
    """Tells what goes on, on the standard error."""
    print(f"aidge-gk7206: {text}", file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """Prints JSON, as scripts want it."""
    print(json.dumps(value, indent=2, allow_nan=False))


def print_export(folder: Path, report: dict[str, Any]) -> None:
    """Prints what an export made."""
    libraries = Counter(node["library"] for node in report["nodes"])
    print(f"exported to {folder} for {report['target']}")
    print("layers   " + ", ".join(f"{count} by {library}" for library, count in sorted(libraries.items())))
    print(f"memory   arena {report['arena_bytes']:,} bytes, weights {report['weights_bytes']:,} bytes")
    for name, title in (("linux", "Linux"), ("mmz", "NPU (MMZ)")):
        need = report["memory"].get(name)
        if need is not None and "mmz" in report["memory"]:
            print(f"         {title}: {need['total']:,} of {need['capacity']:,} bytes")
    where = " on the CPU" if "mmz" in report["memory"] else ""
    print(f"compute  {report['macs']:,} multiply-accumulates per inference{where}")
    print("steps    " + ", ".join(f"{step} {milliseconds:.0f} ms" for step, milliseconds in report["steps"].items()))
    rows = [(n["name"], n["type"], n["library"], n["reason"]) for n in report["nodes"] if n["reason"]]
    if rows:
        print("\nlayers that XNNPACK does not run:")
        print_table(("layer", "operator", "library", "reason"), rows)
    for warning in report["warnings"]:
        note(f"warning: {warning}")


def print_bundle(folder: Path, description: dict[str, Any]) -> None:
    """Prints what a bundle holds."""
    samples = len(description["samples"])
    print(f"bundle of {description['model']} in {folder}: {samples} samples, reference {description['reference']}\n")
    rows = [
        (
            kind,
            tensor["name"],
            _dims(tensor["shape"]),
            f"{tensor['min']:.6g}",
            f"{tensor['max']:.6g}",
            f"{tensor['dtype']} {tensor['scale']:.6g} {tensor['zero_point']}",
        )
        for kind, tensor in [
            ("input", description["input"]),
            *(("output", output) for output in description["outputs"]),
        ]
    ]
    print_table(("", "tensor", "shape", "min", "max", "stored: type, scale, zero point"), rows, right=("min", "max"))
    if description["input"]["holds"] != "pixels":
        note("the input is no picture here: --mean and --std say that it is made from pixels, which the NPU takes")


def print_run(
    runner: str, folder: ExportFolder, outputs: dict[str, npt.NDArray[np.generic]], result: RunResult
) -> None:
    """Prints outputs and times of a run."""
    xnnpack = f", XNNPACK {result.xnnpack}" if result.xnnpack else ""
    print(f"{folder.model} for {folder.target} on {runner}{xnnpack}\n")
    rows = []
    for name, array in outputs.items():
        values = array.ravel()
        first = " ".join(f"{value:.6g}" for value in values[:5].tolist()) + (" ..." if values.size > 5 else "")
        rows.append((name, _dims(array.shape), first))
    print_table(("output", "shape", "values"), rows)
    times = result.times_ms
    print(f"\ninit     {result.init_ms:.4f} ms")
    print(
        f"forward  min {times['min']:.4f} ms, median {times['median']:.4f} ms, max {times['max']:.4f} ms "
        f"({result.raw['iterations']} runs)"
    )
    if result.layers and "ms" in result.layers[0]:
        print()
        print_table(
            ("layer", "operator", "library", "ms", "share"),
            [
                (layer["name"], layer["operator"], layer["library"], f"{layer['ms']:.4f}", f"{layer['share']:.1%}")
                for layer in result.layers
            ],
            right=("ms", "share"),
        )


def print_validation(result: Validation) -> None:
    """Prints how outputs compare with their references."""
    libraries = ", ".join(f"{count} by {library}" for library, count in result.libraries.items() if count)
    xnnpack = f", XNNPACK {result.xnnpack}" if result.xnnpack else ""
    print(f"{result.target} on {result.runner}{xnnpack}; layers: {libraries}; reference: {result.reference}\n")
    print_table(
        ("output", "shape", "largest difference", "largest reference", "cosine", "passed"),
        [
            (
                output.name,
                _dims(output.shape),
                _number(output.max_abs_diff),
                _number(output.max_abs_reference),
                "not finite" if output.cosine is None else f"{output.cosine:.9f}",
                "yes" if output.passed else "NO",
            )
            for output in result.outputs
        ],
        right=("largest difference", "largest reference", "cosine"),
    )
    print("\npassed" if result.passed else "\nFAILED")


def _dims(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.3g}"
