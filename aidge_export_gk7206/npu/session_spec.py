# SPDX-License-Identifier: EPL-2.0
"""What the program must know of a ``.xmm`` file: the tables of runtime/xmedia/tensor_spec.hpp, as plain data."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aidge_export_gk7206.npu.matching import layout_of
from aidge_export_gk7206.npu.preprocessing import Preprocessing, parse
from aidge_export_gk7206.npu.xmm import Tensor, read

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
    path: Path, shape: Dims, targets: Sequence[Dims], chosen: Sequence[int], preprocessing: str
) -> Session | None:
    """How the program uses a file.

    :param path: The file.
    :param shape: Dims of the graph's input.
    :param targets: Dims of the graph's tensors that the file computes.
    :param chosen: Which outputs of the file they are.
    :param preprocessing: As :func:`aidge_export_gk7206.npu.preprocessing.describe` has it, as JSON.
    :return: None where the dims are not those of the file.
    :rtype: Session | None
    """
    file = read(path, verify=True)
    perm = layout_of(shape, file.inputs[0].dims)
    perms = [layout_of(dims, file.outputs[index].dims) for dims, index in zip(targets, chosen, strict=True)]
    if perm is None or None in perms:
        return None
    pre = parse(preprocessing)
    tables = {
        "size": file.size,
        "crc": zlib.crc32(path.read_bytes()),
        "inputs": [_tensor(tensor) for tensor in file.inputs],
        "outputs": [_tensor(tensor) for tensor in file.outputs],
        "preprocessing": _preprocessing(pre, file.inputs[0], perm),
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


def _preprocessing(pre: Preprocessing, tensor: Tensor, perm: Dims) -> dict[str, Any] | None:
    """``real[c] = value[order[c]] * a[c] + b[c]``; None where nothing is to be done."""
    if pre.raw or pre.is_identity:
        return None
    if len(tensor.dims) < 3:
        mean, std, order = pre.channels(1)
        return {"axis": "none", "a": std.tolist(), "b": mean.tolist(), "order": order}
    last = perm[-1] == 1
    mean, std, order = pre.channels(tensor.dims[-1 if last else 1])
    return {"axis": "last" if last else "second", "a": std.tolist(), "b": mean.tolist(), "order": order}
