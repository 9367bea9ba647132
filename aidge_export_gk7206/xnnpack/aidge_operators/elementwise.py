# SPDX-License-Identifier: EPL-2.0
"""Element-wise operators of one and two operands."""

import math
from collections.abc import Callable, Sequence

import aidge_core
import numpy as np
from aidge_core import dformat

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.kernel import PREPARE, Array, Kernel, Operators, serves, serves_fused
from aidge_export_gk7206.xnnpack.parts import activation, bounds, memory_order, pixelwise, refuse
from aidge_export_gk7206.xnnpack.specs import ANY, recipes, spec


def _is_image(operator: aidge_core.Operator) -> bool:
    return bool(operator.get_input(0).dformat == dformat.nhwc)


# Channels last by name where the input is: for "any", Aidge takes the layout that the input had before it adapted it.
ELEMENTWISE = [spec(dformat.any, dformat.nhwc, _is_image), ANY]

_UNARY = {
    "Abs": "abs",
    "Ceil": "ceiling",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "Ln": "log",
    "Neg": "negate",
    "Round": "bankers_rounding",
    "Sigmoid": "sigmoid",
    "Sqrt": "square_root",
    "Tanh": "tanh",
}


@serves(*_UNARY, specs=ELEMENTWISE)
def unary(operators: Operators) -> Kernel:
    """A function without parameters."""
    return _unary(operators, _UNARY[operators.node.type()])


@serves("ReLU", specs=ELEMENTWISE)
def relu(operators: Operators) -> Kernel:
    """``max(x, 0)``."""
    return _unary(operators, "clamp", activation_min=0.0, activation_max=math.inf)


@serves("Clip", specs=ELEMENTWISE)
def clip(operators: Operators) -> Kernel:
    """``min(max(x, lower), upper)``."""
    lower, upper = bounds(operators, operators.node)
    return _unary(operators, "clamp", activation_min=lower, activation_max=upper)


@serves("LeakyReLU", specs=ELEMENTWISE)
def leaky_relu(operators: Operators) -> Kernel:
    """``x`` where it is positive, ``alpha * x`` elsewhere."""
    return _unary(operators, "leaky_relu", alpha=float(operators.operator.attr.negative_slope))


@serves("HardSigmoid", specs=ELEMENTWISE)
def hard_sigmoid(operators: Operators) -> Kernel:
    """``min(max(alpha * x + beta, 0), 1)``, which XNNPACK has as a depthwise convolution of one pixel."""
    attributes = operators.operator.attr
    kernel = _unary(operators, "hard_sigmoid")
    rows, channels = kernel.attrs["dims"]
    dims = [1, 1, rows, channels]
    attrs = pixelwise(dims, activation_min=0.0, activation_max=1.0)
    constants = {
        1: lambda: np.full((channels, 1, 1, 1), attributes.alpha),
        2: lambda: np.full(channels, attributes.beta),
    }
    return Kernel("XnnConvolution", attrs, [0, 0, 0], constants)


# Not "HardSwish", whose recipe also fits a gate that is computed from something else.
@serves_fused(
    {"SelfGatedHardSigmoid": "Identity#0~0-0>HardSigmoid#1-0-*>Mul#2; Identity#0~0-*>Mul#2"}, specs=ELEMENTWISE
)
def hard_swish(operators: Operators) -> Kernel:
    """``x * min(max(x / 6 + 1 / 2, 0), 1)``; the other numbers are not Aidge's hard swish."""
    attributes = operators.get("HardSigmoid").get_operator().attr
    if not (math.isclose(attributes.alpha, 1 / 6, rel_tol=1e-6) and math.isclose(attributes.beta, 0.5, rel_tol=1e-6)):
        raise ExportError(f"{operators.who()}: alpha {attributes.alpha}, beta {attributes.beta}", PREPARE)
    return _unary(operators, "hardswish")


def _unary(operators: Operators, op: str, **attrs: float) -> Kernel:
    dims = operators.dims(0)
    if dims != operators.out_dims():
        raise refuse(operators, dims, operators.out_dims(), "the same dims wanted")
    # Rows of pixels, so that neighbours can be placed in larger tensors.
    rows = [math.prod(dims[:-1]), dims[-1]] if dims else [1, 1]
    return Kernel("XnnUnary", {"op": op, "dims": rows, **attrs}, [0])


