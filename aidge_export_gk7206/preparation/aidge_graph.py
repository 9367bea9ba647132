# SPDX-License-Identifier: EPL-2.0
"""Rewrites of an Aidge graph, imported or made by hand, so that it exports right; each does one thing.

They leave Aidge's own operators, so that the graph suits export_cpp as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aidge_core

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.naming import sanitize_name
from aidge_export_gk7206.preparation import aidge_operands, aidge_operators
from aidge_export_gk7206.preparation.aidge_edit import ONNX_LAYOUTS, nodes_of
from aidge_export_gk7206.xnnpack.kernel import OUTPUT_NAMES, PREPARE, layer_name


@dataclass(frozen=True)
class Names:
    """Names of the inputs and outputs in the model; empty where it has none."""

    inputs: list[str]
    outputs: list[str]


def mend(
    graph: aidge_core.GraphView,
    name: str | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    names: Names | None = None,
) -> aidge_core.GraphView:
    """Applies all rewrites.

    :param graph: The graph; it stays as it is.
    :type graph: aidge_core.GraphView
    :param name: Name of the model, by default that of the graph; made a C identifier.
    :type name: str | None
    :param shapes: Shapes of the inputs in ONNX order, by name; ``""`` stands for the only one. By default those of the
        tensors that the graph's inputs have.
    :type shapes: collections.abc.Mapping[str, collections.abc.Sequence[int]] | None
    :param names: Names of the inputs and outputs, by default those that the graph has.
    :type names: Names | None
    :return: The rewritten graph.
    :rtype: aidge_core.GraphView
    :raises ExportError: The shape of an input is not known, or an operator cannot be exported right.
    """
    dims = input_dims(graph, shapes or {})
    graph = graph.clone()
    graph.set_name(sanitize_name(name or graph.name()))
    names = names or port_names(graph)
    label_layers(graph)
    aidge_core.expand_metaops(graph, recursive=True, name_format="{0}_{1}_{2}", unique_name=True)
    graph.set_backend("cpu")
    drop_pooling_indices(graph)
    ends = mark_outputs(graph)
    drop_dropout(graph)
    aidge_operators.name_grouped_convolutions(graph)
    while not forward_dims(graph, dims):
        # What cannot be told may depend on one of these.
        if not aidge_operators.depthwise_to_grouped(graph):
            raise _unknown_dims(graph)
    fold_constants(graph)
    label_layouts(graph)
    aidge_operands.own_parameters(graph)
    aidge_core.fuse_batchnorm(graph)
    for rewrite in (
        aidge_operands.casts_of_constants,
        aidge_operands.bounds_to_attributes,
        aidge_operands.pads_to_attributes,
        aidge_operands.computed_operand_first,
        aidge_operands.full_rank_operands,
        aidge_operators.reductions_to_pooling,
        aidge_operators.global_to_windowed_pooling,
        aidge_operators.flatten_to_reshape,
    ):
        rewrite(graph)
        forward_dims(graph, dims)
        label_layouts(graph)
    unmark_outputs(graph, ends)
    restore_names(graph, names)
    return graph


def input_dims(graph: aidge_core.GraphView, shapes: Mapping[str, Sequence[int]]) -> list[list[int]]:
    """Shapes of the graph's inputs.

    :raises ExportError: One is not known.
    """
    found = []
    for node, index in graph.get_mandatory_inputs():
        name = str(node.input_name(index))
        tensor = node.get_operator().get_input(index)
        dims = shapes.get(name) or shapes.get("") or ([] if tensor is None else list(tensor.dims))
        if not dims:
            raise ExportError(
                f"the shape of input '{name}' is not known", f"give it: prepare(graph, shapes={{'{name}': (1, ...)}})"
            )
        found.append([int(dim) for dim in dims])
    return found


def port_names(graph: aidge_core.GraphView) -> Names:
    """Names of the inputs and outputs; expanding and replacing nodes loses them."""

    def name(node: aidge_core.Node, index: int, side: str) -> str:
        annotations = node.annotations()
        names = annotations.get_attr(side) if annotations.has_attr(side) else []
        return str(names[index]) if index < len(names) else ""

    return Names(
        [name(node, index, "input_names") for node, index in graph.get_mandatory_inputs()],
        [name(node, index, "output_names") for node, index in graph.get_ordered_outputs()],
    )


def mark_outputs(graph: aidge_core.GraphView) -> list[aidge_core.Node]:
    """Puts a node behind every output: where one is rewritten, Aidge forgets its place among the others.

    :return: These nodes, in the order of the outputs.
    """
    ends = []
    for position, (node, index) in enumerate(graph.get_ordered_outputs()):
        end = aidge_core.Identity(name=f"output_{position}")
        end.get_operator().set_backend("cpu")
        node.add_child(end, index, 0)
        ends.append(end)
    for end in ends:
        graph.add(end)
    graph.set_ordered_outputs([(end, 0) for end in ends])
    return ends


def unmark_outputs(graph: aidge_core.GraphView, ends: list[aidge_core.Node]) -> None:
    """Takes these nodes away again, but for those of outputs that other nodes read too.

    Aidge would fuse such an output with one of its readers and then not find it.
    """
    outputs = []
    for end in ends:
        node, index = end.input(0)
        if len(node.outputs()[index]) > 1:
            outputs.append((end, 0))
            continue
        node.remove_child(end, index)
        graph.remove(end)
        outputs.append((node, index))
    graph.set_ordered_outputs(outputs)


def restore_names(graph: aidge_core.GraphView, names: Names) -> None:
    """Gives the inputs and outputs their names back.

    Aidge's adaptation replaces nodes and loses what they are annotated with: all nodes get the outputs' names.
    """
    for node in graph.get_nodes():
        node.annotations().set_attr(OUTPUT_NAMES, names.outputs)
    for (node, index), name in zip(graph.get_mandatory_inputs(), names.inputs, strict=False):
        if name:
            node.input_name(index, name)
    for (node, index), name in zip(graph.get_ordered_outputs(), names.outputs, strict=False):
        if name:
            node.output_name(index, name)


def label_layers(graph: aidge_core.GraphView) -> None:
    """Notes the name of every node, and of the one it is part of, which gets one if need be: Aidge renames them all."""
    for position, node in enumerate(graph.get_ordered_nodes()):
        if not node.name():
            node.set_name(f"unnamed_{node.type()}_{position}")
        _label(node, str(node.name()))


def _label(node: aidge_core.Node, name: str) -> None:
    node.annotations().set_attr("layer", name)
    operator = node.get_operator()
    if isinstance(operator, aidge_core.MetaOperatorOp):
        for inner in operator.get_micro_graph().get_nodes():
            _label(inner, name)


def drop_pooling_indices(graph: aidge_core.GraphView) -> None:
    """Takes away outputs that the model does not have: the indices that Aidge's max pooling has too."""
    wanted = [
        (node, index) for node, index in graph.get_ordered_outputs() if not (index == 1 and "MaxPool" in node.type())
    ]
    graph.set_ordered_outputs(wanted, ignore_missing=True)


