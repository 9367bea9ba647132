# SPDX-License-Identifier: EPL-2.0
"""Operators that move or rename values without computing: reshape, transpose, concat, split, slice, pad, ..."""

import numpy as np
import onnx_ir as ir

from aidge_export_gk7206.preparation.kernel_graph import Dims, Form, Op, Tensor, Value, permuted, plain, size
from aidge_export_gk7206.preparation.lower_elementwise import binary
from aidge_export_gk7206.preparation.lowering import Lowering, Unsupported, layer_name, lowers


@lowers("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity")
def reshape(low: Lowering, node: ir.Node) -> None:
    low.reshape(low.value(node.inputs[0]), low.value(node.outputs[0]))


@lowers("Dropout")
def dropout(low: Lowering, node: ir.Node) -> None:
    if len(node.outputs) > 1 and node.outputs[1].uses():
        raise Unsupported("the mask of Dropout is used")
    if low.has(node, 2) and np.any(low.need_constant(node, 2, "training_mode")):
        raise Unsupported("training_mode=1")
    low.reshape(low.value(node.inputs[0]), low.value(node.outputs[0]))


@lowers("Cast")
def cast(low: Lowering, node: ir.Node) -> None:
    if node.attributes.get_int("to", 0) != ir.DataType.FLOAT:
        raise Unsupported("a cast to something other than float32")
    low.reshape(low.value(node.inputs[0]), low.value(node.outputs[0]))


@lowers("Transpose")
def transpose(low: Lowering, node: ir.Node) -> None:
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    rank = len(source.shape)
    transpose_value(low, source, target, tuple(node.attributes.get_ints("perm", list(range(rank))[::-1])))


def transpose_value(low: Lowering, source: Value, target: Value, order: Dims) -> None:
    """The same bytes under other names of axes: moves nothing."""
    if source.constant is not None:
        target.constant = source.constant.transpose(order)
        return
    forms = [Form(form.tensor, tuple(order.index(axis) for axis in form.perm)) for form in low.forms(source)]
    low.alias(source, target, forms)


def _agree(low: Lowering, values: list[Value]) -> Dims:
    """Order of axes that most of the bytes are in already."""
    weight: dict[Dims, int] = {}
    for value in values:
        if value.constant is None:
            perm = low.natural(value).perm
            weight[perm] = weight.get(perm, 0) + size(value.shape)
    return max(weight, key=lambda perm: weight[perm], default=plain(len(values[0].shape)))


@lowers("Concat")
def concat(low: Lowering, node: ir.Node) -> None:
    values = [low.value(source) for source in node.inputs]
    values = [value for value in values if size(value.shape)]
    target = low.value(node.outputs[0])
    if len(values) == 1:
        low.reshape(values[0], target)
        return
    rank = len(target.shape)
    axis = node.attributes["axis"].as_int() % rank
    perm = _agree(low, values)
    position = perm.index(axis)
    dims = permuted(target.shape, perm)
    out = low.emit(
        node,
        "XnnConcat",
        [low.form(value, perm) for value in values],
        dims,
        outer=size(dims[:position]),
        inners=[value.shape[axis] * size(dims[position + 1 :]) for value in values],
    )
    low.define(target, out, perm)


@lowers("Split")
def split(low: Lowering, node: ir.Node) -> None:
    source = low.value(node.inputs[0])
    axis = node.attributes.get_int("axis", 0) % len(source.shape)
    form = low.natural(source)
    position = form.perm.index(axis)
    dims = permuted(source.shape, form.perm)
    targets = [target for output in node.outputs if size((target := low.value(output)).shape)]
    tensors = [Tensor(permuted(target.shape, form.perm)) for target in targets]
    inners = [target.shape[axis] * size(dims[position + 1 :]) for target in targets]
    attrs = {"outer": size(dims[:position]), "inners": inners}
    low.ops.append(Op("XnnSplit", [form.tensor], tensors, attrs, layer_name(node), node.op_type))
    for target, tensor in zip(targets, tensors, strict=True):
        low.define(target, tensor, form.perm)


@lowers("Slice")
def slice_(low: Lowering, node: ir.Node) -> None:
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    rank = len(source.shape)
    starts = low.ints(node, "starts", 1, None) or []
    ends = low.ints(node, "ends", 2, None) or []
    axes = low.ints(node, "axes", 3, list(range(len(starts)))) or []
    steps = low.ints(node, "steps", 4, [1] * len(starts)) or []
    begin, step = [0] * rank, [1] * rank
    for start, end, axis, stride in zip(starts, ends, axes, steps, strict=True):
        begin[axis % rank] = slice(start, end, stride).indices(source.shape[axis % rank])[0]
        step[axis % rank] = stride
    cut(low, node, source, target, begin, step)


def cut(low: Lowering, node: ir.Node, source: Value, target: Value, begin: list[int], step: list[int]) -> None:
    """Emits ``target = source[begin::step]`` cut to the target's shape; both lists in ONNX order."""
    if source.shape == target.shape and all(s == 1 for s in step):
        low.reshape(source, target)
        return
    form = low.natural(source)
    out = low.emit(
        node,
        "XnnSlice",
        [form.tensor],
        permuted(target.shape, form.perm),
        in_dims=list(permuted(source.shape, form.perm)),
        starts=list(permuted(tuple(begin), form.perm)),
        sizes=list(permuted(target.shape, form.perm)),
        steps=list(permuted(tuple(step), form.perm)),
    )
    low.define(target, out, form.perm)


