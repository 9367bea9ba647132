# SPDX-License-Identifier: EPL-2.0
"""Convolutions, fully connected layers and matrix products."""

import numpy as np
import onnx_ir as ir

from aidge_export_gk7206.preparation.kernel_graph import (
    Array,
    Dims,
    Form,
    Tensor,
    Value,
    channels_last,
    permuted,
    plain,
    same_bytes,
    size,
)
from aidge_export_gk7206.preparation.lowering import INFINITY, Lowering, Unsupported, lowers
from aidge_export_gk7206.preparation.windows import Window, image, image_dims, window_of

NO_ACTIVATION = {"activation_min": -INFINITY, "activation_max": INFINITY}


def constant(array: Array) -> Tensor:
    """A constant operand."""
    data = np.ascontiguousarray(array, dtype=np.float32)
    return Tensor(data.shape, constant=data)


@lowers("Conv")
def convolution(low: Lowering, node: ir.Node) -> None:
    weights = low.need_constant(node, 1, "the weights of a convolution")
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    window = window_of(low, node, source.shape, weights.shape[2:])
    x, in_dims, window, origin = _without_padding(low, node, source, window)
    inputs = [x, constant(_kernel_last(weights))]
    if low.has(node, 2):
        inputs.append(constant(low.need_constant(node, 2, "the bias of a convolution")))
    out = low.emit(
        node,
        "XnnConvolution",
        inputs,
        permuted(target.shape, channels_last(len(target.shape))),
        origin=origin,
        in_dims=in_dims,
        out_dims=image_dims(target.shape),
        groups=node.attributes.get_int("group", 1),
        **window.attrs(),
        **NO_ACTIVATION,
    )
    low.define(target, out, channels_last(len(target.shape)))


def _kernel_last(weights: Array) -> Array:
    """[K, C, kernel...] as [K, kernel height, kernel width, C]."""
    if weights.ndim == 3:
        weights = weights[:, :, np.newaxis, :]
    return weights.transpose(0, 2, 3, 1)


def _without_padding(
    low: Lowering, node: ir.Node, source: Value, window: Window
) -> tuple[Tensor, list[int], Window, str]:
    """Input of a convolution; a zero padding before it becomes the convolution's own."""
    pad = low.sole_producer(source, "XnnPad")
    if pad is not None and len(pad.attrs["in_dims"]) == 4 and len(source.shape) == 4:
        before, after, nhwc = pad.attrs["before"], pad.attrs["after"], channels_last(4)
        spatial_only = all(before[axis] == after[axis] == 0 for axis in (0, 3))
        in_nhwc = same_bytes(source.shape, source.forms[0].perm, nhwc)
        if pad.attrs["mode"] == "constant" and pad.attrs["value"] == 0 and spatial_only and in_nhwc:
            more = (before[1], before[2], after[1], after[2])
            return pad.inputs[0], pad.attrs["in_dims"], window.padded(more), f"{pad.origin}+{node.op_type}"
    return image(low, source), image_dims(source.shape), window, node.op_type


