# SPDX-License-Identifier: EPL-2.0
"""What the program must know of a ``.xmm`` file: the tables of runtime/xmedia/tensor_spec.hpp, as plain data."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.npu.matching import channel_axis_of, layout_of
from aidge_export_gk7206.npu.preprocessing import Preprocessing, parse
from aidge_export_gk7206.npu.xmm import Tensor, XmmFile

Dims = tuple[int, ...]


@dataclass(frozen=True)
class Session:
    """How the program uses a file.

    :ivar input_perm: Order of axes in which the file has the graph's input.
    :ivar output_perms: The same for the graph's tensors that the file computes.
    :ivar tables: The file's tensors and the preprocessing.
    """

    input_perm: Dims
    output_perms: tuple[Dims, ...]
    tables: dict[str, Any]


def describe_session(
    path: Path, file: XmmFile, shape: Dims, targets: Sequence[Dims], chosen: Sequence[int], preprocessing: str
) -> Session | None:
    """How the program uses a file.

    :param path: The file.
    :param file: What is in it.
    :param shape: Dims of the graph's input.
    :param targets: Dims of the graph's tensors that the file computes.
    :param chosen: Which outputs of the file they are.
    :param preprocessing: As :func:`aidge_export_gk7206.npu.preprocessing.describe` has it, as JSON.
    :return: None where the dims are not those of the file.
    :rtype: Session | None
    """
    pre = parse(preprocessing)
    # What is taken raw has the file's dims already.
    perm = tuple(range(len(shape))) if pre.raw else layout_of(shape, file.inputs[0].dims, is_input=True)
    perms = [layout_of(dims, file.outputs[index].dims) for dims, index in zip(targets, chosen, strict=True)]
    if perm is None or None in perms:
        return None
    tables = {
        "size": file.size,
        "crc": zlib.crc32(path.read_bytes()),
        "inputs": [_tensor(tensor) for tensor in file.inputs],
        "outputs": [_tensor(tensor) for tensor in file.outputs],
        "preprocessing": _preprocessing(pre, file.inputs[0], channel_axis_of(shape, file.inputs[0].dims, perm)),
        "raw": pre.raw,
        "reuse_type": file.memory_reuse_type,
    }
    return Session(perm, tuple(p for p in perms if p is not None), tables)


def _tensor(tensor: Tensor) -> dict[str, Any]:
    return {
        "name": tensor.name or "",
        "id": tensor.id,
        "dtype": tensor.dtype.label,
        "dims": list(tensor.dims),
        "pitches": list(tensor.pitches),
        "scale": tensor.scale,
        "zero_point": tensor.zero_point,
        "size": tensor.size,
    }


def _preprocessing(pre: Preprocessing, tensor: Tensor, axis: int | None) -> dict[str, Any] | None:
    """``real[c] = value[order[c]] * a[c] + b[c]``; None where nothing is to be done.

    :raises ExportError: The channels are neither last nor second.
    """
    if pre.raw or pre.is_identity:
        return None
    where = {None: "none", len(tensor.dims) - 1: "last", 1: "second"}.get(axis)
    if where is None:
        raise ExportError(
            f"the channels are axis {axis} of the file's {len(tensor.dims)} axes", "compile it with a batch axis"
        )
    mean, std, order = pre.channels(1 if axis is None else tensor.dims[axis])
    return {"axis": where, "a": std.tolist(), "b": mean.tolist(), "order": order}
