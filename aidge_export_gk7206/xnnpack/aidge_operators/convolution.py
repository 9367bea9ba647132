# SPDX-License-Identifier: EPL-2.0
"""Convolutions, with the padding before and the activation after them."""

from collections.abc import Callable

import aidge_core
import numpy as np
from aidge_core import dformat

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.kernel import Array, Kernel, Operators, serves, serves_fused, serves_generic
from aidge_export_gk7206.xnnpack.parts import (
    activation,
    image_dims,
    need_padding,
    only_crops,
    padding,
    pads_with_zeros,
    pairs,
    pixelwise,
    refuse,
    window_size,
)
from aidge_export_gk7206.xnnpack.specs import ANY, IMAGE, SEQUENCE, recipes, spec

_CONVOLUTIONS = ("Conv2D", "ConvDepthWise2D", "Conv1D", "ConvDepthWise1D")
_CHANNELS_LAST = (dformat.nhwc, dformat.nwc)


@serves("Conv2D", "ConvDepthWise2D", specs=[IMAGE])
@serves("Conv1D", "ConvDepthWise1D", specs=[SEQUENCE])
@serves_fused(
    {**recipes("ConvAct", "ConvDwAct"), "ConvClip": "Conv2D->Clip", "ConvDwClip": "ConvDepthWise2D->Clip"},
    specs=[IMAGE],
)
@serves_fused(
    {
        **recipes("PadConv", "PadConvAct", "PadConvDw", "PadConvDwAct"),
        "PadConvClip": "Pad->Conv2D->Clip",
        "PadConvDwClip": "Pad->ConvDepthWise2D->Clip",
    },
    specs=[spec(dformat.nhwc, dformat.nhwc, pads_with_zeros)],
)
@serves_fused(recipes("Conv1DAct"), specs=[SEQUENCE])
@serves_fused(recipes("PadConv1D"), specs=[spec(dformat.nwc, dformat.nwc, pads_with_zeros)])
def convolution(operators: Operators) -> Kernel:
    """``activation(conv(pad(x), w) + b)``."""
    need_padding(operators, pads_with_zeros)
    conv = operators.get(*_CONVOLUTIONS)
    pad = operators.find("Pad")
    source = operators.main_input(conv if pad is None else pad)
    kernel, stride, dilation = (pairs(conv, name) for name in ("kernel_dims", "stride_dims", "dilation_dims"))
    pads = padding(operators, pad)
    in_dims, out_dims = image_dims(operators, operators.dims(source)), image_dims(operators, operators.out_dims())
    read, shape = weights(operators, conv)
    groups = in_dims[3] if "DepthWise" in conv.type() else 1
    sizes = [window_size(in_dims[1 + i], kernel[i], stride[i], dilation[i], pads[i] + pads[2 + i]) for i in (0, 1)]
    if shape[3] * groups != in_dims[3] or shape[:3] != [out_dims[3], *kernel] or sizes != out_dims[1:3]:
        raise refuse(operators, in_dims, out_dims, f"weights {shape}, {sizes[0]}x{sizes[1]} outputs")
    lower, upper = activation(operators)
    bias = operators.input_of(conv, 2)
    return Kernel(
        "XnnConvolution",
        {
            "in_dims": in_dims,
            "out_dims": out_dims,
            "kernel": kernel,
            "stride": stride,
            "dilation": dilation,
            "pads": pads,
            "groups": groups,
            "activation_min": lower,
            "activation_max": upper,
        },
        [source, operators.need(conv, 1, "weights"), *([] if bias is None else [bias])],
        {1: read, **({} if bias is None else {2: lambda: operators.constant(bias, "the bias").reshape(-1)})},
    )


@serves_generic("GroupedConvolution", specs=[IMAGE])
def grouped_convolution(operators: Operators) -> Kernel:
    """A convolution in groups, which Aidge has no operator for: it has the attributes of ONNX."""
    attributes = operators.operator.attr
    in_dims, out_dims = image_dims(operators, operators.dims(0)), image_dims(operators, operators.out_dims())
    read, shape = weights(operators, operators.node)
    kernel, groups = shape[1:3], int(attributes.group)
    stride, dilation, pads = (list(attributes.get_attr(name)) for name in ("strides", "dilations", "pads"))
    sizes = [window_size(in_dims[1 + i], kernel[i], stride[i], dilation[i], pads[i] + pads[2 + i]) for i in (0, 1)]
    if shape[3] * groups != in_dims[3] or shape[0] != out_dims[3] or sizes != out_dims[1:3]:
        raise refuse(operators, in_dims, out_dims, f"weights {shape} in {groups} groups")
    bias = operators.input_of(operators.node, 2)
    window = {"kernel": kernel, "stride": stride, "dilation": dilation, "pads": pads}
    return Kernel(
        "XnnConvolution",
        {**pixelwise(in_dims), **window, "out_dims": out_dims, "groups": groups},
        [0, 1, *([] if bias is None else [bias])],
        {1: read},
    )


