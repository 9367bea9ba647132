# SPDX-License-Identifier: EPL-2.0
"""2-D convolution: plain, strided, dilated, grouped, depthwise."""

import numpy as np

from aidge_export_gk7206.xnnpack.library import ANY_LAYOUT, ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import XnnNode


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
        output_stride = self.output_stride(0, channels)
        packed = channels
        # A vector kernel needs 16 output channels: compute zeros where the plan leaves room for them.
        if self.attr("groups") == 1 and channels < 16 <= output_stride:
            packed = 16
        bias = self.constant(2)
        self.attributes.update(
            packed_channels=packed,
            weights=self.add_parameter("weights", _pad_rows(weights, packed)),
            bias="nullptr" if bias is None else self.add_parameter("bias", _pad_rows(bias, packed)),
            input_stride=self.input_stride(0, self.attr("in_dims")[3]),
            output_stride=output_stride,
        )


def _pad_rows(array: np.ndarray, rows: int) -> np.ndarray:
    return np.pad(array, [(0, rows - array.shape[0])] + [(0, 0)] * (array.ndim - 1))
