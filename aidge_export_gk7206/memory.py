# SPDX-License-Identifier: EPL-2.0
"""Plans the arena: where in memory every activation lives, and which are views of others.

Used instead of Aidge's planner because of what that does not have: alignment for vector loads, concat and split without
copies, element-wise layers that overwrite their input, room for padded output channels. Its results have the form of
:func:`aidge_core.mem_info.generate_optimized_memory_info`, plus ``pixel_stride`` (elements between neighbouring pixels
of an output) and ``input_strides`` (the same for every input).
"""

from dataclasses import dataclass, field
from typing import Any

import aidge_core
import numpy as np

from aidge_export_gk7206.xnnpack.library import ExportLibXNNPack
from aidge_export_gk7206.xnnpack.packing import padded_channels

ALIGNMENT = 64
# XNNPACK may read this far past the end of a tensor (XNN_EXTRA_BYTES, at most 128).
TAIL_BYTES = 128
_FLOAT_BYTES = 4
# Layers that may write over what they read, element by element.
_OVERWRITES = {"XnnUnary": 1, "XnnSoftmax": 1, "XnnBinary": 2}


@dataclass(eq=False)
class Activation:
    """An output of a node.

    :ivar rows: Pixels; with ``channels`` the view that its producer has of it, where strides are possible.
    :ivar users: Nodes that read it, each with the index of the input.
    :ivar parent: The activation it lies in, with ``offset`` elements from its start.
    :ivar stride: Elements from one pixel to the next, 0 when dense.
    """

    node: aidge_core.Node
    index: int
    elements: int
    element_bytes: int
    channels: int
    is_output: bool
    first: int
    last: int = 0
    users: list[tuple[aidge_core.Node, int]] = field(default_factory=list)
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
    order = [node for node in scheduler.get_sequential_static_scheduling() if node.type() != "Producer"]
    table = _activations(scheduler.graph_view(), order)
    activations = list(table.values())
    for node in reversed(order):
        if node.type() == "XnnConcat":
            _place_parts(node, table, vector_channels)
    for activation in activations:
        _pad_channels(activation, vector_channels)
    for node in order:
        if node.type() == "XnnSplit":
            _view_parts(node, table)
    for node in order:
        _overwrite(node, table)
    arena = _assign(activations)
    info: dict[aidge_core.Node, list[dict[str, int]]] = {
        node: [] for node in scheduler.get_sequential_static_scheduling()
    }
    for node in order:
        strides = [
            table[key].stride if (key := _source(node, i)) in table else 0 for i in range(node.get_nb_inputs())
        ]
        for i in range(node.get_nb_outputs()):
            info[node].append(_entry(table[_key(node, i)], strides))
    return [arena + TAIL_BYTES], info


# ---- what there is -------------------------------------------------------------------------------------------------

Key = tuple[str, int]


def _key(node: aidge_core.Node, index: int) -> Key:
    return node.name(), index


def _source(node: aidge_core.Node, index: int) -> Key | None:
    parent, output = node.input(index)
    return None if parent is None else _key(parent, output)


def _activations(graph: aidge_core.GraphView, order: list[aidge_core.Node]) -> dict[Key, Activation]:
    outputs = {_key(node, index) for node, index in graph.get_ordered_outputs()}
    table: dict[Key, Activation] = {}
    for step, node in enumerate(order):
        for index in range(node.get_nb_outputs()):
            tensor = node.get_operator().get_output(index)
            elements = max(int(np.prod(tensor.dims, dtype=np.int64)), 1)
            # XnnInput only passes the caller's pointer on.
            width = 0 if node.type() == "XnnInput" else (aidge_core.dtype_bit_width(tensor.dtype) + 7) // 8
            channels = _channels(node, index, "out") or elements
            activation = Activation(node, index, elements, width, channels, _key(node, index) in outputs, step)
            activation.last = len(order) if activation.is_output else step
            table[_key(node, index)] = activation
        for index in range(node.get_nb_inputs()):
            source = table.get(_source(node, index) or ("", 0))
            if source is not None:
                source.users.append((node, index))
                source.last = max(source.last, step)
    return table


def _attrs(node: aidge_core.Node) -> dict[str, Any]:
    operator = node.get_operator()
    if not node.type().startswith("Xnn") or operator.attr is None:
        return {}
    attributes: dict[str, Any] = operator.attr.dict()
    return attributes


