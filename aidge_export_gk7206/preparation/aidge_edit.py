# SPDX-License-Identifier: EPL-2.0
"""Small edits of Aidge graphs."""

from typing import Any

import aidge_core
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Layout that ONNX order is, by number of axes.
ONNX_LAYOUTS = {3: aidge_core.dformat.ncw, 4: aidge_core.dformat.nchw}


def nodes_of(graph: aidge_core.GraphView, *types: str) -> list[aidge_core.Node]:
    """Nodes of some types, in topological order."""
    return [node for node in graph.get_ordered_nodes() if node.type() in types]


def dims_of(node: aidge_core.Node, index: int = 0) -> list[int]:
    """Dims of an input of a node."""
    return [int(dim) for dim in node.get_operator().get_input(index).dims]


def constant_of(node: aidge_core.Node, index: int) -> Array | None:
    """Values of a constant input, None when it is computed or not there."""
    parent = node.input(index)[0] if index < node.get_nb_inputs() else None
    if parent is None or parent.type() != "Producer":
        return None
    return np.array(parent.get_operator().get_output(0))


def set_constant(graph: aidge_core.GraphView, node: aidge_core.Node, index: int, array: Array) -> None:
    """Makes an input of a node a constant of its own."""
    disconnect(graph, node, index)
    tensor = aidge_core.Tensor(np.ascontiguousarray(array))
    producer = aidge_core.Producer(tensor, name=f"{node.name()}_constant_{index}", constant=True)
    producer.get_operator().set_backend("cpu")
    if array.ndim in ONNX_LAYOUTS:
        producer.get_operator().set_dataformat(ONNX_LAYOUTS[array.ndim])
    producer.add_child(node, 0, index)
    graph.add(producer)


def disconnect(graph: aidge_core.GraphView, node: aidge_core.Node, index: int) -> None:
    """Cuts an input off; a constant that nothing else reads goes."""
    parent, output = node.input(index)
    if parent is None:
        return
    parent.remove_child(node, output)
    if parent.type() == "Producer" and not parent.get_children():
        graph.remove(parent)


def insert_before(graph: aidge_core.GraphView, node: aidge_core.Node, index: int, new: aidge_core.Node) -> None:
    """Puts a node with one data input between a node and what it reads."""
    parent, output = node.input(index)
    parent.remove_child(node, output)
    parent.add_child(new, output, 0)
    new.add_child(node, 0, index)
    graph.add(new)
    _take_over(new, node)


def replace(graph: aidge_core.GraphView, old: aidge_core.Node, new: aidge_core.Node) -> None:
    """Puts a node in place of another that has the same inputs in the same order, or more."""
    outputs = [(new if node.id() == old.id() else node, index) for node, index in graph.get_ordered_outputs()]
    for index in range(old.get_nb_inputs()):
        parent, output = old.input(index)
        if parent is None:
            continue
        parent.remove_child(old, output)
        if index < new.get_nb_inputs():
            parent.add_child(new, output, index)
        elif parent.type() == "Producer" and not parent.get_children():
            graph.remove(parent)
    for position, readers in enumerate(old.outputs()):
        for reader, index in readers:
            old.remove_child(reader, position)
            new.add_child(reader, position, index)
    graph.add(new)
    graph.remove(old)
    graph.set_ordered_outputs(outputs)
    _take_over(new, old)


def _take_over(new: aidge_core.Node, old: aidge_core.Node) -> None:
    """Gives a new node the layout and the name in the model of an old one."""
    new.get_operator().set_backend("cpu")
    new.get_operator().set_dataformat(old.get_operator().get_output(0).dformat)
    annotations = old.annotations()
    if annotations.has_attr("layer"):
        new.annotations().set_attr("layer", annotations.get_attr("layer"))
