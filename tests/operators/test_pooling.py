# SPDX-License-Identifier: EPL-2.0
"""Max and average pooling, global pooling."""

from __future__ import annotations

from typing import Any

from support.cases import Build, Case, operator_tests


def pool(op_type: str, **attributes: Any) -> Build:
    return lambda g, x: g.op(op_type, x, **attributes)


IMAGE = (2, 13, 7, 5)
WINDOWS: dict[str, dict[str, Any]] = {
    "2x2": {"kernel_shape": [2, 2], "strides": [2, 2]},
    "3x3_pads": {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
    "3x2_asymmetric": {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 2, 1]},
    "ceil": {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
    "ceil_pads": {"kernel_shape": [2, 2], "strides": [3, 2], "pads": [0, 1, 0, 0], "ceil_mode": 1},
    "same_upper": {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
    "same_lower": {"kernel_shape": [2, 3], "strides": [2, 2], "auto_pad": "SAME_LOWER"},
    "valid": {"kernel_shape": [3, 3], "strides": [1, 2], "auto_pad": "VALID"},
    "whole": {"kernel_shape": [7, 5]},
    "1x1": {"kernel_shape": [1, 1]},
    "1x1_strided": {"kernel_shape": [1, 1], "strides": [2, 3]},
}
CASES = [
    *(Case(f"max_{name}", IMAGE, pool("MaxPool", **window)) for name, window in WINDOWS.items()),
    *(Case(f"average_{name}", IMAGE, pool("AveragePool", **window)) for name, window in WINDOWS.items()),
    *(
        Case(f"average_counting_{name}", IMAGE, pool("AveragePool", count_include_pad=1, **window))
        for name, window in WINDOWS.items()
    ),
    Case("max_dilated", IMAGE, pool("MaxPool", kernel_shape=[3, 2], dilations=[2, 3], pads=[1, 1, 2, 0])),
    Case("max_opset_9", IMAGE, pool("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 0]), opset=9),
    Case("average_dilated", IMAGE, pool("AveragePool", kernel_shape=[2, 2], dilations=[2, 2]), opset=19),
    Case(
        "average_dilated_pads",
        IMAGE,
        pool("AveragePool", kernel_shape=[2, 2], dilations=[3, 2], pads=[1, 1, 1, 1]),
        opset=19,
    ),
    Case("max_1_channel", (1, 1, 9, 9), pool("MaxPool", kernel_shape=[3, 3], strides=[2, 2])),
    Case("average_1_channel", (1, 1, 9, 9), pool("AveragePool", kernel_shape=[3, 3], strides=[2, 2])),
    Case("max_17_channels", (1, 17, 6, 6), pool("MaxPool", kernel_shape=[2, 2], strides=[2, 2])),
    Case("max_of_1x1", (2, 3, 1, 1), pool("MaxPool", kernel_shape=[3, 3], pads=[1, 1, 1, 1])),
    Case("average_of_1x1", (2, 3, 1, 1), pool("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1])),
    Case("max_all_negative", IMAGE, pool("MaxPool", kernel_shape=[3, 3], pads=[1, 1, 1, 1]), low=-9, high=-1),
    Case("max_1d", (2, 13, 11), pool("MaxPool", kernel_shape=[3], strides=[2], pads=[1, 0])),
    Case("max_1d_ceil", (1, 5, 10), pool("MaxPool", kernel_shape=[3], strides=[2], ceil_mode=1)),
    Case("average_1d", (2, 13, 11), pool("AveragePool", kernel_shape=[3], strides=[2], pads=[1, 1])),
    Case("average_1d_counting", (1, 3, 11), pool("AveragePool", kernel_shape=[4], pads=[1, 2], count_include_pad=1)),
    *(
        Case(f"{op_type}_{len(shape)}d_{shape[1]}", shape, pool(op_type))
        for op_type in ("GlobalAveragePool", "GlobalMaxPool")
        for shape in (IMAGE, (1, 17, 9, 1), (2, 3, 1, 1), (2, 13, 11))
    ),
]
test_pooling = operator_tests(CASES)
