# SPDX-License-Identifier: EPL-2.0
"""Comparing outputs with their reference."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import toy_export

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.export_folder import ExportFolder
from aidge_export_gk7206.runners import Runner, RunOptions, RunResult
from aidge_export_gk7206.validation import compare, validate

Array = npt.NDArray[Any]


class FakeRunner(Runner):
    """Gives what it was told to."""

    name = "fake"

    def __init__(self, outputs: list[Array]) -> None:
        self.outputs = outputs

    def available(self) -> str | None:
        return None

    def run(self, export: ExportFolder, inputs: Sequence[Array], options: RunOptions | None = None) -> RunResult:
        return RunResult(self.outputs, 0.0, {}, [], {"xnnpack": "75db3c0"})


@pytest.fixture
def export(tmp_path: Path) -> ExportFolder:
    toy_export.write_description(tmp_path)
    return ExportFolder.load(tmp_path)


def floats(*values: float) -> Array:
    return np.array(values, np.float32)


def test_json(export: ExportFolder) -> None:
    answer = validate(export, FakeRunner(export.reference_outputs())).to_json()
    assert answer == {
        "target": "host",
        "runner": "fake",
        "xnnpack": "75db3c0",
        "libraries": {"export_xnnpack": 1, "export_cpp": 1},
        "outputs": [
            {
                "name": 'scaled:0 "é"',
                "shape": [1, 2, 2, 3],
                "max_abs_diff": 0.0,
                "max_abs_reference": 8.5,
                "cosine": pytest.approx(1.0),
            },
            {
                "name": "ramp",
                "shape": [1, 120],
                "max_abs_diff": 0.0,
                "max_abs_reference": 119.5,
                "cosine": pytest.approx(1.0),
            },
        ],
        "passed": True,
    }


def test_one_bad_output_fails(export: ExportFolder) -> None:
    outputs = export.reference_outputs()
    outputs[1] = outputs[1] + np.float32(0.013)  # 1e-4 of 119.5 is 0.012
    result = validate(export, FakeRunner(outputs))
    assert [output.passed for output in result.outputs] == [True, False]
    assert not result.passed


@pytest.mark.parametrize(
    ("reference", "difference", "passed"),
    [(0.5, 0.9e-4, True), (0.5, 1.1e-4, False), (100.0, 0.9e-2, True), (100.0, 1.1e-2, False), (0.0, 0.0, True)],
)
def test_tolerance(reference: float, difference: float, passed: bool) -> None:
    result = compare("y", floats(reference + difference, 0.0), floats(reference, 0.0))
    assert result.passed is passed


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("reference", [1.0, np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_never_pass(bad: float, reference: float) -> None:
    result = compare("y", floats(bad, 2.0), floats(reference, 2.0))
    assert not result.passed
    assert result.non_finite == 1
    assert result.max_abs_diff is None
    json.dumps([result.max_abs_diff, result.max_abs_reference, result.cosine], allow_nan=False)


def test_a_reference_that_is_not_finite_does_not_pass_either() -> None:
    assert not compare("y", floats(1.0), floats(np.nan)).passed
    assert not compare("y", floats(1.0), floats(np.inf)).passed


def test_integers_must_be_equal() -> None:
    large = 2**60
    assert compare("y", np.array([large]), np.array([large])).passed
    assert not compare("y", np.array([large + 1]), np.array([large])).passed


def test_cosine() -> None:
    assert compare("y", floats(1.0, 0.0), floats(0.0, 1.0)).cosine == 0.0
    assert compare("y", floats(0.0), floats(0.0)).cosine == 1.0
    assert compare("y", floats(1e-7), floats(0.0)).cosine == 0.0
    assert compare("y", floats(), floats()).passed


def test_other_shapes_and_counts_are_errors(export: ExportFolder) -> None:
    outputs = export.reference_outputs()
    with pytest.raises(ExportError, match="1 outputs for the model's 2: one each for 'scaled"):
        validate(export, FakeRunner(outputs[:1]))
    with pytest.raises(ExportError, match=r"output 'ramp' has shape \[120\]: the model's is \[1, 120\]"):
        validate(export, FakeRunner([outputs[0], outputs[1].reshape(-1)]))
