# SPDX-License-Identifier: EPL-2.0
"""Mean, sum, maximum, minimum over any axes."""

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.axes import fitted, merge
from aidge_export_gk7206.xnnpack.library import ANY_LAYOUT, ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import XnnNode

# Members of ReduceFunction in runtime/xnnpack/reduce.hpp.
FUNCTIONS = frozenset({"max", "mean", "min", "sum"})


@ExportLibXNNPack.register_generic("XnnReduce", ANY_LAYOUT)
class Reduce(XnnNode):
    """``y = op(x)`` over ``axes``; whether those remain with size 1 makes no difference to the bytes."""

    context = "Reduce"
    header = "xnnpack/reduce.hpp"
    template = "reduce.jinja"

    def configure(self) -> None:
        if self.attr("op") not in FUNCTIONS:
            raise ExportError(f"{self.who()}: there is no reduction '{self.attr('op')}'")
        dims = self.attr("in_dims")
        axes = {axis % len(dims) for axis in self.attr("axes")}
        kinds = [None if dim == 1 else axis in axes for axis, dim in enumerate(dims)]
        reduced, (sizes,) = merge(kinds, dims)
        flags = fitted(self.who(), [bool(flag) for flag in reduced], 0)
        if not any(flags):
            # XNNPACK wants an axis to reduce; there is one of size 1 in front.
            flags[0] = 1
        self.attributes.update(
            input=fitted(self.who(), sizes, 1),
            reduced="{" + ", ".join("true" if flag else "false" for flag in flags) + "}",
        )
