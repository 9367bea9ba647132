# SPDX-License-Identifier: EPL-2.0
"""The region that a ``.xmm`` file holds: one operator, which reads and writes real values in the file's layouts."""

import json
from pathlib import Path

import onnx_ir as ir

from aidge_export_gk7206.npu.checks import read_usable
from aidge_export_gk7206.npu.library import XMM_GRAPH
from aidge_export_gk7206.npu.offload import DOMAIN
from aidge_export_gk7206.npu.session_spec import describe_session
from aidge_export_gk7206.preparation.kernel_graph import Op, Tensor, permuted
from aidge_export_gk7206.preparation.lowering import Lowering, Unsupported, layer_name, lowers


@lowers(XMM_GRAPH, domain=DOMAIN)
def xmm_graph(low: Lowering, node: ir.Node) -> None:
    path = Path(node.attributes["file"].as_string())
    chosen = list(node.attributes["outputs"].as_ints())
    source = low.value(node.inputs[0])
    targets = [low.value(output) for output in node.outputs]
    preprocessing = node.attributes["preprocessing"].as_string()
    shapes = [target.shape for target in targets]
    session = describe_session(path, read_usable(path), source.shape, shapes, chosen, preprocessing)
    if session is None:
        raise Unsupported(f"the dims of '{path}' are others by now")
    tensors = []
    for target, perm in zip(targets, session.output_perms, strict=True):
        tensor = Tensor(permuted(target.shape, perm))
        low.define(target, tensor, perm)
        tensors.append(tensor)
    attrs = {"file": str(path), "session": json.dumps(session.tables), "chosen": chosen}
    entry = low.form(source, session.input_perm)
    low.ops.append(Op(XMM_GRAPH, [entry], tensors, attrs, layer_name(node), XMM_GRAPH))
