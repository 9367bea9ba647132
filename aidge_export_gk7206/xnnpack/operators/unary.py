# SPDX-License-Identifier: EPL-2.0
"""Functions of one value."""

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.library import ANY_LAYOUT, ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import XnnNode

# Members of UnaryFunction in runtime/xnnpack/unary.hpp.
FUNCTIONS = frozenset(
    {
        "abs",
        "approxgelu",
        "bankers_rounding",
        "ceiling",
        "clamp",
        "elu",
        "erf",
        "exp",
        "floor",
        "gelu",
        "hardswish",
        "leaky_relu",
        "log",
        "negate",
        "reciprocal_square_root",
        "sigmoid",
        "softplus",
        "square",
        "square_root",
        "tanh",
    }
)


@ExportLibXNNPack.register_generic("XnnUnary", ANY_LAYOUT)
class Unary(XnnNode):
    """``y = op(x)``; x and y [rows, channels]."""

    context = "Unary"
    header = "xnnpack/unary.hpp"
    template = "unary.jinja"
    takes_strides = True

    def configure(self) -> None:
        if self.attr("op") not in FUNCTIONS:
            raise ExportError(f"{self.who()}: there is no function '{self.attr('op')}'")
        channels = self.attr("dims")[1]
        self.attributes.setdefault("alpha", 0.0)
        self.attributes.setdefault("activation_min", -float("inf"))
        self.attributes.setdefault("activation_max", float("inf"))
        self.attributes.update(
            input_stride=self.input_stride(0, channels),
            output_stride=self.output_stride(0, channels),
        )
