# SPDX-License-Identifier: EPL-2.0
"""2-D max and average pooling."""

from aidge_export_gk7206.xnnpack.library import ANY_LAYOUT, ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import XnnNode


class _Pooling(XnnNode):
    """Slides a window over x [N,H,W,C]; y [N,OH,OW,C]."""

    template = "pooling.jinja"
    takes_strides = True

    def configure(self) -> None:
        channels = self.attr("in_dims")[3]
        self.attributes.update(
            input_stride=self.input_stride(0, channels),
            output_stride=self.output_stride(0, channels),
        )
        self.attributes.setdefault("dilation", [1, 1])


@ExportLibXNNPack.register_generic("XnnMaxPooling", ANY_LAYOUT)
class MaxPooling(_Pooling):
    """``y = activation(max of the window)``."""

    context = "MaxPooling"
    header = "xnnpack/max_pooling.hpp"


@ExportLibXNNPack.register_generic("XnnAveragePooling", ANY_LAYOUT)
class AveragePooling(_Pooling):
    """``y = activation(mean of what the window holds of the image)``."""

    context = "AveragePooling"
    header = "xnnpack/average_pooling.hpp"
