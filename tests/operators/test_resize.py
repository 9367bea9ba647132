# SPDX-License-Identifier: EPL-2.0
"""Resize and Upsample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from support.cases import Build, Case, operator_tests
from support.graphs import Graph

IMAGE = (2, 13, 7, 5)
TRANSFORMS = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def by_scales(*scales: float, **attributes: Any) -> Build:
    """Scales height and width."""

    def build(g: Graph, x: str) -> str:
        factors = g.constant([1.0, 1.0, *scales])
        # Opset 11 wants an empty roi, later ones none.
        inputs = [x, factors] if g.opset < 11 else [x, g.constant([]) if g.opset == 11 else "", factors]
        return g.op("Resize", *inputs, **attributes)

    return build


def to_sizes(*sizes: int, **attributes: Any) -> Build:
    return lambda g, x: g.op("Resize", x, "", "", g.ints(*sizes), **attributes)


def with_policy(policy: str, mode: str, sizes: Sequence[int], axes: Sequence[int]) -> Build:
    """One scale for several axes."""
    more = {"mode": mode, "axes": list(axes), "keep_aspect_ratio_policy": policy}
    return lambda g, x: g.op("Resize", x, "", "", g.ints(*sizes), **more)


def upsample(mode: str) -> Build:
    return lambda g, x: g.op("Upsample", x, g.constant([1.0, 1.0, 2.0, 3.0]), mode=mode)


CASES = [
    *(
        Case(
            f"nearest_{transform}_{rounding}_{height}x{width}",
            IMAGE,
            by_scales(height, width, coordinate_transformation_mode=transform, nearest_mode=rounding),
        )
        for transform in TRANSFORMS
        for rounding in ROUNDINGS
        for height, width in ((2.0, 3.0), (1.6, 0.6))
    ),
    *(
        Case(
            f"linear_{transform}_{height}x{width}",
            IMAGE,
            by_scales(height, width, mode="linear", coordinate_transformation_mode=transform),
        )
        for transform in TRANSFORMS
        for height, width in ((2.0, 2.0), (1.0, 3.0), (1.5, 1.3), (0.5, 0.7))
    ),
    *(
        Case(
            f"linear_{transform}_to_{height}x{width}",
            IMAGE,
            to_sizes(2, 13, height, width, mode="linear", coordinate_transformation_mode=transform),
        )
        for transform in TRANSFORMS
        for height, width in ((14, 10), (3, 11), (1, 9), (1, 1))
    ),
    *(
        Case(f"nearest_to_{height}x{width}", IMAGE, to_sizes(2, 13, height, width))
        for height, width in ((14, 10), (3, 11), (1, 1))
    ),
    *(
        Case(
            f"cubic_{transform}",
            IMAGE,
            by_scales(2.0, 1.5, mode="cubic", coordinate_transformation_mode=transform),
        )
        for transform in ("half_pixel", "asymmetric", "align_corners")
    ),
    Case("cubic_coefficient", IMAGE, by_scales(0.8, 2.0, mode="cubic", cubic_coeff_a=-0.5)),
    Case("cubic_exclude_outside", IMAGE, by_scales(2.0, 2.0, mode="cubic", exclude_outside=1)),
    Case("nothing", IMAGE, by_scales(1.0, 1.0, mode="linear")),
    Case("of_1x1", (2, 13, 1, 1), by_scales(3.0, 2.0, mode="linear")),
    Case("1_channel", (1, 1, 7, 5), by_scales(2.0, 2.0, mode="linear")),
    Case("17_channels", (1, 17, 7, 5), by_scales(2.0, 2.0)),
    Case("nearest_3d", (2, 13, 7), lambda g, x: g.op("Resize", x, "", g.constant([1.0, 1.0, 2.0]))),
    Case("linear_3d", (2, 13, 7), lambda g, x: g.op("Resize", x, "", g.constant([1.0, 1.0, 2.0]), mode="linear")),
    *(Case(f"nearest_opset_{n}", IMAGE, by_scales(2.0, 3.0), opset=n) for n in (10, 11, 19)),
    *(
        Case(f"nearest_opset_10_{h}x{w}", IMAGE, by_scales(h, w), opset=10)
        for h, w in ((2.0, 0.6), (0.45, 1.7), (0.5, 1))
    ),
    Case("linear_opset_10_smaller", IMAGE, by_scales(0.45, 0.6, mode="linear"), opset=10),
    *(Case(f"linear_opset_{n}", IMAGE, by_scales(2.0, 3.0, mode="linear"), opset=n) for n in (10, 11, 19)),
    Case(
        "axes",
        IMAGE,
        lambda g, x: g.op("Resize", x, "", "", g.ints(9, 8), axes=[2, 3], mode="linear"),
        opset=19,
    ),
    *(
        Case(f"{mode}_{policy}_{'_'.join(map(str, sizes))}", IMAGE, with_policy(policy, mode, sizes, axes), opset=19)
        for policy in ("not_larger", "not_smaller")
        for mode in ("nearest", "linear", "cubic")
        for sizes, axes in (((20, 12), (2, 3)), ((12, 20), (3, 2)), ((4, 4), (2, 3)), ((13, 11), (2, 3)))
    ),
    Case("one_axis_not_larger", IMAGE, with_policy("not_larger", "linear", (11,), (3,)), opset=19),
    Case(
        "half_pixel_symmetric",
        IMAGE,
        by_scales(1.3, 2.0, mode="linear", coordinate_transformation_mode="half_pixel_symmetric"),
        opset=19,
    ),
    *(Case(f"upsample_{mode}", IMAGE, upsample(mode), opset=9) for mode in ("nearest", "linear")),
]
test_resize = operator_tests(CASES)
