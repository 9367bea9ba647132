# SPDX-License-Identifier: EPL-2.0
"""Activations, padding, scales and offsets that become part of another layer, and those that must not."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.cases import Build, Builds, Case, operator_tests
from support.graphs import Graph

IMAGE = (2, 13, 7, 5)


def relu(g: Graph, x: str) -> str:
    return g.op("Relu", x)


def relu6(g: Graph, x: str) -> str:
    return g.op("Clip", x, g.constant(0.0), g.constant(6.0))


def clip(g: Graph, x: str) -> str:
    return g.op("Clip", x, g.constant(-0.25), g.constant(0.5))


def batch_norm(g: Graph, x: str, channels: int) -> str:
    variance = g.uniform(channels, low=0.5, high=2)
    return g.op("BatchNormalization", x, g.uniform(channels, low=0.5), g.normal(channels), g.normal(channels), variance)


def conv(outputs: int = 17, **attributes: Any) -> Build:
    return lambda g, x: g.conv(x, 13, outputs, [3, 3], **{"pads": [1, 1, 1, 1], **attributes})


def deconv(g: Graph, x: str) -> str:
    return g.op("ConvTranspose", x, g.normal(13, 5, 3, 3, scale=0.2), g.normal(5), strides=[2, 2])


def deconv_side_by_side(g: Graph, x: str) -> str:
    """Windows that do not overlap: computed as a product, then put in place."""
    return g.op("ConvTranspose", x, g.normal(13, 5, 2, 3, scale=0.2), g.normal(5), strides=[2, 3])


def fully_connected(g: Graph, x: str) -> str:
    return g.op("Gemm", g.op("Flatten", x), g.normal(11, 455), g.normal(11), transB=1)


def add(g: Graph, x: str) -> str:
    return g.op("Add", g.op("Sigmoid", x), x)


def pool(op_type: str) -> Build:
    return lambda g, x: g.op(op_type, x, kernel_shape=[2, 2])


LAYERS: dict[str, Build] = {
    "conv": conv(),
    "depthwise": conv(13, group=13),
    "grouped": lambda g, x: g.conv(g.conv(x, 13, 12, [1, 1]), 12, 8, [3, 3], group=4),
    "deconv": deconv,
    "deconv_side_by_side": deconv_side_by_side,
    "fully_connected": fully_connected,
    "add": add,
    "max_pool": pool("MaxPool"),
    "average_pool": pool("AveragePool"),
}
ACTIVATIONS: dict[str, Build] = {"relu": relu, "relu6": relu6, "clip": clip}


def then(first: Build, second: Build) -> Build:
    return lambda g, x: second(g, first(g, x))


def relu_and_other(layer: Build) -> Builds:
    """The layer's own output is needed too."""

    def build(g: Graph, x: str) -> list[str]:
        y = layer(g, x)
        return [g.op("Relu", y), g.op("Neg", y)]

    return build


def relu_and_output(layer: Build) -> Builds:
    """The layer's own output is one of the model's."""

    def build(g: Graph, x: str) -> list[str]:
        y = layer(g, x)
        return [y, g.op("Relu", y)]

    return build


def reshaped_and_relu(g: Graph, x: str) -> list[str]:
    """Two views of one convolution, one of them bounded."""
    y = conv()(g, x)
    flat = g.op("Reshape", y, g.ints(2, -1))
    return [g.op("Relu", flat), g.op("Neg", y)]


def transposed_and_relu(g: Graph, x: str) -> list[str]:
    y = conv()(g, x)
    return [g.op("Relu", g.op("Transpose", y, perm=[0, 2, 3, 1])), g.op("Abs", y)]


def pad_conv(g: Graph, x: str, mode: str = "constant", value: float = 0.0, channels: int = 0) -> str:
    padded = g.op("Pad", x, g.ints(0, 0, 2, 1, 0, channels, 0, 3), g.constant(value), mode=mode)
    return g.conv(padded, 13 + channels, 6, [3, 3], strides=[2, 2])


def pad_used_twice(g: Graph, x: str) -> list[str]:
    padded = g.op("Pad", x, g.ints(0, 0, 1, 1, 0, 0, 1, 1))
    return [g.conv(padded, 13, 6, [3, 3]), g.op("Relu", padded)]


def pad_pool(op_type: str, value: float) -> Build:
    """Not the pooling's own padding: its zeros count."""
    return lambda g, x: g.op(
        op_type, g.op("Pad", x, g.ints(0, 0, 1, 1, 0, 0, 1, 1), g.constant(value)), kernel_shape=[3, 3]
    )


def leaky_then_pool(alpha: float, **attributes: Any) -> Build:
    """The pooling may come first, unless the function falls somewhere."""
    window = {"kernel_shape": [3, 3], **attributes}
    return lambda g, x: g.op("MaxPool", g.op("LeakyRelu", conv()(g, x), alpha=alpha), **window)


