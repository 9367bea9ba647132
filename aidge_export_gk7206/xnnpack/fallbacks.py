# SPDX-License-Identifier: EPL-2.0
"""Kernels of export_cpp that are wrong, and when.

Aidge falls back to export_cpp for what export_xnnpack has no kernel for, and chooses by layouts and data types alone.
Some of those kernels ignore attributes, others apply axes that are the model's to a tensor that lies channels last.
Everything in the tables below was found by comparison with ONNX Runtime; tests/unit/test_aidge_graph.py has the cases.
"""

from collections.abc import Callable
from dataclasses import dataclass

import aidge_core

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.kernel import Operators
from aidge_export_gk7206.xnnpack.parts import lies_plain, memory_order, padding, pads_with_zeros

REMEDY = 'prepare the ONNX file, aidge_export_gk7206.prepare("model.onnx"), and export it with xnn=True'

Test = Callable[[Operators, aidge_core.Node], bool]


@dataclass(frozen=True)
class Refusal:
    """A kernel of export_cpp that is wrong.

    :ivar types: Aidge's operators that it is about, also as parts of fused ones.
    :ivar applies: Whether it is wrong for a node, given the operator of one of these types in it.
    :ivar reason: What is wrong.
    """

    types: tuple[str, ...]
    applies: Test
    reason: str


def is_fallback(node: aidge_core.Node) -> bool:
    """Whether a node runs on a kernel of export_cpp."""
    return bool(node.type() != "Producer" and node.get_operator().backend() == "export_cpp")


def check_neighbours(node: aidge_core.Node) -> None:
    """Refuses what is wrong of what a node reads and of what reads it.

    Aidge's ``write_export()`` shows this package no graph, only the nodes that it renders itself.
    """
    for neighbour in [*node.get_parents(), *node.get_children()]:
        if neighbour is not None and is_fallback(neighbour):
            check_fallback(neighbour)


def check_fallback(node: aidge_core.Node) -> None:
    """Refuses a node that would run on a kernel of export_cpp that is wrong.

    :param node: A node of an adapted graph.
    :type node: aidge_core.Node
    :raises ExportError: It names the layer, the reason and the remedy.
    """
    operators = Operators(node)
    for refusal in _REFUSALS:
        inner = operators.find(*refusal.types)
        if inner is not None and refusal.applies(operators, inner):
            raise ExportError(f"{operators.who()}: export_cpp {refusal.reason}", REMEDY)
    _check_layouts(operators)


# ---- kernels that ignore something -----------------------------------------------------------------------------------


def _has_bound_inputs(operators: Operators, clip: aidge_core.Node) -> bool:
    return any(operators.input_of(clip, index) is not None for index in (1, 2))


def _is_not_square(operators: Operators, _: aidge_core.Node) -> bool:
    dims = operators.dims(0)
    return len(dims) != 4 or dims[1] != dims[2]


def _ignores_padding(_: Operators, pool: aidge_core.Node) -> bool:
    return any(pool.get_operator().attr.ignore_pads)


def _overhangs(operators: Operators, pool: aidge_core.Node) -> bool:
    """Whether ``ceil_mode`` lets the last window reach beyond the padded image: what is beyond must not count."""
    pad = operators.find("Pad")
    dims, out = operators.dims(operators.main_input(pad or pool)), operators.out_dims()
    if len(dims) != 4 or len(out) != 4:
        return True
    pads, attributes = padding(operators, pad), pool.get_operator().attr
    return any(
        (out[axis + 1] - 1) * attributes.stride_dims[axis] + attributes.kernel_dims[axis]
        > dims[axis + 1] + pads[axis] + pads[axis + 2]
        for axis in (0, 1)
    )


def _loses_axes(operators: Operators, node: aidge_core.Node) -> bool:
    """Whether an axis of a tensor that lies channels last is picked, and what is left has other axes or another order.

    What Aidge says about the order of the rest is not what the kernel leaves.
    """
    source, target = node.get_operator().get_input(0), node.get_operator().get_output(0)
    if lies_plain(source) and lies_plain(target):
        return False
    if len(source.dims) == len(target.dims):
        return memory_order(source) != memory_order(target)
    axis = int(node.get_operator().attr.axis) % len(source.dims)
    rest = [one for position, one in enumerate(memory_order(source)) if position != axis]
    return not (lies_plain(target) and len(rest) == len(target.dims) and rest == sorted(rest))


