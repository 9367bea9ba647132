# SPDX-License-Identifier: EPL-2.0
"""Functions of two values, with numpy's broadcasting."""

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.axes import fitted, merge
from aidge_export_gk7206.xnnpack.library import ANY_LAYOUT, ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import XnnNode

# XNNPACK's names; pow has no vector kernel.
FUNCTIONS = frozenset(
    {"add", "divide", "maximum", "minimum", "multiply", "pow", "prelu", "squared_difference", "subtract"}
)


@ExportLibXNNPack.register_generic("XnnBinary", ANY_LAYOUT)
class Binary(XnnNode):
    """``y = activation(op(a, b))``; either side may be constant."""

    context = "Binary"
    header = "xnnpack/binary.hpp"
    template = "binary.jinja"

    def configure(self) -> None:
        if self.attr("op") not in FUNCTIONS:
            raise ExportError(f"{self.who()}: there is no function '{self.attr('op')}'")
        a, b = list(self.attr("a_dims")), list(self.attr("b_dims"))
        rank = max(len(a), len(b))
        a, b = [1] * (rank - len(a)) + a, [1] * (rank - len(b)) + b
        if any(x != y and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
            raise ExportError(f"{self.who()}: {a} and {b} do not broadcast")
        repeats = [None if x == y == 1 else (x == 1, y == 1) for x, y in zip(a, b, strict=True)]
        _, (a, b) = merge(repeats, a, b)
        self.attributes.update(a=fitted(self.who(), a, 1), b=fitted(self.who(), b, 1))

    def run_inputs(self) -> list[str]:
        return [self.operand(0), self.operand(1)]
