# SPDX-License-Identifier: EPL-2.0
"""Fully connected layers and matrix products."""

from __future__ import annotations

from typing import Any

from support.cases import Build, Case, operator_tests
from support.graphs import Graph


def gemm(outputs: int, bias: tuple[int, ...] | None = None, inputs: int = 17, **attributes: Any) -> Build:
    shape = (outputs, inputs) if attributes.get("transB") else (inputs, outputs)

    def build(g: Graph, x: str) -> str:
        operands = [x, g.normal(*shape, scale=0.3), *([] if bias is None else [g.normal(*bias, scale=1.0)])]
        return g.op("Gemm", *operands, **attributes)

    return build


def times(*shape: int) -> Build:
    return lambda g, x: g.op("MatMul", x, g.normal(*shape, scale=0.3))


def left_times(*shape: int) -> Build:
    return lambda g, x: g.op("MatMul", g.normal(*shape, scale=0.3), x)


def attention(g: Graph, x: str) -> str:
    """x [2, 7, 24], four heads."""

    def heads(name: str, perm: list[int]) -> str:
        return g.op("Transpose", g.op("Reshape", name, g.ints(2, 7, 4, 6)), perm=perm)

    q, k, v = (g.op("MatMul", x, g.normal(24, 24, scale=0.2)) for _ in range(3))
    scores = g.op("MatMul", heads(q, [0, 2, 1, 3]), heads(k, [0, 2, 3, 1]))
    weights = g.op("Softmax", g.op("Mul", scores, g.constant(0.4)), axis=-1)
    mixed = g.op("Transpose", g.op("MatMul", weights, heads(v, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
    return g.op("Reshape", mixed, g.ints(2, 7, 24))


def square(g: Graph, x: str) -> str:
    return g.op("MatMul", x, g.op("Transpose", x, perm=[0, 2, 1]))


def both_computed(b_shape: list[int]) -> Build:
    """Two operands of the same input; the second is its first values in another shape."""

    def build(g: Graph, x: str) -> str:
        count = 1
        for dim in b_shape:
            count *= dim
        flat = g.op("Reshape", x, g.ints(-1))
        b = g.op("Reshape", g.op("Slice", flat, g.ints(0), g.ints(count), g.ints(0)), g.ints(*b_shape))
        return g.op("MatMul", x, g.op("Abs", b))

    return build


def flattened(g: Graph, x: str) -> str:
    """An image flattened into a fully connected layer."""
    return g.op("Gemm", g.op("Flatten", x), g.normal(10, 455), g.normal(10), transB=1)


CASES = [
    Case("gemm", (1, 17), gemm(13)),
    Case("gemm_batch_3", (3, 17), gemm(13, (13,))),
    Case("gemm_trans_b", (2, 17), gemm(5, (5,), transB=1)),
    Case("gemm_alpha_beta", (2, 17), gemm(5, (5,), alpha=0.5, beta=-2.0)),
    Case("gemm_alpha_beta_trans_b", (2, 17), gemm(16, (16,), alpha=1.5, beta=0.25, transB=1)),
    Case("gemm_trans_a", (17, 3), gemm(5, (5,), transA=1)),
    Case("gemm_beta_0", (2, 17), gemm(5, (5,), beta=0.0)),
    Case("gemm_bias_row", (2, 17), gemm(5, (1, 5))),
    Case("gemm_bias_one", (2, 17), gemm(5, (1,))),
    Case("gemm_bias_scalar", (2, 17), gemm(5, ())),
    Case("gemm_bias_1x1", (2, 17), gemm(5, (1, 1))),
    Case("gemm_bias_column", (3, 17), gemm(5, (3, 1))),
    Case("gemm_bias_matrix", (3, 17), gemm(5, (3, 5))),
    *(Case(f"gemm_to_{n}", (2, 17), gemm(n, (n,))) for n in (1, 2, 15, 16, 17, 33, 84, 1000)),
    Case("gemm_from_1", (3, 1), gemm(5, (5,), inputs=1)),
    Case("gemm_1_to_1", (1, 1), gemm(1, (1,), inputs=1)),
    *(Case(f"gemm_opset_{n}", (2, 17), gemm(5, (5,)), opset=n) for n in (9, 11, 13)),
    Case("flattened_image", (2, 13, 7, 5), flattened),
    Case("flattened_1x1", (2, 17, 1, 1), lambda g, x: g.op("Gemm", g.op("Flatten", x), g.normal(17, 3))),
    Case("matmul_2d", (3, 17), times(17, 13)),
    Case("matmul_3d", (2, 5, 17), times(17, 13)),
    Case("matmul_4d", (2, 3, 5, 17), times(17, 4)),
    Case("matmul_of_a_vector", (17,), times(17, 5)),
    Case("matmul_by_a_vector", (5, 17), times(17)),
    Case("matmul_of_vectors", (17,), times(17)),
    Case("matmul_by_vector_3d", (2, 5, 17), times(17)),
    Case("matmul_left_constant", (17, 5), left_times(3, 17)),
    Case("matmul_left_constant_3d", (2, 17, 5), left_times(3, 17)),
    Case("matmul_left_vector", (17, 5), left_times(17)),
    Case("matmul_batched_constant", (3, 5, 17), times(3, 17, 4)),
    Case("matmul_broadcast_constant", (1, 5, 17), times(3, 17, 4)),
    Case("matmul_broadcast_4d", (2, 1, 5, 17), times(3, 17, 4)),
    Case("matmul_computed", (2, 5, 7), both_computed([2, 7, 3])),
    Case("matmul_computed_2d_right", (2, 5, 7), both_computed([7, 3])),
    Case("matmul_computed_broadcast", (3, 5, 7), both_computed([1, 7, 5])),
    Case("matmul_computed_4d", (2, 3, 5, 7), both_computed([2, 3, 7, 2])),
    Case("matmul_computed_4d_broadcast", (2, 3, 5, 7), both_computed([3, 7, 2])),
    Case("matmul_computed_2d", (5, 7), both_computed([7, 5])),
    Case("matmul_1_row", (2, 1, 7), both_computed([7, 2])),
    Case("matmul_bias", (2, 5, 17), lambda g, x: g.op("Add", times(17, 13)(g, x), g.normal(13))),
    Case("matmul_bias_relu", (3, 17), lambda g, x: g.op("Relu", g.op("Add", times(17, 13)(g, x), g.normal(13)))),
    Case("with_own_transpose", (2, 5, 7), square),
    Case("attention", (2, 7, 24), attention),
]
test_products = operator_tests(CASES)
