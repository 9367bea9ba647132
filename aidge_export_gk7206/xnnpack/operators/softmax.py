# SPDX-License-Identifier: EPL-2.0
"""Softmax of every row."""

from aidge_export_gk7206.xnnpack.library import ANY_LAYOUT, ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import XnnNode


@ExportLibXNNPack.register_generic("XnnSoftmax", ANY_LAYOUT)
class Softmax(XnnNode):
    """``y = exp(x) / sum(exp(x))`` over each row; x and y [rows, channels]."""

    context = "Softmax"
    header = "xnnpack/softmax.hpp"
    template = "softmax.jinja"
    takes_strides = True

    def configure(self) -> None:
        channels = self.attr("dims")[1]
        self.attributes.update(
            input_stride=self.input_stride(0, channels),
            output_stride=self.output_stride(0, channels),
        )
