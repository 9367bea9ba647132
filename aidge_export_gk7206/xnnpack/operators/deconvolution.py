# SPDX-License-Identifier: EPL-2.0
"""2-D transposed convolution: strided, dilated, grouped."""

import numpy as np

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.library import ANY_LAYOUT, ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import XnnNode
from aidge_export_gk7206.xnnpack.packing import pad_channels


@ExportLibXNNPack.register_generic("XnnDeconvolution", ANY_LAYOUT)
class Deconvolution(XnnNode):
    """``y = activation(conv_transpose(x, w) + b)``; x [N,H,W,C], w [K,kh,kw,C/groups], y [N,OH,OW,K]."""

    context = "Deconvolution"
    header = "xnnpack/deconvolution.hpp"
    template = "deconvolution.jinja"
    takes_strides = True

    def configure(self) -> None:
        weights = self.constant(1)
        if weights is None:
            raise ExportError(f"layer '{self.attributes['layer']}': the weights are not constant")
        weights = self._fit(weights)
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

    def _fit(self, weights: np.ndarray) -> np.ndarray:
        """Brings the sizes into the form that XNNPACK takes, and the weights with them."""
        kernel, stride, dilation = (list(self.attr(name)) for name in ("kernel", "stride", "dilation"))
        pads, adjustment = list(self.attr("pads")), list(self.attr("adjustment"))
        for axis in range(2):
            input_size, output_size = self.attr("in_dims")[1 + axis], self.attr("out_dims")[1 + axis]
            if input_size == 1:
                # There is nothing to stride over, and outputs smaller than the stride are not safe with XNNPACK.
                stride[axis] = 1
            if adjustment[axis] >= stride[axis]:
                # Appending is the same as cropping less, and as a kernel with zeros at its end.
                shared = min(adjustment[axis], pads[2 + axis])
                adjustment[axis] -= shared
                pads[2 + axis] -= shared
                if adjustment[axis] >= stride[axis]:
                    taps = -(-adjustment[axis] // dilation[axis])
                    weights = np.pad(weights, [(0, taps if i == 1 + axis else 0) for i in range(4)])
                    kernel[axis] += taps
                    pads[2 + axis] = taps * dilation[axis] - adjustment[axis]
                    adjustment[axis] = 0
            if output_size < stride[axis]:
                raise ExportError(
                    f"layer '{self.attributes['layer']}' ({self.attributes['origin']}): the output, {output_size} "
                    f"pixels, is smaller than the stride, {stride[axis]}"
                )
        self.attributes.update(kernel=kernel, stride=stride, pads=pads, adjustment=adjustment)
        return weights