# Others do not compile, or were not compared.
_RESIZES = (
    (aidge_core.Interpolation.Mode.FLOOR, aidge_core.Interpolation.CoordinateTransformation.ASYMMETRIC),
    (aidge_core.Interpolation.Mode.LINEAR, aidge_core.Interpolation.CoordinateTransformation.HALF_PIXEL),
)


def _resizes_otherwise(operators: Operators, node: aidge_core.Node) -> bool:
    attributes = node.get_operator().attr
    modes = (attributes.interpolation_mode, attributes.coordinate_transformation_mode)
    source, target = operators.dims(0), operators.out_dims()
    shrinks = any(after < before for before, after in zip(source, target, strict=True))
    return modes not in _RESIZES or bool(attributes.antialias) or shrinks


def _is_dilated(_: Operators, pool: aidge_core.Node) -> bool:
    return any(dilation != 1 for dilation in pool.get_operator().attr.dilations)


def _has_other_channels(operators: Operators, conv: aidge_core.Node) -> bool:
    """Whether the channels of an image are not those of the weights: it is not labelled, and lies in another layout."""
    pad = None if conv.type() == "ConvTranspose2D" else operators.find("Pad")
    source, weights = operators.main_input(pad or conv), operators.need(conv, 1, "weights")
    if conv.type() == "ConvTranspose2D":
        return operators.dims(source)[-1] != operators.dims(weights)[0]
    depthwise = conv.type() == "ConvDepthWise2D"
    channels = operators.dims(weights)[0 if depthwise else -1]
    return operators.dims(source)[-1] != channels or operators.out_dims()[-1] != operators.dims(weights)[0]


def _has_activation(operators: Operators, _: aidge_core.Node) -> bool:
    return operators.find("ReLU") is not None


def _is_sequence(_: Operators, __: aidge_core.Node) -> bool:
    return True


def _pads_with_something(operators: Operators, _: aidge_core.Node) -> bool:
    return operators.find("Pad") is not operators.node and not pads_with_zeros(operators.operator)


def _counts_padding(operators: Operators, _: aidge_core.Node) -> bool:
    """Whether zeros that count are in front of a maximum."""
    pad = operators.find("Pad")
    return pad is not None and bool(pad.get_operator().attr.mode != aidge_core.PaddingMode.CONSTANT_LOWEST)


def _is_gated_by_another(operators: Operators, _: aidge_core.Node) -> bool:
    """Whether the gate of a product is computed from something else than its other operand."""
    sources = {(parent.name(), output) for parent, output in operators.node.inputs() if parent is not None}
    return operators.node.type() == "HardSwish" and len(sources) > 1


_REFUSALS = (
    Refusal(("Clip",), _has_bound_inputs, "does not look at the inputs of Clip that are its bounds"),
    Refusal(("GlobalAveragePooling",), _is_not_square, "swaps height and width in GlobalAveragePooling"),
    Refusal(("AvgPooling1D", "AvgPooling2D"), _ignores_padding, "counts the padding in AveragePool"),
    Refusal(("AvgPooling2D",), _overhangs, "counts what is beyond the image where ceil_mode lets a window overhang it"),
    Refusal(
        ("ArgMax", "Gather", "Hardmax", "Softmax", "Split"),
        _loses_axes,
        "would take the axes of the output for others",
    ),
    Refusal(
        ("Resize",),
        _resizes_otherwise,
        "is not known to be right for this Resize: nearest (floor, asymmetric) and linear (half_pixel) enlarge",
    ),
    Refusal(("MaxPooling1D", "MaxPooling2D", "AvgPooling2D"), _is_dilated, "has no dilation in pooling"),
    Refusal(("MaxPooling2D", "AvgPooling2D"), _has_activation, "forgets the activation after a pooling"),
    Refusal(("MaxPooling2D",), _counts_padding, "does not count the zeros of a Pad operator before MaxPool"),
    Refusal(
        ("Conv2D", "ConvDepthWise2D", "ConvTranspose2D", "AvgPooling2D"),
        _pads_with_something,
        "pads with zeros around the image, whatever the Pad operator says",
    ),
    Refusal(
        ("Conv2D", "ConvDepthWise2D", "ConvTranspose2D"),
        _has_other_channels,
        "would take the axes of the image for others (label the sample tensor nchw, export with dformat='nhwc'), "
        "or has no depthwise convolution with several outputs per input",
    ),
    Refusal(("HardSigmoid",), _is_gated_by_another, "takes any product with HardSigmoid for HardSwish"),
    Refusal(
        ("Conv1D", "ConvDepthWise1D", "ConvTranspose1D", "MaxPooling1D", "AvgPooling1D"),
        _is_sequence,
        "mixes up the axes of sequences",
    ),
)

