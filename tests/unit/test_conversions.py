# SPDX-License-Identifier: EPL-2.0
"""Conversions between float and the NPU's types: equal to NumPy's, to the bit, on every architecture."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from support.conversions import GAP, NUMPY, Array, Driver, Preprocessing, Tensor, dequantised, quantised
from support.cplusplus import BUILDS

from aidge_export_gk7206.assets import asset
from aidge_export_gk7206.npu.layout import DataType

SOURCE = Path(__file__).parents[1] / "session" / "quantise_driver.cpp"
SIZES = [1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 47, 48, 49, 63, 64, 65, 255, 256, 257, 511, 769]
# The others' kernels are the same to the bit everywhere.
ROUNDED_ONCE = (DataType.FP16, DataType.FP32, DataType.INT32)
INTEGERS = [type_ for type_, dtype in NUMPY.items() if dtype.kind != "f"]


@pytest.fixture(
    scope="session", params=[pytest.param(name, marks=[] if name == "host" else pytest.mark.slow) for name in BUILDS]
)
def driver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Driver:
    """The runtime's conversions, compiled in several ways."""
    program = tmp_path_factory.mktemp("driver") / "driver"
    return Driver(BUILDS[request.param].compile(["-I", asset("runtime"), SOURCE], program))


@cache
def special() -> Array:
    """Values that conversions may get wrong."""
    infinite = [np.inf, -np.inf, np.nan, -np.nan]
    tiny = [0.0, -0.0, 1e-45, -1e-45, 1.1754942e-38, 5.9604645e-8, 2.9802322e-8, 2.98023224e-8, 6.1e-5, 6.097555e-5]
    large = [3.4e38, -3.4e38, 65504.0, 65519.0, 65520.0, 65536.0, 2147483520.0, 2147483648.0, -2147483648.0, 4194304.0]
    ties = np.arange(-70, 70) + 0.5
    near = np.nextafter(ties.astype(np.float32), np.float32(0))
    bounds = [edge + step for edge in (-32768, -128, 0, 127, 255, 32767, 65535) for step in (-0.5, 0, 0.5, 1)]
    return np.concatenate([infinite, tiny, large, ties, near, bounds]).astype(np.float32)


def values(n: int, tensor: Tensor, seed: int) -> Array:
    """Some on the grid of the tensor, some beside it, some special."""
    random = np.random.default_rng(seed)
    dtype = tensor.numpy
    low, high = (-4000, 4000) if dtype.kind == "f" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    grid = random.uniform(1.3 * low - 9, 1.3 * high + 9, n) - tensor.zero_point
    kind = random.integers(0, 4, n)
    grid = np.where(kind == 0, np.rint(grid), np.where(kind == 1, np.floor(grid) + 0.5, grid))
    result = (grid * np.float64(tensor.scale)).astype(np.float32)
    return np.where(kind == 3, random.choice(special(), n), result).astype(np.float32)


def same(got: Array, want: Array) -> None:
    """To the bit; one not-a-number is like another."""
    if got.dtype.kind == "f":
        both = np.isnan(got) & np.isnan(want)
        bits = np.dtype(f"u{got.dtype.itemsize}")
        equal = both | (np.ascontiguousarray(got).view(bits) == np.ascontiguousarray(want).view(bits))
    else:
        equal = got == want
    wrong = np.argwhere(~equal)
    assert wrong.size == 0, (
        f"{len(wrong)} differ, first {wrong[0]}: {got[tuple(wrong[0])]}, not {want[tuple(wrong[0])]}"
    )


def check_quantise(driver: Driver, tensors: list[Tensor]) -> None:
    """All at once: starting a program under QEMU takes longer than converting."""
    inputs = [values(int(np.prod(t.dims)), t, seed).reshape(t.dims) for seed, t in enumerate(tensors)]
    for tensor, source, answer in zip(
        tensors, inputs, driver.quantise(list(zip(tensors, inputs, strict=True))), strict=True
    ):
        assert isinstance(answer, bytes), answer
        got, want = tensor.view(bytearray(answer)), quantised(tensor, source)
        if tensor.preprocessing and tensor.dtype in ROUNDED_ONCE:
            fused = quantised(tensor, source, fused=True)
            want = np.where(got == fused, fused, want)
        same(got, want)
        expected = bytearray([GAP]) * tensor.size()
        tensor.view(expected)[...] = tensor.view(bytearray(answer))
        assert bytes(expected) == answer, "a gap was written to"


