# SPDX-License-Identifier: EPL-2.0
"""Graphs that are not exported, because the program would be wrong."""

import aidge_core
from aidge_core.export_utils.export import ExportContext

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.fallbacks import REMEDY, check_fallback, is_fallback
from aidge_export_gk7206.xnnpack.kernel import Operators, is_served, kernel_of


def check(context: ExportContext) -> None:
    """Refuses a graph that Aidge has adapted in a way that cannot be exported right.

    :param context: What Aidge prepared.
    :type context: ExportContext
    :raises ExportError: It names the layer, the reason and the remedy.
    """
    check_types(context)
    check_output_padding(context.graph)
    for node in context.scheduler.get_sequential_static_scheduling():
        if is_served(node):
            # Translates as the export will, and mends the dims of what Aidge has lost track of.
            kernel_of(node)
        elif is_fallback(node):
            check_fallback(node)


def check_types(context: ExportContext) -> None:
    """Refuses quantized graphs where XNNPACK was asked for: they would run on export_cpp, unsaid."""
    if not context.device.use_xnnpack:
        return
    quantized = {aidge_core.dtype.int8, aidge_core.dtype.uint8, aidge_core.dtype.int4, aidge_core.dtype.uint4}
    outputs = [node.get_operator().get_output(0) for node in context.graph.get_nodes()]
    if context.dtype != "float32" or any(tensor.dtype in quantized for tensor in outputs):
        raise ExportError(
            "the graph is quantized: the XNNPACK kernels here are float32", "export a float32 graph, or with xnn=False"
        )


def check_output_padding(graph: aidge_core.GraphView) -> None:
    """Refuses transposed convolutions with a bias whose output is padded.

    Aidge imports ``output_padding`` as zeros, where ONNX has the bias.
    """
    for node in graph.get_nodes():
        operators = Operators(node)
        pad, conv = operators.find("Pad"), operators.find("ConvTranspose1D", "ConvTranspose2D")
        parent: aidge_core.Node | None = None if pad is None or pad is not node else node.input(0)[0]
        if parent is not None:
            operators = Operators(parent)
            conv = operators.find("ConvTranspose1D", "ConvTranspose2D")
        if pad is None or conv is None or operators.input_of(conv, 2) is None:
            continue
        if any(amount > 0 for amount in pad.get_operator().attr.pads):
            raise ExportError(f"{operators.who()}: Aidge forgets the bias where output_padding enlarges it", REMEDY)
