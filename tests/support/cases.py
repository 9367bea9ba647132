# SPDX-License-Identifier: EPL-2.0
"""Operator tests: what one is, and the test function that runs a list of them.

Compiling a project takes seconds, so the cases of a module share one: a model with a branch for each (bundle.py). Every
case is tried in several forms, since what an operator is made of depends on where its input comes from.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from support.graphs import Graph
from support.projects import RUNNERS

#: How the input of a case comes: as ONNX has it, channels last, or from a convolution (or Gemm) with another behind.
FORMS = ("plain", "last", "chained")

Array = npt.NDArray[Any]
#: Adds nodes to a graph; given the name of the input, returns the name of the output, or of several.
Build = Callable[[Graph, str], str]
Builds = Callable[[Graph, str], list[str]]


@dataclass(frozen=True, eq=False)
class Case:
    """One operator, or a few.

    :ivar name: Unique in its module.
    :ivar shape: Of the input.
    :ivar build: Makes the nodes.
    :ivar opset: Of the model.
    :ivar low: Smallest input value.
    :ivar high: Largest input value.
    :ivar tolerance: Times the usual one, 1e-5 * max(1, largest reference value).
    :ivar values: The input, random when not given.
    :ivar expected: The outputs; ONNX Runtime's when not given.
    """

    name: str
    shape: tuple[int, ...]
    build: Build | Builds
    opset: int = 17
    low: float = -3.0
    high: float = 3.0
    tolerance: float = 1.0
    forms: tuple[str, ...] = FORMS
    values: Array | None = None
    expected: list[Array] | None = None

    def sample(self) -> Array:
        """The input."""
        if self.values is not None:
            return self.values.reshape(-1)
        values = np.random.default_rng(self.seed).uniform(self.low, self.high, int(np.prod(self.shape)))
        return values.astype(np.float32)

    @property
    def seed(self) -> int:
        return zlib.crc32(self.name.encode())

    def usable_forms(self) -> list[str]:
        """Those that the rank of the input allows."""
        possible = {2: ("plain", "chained"), 3: FORMS, 4: FORMS}.get(len(self.shape), ("plain",))
        return [form for form in self.forms if form in possible]


@dataclass(frozen=True)
class Branch:
    """A case in one of its forms."""

    module: str
    case: Case
    form: str

    @property
    def name(self) -> str:
        return f"{self.module}.{self.case.name}.{self.form}"


def operator_tests(cases: Sequence[Case]) -> Callable[..., None]:
    """The test function of a module.

    :param cases: What it tests.
    :return: A function to be called ``test_...``.
    """
    assert len({case.name for case in cases}) == len(cases), "names of cases must differ"
    parameters = [pytest.param(case, form, id=f"{case.name}-{form}") for case in cases for form in case.usable_forms()]

    @pytest.mark.slow
    @pytest.mark.parametrize("runner", list(RUNNERS))
    @pytest.mark.parametrize(("case", "form"), parameters)
    def test(case: Case, form: str, runner: str, bundles: Any, request: pytest.FixtureRequest) -> None:
        bundles.check(Branch(request.module.__name__, case, form), runner)

    return test
