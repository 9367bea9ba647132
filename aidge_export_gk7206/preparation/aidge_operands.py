# SPDX-License-Identifier: EPL-2.0
"""Rewrites of the operands of Aidge's operators."""

from collections.abc import Sequence

import aidge_core
import numpy as np

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.preparation.aidge_edit import (
    Array,
    constant_of,
    dims_of,
    disconnect,
    insert_before,
    nodes_of,
    replace,
    set_constant,
)
from aidge_export_gk7206.preparation.aidge_operators import GROUPED

_BINARY = ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum")


#: What Aidge fuses a batch normalization into.
_FUSES = ("Conv1D", "Conv2D", "ConvDepthWise1D", "ConvDepthWise2D", "ConvTranspose1D", "ConvTranspose2D", "FC", GROUPED)


def own_parameters(graph: aidge_core.GraphView) -> None:
    """Weights and biases before a batch normalization are no one else's: Aidge writes the product into them."""
    for node in nodes_of(graph, *_FUSES):
        if not any("BatchNorm" in reader.type() for reader in node.get_children()):
            continue
        for index in range(1, node.get_nb_inputs()):
            producer, array = node.input(index)[0], constant_of(node, index)
            if array is not None and sum(len(readers) for readers in producer.outputs()) > 1:
                set_constant(graph, node, index, array)


def bounds_to_attributes(graph: aidge_core.GraphView) -> None:
    """Clip gets its bounds as attributes: export_cpp does not look at the inputs."""
    for node in nodes_of(graph, "Clip"):
        bounds = {name: float(getattr(node.get_operator().attr, name)) for name in ("min", "max")}
        inputs = [index for index in (1, 2) if node.input(index)[0] is not None]
        for index in inputs:
            name, value = ("min", "max")[index - 1], constant_of(node, index)
            if value is None or value.size != 1:
                raise ExportError(
                    f"layer '{node.name()}' (Clip): its bound '{name}' is computed by the model", "make it a constant"
                )
            bounds[name] = float(value.reshape(()))
            disconnect(graph, node, index)
        if inputs:
            # A new node, for the old one still has the tensors of what it was connected to.
            replace(graph, node, aidge_core.Clip(name=f"{node.name()}_bounded", **bounds))


def pads_to_attributes(graph: aidge_core.GraphView) -> None:
    """Pad gets its amounts as attributes, of height and width alone where it pads nothing else.

    Only then does Aidge fuse it with a convolution.
    """
    for node in nodes_of(graph, "Pad"):
        inputs = [index for index in (1, 2, 3) if node.input(index)[0] is not None]
        constants = {index: constant_of(node, index) for index in inputs}
        if not inputs or any(value is None for value in constants.values()):
            continue
        attributes, rank = node.get_operator().attr, len(dims_of(node))
        pads = _integers(constants.get(1), attributes.pads)
        axes = [axis % rank for axis in _integers(constants.get(3), attributes.axes)] or list(range(rank))
        ends_of = {axis: (pads[i], pads[len(axes) + i]) for i, axis in enumerate(axes)}
        amounts = {axis: ends for axis, ends in ends_of.items() if any(ends)}
        axes = [-2, -1] if rank == 4 and set(amounts) <= {2, 3} else sorted(amounts)
        ends = [amounts.get(axis % rank, (0, 0)) for axis in axes]
        value = constants.get(2)
        for index in inputs:
            disconnect(graph, node, index)
        new = aidge_core.Pad(
            [begin for begin, _ in ends] + [end for _, end in ends],
            name=f"{node.name()}_amounts",
            mode=attributes.mode,
            constant_value=0.0 if value is None or not value.size else float(value.reshape(-1)[0]),
            axes=axes,
        )
        replace(graph, node, new)


def _integers(constant: Array | None, attribute: Sequence[int]) -> list[int]:
    return [int(value) for value in (attribute if constant is None else constant.reshape(-1))]


def casts_of_constants(graph: aidge_core.GraphView) -> None:
    """Constants that are cast to the type of something computed, which is float32, become float32."""
    for node in nodes_of(graph, "CastLike"):
        array = constant_of(node, 0)
        if array is None:
            continue
        readers = node.outputs()[0]
        for reader, index in readers:
            set_constant(graph, reader, index, array.astype(np.float32))
        disconnect(graph, node, 0)
        disconnect(graph, node, 1)
        graph.remove(node)


def computed_operand_first(graph: aidge_core.GraphView) -> None:
    """The constant operand of two comes second: Aidge takes the layout of the result from the first."""
    for node in nodes_of(graph, "Add", "Mul", "Sub", "Div", "Max", "Min", "Sum"):
        if node.get_nb_inputs() != 2 or constant_of(node, 0) is None or node.input(1)[0] is None:
            continue
        if node.type() == "Sub":
            # c - x = -x + c
            negative = aidge_core.Neg(name=f"{node.name()}_negative")
            insert_before(graph, node, 1, negative)
            swapped = _renamed(graph, node, aidge_core.Add(name=f"{node.name()}_add"))
        elif node.type() == "Div":
            # c / x = 1 / x * c
            insert_before(graph, node, 1, aidge_core.Reciprocal(name=f"{node.name()}_reciprocal"))
            swapped = _renamed(graph, node, aidge_core.Mul(name=f"{node.name()}_mul"))
        else:
            swapped = node
        (constant, _), (computed, output) = swapped.input(0), swapped.input(1)
        constant.remove_child(swapped, 0)
        computed.remove_child(swapped, output)
        computed.add_child(swapped, output, 0)
        constant.add_child(swapped, 0, 1)


def _renamed(graph: aidge_core.GraphView, old: aidge_core.Node, new: aidge_core.Node) -> aidge_core.Node:
    replace(graph, old, new)
    return new


def full_rank_operands(graph: aidge_core.GraphView) -> None:
    """Constant operands get as many axes as what they are combined with: Aidge cannot transpose those with fewer."""
    for node in nodes_of(graph, *_BINARY):
        for index in range(node.get_nb_inputs()):
            array = constant_of(node, index)
            if array is None:
                continue
            rank = max(len(dims_of(node, other)) for other in range(node.get_nb_inputs()))
            if array.ndim < rank:
                shape = (1,) * (rank - array.ndim) + array.shape
                set_constant(graph, node, index, array.astype(np.float32).reshape(shape))
