# SPDX-License-Identifier: EPL-2.0
"""Where in the source an index of a resized axis lies."""

import math
from dataclasses import dataclass

import numpy as np

TRANSFORMS = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")


@dataclass(frozen=True)
class Axis:
    """How one axis is resized."""

    source: int
    target: int
    scale: float
    transform: str

    def coordinate(self, index: int) -> float:
        """Position in the source of an index of the target (ONNX Resize, coordinate_transformation_mode).

        In float32, as ONNX Runtime computes it: nearest depends on which side of a half the result falls.
        """
        one, half = np.float32(1), np.float32(0.5)
        scale, at = np.float32(self.scale), np.float32(index)
        source, target = np.float32(self.source), np.float32(self.target)
        if self.transform == "asymmetric":
            result = at / scale
        elif self.transform == "align_corners":
            result = np.float32(0) if self.target == 1 else at * (source - one) / (target - one)
        elif self.transform == "pytorch_half_pixel" and self.target == 1:
            result = np.float32(0)
        elif self.transform == "half_pixel_symmetric":
            adjustment = target / (scale * source)
            result = source / np.float32(2) * (one - adjustment) + (at + half) / scale - half
        else:
            result = (at + half) / scale - half
        return float(result)


def nearest(axis: Axis, rounding: str) -> list[int]:
    """Source index of every target index."""

    def pick(x: float) -> int:
        if rounding == "floor":
            return math.floor(x)
        if rounding == "ceil":
            return math.ceil(x)
        if rounding == "round_prefer_ceil":
            return math.floor(x + 0.5)
        return math.ceil(x - 0.5)

    return [min(max(pick(axis.coordinate(i)), 0), axis.source - 1) for i in range(axis.target)]


def served_bilinear(axes: list[Axis]) -> bool:
    """Whether XNNPACK's bilinear operator computes the same coordinates: it knows sizes, not scales."""
    return all(
        axis.transform in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
        and (axis.transform == "align_corners" or math.isclose(axis.scale, axis.target / axis.source, rel_tol=1e-7))
        and not (axis.target == 1 and axis.source > 1)
        for axis in axes
    )
