# SPDX-License-Identifier: EPL-2.0
"""What ran where and what it costs: the contents of export.json."""

import json
import math
from pathlib import Path
from typing import Any

import aidge_core
from aidge_core.export_utils.data_conversion import sanitize_cpp_identifier

from aidge_export_gk7206.npu.library import XMM_GRAPH
from aidge_export_gk7206.parameters import FOLDER as PARAMETERS
from aidge_export_gk7206.schedule import StableSchedule
from aidge_export_gk7206.xnnpack.kernel import OUTPUT_NAMES, is_served, kernel_of, layer_name

#: Attribute of one node of a prepared graph that describes the model's inputs and outputs, as JSON. It travels with the
#: graph through Aidge's export, which knows nothing of names and layouts in the ONNX model.
PORTS = "model_ports"


def ports(graph: aidge_core.GraphView) -> dict[str, list[dict[str, Any]]] | None:
    """Inputs and outputs as a prepared graph describes them; None for a graph that was not prepared."""
    for node in graph.get_nodes():
        attributes = node.get_operator().attr if _is_kernel(node) else None
        if attributes is not None and attributes.has_attr(PORTS):
            described: dict[str, list[dict[str, Any]]] = json.loads(attributes.get_attr(PORTS))
            return described
    return None


def _is_kernel(node: aidge_core.Node) -> bool:
    """Whether a node is an operator of this package, which says itself which layers of the model it is."""
    return bool(node.type().startswith("Xnn") or node.type() == XMM_GRAPH)


def output_names(graph: aidge_core.GraphView) -> list[str]:
    """Names of the outputs in the model, as a mended graph has them; empty for another."""
    for node in graph.get_nodes():
        if node.annotations().has_attr(OUTPUT_NAMES):
            return [str(name) for name in node.annotations().get_attr(OUTPUT_NAMES)]
    return []


def describe_port(node: aidge_core.Node, index: int, side: str, name: str = "") -> dict[str, Any]:
    """Entry of export.json for a graph of Aidge's own operators: Aidge's label tells the layout.

    :param side: ``"input"`` or ``"output"``.
    :param name: Name in the model, where it is known.
    """
    operator = node.get_operator()
    tensor = operator.get_input(index) if side == "input" else operator.get_output(index)
    dims = [int(dim) for dim in tensor.dims]
    nhwc = tensor.dformat == aidge_core.dformat.nhwc and len(dims) == 4
    nwc = tensor.dformat == aidge_core.dformat.nwc and len(dims) == 3
    permutation = [0, *range(2, len(dims)), 1] if nhwc or nwc else None
    shape = dims if permutation is None else [dims[permutation.index(axis)] for axis in range(len(dims))]
    return {
        "name": name or _name_in_model(node, index, side) or symbol(node, index, side),
        "dtype": str(tensor.dtype).removeprefix("dtype."),
        "shape": shape,
        "layout": "nhwc" if nhwc else "nwc" if nwc else "default",
        "device_shape": dims,
        "permutation": permutation,
    }


def _name_in_model(node: aidge_core.Node, index: int, side: str) -> str:
    """Name of an input or output in the ONNX model, as Aidge's importer notes it; empty where it does not."""
    annotations, key = node.annotations(), f"{side}_names"
    names = annotations.get_attr(key) if annotations.has_attr(key) else []
    if index < len(names) and names[index]:
        return str(names[index])
    operator = node.get_operator()
    if isinstance(operator, aidge_core.MetaOperatorOp):
        graph = operator.get_micro_graph()
        ports = graph.get_ordered_inputs() if side == "input" else graph.get_ordered_outputs()
        return _name_in_model(ports[index][0], ports[index][1], side) if index < len(ports) else ""
    if node.type() == "Transpose":
        # Inserted by Aidge at the edge of the graph.
        if side == "output" and node.input(0)[0] is not None:
            return _name_in_model(node.input(0)[0], node.input(0)[1], side)
        readers = node.outputs()[0]
        return _name_in_model(readers[0][0], readers[0][1], side) if side == "input" and len(readers) == 1 else ""
    return ""


def symbol(node: aidge_core.Node, index: int, side: str) -> str:
    """C name of an input or output of the graph, as Aidge's manifest has it."""
    return f"{sanitize_cpp_identifier(node.name())}_{side}_{index}"


def nodes(scheduler: StableSchedule, xnn: bool) -> list[dict[str, str]]:
    """Every layer in order: its name in the model, what it serves, the library that runs it, and why that one.

    :param xnn: Whether XNNPACK was asked for, so that another library wants a reason.
    """
    entries = []
    for node in scheduler.get_sequential_static_scheduling():
        if node.type() == "Producer":
            continue
        operator = node.get_operator()
        library = operator.backend()
        attributes = operator.attr.dict() if _is_kernel(node) else {}
        served = is_served(node) or node.type() == XMM_GRAPH
        entries.append(
            {
                "name": str(attributes.get("layer") or layer_name(node)),
                "type": str(attributes.get("origin") or node.type()),
                "library": library,
                "reason": f"export_xnnpack has no kernel for this {node.type()}" if xnn and not served else "",
            }
        )
    return entries


def macs(scheduler: StableSchedule) -> int:
    """Multiply-accumulate operations of one inference."""
    return sum(_macs(node) for node in scheduler.get_sequential_static_scheduling())


def _macs(node: aidge_core.Node) -> int:
    if not is_served(node):
        return 0
    kernel = kernel_of(node)
    attrs: dict[str, Any] = kernel.attrs
    match kernel.type:
        case "XnnConvolution":
            return _size(attrs["out_dims"]) * _size(attrs["kernel"]) * int(attrs["in_dims"][3]) // int(attrs["groups"])
        case "XnnDeconvolution":
            per_pixel = _size(attrs["kernel"]) * int(attrs["out_dims"][3]) // int(attrs["groups"])
            return _size(attrs["in_dims"]) * per_pixel
        case "XnnFullyConnected":
            return _size(attrs["out_dims"]) * int(attrs["in_dims"][1])
        case "XnnMatMul":
            return _size(attrs["out_dims"]) * int(attrs["a_dims"][-1])
    return 0


def _size(dims: list[int]) -> int:
    return math.prod(dims)


def weights_bytes(export_folder: Path) -> int:
    """Size of the constants in the program."""
    return sum(file.stat().st_size for file in (export_folder / "dnn" / PARAMETERS).glob("*.bin"))


def write(export_folder: Path, description: dict[str, Any]) -> None:
    """Writes export.json."""
    text = json.dumps(description, indent=2, ensure_ascii=False)
    (export_folder / "export.json").write_text(text + "\n", encoding="utf-8")
