# SPDX-License-Identifier: EPL-2.0
"""Fully connected layers and matrix products."""

import math

import numpy as np
from aidge_core import dformat

from aidge_export_gk7206.xnnpack.kernel import Kernel, Operators, serves, serves_fused
from aidge_export_gk7206.xnnpack.parts import activation, refuse
from aidge_export_gk7206.xnnpack.specs import recipes, spec

# A flattened image stays as it lies in memory; the columns of the weights follow.
_DENSE = [spec(dformat.default, dformat.any), spec(dformat.nhwc, dformat.any)]


@serves("FC", specs=_DENSE)
@serves_fused({**recipes("FCAct"), "FCClip": "FC->Clip"}, specs=_DENSE)
def fully_connected(operators: Operators) -> Kernel:
    """``activation(x @ w.T + b)``; everything but the first axis of x is one row."""
    dense = operators.get("FC")
    source, weights, bias = (
        operators.main_input(dense),
        operators.need(dense, 1, "weights"),
        operators.input_of(dense, 2),
    )
    dims = operators.dims(source)
    # A vector is one row.
    rows = dims[0] if len(dims) > 1 else 1
    columns = math.prod(dims) // rows
    outputs, inputs = operators.dims(weights)[0], math.prod(operators.dims(weights)[1:])
    if inputs != columns or math.prod(operators.out_dims()) != rows * outputs:
        raise refuse(operators, dims, operators.out_dims(), f"weights {outputs}x{inputs}")
    lower, upper = activation(operators)
    return Kernel(
        "XnnFullyConnected",
        {
            "in_dims": [rows, columns],
            "out_dims": [rows, outputs],
            "activation_min": lower,
            "activation_max": upper,
        },
        [source, weights, *([] if bias is None else [bias])],
        {
            1: lambda: operators.constant(weights, "the weights").reshape(outputs, inputs),
            **({} if bias is None else {2: lambda: operators.constant(bias, "the bias").reshape(-1)}),
        },
    )


@serves("MatMul", specs=[spec([dformat.default, dformat.default], dformat.default)])
def matmul(operators: Operators) -> Kernel:
    """``a @ b`` with numpy's broadcasting of leading axes."""
    a_dims, b_dims = operators.dims(0), operators.dims(1)
    a_dims, b_dims = ([1, *a_dims] if len(a_dims) == 1 else a_dims), ([*b_dims, 1] if len(b_dims) == 1 else b_dims)
    rank = max(len(a_dims), len(b_dims))
    a_dims, b_dims = [1] * (rank - len(a_dims)) + a_dims, [1] * (rank - len(b_dims)) + b_dims
    try:
        out_dims = [*np.broadcast_shapes(tuple(a_dims[:-2]), tuple(b_dims[:-2])), a_dims[-2], b_dims[-1]]
    except ValueError as error:
        raise refuse(operators, a_dims, b_dims, str(error)) from None
    if a_dims[-1] != b_dims[-2] or math.prod(out_dims) != math.prod(operators.out_dims()):
        raise refuse(operators, a_dims, b_dims, "their inner sizes differ")
    attrs = {"a_dims": a_dims, "b_dims": b_dims, "out_dims": out_dims, "transpose_b": 0}
    return Kernel("XnnMatMul", attrs, [0, 1])
