# SPDX-License-Identifier: EPL-2.0
"""Copies of rows: copy, concatenation, split."""

from aidge_export_gk7206.xnnpack.library import ANY_LAYOUT, ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import XnnNode


@ExportLibXNNPack.register_generic("XnnCopy", ANY_LAYOUT)
class Copy(XnnNode):
    """``y = x``; x and y [rows, channels]."""

    context = "Copy"
    header = "xnnpack/copy.hpp"
    template = "copy.jinja"
    takes_strides = True

    def configure(self) -> None:
        channels = self.attr("dims")[1]
        self.attributes.update(
            input_stride=self.input_stride(0, channels),
            output_stride=self.output_stride(0, channels),
        )


@ExportLibXNNPack.register_generic("XnnConcat", ANY_LAYOUT)
class Concat(XnnNode):
    """Each of the ``outer`` rows of y is the rows of all inputs, ``inners`` elements each, one after another."""

    context = "Concat"
    header = "xnnpack/copy.hpp"
    template = "concat.jinja"
    takes_strides = True

    def configure(self) -> None:
        inners = self.attr("inners")
        self.attributes.update(
            input_strides=[self.input_stride(i, inner) for i, inner in enumerate(inners)],
            output_stride=self.output_stride(0, sum(inners)),
        )

    def run_inputs(self) -> list[str]:
        return [self.operand(i) for i in range(len(self.attr("inners")))]

    def run_arguments(self, inputs: list[str], outputs: list[str]) -> str:
        return f"{{{', '.join(inputs)}}}, {outputs[0]}"


@ExportLibXNNPack.register_generic("XnnSplit", ANY_LAYOUT)
class Split(XnnNode):
    """Each of the ``outer`` rows of x is the rows of all outputs, ``inners`` elements each, one after another."""

    context = "Split"
    header = "xnnpack/copy.hpp"
    template = "split.jinja"
    takes_strides = True

    def configure(self) -> None:
        inners = self.attr("inners")
        self.attributes.update(
            input_stride=self.input_stride(0, sum(inners)),
            output_strides=[self.output_stride(i, inner) for i, inner in enumerate(inners)],
        )

    def run_arguments(self, inputs: list[str], outputs: list[str]) -> str:
        return f"{inputs[0]}, {{{', '.join(outputs)}}}"