@lowers("Gather")
def gather(low: Lowering, node: ir.Node) -> None:
    """With constant indices that a slice can take."""
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    axis = node.attributes.get_int("axis", 0) % len(source.shape)
    indices = low.need_constant(node, 1, "the indices of Gather").astype(np.int64) % source.shape[axis]
    flat = indices.reshape(-1)
    step = int(flat[1] - flat[0]) if flat.size > 1 else 1
    if step == 0 or not np.array_equal(flat, flat[0] + step * np.arange(flat.size)):
        raise Unsupported("indices that are not evenly spaced")
    shape = tuple(flat.size if k == axis else dim for k, dim in enumerate(source.shape))
    taken = low.temporary(f"{target.name}_taken", shape)
    begin = [int(flat[0]) if k == axis else 0 for k in range(len(shape))]
    cut(low, node, source, taken, begin, [step if k == axis else 1 for k in range(len(shape))])
    low.reshape(taken, target)


@lowers("Pad")
def pad(low: Lowering, node: ir.Node) -> None:
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    rank = len(source.shape)
    amounts = low.ints(node, "pads", 1, None) or []
    axes = [axis % rank for axis in low.ints(node, "axes", 3, list(range(rank))) or []]
    before, after = [0] * rank, [0] * rank
    for k, axis in enumerate(axes):
        before[axis], after[axis] = amounts[k], amounts[k + len(axes)]
    mode = node.attributes.get_string("mode", "constant")
    if mode not in ("constant", "reflect", "edge"):
        raise Unsupported(f"mode '{mode}'; constant, reflect and edge are supported")
    value = node.attributes.get_float("value", 0.0)
    if low.has(node, 2):
        value = float(low.need_constant(node, 2, "the value that Pad puts").reshape(()))
    if min(before + after) < 0:
        # Negative padding cuts.
        shape = tuple(d + min(b, 0) + min(a, 0) for d, b, a in zip(source.shape, before, after, strict=True))
        rest = low.temporary(f"{target.name}_cut", shape)
        cut(low, node, source, rest, [max(-b, 0) for b in before], [1] * rank)
        source = rest
        before, after = [max(b, 0) for b in before], [max(a, 0) for a in after]
    if not any(before + after):
        low.reshape(source, target)
        return
    form = low.natural(source)
    out = low.emit(
        node,
        "XnnPad",
        [form.tensor],
        permuted(target.shape, form.perm),
        mode=mode,
        value=float(value),
        in_dims=list(permuted(source.shape, form.perm)),
        before=list(permuted(tuple(before), form.perm)),
        after=list(permuted(tuple(after), form.perm)),
    )
    low.define(target, out, form.perm)


@lowers("DepthToSpace")
def depth_to_space(low: Lowering, node: ir.Node) -> None:
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    block = node.attributes["blocksize"].as_int()
    n, c, h, w = source.shape
    if node.attributes.get_string("mode", "DCR") == "DCR":
        split_shape, order = (n, block, block, c // block**2, h, w), (0, 3, 4, 1, 5, 2)
    else:
        split_shape, order = (n, c // block**2, block, block, h, w), (0, 1, 4, 2, 5, 3)
    _through(low, source, target, split_shape, order)


@lowers("SpaceToDepth")
def space_to_depth(low: Lowering, node: ir.Node) -> None:
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    block = node.attributes["blocksize"].as_int()
    n, c, h, w = source.shape
    _through(low, source, target, (n, c, h // block, block, w // block, block), (0, 3, 5, 1, 2, 4))


def _through(low: Lowering, source: Value, target: Value, shape: Dims, order: Dims) -> None:
    """Reshape, transpose, reshape."""
    spread = low.temporary(f"{target.name}_spread", shape)
    turned = low.temporary(f"{target.name}_turned", permuted(shape, order))
    low.reshape(source, spread)
    low.forms(spread)
    transpose_value(low, spread, turned, order)
    low.reshape(turned, target)


@lowers("Expand", "Tile")
def expand(low: Lowering, node: ir.Node) -> None:
    """Copies along axes of size 1; nothing else is needed by networks."""
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    if source.shape == target.shape:
        low.reshape(source, target)
        return
    shape = (1,) * (len(target.shape) - len(source.shape)) + source.shape
    if any(s not in (1, t) for s, t in zip(shape, target.shape, strict=True)):
        raise Unsupported("repeats of axes larger than 1")
    ones = low.temporary(f"{target.name}_ones", target.shape)
    ones.constant = np.ones(target.shape, np.float32)
    binary(low, node, source, ones, target, "multiply")


@lowers("ConstantOfShape")
def constant_of_shape(low: Lowering, node: ir.Node) -> None:
    """Left by constant folding where the result is large."""
    shape = low.need_constant(node, 0, "the shape of ConstantOfShape")
    filling = node.attributes["value"].as_tensor().numpy() if "value" in node.attributes else np.zeros(1, np.float32)
    target = node.outputs[0]
    target.const_value = ir.tensor(np.full([int(dim) for dim in shape], filling.reshape(())))
