# SPDX-License-Identifier: EPL-2.0
"""Puts a region of a prepared graph onto the NPU."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import aidge_core

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.npu.checks import read_usable
from aidge_export_gk7206.npu.library import XMM_GRAPH
from aidge_export_gk7206.npu.matching import match_input, match_outputs
from aidge_export_gk7206.npu.preprocessing import Preprocessing, describe
from aidge_export_gk7206.npu.session_spec import describe_session
from aidge_export_gk7206.preparation import to_aidge
from aidge_export_gk7206.preparation.kernel_graph import (
    Dims,
    KernelGraph,
    Op,
    Port,
    Tensor,
    permuted,
    same_bytes,
)
from aidge_export_gk7206.preparation.to_aidge import from_aidge

#: Operators that compute nothing; a region and what follows it may both have them.
_LAYOUT_ONLY = frozenset({"XnnCopy", "XnnInput", "XnnTranspose"})


def offload(
    graph: aidge_core.GraphView,
    path: str | Path,
    outputs: Mapping[str, int | None] | Iterable[str] | None = None,
    preprocessing: Preprocessing | None = None,
) -> aidge_core.GraphView:
    """Replaces the region between a graph's input and some tensors by a node that a ``.xmm`` file holds.

    :param graph: A graph that :func:`aidge_export_gk7206.prepare` has made; it stays as it is.
    :type graph: aidge_core.GraphView
    :param path: The file.
    :type path: str | Path
    :param outputs: Names in the ONNX model of the tensors where the region ends, by default the model's outputs; a
        mapping says which output of the file each is, by position.
    :type outputs: collections.abc.Mapping[str, int | None] | collections.abc.Iterable[str] | None
    :param preprocessing: How the graph's input maps onto the file's.
    :type preprocessing: Preprocessing | None
    :return: The graph with one node ``XmmGraph`` in place of the region.
    :rtype: aidge_core.GraphView
    :raises ExportError: The file does not fit the graph; it says every mismatch.
    """
    kernels, file, preprocessing = from_aidge(graph), read_usable(Path(path)), preprocessing or Preprocessing()
    (source,) = kernels.inputs
    if preprocessing.raw:
        raise ExportError("a prepared graph takes float32", "export the ONNX file with --xmm and --raw")
    wanted = _as_mapping(outputs) or {port.name: None for port in kernels.outputs}
    ends = {name: _find(kernels, name) for name in wanted}
    entry = match_input(source.name, source.shape, file)
    matches = match_outputs({name: shape for name, (_, shape, _) in ends.items()}, file, wanted)
    chosen = [match.index for match in matches]
    shapes = [match.shape for match in matches]
    session = describe_session(Path(path), file, source.shape, shapes, chosen, describe(preprocessing))
    assert session is not None  # matched above
    # Where several layers read the input, one passes it on to all.
    fan_out = [op for op in kernels.ops if op.type == "XnnInput"]
    origin = fan_out[0].outputs[0] if fan_out else source.tensor
    made: list[Op] = []
    taken = _in_order(origin, source.shape, source.perm, entry.perm, "input (layout)", made)
    attrs = {"file": str(Path(path).resolve()), "session": json.dumps(session.tables), "chosen": chosen}
    given = [Tensor(permuted(shape, perm)) for shape, perm in zip(shapes, session.output_perms, strict=True)]
    made.append(Op(XMM_GRAPH, [taken], given, attrs, Path(path).stem, XMM_GRAPH))
    new: dict[int, Tensor] = {}
    for match, tensor, perm in zip(matches, given, session.output_perms, strict=True):
        old, shape, wanted_perm = ends[match.name]
        tensor.values.append((match.name, shape, perm))
        new[id(old)] = _in_order(tensor, shape, perm, wanted_perm, f"{match.name} (layout)", made)
    region = _region(kernels, [tensor for tensor, _, _ in ends.values()])
    for op in kernels.ops:
        op.inputs = [new.get(id(tensor), tensor) for tensor in op.inputs]
    results = [replace(port, tensor=new.get(id(port.tensor), port.tensor)) for port in kernels.outputs]
    ops = _needed([*fan_out, *made, *(op for op in kernels.ops if op not in fan_out)], results)
    _check_closed(ops, region)
    return to_aidge(KernelGraph(kernels.name, kernels.inputs, results, ops))


def _as_mapping(outputs: Mapping[str, int | None] | Iterable[str] | None) -> dict[str, int | None]:
    return dict(outputs) if isinstance(outputs, Mapping) else dict.fromkeys(outputs or ())


def _find(kernels: KernelGraph, name: str) -> tuple[Tensor, Dims, Dims]:
    """The tensor that a value of the model is, with its shape and order of axes.

    :raises ExportError: There is none: the value is inside a fused operator, or not in the model.
    """
    for port in kernels.outputs:
        if port.name == name:
            return port.tensor, port.shape, port.perm
    found = {
        value: (tensor, shape, perm)
        for op in kernels.ops
        for tensor in op.outputs
        for value, shape, perm in tensor.values
    }
    if name in found:
        return found[name]  # the last one: those before have gaps between their pixels, which it closes
    near = ", ".join(f"'{other}'" for other in list(found)[-5:])
    raise ExportError(
        f"the graph has no tensor '{name}': it is fused with what follows, or not in the model",
        f"its last ones are {near}",
    )


def _region(kernels: KernelGraph, ends: list[Tensor]) -> set[int]:
    """The operators that some tensors come from."""
    found: set[int] = set()
    waiting = [tensor.op for tensor in ends]
    while waiting:
        op = waiting.pop()
        if op is not None and id(op) not in found:
            found.add(id(op))
            waiting += [tensor.op for tensor in op.inputs]
    return found


def _needed(ops: list[Op], outputs: list[Port]) -> list[Op]:
    """The operators that outputs come from, in order."""
    wanted = {id(port.tensor) for port in outputs}
    kept: list[Op] = []
    for op in reversed(ops):
        if any(id(tensor) in wanted for tensor in op.outputs):
            kept.append(op)
            wanted.update(id(tensor) for tensor in op.inputs)
    return kept[::-1]


def _check_closed(ops: list[Op], region: set[int]) -> None:
    """Refuses a graph that still needs what the region computes.

    :raises ExportError: It names the tensor.
    """
    left = [op for op in ops if id(op) in region and op.type not in _LAYOUT_ONLY]
    if left:
        tensor = left[-1].outputs[0]
        name = tensor.values[0][0] if tensor.values else left[-1].layer
        raise ExportError(
            f"tensor '{name}' is inside the region, and what follows the region needs it",
            "name it as an output of the region too, if the file has it",
        )


def _in_order(tensor: Tensor, shape: Dims, perm: Dims, wanted: Dims, layer: str, ops: list[Op]) -> Tensor:
    """A tensor of the same value in another order of axes; adds the operator that makes it."""
    if same_bytes(shape, perm, wanted):
        return tensor
    moved = Tensor(permuted(shape, wanted))
    attrs = {"in_dims": list(permuted(shape, perm)), "perm": [perm.index(axis) for axis in wanted]}
    ops.append(Op("XnnTranspose", [tensor], [moved], attrs, layer, "Transpose"))
    return moved
