# SPDX-License-Identifier: EPL-2.0
"""Padding of tensors."""

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.axes import fitted, merge
from aidge_export_gk7206.xnnpack.library import ANY_LAYOUT, ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import XnnNode

# Members of PadMode in runtime/xnnpack/pad.hpp.
MODES = frozenset({"constant", "edge", "reflect"})


@ExportLibXNNPack.register_generic("XnnPad", ANY_LAYOUT)
class Pad(XnnNode):
    """``before`` and ``after`` positions more along each axis: constant, or copied from x as ``mode`` says."""

    context = "Pad"
    header = "xnnpack/pad.hpp"
    template = "pad.jinja"

    def configure(self) -> None:
        mode = self.attr("mode")
        if mode not in MODES:
            raise ExportError(
                f"{self.who()}: padding mode '{mode}' is not supported", f"use {', '.join(sorted(MODES))}"
            )
        columns = [self.attr(name) for name in ("in_dims", "before", "after")]
        kinds: list[object] = []
        for axis, (dim, before, after) in enumerate(zip(*columns, strict=True)):
            limit = dim - 1 if mode == "reflect" else float("inf")
            if min(before, after) < 0 or max(before, after) > limit:
                raise ExportError(f"{self.who()}: axis {axis} of size {dim} cannot be padded by {before} and {after}")
            kinds.append(axis if before or after else None if dim == 1 else "whole")
        _, (dims, befores, afters) = merge(kinds, *columns)
        self.attributes.setdefault("value", 0.0)
        self.attributes.update(
            input=fitted(self.who(), dims, 1),
            before=fitted(self.who(), befores, 0),
            after=fitted(self.who(), afters, 0),
        )
