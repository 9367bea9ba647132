# SPDX-License-Identifier: EPL-2.0
"""Reshapes that leave bytes where they are, against NumPy doing them."""

from __future__ import annotations

import math
import random
from itertools import permutations

import numpy as np
import pytest

from aidge_export_gk7206.preparation.kernel_graph import Dims, permuted, reshaped_perm, same_bytes


def random_shapes(generator: random.Random) -> tuple[Dims, Dims]:
    """Two shapes of the same size, made of the same small factors."""
    factors = [generator.choice((2, 2, 3, 5)) for _ in range(generator.randint(0, 4))]

    def grouped() -> Dims:
        dims = [1] * generator.randint(1 if factors else 0, 5)
        order = factors if generator.random() < 0.7 else generator.sample(factors, len(factors))
        place = 0
        for factor in order:
            place = generator.randint(place, len(dims) - 1)
            dims[place] *= factor
        return tuple(dims)

    return grouped(), grouped()


def moved(shape: Dims, perm: Dims) -> np.ndarray:
    """Bytes of a value whose elements are numbered in ONNX order."""
    return np.arange(math.prod(shape)).reshape(shape).transpose(perm).reshape(-1)


@pytest.mark.parametrize("seed", range(20))
def test_bytes_stay(seed: int) -> None:
    """Whatever order is claimed, the same bytes, read in that order, are the reshaped value."""
    generator = random.Random(seed)
    found = 0
    for _ in range(150):
        source, target = random_shapes(generator)
        perm = tuple(generator.sample(range(len(source)), len(source)))
        result = reshaped_perm(source, target, perm)
        if result is None:
            continue
        found += 1
        assert sorted(result) == list(range(len(target)))
        assert np.array_equal(moved(source, perm), moved(target, result)), (source, target, perm, result)
    assert found > 20


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_moved_without_need(seed: int) -> None:
    """None is only said where no order of axes would do."""
    generator = random.Random(1000 + seed)
    for _ in range(60):
        source, target = random_shapes(generator)
        perm = tuple(generator.sample(range(len(source)), len(source)))
        if reshaped_perm(source, target, perm) is None:
            bytes_ = moved(source, perm)
            fits = [order for order in permutations(range(len(target))) if np.array_equal(bytes_, moved(target, order))]
            assert not fits, (source, target, perm, fits)


@pytest.mark.parametrize(
    ("source", "target", "perm", "result"),
    [
        ((2, 3, 4, 5), (2, 60), (0, 1, 2, 3), (0, 1)),
        ((2, 3, 4, 5), (2, 60), (0, 2, 3, 1), None),  # an image flattened: channels lie apart
        ((2, 3, 1, 1), (2, 3), (0, 2, 3, 1), (0, 1)),
        ((2, 3, 4, 5), (2, 3, 20), (0, 2, 3, 1), (0, 2, 1)),
        ((2, 6, 4, 5), (2, 2, 3, 4, 5), (0, 2, 3, 1), (0, 3, 4, 1, 2)),
        ((2, 3), (2, 3, 1, 1), (0, 1), (0, 1, 2, 3)),
        ((1, 1), (), (0, 1), ()),
        ((), (1, 1, 1), (), (0, 1, 2)),
        ((0, 3), (3, 0), (0, 1), None),
    ],
)
def test_known_ones(source: Dims, target: Dims, perm: Dims, result: Dims | None) -> None:
    assert reshaped_perm(source, target, perm) == result


def test_same_bytes() -> None:
    assert same_bytes((2, 1, 1, 5), (0, 1, 2, 3), (0, 2, 3, 1))
    assert not same_bytes((2, 3, 1, 5), (0, 1, 2, 3), (0, 2, 3, 1))
    assert permuted((2, 3, 4, 5), (0, 2, 3, 1)) == (2, 4, 5, 3)
