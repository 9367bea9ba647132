# SPDX-License-Identifier: EPL-2.0
"""The region of a model as a model that takes and gives what the file does: the simulator computes outputs with it."""

import numpy as np
import onnx
from onnx import TensorProto, compose, helper, numpy_helper

from aidge_export_gk7206.npu.matching import Match
from aidge_export_gk7206.npu.offload import Region, channel_axis

PREFIX = "npu_"


def simulator_model(region: Region) -> onnx.ModelProto:
    """A model from the real values of the file's input to those of its outputs, in the file's layouts.

    :param region: The region.
    :return: The model; what the file has besides is not in it.
    :rtype: onnx.ModelProto
    """
    opsets = {entry.domain: entry.version for entry in region.model.opset_import}
    before = _before(region, opsets[""], region.model.ir_version)
    model = compose.merge_models(before, region.model, [("npu_seen", region.input.name)])
    after = _after(region, opsets[""], region.model.ir_version)
    links = [(match.name, f"npu_real_{i}") for i, match in enumerate(region.outputs)]
    return compose.merge_models(model, after, links)


def _before(region: Region, opset: int, ir_version: int) -> onnx.ModelProto:
    """From stored pixels to what the graph takes."""
    match, pre = region.input, region.preprocessing
    nodes, constants, value = [], [], "npu_pixels"
    axis = channel_axis(match)
    if not pre.is_identity:
        mean, std, order = pre.channels(1 if axis is None else match.tensor.dims[axis])
        wide = [1] * len(match.tensor.dims)
        if axis is not None:
            wide[axis] = -1
        for op_type, numbers in (("Sub", mean), ("Div", std)):
            constants.append(numpy_helper.from_array(numbers.reshape(wide).astype(np.float32), f"npu_{op_type}"))
            nodes.append(helper.make_node(op_type, [value, f"npu_{op_type}"], [f"npu_{op_type}_out"]))
            value = f"npu_{op_type}_out"
        if order != sorted(order):
            constants.append(numpy_helper.from_array(np.argsort(order), "npu_order"))
            nodes.append(helper.make_node("Gather", [value, "npu_order"], ["npu_ordered"], axis=axis))
            value = "npu_ordered"
    moved = [match.shape[i] for i in match.perm]
    constants.append(numpy_helper.from_array(np.asarray(moved, dtype=np.int64), "npu_in_dims"))
    nodes.append(helper.make_node("Reshape", [value, "npu_in_dims"], ["npu_moved"]))
    back = [int(i) for i in np.argsort(match.perm)]
    nodes.append(helper.make_node("Transpose", ["npu_moved"], ["npu_seen"], perm=back))
    inputs = [helper.make_tensor_value_info("npu_pixels", TensorProto.FLOAT, match.tensor.dims)]
    outputs = [helper.make_tensor_value_info("npu_seen", TensorProto.FLOAT, match.shape)]
    return _model("before", nodes, inputs, outputs, constants, opset, ir_version)


def _after(region: Region, opset: int, ir_version: int) -> onnx.ModelProto:
    """From the graph's values to the file's layout."""
    nodes, constants, inputs, outputs = [], [], [], []
    for i, match in enumerate(region.outputs):
        constants.append(numpy_helper.from_array(np.asarray(match.tensor.dims, dtype=np.int64), f"npu_dims_{i}"))
        nodes.append(helper.make_node("Transpose", [f"npu_real_{i}"], [f"npu_turned_{i}"], perm=list(match.perm)))
        nodes.append(helper.make_node("Reshape", [f"npu_turned_{i}", f"npu_dims_{i}"], [output_name(match)]))
        inputs.append(helper.make_tensor_value_info(f"npu_real_{i}", TensorProto.FLOAT, match.shape))
        outputs.append(helper.make_tensor_value_info(output_name(match), TensorProto.FLOAT, match.tensor.dims))
    return _model("after", nodes, inputs, outputs, constants, opset, ir_version)


def output_name(match: Match) -> str:
    """Name of an output of the model: which of the file's it is."""
    return f"npu_output_{match.index}"


def output_index(name: str) -> int:
    """Which output of the file an output of the model is."""
    return int(name.removeprefix("npu_output_"))


def _model(
    name: str,
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    constants: list[onnx.TensorProto],
    opset: int,
    ir_version: int,
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, name, inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = ir_version
    return model
