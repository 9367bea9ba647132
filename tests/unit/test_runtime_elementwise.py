# SPDX-License-Identifier: EPL-2.0
"""C++ contexts of element-wise, reducing and moving operators; how their nodes merge axes."""

from collections.abc import Callable

import numpy as np
import pytest

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.axes import fitted, merge, merge_permutation


@pytest.mark.slow
@pytest.mark.parametrize("family", ["binary", "copy", "pad", "reduce", "slice", "softmax", "transpose", "unary"])
def test_context(family: str, run_runtime_test: Callable[[str], None]) -> None:
    run_runtime_test(f"{family}_test")


def test_neighbours_of_the_same_kind_merge() -> None:
    kinds, (sizes, steps) = merge([True, True, None, False, False, True], [2, 3, 1, 4, 5, 6], [1, 1, 9, 1, 1, 2])
    assert kinds == [True, False, True]
    assert sizes == [6, 20, 6]
    assert steps == [1, 1, 2]


def test_nothing_but_axes_of_size_1() -> None:
    assert merge([None, None], [1, 1]) == ([], [[]])
    assert merge_permutation([1, 1], [1, 0]) == ([], [])


@pytest.mark.parametrize(
    ("dims", "perm", "expected"),
    [
        ([2, 3, 5, 7], [0, 2, 3, 1], ([2, 3, 35], [0, 2, 1])),
        ([2, 3, 5, 7], [0, 3, 1, 2], ([2, 15, 7], [0, 2, 1])),
        ([2, 3, 5, 7], [0, 1, 2, 3], ([210], [0])),
        ([1, 3, 1, 7], [2, 3, 0, 1], ([3, 7], [1, 0])),
        ([4, 1], [1, 0], ([4], [0])),
        ([2, 3, 4], [2, 1, 0], ([2, 3, 4], [2, 1, 0])),
    ],
)
def test_permutations_merge(dims: list[int], perm: list[int], expected: tuple[list[int], list[int]]) -> None:
    assert merge_permutation(dims, perm) == expected
    values = np.arange(np.prod(dims))
    moved = values.reshape(expected[0]).transpose(expected[1])
    assert np.array_equal(moved.reshape(-1), values.reshape(dims).transpose(perm).reshape(-1))


def test_six_axes() -> None:
    assert fitted("layer", [2, 3], 1) == [1, 1, 1, 1, 2, 3]
    assert fitted("layer", [], 0) == [0] * 6
    with pytest.raises(ExportError, match="'x': 7 axes"):
        fitted("layer 'x'", [2] * 7, 1)
