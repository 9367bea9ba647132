# SPDX-License-Identifier: EPL-2.0
"""2-D convolution: plain, strided, dilated, grouped, depthwise."""

from aidge_export_gk7206.xnnpack.library import ANY_LAYOUT, ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import XnnNode
from aidge_export_gk7206.xnnpack.packing import pad_channels


@ExportLibXNNPack.register_generic("XnnConvolution", ANY_LAYOUT)
class Convolution(XnnNode):
    """``y = activation(conv(x, w) + b)``; x [N,H,W,C], w [K,kh,kw,C/groups], y [N,OH,OW,K]."""

    context = "Convolution"
    header = "xnnpack/convolution.hpp"
    template = "convolution.jinja"
    takes_strides = True

    def configure(self) -> None:
        weights = self.constant(1)
        assert weights is not None
        channels = self.attr("out_dims")[3]
        packed = self.packed_channels(channels)
        bias = self.constant(2)
        self.attributes.update(
            packed_channels=packed,
            weights=self.add_parameter("weights", pad_channels(weights, packed)),
            bias="nullptr" if bias is None else self.add_parameter("bias", pad_channels(bias, packed)),
            input_stride=self.input_stride(0, self.attr("in_dims")[3]),
            output_stride=self.output_stride(0, channels),
        )
