# SPDX-License-Identifier: EPL-2.0
"""Operators that work along axes: reductions, softmax."""

import math

import aidge_core
from aidge_core import dformat

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.kernel import PREPARE, Kernel, Operators, serves
from aidge_export_gk7206.xnnpack.parts import integers, memory_order, refuse
from aidge_export_gk7206.xnnpack.specs import PLAIN, spec

_REDUCTIONS = {"ReduceMax": "max", "ReduceMean": "mean", "ReduceMin": "min", "ReduceSum": "sum"}


def _keeps_axes(operator: aidge_core.Operator) -> bool:
    return bool(operator.attr.keep_dims)


def _keeps_order(operator: aidge_core.Operator) -> bool:
    """Whether what is left of a channels-last tensor is in ONNX order."""
    tensor = operator.get_input(0)
    rank = len(tensor.dims)
    kept = [axis for axis in memory_order(tensor) if axis not in {axis % rank for axis in operator.attr.axes}]
    return not operator.attr.keep_dims and kept == sorted(kept)


@serves(
    *_REDUCTIONS,
    specs=[
        spec(dformat.nhwc, dformat.nhwc, _keeps_axes),
        spec(dformat.nhwc, dformat.default, _keeps_order),
        PLAIN,
    ],
)
def reduction(operators: Operators) -> Kernel:
    """Mean, sum, maximum or minimum over axes, which are in ONNX order whatever the layout."""
    attributes = operators.operator.attr
    dims, axes = operators.dims(0), integers(operators, 1, "axes")
    if not axes and attributes.noop_with_empty_axes:
        return Kernel("XnnCopy", {"dims": [1, math.prod(dims)]}, [0])
    order = memory_order(operators.operator.get_input(0))
    axes = sorted(order.index(axis % len(dims)) for axis in axes or range(len(dims)))
    kept = [dim for axis, dim in enumerate(dims) if axis not in axes]
    wanted = [1 if axis in axes else dim for axis, dim in enumerate(dims)] if attributes.keep_dims else kept
    if operators.out_dims() != (wanted or [1]) and operators.out_dims() != wanted:
        raise refuse(operators, dims, operators.out_dims(), f"axes {axes}")
    attrs = {"op": _REDUCTIONS[operators.node.type()], "in_dims": dims, "axes": axes, "out_dims": kept or [1]}
    return Kernel("XnnReduce", attrs, [0])


def _over_channels(operator: aidge_core.Operator) -> bool:
    """Whether the axis is that of the channels; the attribute is in ONNX order until Aidge has adapted the graph."""
    return bool(operator.attr.axis == 1)


def _over_last(operator: aidge_core.Operator) -> bool:
    """Whether nothing but axes of size 1 follows the axis."""
    dims = operator.get_input(0).dims
    return bool(math.prod(dims[operator.attr.axis % len(dims) + 1 :]) == 1)


# Aidge keeps the attribute `axis` in step with the layout.
@serves(
    "Softmax",
    specs=[
        spec(dformat.nhwc, dformat.nhwc, _over_channels),
        spec(dformat.nwc, dformat.nwc, _over_channels),
        spec(dformat.default, dformat.default, _over_last),
    ],
)
def softmax(operators: Operators) -> Kernel:
    """``exp(x) / sum(exp(x))`` along the last axis."""
    dims, target = operators.dims(0), operators.out_dims()
    axis = int(operators.operator.attr.axis) % len(dims)
    if dims != target:
        raise refuse(operators, dims, target, "the same dims wanted")
    if math.prod(dims[axis + 1 :]) != 1:
        raise ExportError(f"{operators.who()}: its axis is not the last one in memory", PREPARE)
    return Kernel("XnnSoftmax", {"dims": [math.prod(dims[:axis]), dims[axis]]}, [0])
