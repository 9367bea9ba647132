# SPDX-License-Identifier: EPL-2.0
"""Resize: nearest by index, bilinear by XNNPACK's operator, everything else as products with constant matrices."""

import math

import numpy as np
import onnx_ir as ir

from aidge_export_gk7206.interpolation import TRANSFORMS, Axis, nearest, served_bilinear
from aidge_export_gk7206.preparation.kernel_graph import Array, Value, channels_last, permuted
from aidge_export_gk7206.preparation.lower_convolution import constant
from aidge_export_gk7206.preparation.lowering import Lowering, Unsupported, lowers
from aidge_export_gk7206.preparation.windows import image, image_dims


@lowers("Resize", "Upsample")
def resize(low: Lowering, node: ir.Node) -> None:
    source, target = low.value(node.inputs[0]), low.value(node.outputs[0])
    rank = len(source.shape)
    transform = node.attributes.get_string("coordinate_transformation_mode", "half_pixel")
    if node.op_type == "Upsample" or low.opset < 11:
        transform = "asymmetric"
    if transform not in TRANSFORMS:
        raise Unsupported(f"coordinate_transformation_mode '{transform}'")
    if node.attributes.get_int("antialias", 0):
        raise Unsupported("antialias=1")
    if source.shape == target.shape:
        low.reshape(source, target)
        return
    if rank not in (3, 4) or source.shape[:2] != target.shape[:2]:
        raise Unsupported("an axis other than the spatial ones changes its size")
    scales = _scales(low, node, source, target)
    if scales[:2] != [1.0, 1.0]:
        raise Unsupported("an axis other than the spatial ones has a scale")
    axes = [Axis(*entry, transform) for entry in zip(source.shape[2:], target.shape[2:], scales[2:], strict=True)]
    if rank == 3:
        axes.insert(0, Axis(1, 1, 1.0, "asymmetric"))
    mode = node.attributes.get_string("mode", "nearest")
    if mode == "nearest":
        rounding = node.attributes.get_string("nearest_mode", "round_prefer_floor")
        # Opset 10 does not say; ONNX Runtime takes the next position where an axis shrinks, the last one otherwise.
        roundings = [("ceil" if axis.scale < 1 else "floor") if low.opset < 11 else rounding for axis in axes]
        rows, columns = (nearest(*entry) for entry in zip(axes, roundings, strict=True))
        _emit(low, node, source, target, mode="nearest", rows=rows, columns=columns)
    elif mode in ("linear", "bilinear") and served_bilinear(axes):
        flags = {"align_corners": int(transform == "align_corners"), "half_pixel": int("half_pixel" in transform)}
        _emit(low, node, source, target, mode="bilinear", **flags)
    else:
        cubic = None if mode in ("linear", "bilinear") else node.attributes.get_float("cubic_coeff_a", -0.75)
        outside = bool(node.attributes.get_int("exclude_outside", 0))
        _products(low, node, source, target, [_matrix(axis, cubic, outside) for axis in axes])


def _emit(low: Lowering, node: ir.Node, source: Value, target: Value, **attrs: object) -> None:
    perm = channels_last(len(source.shape))
    dims = {"in_dims": image_dims(source.shape), "out_dims": image_dims(target.shape)}
    out = low.emit(node, "XnnResize", [image(low, source)], permuted(target.shape, perm), **dims, **attrs)
    low.define(target, out, perm)


def _scales(low: Lowering, node: ir.Node, source: Value, target: Value) -> list[float]:
    """The scale of every axis, as ONNX uses it: given, or the ratio of the sizes."""
    rank = len(source.shape)
    index = 1 if node.op_type == "Upsample" or low.opset < 11 else 2
    given = low.constant(node, index) if low.has(node, index) else None
    if given is None and "scales" in node.attributes:
        given = np.asarray(node.attributes["scales"].as_floats())
    axes = [axis % rank for axis in node.attributes.get_ints("axes", range(rank))]
    scales = [t / s for s, t in zip(source.shape, target.shape, strict=True)]
    if given is None or not given.size:
        policy = node.attributes.get_string("keep_aspect_ratio_policy", "stretch")
        if policy == "stretch":
            return scales
        # One scale for all axes; the sizes of the output are rounded, and say it only roughly.
        sizes = low.need_constant(node, 3, "the sizes of Resize")
        choose = min if policy == "not_larger" else max
        common = choose(float(wanted) / source.shape[axis] for axis, wanted in zip(axes, sizes, strict=True))
        return [common if axis in axes else 1.0 for axis in range(rank)]
    scales = [1.0] * rank
    for axis, scale in zip(axes, given, strict=True):
        scales[axis] = float(scale)
    return scales


def _matrix(axis: Axis, cubic: float | None, exclude_outside: bool) -> Array | None:
    """[target, source] matrix of an axis; None when the axis stays as it is."""
    if axis.source == axis.target and axis.scale == 1.0:
        return None
    matrix = np.zeros((axis.target, axis.source))
    for i in range(axis.target):
        x = axis.coordinate(i)
        if cubic is None:
            x = min(max(x, 0.0), axis.source - 1)
        base = math.floor(x)
        t = x - base
        taps = (
            {base: 1 - t, base + 1: t} if cubic is None else {base + k: _cubic(abs(t - k), cubic) for k in range(-1, 3)}
        )
        if exclude_outside:
            taps = {k: w for k, w in taps.items() if 0 <= k < axis.source}
            total = sum(taps.values())
            taps = {k: w / total for k, w in taps.items()}
        for k, weight in taps.items():
            matrix[i, min(max(k, 0), axis.source - 1)] += weight
    return matrix.astype(np.float32)


def _cubic(distance: float, a: float) -> float:
    """Keys' cubic convolution kernel."""
    if distance <= 1:
        return ((a + 2) * distance - (a + 3)) * distance**2 + 1
    if distance < 2:
        return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return 0.0


def _products(low: Lowering, node: ir.Node, source: Value, target: Value, matrices: list[Array | None]) -> None:
    """Interpolates height, then width, each as a matrix product over channels-last memory."""
    perm = channels_last(len(source.shape))
    tensor = image(low, source)
    batch, height, width, channels = image_dims(source.shape)
    for axis, matrix in enumerate(matrices):
        if matrix is None:
            continue
        rows = matrix.shape[0]
        if axis == 0:
            b_dims, out_dims = [batch, height, width * channels], [batch, rows, width * channels]
            height = rows
        else:
            b_dims, out_dims = [batch * height, width, channels], [batch * height, rows, channels]
            width = rows
        tensor = low.emit(
            node,
            "XnnMatMul",
            [constant(matrix), tensor],
            (batch, height, width, channels),
            a_dims=[1, *matrix.shape],
            b_dims=b_dims,
            out_dims=out_dims,
            transpose_b=0,
        )
    tensor.dims = permuted(target.shape, perm)
    low.define(target, tensor, perm)
