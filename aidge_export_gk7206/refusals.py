# SPDX-License-Identifier: EPL-2.0
"""Graphs that are not exported, because the program would be wrong."""

import math

import aidge_core
from aidge_core.export_utils.export import ExportContext

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.fallbacks import REMEDY, check_fallback, is_fallback
from aidge_export_gk7206.xnnpack.kernel import Operators, is_served, kernel_of
from aidge_export_gk7206.xnnpack.parts import lies_plain


def check(context: ExportContext) -> None:
    """Refuses a graph that Aidge has adapted in a way that cannot be exported right.

    :param context: What Aidge prepared.
    :type context: ExportContext
    :raises ExportError: It names the layer, the reason and the remedy.
    """
    check_types(context)
    mend_dims(context.scheduler.get_sequential_static_scheduling())
    check_output_padding(context.graph)
    for node in context.scheduler.get_sequential_static_scheduling():
        if is_served(node):
            # Translates as the export will, and mends the dims of what Aidge has lost track of.
            kernel_of(node)
        elif is_fallback(node):
            check_fallback(node)


def mend_dims(nodes: list[aidge_core.Node]) -> None:
    """Gives reshaped images their dims in memory: Aidge's adaptation gives them those of another layout.

    What it then inserts to change the layout of such an image would move bytes that are not there.

    :param nodes: All nodes, in the order in which they run.
    :type nodes: list[aidge_core.Node]
    """
    for node in nodes:
        operator = node.get_operator()
        source, target = (operator.get_input(0) if node.get_nb_inputs() else None), operator.get_output(0)
        if node.type() == "Reshape" and source is not None and lies_plain(target):
            shape = _resolved([int(dim) for dim in operator.attr.shape], [int(dim) for dim in source.dims])
            if sorted(shape) == sorted(target.dims):
                target.resize(shape)
        elif node.type() == "Transpose" and source is not None and Operators(node).is_inserted():
            # What Aidge inserts has more entries than axes.
            order = [axis for axis in operator.attr.output_dims_order if axis < len(source.dims)]
            target.resize([source.dims[axis] for axis in order])


def _resolved(shape: list[int], source: list[int]) -> list[int]:
    """A shape without ONNX's 0, the dim of the source, and -1, the rest."""
    shape = [source[axis] if dim == 0 and axis < len(source) else dim for axis, dim in enumerate(shape)]
    known = math.prod(dim for dim in shape if dim != -1)
    return [math.prod(source) // max(known, 1) if dim == -1 else dim for dim in shape]


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
