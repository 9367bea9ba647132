# SPDX-License-Identifier: EPL-2.0
"""Plans the arena: where in memory every activation lives, and which are views of others.

Used instead of Aidge's planner because of what that does not have: alignment for vector loads, concat and split without
copies, element-wise layers that overwrite their input, room for padded output channels. Its results have the form of
:func:`aidge_core.mem_info.generate_optimized_memory_info`, plus ``pixel_stride`` (elements between neighbouring pixels
of an output) and ``input_strides`` (the same for every input).
"""

import math
from dataclasses import dataclass, field
from typing import Any

import aidge_core
import numpy as np

from aidge_export_gk7206.xnnpack.kernel import Kernel, export_node_class, is_served, kernel_of
from aidge_export_gk7206.xnnpack.packing import padded_channels

ALIGNMENT = 64
# XNNPACK may read this far past the end of a tensor (XNN_EXTRA_BYTES, at most 128).
TAIL_BYTES = 128
_FLOAT_BYTES = 4
# Layers that may write over what they read, element by element.
_OVERWRITES = {"XnnUnary": 1, "XnnSoftmax": 1, "XnnBinary": 2}


# Layers of other libraries; the planner knows nothing about them.
_FOREIGN = Kernel("", {}, ())


@dataclass(frozen=True, eq=False)
class Layer:
    """A node and the kernel operator that it is."""

    node: aidge_core.Node
    kernel: Kernel

    @property
    def type(self) -> str:
        return self.kernel.type

    def key(self, index: int) -> "Key":
        """Of the activation that an output of the node is."""
        return self.node.name(), index

    def source(self, position: int) -> "Key":
        """Key of the activation that an input of the kernel is; one that no activation has where there is none."""
        parent, output = self.node.input(self.kernel.inputs[position])
        return ("", 0) if parent is None else (parent.name(), output)


@dataclass(eq=False)
class Activation:
    """An output of a layer.

    :ivar rows: Pixels; with ``channels`` the view that its producer has of it, where strides are possible.
    :ivar users: Layers that read it, each with which input of their kernel it is; -1 where it is none.
    :ivar parent: The activation it lies in, with ``offset`` elements from its start.
    :ivar stride: Elements from one pixel to the next, 0 when dense.
    """

    layer: Layer
    index: int
    elements: int
    element_bytes: int
    channels: int
    is_output: bool
    first: int
    last: int = 0
    users: list[tuple[Layer, int]] = field(default_factory=list)
    parent: "Activation | None" = None
    offset: int = 0
    stride: int = 0
    row_stride: int = 0
    address: int = 0

    @property
    def rows(self) -> int:
        return self.elements // self.channels

    @property
    def bytes(self) -> int:
        pitch = max(self.stride, self.row_stride, self.channels)
        return self.rows * pitch * self.element_bytes

    def root(self) -> "Activation":
        """The activation that owns the memory."""
        return self if self.parent is None else self.parent.root()


def plan_memory(
    scheduler: aidge_core.Scheduler, *, vector_channels: int = 1, **_: Any
) -> tuple[list[int], dict[aidge_core.Node, list[dict[str, int]]]]:
    """Memory manager for :func:`aidge_core.export_utils.scheduler_export`.

    :param scheduler: A scheduler whose scheduling has been generated.
    :type scheduler: aidge_core.Scheduler
    :param vector_channels: Output channels that a vector kernel needs; layers with fewer get room for zeros.
    :type vector_channels: int
    :return: Size of the arena in bytes, and for every node a dictionary per output.
    :rtype: tuple[list[int], dict[aidge_core.Node, list[dict[str, int]]]]
    """
    scheduled = scheduler.get_sequential_static_scheduling()
    order = [Layer(node, _kernel(node)) for node in scheduled if node.type() != "Producer"]
    table = _activations(scheduler.graph_view(), order)
    activations = list(table.values())
    for layer in reversed(order):
        if layer.type == "XnnConcat":
            _place_parts(layer, table, vector_channels)
    for activation in activations:
        _pad_channels(activation, vector_channels)
    for layer in order:
        if layer.type == "XnnSplit":
            _view_parts(layer, table)
        elif layer.type == "XnnCopy":
            _view_whole(layer, table)
    for layer in order:
        _overwrite(layer, table)
    arena = _assign(activations)
    info = {node: [_constant_entry(node)] if node.type() == "Producer" else [] for node in scheduled}
    for layer in order:
        node = layer.node
        strides = [table[key].stride if (key := _parent(node, i)) in table else 0 for i in range(node.get_nb_inputs())]
        for i in range(node.get_nb_outputs()):
            info[node].append(_entry(table[layer.key(i)], strides))
    return [arena + TAIL_BYTES], info


