# SPDX-License-Identifier: EPL-2.0
"""Resizing of images: bilinear, nearest neighbour."""

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.library import ANY_LAYOUT, ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import XnnNode


@ExportLibXNNPack.register_generic("XnnResize", ANY_LAYOUT)
class Resize(XnnNode):
    """Changes height and width of x [N,H,W,C]; y [N,OH,OW,C]."""

    context = "BilinearResize"
    header = "xnnpack/resize.hpp"
    template = "resize.jinja"
    takes_strides = True

    def configure(self) -> None:
        channels = self.attr("in_dims")[3]
        self.attributes.update(
            input_stride=self.input_stride(0, channels),
            output_stride=self.output_stride(0, channels),
        )
        mode = self.attr("mode")
        if mode == "nearest":
            self.attributes["context"] = "NearestResize"
            for name, axis in (("rows", 1), ("columns", 2)):
                self._check_table(name, self.attr("in_dims")[axis], self.attr("out_dims")[axis])
        elif mode == "bilinear":
            self.attributes["coordinates"] = self._coordinates()
        else:
            raise ExportError(f"{self._who()}: mode '{mode}' is not supported", "use linear or nearest")

    def _coordinates(self) -> str:
        align_corners, half_pixel = bool(self.attr("align_corners")), bool(self.attr("half_pixel"))
        if align_corners and half_pixel:
            raise ExportError(f"{self._who()}: align_corners and half_pixel exclude each other")
        return "align_corners" if align_corners else "half_pixel" if half_pixel else "asymmetric"

    def _check_table(self, name: str, input_size: int, output_size: int) -> None:
        table = self.attr(name)
        if len(table) != output_size or not all(0 <= index < input_size for index in table):
            raise ExportError(f"{self._who()}: {name} must be {output_size} indices below {input_size}")

    def _who(self) -> str:
        return f"layer '{self.attributes['layer']}' ({self.attributes['origin']})"