# ---- two operands ----------------------------------------------------------------------------------------------------

_BINARY = {
    "Add": "add",
    "Div": "divide",
    "Max": "maximum",
    "Min": "minimum",
    "Mul": "multiply",
    "Pow": "pow",
    "Sub": "subtract",
    "Sum": "add",
}


def _one_axis(dims: Sequence[int]) -> bool:
    """Whether no layout makes a difference to the bytes of a tensor."""
    return sum(dim != 1 for dim in dims) <= 1


def _has_image(operator: aidge_core.Operator) -> bool:
    return any(operator.get_input(index).dformat == dformat.nhwc for index in (0, 1))


def _two(operator: aidge_core.Operator) -> bool:
    return bool(operator.nb_inputs() == 2)


# Any layouts, of which some are refused: where Aidge considers transposing an operand with fewer axes than the layout,
# it divides by zero.
_SPECS = [
    spec([dformat.any, dformat.any], dformat.nhwc, _two, _has_image),
    spec([dformat.any, dformat.any], dformat.any, _two),
]


@serves(*_BINARY, specs=_SPECS)
@serves_fused(
    {
        **recipes("AddAct", "SubAct", "MulAct", "DivAct"),
        "AddClip": "Add->Clip",
        "SubClip": "Sub->Clip",
        "MulClip": "Mul->Clip",
    },
    specs=_SPECS,
)
def binary(operators: Operators) -> Kernel:
    """``activation(op(a, b))`` with numpy's broadcasting."""
    inner = operators.get(*_BINARY)
    a, b = operators.need(inner, 0, "left operand"), operators.need(inner, 1, "right operand")
    out_dims, target = operators.out_dims(), operators.operator.get_output(0)
    order = memory_order(target)
    dims: list[list[int]] = []
    constants: dict[int, Callable[[], Array]] = {}
    for position, index in enumerate((a, b)):
        operand, shape = operators.operator.get_input(index), operators.dims(index)
        if order != sorted(order) and memory_order(operand) != order:
            # In ONNX order: a constant is put into that of the output, where that makes a difference.
            shape = [1] * (len(order) - len(shape)) + shape
            if operators.is_constant(index):
                constants[position] = _moved(operators, index, shape, order)
            elif not _one_axis(shape):
                raise refuse(operators, operators.dims(index), out_dims, "different layouts")
            shape = [shape[axis] for axis in order]
        elif memory_order(operand) != order and len(shape) == len(order):
            raise refuse(operators, shape, out_dims, "different layouts")
        dims.append(shape)
    try:
        wanted = list(np.broadcast_shapes(*map(tuple, dims)))
    except ValueError:
        wanted = []
    if wanted != out_dims:
        raise refuse(operators, dims[0], dims[1], f"output {'x'.join(map(str, out_dims))}")
    lower, upper = activation(operators)
    return Kernel(
        "XnnBinary",
        {
            "op": _BINARY[inner.type()],
            "a_dims": dims[0],
            "b_dims": dims[1],
            "out_dims": out_dims,
            "activation_min": lower,
            "activation_max": upper,
        },
        [a, b],
        constants,
    )


def _moved(operators: Operators, index: int, shape: list[int], order: list[int]) -> Callable[[], Array]:
    """Function that gives a constant operand with its axes in another order."""
    return lambda: operators.constant(index, "an operand").reshape(shape).transpose(order)


@serves("Reciprocal", specs=ELEMENTWISE)
def reciprocal(operators: Operators) -> Kernel:
    """``1 / x``."""
    dims = operators.dims(0)
    if dims != operators.out_dims():
        raise refuse(operators, dims, operators.out_dims(), "the same dims wanted")
    attrs = {"op": "divide", "a_dims": [1], "b_dims": dims or [1], "out_dims": dims or [1]}
    bounds_ = {"activation_min": -math.inf, "activation_max": math.inf}
    return Kernel("XnnBinary", {**attrs, **bounds_}, [0, 0], {0: lambda: np.ones(1)})
