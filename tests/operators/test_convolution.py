# SPDX-License-Identifier: EPL-2.0
"""Convolutions, and transposed ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from support.cases import Build, Case, operator_tests

IMAGE = (2, 13, 7, 5)


def conv(outputs: int, kernel: Sequence[int], channels: int = 13, **attributes: Any) -> Build:
    return lambda g, x: g.conv(x, channels, outputs, kernel, **attributes)


def conv_without_bias(outputs: int, kernel: Sequence[int], channels: int = 13) -> Build:
    return lambda g, x: g.op("Conv", x, g.normal(outputs, channels, *kernel))


def transposed(outputs: int, kernel: Sequence[int], channels: int = 13, bias: bool = True, **attributes: Any) -> Build:
    per_group = outputs // attributes.get("group", 1)
    if attributes.pop("with_kernel_shape", True):
        attributes["kernel_shape"] = list(kernel)

    def build(g: Any, x: str) -> str:
        inputs = [x, g.normal(channels, per_group, *kernel, scale=0.2), *([g.normal(outputs)] if bias else [])]
        return str(g.op("ConvTranspose", *inputs, **attributes))

    return build


CONVOLUTIONS = [
    Case("3x3", IMAGE, conv(17, [3, 3], pads=[1, 1, 1, 1])),
    Case("3x3_strided", IMAGE, conv(17, [3, 3], pads=[1, 1, 1, 1], strides=[2, 2])),
    Case("3x3_strided_differently", IMAGE, conv(16, [3, 3], strides=[1, 2])),
    Case("3x3_dilated", IMAGE, conv(17, [3, 3], pads=[2, 2, 2, 2], dilations=[2, 2])),
    Case("3x3_dilated_differently", IMAGE, conv(3, [3, 2], pads=[3, 1, 2, 0], dilations=[3, 2], strides=[2, 1])),
    Case("asymmetric_pads", IMAGE, conv(17, [3, 2], pads=[0, 1, 2, 0])),
    Case("pads_larger_than_half_the_kernel", IMAGE, conv(5, [3, 3], pads=[4, 3, 2, 5])),
    Case("same_upper", IMAGE, conv(17, [2, 3], auto_pad="SAME_UPPER", strides=[2, 2])),
    Case("same_lower", IMAGE, conv(17, [2, 3], auto_pad="SAME_LOWER", strides=[2, 2])),
    Case("same_upper_even", IMAGE, conv(8, [4, 4], auto_pad="SAME_UPPER")),
    Case("same_lower_even", IMAGE, conv(8, [4, 4], auto_pad="SAME_LOWER")),
    Case("valid", IMAGE, conv(17, [3, 3], auto_pad="VALID")),
    Case("1x1", IMAGE, conv(17, [1, 1])),
    Case("1x1_strided", IMAGE, conv(17, [1, 1], strides=[2, 3])),
    Case("1x1_padded", IMAGE, conv(17, [1, 1], pads=[1, 0, 1, 2])),
    Case("whole_image", IMAGE, conv(17, [7, 5])),
    Case("without_bias", IMAGE, conv_without_bias(17, [3, 3])),
    Case("without_kernel_shape", IMAGE, lambda g, x: g.op("Conv", x, g.normal(9, 13, 3, 1), g.normal(9))),
    *(Case(f"to_{n}_channels", IMAGE, conv(n, [3, 3])) for n in (1, 2, 3, 15, 16, 32, 33)),
    *(Case(f"from_{n}_channels", (1, n, 7, 5), conv(5, [3, 3], n)) for n in (1, 2, 3, 17)),
    *(Case(f"of_1x1_from_{n}", (1, n, 1, 1), conv(6, [3, 3], n, pads=[1, 1, 1, 1])) for n in (1, 17)),
    Case("1_to_1", (1, 1, 7, 5), conv(1, [3, 3], 1)),
    *(Case(f"in_{n}_groups", (2, 12, 7, 5), conv(24, [3, 3], 12, group=n, pads=[1, 1, 1, 1])) for n in (2, 3, 4, 6)),
    Case("in_groups_1x1", (1, 12, 7, 5), conv(18, [1, 1], 12, group=3)),
    Case("in_groups_strided", (1, 12, 7, 5), conv(8, [3, 2], 12, group=4, strides=[2, 2], dilations=[1, 2])),
    Case("in_groups_without_bias", (1, 6, 7, 5), lambda g, x: g.op("Conv", x, g.normal(9, 2, 3, 3), group=3)),
    *(Case(f"depthwise_times_{n}", IMAGE, conv(13 * n, [3, 3], group=13, pads=[1, 1, 1, 1])) for n in (1, 2, 3)),
    Case("depthwise_strided", IMAGE, conv(13, [3, 3], group=13, pads=[0, 0, 1, 1], strides=[2, 2])),
    Case("depthwise_strided_times_2", IMAGE, conv(26, [5, 3], group=13, pads=[2, 0, 1, 1], strides=[2, 2])),
    Case("depthwise_dilated", IMAGE, conv(13, [3, 3], group=13, pads=[2, 2, 2, 2], dilations=[2, 2])),
    Case("depthwise_5x5", IMAGE, conv(13, [5, 5], group=13, pads=[2, 2, 2, 2])),
    Case("depthwise_7x7", IMAGE, conv(13, [7, 7], group=13, pads=[3, 3, 3, 3])),
    Case("depthwise_1x1", IMAGE, conv(13, [1, 1], group=13)),
    Case("depthwise_17_channels", (1, 17, 9, 3), conv(17, [3, 3], 17, group=17, pads=[1, 1, 1, 1])),
    Case("depthwise_without_bias", IMAGE, lambda g, x: g.op("Conv", x, g.normal(13, 1, 3, 3), group=13)),
    Case("1d", (2, 13, 11), conv(17, [3], pads=[1, 1])),
    Case("1d_strided", (1, 3, 11), conv(17, [4], 3, pads=[2, 0], strides=[3])),
    Case("1d_dilated", (1, 13, 11), conv(5, [3], dilations=[4])),
    Case("1d_in_groups", (2, 12, 11), conv(6, [3], 12, group=3)),
    Case("1d_depthwise", (2, 13, 11), conv(13, [3], group=13, pads=[1, 1])),
    Case("1d_same_lower", (2, 13, 11), conv(5, [4], auto_pad="SAME_LOWER", strides=[2])),
    *(Case(f"opset_{n}", IMAGE, conv(17, [3, 3], strides=[2, 1]), opset=n) for n in (9, 22)),
]
TRANSPOSED = [
    Case("2x2_strided", IMAGE, transposed(7, [2, 2], strides=[2, 2])),
    Case("3x3", IMAGE, transposed(17, [3, 3])),
    Case("3x3_pads", IMAGE, transposed(17, [3, 3], strides=[2, 2], pads=[1, 1, 1, 1])),
    Case("asymmetric_pads", IMAGE, transposed(5, [3, 4], strides=[2, 3], pads=[0, 1, 2, 0])),
    Case("output_padding", IMAGE, transposed(5, [3, 3], strides=[2, 3], pads=[1, 1, 1, 1], output_padding=[1, 2])),
    Case("output_padding_without_pads", IMAGE, transposed(5, [3, 3], strides=[2, 2], output_padding=[1, 1])),
    Case("output_shape", IMAGE, transposed(5, [3, 3], strides=[2, 2], output_shape=[14, 10])),
    Case("output_shape_odd", IMAGE, transposed(5, [3, 3], strides=[2, 2], output_shape=[12, 9])),
    Case("without_kernel_shape", IMAGE, transposed(4, [3, 2], strides=[2, 1], with_kernel_shape=False)),
    Case("without_bias", IMAGE, transposed(5, [3, 3], bias=False, strides=[2, 2])),
    Case("same_upper", IMAGE, transposed(5, [3, 3], strides=[2, 2], auto_pad="SAME_UPPER")),
    Case("same_lower", IMAGE, transposed(5, [3, 3], strides=[2, 2], auto_pad="SAME_LOWER")),
    Case("valid", IMAGE, transposed(5, [3, 3], strides=[2, 2], auto_pad="VALID")),
    Case("dilated", IMAGE, transposed(5, [3, 2], dilations=[2, 3])),
    Case("dilated_strided", IMAGE, transposed(5, [3, 3], dilations=[2, 2], strides=[2, 2], pads=[1, 2, 2, 1])),
    Case("in_2_groups", (2, 12, 7, 5), transposed(6, [3, 3], 12, group=2, strides=[2, 2])),
    Case("in_3_groups", (1, 12, 7, 5), transposed(9, [2, 2], 12, group=3, strides=[2, 2], pads=[1, 0, 0, 1])),
    Case("depthwise", IMAGE, transposed(13, [4, 4], group=13, strides=[2, 2], pads=[1, 1, 1, 1])),
    Case("stride_larger_than_kernel", IMAGE, transposed(5, [2, 2], strides=[3, 4])),
    Case("1x1", IMAGE, transposed(17, [1, 1])),
    Case("of_1x1", (1, 17, 1, 1), transposed(3, [4, 4], 17)),
    Case("1_to_1", (1, 1, 7, 5), transposed(1, [3, 3], 1, strides=[2, 2])),
    Case("1d", (2, 13, 11), transposed(5, [3], strides=[2], pads=[1, 0])),
    Case("1d_output_padding", (1, 3, 11), transposed(5, [4], 3, strides=[3], output_padding=[1])),
]
test_convolution = operator_tests(CONVOLUTIONS)
test_transposed_convolution = operator_tests(
    [Case(f"transposed_{case.name}", case.shape, case.build, case.opset) for case in TRANSPOSED]
)
