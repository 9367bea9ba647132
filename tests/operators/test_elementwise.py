# SPDX-License-Identifier: EPL-2.0
"""Functions of one and of two values, with broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.cases import Build, Case, operator_tests
from support.graphs import Graph

IMAGE = (2, 13, 7, 5)


def unary(op_type: str, **attributes: Any) -> Build:
    return lambda g, x: g.op(op_type, x, **attributes)


def clip(lower: float | None, upper: float | None) -> Build:
    """Attributes before opset 11, inputs from then on."""

    def build(g: Graph, x: str) -> str:
        if g.opset < 11:
            given = {"min": lower, "max": upper}
            return g.op("Clip", x, **{key: value for key, value in given.items() if value is not None})
        inputs = ["" if bound is None else g.constant(np.float32(bound)) for bound in (lower, upper)]
        return g.op("Clip", x, *inputs)

    return build


def prelu(*shape: int) -> Build:
    return lambda g, x: g.op("PRelu", x, g.uniform(*shape, low=-0.5, high=0.9))


def silu(g: Graph, x: str) -> str:
    return g.op("Mul", x, g.op("Sigmoid", x))


def silu_other_way(g: Graph, x: str) -> str:
    return g.op("Mul", g.op("Sigmoid", x), x)


def gelu_written_out(g: Graph, x: str) -> str:
    root = g.op("Div", x, g.constant(np.float32(np.sqrt(2))))
    return g.op("Mul", g.op("Mul", x, g.op("Add", g.op("Erf", root), g.constant(1.0))), g.constant(0.5))


def hard_swish_written_out(g: Graph, x: str) -> str:
    inner = g.op("Clip", g.op("Add", x, g.constant(3.0)), g.constant(0.0), g.constant(6.0))
    return g.op("Div", g.op("Mul", x, inner), g.constant(6.0))


def operand(op_type: str, shape: tuple[int, ...], first: bool = False) -> Build:
    """A constant second operand (or first), away from zero."""

    def build(g: Graph, x: str) -> str:
        other = g.uniform(*shape, low=0.5, high=2.0)
        return g.op(op_type, *((other, x) if first else (x, other)))

    return build


def reduced(op_type: str, axes: list[int], first: bool = False) -> Build:
    """A second operand (or first) that is computed, and smaller."""

    def build(g: Graph, x: str) -> str:
        other = g.op("ReduceMean", g.op("Exp", x), axes=axes)
        return g.op(op_type, *((other, x) if first else (x, other)))

    return build


def outer(op_type: str) -> Build:
    """Two computed operands that each lack what the other has."""
    return lambda g, x: g.op(op_type, g.op("ReduceMax", x, axes=[1, 3]), g.op("ReduceMin", x, axes=[0, 2]))


def lower_rank(op_type: str) -> Build:
    """A computed operand of lower rank."""
    return lambda g, x: g.op(op_type, x, g.op("ReduceMean", x, axes=[0, 1], keepdims=0))


POSITIVE = {"low": 0.05, "high": 9.0}
SHAPES = ((3, 17), (2, 13, 7), IMAGE, (1, 1, 1, 1), (17,), (2, 3, 4, 5, 2))
UNARY = [
    *(
        Case(f"{op_type}_{'x'.join(map(str, shape))}", shape, unary(op_type), **limits)
        for op_type, limits in {
            "Relu": {},
            "Sigmoid": {},
            "Tanh": {},
            "Abs": {},
            "Neg": {},
            "Floor": {},
            "Ceil": {},
            "Round": {},
            "Exp": {},
            "HardSwish": {"low": -6.0, "high": 6.0},
            "Softplus": {"low": -20.0, "high": 20.0},
            "Log": POSITIVE,
            "Sqrt": POSITIVE,
            "Reciprocal": POSITIVE,
            "Elu": {},
            "LeakyRelu": {},
            "HardSigmoid": {},
            "Identity": {},
            "Dropout": {},
        }.items()
        for shape in (SHAPES if op_type in ("Relu", "Sigmoid", "Reciprocal") else (IMAGE, (17,)))
    ),
    Case("Elu_alpha", IMAGE, unary("Elu", alpha=0.3)),
    Case("LeakyRelu_alpha", IMAGE, unary("LeakyRelu", alpha=0.3)),
    Case("LeakyRelu_negative_alpha", IMAGE, unary("LeakyRelu", alpha=-0.5)),
    Case("HardSigmoid_sixth", IMAGE, unary("HardSigmoid", alpha=1 / 6, beta=0.5), low=-6, high=6),
    Case("Sigmoid_far", IMAGE, unary("Sigmoid"), low=-100, high=100),
    Case("Tanh_far", IMAGE, unary("Tanh"), low=-30, high=30),
    Case("Tanh_near_0", IMAGE, unary("Tanh"), low=-1e-3, high=1e-3),
    Case("Exp_far", IMAGE, unary("Exp"), low=-30, high=30),
    Case("Log_small", IMAGE, unary("Log"), low=1e-6, high=1e-3),
    Case("Round_halves", IMAGE, lambda g, x: g.op("Round", g.op("Div", g.op("Round", x), g.constant(2.0)))),
    *(Case(f"Gelu_{mode}", IMAGE, unary("Gelu", approximate=mode), opset=22) for mode in ("none", "tanh")),
    Case("Gelu_written_out", (2, 7, 24), gelu_written_out),
    Case("HardSwish_written_out", IMAGE, hard_swish_written_out, low=-6, high=6),
    Case("silu", IMAGE, silu, low=-8, high=8),
    Case("silu_other_way", IMAGE, silu_other_way, low=-8, high=8),
    *(
        Case(f"Clip_{lower}_{upper}_opset_{opset}", IMAGE, clip(lower, upper), opset=opset)
        for opset in (9, 11, 13)
        for lower, upper in ((0.0, 2.0), (-1.5, None), (None, 1.5), (None, None), (0.0, None), (-0.5, 0.25))
    ),
    Case("relu6", IMAGE, clip(0.0, 6.0), low=-3, high=9),
    Case("Clip_crossed", IMAGE, clip(1.0, -1.0)),
    Case("Clip_equal", IMAGE, clip(0.5, 0.5)),
    Case("PRelu_scalar", IMAGE, prelu(1)),
    Case("PRelu_per_channel", IMAGE, prelu(13, 1, 1)),
    Case("PRelu_per_channel_rank_4", IMAGE, prelu(1, 13, 1, 1)),
    Case("PRelu_per_element", IMAGE, prelu(13, 7, 5)),
    Case("PRelu_of_rows", (3, 17), prelu(17)),
    Case("Cast_float", IMAGE, unary("Cast", to=1)),
    Case("Swish", IMAGE, unary("Swish", alpha=1.5), opset=24),
]
CONSTANTS = {
    "scalar": (), "1": (1,), "1x1x1x1": (1, 1, 1, 1), "Cx1x1": (13, 1, 1), "1xCx1x1": (1, 13, 1, 1), "HxW": (7, 5),
    "W": (5,), "Hx1": (7, 1), "NxCxHxW": IMAGE, "Nx1x1x1": (2, 1, 1, 1), "CxHxW": (13, 7, 5), "Nx1xHx1": (2, 1, 7, 1),
}  # fmt: skip
BINARY = [
    *(
        Case(f"{op_type}_{name}", IMAGE, operand(op_type, shape), low=0.1 if op_type == "Pow" else -3.0)
        for op_type in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Pow")
        for name, shape in CONSTANTS.items()
        if op_type in ("Add", "Sub", "Mul") or name in ("scalar", "Cx1x1", "HxW", "W", "NxCxHxW")
    ),
    *(
        Case(f"{op_type}_from_{name}", IMAGE, operand(op_type, CONSTANTS[name], first=True), low=0.2, high=2)
        for op_type in ("Add", "Sub", "Mul", "Div", "Pow", "Max")
        for name in ("scalar", "Cx1x1", "W")
    ),
    *(
        Case(f"{op_type}_by_mean_over_{''.join(map(str, axes))}", IMAGE, reduced(op_type, axes))
        for op_type in ("Add", "Mul", "Div", "Max")
        for axes in ([2, 3], [1], [0, 1, 2, 3], [3])
    ),
    Case("Sub_from_mean", IMAGE, reduced("Sub", [2, 3], first=True)),
    *(Case(f"{op_type}_outer", IMAGE, outer(op_type)) for op_type in ("Add", "Sub", "Mul", "Min")),
    *(Case(f"{op_type}_lower_rank", IMAGE, lower_rank(op_type)) for op_type in ("Add", "Mul")),
    Case("Add_larger_constant", (1, 1, 7, 5), operand("Add", IMAGE)),
    Case("Add_constant_of_higher_rank", (7, 5), operand("Add", (2, 3, 7, 5))),
    Case("Mul_constant_of_higher_rank", (13, 1, 1), operand("Mul", IMAGE)),
    Case("Add_itself", IMAGE, lambda g, x: g.op("Add", x, x)),
    Case("Mul_itself", IMAGE, lambda g, x: g.op("Mul", x, x)),
    Case("Sub_2d", (3, 17), operand("Sub", (17,))),
    Case("Div_3d", (2, 13, 7), operand("Div", (13, 1))),
    Case("Pow_2", IMAGE, lambda g, x: g.op("Pow", x, g.constant(2.0))),
    Case("Pow_2_int64", IMAGE, lambda g, x: g.op("Pow", x, g.constant(2, np.int64))),
    Case("Pow_3", IMAGE, lambda g, x: g.op("Pow", x, g.constant(3.0))),
    Case("Pow_half", IMAGE, lambda g, x: g.op("Pow", x, g.constant(0.5)), low=0.1),
    Case("Pow_1", IMAGE, lambda g, x: g.op("Pow", x, g.constant(1.0))),
    Case("Pow_minus_1", IMAGE, lambda g, x: g.op("Pow", x, g.constant(-1.0)), low=0.1),
    Case("Sum_1", IMAGE, lambda g, x: g.op("Sum", x)),
    Case("Sum_3", IMAGE, lambda g, x: g.op("Sum", x, g.uniform(13, 1, 1), g.op("Abs", x))),
    Case("Max_3", IMAGE, lambda g, x: g.op("Max", x, g.uniform(13, 1, 1), g.op("Neg", x))),
    Case("Min_3", IMAGE, lambda g, x: g.op("Min", g.uniform(5), x, g.op("Neg", x))),
    Case("Max_1", IMAGE, lambda g, x: g.op("Max", x)),
    Case("Add_opset_11", IMAGE, operand("Add", (13, 1, 1)), opset=11),
]  # fmt: skip
test_unary = operator_tests(UNARY)
test_binary = operator_tests(BINARY)