def leaky_then_pool_and_other(g: Graph, x: str) -> list[str]:
    y = g.op("LeakyRelu", conv()(g, x), alpha=0.1)
    return [g.op("MaxPool", y, kernel_shape=[2, 2]), g.op("Abs", y)]


def per_channel(*operations: tuple[str, tuple[int, ...]]) -> Build:
    """Constants behind a convolution, one after another."""

    def build(g: Graph, x: str) -> str:
        y = conv()(g, x)
        for op_type, shape in operations:
            y = g.op(op_type, y, g.uniform(*shape, low=0.5, high=1.5))
        return y

    return build


def divided_by_zero(g: Graph, x: str) -> str:
    """Infinite, which a clip makes finite again."""
    y = g.op("Div", g.conv(x, 13, 3, [1, 1]), g.constant([[[0.0]], [[1.0]], [[2.0]]]))
    return g.op("Clip", y, g.constant(-5.0), g.constant(5.0))


def large_factor_then_small(g: Graph, x: str) -> str:
    """Weights times the first are more than float32 holds, if they are large."""
    y = g.op("Conv", g.op("Mul", x, g.constant(1e-20)), g.normal(3, 13, 1, 1, scale=1e10))
    return g.op("Mul", g.op("Mul", y, g.constant(1e30)), g.constant(1e-20))


def reshaped_gemm(channels: int, *shape: int) -> Build:
    """Other channels than the weights have, or none."""

    def build(g: Graph, x: str) -> str:
        y = g.op("Reshape", g.op("Gemm", x, g.normal(13, 12), g.normal(12)), g.ints(*shape))
        return batch_norm(g, y, channels)

    return build


def reshaped_deconv(g: Graph, x: str) -> str:
    y = g.op("ConvTranspose", g.op("GlobalAveragePool", x), g.normal(13, 3, 2, 2), strides=[2, 2])
    return batch_norm(g, g.op("Reshape", y, g.ints(2, 3, 4)), 3)


def hard_swish_of(*axes: int) -> Build:
    """As exporters write it, with constants of some shape."""

    def build(g: Graph, x: str) -> str:
        three = g.constant(np.full(axes, 3.0))
        six = g.constant(np.full(axes, 6.0))
        return g.op("Div", g.op("Mul", x, g.op("Clip", g.op("Add", x, three), g.constant(0.0), g.constant(6.0))), six)

    return build


def gelu_of(*axes: int) -> Build:
    def build(g: Graph, x: str) -> str:
        root, one, half = (g.constant(np.full(axes, number)) for number in (np.sqrt(2), 1.0, 0.5))
        return g.op("Mul", g.op("Mul", x, g.op("Add", g.op("Erf", g.op("Div", x, root)), one)), half)

    return build


def constant_minus_conv(g: Graph, x: str) -> str:
    return g.op("Sub", g.uniform(17, 1, 1), conv()(g, x))


def scale_after_relu(g: Graph, x: str) -> str:
    return g.op("Mul", g.op("Relu", conv()(g, x)), g.uniform(17, 1, 1, low=-1))


def bias_per_column(g: Graph, x: str) -> str:
    """As many columns as channels, which must not be taken for them."""
    return g.op("Add", g.conv(x, 13, 5, [1, 1]), g.uniform(5))


def scale_of_shared_conv(g: Graph, x: str) -> list[str]:
    y = conv()(g, x)
    return [g.op("Mul", y, g.uniform(17, 1, 1)), g.op("Abs", y)]


def residual_block(g: Graph, x: str) -> str:
    y = g.op("Relu", batch_norm(g, conv(16)(g, x), 16))
    y = batch_norm(g, g.conv(y, 16, 13, [3, 3], pads=[1] * 4), 13)
    return g.op("Relu", g.op("Add", y, x))


def squeeze_and_excite(g: Graph, x: str) -> str:
    y = g.conv(x, 13, 12, pads=[1] * 4)
    s = g.op("Relu", g.conv(g.op("GlobalAveragePool", y), 12, 4, [1, 1]))
    return g.op("Mul", y, g.op("HardSigmoid", g.conv(s, 4, 12, [1, 1])))


def two_clips(g: Graph, x: str) -> str:
    return clip(g, relu(g, conv()(g, x)))


def shared_weights(g: Graph, x: str) -> list[str]:
    """One array of weights for two convolutions, of which one is scaled."""
    weights = g.normal(13, 13, 1, 1)
    first = g.op("Conv", x, weights)
    return [g.op("Mul", first, g.uniform(13, 1, 1)), g.op("Conv", g.op("Abs", x), weights)]