@pytest.mark.parametrize("dtype", NUMPY, ids=lambda dtype: dtype.name)
def test_quantise(driver: Driver, dtype: DataType) -> None:
    zero_points = {DataType.UINT8: 192, DataType.INT8: -3, DataType.UINT16: 32768, DataType.INT16: 5}
    tensors = [
        Tensor(dtype, (n,), (), scale, zero)
        for n in SIZES
        for scale in (1.0, 0.25, 0.00354525377, 37.5)
        for zero in (0, zero_points.get(dtype, 1))
    ]
    check_quantise(driver, tensors)


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda dtype: dtype.name)
def test_special_values(driver: Driver, dtype: DataType) -> None:
    tensors = [Tensor(dtype, (special().size,), (), 1.0, zero) for zero in (0, 1, 77, 128, -100)]
    for tensor, answer in zip(tensors, driver.quantise([(t, special()) for t in tensors]), strict=True):
        assert isinstance(answer, bytes)
        got = tensor.view(bytearray(answer))
        same(got, quantised(tensor, special()))
        limits = np.iinfo(tensor.numpy)
        assert got[0] == limits.max
        assert got[1] == limits.min
        assert got[2] == np.clip(tensor.zero_point, limits.min, limits.max)


def test_zero_points_far_away(driver: Driver) -> None:
    far = (2**21 + 1, -(2**21) - 1, 2**31 - 1, -(2**31))
    check_quantise(driver, [Tensor(dtype, (50,), (), 1000.0, zero) for dtype in INTEGERS for zero in far])


def halves() -> Array:
    """Every half, and the floats around the middle between it and the next."""
    exact = np.arange(0x10000, dtype=np.uint32).astype(np.uint16).view(np.float16)
    finite = exact[np.isfinite(exact)].astype(np.float32)
    with np.errstate(all="ignore"):
        middle = (finite + np.nextafter(finite.astype(np.float16), np.float16(np.inf)).astype(np.float32)) / 2
    around = [np.nextafter(middle, np.float32(sign * np.inf)) for sign in (-1, 1)]
    return np.concatenate([exact.astype(np.float32), middle, *around])


def test_every_half(driver: Driver) -> None:
    source = halves()
    tensor = Tensor(DataType.FP16, (source.size,))
    stored = np.arange(0x10000, dtype=np.uint32).astype(np.uint16)
    every = Tensor(DataType.FP16, (stored.size,))
    to, back = driver.run(
        [
            ("quantise", tensor, source.tobytes(), tensor.size()),
            ("dequantise", every, stored.tobytes(), 4 * stored.size),
        ]
    )
    assert isinstance(to, bytes)
    assert isinstance(back, bytes)
    with np.errstate(all="ignore"):
        same(np.frombuffer(to, np.float16), quantised(tensor, source))  # minus zero becomes zero
    same(np.frombuffer(back, np.float32), stored.view(np.float16).astype(np.float32))


@pytest.mark.parametrize("dtype", NUMPY, ids=lambda dtype: dtype.name)
def test_dequantise(driver: Driver, dtype: DataType) -> None:
    item = NUMPY[dtype].itemsize
    random = np.random.default_rng(3)
    tensors = [
        Tensor(dtype, (n,), (), scale, zero)
        for n in SIZES
        for scale in (1.0, 0.0039)
        for zero in (0, 192, -(2**21) - 9)
    ]
    tensors += [Tensor(dtype, (3, 5, 7), (8 * 64 * item, 64 * item, item), 0.5, 3)]
    sources = [bytearray(random.bytes(t.size())) for t in tensors]
    answers = driver.run(
        [("dequantise", t, bytes(s), 4 * int(np.prod(t.dims))) for t, s in zip(tensors, sources, strict=True)]
    )
    for tensor, source, answer in zip(tensors, sources, answers, strict=True):
        assert isinstance(answer, bytes), answer
        want = dequantised(tensor, tensor.view(source))
        same(np.frombuffer(answer, np.float32).reshape(tensor.dims), want)


def padded(dtype: DataType) -> Iterator[Tensor]:
    """Tensors with gaps in every axis."""
    item = NUMPY[dtype].itemsize
    for dims in [(1, 3, 5, 7), (2, 4, 3, 40), (1, 1, 9, 1), (2, 3), (6,), (2, 2, 2, 2, 2, 2, 2, 3)]:
        for gaps in ([0, 0, 0, 1], [0, 0, 2], [1, 0, 1], [3]):
            strides: list[int] = []
            step = item
            for axis, dim in enumerate(reversed(dims)):
                step += (gaps[axis] if axis < len(gaps) else 0) * item
                strides.insert(0, step)
                step *= dim
            yield Tensor(dtype, dims, tuple(strides), 0.5, 1)


@pytest.mark.parametrize("dtype", NUMPY, ids=lambda dtype: dtype.name)
def test_pitches(driver: Driver, dtype: DataType) -> None:
    check_quantise(driver, list(padded(dtype)))


@pytest.mark.parametrize("dtype", NUMPY, ids=lambda dtype: dtype.name)
def test_raw_copies(driver: Driver, dtype: DataType) -> None:
    random = np.random.default_rng(4)
    tensors = list(padded(dtype))
    item = NUMPY[dtype].itemsize
    sources = [random.bytes(int(np.prod(t.dims)) * item) for t in tensors]
    copies = driver.run([("copy_in", t, s, t.size()) for t, s in zip(tensors, sources, strict=True)])
    back = driver.run(
        [
            ("copy_out", t, bytes(c), len(s))
            for t, c, s in zip(tensors, copies, sources, strict=True)
            if isinstance(c, bytes)
        ]
    )
    assert back == sources
    for tensor, copy, source in zip(tensors, copies, sources, strict=True):
        expected = bytearray([GAP]) * tensor.size()
        tensor.view(expected)[...] = np.frombuffer(source, tensor.numpy).reshape(tensor.dims)
        assert copy == bytes(expected)


