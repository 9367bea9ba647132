# SPDX-License-Identifier: EPL-2.0
"""Compares what an export computes with the reference stored in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aidge_export_gk7206.export_folder import ExportFolder, TensorDescription
from aidge_export_gk7206.runners import Runner, RunOptions
from aidge_export_gk7206.tensor_files import check_arrays

#: Largest difference that passes, for float32, relative to the largest value of the reference or to 1.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Comparison:
    """One output against its reference.

    :ivar max_abs_diff: Largest difference; None when it is not a number because an output or reference value is not.
    :ivar max_abs_reference: Largest magnitude in the reference; None when not finite.
    :ivar cosine: Cosine of the angle between the two as vectors; None when not finite.
    :ivar non_finite: How many values of the output are infinite or not a number.
    """

    name: str
    shape: tuple[int, ...]
    max_abs_diff: float | None
    max_abs_reference: float | None
    cosine: float | None
    non_finite: int
    passed: bool


@dataclass(frozen=True)
class Validation:
    """Result of :func:`validate`."""

    target: str
    runner: str
    xnnpack: str | None
    libraries: dict[str, int]
    reference: str
    outputs: tuple[Comparison, ...]

    @property
    def passed(self) -> bool:
        """Whether every output is close enough to its reference."""
        return all(output.passed for output in self.outputs)

    def to_json(self) -> dict[str, Any]:
        """As the command line prints it."""
        return {
            "target": self.target,
            "runner": self.runner,
            "xnnpack": self.xnnpack,
            "libraries": self.libraries,
            "outputs": [
                {
                    "name": output.name,
                    "shape": list(output.shape),
                    "max_abs_diff": output.max_abs_diff,
                    "max_abs_reference": output.max_abs_reference,
                    "cosine": output.cosine,
                }
                for output in self.outputs
            ],
            "passed": self.passed,
        }


def validate(export: ExportFolder, runner: Runner, options: RunOptions | None = None) -> Validation:
    """Runs an export on its stored sample and compares all outputs with the stored reference.

    :param export: A compiled export.
    :type export: ExportFolder
    :param runner: What runs it.
    :type runner: Runner
    :param options: How to run it.
    :type options: RunOptions | None
    :return: The comparison.
    :rtype: Validation
    :raises ExportError: It does not run, or sample or reference do not fit the model.
    """
    references = export.reference_outputs()
    result = runner.run(export, export.reference_inputs(), options)
    check_arrays(result.outputs, export.outputs, "output")
    return Validation(
        target=export.target,
        runner=runner.name,
        xnnpack=result.xnnpack,
        libraries=export.libraries(),
        reference=export.reference.source if export.reference else "",
        outputs=compare_all(
            result.outputs, references, export.outputs, export.reference.tolerances if export.reference else None
        ),
    )


def compare_all(
    outputs: Sequence[npt.NDArray[np.generic]],
    references: Sequence[npt.NDArray[np.generic]],
    tensors: Sequence[TensorDescription],
    tolerances: Sequence[float] | None = None,
) -> tuple[Comparison, ...]:
    """Compares outputs with references of the same shapes, pair by pair."""
    return tuple(
        compare(tensor.name, output, reference, tolerance)
        for output, reference, tensor, tolerance in zip(
            outputs, references, tensors, tolerances or [0.0] * len(tensors), strict=True
        )
    )


def compare(
    name: str, output: npt.NDArray[np.generic], reference: npt.NDArray[np.generic], tolerance: float = 0.0
) -> Comparison:
    """Compares one output with its reference.

    Floating point passes within :data:`TOLERANCE`, integers when they are equal; a value that is infinite or not a
    number never passes, whatever the reference holds.

    :param name: Name of the output.
    :type name: str
    :param output: What the export computed.
    :type output: numpy.ndarray
    :param reference: What it should be, of the same shape.
    :type reference: numpy.ndarray
    :param tolerance: Difference that passes besides, where something is quantised.
    :type tolerance: float
    :return: How they differ.
    :rtype: Comparison
    """
    actual = output.astype(np.float64).ravel()
    wanted = reference.astype(np.float64).ravel()
    with np.errstate(invalid="ignore", over="ignore"):
        difference = float(np.max(np.abs(actual - wanted), initial=0.0))
        largest = float(np.max(np.abs(wanted), initial=0.0))
        cosine = _cosine(actual, wanted)
    if np.issubdtype(output.dtype, np.floating):
        passed = bool(difference <= tolerance + TOLERANCE * max(1.0, largest)) and bool(np.isfinite(largest))
    else:
        passed = bool(np.array_equal(output, reference))
    return Comparison(
        name=name,
        shape=output.shape,
        max_abs_diff=_finite(difference),
        max_abs_reference=_finite(largest),
        cosine=_finite(cosine),
        non_finite=int(np.count_nonzero(~np.isfinite(actual))),
        passed=passed,
    )


def _cosine(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    if length == 0.0:
        return 1.0 if np.array_equal(a, b) else 0.0
    return float(np.dot(a, b)) / length


def _finite(value: float) -> float | None:
    """JSON has no infinities and no NaN."""
    return value if np.isfinite(value) else None
