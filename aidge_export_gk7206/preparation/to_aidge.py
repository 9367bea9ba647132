# SPDX-License-Identifier: EPL-2.0
"""A lowered model as an Aidge graph."""

import json
from collections.abc import Callable
from typing import Any

import aidge_core
import numpy as np

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.preparation.kernel_graph import Dims, KernelGraph, Op, Port, Tensor, plain
from aidge_export_gk7206.report import PORTS, ports

#: Attribute of nodes: dims of the outputs, and which values of the model they are, as JSON.
TENSORS = "model_tensors"


def describe_ports(kernels: KernelGraph) -> str:
    """Inputs and outputs of the model as JSON, in the form that export.json has them."""
    sides = {"inputs": kernels.inputs, "outputs": kernels.outputs}
    return json.dumps({side: [port.describe() for port in ports] for side, ports in sides.items()})


def to_aidge(kernels: KernelGraph) -> aidge_core.GraphView:
    """Makes a graph of one GenericOperator for every kernel operator and one Producer for every constant.

    :param kernels: The lowered model.
    :type kernels: KernelGraph
    :return: The graph; its output tensors have the dims that the program gives.
    :rtype: aidge_core.GraphView
    """
    graph = aidge_core.GraphView()
    graph.set_name(kernels.name)
    device_dims = {id(port.tensor): port.device_shape for port in kernels.outputs}
    nodes: dict[int, aidge_core.Node] = {}
    inputs = {id(port.tensor) for port in kernels.inputs}
    for index, op in enumerate(kernels.ops):
        node = _node(op, index, [device_dims.get(id(tensor), tensor.dims) for tensor in op.outputs])
        for slot, tensor in enumerate(op.inputs):
            if tensor.constant is not None:
                producer = aidge_core.Producer(
                    aidge_core.Tensor(np.ascontiguousarray(tensor.constant, dtype=np.float32)),
                    name=f"{node.name()}_constant_{slot}",
                    constant=True,
                )
                producer.add_child(node, 0, slot)
                graph.add(producer)
            elif id(tensor) not in inputs:
                _producer_of(tensor, nodes).add_child(node, _output_index(tensor), slot)
        graph.add(node)
        nodes[id(op)] = node
    if kernels.ops:
        nodes[id(kernels.ops[0])].get_operator().attr.add_attr(PORTS, describe_ports(kernels))
    # Outputs that nothing reads (of a Split) would else become the model's.
    graph.set_ordered_outputs(
        [(_producer_of(port.tensor, nodes), _output_index(port.tensor)) for port in kernels.outputs],
        ignore_missing=True,
    )
    return graph


def _node(op: Op, index: int, dims: list[Dims]) -> aidge_core.Node:
    categories = [
        aidge_core.InputCategory.Data if tensor.constant is None else aidge_core.InputCategory.Param
        for tensor in op.inputs
    ]
    node = aidge_core.GenericOperator(op.type, categories, len(op.outputs), name=f"kernel_{index}")
    operator = node.get_operator()
    for name, value in {**op.attrs, "layer": op.layer, "origin": op.origin}.items():
        operator.attr.add_attr(name, list(value) if isinstance(value, tuple) else value)
    operator.attr.add_attr(TENSORS, json.dumps([{"dims": t.dims, "values": t.values} for t in op.outputs]))
    operator.set_forward_dims(_fixed([list(d) or [1] for d in dims]))
    return node


def _fixed(dims: list[list[int]]) -> Callable[[list[list[int]]], list[list[int]]]:
    """Shapes were settled when the model was lowered, whatever comes in."""
    return lambda _: dims


def _producer_of(tensor: Tensor, nodes: dict[int, aidge_core.Node]) -> aidge_core.Node:
    assert tensor.op is not None
    return nodes[id(tensor.op)]


def _output_index(tensor: Tensor) -> int:
    assert tensor.op is not None
    return next(i for i, output in enumerate(tensor.op.outputs) if output is tensor)


def from_aidge(graph: aidge_core.GraphView) -> KernelGraph:
    """The kernel operators that a graph was made of: the inverse of :func:`to_aidge`.

    :param graph: A graph that :func:`aidge_export_gk7206.prepare` has made, not exported yet.
    :type graph: aidge_core.GraphView
    :return: Its operators.
    :rtype: KernelGraph
    :raises ExportError: It is none.
    """
    described = ports(graph)
    if described is None:
        raise ExportError("the graph was not prepared", 'make it with aidge_export_gk7206.prepare("model.onnx")')
    sources = [Tensor(tuple(port["device_shape"])) for port in described["inputs"]]
    nodes = [node for node in graph.get_ordered_nodes() if node.type() != "Producer"]
    made: dict[int, Op] = {}

    def tensor(node: aidge_core.Node, index: int) -> Tensor:
        parent, output = node.input(index)
        if parent is None:
            return sources[0]
        if parent.type() == "Producer":
            array = np.array(parent.get_operator().get_output(0))
            return Tensor(array.shape, constant=array)
        found: Tensor = made[parent.id()].outputs[output]
        return found

    for node in nodes:
        attrs = node.get_operator().attr.dict()
        results = [
            Tensor(tuple(t["dims"]), values=[(name, tuple(shape), tuple(perm)) for name, shape, perm in t["values"]])
            for t in json.loads(attrs.pop(TENSORS))
        ]
        attrs.pop(PORTS, None)
        layer, origin = attrs.pop("layer"), attrs.pop("origin")
        operands = [tensor(node, index) for index in range(node.get_nb_inputs())]
        made[node.id()] = Op(node.type(), operands, results, attrs, layer, origin)
    ends = [made[node.id()].outputs[index] for node, index in graph.get_ordered_outputs()]
    inputs, outputs = (
        [_port(port, tensor) for port, tensor in zip(described[side], tensors, strict=True)]
        for side, tensors in (("inputs", sources), ("outputs", ends))
    )
    return KernelGraph(graph.name(), inputs, outputs, list(made.values()))


def _port(entry: dict[str, Any], tensor: Tensor) -> Port:
    shape = tuple(entry["shape"])
    return Port(entry["name"], shape, tuple(entry["permutation"] or plain(len(shape))), tensor, entry["dtype"])