# ---- what there is -------------------------------------------------------------------------------------------------

Key = tuple[str, int]


def _parent(node: aidge_core.Node, index: int) -> Key:
    """Key of the activation that an input of a node is."""
    parent, output = node.input(index)
    return ("", 0) if parent is None else (parent.name(), output)


def _kernel(node: aidge_core.Node) -> Kernel:
    return kernel_of(node) if is_served(node) else _FOREIGN


def _activations(graph: aidge_core.GraphView, order: list[Layer]) -> dict[Key, Activation]:
    outputs = {(node.name(), index) for node, index in graph.get_ordered_outputs()}
    table: dict[Key, Activation] = {}
    for step, layer in enumerate(order):
        node, key = layer.node, layer.key
        for index in range(node.get_nb_outputs()):
            tensor = node.get_operator().get_output(index)
            elements = max(int(np.prod(tensor.dims, dtype=np.int64)), 1)
            width = 0 if _needs_no_memory(layer, index) else (aidge_core.dtype_bit_width(tensor.dtype) + 7) // 8
            channels = _channels(layer, index, "out") or elements
            activation = Activation(layer, index, elements, width, channels, key(index) in outputs, step)
            activation.last = len(order) if activation.is_output else step
            table[key(index)] = activation
        for index in range(node.get_nb_inputs()):
            source = table.get(_parent(node, index))
            if source is not None:
                position = list(layer.kernel.inputs).index(index) if index in layer.kernel.inputs else -1
                source.users.append((layer, position))
                source.last = max(source.last, step)
    return table


def _needs_no_memory(layer: Layer, index: int) -> bool:
    """XnnInput only passes the caller's pointer on; the second output of Aidge's max pooling is not computed."""
    return layer.type == "XnnInput" or (layer.kernel is not _FOREIGN and index >= layer.kernel.outputs)


def _channels(layer: Layer, index: int, side: str) -> int | None:
    """Elements of a pixel as a layer sees an input or output; None where it knows no pixels."""
    attrs = layer.kernel.attrs
    if "inners" in attrs:
        many = "in" if layer.type == "XnnConcat" else "out"
        inners: list[int] = attrs["inners"]
        return inners[index] if side == many else sum(inners)
    dims = attrs.get("dims") or attrs.get(f"{side}_dims")
    return int(dims[-1]) if dims and index == 0 else None


def _takes_strides(layer: Layer) -> bool:
    return layer.kernel is not _FOREIGN and bool(export_node_class(layer.type).takes_strides)


def _readable(activation: Activation, *, besides: Layer | None = None) -> bool:
    """Whether all readers could take an activation as rows that do not touch each other."""
    return activation.rows == 1 or all(
        _takes_strides(user) and _channels(user, index, "in") == activation.channels
        for user, index in activation.users
        if user is not besides
    )


# ---- views ---------------------------------------------------------------------------------------------------------


def _place_parts(layer: Layer, table: dict[Key, Activation], vector_channels: int) -> None:
    """Lets the inputs of a concat be written where the concat wants them, if they need no room for zeros."""
    whole = table[layer.key(0)]
    outer, inners = layer.kernel.attrs["outer"], layer.kernel.attrs["inners"]
    stride = whole.stride or sum(inners)
    sources = [layer.source(i) for i in range(len(inners))]
    for i, source in enumerate(sources):
        part = table.get(source)
        if part is None or not part.bytes or part.parent is not None or part.is_output or sources.count(source) > 1:
            continue
        if part.channels != _padded(part, vector_channels):
            continue
        if outer > 1 and not (
            part.channels == inners[i] and _takes_strides(part.layer) and _readable(part, besides=layer)
        ):
            continue
        part.parent, part.offset = whole, sum(inners[:i])
        part.stride = stride if outer > 1 else 0


def _view_parts(layer: Layer, table: dict[Key, Activation]) -> None:
    """Lets the outputs of a split be read where they lie in its input."""
    whole = table.get(layer.source(0))
    if whole is None or not whole.bytes:
        return
    outer, inners = layer.kernel.attrs["outer"], layer.kernel.attrs["inners"]
    for i in range(len(inners)):
        part = table[layer.key(i)]
        if part.parent is not None or part.is_output or (outer > 1 and not _readable(part)):
            continue
        part.parent, part.offset = whole, sum(inners[:i])
        part.stride = (whole.stride or sum(inners)) if outer > 1 else 0


