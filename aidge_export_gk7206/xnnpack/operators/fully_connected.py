# SPDX-License-Identifier: EPL-2.0
"""Fully connected layer."""

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.library import ANY_LAYOUT, ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import XnnNode
from aidge_export_gk7206.xnnpack.packing import pad_channels


@ExportLibXNNPack.register_generic("XnnFullyConnected", ANY_LAYOUT)
class FullyConnected(XnnNode):
    """``y = activation(x @ w.T + b)``; x [M,K], w [N,K], y [M,N]."""

    context = "FullyConnected"
    header = "xnnpack/fully_connected.hpp"
    template = "fully_connected.jinja"
    takes_strides = True

    def configure(self) -> None:
        weights = self.constant(1)
        if weights is None:
            raise ExportError(f"layer '{self.attributes['layer']}': the weights are not constant", "use XnnMatMul")
        channels = self.attr("out_dims")[1]
        packed = self.packed_channels(channels)
        bias = self.constant(2)
        self.attributes.update(
            packed_channels=packed,
            weights=self.add_parameter("weights", pad_channels(weights, packed)),
            bias="nullptr" if bias is None else self.add_parameter("bias", pad_channels(bias, packed)),
            input_stride=self.input_stride(0, self.attr("in_dims")[1]),
            output_stride=self.output_stride(0, channels),
        )
