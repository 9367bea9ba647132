# SPDX-License-Identifier: EPL-2.0
"""Element-wise operators, activations, and what can be folded into the layer before."""

from typing import Any

import numpy as np
import onnx_ir as ir

from aidge_export_gk7206.preparation.kernel_graph import Array, Op, Value, permuted, size
from aidge_export_gk7206.preparation.lower_convolution import constant
from aidge_export_gk7206.preparation.lowering import INFINITY, Lowering, Unsupported, lowers

# Operators that can bound their own output.
_BOUNDED = (
    "XnnConvolution",
    "XnnDeconvolution",
    "XnnFullyConnected",
    "XnnMaxPooling",
    "XnnAveragePooling",
    "XnnBinary",
)
# Operators with weights and a bias per output channel.
_WEIGHTED = ("XnnConvolution", "XnnDeconvolution", "XnnFullyConnected")


# ---- one operand ---------------------------------------------------------------------------------------------------


def unary(low: Lowering, node: ir.Node, source: Value, target: Value, op: str, **attrs: Any) -> None:
    """Emits an element-wise function in whichever form the source is at hand."""
    form = low.natural(source)
    dims = permuted(source.shape, form.perm)
    rows = [size(dims[:-1]), dims[-1]] if dims else [1, 1]
    out = low.emit(node, "XnnUnary", [form.tensor], dims, op=op, dims=rows, **attrs)
    low.define(target, out, form.perm)


_UNARY = {
    "Abs": "abs",
    "Ceil": "ceiling",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "HardSwish": "hardswish",
    "Log": "log",
    "Neg": "negate",
    "Round": "bankers_rounding",
    "Sigmoid": "sigmoid",
    "Softplus": "softplus",
    "Sqrt": "square_root",
    "Tanh": "tanh",
}


@lowers(*_UNARY)
def simple_unary(low: Lowering, node: ir.Node) -> None:
    unary(low, node, low.value(node.inputs[0]), low.value(node.outputs[0]), _UNARY[node.op_type])


@lowers("LeakyRelu")
def leaky_relu(low: Lowering, node: ir.Node) -> None:
    alpha = node.attributes.get_float("alpha", 0.01)
    unary(low, node, low.value(node.inputs[0]), low.value(node.outputs[0]), "leaky_relu", alpha=alpha)


@lowers("Elu")
def elu(low: Lowering, node: ir.Node) -> None:
    alpha = node.attributes.get_float("alpha", 1.0)
    unary(low, node, low.value(node.inputs[0]), low.value(node.outputs[0]), "elu", alpha=alpha)


@lowers("Gelu")
def gelu(low: Lowering, node: ir.Node) -> None:
    op = "gelu" if node.attributes.get_string("approximate", "none") == "none" else "approxgelu"
    unary(low, node, low.value(node.inputs[0]), low.value(node.outputs[0]), op)


@lowers("Reciprocal")
def reciprocal(low: Lowering, node: ir.Node) -> None:
    binary(low, node, low.scalar(1.0), low.value(node.inputs[0]), low.value(node.outputs[0]), "divide")


@lowers("Relu")
def relu(low: Lowering, node: ir.Node) -> None:
    bound(low, node, low.value(node.inputs[0]), low.value(node.outputs[0]), 0.0, INFINITY)


@lowers("Clip")
def clip(low: Lowering, node: ir.Node) -> None:
    bounds = []
    for name, index, default in (("min", 1, -INFINITY), ("max", 2, INFINITY)):
        if low.has(node, index):
            bounds.append(float(low.need_constant(node, index, f"the bound '{name}' of Clip").reshape(())))
        else:
            bounds.append(float(node.attributes.get_float(name, default)))
    bound(low, node, low.value(node.inputs[0]), low.value(node.outputs[0]), *bounds)


def bound(low: Lowering, node: ir.Node, source: Value, target: Value, lower: float, upper: float) -> None:
    """Limits a value: inside the operator that computes it where that can do it, by a clamp otherwise."""
    # Where they cross, ONNX gives `upper` for everything.
    lower = min(lower, upper)
    # What has only been reshaped may as well be limited before.
    moved = source.view_of if source.uses == 1 and not source.forms else None
    op = low.sole_producer(moved or source, *_BOUNDED)
    if op is not None and _unbounded(op) and lower < upper:
        op.attrs.update(activation_min=lower, activation_max=upper)
        op.absorb(node.op_type)
        if moved is not None:
            low.reshape(moved, target)
        else:
            low.alias(source, target, source.forms)
        return
    unary(low, node, source, target, "clamp", activation_min=lower, activation_max=upper)


