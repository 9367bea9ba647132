# SPDX-License-Identifier: EPL-2.0
"""Sliding windows of convolutions and pooling: kernel, stride, dilation, pads of one or two spatial axes."""

from dataclasses import dataclass, replace

import onnx_ir as ir

from aidge_export_gk7206.preparation.kernel_graph import Dims, Tensor, Value, channels_last
from aidge_export_gk7206.preparation.lowering import Lowering, Unsupported


@dataclass(frozen=True)
class Window:
    """Height and width of everything; 1-D windows have height 1.

    :ivar pads: Top, left, bottom, right.
    :ivar overhang: How far ``ceil_mode`` lets the last window reach beyond the padded image, height and width.
    """

    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    pads: tuple[int, int, int, int]
    overhang: tuple[int, int] = (0, 0)

    def attrs(self) -> dict[str, list[int]]:
        """As attributes of a kernel operator."""
        return {
            "kernel": list(self.kernel),
            "stride": list(self.stride),
            "dilation": list(self.dilation),
            "pads": list(self.pads),
        }

    def padded(self, pads: tuple[int, int, int, int]) -> "Window":
        """With more padding."""
        top, left, bottom, right = (a + b for a, b in zip(self.pads, pads, strict=True))
        return replace(self, pads=(top, left, bottom, right))

    def covering_overhang(self) -> "Window":
        """With the overhang as padding, for operators whose padding does not count."""
        return replace(self.padded((0, 0, *self.overhang)), overhang=(0, 0))


def image_dims(shape: Dims) -> list[int]:
    """N, H, W, C of a value with one or two spatial axes."""
    batch, channels, *spatial = shape
    return [batch, *([1] * (2 - len(spatial))), *spatial, channels]


def image(low: Lowering, value: Value) -> Tensor:
    """A value with one or two spatial axes, channels last."""
    if len(value.shape) not in (3, 4):
        raise Unsupported(f"{len(value.shape) - 2} spatial axes; one and two are supported")
    return low.form(value, channels_last(len(value.shape)))


def window_of(low: Lowering, node: ir.Node, source: Dims, kernel: Dims, target: Dims | None = None) -> Window:
    """Reads the window of a convolution or pooling node.

    :param source: Shape of the input, ONNX order.
    :param kernel: Sizes of the kernel's spatial axes.
    :param target: Shape of the output where ``ceil_mode`` may have enlarged it.
    :raises Unsupported: More than two spatial axes, or a window that holds nothing of the input.
    """
    spatial = len(kernel)
    if spatial not in (1, 2) or len(source) != spatial + 2:
        raise Unsupported(f"{len(source) - 2} spatial axes; one and two are supported")
    stride = low.ints(node, "strides", None, [1] * spatial) or []
    dilation = low.ints(node, "dilations", None, [1] * spatial) or []
    pads = low.ints(node, "pads", None, [0] * 2 * spatial) or []
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    automatic = node.attributes.get_string("auto_pad", "NOTSET")
    if automatic == "VALID":
        pads = [0] * 2 * spatial
    elif automatic in ("SAME_UPPER", "SAME_LOWER"):
        totals = [
            max((-(-size // s) - 1) * s + r - size, 0) for size, s, r in zip(source[2:], stride, reach, strict=True)
        ]
        small = [total // 2 for total in totals]
        large = [total - part for total, part in zip(totals, small, strict=True)]
        pads = small + large if automatic == "SAME_UPPER" else large + small
    overhang = [0] * spatial
    if target is not None:
        for axis in range(spatial):
            start = (target[2 + axis] - 1) * stride[axis]
            if start >= source[2 + axis] + pads[axis]:
                raise Unsupported("ceil_mode with a last window in the padding alone, which ONNX leaves open")
            needed = start + reach[axis]
            overhang[axis] = max(needed - (source[2 + axis] + pads[axis] + pads[spatial + axis]), 0)
    if spatial == 1:
        pads = [0, pads[0], 0, pads[1]]
    one = [1] * (2 - spatial)
    return Window(
        _two(one + list(kernel)),
        _two(one + stride),
        _two(one + dilation),
        (pads[0], pads[1], pads[2], pads[3]),
        _two([0] * (2 - spatial) + overhang),
    )


def _two(values: list[int]) -> tuple[int, int]:
    return values[0], values[1]
