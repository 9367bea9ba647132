# SPDX-License-Identifier: EPL-2.0
"""What the translations of several families read from Aidge's operators."""

import math
from collections.abc import Callable
from typing import Any

import aidge_core
import numpy as np
from aidge_core import dformat

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.kernel import PREPARE, Operators

# Aidge's default bounds: the largest float32 numbers.
_LIMIT = float(np.finfo(np.float32).max)


def image_dims(operators: Operators, dims: list[int]) -> list[int]:
    """N, H, W, C of a channels-last tensor with one or two spatial axes.

    :raises ExportError: It has others: Aidge could not tell the shape, or has lost it.
    """
    if len(dims) not in (3, 4):
        raise ExportError(f"{operators.who()}: an image of {_shown(dims)}", PREPARE)
    return [dims[0], 1, *dims[1:]] if len(dims) == 3 else dims


def memory_order(tensor: aidge_core.Tensor) -> list[int]:
    """Axes in ONNX order, in the order in which memory has them."""
    rank = len(tensor.dims)
    orders = {(dformat.nhwc, 4): [0, 2, 3, 1], (dformat.nwc, 3): [0, 2, 1], (dformat.hwc, 3): [1, 2, 0]}
    return orders.get((tensor.dformat, rank), list(range(rank)))


def lies_plain(tensor: aidge_core.Tensor) -> bool:
    """Whether the bytes of a tensor are those that ONNX order has: axes of size 1 may be anywhere."""
    solid = [axis for axis, dim in zip(memory_order(tensor), tensor.dims, strict=True) if dim != 1]
    return solid == sorted(solid)


def pairs(node: aidge_core.Node, name: str) -> list[int]:
    """Height and width of an attribute; those of one axis get height 1."""
    values = [int(value) for value in node.get_operator().attr.get_attr(name)]
    return [1] * (2 - len(values)) + values


def padding(operators: Operators, pad: aidge_core.Node | None) -> list[int]:
    """Top, left, bottom, right of a Pad operator that is part of a window."""
    values = [] if pad is None else [int(value) for value in pad.get_operator().attr.pads]
    return [0, values[0], 0, values[1]] if len(values) == 2 else values or [0, 0, 0, 0]


def pads_with_zeros(operator: aidge_core.Operator) -> bool:
    """Whether what an operator pads is the border of an image, with zeros."""
    pad = _pad_of(operator)
    if pad is None:
        return True
    constant = np.array(pad.attr.constant_value)
    # An empty value is Aidge's default, zero.
    zero = constant.size == 0 or not np.any(constant)
    return bool(pad.attr.mode == aidge_core.PaddingMode.CONSTANT and zero and pads_image(pad))


def pads_with_lowest(operator: aidge_core.Operator) -> bool:
    """Whether what an operator pads is the border of an image, with what never is a maximum."""
    pad = _pad_of(operator)
    return pad is None or bool(pad.attr.mode == aidge_core.PaddingMode.CONSTANT_LOWEST and pads_image(pad))


def need_padding(operators: Operators, condition: Callable[[aidge_core.Operator], bool]) -> None:
    """Refuses a fused Pad operator that is not the padding of a kernel.

    :raises ExportError: It is not. Aidge fuses whatever fits its recipe, and settles on a library for want of a better.
    """
    if not condition(operators.operator):
        raise ExportError(f"{operators.who()}: the Pad operator in it is not the padding of a window", PREPARE)


def only_crops(operator: aidge_core.Operator) -> bool:
    """Whether what an operator pads is the border of an image, and less than nothing at its top and left.

    At the bottom and right zeros would be right only where the transposed convolution has no bias.
    """
    pad = _pad_of(operator)
    return pad is None or (pads_with_zeros(operator) and max(pad.attr.pads, default=0) <= 0)


def _pad_of(operator: aidge_core.Operator) -> aidge_core.Operator | None:
    """The Pad operator inside a fused one."""
    if not isinstance(operator, aidge_core.MetaOperatorOp):
        return None
    inner = (node.get_operator() for node in operator.get_micro_graph().get_nodes())
    return next((one for one in inner if one.type() == "Pad"), None)


def pads_image(pad: aidge_core.Operator) -> bool:
    """Whether a Pad operator pads height and width, or the only spatial axis, and nothing else."""
    axes, pads = list(pad.attr.axes), list(pad.attr.pads)
    return len(pads) == 2 * len(axes) and axes in ([-2, -1], [2, 3], [-1], [2])


def activation(operators: Operators) -> tuple[float, float]:
    """Bounds of the activation in a node, infinite when there is none."""
    if operators.find("ReLU") is not None:
        return 0.0, math.inf
    clip = operators.find("Clip")
    return (-math.inf, math.inf) if clip is None else bounds(operators, clip)


def bounds(operators: Operators, clip: aidge_core.Node) -> tuple[float, float]:
    """Bounds of a Clip operator: its inputs where it has them, its attributes otherwise."""
    attributes = clip.get_operator().attr
    found = []
    for position, attribute in ((1, attributes.min), (2, attributes.max)):
        index = operators.input_of(clip, position)
        value = attribute if index is None else operators.constant(index, "a bound of Clip").reshape(-1)[0]
        found.append(math.copysign(math.inf, value) if abs(value) >= _LIMIT else float(value))
    if not found[0] < found[1]:
        raise ExportError(f"{operators.who()}: bounds {found[0]} and {found[1]}", "change the model")
    return found[0], found[1]


def integers(operators: Operators, index: int, name: str) -> list[int]:
    """Integers that are an input or an attribute."""
    found = operators.input_of(operators.node, index)
    if found is not None:
        return [int(value) for value in operators.constant(found, name).reshape(-1)]
    return [int(value) for value in operators.operator.attr.get_attr(name)]


def pixelwise(dims: list[int], **bounds: float) -> dict[str, Any]:
    """Attributes of a depthwise convolution of one pixel: a factor and an offset for every channel.

    :param dims: N, H, W, C.
    :param bounds: Bounds of the activation.
    """
    return {
        "in_dims": dims,
        "out_dims": dims,
        "kernel": [1, 1],
        "stride": [1, 1],
        "dilation": [1, 1],
        "pads": [0, 0, 0, 0],
        "groups": dims[3],
        "activation_min": -math.inf,
        "activation_max": math.inf,
        **bounds,
    }


def window_size(size: int, kernel: int, stride: int, dilation: int, pads: int) -> int:
    """Outputs of a sliding window along one axis."""
    return (size + pads - (kernel - 1) * dilation - 1) // stride + 1


def refuse(operators: Operators, source: list[int], target: list[int], found: str) -> ExportError:
    """The dims contradict each other: Aidge has lost track of the layout, or was never told it."""
    return ExportError(
        f"{operators.who()}: input {_shown(source)} and output {_shown(target)} do not go together ({found})",
        "label the sample tensor, set_data_format(aidge_core.dformat.nchw), and export with dformat='nhwc'; "
        f"or {PREPARE}",
    )


def _shown(dims: list[int]) -> str:
    return "x".join(map(str, dims)) or "(none)"
