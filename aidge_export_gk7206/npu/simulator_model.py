# SPDX-License-Identifier: EPL-2.0
"""The region of a model as a model that takes pixels: the simulator computes outputs with it."""

import numpy as np
import onnx
from onnx import TensorProto, compose, helper, numpy_helper

from aidge_export_gk7206.npu.offload import Region, channel_axis

PREFIX = "npu_"


def simulator_model(region: Region) -> onnx.ModelProto:
    """A model from the real values of the file's input to those of its outputs, in the graph's layouts.

    :param region: The region.
    :return: The model; its outputs are the region's, in order.
    :rtype: onnx.ModelProto
    """
    if region.preprocessing.is_identity:
        return region.model
    opset = next(entry.version for entry in region.model.opset_import if entry.domain in ("", "ai.onnx"))
    match, pre = region.input, region.preprocessing
    has_channels = channel_axis(match) is not None
    mean, std, order = pre.channels(match.shape[1] if has_channels else 1)
    wide = [1, -1, *[1] * (len(match.shape) - 2)] if has_channels else [1] * len(match.shape)
    # A channel of the graph's input is another one of the file's.
    back = np.argsort(order)
    constants = [
        numpy_helper.from_array(values[back].reshape(wide).astype(np.float32), f"{PREFIX}{name}")
        for name, values in (("mean", mean), ("std", std))
    ]
    nodes, value = [], f"{PREFIX}pixels"
    if order != sorted(order):
        constants.append(numpy_helper.from_array(back, f"{PREFIX}order"))
        nodes.append(helper.make_node("Gather", [value, f"{PREFIX}order"], [f"{PREFIX}ordered"], axis=1))
        value = f"{PREFIX}ordered"
    nodes.append(helper.make_node("Sub", [value, f"{PREFIX}mean"], [f"{PREFIX}centred"]))
    nodes.append(helper.make_node("Div", [f"{PREFIX}centred", f"{PREFIX}std"], [f"{PREFIX}seen"]))
    pixels, seen = (
        [helper.make_tensor_value_info(f"{PREFIX}{name}", TensorProto.FLOAT, match.shape)]
        for name in ("pixels", "seen")
    )
    graph = helper.make_graph(nodes, "preprocessing", pixels, seen, constants)
    before = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    before.ir_version = region.model.ir_version
    return compose.merge_models(before, region.model, [(f"{PREFIX}seen", match.name)])
