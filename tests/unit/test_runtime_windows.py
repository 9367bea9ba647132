# SPDX-License-Identifier: EPL-2.0
"""C++ contexts of transposed convolution, matrix products, pooling and resizing; how their nodes fill them."""

from collections.abc import Callable

import numpy as np
import pytest

from aidge_export_gk7206.xnnpack.operators.deconvolution import fitted
from aidge_export_gk7206.xnnpack.operators.matmul import merged
from aidge_export_gk7206.xnnpack.packing import pad_channels, padded_channels


@pytest.mark.slow
@pytest.mark.parametrize("family", ["deconvolution", "fully_connected", "matmul", "pooling", "resize"])
def test_context(family: str, run_runtime_test: Callable[[str], None]) -> None:
    run_runtime_test(f"{family}_test")


@pytest.mark.parametrize(
    ("channels", "expected"),
    # 1000 wastes 0.8 %; 31 would waste no less with the alternative kernel.
    [(1, 16), (10, 16), (16, 16), (17, 32), (31, 31), (84, 96), (120, 128), (1000, 1000), (2001, 2001)],
)
def test_fully_connected_layers_are_padded_as_xnnpack_chooses(channels: int, expected: int) -> None:
    assert padded_channels("XnnFullyConnected", channels) == expected


def test_convolutions_are_padded_only_below_one_vector() -> None:
    assert padded_channels("XnnConvolution", 3) == 16
    assert padded_channels("XnnConvolution", 17) == 17
    assert padded_channels("XnnDeconvolution", 3, vector_channels=32) == 32
    assert padded_channels("XnnConvolution", 8, groups=2) == 8
    assert padded_channels("XnnConvolution", 3, vector_channels=1) == 3
    assert padded_channels("XnnMaxPooling", 3) == 3


def test_padding_appends_zeros() -> None:
    padded = pad_channels(np.ones((3, 2), np.float32), 5)
    assert padded.tolist() == [[1, 1]] * 3 + [[0, 0]] * 2


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([], [], ([], [])),
        ([1, 1], [1], ([], [])),
        ([2, 3], [2, 3], ([6], [6])),
        ([3], [2, 3], ([1, 3], [2, 3])),
        ([2, 1, 4, 5], [2, 3, 1, 1], ([2, 1, 20], [2, 3, 1])),
        ([2, 1, 3], [2, 1, 3], ([6], [6])),
    ],
)
def test_leading_axes_merge(a: list[int], b: list[int], expected: tuple[list[int], list[int]]) -> None:
    assert merged(a, b) == expected


def transposed(kernel: list[int], stride: int, dilation: int, end: int, adjustment: int) -> list[int]:
    """Transposed convolution of one axis."""
    x = [2, 3, 5]
    size = (len(x) - 1) * stride + (len(kernel) - 1) * dilation + 1
    out = [0] * (size + adjustment)
    for i, value in enumerate(x):
        for k, weight in enumerate(kernel):
            out[i * stride + k * dilation] += value * weight
    return out[: len(out) - end]


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2, 4])
@pytest.mark.parametrize("end", [0, 1, 3])
@pytest.mark.parametrize("adjustment", [0, 1, 2, 3, 5])
def test_output_padding_becomes_what_xnnpack_takes(stride: int, dilation: int, end: int, adjustment: int) -> None:
    taps, cut, added = fitted(stride, dilation, end, adjustment)
    assert 0 <= added < stride
    assert cut >= 0
    expected = transposed([7, 11], stride, dilation, end, adjustment)
    assert transposed([7, 11] + [0] * taps, stride, dilation, cut, added) == expected
