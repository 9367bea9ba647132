# SPDX-License-Identifier: EPL-2.0
"""Element-wise operators of one and two operands."""

import math
from collections.abc import Sequence

import aidge_core
import numpy as np
from aidge_core import dformat

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.aidge_operators.parts import activation, bounds, pixelwise, refuse
from aidge_export_gk7206.xnnpack.aidge_operators.specs import ANY, recipes, spec
from aidge_export_gk7206.xnnpack.kernel import PREPARE, Kernel, Operators, serves, serves_fused

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


@serves(*_UNARY, specs=[ANY])
def unary(operators: Operators) -> Kernel:
    """A function without parameters."""
    return _unary(operators, _UNARY[operators.node.type()])


@serves("ReLU", specs=[ANY])
def relu(operators: Operators) -> Kernel:
    """``max(x, 0)``."""
    return _unary(operators, "clamp", activation_min=0.0, activation_max=math.inf)


@serves("Clip", specs=[ANY])
def clip(operators: Operators) -> Kernel:
    """``min(max(x, lower), upper)``."""
    lower, upper = bounds(operators, operators.node)
    return _unary(operators, "clamp", activation_min=lower, activation_max=upper)


@serves("LeakyReLU", specs=[ANY])
def leaky_relu(operators: Operators) -> Kernel:
    """``x`` where it is positive, ``alpha * x`` elsewhere."""
    return _unary(operators, "leaky_relu", alpha=float(operators.operator.attr.negative_slope))


@serves("HardSigmoid", specs=[ANY])
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
@serves_fused({"SelfGatedHardSigmoid": "Identity#0->HardSigmoid#1->Mul#2; Identity#0->Mul#2"}, specs=[ANY])
def hard_swish(operators: Operators) -> Kernel:
    """``x * min(max(x / 6 + 1 / 2, 0), 1)``; the other numbers are not Aidge's hard swish."""
    attributes = operators.get("HardSigmoid").get_operator().attr
    if not (math.isclose(attributes.alpha, 1 / 6, rel_tol=1e-6) and math.isclose(attributes.beta, 0.5, rel_tol=1e-6)):
        raise ExportError(f"{operators.who()}: alpha {attributes.alpha}, beta {attributes.beta}", PREPARE)
    return _unary(operators, "hardswish")


def _unary(operators: Operators, op: str, **attrs: float) -> Kernel:
    dims = operators.dims(0)
    if math.prod(dims) != math.prod(operators.out_dims()):
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


def _small_second(operator: aidge_core.Operator) -> bool:
    """Whether the second operand broadcasts and its layout makes no difference."""
    if operator.nb_inputs() != 2:
        return False
    large, small = (operator.get_input(index).dims for index in (0, 1))
    return len(small) <= len(large) and _one_axis(small)


def _two(operator: aidge_core.Operator) -> bool:
    return bool(operator.nb_inputs() == 2)


# Operands in one layout, or a small second one that broadcasts whatever its layout. No layouts by name: Aidge divides by
# zero when it considers them for operands with fewer axes.
_SPECS = [
    spec([dformat.any_1, dformat.any_1], dformat.any_1, _two),
    spec([dformat.any_1, dformat.any], dformat.any_1, _small_second),
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
    out_dims = operators.out_dims()
    a_dims, b_dims = (_placed(operators, index, out_dims) for index in (a, b))
    try:
        wanted = list(np.broadcast_shapes(tuple(a_dims), tuple(b_dims)))
    except ValueError:
        wanted = []
    layouts = {_plain(operators.layout(index)) for index in (a, b) if not _one_axis(operators.dims(index))}
    if wanted != out_dims or not layouts <= {_plain(operators.operator.get_output(0).dformat)}:
        raise refuse(operators, a_dims, b_dims, f"output {'x'.join(map(str, out_dims))}")
    lower, upper = activation(operators)
    return Kernel(
        "XnnBinary",
        {
            "op": _BINARY[inner.type()],
            "a_dims": a_dims,
            "b_dims": b_dims,
            "out_dims": out_dims,
            "activation_min": lower,
            "activation_max": upper,
        },
        [a, b],
    )


def _plain(layout: dformat) -> dformat:
    """Layouts by what they do to the axes of ONNX: nothing, or channels last."""
    return layout if layout in (dformat.nhwc, dformat.nwc, dformat.hwc) else dformat.default


def _placed(operators: Operators, index: int, out_dims: list[int]) -> list[int]:
    """Dims of an operand in the order of the output's axes: those of a small one may be in another."""
    dims, rank = operators.dims(index), len(out_dims)
    target = _plain(operators.operator.get_output(0).dformat)
    if target == dformat.default or _plain(operators.layout(index)) == target or rank < 3:
        return dims
    dims = [1] * (rank - len(dims)) + dims
    return [dims[0], *dims[2:], dims[1]]
