# SPDX-License-Identifier: EPL-2.0
"""Other orders of axes."""

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.axes import MAX_RANK, fitted, merge_permutation
from aidge_export_gk7206.xnnpack.library import ANY_LAYOUT, ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import XnnNode


@ExportLibXNNPack.register_generic("XnnTranspose", ANY_LAYOUT)
class Transpose(XnnNode):
    """``y = numpy.transpose(x, perm)``."""

    context = "Transpose"
    header = "xnnpack/transpose.hpp"
    template = "transpose.jinja"

    def configure(self) -> None:
        dims, perm = self.attr("in_dims"), self.attr("perm")
        if sorted(perm) != list(range(len(dims))):
            raise ExportError(f"{self.who()}: {perm} is no order of {len(dims)} axes")
        sizes, order = merge_permutation(dims, perm)
        leading = MAX_RANK - len(sizes)
        self.attributes.update(
            input=fitted(self.who(), sizes, 1),
            permutation=[*range(leading), *(axis + leading for axis in order)],
        )
