# SPDX-License-Identifier: EPL-2.0
"""From an ONNX model to a graph that exports right: :func:`prepare`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import aidge_core
import numpy as np
import onnx
import onnx_ir as ir

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.naming import sanitize_name
from aidge_export_gk7206.preparation import (  # noqa: F401 - they register their rules
    lower_convolution,
    lower_elementwise,
    lower_normalization,
    lower_npu,
    lower_pooling,
    lower_resize,
    lower_shape,
)
from aidge_export_gk7206.preparation.aidge_graph import mend
from aidge_export_gk7206.preparation.cleanup import (
    drop_constant_inputs,
    fix_dims,
    fold_constants,
    fuse_patterns,
    name_nodes,
    silence_onnxscript,
)
from aidge_export_gk7206.preparation.kernel_graph import KernelGraph, Port, Tensor, channels_last, permuted, plain
from aidge_export_gk7206.preparation.lowering import Lowering, Unsupported, finish, layer_name, rule_for
from aidge_export_gk7206.preparation.to_aidge import to_aidge

__all__ = ["cleaned", "load", "lower", "prepare", "to_aidge"]

#: What suits every target: the K230's 128-bit vectors, four registers at a time, hold 16 floats.
VECTOR_CHANNELS = 16

#: How a .xmm file begins.
_XMM_MAGIC = b"ZZZZ"

Model = str | Path | onnx.ModelProto


def prepare(
    model: Model | aidge_core.GraphView,
    *,
    name: str | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> aidge_core.GraphView:
    """Makes a graph that exports right.

    An ONNX model is lowered to the operators of ``export_xnnpack``: the way that serves every operator and costs least
    at run time. A graph of Aidge's own operators, imported or made by hand, keeps them, so that it can be exported
    without XNNPACK as well, and is rewritten where Aidge would export it wrong or not at all.

    :param model: Path of an ONNX file, an ONNX model, or an Aidge graph, which stays as it is.
    :type model: str | Path | onnx.ModelProto | aidge_core.GraphView
    :param name: Name of the exported model, by default that of the file or of the graph; made a C identifier.
    :type name: str | None
    :param shapes: Shapes of inputs whose sizes the model leaves open, by name, ``""`` being the only input. An imported
        Aidge graph leaves all of them open.
    :type shapes: Mapping[str, Sequence[int]] | None
    :return: The graph, for :func:`aidge_core.export_utils.export`; give that a sample input labelled ``nchw`` when the
        input has four axes, ``dformat="default"`` when it has more.
    :rtype: aidge_core.GraphView
    :raises ExportError: The model cannot be read or has something that cannot be exported right; it says what.
    """
    if isinstance(model, aidge_core.GraphView):
        return mend(model, name, shapes)
    return to_aidge(lower(load(model), name or _default_name(model), shapes or {}))


def load(model: Model) -> ir.Model:
    """Reads an ONNX model.

    :raises ExportError: There is no such file, or it is not ONNX.
    """
    silence_onnxscript()
    if isinstance(model, onnx.ModelProto):
        with _defects("the model"):
            return ir.from_proto(model)
    path = Path(model)
    if path.is_file() and path.open("rb").read(len(_XMM_MAGIC)) == _XMM_MAGIC:
        raise ExportError(f"{path}: this is a model compiled for the NPU", "give its name the ending .xmm")
    if not path.is_file():
        raise ExportError(f"{path}: no such file", "give the path of an ONNX model")
    try:
        proto = onnx.load(path)
        loaded = ir.from_proto(proto)
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ExportError(f"{path}: not an ONNX model ({reason})", "check the file with onnx.checker") from error
    if not loaded.graph.outputs:
        raise ExportError(f"{path}: not an ONNX model (no outputs)", "check the file with onnx.checker")
    return loaded


def lower(
    model: ir.Model, name: str, shapes: Mapping[str, Sequence[int]], vector_channels: int = VECTOR_CHANNELS
) -> KernelGraph:
    """Cleans a model up and lowers it.

    :param model: The model; it is changed.
    :param vector_channels: Output channels that a vector kernel of the target needs.
    :raises ExportError: A node cannot be exported right.
    """
    names = cleaned(model, shapes)
    # NumPy warns of infinities, which stay what they are in the model.
    with _defects("the model"), np.errstate(all="ignore"):
        fuse_patterns(model)
        lowering = Lowering(model)
        inputs = [_input_port(lowering, *entry) for entry in zip(model.graph.inputs, names, strict=True)]
        for node in model.graph:
            _lower_node(lowering, node)
        return finish(lowering, sanitize_name(name), inputs, vector_channels)


def cleaned(model: ir.Model, shapes: Mapping[str, Sequence[int]]) -> list[str]:
    """Cleans a model up: all dims known, all constants computed, one input.

    :param model: The model; it is changed. To clean it again changes nothing.
    :return: Names of the inputs: onnx_ir renames one that is an output as well.
    :rtype: list[str]
    :raises ExportError: It cannot be.
    """
    with _defects("the model"):
        drop_constant_inputs(model)
        name_nodes(model)
    if len(model.graph.inputs) != 1:
        names = ", ".join(f"'{value.name}'" for value in model.graph.inputs) or "none"
        raise ExportError(
            f"the model has {len(model.graph.inputs)} inputs ({names})",
            "Aidge 0.10.1 exports models with one input: merge them, or make the others constant",
        )
    fix_dims(model, shapes)
    input_names = [value.name or "" for value in model.graph.inputs]
    with _defects("the model"), np.errstate(all="ignore"):
        fold_constants(model)
    return input_names


@contextmanager
def _defects(what: str) -> Iterator[None]:
    """Turns an exception that nobody thought of into a message that says what was being worked on.

    :raises ExportError: There was one.
    """
    try:
        yield
    except (ExportError, Unsupported):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        raise ExportError(
            f"{what}: {type(error).__name__}{f' ({reason})' if reason else ''}",
            "check the model with onnx.checker; where that finds nothing, it is a defect of aidge_export_gk7206",
        ) from error


def _input_port(lowering: Lowering, source: ir.Value, name: str) -> Port:
    """Images come channels last, everything else as ONNX has it."""
    try:
        value = lowering.value(source)
    except Unsupported as error:
        raise ExportError(f"input {error}", "export a float32 model") from None
    rank, raw = len(value.shape), source.dtype == ir.DataType.UINT8
    perm = channels_last(rank) if rank == 4 and not raw else plain(rank)
    tensor = Tensor(permuted(value.shape, perm))
    lowering.define(value, tensor, perm)
    return Port(name, value.shape, perm, tensor, "uint8" if raw else "float32")


def _lower_node(lowering: Lowering, node: ir.Node) -> None:
    rule = rule_for(node)
    name = layer_name(node)
    used = [output for output in node.outputs if output.uses() or output.is_graph_output()]
    if used and all(output.shape is not None and 0 in output.shape for output in used):
        # Nothing to compute.
        return
    if rule is None:
        domain = f"{node.domain}." if node.domain else ""
        raise ExportError(
            f"layer '{name}': operator {domain}{node.op_type} is not supported",
            "replace it in the model, or cut the model before it",
        )
    try:
        for source in filter(None, node.inputs):
            if source.const_value is None and source.producer() is None and not source.is_graph_input():
                raise Unsupported(f"nothing computes its input '{source.name}'")
        with _defects(f"layer '{name}' ({node.op_type})"):
            rule(lowering, node)
        for output in used:
            if not lowering.knows(output):
                raise Unsupported(f"its output '{output.name}' is used")
    except Unsupported as error:
        raise ExportError(
            f"layer '{name}' ({node.op_type}): {error}", "change the model, or cut it before this layer"
        ) from None


def _default_name(model: Model) -> str:
    if isinstance(model, onnx.ModelProto):
        return model.graph.name or "model"
    return Path(model).stem
