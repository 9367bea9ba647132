# SPDX-License-Identifier: EPL-2.0
"""Layers too small for a vector kernel.

XNNPACK runs a convolution with fewer output channels than a vector register group holds on a scalar kernel. The arena
planner lets such a layer compute zeros beside its channels (memory.py), which leaves gaps between the pixels of its
output. Where a reader cannot skip gaps, a copy closes them here.
"""

from aidge_export_gk7206.prepare.kernel_graph import Op, Tensor, size
from aidge_export_gk7206.xnnpack.library import ExportLibXNNPack


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
        dense = Tensor(tensor.dims)
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
    if op.type == "XnnConvolution":
        return bool(op.attrs["groups"] == 1 and op.attrs["out_dims"][-1] < vector_channels)
    if op.type == "XnnFullyConnected":
        rows, channels = op.attrs["out_dims"]
        return bool(rows > 1 and channels % vector_channels)
    return False


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
