# SPDX-License-Identifier: EPL-2.0
"""Real values as a tensor of the NPU stores them: ``real = (stored - zero point) * scale``.

The same rounding as runtime/xmedia/quantise.hpp: half to even, saturating, not a number becomes the zero point.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.npu.layout import DataType

Array = npt.NDArray[Any]

#: Part of a sample that may be beyond what a tensor holds.
_MAX_OUTSIDE = 0.01
#: Different values that a sample should have once stored.
_MIN_LEVELS = 4


@dataclass(frozen=True)
class Grid:
    """What a tensor can store."""

    dtype: DataType
    scale: float
    zero_point: int

    @property
    def numpy_type(self) -> np.dtype[Any]:
        """Type of the stored values.

        :raises ExportError: NumPy has none: 4, 10 and 12 bits.
        """
        return np.dtype(self.dtype.numpy)

    @property
    def is_float(self) -> bool:
        return bool(np.issubdtype(self.numpy_type, np.floating))

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest real value."""
        if self.is_float:
            return float(np.finfo(self.numpy_type).min), float(np.finfo(self.numpy_type).max)
        info = np.iinfo(self.numpy_type)
        return (info.min - self.zero_point) * self.scale, (info.max - self.zero_point) * self.scale

    def step(self, real: Array) -> Array:
        """How far the next value that can be stored is from real ones, float64."""
        if not self.is_float:
            return np.full(real.shape, self.scale, dtype=np.float64)
        stored = self.store(real)
        gap: Array = np.spacing(np.abs(stored)).astype(np.float64) * self.scale
        return gap

    def store(self, real: Array) -> Array:
        """The stored values closest to real ones."""
        t = real.astype(np.float64) / self.scale
        if self.is_float:
            return (t + self.zero_point).astype(self.numpy_type)
        info = np.iinfo(self.numpy_type)
        rounded = np.rint(np.where(np.isnan(t), 0.0, t)) + self.zero_point
        clipped: Array = np.clip(rounded, info.min, info.max)
        return clipped.astype(self.numpy_type)

    def real(self, stored: Array) -> Array:
        """The real values that are stored, float32."""
        real: Array = (stored.astype(np.float64) - self.zero_point) * self.scale
        return real.astype(np.float32)

    def round(self, real: Array) -> Array:
        """Real values as they come back once stored."""
        return self.real(self.store(real))


def grid_for(values: Array, dtype: DataType = DataType.UINT8) -> Grid:
    """The finest grid that holds all values and zero.

    :param values: Real values that were seen.
    :param dtype: An integer type.
    """
    limits = dtype.limits
    assert limits is not None
    least, most = limits
    low, high = min(float(values.min(initial=0.0)), 0.0), max(float(values.max(initial=0.0)), 0.0)
    scale = float(np.float32((high - low) / (most - least))) or 1.0
    zero_point = int(np.clip(np.rint(least - low / scale), least, most))
    return Grid(dtype, scale, zero_point)


def check_range(what: str, values: Array, grid: Grid) -> None:
    """Refuses a sample that the NPU's input cannot hold: the preprocessing is not the compiler's.

    :param what: The sample, for messages.
    :param values: Its real values, once converted.
    :param grid: What the input can store.
    :raises ExportError: It says what the values are, and what the file takes.
    """
    low, high = grid.limits
    outside = np.mean((values < low - grid.scale) | (values > high + grid.scale))
    seen = f"from {values.min():.4g} to {values.max():.4g}"
    remedy = "give --mean and --std, with which the model's input was made from pixels, and a real --input"
    if outside > _MAX_OUTSIDE:
        raise ExportError(f"{what} is {seen} once converted, the file takes {low:.4g} to {high:.4g}", remedy)
    if not grid.is_float and np.unique(grid.store(values)).size < min(_MIN_LEVELS, values.size):
        raise ExportError(
            f"{what} is {seen} once converted, the file counts in steps of {grid.scale:.4g} and would see next to "
            "nothing",
            remedy,
        )