def drop_dropout(graph: aidge_core.GraphView) -> None:
    """Removes Dropout, which does nothing in an inference.

    :raises ExportError: Its mask is used.
    """
    for node in nodes_of(graph, "Dropout"):
        if node.outputs()[1]:
            raise ExportError(f"layer '{node.name()}' (Dropout): its mask is used", "remove it from the model")
    aidge_core.remove_dropout(graph)


def forward_dims(graph: aidge_core.GraphView, dims: list[list[int]]) -> bool:
    """Computes the shapes of all tensors.

    :return: Whether all of them could be told.
    """
    # Nodes that have come lately are last, the graph's input among them.
    graph.set_mandatory_inputs_first()
    try:
        return bool(graph.forward_dims(dims, allow_data_dependency=True))
    except RuntimeError as error:
        who = next((_who(node) for node in graph.get_ordered_nodes() if not node.get_operator().dims_forwarded()), "")
        reason = (str(error).splitlines() or ["no reason given"])[0].rstrip(" .:")
        raise ExportError(
            f"{who or 'a layer'}: Aidge cannot tell the shape of its output ({reason})", PREPARE
        ) from None


def _unknown_dims(graph: aidge_core.GraphView) -> ExportError:
    """Names the first operator that Aidge has no rule for."""
    unknown = [node for node in graph.get_ordered_nodes() if not node.get_operator().dims_forwarded()]
    who = _who(unknown[0]) if unknown else "a layer"
    return ExportError(f"{who}: Aidge cannot tell the shape of its output", PREPARE)


def _who(node: aidge_core.Node) -> str:
    return f"layer '{layer_name(node)}' ({node.type()})"


def fold_constants(graph: aidge_core.GraphView) -> None:
    """Computes what depends on no input, shapes included."""
    aidge_core.constant_folding(graph, constant_shape=True)


def label_layouts(graph: aidge_core.GraphView) -> None:
    """Labels what has no layout yet as ONNX order; Aidge takes unlabelled tensors as lying in any order it wants."""
    for node in graph.get_nodes():
        operator = node.get_operator()
        if operator.get_output(0).dformat != aidge_core.dformat.default:
            continue
        tensors = [operator.get_input(index) for index in range(node.get_nb_inputs())] or [operator.get_output(0)]
        rank = max((len(tensor.dims) for tensor in tensors if tensor is not None), default=0)
        if rank in ONNX_LAYOUTS:
            operator.set_dataformat(ONNX_LAYOUTS[rank])
