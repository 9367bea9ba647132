# SPDX-License-Identifier: EPL-2.0
"""Batches of matrix products; either side may be constant."""

import math
from collections.abc import Sequence

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.library import ANY_LAYOUT, ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import XnnNode

# XNN_MAX_TENSOR_DIMS
_MAX_BATCH_AXES = 6


@ExportLibXNNPack.register_generic("XnnMatMul", ANY_LAYOUT)
class MatMul(XnnNode):
    """``y = a @ b`` with numpy's broadcasting of leading axes; with ``transpose_b`` the last two axes of b swap."""

    context = "MatMul"
    header = "xnnpack/matmul.hpp"
    template = "matmul.jinja"

    def configure(self) -> None:
        *batch_a, rows, depth = self.attr("a_dims")
        *batch_b, _, columns = self.attr("b_dims")
        if self.attr("transpose_b"):
            *batch_b, columns, _ = self.attr("b_dims")
        batch_a, batch_b = merged(batch_a, batch_b)
        if math.prod(batch_b) == 1:
            # All left matrices meet the same right one: they are one tall matrix.
            rows *= math.prod(batch_a)
            batch_a, batch_b = [], []
        if len(batch_a) > _MAX_BATCH_AXES:
            raise ExportError(
                f"layer '{self.attributes['layer']}' ({self.attributes['origin']}): more than {_MAX_BATCH_AXES} "
                "leading axes that broadcast differently",
                "merge or split some of them in the model",
            )
        a, b = self.constant(0), self.constant(1)
        self._left = str(self.attributes["in_name"][0]) if a is None else self.add_parameter("a", a)
        self.attributes.update(
            batch_a=batch_a,
            batch_b=batch_b,
            rows=rows,
            depth=depth,
            columns=columns,
            constant_b="nullptr" if b is None else self.add_parameter("b", b),
        )

    def run_inputs(self) -> list[str]:
        if self.constant(1) is not None:
            return [self._left]
        return [self._left, str(self.attributes["in_name"][1])]


def merged(a: Sequence[int], b: Sequence[int]) -> tuple[list[int], list[int]]:
    """Leading axes of both sides, as few as say the same.

    :param a: Sizes on the left side.
    :type a: collections.abc.Sequence[int]
    :param b: Sizes on the right side.
    :type b: collections.abc.Sequence[int]
    :return: Sizes of both sides, equally many.
    :rtype: tuple[list[int], list[int]]
    """
    rank = max(len(a), len(b))
    left, right = [1] * (rank - len(a)) + list(a), [1] * (rank - len(b)) + list(b)
    result: list[tuple[int, int]] = []
    for x, y in zip(left, right, strict=True):
        if x == y == 1:
            continue
        if result and _broadcast(*result[-1]) == _broadcast(x, y):
            result[-1] = (result[-1][0] * x, result[-1][1] * y)
        else:
            result.append((x, y))
    return [x for x, _ in result], [y for _, y in result]


def _broadcast(x: int, y: int) -> tuple[bool, bool]:
    """Which side repeats along an axis."""
    return x == 1, y == 1
