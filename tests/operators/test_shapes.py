# SPDX-License-Identifier: EPL-2.0
"""Operators that move values: concat, split, slice, pad, transpose, reshape, gather, expand, depth to space."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from onnx import TensorProto, numpy_helper
from support.cases import Build, Builds, Case, operator_tests
from support.graphs import Graph

IMAGE = (2, 12, 7, 5)
INT_MAX = 2**63 - 1


def concat_with_itself(axis: int) -> Build:
    return lambda g, x: g.op("Concat", x, x, axis=axis)


def concat_parts(axis: int) -> Build:
    """Three parts that are computed on their own."""
    return lambda g, x: g.op("Concat", g.op("Relu", x), g.op("Neg", x), g.op("Sigmoid", x), axis=axis)


def concat_unequal(g: Graph, x: str) -> str:
    """Convolutions of other widths, as inception has them."""
    return g.op("Concat", g.conv(x, 12, 17, pads=[1] * 4), g.conv(x, 12, 3, [1, 1]), x, axis=1)


def concat_of_concats(g: Graph, x: str) -> str:
    """As densenet has them: every layer reads all before it."""
    features, channels = x, 12
    for _ in range(3):
        new = g.op("Relu", g.conv(features, channels, 4, pads=[1] * 4))
        features, channels = g.op("Concat", features, new, axis=1), channels + 4
    return g.op("AveragePool", features, kernel_shape=[2, 2])


def concat_nested(g: Graph, x: str) -> str:
    inner = g.op("Concat", g.op("Abs", x), g.op("Exp", x), axis=1)
    return g.op("Concat", g.op("Neg", x), inner, g.op("Relu", x), axis=1)


def concat_constant(g: Graph, x: str) -> str:
    return g.op("Concat", g.uniform(2, 3, 7, 5), x, axis=1)


def concat_used_twice(g: Graph, x: str) -> list[str]:
    """A part that something else reads too."""
    part = g.op("Relu", g.conv(x, 12, 16, [1, 1]))
    whole = g.op("Concat", part, g.op("Abs", x), axis=1)
    return [g.op("MaxPool", part, kernel_shape=[2, 2]), g.conv(whole, 28, 5, [1, 1])]


def concat_part_is_output(g: Graph, x: str) -> list[str]:
    part = g.op("Sigmoid", x)
    return [part, g.op("Concat", part, x, axis=1)]


def concat_then_relu(g: Graph, x: str) -> str:
    return g.op("Relu", concat_unequal(g, x))


def split(axis: int, parts: Sequence[int] | int) -> Builds:
    """Sizes are an attribute before opset 13, an input from then on, a number possible from 18 on."""

    def build(g: Graph, x: str) -> list[str]:
        if isinstance(parts, int):
            more = {"num_outputs": parts} if g.opset >= 18 else {}
            return g.ops("Split", parts, x, axis=axis, **more)
        if g.opset < 13:
            return g.ops("Split", len(parts), x, axis=axis, split=list(parts))
        return g.ops("Split", len(parts), x, g.ints(*parts), axis=axis)

    return build


def split_used(g: Graph, x: str) -> str:
    """As CSP blocks have it: parts go into a convolution, a concat, a sum."""
    a, b, c = g.ops("Split", 3, x, g.ints(4, 5, 3), axis=1)
    y = g.op("Concat", a, g.conv(b, 5, 7, pads=[1] * 4), c, axis=1)
    return g.op("Relu", g.conv(y, 14, 6, [1, 1]))


def split_halves_added(g: Graph, x: str) -> str:
    a, b = g.ops("Split", 2, x, axis=1)
    return g.op("Add", a, g.op("Sigmoid", b))


def split_one_unused(g: Graph, x: str) -> str:
    return g.op("Relu", g.ops("Split", 3, x, axis=1)[1])


def split_of_split(g: Graph, x: str) -> list[str]:
    a, b = g.ops("Split", 2, x, axis=1)
    c, d = g.ops("Split", 2, b, axis=1)
    return [g.op("Abs", a), g.op("Neg", c), d]


def shuffle(g: Graph, x: str) -> str:
    """Channel shuffle."""
    spread = g.op("Reshape", x, g.ints(2, 3, 4, 7, 5))
    return g.op("Reshape", g.op("Transpose", spread, perm=[0, 2, 1, 3, 4]), g.ints(2, 12, 7, 5))


def slices(starts: list[int], ends: list[int], axes: list[int] | None = None, steps: list[int] | None = None) -> Build:
    def build(g: Graph, x: str) -> str:
        if g.opset < 10:
            return g.op("Slice", x, starts=starts, ends=ends, **({} if axes is None else {"axes": axes}))
        more = [g.ints(*axes)] if axes is not None else [] if steps is None else [""]
        return g.op("Slice", x, g.ints(*starts), g.ints(*ends), *more, *([] if steps is None else [g.ints(*steps)]))

    return build


def pad(before: list[int], after: list[int], mode: str = "constant", value: float | None = None) -> Build:
    def build(g: Graph, x: str) -> str:
        if g.opset < 11:
            return g.op("Pad", x, pads=before + after, mode=mode, value=value or 0.0)
        return g.op("Pad", x, g.ints(*before, *after), *([] if value is None else [g.constant(value)]), mode=mode)

    return build


def pad_axes(g: Graph, x: str) -> str:
    return g.op("Pad", x, g.ints(1, 2, 3, 0), g.constant(0.5), g.ints(2, -1))


def transpose(*perm: int) -> Build:
    return lambda g, x: g.op("Transpose", x, perm=list(perm))


def reshape(*shape: int) -> Build:
    return lambda g, x: g.op("Reshape", x, g.ints(*shape))


def there_and_back(*shape: int) -> Build:
    """Reshaped, worked on, reshaped back."""
    return lambda g, x: g.op("Reshape", g.op("Sigmoid", g.op("Reshape", x, g.ints(*shape))), g.ints(*IMAGE))


def flatten(axis: int) -> Build:
    return lambda g, x: g.op("Flatten", x, axis=axis)


def axes_of(op_type: str, *axes: int) -> Build:
    return lambda g, x: g.op(op_type, x, axes=list(axes)) if g.opset < 13 else g.op(op_type, x, g.ints(*axes))


def gather(axis: int, indices: object) -> Build:
    return lambda g, x: g.op("Gather", x, g.constant(indices, np.int64), axis=axis)


def depth_to_space(block: int, mode: str) -> Build:
    return lambda g, x: g.op("DepthToSpace", x, blocksize=block, mode=mode)


def with_empty_parts(g: Graph, x: str) -> str:
    """Slices that hold nothing, one worked on, between what is concatenated."""
    nothing = g.op("Slice", x, g.ints(3), g.ints(3), g.ints(1))
    return g.op("Concat", nothing, x, g.op("Relu", nothing), g.op("Gather", x, g.ints(), axis=1), axis=1)


def empty_outputs(g: Graph, x: str) -> list[str]:
    nothing = g.op("Slice", x, g.ints(3), g.ints(3), g.ints(1))
    return [nothing, g.op("Relu", x), g.op("Relu", nothing), g.op("Gather", x, g.ints(), axis=2)]


def split_off_nothing(g: Graph, x: str) -> str:
    a, b, c = g.ops("Split", 3, x, g.ints(5, 0, 7), axis=1)
    return g.op("Concat", c, g.op("Abs", b), a, axis=1)


def constant_outputs(g: Graph, x: str) -> list[str]:
    """Outputs that depend on no input, beside one that does."""
    shape = g.op("Cast", g.op("Shape", x), to=TensorProto.FLOAT)
    constants = [g.normal(3, 5), g.constant(2.5), g.normal(1, 2, 3, 4)]
    return [g.op("Relu", x), shape, *(g.op("Identity", constant) for constant in constants)]


def computed_constant(g: Graph, x: str) -> list[str]:
    """Layers whose input is known, but not computed before the rules are at it."""
    filling = numpy_helper.from_array(np.full(1, 1.5, np.float32))
    image = g.op("ConstantOfShape", g.ints(1, 3, 4, 5), value=filling)
    return [g.op("Sigmoid", g.conv(image, 3, 4)), g.op("Add", x, g.op("GlobalAveragePool", g.conv(image, 3, 12)))]


def same_input_twice(g: Graph, x: str) -> list[str]:
    return [g.op("Identity", x), g.op("Identity", x), g.op("Neg", x)]


def after_conv(build: Build) -> Build:
    """Behind a convolution with few channels, whose pixels may have gaps between them on a vector machine."""
    return lambda g, x: build(g, g.conv(x, 12, 12, [1, 1]))


CONCAT = [
    *(Case(f"concat_with_itself_{rank}d_{axis}", IMAGE[:rank], concat_with_itself(axis))
      for rank in (2, 3, 4) for axis in range(-1, rank)),
    *(Case(f"concat_parts_{rank}d_{axis}", IMAGE[:rank], concat_parts(axis))
      for rank in (2, 3, 4) for axis in range(rank)),
    Case("concat_unequal", IMAGE, concat_unequal),
    Case("concat_batch_1", (1, 12, 7, 5), concat_unequal),
    Case("concat_of_1x1", (1, 12, 1, 1), concat_parts(1)),
    Case("concat_of_concats", IMAGE, concat_of_concats),
    Case("concat_nested", IMAGE, concat_nested),
    Case("concat_constant", IMAGE, concat_constant),
    Case("concat_used_twice", IMAGE, concat_used_twice),
    Case("concat_part_is_output", IMAGE, concat_part_is_output),
    Case("concat_then_relu", IMAGE, concat_then_relu),
    Case("concat_with_empty_parts", IMAGE, with_empty_parts),
    Case("concat_of_1", IMAGE, lambda g, x: g.op("Concat", x, axis=1)),
    *(Case(f"concat_opset_{n}", IMAGE, concat_parts(1), opset=n) for n in (9, 11)),
]  # fmt: skip
SPLIT = [
    *(Case(f"split_equal_{axis}", (2, 12, 4, 6), split(axis, 2)) for axis in (0, 1, 2, 3, -1)),
    *(Case(f"split_unequal_{axis}_opset_{n}", IMAGE, split(axis, parts), opset=n)
      for n in (11, 13) for axis, parts in ((1, [1, 8, 3]), (2, [5, 2]), (3, [2, 2, 1]), (0, [1, 1]))),
    *(Case(f"split_number_{axis}_{n}", IMAGE, split(axis, n), opset=19)
      for axis, n in ((1, 3), (1, 5), (2, 3), (0, 2))),
    Case("split_2d", (3, 17), split(1, [10, 7])),
    Case("split_3d", (2, 13, 7), split(1, [10, 3])),
    Case("split_used", IMAGE, split_used),
    Case("split_halves_added", IMAGE, split_halves_added),
    Case("split_one_unused", IMAGE, split_one_unused),
    Case("split_of_split", IMAGE, split_of_split),
    Case("split_off_nothing", IMAGE, split_off_nothing),
    Case("split_into_1", IMAGE, split(1, [12])),
    Case("channel_shuffle", IMAGE, shuffle),
]  # fmt: skip
SLICE = [
    Case("slice_spatial", IMAGE, slices([1, 2], [5, 4], [2, 3])),
    Case("slice_channels", IMAGE, slices([3], [9], [1])),
    Case("slice_batch", IMAGE, slices([1], [2], [0])),
    Case("slice_negative", IMAGE, slices([-5, -4], [-1, INT_MAX], [1, 2])),
    Case("slice_negative_axes", IMAGE, slices([1], [4], [-1])),
    Case("slice_past_the_end", IMAGE, slices([2], [1000], [2])),
    Case("slice_all_axes", IMAGE, slices([0, 1, 2, 1], [1, 11, 7, 4])),
    Case("slice_steps", IMAGE, slices([0, 1], [INT_MAX, INT_MAX], [2, 3], [2, 3])),
    Case("slice_channel_steps", IMAGE, slices([1], [INT_MAX], [1], [4])),
    Case("slice_backwards", IMAGE, slices([-1], [-INT_MAX], [3], [-1])),
    Case("slice_backwards_2", IMAGE, slices([5, -2], [0, -INT_MAX], [2, 1], [-2, -3])),
    Case("slice_focus", (1, 3, 8, 8), lambda g, x: g.op("Concat", *(
        g.op("Slice", x, g.ints(i, j), g.ints(INT_MAX, INT_MAX), g.ints(2, 3), g.ints(2, 2))
        for i in (0, 1) for j in (0, 1)), axis=1)),
    Case("slice_nothing", IMAGE, slices([0], [INT_MAX], [1])),
    Case("slice_2d", (3, 17), slices([4], [-1], [1])),
    Case("slice_5d", (2, 3, 4, 5, 2), slices([1, 0], [3, 1], [2, 4])),
    Case("slice_opset_9", IMAGE, slices([1, 2], [5, 9], [1, 2]), opset=9),
    Case("slice_after_conv", IMAGE, after_conv(slices([3], [9], [1]))),
]  # fmt: skip
PAD = [
    *(Case(f"pad_{mode}", IMAGE, pad([0, 0, 2, 1], [0, 0, 1, 3], mode)) for mode in ("constant", "reflect", "edge")),
    *(Case(f"pad_{mode}_channels", IMAGE, pad([0, 2, 0, 1], [0, 1, 1, 0], mode))
      for mode in ("constant", "reflect", "edge")),
    *(Case(f"pad_{mode}_everything", IMAGE, pad([1, 2, 3, 1], [0, 4, 2, 2], mode)) for mode in ("constant", "edge")),
    Case("pad_value", IMAGE, pad([0, 0, 2, 1], [0, 0, 1, 3], value=-7.5)),
    Case("pad_value_channels", IMAGE, pad([0, 3, 0, 0], [0, 0, 0, 0], value=2.25)),
    Case("pad_negative", IMAGE, pad([0, 0, -2, -1], [0, 0, 0, -1])),
    Case("pad_mixed", IMAGE, pad([0, -2, 3, -1], [0, 0, -2, 2], value=1.5)),
    Case("pad_nothing", IMAGE, pad([0] * 4, [0] * 4)),
    Case("pad_reflect_wide", (1, 3, 7, 5), pad([0, 0, 6, 4], [0, 0, 6, 4], "reflect")),
    Case("pad_edge_wide", (1, 3, 2, 1), pad([0, 0, 6, 4], [0, 0, 6, 4], "edge")),
    Case("pad_2d", (3, 17), pad([1, 0], [0, 2], value=1.0)),
    Case("pad_3d", (2, 13, 7), pad([0, 0, 3], [0, 0, 2], "reflect")),
    Case("pad_axes", IMAGE, pad_axes, opset=19),
    Case("pad_opset_10", IMAGE, pad([0, 0, 2, 1], [0, 0, 1, 3], value=0.5), opset=10),
    Case("pad_after_conv", IMAGE, after_conv(pad([0, 0, 2, 1], [0, 0, 1, 3], "edge"))),
]  # fmt: skip
TRANSPOSE = [
    *(Case(f"transpose_{''.join(map(str, perm))}", IMAGE[: len(perm)], transpose(*perm))
      for rank in (2, 3) for perm in permutations(range(rank))),
    *(Case(f"transpose_{''.join(map(str, perm))}", IMAGE, transpose(*perm))
      for perm in ((0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0), (1, 0, 2, 3), (0, 1, 3, 2), (2, 0, 3, 1), (0, 2, 1, 3))),
    Case("transpose_default", IMAGE, lambda g, x: g.op("Transpose", x)),
    Case("transpose_5d", (2, 3, 4, 5, 2), transpose(0, 3, 1, 4, 2)),
    Case("transpose_twice", IMAGE, lambda g, x: transpose(0, 2, 3, 1)(g, transpose(0, 2, 3, 1)(g, x))),
    Case("transpose_between_convolutions", IMAGE,
         lambda g, x: g.conv(transpose(0, 1, 3, 2)(g, g.conv(x, 12, 5, pads=[1] * 4)), 5, 6, [3, 1])),
    Case("transpose_after_conv", IMAGE, after_conv(transpose(0, 2, 3, 1))),
]  # fmt: skip
RESHAPE = [
    Case("reshape_flat", IMAGE, reshape(-1)),
    Case("reshape_rows", IMAGE, reshape(2, -1)),
    Case("reshape_keep", IMAGE, reshape(0, 0, -1)),
    Case("reshape_merge_channels", IMAGE, reshape(24, 7, 5)),
    Case("reshape_split_channels", IMAGE, reshape(2, 3, 4, 7, 5)),
    Case("reshape_across", IMAGE, reshape(2, 7, 12, 5)),
    Case("reshape_heads", (2, 7, 24), reshape(2, 7, 4, 6)),
    *(Case(f"there_and_back_{'x'.join(map(str, shape))}", IMAGE, there_and_back(*shape))
      for shape in ((840,), (2, 420), (2, 12, 35), (24, 35), (2, 7, 12, 5), (2, 3, 4, 35), (2, 84, 5, 1))),
    *(Case(f"flatten_{axis}", IMAGE, flatten(axis)) for axis in (0, 1, 2, 3, 4, -1)),
    *(Case(f"unsqueeze_opset_{n}", (2, 12, 7), axes_of("Unsqueeze", 0, 3), opset=n) for n in (11, 13)),
    Case("unsqueeze_negative", (2, 12, 7), axes_of("Unsqueeze", -1), opset=13),
    *(Case(f"squeeze_opset_{n}", (1, 12, 1, 5), axes_of("Squeeze", 0, 2), opset=n) for n in (11, 13)),
    Case("squeeze_all", (1, 12, 1, 5), lambda g, x: g.op("Squeeze", x)),
    Case("reshape_then_relu", IMAGE, lambda g, x: g.op("Relu", reshape(2, 12, 35)(g, x))),
    Case("reshape_after_conv", IMAGE, after_conv(reshape(2, -1))),
    Case("reshape_from_shape", IMAGE,
         lambda g, x: g.op("Reshape", x, g.op("Concat", g.op("Slice", g.op("Shape", x), g.ints(0), g.ints(1)),
                                              g.ints(-1), axis=0))),
]  # fmt: skip
OTHERS = [
    *(Case(f"depth_to_space_{mode}", (2, 12, 3, 5), depth_to_space(2, mode)) for mode in ("DCR", "CRD")),
    Case("depth_to_space_3", (1, 18, 2, 1), depth_to_space(3, "DCR")),
    Case("space_to_depth", (2, 3, 4, 6), lambda g, x: g.op("SpaceToDepth", x, blocksize=2)),
    *(Case(f"gather_{axis}", IMAGE, gather(axis, [1])) for axis in (0, 1, 2, 3, -1)),
    Case("gather_scalar", IMAGE, gather(1, 3)),
    Case("gather_scalar_batch", IMAGE, gather(0, 1)),
    Case("gather_negative", IMAGE, gather(2, -1)),
    Case("gather_stepping", IMAGE, gather(1, [1, 4, 7])),
    Case("gather_backwards", IMAGE, gather(3, [4, 3, 2])),
    Case("gather_matrix", IMAGE, gather(1, [[0, 1], [2, 3]])),
    Case("constant_outputs", IMAGE, constant_outputs, forms=("plain", "last")),
    Case("computed_constant", IMAGE, computed_constant),
    Case("empty_outputs", IMAGE, empty_outputs, forms=("plain", "last")),
    Case("same_input_twice", IMAGE, same_input_twice),
    Case("expand", (2, 12, 1, 5), lambda g, x: g.op("Expand", x, g.ints(2, 12, 7, 5))),
    Case("expand_more_axes", (12, 1), lambda g, x: g.op("Expand", x, g.ints(2, 12, 5))),
    Case("expand_ones", (2, 12, 1, 5), lambda g, x: g.op("Expand", x, g.ints(1, 1, 3, 1))),
    Case("tile_of_1", (2, 12, 1, 1), lambda g, x: g.op("Tile", x, g.ints(1, 1, 7, 5))),
]  # fmt: skip
test_concat = operator_tests(CONCAT)
test_split = operator_tests(SPLIT)
test_slice = operator_tests(SLICE)
test_pad = operator_tests(PAD)
test_transpose = operator_tests(TRANSPOSE)
test_reshape = operator_tests(RESHAPE)
test_others = operator_tests(OTHERS)
