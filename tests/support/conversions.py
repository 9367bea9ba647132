# SPDX-License-Identifier: EPL-2.0
"""The runtime's conversions, called from Python, and the same in NumPy."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aidge_export_gk7206.npu.layout import DataType

Array = NDArray[Any]

NUMPY: dict[DataType, np.dtype[Any]] = {
    DataType.INT8: np.dtype(np.int8),
    DataType.UINT8: np.dtype(np.uint8),
    DataType.INT16: np.dtype(np.int16),
    DataType.UINT16: np.dtype(np.uint16),
    DataType.FP16: np.dtype(np.float16),
    DataType.INT32: np.dtype(np.int32),
    DataType.FP32: np.dtype(np.float32),
}
GAP = 0xA5  # what the driver fills targets with
_OPERATIONS = {"quantise": 0, "dequantise": 1, "copy_in": 2, "copy_out": 3}
_AXES = {"none": 0, "last": 1, "second": 2}


@dataclass(frozen=True)
class Preprocessing:
    """See Preprocessing in runtime/xmedia/tensor_spec.hpp."""

    axis: str
    a: Sequence[float]
    b: Sequence[float]
    order: Sequence[int]


@dataclass(frozen=True)
class Tensor:
    """A tensor of the NPU.

    :ivar pitches: Dense when empty.
    """

    dtype: int
    dims: tuple[int, ...]
    pitches: tuple[int, ...] = ()
    scale: float = 1.0
    zero_point: int = 0
    preprocessing: Preprocessing | None = field(default=None)

    @property
    def numpy(self) -> np.dtype[Any]:
        return NUMPY[DataType(self.dtype)]

    def strides(self) -> tuple[int, ...]:
        """The pitches, given or dense."""
        if self.pitches:
            return self.pitches
        strides = [self.numpy.itemsize if self.dtype in NUMPY else 1]
        for dim in reversed(self.dims[1:]):
            strides.insert(0, strides[0] * dim)
        return tuple(strides)[: len(self.dims)]

    def size(self) -> int:
        """Bytes up to the last value."""
        item = self.numpy.itemsize if self.dtype in NUMPY else 1
        return item + sum((dim - 1) * stride for dim, stride in zip(self.dims, self.strides(), strict=True))

    def view(self, data: bytearray) -> Array:
        """The values in the tensor's bytes."""
        return np.ndarray(self.dims, self.numpy, buffer=data, strides=self.strides())


@dataclass
class Driver:
    """A compiled tests/session/quantise_driver.cpp."""

    command: Sequence[str]

    def run(self, calls: Sequence[tuple[str, Tensor, bytes, int]]) -> list[bytes | str]:
        """Results of many conversions: bytes of the target, or what is wrong.

        :param calls: Operation, tensor, bytes of the source, bytes of the target.
        """
        request = b"".join(_request(*call) for call in calls)
        answer = subprocess.run(self.command, input=request, capture_output=True, check=False)
        assert answer.returncode == 0, answer.stderr.decode()
        results: list[bytes | str] = []
        rest = answer.stdout
        while rest:
            ok, size = struct.unpack_from("<2I", rest)
            payload, rest = rest[8 : 8 + size], rest[8 + size :]
            results.append(payload if ok else payload.decode())
        assert len(results) == len(calls)
        return results

    def quantise(self, tensors: Sequence[tuple[Tensor, Array]]) -> list[bytes | str]:
        """Float values into tensors."""
        return self.run([("quantise", t, x.astype(np.float32).tobytes(), t.size()) for t, x in tensors])


def _request(operation: str, tensor: Tensor, source: bytes, target: int) -> bytes:
    pre = tensor.preprocessing
    channels = len(pre.a) if pre else 0
    head = struct.pack(
        "<19Ifi5I",
        _OPERATIONS[operation],
        tensor.dtype,
        len(tensor.dims),
        *tensor.dims,
        *[0] * (8 - len(tensor.dims)),
        *tensor.strides(),
        *[0] * (8 - len(tensor.dims)),
        tensor.scale,
        tensor.zero_point,
        tensor.size(),
        _AXES[pre.axis] if pre else 0,
        channels,
        len(source),
        target,
    )
    if pre:
        head += struct.pack(f"<{channels}f{channels}f{channels}B", *pre.a, *pre.b, *pre.order)
    return head + source


def quantised(tensor: Tensor, values: Array, *, fused: bool = False) -> Array:
    """What quantise() must give.

    :param fused: Product and sum are rounded once, not each: what compilers may do where an instruction does it.
    """
    a, b = _coefficients(tensor)
    with np.errstate(all="ignore"):
        exact = np.float64 if fused else np.float32
        t = (_ordered(tensor, values.astype(np.float32)).astype(exact) * a.astype(exact) + b).astype(np.float32)
        dtype = tensor.numpy
        if dtype.kind == "f":
            return (t + np.float32(tensor.zero_point)).astype(dtype)
        limits = np.iinfo(dtype)
        wide = np.where(np.isnan(t), 0, t.astype(np.float64))
        low, high = float(int(limits.min) - tensor.zero_point), float(int(limits.max) - tensor.zero_point)
        rounded: Array = np.rint(np.clip(wide, low, high)).astype(np.int64) + tensor.zero_point
        return rounded.astype(dtype)


def dequantised(tensor: Tensor, stored: Array) -> Array:
    """What dequantise() must give."""
    scale = np.float32(tensor.scale)
    with np.errstate(all="ignore"):
        if stored.dtype.kind == "f":
            real: Array = (stored.astype(np.float32) - np.float32(tensor.zero_point)) * scale
        else:
            real = (stored.astype(np.int64) - tensor.zero_point).astype(np.float32) * scale
    return real


def _shaped(tensor: Tensor, per_channel: Array) -> Array:
    pre = tensor.preprocessing
    if pre is None or pre.axis != "second":
        return per_channel
    return per_channel.reshape([-1 if axis == 1 else 1 for axis in range(len(tensor.dims))])


def _coefficients(tensor: Tensor) -> tuple[Array, Array]:
    pre = tensor.preprocessing
    return _scaled(tensor, pre.a if pre else [1]), _scaled(tensor, pre.b if pre else [0])


def _scaled(tensor: Tensor, coefficients: Sequence[float]) -> Array:
    exact = np.asarray(coefficients, np.float32).astype(np.float64)
    return _shaped(tensor, (exact / np.float64(np.float32(tensor.scale))).astype(np.float32))


def _ordered(tensor: Tensor, values: Array) -> Array:
    pre = tensor.preprocessing
    if pre is None or pre.axis == "none":
        return values
    return np.take(values, pre.order, axis=1 if pre.axis == "second" else -1)