def preprocessing(axis: str, channels: int, order: Callable[[int], list[int]], seed: int) -> Preprocessing:
    random = np.random.default_rng(seed)
    a, b = random.uniform(0.2, 2, channels), random.uniform(-9, 9, channels)
    return Preprocessing(axis, a.tolist(), b.tolist(), order(channels))


ORDERS: dict[str, Callable[[int], list[int]]] = {
    "same": lambda n: list(range(n)),
    "reversed": lambda n: list(range(n))[::-1],
    "rotated": lambda n: [(i + 1) % n for i in range(n)],
    "first": lambda n: [0] * n,
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", [DataType.UINT8, DataType.INT16, *ROUNDED_ONCE], ids=lambda d: d.name)
def test_preprocessing(driver: Driver, dtype: DataType, order: str) -> None:
    item = NUMPY[dtype].itemsize
    seeds = count()
    tensors = []
    for channels in (1, 2, 3, 4, 17, 255):
        for width in (1, 40):
            last = preprocessing("last", channels, ORDERS[order], next(seeds))
            second = preprocessing("second", channels, ORDERS[order], next(seeds))
            row = (width * channels + 5) * item
            gaps = (3 * row, row, channels * item, item)
            apart = (3 * width * channels * 2 * item, width * channels * 2 * item, channels * 2 * item, 2 * item)
            line = (width + 3) * item
            tensors += [
                Tensor(dtype, (2, 3, width, channels), (), 0.5, 2, last),
                Tensor(dtype, (2, 3, width, channels), gaps, 0.5, 2, last),
                Tensor(dtype, (2, 3, width, channels), apart, 0.5, 2, last),
                Tensor(dtype, (2, channels, 3, width), (), 0.5, 2, second),
                Tensor(dtype, (2, channels, 3, width), (channels * 3 * line, 3 * line, line, item), 0.5, 2, second),
                Tensor(dtype, (2, channels), (), 0.5, 2, second),
            ]
    tensors.append(Tensor(dtype, (5, 11), (), 0.5, 2, Preprocessing("none", [0.7], [3], [0])))
    check_quantise(driver, tensors)


def test_images(driver: Driver) -> None:
    mean, std = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
    a, b = [1 / s for s in std], [-m / s for m, s in zip(mean, std, strict=True)]
    image = np.random.default_rng(5).integers(0, 256, (1, 33, 35, 3)).astype(np.float32)
    tensor = Tensor(DataType.UINT8, image.shape, (), 0.018658, 114, Preprocessing("last", a, b, [2, 1, 0]))
    (answer,) = driver.quantise([(tensor, image)])
    assert isinstance(answer, bytes)
    real = (image[..., ::-1] - mean) / std
    exact = np.clip(np.rint(real / 0.018658) + 114, 0, 255)
    assert np.abs(tensor.view(bytearray(answer)).astype(int) - exact).max() <= 1


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (Tensor(7, (8,)), "no conversion for elements int4 (type 7)"),
        (Tensor(8, (8,)), "no conversion for elements uint12 (type 8)"),
        (Tensor(200, (8,)), "no conversion for elements of unknown type (type 200)"),
        (Tensor(1, (8,), scale=0.0), "a scale of 0"),
        (Tensor(1, (8,), scale=-1.0), "a scale of -1"),
        (Tensor(1, (8,), scale=float("nan")), "a scale of nan"),
        (Tensor(1, (8,), scale=float("inf")), "a scale of inf"),
        (Tensor(2, (2, 2), (5, 2)), "pitch 5 cuts through elements int16"),
        (Tensor(1, (2, 3), preprocessing=Preprocessing("last", [1] * 4, [1] * 4, [0] * 4)), "for other channels (4)"),
        (Tensor(1, (2,), preprocessing=Preprocessing("second", [1] * 2, [1] * 2, [0] * 2)), "for other channels (2)"),
        (Tensor(1, (2, 3), preprocessing=Preprocessing("none", [1] * 3, [1] * 3, [0] * 3)), "for other channels (3)"),
        (Tensor(1, (2, 3), preprocessing=Preprocessing("last", [1] * 3, [1] * 3, [0, 1, 3])), "for other channels (3)"),
    ],
)
def test_refusals(driver: Driver, tensor: Tensor, message: str) -> None:
    payload = bytes(4 * int(np.prod(tensor.dims)))
    (answer,) = driver.run([("quantise", tensor, payload, 64)])
    assert isinstance(answer, str)
    assert answer.endswith(message)
