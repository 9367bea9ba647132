# SPDX-License-Identifier: EPL-2.0
"""Softmax and the normalisations that depend on the data."""

import onnx_ir as ir

from aidge_export_gk7206.preparation.kernel_graph import Dims, Value, permuted, size
from aidge_export_gk7206.preparation.lower_elementwise import affine, binary, unary
from aidge_export_gk7206.preparation.lower_pooling import reduce
from aidge_export_gk7206.preparation.lowering import Lowering, lowers


@lowers("Softmax", "LogSoftmax")
def softmax(low: Lowering, node: ir.Node) -> None:
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    rank = len(source.shape)
    # Before opset 13 everything from the axis on is normalised together.
    axis = node.attributes.get_int("axis", -1 if low.opset >= 13 else 1) % rank
    axes = [axis] if low.opset >= 13 else list(range(axis, rank))
    if node.op_type == "LogSoftmax":
        _log_softmax(low, node, source, target, axes)
        return
    perm = _axes_last(low, source, axes)
    tensor = low.form(source, perm)
    dims = permuted(source.shape, perm)
    channels = size(dims[rank - len(axes) :])
    out = low.emit(node, "XnnSoftmax", [tensor], dims, dims=[size(dims) // channels, channels])
    low.define(target, out, perm)


def _log_softmax(low: Lowering, node: ir.Node, source: Value, target: Value, axes: list[int]) -> None:
    """``x - max - log(sum(exp(x - max)))``: the logarithm of a softmax is infinite where that underflows."""
    small: Dims = tuple(1 if axis in axes else dim for axis, dim in enumerate(source.shape))
    largest, total, logarithm = (low.temporary(f"{target.name}_{role}", small) for role in ("max", "sum", "log"))
    shifted, powers = (low.temporary(f"{target.name}_{role}", source.shape) for role in ("shifted", "exp"))
    reduce(low, node, source, largest, "max", axes, keep=True)
    binary(low, node, source, largest, shifted, "subtract")
    unary(low, node, shifted, powers, "exp")
    reduce(low, node, powers, total, "sum", axes, keep=True)
    unary(low, node, total, logarithm, "log")
    binary(low, node, shifted, logarithm, target, "subtract")


def _axes_last(low: Lowering, value: Value, axes: list[int]) -> Dims:
    """An order of axes that ends with these; one that is at hand if possible."""
    for form in low.forms(value):
        solid = [axis for axis in form.perm if value.shape[axis] != 1]
        wanted = {axis for axis in axes if value.shape[axis] != 1}
        if set(solid[len(solid) - len(wanted) :]) == wanted:
            return (*(axis for axis in form.perm if axis not in axes), *(axis for axis in form.perm if axis in axes))
    perm = low.natural(value).perm
    return (*(axis for axis in perm if axis not in axes), *sorted(axes))


@lowers("LayerNormalization")
def layer_normalization(low: Lowering, node: ir.Node) -> None:
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    axis = node.attributes.get_int("axis", -1) % len(source.shape)
    axes = list(range(axis, len(source.shape)))
    epsilon = node.attributes.get_float("epsilon", 1e-5)
    normal = low.temporary(f"{target.name}_normal", source.shape)
    _normalize(low, node, source, normal, axes, epsilon)
    scaled = target
    if low.has(node, 2):
        scaled = low.temporary(f"{target.name}_scaled", source.shape)
    binary(low, node, normal, low.value(node.inputs[1]), scaled, "multiply")
    if low.has(node, 2):
        binary(low, node, scaled, low.value(node.inputs[2]), target, "add")


@lowers("InstanceNormalization")
def instance_normalization(low: Lowering, node: ir.Node) -> None:
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    factors = low.need_constant(node, 1, "the scale of InstanceNormalization")
    offsets = low.need_constant(node, 2, "the bias of InstanceNormalization")
    normal = low.temporary(f"{target.name}_normal", source.shape)
    axes = list(range(2, len(source.shape)))
    _normalize(low, node, source, normal, axes, node.attributes.get_float("epsilon", 1e-5))
    affine(low, node, normal, target, factors, offsets)


def _normalize(low: Lowering, node: ir.Node, source: Value, target: Value, axes: list[int], epsilon: float) -> None:
    """``(x - mean) / sqrt(variance + epsilon)`` over axes."""
    small: Dims = tuple(1 if axis in axes else dim for axis, dim in enumerate(source.shape))

    def step(role: str, shape: Dims) -> Value:
        return low.temporary(f"{target.name}_{role}", shape)

    mean, centred, squares = step("mean", small), step("centred", source.shape), step("squares", source.shape)
    variance, shifted, deviation = step("variance", small), step("shifted", small), step("deviation", small)
    reduce(low, node, source, mean, "mean", axes, keep=True)
    binary(low, node, source, mean, centred, "subtract")
    unary(low, node, centred, squares, "square")
    reduce(low, node, squares, variance, "mean", axes, keep=True)
    binary(low, node, variance, low.scalar(epsilon), shifted, "add")
    unary(low, node, shifted, deviation, "square_root")
    binary(low, node, centred, deviation, target, "divide")
