# SPDX-License-Identifier: EPL-2.0
"""Pooling over windows and over whole images, with the padding before and the activation after it."""

from typing import Any

import aidge_core
import numpy as np
from aidge_core import dformat

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.kernel import PREPARE, Kernel, Operators, serves, serves_fused
from aidge_export_gk7206.xnnpack.parts import (
    activation,
    image_dims,
    need_padding,
    padding,
    pads_with_lowest,
    pads_with_zeros,
    pairs,
    refuse,
)
from aidge_export_gk7206.xnnpack.specs import IMAGE, SEQUENCE, recipes, spec


@serves("MaxPooling2D", specs=[IMAGE])
@serves("MaxPooling1D", specs=[SEQUENCE])
@serves_fused(recipes("MaxPoolAct"), specs=[IMAGE])
@serves_fused(recipes("PadMaxPool", "PadMaxPoolAct"), specs=[spec(dformat.nhwc, dformat.nhwc, pads_with_lowest)])
def max_pooling(operators: Operators) -> Kernel:
    """``activation(max of the window)``; the padding never counts."""
    need_padding(operators, pads_with_lowest)
    source, attrs, overhang = _window(operators, operators.get("MaxPooling2D", "MaxPooling1D"))
    return Kernel("XnnMaxPooling", _covering(attrs, overhang), [source])


@serves("AvgPooling2D", specs=[IMAGE])
@serves("AvgPooling1D", specs=[SEQUENCE])
@serves_fused(recipes("AvgPoolAct"), specs=[IMAGE])
@serves_fused(recipes("PadAvgPool", "PadAvgPoolAct"), specs=[spec(dformat.nhwc, dformat.nhwc, pads_with_zeros)])
def average_pooling(operators: Operators) -> Kernel:
    """``activation(mean of the window)``; whether the padding counts is what ``ignore_pads`` says."""
    need_padding(operators, pads_with_zeros)
    pool = operators.get("AvgPooling2D", "AvgPooling1D")
    source, attrs, overhang = _window(operators, pool)
    pads = attrs["pads"]
    ignored = [int(pad) for pad in pool.get_operator().attr.ignore_pads]
    ignored = [0, ignored[0], 0, ignored[1]] if len(ignored) == 2 else ignored
    if attrs["dilation"] == [1, 1] and (not any(pads) or ignored == pads):
        return Kernel("XnnAveragePooling", _covering(attrs, overhang), [source])
    if any(ignored) or any(overhang):
        raise ExportError(f"{operators.who()}: padding {pads} of which {ignored} does not count", PREPARE)
    # Padding that counts, or dilation: a depthwise convolution with equal weights.
    channels, (height, width) = attrs["in_dims"][3], attrs["kernel"]
    share = np.full((channels, height, width, 1), 1.0 / (height * width), np.float32)
    return Kernel("XnnConvolution", {**attrs, "groups": channels}, [source, source], {1: lambda: share})


@serves("GlobalAveragePooling", specs=[IMAGE])
def global_average_pooling(operators: Operators) -> Kernel:
    """The mean of every channel."""
    in_dims, out_dims = operators.dims(0), operators.out_dims()
    if len(in_dims) != 4 or out_dims != [in_dims[0], 1, 1, in_dims[3]]:
        raise refuse(operators, in_dims, out_dims, "channels last wanted")
    attrs = {"op": "mean", "in_dims": in_dims, "axes": [1, 2], "out_dims": [in_dims[0], in_dims[3]]}
    return Kernel("XnnReduce", attrs, [0])


def _window(operators: Operators, pool: aidge_core.Node) -> tuple[int, dict[str, Any], list[int]]:
    """Input and attributes of a pooling kernel, and how far ``ceil_mode`` lets the last window overhang the image."""
    pad = operators.find("Pad")
    source = operators.main_input(pool if pad is None else pad)
    kernel, stride, dilation = (pairs(pool, name) for name in ("kernel_dims", "stride_dims", "dilations"))
    pads = padding(operators, pad)
    in_dims, out_dims = image_dims(operators, operators.dims(source)), image_dims(operators, operators.out_dims())
    overhang = []
    for i in (0, 1):
        padded = in_dims[1 + i] + pads[i] + pads[2 + i]
        reached = (out_dims[1 + i] - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1
        overhang.append(max(reached - padded, 0))
        if not padded - stride[i] < reached < padded + stride[i]:
            raise refuse(operators, in_dims, out_dims, f"kernel {kernel}, stride {stride}, padding {pads}")
    if in_dims[3] != out_dims[3] or (any(overhang) and not pool.get_operator().attr.ceil_mode):
        raise refuse(operators, in_dims, out_dims, f"kernel {kernel}, stride {stride}, padding {pads}")
    lower, upper = activation(operators)
    attrs = {
        "in_dims": in_dims,
        "out_dims": out_dims,
        "kernel": kernel,
        "stride": stride,
        "dilation": dilation,
        "pads": pads,
        "activation_min": lower,
        "activation_max": upper,
    }
    return source, attrs, overhang


def _covering(attrs: dict[str, Any], overhang: list[int]) -> dict[str, Any]:
    """With the overhang as padding, which does not count."""
    top, left, bottom, right = attrs["pads"]
    return {**attrs, "pads": [top, left, bottom + overhang[0], right + overhang[1]]}
