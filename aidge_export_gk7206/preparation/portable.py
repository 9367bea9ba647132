# SPDX-License-Identifier: EPL-2.0
"""An ONNX model as a graph of Aidge's own operators, for exports without XNNPACK."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aidge_core
import aidge_onnx
import onnx_ir as ir

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.preparation.aidge_edit import nodes_of
from aidge_export_gk7206.preparation.aidge_graph import Names, forward_dims, mend
from aidge_export_gk7206.preparation.aidge_operators import GROUPED, activations_apart_from_pooling
from aidge_export_gk7206.preparation.cleanup import drop_constant_inputs, fix_dims, fold_constants, name_nodes


@dataclass(frozen=True)
class Portable:
    """A model made of Aidge's own operators.

    :ivar input_name: Name of its input in the ONNX model.
    :ivar input_shape: Shape of its input in ONNX order.
    """

    graph: aidge_core.GraphView
    input_name: str
    input_shape: tuple[int, ...]


def to_portable(model: ir.Model, name: str, shapes: Mapping[str, Sequence[int]]) -> Portable:
    """Cleans a model up, imports it as Aidge does, and mends the graph.

    :param model: The model; it is changed.
    :type model: onnx_ir.Model
    :param name: Name of the exported model.
    :type name: str
    :param shapes: Shapes of inputs whose sizes the model leaves open, by name.
    :type shapes: collections.abc.Mapping[str, collections.abc.Sequence[int]]
    :return: The graph and its input.
    :rtype: Portable
    :raises ExportError: Something cannot be exported without XNNPACK.
    """
    drop_constant_inputs(model)
    name_nodes(model)
    if len(model.graph.inputs) != 1:
        given = ", ".join(f"'{value.name}'" for value in model.graph.inputs) or "none"
        raise ExportError(
            f"the model has {len(model.graph.inputs)} inputs ({given})",
            "Aidge 0.10.1 exports models with one input: merge them, or make the others constant",
        )
    dtype = model.graph.inputs[0].dtype
    if dtype is not None and dtype != ir.DataType.FLOAT:
        raise ExportError(f"input '{model.graph.inputs[0].name}' is {dtype.name}", "export a float32 model")
    fix_dims(model, shapes)
    # onnx_ir renames an input that is an output as well.
    input_name = model.graph.inputs[0].name or ""
    fold_constants(model)
    explicit_padding(model)
    source = model.graph.inputs[0]
    shape = tuple(_sizes(source))
    names = Names([input_name], [value.name or "" for value in model.graph.outputs])
    graph = mend(aidge_onnx.convert_onnx_to_aidge(ir.to_proto(model)), name, {"": shape}, names)
    for node in nodes_of(graph, GROUPED):
        raise ExportError(
            f"layer '{node.name()}' (Conv): export_cpp has no convolution in groups", "export with XNNPACK (--xnn)"
        )
    activations_apart_from_pooling(graph)
    forward_dims(graph, [list(shape)])
    return Portable(graph, input_name, shape)


def explicit_padding(model: ir.Model) -> None:
    """Replaces ``auto_pad`` by numbers: Aidge's importer computes them without looking at the size of the image."""
    for node in model.graph:
        automatic = node.attributes.get_string("auto_pad", "NOTSET")
        source = node.inputs[0] if node.inputs else None
        if node.op_type not in ("Conv", "MaxPool", "AveragePool") or automatic == "NOTSET":
            continue
        if source is None or source.shape is None:
            raise ExportError(f"layer '{node.name}' ({node.op_type}): auto_pad of an image of unknown size")
        kernel = node.attributes.get_ints("kernel_shape", None) or _spatial(node.inputs[1])
        count, sizes = len(kernel), _sizes(source)
        stride = node.attributes.get_ints("strides", [1] * count)
        dilation = node.attributes.get_ints("dilations", [1] * count)
        begins, ends = [], []
        for i in range(count):
            size, reach = sizes[2 + i], (int(kernel[i]) - 1) * dilation[i] + 1
            total = 0 if automatic == "VALID" else max((-(-size // stride[i]) - 1) * stride[i] + reach - size, 0)
            small, large = total // 2, total - total // 2
            begins.append(small if automatic == "SAME_UPPER" else large)
            ends.append(large if automatic == "SAME_UPPER" else small)
        del node.attributes["auto_pad"]
        node.attributes["pads"] = ir.AttrInt64s("pads", begins + ends)


def _spatial(weights: ir.Value | None) -> list[int]:
    return [] if weights is None else _sizes(weights)[2:]


def _sizes(value: ir.Value) -> list[int]:
    """Dims of a value; all are fixed by now."""
    return [dim for dim in value.shape or () if isinstance(dim, int)]
