# SPDX-License-Identifier: EPL-2.0
"""Layers too small for a vector kernel.

XNNPACK runs a convolution with fewer output channels than a vector register group holds on a scalar kernel. The arena
planner lets such a layer compute zeros beside its channels (memory.py), which leaves gaps between the pixels of its
output. Where a reader cannot skip gaps, a copy closes them here.
"""

import numpy as np

from aidge_export_gk7206.preparation.kernel_graph import Op, Tensor, size
from aidge_export_gk7206.xnnpack.library import ExportLibXNNPack
from aidge_export_gk7206.xnnpack.packing import padded_channels


def merge_groups(ops: list[Op], vector_channels: int) -> None:
    """Lets grouped convolutions with few channels a group compute several groups as one, with zeros between them.

    :param ops: The model's operators; they are changed.
    :param vector_channels: Output channels that a vector kernel needs.
    """
    for op in ops:
        if op.type not in ("XnnConvolution", "XnnDeconvolution"):
            continue
        weights = op.inputs[1].constant
        assert weights is not None
        groups, channels = op.attrs["groups"], weights.shape[0]
        per_group, inputs = channels // groups, weights.shape[-1]
        depthwise = op.type == "XnnConvolution" and per_group == inputs == 1
        if groups == 1 or per_group >= vector_channels or depthwise:
            continue
        divisors = (m for m in range(1, groups + 1) if groups % m == 0)
        merged = next(m for m in divisors if m == groups or m * per_group >= vector_channels)
        spread = np.zeros((*weights.shape[:-1], merged * inputs), np.float32)
        for channel in range(channels):
            start = channel // per_group % merged * inputs
            spread[channel, ..., start : start + inputs] = weights[channel]
        op.inputs[1] = Tensor(spread.shape, constant=spread)
        op.attrs["groups"] = groups // merged


def close_gaps(ops: list[Op], outputs: list[Tensor], vector_channels: int) -> list[Op]:
    """Adds a copy behind every small layer with a reader that needs its pixels side by side.

    :param ops: The model's operators, in order.
    :param outputs: Tensors that the program gives; their pixels lie side by side.
    :param vector_channels: Output channels that a vector kernel needs.
    :return: The operators with the copies.
    """
    readers: dict[int, list[Op]] = {}
    for op in ops:
        for tensor in op.inputs:
            readers.setdefault(id(tensor), []).append(op)
    result: list[Op] = []
    for op in ops:
        result.append(op)
        tensor = op.outputs[0]
        if not _is_small(op, vector_channels):
            continue
        gaps_allowed = not any(tensor is output for output in outputs)
        if gaps_allowed and all(_skips_gaps(reader, tensor, op) for reader in readers.get(id(tensor), [])):
            continue
        dense = Tensor(tensor.dims, values=list(tensor.values))
        channels = op.attrs["out_dims"][-1]
        dims = [size(tuple(op.attrs["out_dims"])) // channels, channels]
        result.append(Op("XnnCopy", [tensor], [dense], {"dims": dims}, f"{op.layer} (dense)", "Copy"))
        for reader in readers.get(id(tensor), []):
            reader.inputs = [dense if source is tensor else source for source in reader.inputs]
        for i, output in enumerate(outputs):
            if output is tensor:
                outputs[i] = dense
    return result


def _is_small(op: Op, vector_channels: int) -> bool:
    if "out_dims" not in op.attrs or size(tuple(op.attrs["out_dims"][:-1])) == 1:
        return False
    channels = op.attrs["out_dims"][-1]
    return bool(padded_channels(op.type, channels, op.attrs.get("groups", 1), vector_channels) != channels)


def _skips_gaps(reader: Op, tensor: Tensor, producer: Op) -> bool:
    """Whether an operator can read pixels with gaps between them."""
    entries = ExportLibXNNPack._export_node_registry.get(reader.type, [])
    if not any(node.takes_strides for _, node in entries):
        return False
    index = next(i for i, source in enumerate(reader.inputs) if source is tensor)
    if "inners" in reader.attrs:
        inners = reader.attrs["inners"]
        channels = inners[index] if reader.type == "XnnConcat" else sum(inners)
    else:
        channels = (reader.attrs.get("dims") or reader.attrs["in_dims"])[-1]
    return bool(channels == producer.attrs["out_dims"][-1])