def _unbounded(op: Op) -> bool:
    return bool(op.attrs["activation_min"] == -INFINITY and op.attrs["activation_max"] == INFINITY)


@lowers("HardSigmoid")
def hard_sigmoid(low: Lowering, node: ir.Node) -> None:
    alpha, beta = node.attributes.get_float("alpha", 0.2), node.attributes.get_float("beta", 0.5)
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    scaled = low.temporary(f"{target.name}_scaled", source.shape)
    _with_scalar(low, node, source, scaled, "multiply", alpha)
    _with_scalar(low, node, scaled, target, "add", beta, lower=0.0, upper=1.0)


@lowers("Swish")
def swish(low: Lowering, node: ir.Node) -> None:
    """``x * sigmoid(alpha * x)``."""
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    gate_in = source
    if (alpha := node.attributes.get_float("alpha", 1.0)) != 1.0:
        gate_in = low.temporary(f"{target.name}_scaled", source.shape)
        _with_scalar(low, node, source, gate_in, "multiply", alpha)
    gate = low.temporary(f"{target.name}_gate", source.shape)
    unary(low, node, gate_in, gate, "sigmoid")
    binary(low, node, source, gate, target, "multiply")


def _with_scalar(
    low: Lowering,
    node: ir.Node,
    source: Value,
    target: Value,
    op: str,
    scalar: float,
    lower: float = -INFINITY,
    upper: float = INFINITY,
) -> None:
    binary(low, node, source, low.scalar(scalar), target, op, lower, upper)


# ---- two operands --------------------------------------------------------------------------------------------------


def binary(
    low: Lowering,
    node: ir.Node,
    a: Value,
    b: Value,
    target: Value,
    op: str,
    lower: float = -INFINITY,
    upper: float = INFINITY,
) -> None:
    """Emits an element-wise operator with numpy's broadcasting."""
    rank = len(target.shape)
    perm = _common_order(low, a, b, rank)
    (left, a_dims), (right, b_dims) = low.broadcast(a, rank, perm), low.broadcast(b, rank, perm)
    dims = permuted(target.shape, perm)
    out = low.emit(
        node,
        "XnnBinary",
        [left, right],
        dims,
        op=op,
        a_dims=list(a_dims) or [1],
        b_dims=list(b_dims) or [1],
        out_dims=list(dims) or [1],
        activation_min=lower,
        activation_max=upper,
    )
    low.define(target, out, perm)


def _common_order(low: Lowering, a: Value, b: Value, rank: int) -> tuple[int, ...]:
    """Order of axes for both operands: that of the larger computed one."""
    computed = [v for v in (a, b) if v.constant is None]
    widest = max(computed, key=lambda v: (len(v.shape), size(v.shape)), default=a)
    perm = low.natural(widest).perm
    missing = rank - len(perm)
    return (*range(missing), *(axis + missing for axis in perm))


_BINARY = {
    "Add": "add",
    "Div": "divide",
    "Max": "maximum",
    "Min": "minimum",
    "Mul": "multiply",
    "Sub": "subtract",
    "Sum": "add",
}


@lowers(*_BINARY)
def simple_binary(low: Lowering, node: ir.Node) -> None:
    """Also the operators with any number of operands."""
    values = [low.value(source) for source in node.inputs]
    target = low.value(node.outputs[0])
    if len(values) == 1:
        low.reshape(values[0], target)
        return
    if len(values) == 2 and _folded(low, node, values[0], values[1], target):
        return
    left = values[0]
    for i, right in enumerate(values[1:], start=2):
        last = i == len(values)
        shape = np.broadcast_shapes(left.shape, right.shape)
        result = target if last else low.temporary(f"{target.name}_{i}", shape)
        binary(low, node, left, right, result, _BINARY[node.op_type])
        left = result


@lowers("PRelu")
def prelu(low: Lowering, node: ir.Node) -> None:
    slope = low.value(node.inputs[1])
    binary(low, node, low.value(node.inputs[0]), slope, low.value(node.outputs[0]), "prelu")


@lowers("Pow")
def power(low: Lowering, node: ir.Node) -> None:
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    exponent = low.constant(node, 1)
    if exponent is not None and exponent.size == 1 and exponent.ndim <= len(source.shape):
        number = float(exponent.reshape(()))
        if number == 2.0:
            return unary(low, node, source, target, "square")
        if number == 0.5:
            return unary(low, node, source, target, "square_root")
        if number == 1.0:
            return low.reshape(source, target)
    if exponent is not None:
        low.value(node.inputs[1]).constant = exponent.astype(np.float32)
    return binary(low, node, source, low.value(node.inputs[1]), target, "pow")