def _view_whole(layer: Layer, table: dict[Key, Activation]) -> None:
    """Lets a copy be its source, which nothing overwrites."""
    out, source = table[layer.key(0)], table.get(layer.source(0))
    if source is None or not source.bytes or out.parent is not None or out.stride:
        return
    if source.stride == 0 or source.rows == 1:
        out.parent, out.offset = source, 0


def _padded(activation: Activation, vector_channels: int) -> int:
    """Channels that its layer should compute."""
    layer = activation.layer
    return padded_channels(layer.type, activation.channels, layer.kernel.attrs.get("groups", 1), vector_channels)


def _pad_channels(activation: Activation, vector_channels: int) -> None:
    """Makes room for output channels that are computed only to fill a vector."""
    padded = _padded(activation, vector_channels)
    if padded == activation.channels or activation.parent is not None:
        return
    if (activation.rows > 1 and activation.is_output) or not _readable(activation):
        return
    activation.stride = activation.row_stride = padded


def _overwrite(layer: Layer, table: dict[Key, Activation]) -> None:
    """Lets an element-wise layer write over an input that nothing reads any more."""
    out = table.get(layer.key(0))
    if out is None or out.parent is not None or out.stride:
        return
    for i in range(_OVERWRITES.get(layer.type, 0)):
        source = table.get(layer.source(i))
        if source is None or source.stride or source.is_output or source.root() is not source or not source.bytes:
            continue
        shares = any(other.parent is source for other in table.values())
        if source.last == out.first and source.elements == out.elements and not shares and len(source.users) == 1:
            out.parent, out.offset = source, 0
            return


# ---- addresses -----------------------------------------------------------------------------------------------------


def _assign(activations: list[Activation]) -> int:
    """Gives every activation an address; returns the size of the arena.

    Largest first, each at the lowest address where it meets nothing that lives at the same time.
    """
    lives: dict[int, tuple[int, int]] = {}
    for activation in activations:
        root = activation.root()
        first, last = lives.get(id(root), (activation.first, activation.last))
        lives[id(root)] = (min(first, activation.first), max(last, activation.last))
    placed: list[Activation] = []
    roots = [activation for activation in activations if activation.parent is None]
    for activation in sorted(roots, key=lambda a: (-a.bytes, a.first, a.index)):
        first, last = lives[id(activation)]
        rivals = sorted(
            (other for other in placed if lives[id(other)][0] <= last and first <= lives[id(other)][1]),
            key=lambda other: other.address,
        )
        address = 0
        for other in rivals:
            if address + activation.bytes <= other.address:
                break
            address = max(address, _aligned(other.address + other.bytes))
        activation.address = address
        placed.append(activation)
    for activation in activations:
        activation.address = _address(activation)
    return max((_aligned(activation.address + activation.bytes) for activation in roots), default=0)


def _address(activation: Activation) -> int:
    if activation.parent is None:
        return activation.address
    return _address(activation.parent) + activation.offset * activation.element_bytes


def _aligned(address: int) -> int:
    return -(-address // ALIGNMENT) * ALIGNMENT


def _entry(activation: Activation, input_strides: list[int]) -> dict[str, Any]:
    size, (count, length, pixel) = activation.bytes, _lines(activation)
    return {
        # In Aidge's terms: lines of pixels.
        "size": pixel,
        "offset": activation.address,
        "stride": pixel,
        "length": length,
        "count": count,
        "cont_offset": activation.address,
        "cont_size": size,
        "wrap_offset": 0,
        "wrap_size": 0,
        "mem_component_id": 0,
        "pixel_stride": activation.stride,
        "packed_channels": activation.row_stride,
        "input_strides": input_strides,
    }


def _constant_entry(node: aidge_core.Node) -> dict[str, Any]:
    """For a constant, which has memory of its own."""
    tensor = node.get_operator().get_output(0)
    size = int(np.prod(tensor.dims, dtype=np.int64)) * ((aidge_core.dtype_bit_width(tensor.dtype) + 7) // 8)
    return {"size": size, "offset": 0, "stride": size, "length": 1, "count": 1, "cont_offset": 0, "cont_size": size,
            "wrap_offset": 0, "wrap_size": 0, "mem_component_id": 0}  # fmt: skip


def _lines(activation: Activation) -> tuple[int, int, int]:
    """Lines, pixels of a line and bytes of a pixel, as export_cpp's kernels count them."""
    tensor = activation.layer.node.get_operator().get_output(activation.index)
    channels_last = {aidge_core.dformat.nhwc: 4, aidge_core.dformat.nwc: 3}
    if channels_last.get(tensor.dformat) != len(tensor.dims):
        return 1, 1, activation.elements * activation.element_bytes
    *lines, length, channels = (int(dim) for dim in tensor.dims)
    return math.prod(lines), length, channels * activation.element_bytes
