# SPDX-License-Identifier: EPL-2.0
"""Rewrites of Aidge's operators to others that compute the same."""

from collections.abc import Callable
from typing import Any

import aidge_core

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.preparation.aidge_edit import dims_of, insert_before, nodes_of, replace

#: What prepare() makes of convolutions in groups.
GROUPED = "GroupedConvolution"
_CATEGORIES = [aidge_core.InputCategory.Data, aidge_core.InputCategory.Param, aidge_core.InputCategory.OptionalParam]


def depthwise_to_grouped(graph: aidge_core.GraphView) -> bool:
    """Depthwise convolutions with several outputs per input become grouped ones: Aidge's make one.

    :return: Whether there was one whose input is known.
    """
    found = False
    for node in nodes_of(graph, "ConvDepthWise2D"):
        channels, weights = _channels(node), node.input(1)[0]
        outputs = 0 if weights is None else int(weights.get_operator().get_output(0).dims[0])
        if not channels or outputs in (0, channels):
            continue
        attributes = node.get_operator().attr
        values = {
            "group": channels,
            "pads": [0, 0, 0, 0],
            "strides": list(attributes.stride_dims),
            "dilations": list(attributes.dilation_dims),
        }
        _replace_by_grouped(graph, node, values)
        found = True
    return found


def _channels(node: aidge_core.Node) -> int:
    """Channels of the input of a convolution, 0 where they are not known."""
    tensor = node.get_operator().get_input(0)
    dims = [] if tensor is None else list(tensor.dims)
    return int(dims[1]) if len(dims) == 4 else 0


def name_grouped_convolutions(graph: aidge_core.GraphView) -> None:
    """Gives convolutions in groups all their attributes and a function that tells the shape of their output.

    Aidge imports them as operators that it knows nothing about.

    :raises ExportError: One pads automatically, or has another number of spatial axes than two.
    """
    for node in nodes_of(graph, "Conv"):
        attributes = node.get_operator().attr
        weights = node.input(1)[0].get_operator().get_output(0).dims
        automatic = str(attributes.auto_pad).strip("b'") if attributes.has_attr("auto_pad") else "NOTSET"
        if len(weights) != 4 or automatic not in ("NOTSET", "VALID"):
            raise ExportError(
                f"layer '{node.name()}' (Conv): in groups, auto_pad {automatic}, {len(weights) - 2} spatial axes",
                'prepare the ONNX file instead: aidge_export_gk7206.prepare("model.onnx")',
            )
        defaults = {"group": 1, "pads": [0, 0, 0, 0], "strides": [1, 1], "dilations": [1, 1]}
        given = {name: attributes.get_attr(name) for name in defaults if attributes.has_attr(name)}
        _replace_by_grouped(graph, node, {**defaults, **given})


def _replace_by_grouped(graph: aidge_core.GraphView, node: aidge_core.Node, values: dict[str, Any]) -> None:
    new = aidge_core.GenericOperator(GROUPED, _CATEGORIES, 1, name=f"{node.name()}_grouped")
    operator = new.get_operator()
    for name, value in values.items():
        operator.attr.add_attr(name, value)
    weights = [int(dim) for dim in node.input(1)[0].get_operator().get_output(0).dims]
    operator.set_forward_dims(_output_dims(weights, values))
    replace(graph, node, new)


def _output_dims(weights: list[int], values: dict[str, Any]) -> Callable[[list[list[int]]], list[list[int]]]:
    pads, strides, dilations = (list(values[name]) for name in ("pads", "strides", "dilations"))

    def forward(dims: list[list[int]]) -> list[list[int]]:
        batch, _, *sizes = dims[0]
        count = len(sizes)
        out = [
            (sizes[i] + pads[i] + pads[count + i] - (weights[2 + i] - 1) * dilations[i] - 1) // strides[i] + 1
            for i in range(count)
        ]
        return [[batch, weights[0], *out]]

    return forward


def reductions_to_pooling(graph: aidge_core.GraphView) -> None:
    """A mean over height and width becomes a global pooling: export_cpp applies the axes to channels-last tensors."""
    for node in nodes_of(graph, "ReduceMean"):
        attributes, dims = node.get_operator().attr, dims_of(node)
        if len(dims) != 4 or sorted(axis % 4 for axis in attributes.axes) != [2, 3]:
            continue
        pooling = aidge_core.GlobalAveragePooling(name=f"{node.name()}_pooling")
        if attributes.keep_dims:
            replace(graph, node, pooling)
        elif node.input(0)[0] is not None:
            reshape = aidge_core.Reshape(dims[:2], name=f"{node.name()}_reshape")
            replace(graph, node, reshape)
            insert_before(graph, reshape, 0, pooling)


def global_to_windowed_pooling(graph: aidge_core.GraphView) -> None:
    """Global pooling of images that are not square gets its window by name: export_cpp swaps height and width."""
    for node in nodes_of(graph, "GlobalAveragePooling"):
        dims = dims_of(node)
        if len(dims) == 4 and dims[2] != dims[3]:
            replace(graph, node, aidge_core.AvgPooling2D(dims[2:], name=f"{node.name()}_window", stride_dims=dims[2:]))


def activations_apart_from_pooling(graph: aidge_core.GraphView) -> None:
    """Keeps Aidge from fusing pooling with the activation after it, which export_cpp then forgets."""
    for node in nodes_of(graph, "ReLU"):
        parent = node.input(0)[0]
        if parent is not None and parent.type() in ("AvgPooling2D", "MaxPooling2D"):
            insert_before(graph, node, 0, aidge_core.Identity(name=f"{node.name()}_apart"))


def flatten_to_reshape(graph: aidge_core.GraphView) -> None:
    """Flatten becomes Reshape, which export_cpp has."""
    for node in nodes_of(graph, "Flatten"):
        dims = [int(dim) for dim in node.get_operator().get_output(0).dims]
        replace(graph, node, aidge_core.Reshape(dims, name=f"{node.name()}_reshape"))
