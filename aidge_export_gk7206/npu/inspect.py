# SPDX-License-Identifier: EPL-2.0
"""What the command ``inspect`` tells about a model."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from aidge_export_gk7206.npu.checks import warnings
from aidge_export_gk7206.npu.layout import MMZ_BYTES, mmz_regions
from aidge_export_gk7206.npu.xmm import DataType, Tensor, XmmFile, read
from aidge_export_gk7206.tables import print_table

_SIZES = ("codesize", "worksize", "weightsize", "inputsize", "outputsize")
_DTYPES = {dtype.label: dtype for dtype in DataType}


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads a model and checks it.

    :param path: The file.
    :type path: str | os.PathLike[str]
    :return: What ``inspect --json`` prints; only what JSON can hold.
    :rtype: dict[str, Any]
    :raises XmmError: It is no such file, or contradicts itself.
    :raises ExportError: It cannot be read.
    """
    return description(read(path), os.fspath(path))


def description(model: XmmFile, name: str) -> dict[str, Any]:
    """As :func:`describe`, of a model that is read already.

    :param model: The model.
    :type model: XmmFile
    :param name: What to call the file.
    :type name: str
    :return: What ``inspect --json`` prints.
    :rtype: dict[str, Any]
    :raises ExportError: The file cannot be read any more.
    """
    return {
        "file": name,
        "size": model.size,
        "compiler": model.compiler,
        "worksize": model.worksize,
        "weightsize": model.weightsize,
        "codesize": model.codesize,
        "inputsize": model.inputsize,
        "outputsize": model.outputsize,
        "memory_reuse_type": model.memory_reuse_type,
        "private_data_size": model.private_data_size,
        "inputs": [_tensor(tensor) for tensor in model.inputs],
        "outputs": [_tensor(tensor) for tensor in model.outputs],
        "nodes": [
            {"name": node.name, "device": node.device, "inputs": list(node.inputs), "outputs": list(node.outputs)}
            for node in model.nodes
        ],
        "warnings": warnings(model),
    }


def _tensor(tensor: Tensor) -> dict[str, Any]:
    return {
        "id": tensor.id,
        "name": tensor.name,
        "dims": list(tensor.dims),
        "pitches": list(tensor.pitches),
        "dtype": tensor.dtype.label,
        "scale": tensor.scale if math.isfinite(tensor.scale) else None,  # JSON has no such numbers
        "zero_point": tensor.zero_point,
        "size": tensor.size,
        "offset": tensor.offset,
    }


def print_tables(told: dict[str, Any]) -> None:
    """Prints what a person wants to know.

    :param told: From :func:`describe`.
    :type told: dict[str, Any]
    """
    print(f"{_clean(told['file'])}: {told['size']:,} bytes")
    print(f"compiler          {_clean(told['compiler']) or 'not named'}")
    print(f"memory reuse      type {told['memory_reuse_type']}: {_reuse(told['memory_reuse_type'])}")
    print(f"private data      {told['private_data_size']:,} bytes\n")
    _print_memory(told)
    for direction in ("inputs", "outputs"):
        print()
        _print_tensors(direction.removesuffix("s"), told[direction])
    print()
    _print_operators(told["nodes"])
    if told["warnings"]:
        print("\nwarnings:")
        for warning in told["warnings"]:
            print(f"  {_clean(warning)}")


def _print_memory(told: dict[str, Any]) -> None:
    sizes = [told[size] for size in _SIZES]
    code, work, weights, inputs, outputs = sizes
    regions = mmz_regions(code, work, weights, inputs, outputs, told["memory_reuse_type"])
    rows = [
        (name, f"{size:,}", f"{taken:,}" if taken or not size else "in the workspace")
        for (name, taken), size in zip(regions.items(), sizes, strict=True)
    ]
    total = sum(regions.values())
    rows.append(("all", f"{sum(sizes):,}", f"{total:,}"))
    print_table(("memory", "bytes", "MMZ"), rows, right=("bytes", "MMZ"))
    for board, available in MMZ_BYTES.items():
        verdict = "fits" if total <= available else "DOES NOT FIT"
        print(f"{board} has {available >> 20} MB of MMZ: {total / available:.1%} of it, {verdict}")


def _print_tensors(direction: str, tensors: Sequence[dict[str, Any]]) -> None:
    head = (direction, "name", "dims", "pitches", "type", "scale", "zero point", "values", "bytes", "offset")
    rows = []
    for tensor in tensors:
        scale = tensor["scale"]
        rows.append(
            (
                str(tensor["id"]),
                _clean(tensor["name"] or "-"),
                "x".join(map(str, tensor["dims"])) or "none",
                " ".join(map(str, tensor["pitches"])),
                tensor["dtype"],
                "not finite" if scale is None else f"{scale:.9g}",
                str(tensor["zero_point"]),
                _values(tensor),
                f"{tensor['size']:,}",
                f"{tensor['offset']:,}",
            )
        )
    print_table(head, rows, right=("bytes", "offset"))


def _values(tensor: dict[str, Any]) -> str:
    """The real values that the stored ones can stand for."""
    dtype = _DTYPES.get(tensor["dtype"])
    limits = None if dtype is None else dtype.limits
    if limits is None or tensor["scale"] is None:
        return "-"
    least, most = ((limit - tensor["zero_point"]) * tensor["scale"] for limit in limits)
    return f"{least:.4g} to {most:.4g}"


def _print_operators(nodes: Sequence[dict[str, Any]]) -> None:
    kinds = Counter((_kind(node["name"]), node["device"]) for node in nodes)
    rows = [(_clean(kind), device, str(count)) for (kind, device), count in kinds.most_common()]
    print_table(("operators", "device", "count"), rows, right=("count",))


def _kind(name: str) -> str:
    """What a node does: the compiler's names are ``tvmgen_default_fused_<operators>_<n>``."""
    return re.sub(r"_\d+$", "", name.removeprefix("tvmgen_default_fused_"))


def _reuse(kind: int) -> str:
    texts = (
        "inputs and outputs are the program's",
        "the inputs live in the workspace",
        "the outputs live in the workspace",
        "inputs and outputs live in the workspace",
    )
    return texts[kind] if kind < len(texts) else "unknown"


def _clean(text: str) -> str:
    """Without what could steer a terminal: the text is the file's."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