PER_CHANNEL = {"channel": (17, 1, 1), "scalar": (), "1xCx1x1": (1, 17, 1, 1), "1": (1,), "HxW": (7, 5)}
CASES = [
    *(
        Case(f"{layer}_{activation}", IMAGE, then(LAYERS[layer], ACTIVATIONS[activation]))
        for layer in LAYERS
        for activation in ACTIVATIONS
    ),
    *(Case(f"{layer}_relu_and_other", IMAGE, relu_and_other(LAYERS[layer])) for layer in LAYERS),
    *(Case(f"{layer}_relu_and_output", IMAGE, relu_and_output(LAYERS[layer])) for layer in LAYERS),
    *(
        Case(f"{layer}_batch_norm", IMAGE, then(LAYERS[layer], lambda g, x, n=n: batch_norm(g, x, n)))
        for layer, n in (
            ("conv", 17),
            ("depthwise", 13),
            ("deconv", 5),
            ("deconv_side_by_side", 5),
            ("grouped", 8),
            ("fully_connected", 11),
        )
    ),
    Case("conv_batch_norm_relu6", IMAGE, then(conv(), lambda g, x: relu6(g, batch_norm(g, x, 17)))),
    Case("relu_batch_norm", IMAGE, then(then(conv(), relu), lambda g, x: batch_norm(g, x, 17))),
    Case("batch_norm_conv", IMAGE, then(lambda g, x: batch_norm(g, x, 13), conv())),
    Case("reshaped_and_relu", IMAGE, reshaped_and_relu),
    Case("transposed_and_relu", IMAGE, transposed_and_relu),
    Case("pad_conv", IMAGE, pad_conv),
    Case("pad_conv_relu", IMAGE, then(pad_conv, relu)),
    Case("pad_value_conv", IMAGE, lambda g, x: pad_conv(g, x, value=1.5)),
    Case("pad_edge_conv", IMAGE, lambda g, x: pad_conv(g, x, mode="edge")),
    Case("pad_channels_conv", IMAGE, lambda g, x: pad_conv(g, x, channels=2)),
    Case("pad_depthwise", IMAGE, lambda g, x: g.conv(g.op("Pad", x, g.ints(0, 0, 1, 1, 0, 0, 1, 1)), 13, 13, group=13)),
    Case("pad_conv_with_pads", IMAGE, lambda g, x: conv()(g, g.op("Pad", x, g.ints(0, 0, 1, 0, 0, 0, 0, 2)))),
    Case("pad_used_twice", IMAGE, pad_used_twice),
    Case("leaky_max_pool", IMAGE, leaky_then_pool(0.1)),
    Case("leaky_max_pool_padded", IMAGE, leaky_then_pool(0.1, pads=[1, 1, 1, 1], strides=[2, 2])),
    Case("falling_leaky_max_pool", IMAGE, leaky_then_pool(-0.5)),
    Case("leaky_max_pool_and_other", IMAGE, leaky_then_pool_and_other),
    *(
        Case(f"pad_{op}_{value}", IMAGE, pad_pool(op, value))
        for op in ("MaxPool", "AveragePool")
        for value in (0.0, 9.0)
    ),
    *(
        Case(f"conv_{op}_{name}", IMAGE, per_channel((op, shape)))
        for op in ("Add", "Sub", "Mul", "Div")
        for name, shape in PER_CHANNEL.items()
    ),
    Case("conv_mul_add", IMAGE, per_channel(("Mul", (17, 1, 1)), ("Add", (17, 1, 1)))),
    Case("conv_add_mul", IMAGE, per_channel(("Add", (17, 1, 1)), ("Mul", (1, 17, 1, 1)))),
    Case("conv_sub_div", IMAGE, per_channel(("Sub", ()), ("Div", (17, 1, 1)))),
    Case("constant_minus_conv", IMAGE, constant_minus_conv),
    Case("divided_by_zero", IMAGE, divided_by_zero),
    Case("large_factor_then_small", IMAGE, large_factor_then_small),
    *(
        Case(f"gemm_reshaped_to_{'x'.join(map(str, shape))}_batch_norm", (2, 13), reshaped_gemm(channels, *shape))
        for channels, shape in ((6, (4, 6)), (3, (2, 3, 4)), (12, (1, 12, 2)), (12, (2, 12, 1, 1)), (1, (2, 1, 12)))
    ),
    Case("deconv_reshaped_batch_norm", IMAGE, reshaped_deconv),
    *(
        Case(f"{name}_with_constants_of_{len(axes)}_axes", (3, 17), build(*axes))
        for name, build in (("hard_swish", hard_swish_of), ("gelu", gelu_of))
        for axes in ((), (1,), (1, 1), (1, 1, 1))
    ),
    Case("scale_after_relu", IMAGE, scale_after_relu),
    Case("bias_per_column", (2, 13, 7, 5), bias_per_column),
    Case("scale_of_shared_conv", IMAGE, scale_of_shared_conv),
    Case("residual_block", IMAGE, residual_block),
    Case("squeeze_and_excite", IMAGE, squeeze_and_excite),
    Case("two_clips", IMAGE, two_clips),
    Case("shared_weights", IMAGE, shared_weights),
    *(Case(f"relu_twice_{layer}", IMAGE, then(then(LAYERS[layer], relu), relu)) for layer in ("conv", "add")),
]
test_fusion = operator_tests(CASES)