@lowers("ConvTranspose")
def deconvolution(low: Lowering, node: ir.Node) -> None:
    weights = low.need_constant(node, 1, "the weights of a transposed convolution")
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    groups = node.attributes.get_int("group", 1)
    window = window_of(low, node, source.shape, weights.shape[2:])
    if weights.ndim == 3:
        weights = weights[:, :, np.newaxis, :]
    # [C, K/groups, kh, kw] -> [K, kh, kw, C/groups], group by group.
    c, k_group, kh, kw = weights.shape
    grouped = weights.reshape(groups, c // groups, k_group, kh, kw).transpose(0, 2, 3, 4, 1)
    in_dims, out_dims = image_dims(source.shape), image_dims(target.shape)
    pads, adjustment = _deconvolution_pads(node, window, in_dims, out_dims)
    apart = window.kernel == window.stride and window.dilation == (1, 1)
    if groups == 1 and apart and not any(pads) and not any(adjustment):
        _side_by_side(low, node, grouped[0], source, target)
        return
    inputs = [image(low, source), constant(grouped.reshape(groups * k_group, kh, kw, c // groups))]
    if low.has(node, 2):
        inputs.append(constant(low.need_constant(node, 2, "the bias of a transposed convolution")))
    out = low.emit(
        node,
        "XnnDeconvolution",
        inputs,
        permuted(target.shape, channels_last(len(target.shape))),
        in_dims=in_dims,
        out_dims=out_dims,
        groups=groups,
        adjustment=adjustment,
        **{**window.attrs(), "pads": pads},
        **NO_ACTIVATION,
    )
    low.define(target, out, channels_last(len(target.shape)))


def _side_by_side(low: Lowering, node: ir.Node, weights: Array, source: Value, target: Value) -> None:
    """A transposed convolution whose windows do not overlap: all of a window from one pixel, then put in place.

    :param weights: [K, kh, kw, C].
    """
    outputs, kh, kw, inputs_ = weights.shape
    in_dims = image_dims(source.shape)
    inputs = [image(low, source), constant(weights.transpose(1, 2, 0, 3).reshape(-1, 1, 1, inputs_))]
    if low.has(node, 2):
        bias = low.need_constant(node, 2, "the bias of a transposed convolution")
        inputs.append(constant(np.tile(bias, kh * kw)))
    batch, height, width, _ = in_dims
    windows = low.temporary(f"{target.name}_windows", (batch, height, width, kh, kw, outputs))
    out = low.emit(
        node,
        "XnnConvolution",
        inputs,
        (batch, height, width, kh * kw * outputs),
        in_dims=in_dims,
        out_dims=[batch, height, width, kh * kw * outputs],
        groups=1,
        **Window((1, 1), (1, 1), (1, 1), (0, 0, 0, 0)).attrs(),
        **NO_ACTIVATION,
    )
    low.define(windows, out, plain(6))
    order = (0, 5, 1, 3, 2, 4)
    placed = low.temporary(f"{target.name}_placed", permuted(windows.shape, order))
    low.define(placed, out, tuple(order.index(axis) for axis in plain(6)))
    low.reshape(placed, target)


def _deconvolution_pads(
    node: ir.Node, window: Window, in_dims: list[int], out_dims: list[int]
) -> tuple[list[int], list[int]]:
    """Cropping and output padding that give the output its size, height and width."""
    spatial = 2 if "kernel_shape" not in node.attributes else len(node.attributes["kernel_shape"].as_ints())
    explicit = node.attributes.get_ints("output_padding", [0] * spatial)
    explicit = [0] * (2 - len(explicit)) + list(explicit)
    automatic = node.attributes.get_string("auto_pad", "NOTSET")
    crops: list[tuple[int, int]] = []
    adjustment: list[int] = []
    for axis in range(2):
        reach = (window.kernel[axis] - 1) * window.dilation[axis] + 1
        full = (in_dims[1 + axis] - 1) * window.stride[axis] + reach
        begin, end, extra = window.pads[axis], window.pads[axis + 2], explicit[axis]
        if full + extra - begin - end != out_dims[1 + axis]:
            # output_shape or auto_pad: ONNX distributes what is to be cropped.
            total = full + extra - out_dims[1 + axis]
            begin = total // 2 if automatic == "SAME_UPPER" else total - total // 2
            end = total - begin
        if end < 0:
            extra, end = extra - end, 0
        if begin < 0:
            raise Unsupported("an output larger than the transposed convolution reaches")
        # Whatever is appended could as well be cropped less.
        shared = min(extra, end)
        crops.append((begin, end - shared))
        adjustment.append(extra - shared)
    return [crops[0][0], crops[1][0], crops[0][1], crops[1][1]], adjustment


@lowers("Gemm")
def gemm(low: Lowering, node: ir.Node) -> None:
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    if node.attributes.get_int("transA", 0):
        turned = low.temporary(f"{target.name}_a", source.shape[::-1])
        low.alias(source, turned, [Form(form.tensor, form.perm[::-1]) for form in low.forms(source)])
        source = turned
    weights = low.need_constant(node, 1, "the weights of Gemm").astype(np.float32)
    if not node.attributes.get_int("transB", 0):
        weights = weights.T
    weights = weights * np.float32(node.attributes.get_float("alpha", 1.0))
    if not low.has(node, 2):
        fully_connected(low, node, source, target, weights, None)
        return
    bias = low.need_constant(node, 2, "the bias of Gemm").astype(np.float32)
    bias = bias * np.float32(node.attributes.get_float("beta", 1.0))
    if bias.ndim < 2 or bias.shape[0] == 1:
        row = np.broadcast_to(bias.reshape(-1), (weights.shape[0],))
        fully_connected(low, node, source, target, weights, row)
        return
    # A bias that differs from row to row.
    product = low.temporary(f"{target.name}_product", target.shape)
    fully_connected(low, node, source, product, weights, None)
    out = low.emit(
        node,
        "XnnBinary",
        [low.form(product, plain(2)), constant(bias)],
        target.shape,
        op="add",
        a_dims=list(target.shape),
        b_dims=list(bias.shape),
        out_dims=list(target.shape),
        **NO_ACTIVATION,
    )
    low.define(target, out, plain(2))


def fully_connected(
    low: Lowering, node: ir.Node, source: Value, target: Value, weights: Array, bias: Array | None
) -> None:
    """Emits ``target = source @ weights.T + bias`` over the last axis; weights are [N, K]."""
    rank = len(source.shape)
    outputs, inputs_ = weights.shape
    tensor, perm, weights = _flattened_input(low, source, weights)
    rows = size(source.shape) // inputs_
    inputs = [tensor, constant(weights)] + ([] if bias is None else [constant(bias)])
    out = low.emit(
        node,
        "XnnFullyConnected",
        inputs,
        permuted(target.shape, perm if len(target.shape) == rank else plain(len(target.shape))),
        in_dims=[rows, inputs_],
        out_dims=[rows, outputs],
        **NO_ACTIVATION,
    )
    low.define(target, out, perm if len(target.shape) == rank else plain(len(target.shape)))


def _flattened_input(low: Lowering, source: Value, weights: Array) -> tuple[Tensor, Dims, Array]:
    """Input of a fully connected layer, its order of axes, and weights that match.

    A flattened image stays as it lies in memory: the columns of the weights are put into its order instead.
    """
    rank = len(source.shape)
    image_value = source.view_of
    if not source.forms and image_value is not None and rank == 2 and len(image_value.shape) > 2:
        form = low.natural(image_value)
        batch = image_value.shape[0]
        if form.perm[0] == 0 and (batch == source.shape[0]):
            spread = weights.reshape(weights.shape[0], *image_value.shape[1:])
            return form.tensor, plain(rank), spread.transpose(form.perm).reshape(weights.shape)
    for form in low.forms(source):
        if form.perm[-1] == rank - 1:
            return form.tensor, form.perm, weights
    return low.form(source, plain(rank)), plain(rank), weights


@lowers("MatMul")
def matmul(low: Lowering, node: ir.Node) -> None:
    a, b, target = low.value(node.inputs[0]), low.value(node.inputs[1]), low.value(node.outputs[0])
    if b.constant is not None and len(b.shape) == 2 and len(a.shape) >= 2:
        fully_connected(low, node, a, target, b.constant.T, None)
        return
    matrix_product(low, node, a, b, target)


def matrix_product(low: Lowering, node: ir.Node, a: Value, b: Value, target: Value) -> None:
    """Emits ``target = a @ b`` with numpy's broadcasting of leading axes."""
    a_dims = list(a.shape) if len(a.shape) > 1 else [1, *a.shape]
    b_dims = list(b.shape) if len(b.shape) > 1 else [*b.shape, 1]
    rank = max(len(a_dims), len(b_dims))
    a_dims = [1] * (rank - len(a_dims)) + a_dims
    b_dims = [1] * (rank - len(b_dims)) + b_dims
    batch = [max(x, y) for x, y in zip(a_dims[:-2], b_dims[:-2], strict=True)]
    # A transposed right side, as attention has it, is read as it lies.
    order = (*range(len(b.shape) - 2), len(b.shape) - 1, len(b.shape) - 2)
    transposed = len(b.shape) >= 2 and any(
        same_bytes(b.shape, form.perm, order) and not same_bytes(b.shape, form.perm, plain(len(b.shape)))
        for form in low.forms(b)
    )
    right = low.form(b, order if transposed else plain(len(b.shape)))
    if transposed:
        b_dims[-2:] = b_dims[:-3:-1]
    out = low.emit(
        node,
        "XnnMatMul",
        [low.form(a, plain(len(a.shape))), right],
        target.shape,
        a_dims=a_dims,
        b_dims=b_dims,
        out_dims=[*batch, a_dims[-2], b_dims[-2] if transposed else b_dims[-1]],
        transpose_b=int(transposed),
    )
    low.define(target, out, plain(len(target.shape)))
