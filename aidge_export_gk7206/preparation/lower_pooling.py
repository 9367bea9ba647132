# SPDX-License-Identifier: EPL-2.0
"""Pooling over windows and reductions over whole axes."""

import numpy as np
import onnx_ir as ir

from aidge_export_gk7206.preparation.kernel_graph import (
    Op,
    Tensor,
    Value,
    channels_last,
    permuted,
    plain,
    same_bytes,
    size,
)
from aidge_export_gk7206.preparation.lower_convolution import NO_ACTIVATION, constant
from aidge_export_gk7206.preparation.lowering import Lowering, Unsupported, lowers
from aidge_export_gk7206.preparation.windows import Window, image, image_dims, window_of


@lowers("MaxPool")
def max_pooling(low: Lowering, node: ir.Node) -> None:
    if len(node.outputs) > 1 and node.outputs[1].uses():
        raise Unsupported("the indices of MaxPool are used")
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    kernel = tuple(low.ints(node, "kernel_shape", None, None) or ())
    window = window_of(low, node, source.shape, kernel, target.shape).covering_overhang()
    x = image(low, source)
    growing = _growing_function(low, source)
    if growing is None:
        _emit_pooling(low, node, "XnnMaxPooling", x, source, target, window)
        return
    # The largest of a window stays the largest: the function need only be computed of what pooling leaves.
    pooled = low.temporary(f"{target.name}_pooled", target.shape)
    _emit_pooling(low, node, "XnnMaxPooling", growing.inputs[0], source, pooled, window)
    form = low.natural(pooled)
    dims = permuted(target.shape, form.perm)
    attrs = {**growing.attrs, "dims": [size(dims[:-1]), dims[-1]]}
    out = low.emit(node, "XnnUnary", [form.tensor], dims, origin=growing.origin, **attrs)
    low.ops[-1].layer = growing.layer
    low.define(target, out, form.perm)


def _growing_function(low: Lowering, value: Value) -> Op | None:
    """The function that computes a value for pooling only, if larger inputs never give smaller outputs.

    Others that grow, like sigmoid, are approximated: not exactly so for neighbouring values.
    """
    op = low.sole_producer(value, "XnnUnary")
    channels_last_in = op is not None and same_bytes(value.shape, value.forms[0].perm, channels_last(len(value.shape)))
    grows = op is not None and op.attrs["op"] == "leaky_relu" and op.attrs["alpha"] >= 0
    return op if channels_last_in and grows else None


@lowers("AveragePool")
def average_pooling(low: Lowering, node: ir.Node) -> None:
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    kernel = tuple(low.ints(node, "kernel_shape", None, None) or ())
    window = window_of(low, node, source.shape, kernel, target.shape)
    counts_padding = bool(node.attributes.get_int("count_include_pad", 0))
    padded = any(window.pads)
    if window.dilation == (1, 1) and not (counts_padding and (padded or any(window.overhang))):
        _emit_pooling(low, node, "XnnAveragePooling", image(low, source), source, target, window.covering_overhang())
        return
    # Padding that counts, or dilation: a depthwise convolution sums, a map of the counts divides.
    perm = channels_last(len(source.shape))
    channels = source.shape[1]
    kh, kw = window.kernel
    counts = _counts(window, image_dims(source.shape), image_dims(target.shape), counts_padding)
    uniform = bool(np.all(counts == counts[0, 0]))
    share = 1.0 / counts[0, 0] if uniform else 1.0
    covering = window.covering_overhang()
    out = low.emit(
        node,
        "XnnConvolution",
        [image(low, source), constant(np.full((channels, kh, kw, 1), share))],
        permuted(target.shape, perm),
        in_dims=image_dims(source.shape),
        out_dims=image_dims(target.shape),
        groups=channels,
        **covering.attrs(),
        **NO_ACTIVATION,
    )
    if not uniform:
        dims = image_dims(target.shape)
        factors = constant((1.0 / counts)[np.newaxis, :, :, np.newaxis])
        out = low.emit(
            node,
            "XnnBinary",
            [out, factors],
            permuted(target.shape, perm),
            op="multiply",
            a_dims=dims,
            b_dims=list(factors.dims),
            out_dims=dims,
            **NO_ACTIVATION,
        )
    low.define(target, out, perm)


def _counts(window: Window, in_dims: list[int], out_dims: list[int], counts_padding: bool) -> np.ndarray:
    """How many elements every window of an average counts, [output height, output width]."""
    axes = []
    for axis in range(2):
        size, begin, end = in_dims[1 + axis], window.pads[axis], window.pads[axis + 2]
        low_bound, high_bound = (-begin, size + end) if counts_padding else (0, size)
        starts = np.arange(out_dims[1 + axis])[:, np.newaxis] * window.stride[axis] - begin
        taps = starts + np.arange(window.kernel[axis])[np.newaxis, :] * window.dilation[axis]
        axes.append(((taps >= low_bound) & (taps < high_bound)).sum(axis=1))
    return np.outer(axes[0], axes[1]).astype(np.float64)


def _emit_pooling(
    low: Lowering, node: ir.Node, type_: str, x: Tensor, source: Value, target: Value, window: Window
) -> None:
    perm = channels_last(len(target.shape))
    attrs = window.attrs()
    if type_ == "XnnAveragePooling":
        del attrs["dilation"]
    out = low.emit(
        node,
        type_,
        [x],
        permuted(target.shape, perm),
        in_dims=image_dims(source.shape),
        out_dims=image_dims(target.shape),
        **attrs,
        **NO_ACTIVATION,
    )
    low.define(target, out, perm)


@lowers("GlobalAveragePool", "GlobalMaxPool")
def global_pooling(low: Lowering, node: ir.Node) -> None:
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    op = "mean" if node.op_type == "GlobalAveragePool" else "max"
    reduce(low, node, source, target, op, list(range(2, len(source.shape))), keep=True)


_REDUCTIONS = {"ReduceMean": "mean", "ReduceSum": "sum", "ReduceMax": "max", "ReduceMin": "min"}


@lowers(*_REDUCTIONS)
def reduction(low: Lowering, node: ir.Node) -> None:
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    rank = len(source.shape)
    axes = low.ints(node, "axes", 1, None)
    if not axes:
        if node.attributes.get_int("noop_with_empty_axes", 0):
            low.reshape(source, target)
            return
        axes = list(range(rank))
    reduce(
        low,
        node,
        source,
        target,
        _REDUCTIONS[node.op_type],
        [axis % rank for axis in axes],
        keep=bool(node.attributes.get_int("keepdims", 1)),
    )


def reduce(low: Lowering, node: ir.Node, source: Value, target: Value, op: str, axes: list[int], *, keep: bool) -> None:
    """Emits a reduction over axes of the ONNX order."""
    form = low.natural(source)
    in_dims = permuted(source.shape, form.perm)
    positions = sorted(form.perm.index(axis) for axis in set(axes))
    kept = [axis for axis in form.perm if axis not in axes]
    if keep:
        perm = form.perm
    else:
        order = sorted(kept)
        perm = tuple(order.index(axis) for axis in kept)
    out = low.emit(
        node,
        "XnnReduce",
        [form.tensor],
        permuted(target.shape, perm) if target.shape else (1,),
        op=op,
        in_dims=list(in_dims),
        axes=positions,
        out_dims=[source.shape[axis] for axis in kept] or [1],
    )
    low.define(target, out, perm if target.shape else plain(0))
