# SPDX-License-Identifier: EPL-2.0
"""A lowered model as an Aidge graph."""

import json
from collections.abc import Callable

import aidge_core
import numpy as np

from aidge_export_gk7206.preparation.kernel_graph import Dims, KernelGraph, Op, Tensor
from aidge_export_gk7206.report import PORTS


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