@serves("ConvTranspose2D", specs=[IMAGE])
@serves("ConvTranspose1D", specs=[SEQUENCE])
@serves_fused(recipes("ConvTranspose2DAct"), specs=[IMAGE])
@serves_fused(
    recipes("PadConvTranspose2D", "PadConvTranspose2DAct"), specs=[spec(dformat.nhwc, dformat.nhwc, only_crops)]
)
@serves_fused(recipes("ConvTranspose1DAct"), specs=[SEQUENCE])
@serves_fused(
    recipes("PadConvTranspose1D", "PadConvTranspose1DAct"), specs=[spec(dformat.nwc, dformat.nwc, only_crops)]
)
def deconvolution(operators: Operators) -> Kernel:
    """``activation(crop(conv_transpose(x, w) + b))``: Aidge crops by a negative padding."""
    need_padding(operators, only_crops)
    conv = operators.get("ConvTranspose2D", "ConvTranspose1D")
    source = operators.main_input(conv)
    kernel, stride, dilation = (pairs(conv, name) for name in ("kernel_dims", "stride_dims", "dilation_dims"))
    in_dims, out_dims = image_dims(operators, operators.dims(source)), image_dims(operators, operators.out_dims())
    crops = [-pad for pad in padding(operators, operators.find("Pad"))]
    full = [(in_dims[1 + i] - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 for i in (0, 1)]
    sizes = [full[i] - crops[i] - crops[2 + i] for i in (0, 1)]
    read, shape = weights(operators, conv)
    if shape != [in_dims[3], *kernel, out_dims[3]] or sizes != out_dims[1:3]:
        raise refuse(operators, in_dims, out_dims, f"weights {shape}, {sizes[0]}x{sizes[1]} outputs")
    lower, upper = activation(operators)
    bias = operators.input_of(conv, 2)
    return Kernel(
        "XnnDeconvolution",
        {
            "in_dims": in_dims,
            "out_dims": out_dims,
            "kernel": kernel,
            "stride": stride,
            "dilation": dilation,
            "pads": crops,
            "adjustment": [0, 0],
            "groups": 1,
            "activation_min": lower,
            "activation_max": upper,
        },
        [source, operators.need(conv, 1, "weights"), *([] if bias is None else [bias])],
        # [C, kh, kw, K] -> [K, kh, kw, C]
        {
            1: lambda: read().transpose(3, 1, 2, 0),
            **({} if bias is None else {2: lambda: operators.constant(bias, "the bias").reshape(-1)}),
        },
    )


@serves("BatchNorm2D", specs=[IMAGE])
def batch_normalization(operators: Operators) -> Kernel:
    """A scale and an offset per channel, which XNNPACK has as a depthwise convolution of one pixel."""
    node = operators.get("BatchNorm2D")
    epsilon = float(node.get_operator().attr.epsilon)
    dims = image_dims(operators, operators.dims(0))
    if dims != image_dims(operators, operators.out_dims()):
        raise refuse(operators, dims, operators.out_dims(), "the same dims wanted")

    def affine() -> tuple[Array, Array]:
        scale, shift, mean, variance = (
            operators.constant(index, "a parameter of BatchNorm").astype(np.float64).reshape(-1)
            for index in range(1, 5)
        )
        factors = scale / np.sqrt(variance + epsilon)
        return factors, shift - mean * factors

    return Kernel(
        "XnnConvolution",
        pixelwise(dims),
        [0, 1, 2],
        {1: lambda: affine()[0].reshape(-1, 1, 1, 1), 2: lambda: affine()[1]},
    )


def weights(operators: Operators, conv: aidge_core.Node) -> tuple[Callable[[], Array], list[int]]:
    """Reads the weights of a convolution; their first axis first, then kernel height and width, the second axis last.

    :return: Function that gives them, and their shape.
    """
    index = operators.need(conv, 1, "weights")
    moved = operators.layout(index) in _CHANNELS_LAST
    dims = operators.dims(index)
    order = list(range(len(dims))) if moved else [0, *range(2, len(dims)), 1]

    def read() -> Array:
        array = operators.constant(index, "the weights").transpose(order)
        return array[:, np.newaxis] if array.ndim == 3 else array

    return read, image_dims(operators, [dims[axis] for axis in order])


@serves_generic("Conv", specs=[ANY])
def unknown_convolution(operators: Operators) -> Kernel:
    """What Aidge's importer makes of convolutions in groups: an operator that it knows nothing about."""
    remedy = "aidge_export_gk7206.prepare(graph, shapes=...) makes it one that exports"
    raise ExportError(f"{operators.who()}: Aidge has no convolution in groups", remedy)
