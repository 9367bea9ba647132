# SPDX-License-Identifier: EPL-2.0
"""Puts a region of a model onto the NPU: one node ``XmmGraph`` in place of the nodes that a ``.xmm`` file holds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.npu.checks import read_usable
from aidge_export_gk7206.npu.layout import DataType
from aidge_export_gk7206.npu.library import XMM_GRAPH
from aidge_export_gk7206.npu.matching import Match, channel_axis_of, match_input, match_outputs
from aidge_export_gk7206.npu.preprocessing import Preprocessing, describe
from aidge_export_gk7206.npu.xmm import Tensor, XmmFile

#: Domain of the node that stands for the region.
DOMAIN = "aidge_export_gk7206"

Outputs = Mapping[str, int | None] | Iterable[str] | None


@dataclass(frozen=True)
class Region:
    """A region of a model, and the file that holds it.

    :ivar path: The file.
    :ivar file: What is in it.
    :ivar input: The graph's input.
    :ivar outputs: The tensors where the region ends.
    :ivar preprocessing: How the graph's input maps onto the file's.
    :ivar model: The region as an ONNX model of its own, with fixed dims.
    """

    path: Path
    file: XmmFile
    input: Match
    outputs: tuple[Match, ...]
    preprocessing: Preprocessing
    model: onnx.ModelProto


def cut(model: ir.Model, outputs: Sequence[str]) -> onnx.ModelProto:
    """The part of a model from its input to some tensors.

    :param model: The model, cleaned up, so that all dims are known.
    :param outputs: Names of the tensors.
    :return: The part, as a model of its own.
    :rtype: onnx.ModelProto
    :raises ExportError: There are no such tensors, or something else needs what is inside the region.
    """
    values = {value.name: value for node in model.graph for value in node.outputs if value.name}
    for name in outputs:
        if name not in values:
            near = ", ".join(f"'{other}'" for other in list(values)[-5:])
            raise ExportError(f"the model computes no tensor '{name}'", f"its last ones are {near}")
    inside = _ancestors([values[name] for name in outputs])
    ends = {values[name] for name in outputs}
    outside = _ancestors([value for value in model.graph.outputs if value not in ends], ends)
    for node in inside & outside:
        needed = next(value for value in node.outputs if value not in ends)
        raise ExportError(
            f"tensor '{needed.name}' is inside the region, and what follows the region needs it",
            "name it as an output of the region too, if the file has it",
        )
    extractor = onnx.utils.Extractor(ir.to_proto(model))
    return extractor.extract_model([value.name or "" for value in model.graph.inputs], list(outputs))


def _ancestors(values: Iterable[ir.Value], ends: Iterable[ir.Value] = ()) -> set[ir.Node]:
    """The nodes that values come from, not looking beyond some values."""
    stops, found = set(ends), set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        node = None if value in stops else value.producer()
        if node is not None and node not in found:
            found.add(node)
            waiting += [source for source in node.inputs if source is not None]
    return found


def offload_region(
    model: ir.Model, path: Path, outputs: Outputs = None, preprocessing: Preprocessing | None = None
) -> Region:
    """Replaces the region between a model's input and some tensors by a node that a file holds.

    :param model: The model, cleaned up; it is changed.
    :param path: The ``.xmm`` file.
    :param outputs: Names of the tensors where the region ends, by default the model's outputs; a mapping says which
        output of the file each is, by position.
    :param preprocessing: How the model's input maps onto the file's.
    :return: What was replaced.
    :rtype: Region
    :raises ExportError: The file does not fit the model; it says every mismatch.
    """
    file = read_usable(path)
    preprocessing = preprocessing or Preprocessing()
    if len(model.graph.inputs) != 1:
        raise ExportError(f"the model has {len(model.graph.inputs)} inputs", "the NPU's region takes one")
    chosen = _chosen(model, outputs)
    region = cut(model, list(chosen))
    values = {value.name: value for node in model.graph for value in node.outputs}
    (source,) = model.graph.inputs
    entry = match_input(source.name or "", _dims(source), file)
    matches = match_outputs({name: _dims(values[name]) for name in chosen}, file, chosen)
    channels(entry, preprocessing)
    if preprocessing.raw:
        _check_raw(file.inputs[0])
    _replace(model, source, [values[match.name] for match in matches], _attributes(path, matches, preprocessing))
    if preprocessing.raw:
        source.shape, source.type = ir.Shape(file.inputs[0].dims), ir.TensorType(ir.DataType.UINT8)
    return Region(path, file, entry, tuple(matches), preprocessing, region)


def _check_raw(tensor: Tensor) -> None:
    if tensor.dtype != DataType.UINT8:
        raise ExportError(f"the file takes {tensor.dtype.label}, raw input is uint8", "leave out --raw")


def channels(entry: Match, preprocessing: Preprocessing) -> int:
    """How many channels the input has, of which the preprocessing must be."""
    axis = channel_axis(entry)
    count = entry.tensor.dims[axis] if axis is not None else 1
    preprocessing.channels(count)
    return count


def channel_axis(entry: Match) -> int | None:
    """Which axis of the file's input holds channels; None where it has none."""
    return channel_axis_of(entry.shape, entry.tensor.dims, entry.perm)


def _chosen(model: ir.Model, outputs: Outputs) -> dict[str, int | None]:
    if outputs is None:
        return {value.name or "": None for value in model.graph.outputs}
    if isinstance(outputs, Mapping):
        return dict(outputs)
    return dict.fromkeys(outputs)


def _attributes(path: Path, matches: Sequence[Match], preprocessing: Preprocessing) -> dict[str, Any]:
    return {
        "file": str(path.resolve()),
        "outputs": [match.index for match in matches],
        "preprocessing": describe(preprocessing),
    }


def _replace(model: ir.Model, source: ir.Value, ends: Sequence[ir.Value], attributes: Mapping[str, Any]) -> None:
    graph = model.graph
    node = ir.node(XMM_GRAPH, [source], attributes=dict(attributes), domain=DOMAIN, num_outputs=len(ends))
    node.name = Path(attributes["file"]).stem
    inside = _ancestors(ends)
    first = next(iter(graph))
    graph.insert_before(first, node)
    for end, new in zip(ends, node.outputs, strict=True):
        new.shape, new.type, name = end.shape, end.type, end.name
        position = next((i for i, value in enumerate(graph.outputs) if value is end), None)
        end.name = None
        new.name = name
        for user, index in list(end.uses()):
            if user not in inside:
                user.replace_input_with(index, new)
        if position is not None:
            graph.outputs[position] = new
    dead = [other for other in reversed(list(graph)) if other in inside]
    for other in dead:
        if not any(value.uses() or value.is_graph_output() for value in other.outputs):
            graph.remove(other, safe=True)
    model.opset_imports.setdefault(DOMAIN, 1)


def _dims(value: ir.Value) -> tuple[int, ...]:
    dims = () if value.shape is None else tuple(value.shape)
    if value.shape is None or not all(isinstance(dim, int) for dim in dims):
        raise ExportError(f"the dims of '{value.name}' are not known", "give the input's dims with --shape")
    return tuple(int(dim) for dim in dims)  # type: ignore[arg-type]
