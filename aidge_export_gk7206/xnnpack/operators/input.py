# SPDX-License-Identifier: EPL-2.0
"""The model's input where several layers read it: Aidge exports graphs whose input has one reader."""

from aidge_export_gk7206.layer_call import LayerCall
from aidge_export_gk7206.xnnpack.library import ANY_LAYOUT, ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import XnnNode


@ExportLibXNNPack.register_generic("XnnInput", ANY_LAYOUT)
class Input(XnnNode):
    """Another name for the caller's pointer; costs nothing."""

    context = ""
    header = ""
    template = ""

    def export(self, export_folder: object) -> list[str]:
        return []

    def forward(self) -> list[str]:
        (output,) = self.run_outputs()
        return [
            LayerCall(
                comment=str(self.attributes["title"]),
                profile_entry=self.profile_entry(),
                statements=[f"const float* const {output} = {self.run_inputs()[0]};"],
            )
        ]
