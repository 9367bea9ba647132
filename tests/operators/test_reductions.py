# SPDX-License-Identifier: EPL-2.0
"""Means, sums, maxima and minima over every choice of axes; softmax and the normalisations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from support.cases import Build, Case, operator_tests
from support.graphs import Graph

SHAPES = {2: (5, 17), 3: (2, 13, 7), 4: (2, 13, 7, 5)}


def reduce(op_type: str, axes: list[int] | None, keepdims: int) -> Build:
    """The axes are an attribute before opset 18 (ReduceSum: 13), an input from then on."""

    def build(g: Graph, x: str) -> str:
        if axes is None:
            return g.op(op_type, x, keepdims=keepdims)
        if g.opset >= (13 if op_type == "ReduceSum" else 18):
            return g.op(op_type, x, g.ints(*axes), keepdims=keepdims)
        return g.op(op_type, x, axes=axes, keepdims=keepdims)

    return build


def all_reductions() -> Iterator[Case]:
    """Every subset of axes for the mean, with and without keepdims; every other one for the others."""
    for rank, shape in SHAPES.items():
        for count in range(1, rank + 1):
            for number, axes in enumerate(combinations(range(rank), count)):
                for k, op_type in enumerate(("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin")):
                    for keep in (0, 1) if k == 0 else ((number + k) % 2,):
                        digits = "".join(map(str, axes))
                        name = f"{op_type}_{rank}d_{digits}{'_keep' if keep else ''}"
                        opset = 19 if op_type == "ReduceMin" else 13
                        yield Case(name, shape, reduce(op_type, list(axes), keep), opset, forms=("plain", "last"))


def softmax(op_type: str, axis: int | None) -> Build:
    return lambda g, x: g.op(op_type, x, **({} if axis is None else {"axis": axis}))


def batch_norm(channels: int, epsilon: float = 1e-5) -> Build:
    def build(g: Graph, x: str) -> str:
        scale, variance = (g.uniform(channels, low=0.5, high=2) for _ in range(2))
        return g.op("BatchNormalization", x, scale, g.normal(channels), g.normal(channels), variance, epsilon=epsilon)

    return build


def instance_norm(channels: int) -> Build:
    return lambda g, x: g.op("InstanceNormalization", x, g.uniform(channels, low=0.5), g.normal(channels), epsilon=1e-3)


def layer_norm(shape: tuple[int, ...], axis: int, bias: bool = True) -> Build:
    def build(g: Graph, x: str) -> str:
        normalized = shape[axis:]
        operands = [g.uniform(*normalized, low=0.5), *([g.uniform(*normalized)] if bias else [])]
        return g.op("LayerNormalization", x, *operands, axis=axis)

    return build


REDUCTIONS = [
    *all_reductions(),
    *(Case(f"negative_axes_opset_{n}", SHAPES[4], reduce("ReduceMean", [-1, -3], 0), opset=n) for n in (11, 19)),
    *(Case(f"all_axes_keep_{keep}", SHAPES[4], reduce("ReduceMean", None, keep)) for keep in (0, 1)),
    Case("sum_of_everything", SHAPES[3], reduce("ReduceSum", None, 0)),
    Case("no_axes_no_operation", SHAPES[3], lambda g, x: g.op("ReduceSum", x, g.ints(), noop_with_empty_axes=1)),
    Case("mean_of_size_1", (2, 5, 1, 1), reduce("ReduceMean", [2, 3], 0)),
    Case("max_of_size_1", (1, 5, 1, 4), reduce("ReduceMax", [0, 2], 1)),
    Case("max_all_negative", SHAPES[4], reduce("ReduceMax", [2, 3], 0), low=-9, high=-1),
    Case("min_all_positive", SHAPES[4], reduce("ReduceMin", [1], 0), low=1, high=9),
    Case("mean_5d", (2, 3, 4, 5, 2), reduce("ReduceMean", [1, 3], 0)),
    Case("mean_5d_keep", (2, 3, 4, 5, 2), reduce("ReduceMean", [0, 2, 4], 1)),
]
SOFTMAX = [
    *(
        Case(f"{op_type}_{rank}d_axis_{axis}_opset_{opset}", SHAPES[rank], softmax(op_type, axis), opset=opset)
        for op_type in ("Softmax", "LogSoftmax")
        for opset in (11, 13)
        for rank in (2, 3, 4)
        for axis in range(-1, rank)
    ),
    *(Case(f"Softmax_default_axis_opset_{n}", SHAPES[4], softmax("Softmax", None), opset=n) for n in (11, 13)),
    Case("Softmax_large_values", (3, 17), softmax("Softmax", -1), low=-90, high=90),
    Case("LogSoftmax_large_values", (3, 17), softmax("LogSoftmax", -1), low=-90, high=90),
    Case("Softmax_of_1", (3, 1, 2, 2), softmax("Softmax", 1)),
    Case("Softmax_1000", (1, 1000), softmax("Softmax", 1)),
]
NORMALIZATIONS = [
    Case("batch_2d", (3, 17), batch_norm(17)),
    Case("batch_3d", SHAPES[3], batch_norm(13)),
    Case("batch_4d", SHAPES[4], batch_norm(13, 1e-3)),
    *(Case(f"batch_opset_{n}", SHAPES[4], batch_norm(13), opset=n) for n in (11, 19)),
    Case("batch_twice", SHAPES[4], lambda g, x: batch_norm(13)(g, batch_norm(13)(g, x))),
    Case("instance_3d", SHAPES[3], instance_norm(13)),
    Case("instance_4d", SHAPES[4], instance_norm(13)),
    *(Case(f"layer_{len(s)}d_axis_{a}", s, layer_norm(s, a)) for s in SHAPES.values() for a in range(-1, len(s))),
    Case("layer_without_bias", SHAPES[3], layer_norm(SHAPES[3], -1, bias=False)),
    Case(
        "layer_written_out",
        (2, 7, 24),
        lambda g, x: g.op("Div", centred := g.op("Sub", x, g.op("ReduceMean", x, axes=[-1])), deviation(g, centred)),
    ),
]


def deviation(g: Graph, centred: str) -> str:
    """Square root of the variance, as exporters write it out."""
    variance = g.op("ReduceMean", g.op("Pow", centred, g.constant(2)), axes=[-1])
    return g.op("Sqrt", g.op("Add", variance, g.constant(np.float32(1e-5))))


test_reduction = operator_tests(REDUCTIONS)
test_softmax = operator_tests(SOFTMAX)
test_normalization = operator_tests(NORMALIZATIONS)