def _channels(node: aidge_core.Node, index: int, side: str) -> int | None:
    """Elements of a pixel as a layer sees an input or output; None where it knows no pixels."""
    attrs = _attrs(node)
    if "inners" in attrs:
        many = "in" if node.type() == "XnnConcat" else "out"
        inners: list[int] = attrs["inners"]
        return inners[index] if side == many else sum(inners)
    dims = attrs.get("dims") or attrs.get(f"{side}_dims")
    return int(dims[-1]) if dims and index == 0 else None


def _takes_strides(node: aidge_core.Node) -> bool:
    entries = ExportLibXNNPack._export_node_registry.get(node.type(), [])
    return any(export_node.takes_strides for _, export_node in entries)


def _readable(activation: Activation, *, besides: aidge_core.Node | None = None) -> bool:
    """Whether all readers could take an activation as rows that do not touch each other."""
    return activation.rows == 1 or all(
        _takes_strides(user) and _channels(user, index, "in") == activation.channels
        for user, index in activation.users
        if besides is None or user.name() != besides.name()
    )


# ---- views ---------------------------------------------------------------------------------------------------------


def _place_parts(node: aidge_core.Node, table: dict[Key, Activation], vector_channels: int) -> None:
    """Lets the inputs of a concat be written where the concat wants them."""
    whole = table[_key(node, 0)]
    attrs = _attrs(node)
    outer, inners = attrs["outer"], attrs["inners"]
    stride = whole.stride or sum(inners)
    sources = [_source(node, i) for i in range(len(inners))]
    for i, source in enumerate(sources):
        part = table.get(source or ("", 0))
        if part is None or not part.bytes or part.parent is not None or part.is_output or sources.count(source) > 1:
            continue
        if outer > 1 and not (
            part.channels == inners[i]
            and _takes_strides(part.node)
            and _readable(part, besides=node)
            and _padded(part, vector_channels) == part.channels
        ):
            continue
        part.parent, part.offset = whole, sum(inners[:i])
        part.stride = stride if outer > 1 else 0


def _view_parts(node: aidge_core.Node, table: dict[Key, Activation]) -> None:
    """Lets the outputs of a split be read where they lie in its input."""
    whole = table.get(_source(node, 0) or ("", 0))
    if whole is None or not whole.bytes:
        return
    attrs = _attrs(node)
    outer, inners = attrs["outer"], attrs["inners"]
    for i in range(len(inners)):
        part = table[_key(node, i)]
        if part.parent is not None or part.is_output or (outer > 1 and not _readable(part)):
            continue
        part.parent, part.offset = whole, sum(inners[:i])
        part.stride = (whole.stride or sum(inners)) if outer > 1 else 0


def _pad_channels(activation: Activation, vector_channels: int) -> None:
    """Makes room for output channels that are computed only to fill a vector."""
    padded = _padded(activation, vector_channels)
    if padded == activation.channels or activation.parent is not None:
        return
    if (activation.rows > 1 and activation.is_output) or not _readable(activation):
        return
    activation.stride = activation.row_stride = padded


def _padded(activation: Activation, vector_channels: int) -> int:
    groups = _attrs(activation.node).get("groups", 1)
    return padded_channels(activation.node.type(), activation.channels, groups, vector_channels)


def _overwrite(node: aidge_core.Node, table: dict[Key, Activation]) -> None:
    """Lets an element-wise layer write over an input that nothing reads any more."""
    out = table.get(_key(node, 0))
    if out is None or out.parent is not None or out.stride:
        return
    for i in range(_OVERWRITES.get(node.type(), 0)):
        source = table.get(_source(node, i) or ("", 0))
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
            (
                other
                for other in placed
                if lives[id(other)][0] <= last and first <= lives[id(other)][1]
            ),
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
    size = activation.bytes
    return {
        "size": size,
        "offset": activation.address,
        "stride": size,
        "length": 1,
        "count": 1,
        "cont_offset": activation.address,
        "cont_size": size,
        "wrap_offset": 0,
        "wrap_size": 0,
        "mem_component_id": 0,
        "pixel_stride": activation.stride,
        "packed_channels": activation.row_stride,
        "input_strides": input_strides,
    }

