# SPDX-License-Identifier: EPL-2.0
"""2-D transposed convolution: strided, dilated, grouped."""

import numpy as np
import numpy.typing as npt

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

    def _fit(self, weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Brings the sizes into the form that XNNPACK takes, and the weights with them."""
        sizes = {name: list(self.attr(name)) for name in ("kernel", "stride", "pads", "adjustment")}
        for axis in range(2):
            stride, dilation = sizes["stride"][axis], self.attr("dilation")[axis]
            output_size = self.attr("out_dims")[1 + axis]
            if output_size < stride and self.attr("in_dims")[1 + axis] == 1:
                stride = 1  # there is nothing to stride over
            taps, end, adjustment = fitted(stride, dilation, sizes["pads"][2 + axis], sizes["adjustment"][axis])
            if output_size < stride:  # XNNPACK of 2024 would write past its end
                raise ExportError(
                    f"layer '{self.attributes['layer']}' ({self.attributes['origin']}): the output, {output_size} "
                    f"pixels, is smaller than the stride, {stride}",
                    "crop less",
                )
            weights = np.pad(weights, [(0, taps if i == 1 + axis else 0) for i in range(4)])
            sizes["kernel"][axis] += taps
            sizes["stride"][axis], sizes["pads"][2 + axis], sizes["adjustment"][axis] = stride, end, adjustment
        self.attributes.update(sizes)
        return weights


def fitted(stride: int, dilation: int, end: int, adjustment: int) -> tuple[int, int, int]:
    """One axis in the form that XNNPACK takes: an adjustment below the stride.

    :param stride: Stride.
    :type stride: int
    :param dilation: Distance of the kernel's taps.
    :type dilation: int
    :param end: Pixels cut off the end of the output.
    :type end: int
    :param adjustment: Pixels added to the end of the output.
    :type adjustment: int
    :return: Zeros to append to the kernel, pixels to cut off, pixels to add.
    :rtype: tuple[int, int, int]
    """
    if adjustment < stride:
        return 0, end, adjustment
    # Adding is the same as cutting off less,
    shared = min(adjustment, end)
    adjustment, end = adjustment - shared, end - shared
    if adjustment < stride:
        return 0, end, adjustment
    # or as a kernel that ends with zeros.
    taps = -(-adjustment // dilation)
    return taps, taps * dilation - adjustment, 0
