# SPDX-License-Identifier: EPL-2.0
"""Resizing of images."""

from typing import Any

import aidge_core
from aidge_core import Interpolation, dformat

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.interpolation import Axis, nearest, served_bilinear
from aidge_export_gk7206.xnnpack.kernel import PREPARE, Kernel, Operators, serves
from aidge_export_gk7206.xnnpack.parts import refuse
from aidge_export_gk7206.xnnpack.specs import spec

_NEAREST = {
    Interpolation.Mode.FLOOR: "floor",
    Interpolation.Mode.CEIL: "ceil",
    Interpolation.Mode.ROUND_PREFER_FLOOR: "round_prefer_floor",
    Interpolation.Mode.ROUND_PREFER_CEIL: "round_prefer_ceil",
}
_TRANSFORMS = {
    Interpolation.CoordinateTransformation.ASYMMETRIC: "asymmetric",
    Interpolation.CoordinateTransformation.HALF_PIXEL: "half_pixel",
    Interpolation.CoordinateTransformation.HALF_PIXEL_SYMMETRIC: "half_pixel_symmetric",
    Interpolation.CoordinateTransformation.PYTORCH_HALF_PIXEL: "pytorch_half_pixel",
    Interpolation.CoordinateTransformation.ALIGN_CORNERS: "align_corners",
}


def _is_served(operator: aidge_core.Operator) -> bool:
    """Whether the mode is one that there is a kernel for."""
    attributes = operator.attr
    mode, transform = attributes.interpolation_mode, attributes.coordinate_transformation_mode
    if transform not in _TRANSFORMS or attributes.antialias:
        return False
    bilinear = mode == Interpolation.Mode.LINEAR and _TRANSFORMS[transform] != "half_pixel_symmetric"
    return mode in _NEAREST or bilinear


@serves("Resize", specs=[spec(dformat.nhwc, dformat.nhwc, _is_served)])
def resize(operators: Operators) -> Kernel:
    """Height and width changed, nearest or bilinear."""
    attributes = operators.operator.attr
    in_dims, out_dims = operators.dims(0), operators.out_dims()
    if len(in_dims) != 4 or in_dims[0] != out_dims[0] or in_dims[3] != out_dims[3]:
        raise refuse(operators, in_dims, out_dims, "height and width may change, nothing else")
    transform = _TRANSFORMS[attributes.coordinate_transformation_mode]
    scales = _scales(operators, in_dims, out_dims)
    height, width = (Axis(in_dims[i], out_dims[i], scales[i - 1], transform) for i in (1, 2))
    attrs: dict[str, Any] = {"in_dims": in_dims, "out_dims": out_dims}
    if attributes.interpolation_mode in _NEAREST:
        rounding = _NEAREST[attributes.interpolation_mode]
        attrs.update(mode="nearest", rows=nearest(height, rounding), columns=nearest(width, rounding))
    elif served_bilinear([height, width]):
        flags = {"align_corners": int(transform == "align_corners"), "half_pixel": int("half_pixel" in transform)}
        attrs.update(mode="bilinear", **flags)
    else:
        raise ExportError(f"{operators.who()}: scales that are not the ratio of the sizes", PREPARE)
    return Kernel("XnnResize", attrs, [0])


def _scales(operators: Operators, in_dims: list[int], out_dims: list[int]) -> list[float]:
    """Scales of height and width: given, in ONNX order, or the ratio of the sizes."""
    index = operators.input_of(operators.node, 2)
    given = [] if index is None else [float(scale) for scale in operators.constant(index, "the scales").reshape(-1)]
    if not given:
        return [out_dims[i] / in_dims[i] for i in (1, 2)]
    axes = [axis % 4 for axis in operators.operator.attr.axes] or list(range(4))
    by_axis = dict(zip(axes, given, strict=True))
    return [by_axis.get(2, 1.0), by_axis.get(3, 1.0)]
