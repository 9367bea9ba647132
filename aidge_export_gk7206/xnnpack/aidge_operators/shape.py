# SPDX-License-Identifier: EPL-2.0
"""Operators that move or rename values without computing."""

import math

import aidge_core
import numpy as np

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.kernel import PREPARE, Kernel, Operators, serves
from aidge_export_gk7206.xnnpack.library import ExportLibXNNPack
from aidge_export_gk7206.xnnpack.parts import integers, lies_plain, memory_order, refuse
from aidge_export_gk7206.xnnpack.specs import ALIKE, ANY, DOUBLE, IMAGE, PLAIN, SEQUENCE


@serves("Flatten", "Reshape", specs=[PLAIN])
def reshape(operators: Operators) -> Kernel:
    """The same bytes: a copy that the planner makes a view."""
    return _copy(operators)


@serves("Squeeze", "Unsqueeze", specs=[ANY])
def squeeze(operators: Operators) -> Kernel:
    """The same bytes, where what remains of a channels-last tensor is in ONNX order."""
    if not lies_plain(operators.operator.get_input(0)):
        raise ExportError(f"{operators.who()}: its axes are not meant for a channels-last input", PREPARE)
    return _copy(operators)


@serves("Identity", specs=[ANY])
def identity(operators: Operators) -> Kernel:
    """A copy that the planner makes a view; at the model's input another name for the caller's pointer."""
    node = operators.node
    readers = [reader.get_operator().backend() for reader in node.get_children()]
    if node.input(0)[0] is None and readers and set(readers) == {ExportLibXNNPack._name}:
        return Kernel("XnnInput", {}, [0])
    return _copy(operators)


@serves("Cast", "CastLike", specs=[ANY, DOUBLE])
def cast(operators: Operators) -> Kernel:
    """From float32 to float32, which importers leave in graphs, and of Aidge's own constants, which are float64."""
    if operators.operator.get_input(0).dtype != aidge_core.dtype.float32 and not operators.is_constant(0):
        raise ExportError(f"{operators.who()}: a cast from {operators.operator.get_input(0).dtype}", PREPARE)
    return _copy(operators)


def _copy(operators: Operators) -> Kernel:
    elements = math.prod(operators.dims(0))
    if elements != math.prod(operators.out_dims()):
        raise refuse(operators, operators.dims(0), operators.out_dims(), "equally many elements wanted")
    return Kernel("XnnCopy", {"dims": [1, elements]}, [0])


@serves("Transpose", specs=[ANY])
def transpose(operators: Operators) -> Kernel:
    """``numpy.transpose(x, perm)``; unless Aidge has inserted it, perm is in ONNX order whatever the layout."""
    source, target = operators.operator.get_input(0), operators.operator.get_output(0)
    dims = operators.dims(0)
    # What Aidge inserts has more entries than axes.
    order = [int(axis) for axis in operators.operator.attr.output_dims_order if axis < len(dims)]
    if not operators.is_inserted():
        positions = memory_order(source)
        order = [positions.index(order[axis]) for axis in memory_order(target)]
    # Aidge computes them from an order that is not meant for the layout.
    target.resize([dims[axis] for axis in order])
    solid = [axis for axis in order if dims[axis] != 1]
    if solid == sorted(solid):
        return _copy(operators)
    return Kernel("XnnTranspose", {"in_dims": dims, "perm": order}, [0])


# Aidge keeps the attribute `axis` in step with the layout.
@serves("Concat", specs=[ALIKE])
def concat(operators: Operators) -> Kernel:
    """The inputs one after another along an axis."""
    count = operators.node.get_nb_inputs()
    sources, target = [operators.dims(i) for i in range(count)], operators.out_dims()
    axis = int(operators.operator.attr.axis) % len(target)
    rest = target[:axis] + target[axis + 1 :]
    for dims in sources:
        if dims[:axis] + dims[axis + 1 :] != rest:
            raise refuse(operators, dims, target, f"axis {axis}")
    if sum(dims[axis] for dims in sources) != target[axis]:
        raise refuse(operators, sources[0], target, f"axis {axis}")
    inners = [math.prod(dims[axis:]) for dims in sources]
    return Kernel("XnnConcat", {"outer": math.prod(target[:axis]), "inners": inners}, range(count))


