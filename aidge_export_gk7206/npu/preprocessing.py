# SPDX-License-Identifier: EPL-2.0
"""How the input of a graph, in floating point, maps onto what a ``.xmm`` file takes: pixels, most of the time."""

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aidge_export_gk7206.errors import ExportError

Array = npt.NDArray[Any]
ORDERS = ("rgb", "bgr")


@dataclass(frozen=True)
class Preprocessing:
    """What was done to a pixel before the graph saw it: ``x = (pixel - mean) / std``, channels in some order.

    The vendor's compiler folds it into the file, which takes the pixels themselves, in the order red, green, blue.

    :ivar mean: One number, or one for every channel of the graph's input.
    :ivar std: The same.
    :ivar order: Order of the channels in the graph's input, ``"rgb"`` or ``"bgr"``.
    :ivar raw: Whether the program takes what the file takes, unconverted, as a camera gives it.
    """

    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    order: str = "rgb"
    raw: bool = False

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise ExportError(f"channel order '{self.order}' is not known", f"use {' or '.join(ORDERS)}")
        for name, values in (("mean", self.mean), ("std", self.std)):
            if not values or not all(np.isfinite(values)):
                raise ExportError(f"{name} {list(values)} is not one number per channel", "give finite numbers")
        if any(value <= 0 for value in self.std):
            raise ExportError(f"std {list(self.std)} is not positive", "give what the pixels were divided by")

    @property
    def is_identity(self) -> bool:
        """Whether the graph takes what the file takes."""
        return not any(self.mean) and all(value == 1 for value in self.std) and self.order == "rgb"

    def channels(self, count: int) -> tuple[Array, Array, list[int]]:
        """Mean and deviation of every channel of the file, and which channel of the graph's input it is.

        :param count: Channels of the input.
        :raises ExportError: The numbers are not as many, or an order is asked for of other than three channels.
        """
        if self.order == "bgr" and count != 3:
            raise ExportError(f"channel order bgr for an input of {count} channels", "leave the order out")
        order = list(range(count))[::-1] if self.order == "bgr" else list(range(count))
        values = []
        for name, given in (("mean", self.mean), ("std", self.std)):
            if len(given) not in (1, count):
                raise ExportError(
                    f"{name} has {len(given)} numbers, the input has {count} channels", f"give one or {count}"
                )
            values.append(np.asarray(given * (count if len(given) == 1 else 1), dtype=np.float64)[order])
        return values[0], values[1], order

    def to_pixels(self, array: Array, axis: int | None) -> Array:
        """Real values that the file takes, from an input of the graph.

        :param array: The input, in any layout.
        :param axis: Where its channels are; None where it has none, so that one number holds for all.
        """
        mean, std, order = self._along(array, axis)
        moved = array.astype(np.float64)
        return (moved if axis is None else np.take(moved, order, axis=axis)) * std + mean

    def from_pixels(self, array: Array, axis: int | None) -> Array:
        """The input of the graph that pixels stand for, float32: the inverse of :meth:`to_pixels`."""
        mean, std, order = self._along(array, axis)
        values = (array.astype(np.float64) - mean) / std
        return (values if axis is None else np.take(values, np.argsort(order), axis=axis)).astype(np.float32)

    def _along(self, array: Array, axis: int | None) -> tuple[Array, Array, list[int]]:
        """What :meth:`channels` says, in a shape that spreads over an array."""
        mean, std, order = self.channels(1 if axis is None else array.shape[axis])
        wide = [1] * array.ndim
        if axis is not None:
            wide[axis] = -1
        return mean.reshape(wide), std.reshape(wide), order


def onnx_channel_axis(rank: int) -> int | None:
    """Where the channels of an input are in ONNX layout; None where it has too few axes for any."""
    return 1 if rank >= 3 else None


def describe(preprocessing: Preprocessing) -> str:
    """As JSON, for export.json and for nodes of a graph."""
    return json.dumps(asdict(preprocessing))


def parse(text: str) -> Preprocessing:
    """What :func:`describe` has written."""
    fields = json.loads(text)
    return Preprocessing(tuple(fields["mean"]), tuple(fields["std"]), fields["order"], fields["raw"])