# ---- layouts ---------------------------------------------------------------------------------------------------------

# Element by element, whatever the layout.
_ELEMENTWISE = frozenset(
    {"Abs", "Asin", "Cast", "CastLike", "Clip", "Erf", "HardSigmoid", "HardSwish", "Identity", "LeakyReLU", "Ln", "Neg",
     "Not", "ReLU", "Reciprocal", "Round", "Sigmoid", "Sqrt", "Tanh"}
)  # fmt: skip
# Operands in one layout.
_ALIKE = frozenset(
    {"Add", "AddAct", "And", "Concat", "Div", "DivAct", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
     "Max", "Min", "Mul", "MulAct", "Pow", "PowAct", "Sub", "SubAct", "Sum", "Where"}
)  # fmt: skip
# Made for channels-last images, or told by Aidge where the axis is that they work along.
_LAYOUT_AWARE = frozenset(
    {"ArgMax", "AvgPoolAct", "AvgPooling2D", "BatchNorm2D", "Conv2D", "ConvAct", "ConvDepthWise2D", "ConvDwAct",
     "ConvTranspose2D", "ConvTranspose2DAct", "FC", "FCAct", "Gather", "GlobalAveragePooling", "Hardmax",
     "InstanceNorm", "MaxPoolAct", "MaxPooling2D", "PadAvgPool", "PadAvgPoolAct", "PadConv", "PadConvAct", "PadConvDw",
     "PadConvDwAct", "PadConvTranspose2D", "PadConvTranspose2DAct", "PadMaxPool", "PadMaxPoolAct",
     "PaddedAvgPooling2D", "PaddedConv2D", "PaddedConvDepthWise2D", "PaddedConvTranspose2D", "PaddedMaxPooling2D",
     "Resize", "Softmax", "Split"}
)  # fmt: skip


def _check_layouts(operators: Operators) -> None:
    """Refuses what mixes layouts, or applies axes of the model to a tensor that lies channels last."""
    type_, operator = operators.node.type(), operators.operator
    tensors = [
        tensor
        for tensor in (operator.get_input(i) for i in range(operators.node.get_nb_inputs()))
        if tensor is not None
    ]
    target = operator.get_output(0)
    if type_ in _ELEMENTWISE and tensors and list(tensors[0].dims) != list(target.dims):
        raise ExportError(f"{operators.who()}: Aidge has lost track of the layout of its output", REMEDY)
    if type_ in _ALIKE and not _alike([*tensors, target]):
        raise ExportError(f"{operators.who()}: its operands lie in different layouts", REMEDY)
    if type_ == "Transpose" and (operators.is_inserted() or _means_the_same(operators)):
        return
    if type_ in _ELEMENTWISE | _ALIKE | _LAYOUT_AWARE:
        return
    if tensors and not lies_plain(tensors[0]):
        raise ExportError(
            f"{operators.who()}: export_cpp applies its axes, which are the model's, to a channels-last tensor", REMEDY
        )


def _means_the_same(operators: Operators) -> bool:
    """Whether a transposition of axes in memory is that of the model's axes."""
    positions = memory_order(operators.operator.get_input(0))
    if memory_order(operators.operator.get_output(0)) != positions:
        return False
    order = [int(axis) for axis in operators.operator.attr.output_dims_order if axis < len(positions)]
    return [positions.index(order[axis]) for axis in positions] == order


def _alike(tensors: list[aidge_core.Tensor]) -> bool:
    """Whether tensors lie in one layout; those that spread along one axis at most lie in any."""
    spread = [tensor for tensor in tensors if sum(dim != 1 for dim in tensor.dims) > 1]
    orders = {tuple(memory_order(tensor)) for tensor in spread if len(tensor.dims) == len(spread[-1].dims)}
    return len(orders) <= 1