@serves("Split", specs=[ANY])
def split(operators: Operators) -> Kernel:
    """Parts of the input along an axis."""
    count = operators.node.get_nb_outputs()
    source, targets = operators.dims(0), [operators.out_dims(i) for i in range(count)]
    axis = int(operators.operator.attr.axis) % len(source)
    rest = source[:axis] + source[axis + 1 :]
    for dims in targets:
        if dims[:axis] + dims[axis + 1 :] != rest:
            raise refuse(operators, source, dims, f"axis {axis}")
    if sum(dims[axis] for dims in targets) != source[axis]:
        raise refuse(operators, source, targets[0], f"axis {axis}")
    inners = [math.prod(dims[axis:]) for dims in targets]
    return Kernel("XnnSplit", {"outer": math.prod(source[:axis]), "inners": inners}, [0], outputs=count)


@serves("Slice", specs=[IMAGE, SEQUENCE, PLAIN])
def slice_(operators: Operators) -> Kernel:
    """Positions of some axes, from one on to before another, in steps. Axes are in ONNX order whatever the layout."""
    lists = [integers(operators, i, name) for i, name in enumerate(("starts", "ends", "axes", "steps"), start=1)]
    begins, ends, axes, strides = lists
    dims, order = operators.dims(0), memory_order(operators.operator.get_input(0))
    axes = [order.index(axis % len(dims)) for axis in axes or range(len(begins))]
    strides = strides or [1] * len(begins)
    starts, sizes, steps = [0] * len(dims), list(dims), [1] * len(dims)
    for axis, begin, end, step in zip(axes, begins, ends, strides, strict=True):
        positions = range(dims[axis])[begin:end:step]
        starts[axis], sizes[axis], steps[axis] = (positions.start, len(positions), step) if positions else (0, 0, 1)
    if sizes != operators.out_dims():
        raise refuse(operators, dims, operators.out_dims(), f"from {begins} to {ends} in steps of {strides}")
    return Kernel("XnnSlice", {"in_dims": dims, "starts": starts, "sizes": sizes, "steps": steps}, [0])


_PAD_MODES = {
    aidge_core.PaddingMode.CONSTANT: "constant",
    aidge_core.PaddingMode.EDGE: "edge",
    aidge_core.PaddingMode.REFLECT: "reflect",
    aidge_core.PaddingMode.CONSTANT_LOWEST: "constant",
}


# Channels last too, although most Pad operators end up inside a convolution: what is before them asks.
@serves("Pad", specs=[IMAGE, SEQUENCE, PLAIN])
def pad(operators: Operators) -> Kernel:
    """More positions around the input. The axes stay in ONNX order whatever the layout."""
    attributes = operators.operator.attr
    if attributes.mode not in _PAD_MODES:
        raise ExportError(f"{operators.who()}: padding mode {attributes.mode.name}", PREPARE)
    dims, order = operators.dims(0), memory_order(operators.operator.get_input(0))
    pads, axes = integers(operators, 1, "pads"), integers(operators, 3, "axes") or list(range(len(dims)))
    axes = [order.index(axis % len(dims)) for axis in axes]
    before, after = [0] * len(dims), [0] * len(dims)
    for i, axis in enumerate(axes):
        before[axis], after[axis] = pads[i], pads[len(axes) + i]
    if [sum(sizes) for sizes in zip(dims, before, after, strict=True)] != operators.out_dims():
        raise refuse(operators, dims, operators.out_dims(), f"padding {pads} of axes {axes}")
    value = operators.input_of(operators.node, 2)
    constant = np.array(attributes.constant_value) if value is None else operators.constant(value, "the value of Pad")
    number = float(constant.reshape(-1)[0]) if constant.size else 0.0
    if attributes.mode == aidge_core.PaddingMode.CONSTANT_LOWEST:
        number = -math.inf
    attrs = {"mode": _PAD_MODES[attributes.mode], "value": number, "in_dims": dims, "before": before, "after": after}
    return Kernel("XnnPad", attrs, [0])