# ---- folding into the layer before -----------------------------------------------------------------------------------


def _folded(low: Lowering, node: ir.Node, a: Value, b: Value, target: Value) -> bool:
    """Folds a constant per channel into the weights and bias before it, where that is possible."""
    source, other, swapped = (a, b, False) if b.constant is not None else (b, a, True)
    if other.constant is None or (swapped and node.op_type in ("Sub", "Div")) or source.shape != target.shape:
        return False
    if node.op_type not in ("Add", "Sub", "Mul", "Div"):
        return False
    op = low.sole_producer(source, *_WEIGHTED)
    if op is None or not _unbounded(op):
        return False
    values = _per_channel(source, op, other.constant)
    if values is None:
        return False
    factors, offsets = np.ones_like(values), np.zeros_like(values)
    match node.op_type:
        case "Add":
            offsets = values
        case "Sub":
            offsets = -values
        case "Mul":
            factors = values
        case "Div":
            factors = 1.0 / values
    if not scale_channels(op, factors, offsets):
        return False
    op.absorb(node.op_type)
    low.alias(source, target, source.forms)
    return True


def _per_channel(source: Value, op: Op, array: Array) -> Array | None:
    """A constant as one float64 per output channel of an operator; None when it is anything else.

    :param source: What the operator computes, perhaps reshaped since.
    """
    channels = op.attrs["out_dims"][-1]
    perm = source.forms[0].perm
    # A reshape may have put axes of size 1 behind the channels.
    solid = [axis for axis in perm if source.shape[axis] != 1]
    channel_axis = next((axis for axis in (*perm[-1:], *solid[-1:]) if source.shape[axis] == channels), None)
    if channel_axis is None or array.ndim > len(source.shape):
        return None
    shape = (1,) * (len(source.shape) - array.ndim) + array.shape
    if any(dim != 1 for axis, dim in enumerate(shape) if axis != channel_axis):
        return None
    values: Array = np.broadcast_to(array.reshape(-1).astype(np.float64), (channels,))
    return values


def scale_channels(op: Op, factors: Array, offsets: Array) -> bool:
    """Makes a layer with weights compute ``factors * y + offsets`` per output channel.

    :return: Whether it does: weights that float32 does not hold, after a division by 0 say, would give other results.
    """
    weights = op.inputs[1].constant
    assert weights is not None
    channels = weights.shape[0]
    bias = np.zeros(channels) if len(op.inputs) < 3 or op.inputs[2].constant is None else op.inputs[2].constant
    spread = factors.reshape(-1, *[1] * (weights.ndim - 1))
    scaled = [constant(weights * spread), constant(bias * factors + offsets)]
    if not all(np.all(np.isfinite(tensor.constant)) for tensor in scaled if tensor.constant is not None):
        return False
    op.inputs[1:] = scaled
    return True


@lowers("BatchNormalization")
def batch_normalization(low: Lowering, node: ir.Node) -> None:
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    scale, shift, mean, variance = (
        low.need_constant(node, i, "a parameter of BatchNormalization").astype(np.float64) for i in range(1, 5)
    )
    if node.attributes.get_int("training_mode", 0):
        raise Unsupported("training_mode=1")
    factors = scale / np.sqrt(variance + node.attributes.get_float("epsilon", 1e-5))
    offsets = shift - mean * factors
    if not np.all(np.isfinite(factors) & np.isfinite(offsets)):
        raise Unsupported("a variance that is not positive, or a parameter that is infinite or not a number")
    op = low.sole_producer(source, *_WEIGHTED)
    if op is not None and _unbounded(op):
        shape = (-1, *[1] * (len(source.shape) - 2))
        scales, shifts = (_per_channel(source, op, array.reshape(shape)) for array in (factors, offsets))
        if scales is not None and shifts is not None and scale_channels(op, scales, shifts):
            op.absorb(node.op_type)
            low.alias(source, target, source.forms)
            return
    affine(low, node, source, target, factors, offsets)


def affine(low: Lowering, node: ir.Node, source: Value, target: Value, factors: Array, offsets: Array) -> None:
    """Emits ``factors * x + offsets`` per channel (axis 1)."""
    shape = (factors.size, *[1] * (len(source.shape) - 2))
    step = low.temporary(f"{target.name}_scaled", source.shape)
    for before, after, op, array in ((source, step, "multiply", factors), (step, target, "add", offsets)):
        value = low.temporary(f"{target.name}_{op}", shape)
        value.constant = array.reshape(shape).astype(np.float32)
        binary(low, node, before, value, after, op)
