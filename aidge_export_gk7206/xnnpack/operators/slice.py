# SPDX-License-Identifier: EPL-2.0
"""Parts of tensors."""

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.axes import fitted, merge
from aidge_export_gk7206.xnnpack.library import ANY_LAYOUT, ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import XnnNode


@ExportLibXNNPack.register_generic("XnnSlice", ANY_LAYOUT)
class Slice(XnnNode):
    """``sizes`` positions of each axis, from ``starts`` on, in ``steps`` that may be negative."""

    context = "Slice"
    header = "xnnpack/slice.hpp"
    template = "slice.jinja"

    def configure(self) -> None:
        columns = [self.attr(name) for name in ("in_dims", "starts", "sizes", "steps")]
        kinds: list[object] = []
        for axis, (dim, start, size, step) in enumerate(zip(*columns, strict=True)):
            if step == 0 or size < 1 or not (0 <= start < dim and 0 <= start + (size - 1) * step < dim):
                raise ExportError(
                    f"{self.who()}: axis {axis} ({dim}) has no {size} positions from {start} in steps of {step}"
                )
            whole = size == dim and step == 1
            kinds.append(None if dim == 1 else "whole" if whole else axis)
        _, (dims, starts, sizes, steps) = merge(kinds, *columns)
        # An axis of which one position is taken is not stepped through.
        steps = [1 if size == 1 else step for size, step in zip(sizes, steps, strict=True)]
        self.attributes.update(
            input=fitted(self.who(), dims, 1),
            starts=fitted(self.who(), starts, 0),
            sizes=fitted(self.who(), sizes, 1),
            steps=fitted(self.who(), steps, 1),
        )
