# SPDX-License-Identifier: EPL-2.0
"""What is worth knowing about a model before a board runs it: what the runtime refuses, and what it does not notice."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.npu.layout import (
    CODES,
    HEADER_BYTES,
    MAX_REUSE_TYPE,
    MMZ_BYTES,
    MODEL_TYPE_HIGH,
    SIMULATOR_ONLY,
    round_up,
)
from aidge_export_gk7206.npu.model import Tensor, XmmFile
from aidge_export_gk7206.npu.xmm import read

#: Warnings of one kind that are told one by one.
_MOST = 4
_MODEL_TYPES = {1: "low", 2: "normal"}


def warnings(model: XmmFile) -> list[str]:
    """Checks a model, checksums included.

    :param model: The model.
    :type model: XmmFile
    :return: What is odd, a line each; what the runtime refuses comes first.
    :rtype: list[str]
    :raises ExportError: The file cannot be read any more.
    """
    checks = (_refused, _contents, _references, _constants, _memory)
    found = [warning for check in checks for warning in _shortened(check(model))]
    for tensors, what in ((model.inputs, "input"), (model.outputs, "output")):
        found += _shortened(_packing(tensors, what))
        found += _shortened(warning for tensor in tensors for warning in _tensor(tensor, what))
    return found


def read_usable(path: Path) -> XmmFile:
    """Reads a model that is to be exported, checksums included.

    :param path: The file.
    :raises ExportError: It cannot be read; or no program could run it, since the runtime refuses it or its tensors
        cannot be converted: then it says all that is wrong.
    """
    model = read(path, verify=True)
    found = [*_refused(model), *_unusable(model)]
    if found:
        raise ExportError("; ".join(_shortened(found)), "compile the model again, aidge-gk7206 inspect shows more")
    return model


def _unusable(model: XmmFile) -> Iterator[str]:
    for tensors, what in ((model.inputs, "input"), (model.outputs, "output")):
        if not tensors:
            yield f"the model has no {what}s"
        yield from _packing(tensors, what)
        for tensor in tensors:
            name = f"{what} {tensor.id}"
            element = tensor.dtype.element_bytes
            if not tensor.dtype.has_numpy or element is None:
                yield f"{name} is {tensor.dtype.label}, which cannot be converted"
                continue
            if not (math.isfinite(tensor.scale) and tensor.scale > 0):
                yield f"{name} has the scale {tensor.scale}"
            if not tensor.dims or 0 in tensor.dims:
                yield f"{name} has no values: its dims are {list(tensor.dims)}"
                continue
            spans = ((dim - 1) * pitch for dim, pitch in zip(tensor.dims, tensor.pitches, strict=True))
            extent = max(sum(spans) + int(element), math.prod(tensor.dims) * int(element))
            if extent > tensor.size:
                yield f"{name} takes at least {extent} bytes, the file gives it {tensor.size}"
            if any(pitch % int(element) for pitch in tensor.pitches) or tensor.pitches[-1] != element:
                yield f"{name} has pitches {_list(tensor.pitches)} for elements of {int(element)} bytes"


def _shortened(found: Iterable[str]) -> list[str]:
    """The first ones, and how many more: a broken file must not fill the screen."""
    rest = iter(found)
    lines = list(islice(rest, _MOST))
    more = sum(1 for _ in rest)
    return [*lines, f"{more} more like these"] if more else lines


def _refused(model: XmmFile) -> Iterator[str]:
    if model.model_type not in (0, MODEL_TYPE_HIGH):
        kind = _MODEL_TYPES.get(model.model_type, "unknown")
        yield _refusal(-68, f"the model type is {model.model_type} ({kind}), this NPU's is {MODEL_TYPE_HIGH}")
    if model.memory_reuse_type > MAX_REUSE_TYPE:
        yield _refusal(-30, f"the memory reuse type is {model.memory_reuse_type}, there are 0 to {MAX_REUSE_TYPE}")
    for problem in model.crc_problems():
        yield _refusal(-64, f"at byte {problem.offset} should be {problem.expected}, there is {problem.found}")


def _refusal(code: int, reason: str) -> str:
    return f"the runtime will refuse this with {code} ({CODES[code]}): {reason}"


def _contents(model: XmmFile) -> Iterator[str]:
    if model.compiler.startswith(SIMULATOR_ONLY):
        yield "a model for the simulator only: no NPU can run it"
    if model.cpu_programs:
        size = sum(program.size for program in model.cpu_programs)
        yield f"the file holds native CPU programs, {size} bytes that the runtime would run: trust its source first"
    if any(node.device == "CPU" for node in model.nodes):
        yield "some operators run on the CPU"
    if model.trailing_bytes > 0:
        yield f"{model.trailing_bytes} trailing bytes, which the runtime ignores"
    for what, parts in (("inputs", model.inputs), ("outputs", model.outputs), ("program", model.programs)):
        if not parts:
            yield f"the model has no {what}"


def _references(model: XmmFile) -> Iterator[str]:
    for tensor in (*model.inputs, *model.outputs):
        if tensor.stored_id != tensor.id:
            yield f"tensor {tensor.id} is called {tensor.stored_id} in the file; the runtime reports {tensor.id}"
    count = len(model.tensors)
    if any(number >= count for node in model.nodes for number in (*node.inputs, *node.outputs)):
        yield f"operators name tensors that are not there: the file has {count}"
    if any(number >= len(model.nodes) for graph in model.subgraphs for number in graph.nodes):
        yield f"sub-graphs name operators that are not there: the file has {len(model.nodes)}"


def _constants(model: XmmFile) -> Iterator[str]:
    for tensor in model.tensors:
        if tensor.region != "constant":
            continue
        if tensor.compression:
            yield f"the constant {tensor.id} is compressed, which nothing here can read"
        expected = HEADER_BYTES + model.codesize + tensor.offset
        if tensor.file_offset != expected:
            yield f"the constant {tensor.id} is at byte {tensor.file_offset} of the file, by its region at {expected}"


def _memory(model: XmmFile) -> Iterator[str]:
    total = sum(model.mmz().values())
    for board, size in MMZ_BYTES.items():
        if total > size:
            yield f"needs {total / 2**20:.1f} MB of MMZ, {board} has {size >> 20} MB"


def _packing(tensors: tuple[Tensor, ...], what: str) -> Iterator[str]:
    end = 0
    for tensor in tensors:
        if tensor.region != what:
            yield f"{what} {tensor.id} is in the region '{tensor.region}'"
        elif tensor.offset != end:
            yield f"{what} {tensor.id} is at {tensor.offset} of its region, behind the one before would be {end}"
        end = round_up(tensor.offset + tensor.size, 8)


def _tensor(tensor: Tensor, what: str) -> Iterator[str]:
    name = f"{what} {tensor.id}"
    if not tensor.dtype.known:
        yield f"{name}: no program can handle its element type {tensor.dtype.value}; the runtime passes it on"
    elif not tensor.dtype.has_numpy:
        yield f"{name}: {tensor.dtype.label} has no NumPy type"
    yield from _layout(tensor, name)
    yield from _quantisation(tensor, name, what)


def _layout(tensor: Tensor, name: str) -> Iterator[str]:
    element = tensor.dtype.element_bytes
    if element is None:
        return
    if 0 in tensor.dims or not tensor.dims:
        yield f"{name}: has no elements, or no shape"
        return
    needed = math.ceil(element * math.prod(tensor.dims))
    if element == int(element):
        dense = [int(element)]
        for dim in reversed(tensor.dims[1:]):
            dense.insert(0, dense[0] * dim)
        if any(pitch < least for pitch, least in zip(tensor.pitches, dense, strict=True)):
            yield f"{name}: pitches {_list(tensor.pitches)} overlap, without gaps they are {_list(dense)}"
        elif list(tensor.pitches) != dense:
            yield f"{name}: padded, pitches {_list(tensor.pitches)} where without gaps they are {_list(dense)}"
        spans = ((dim - 1) * pitch for dim, pitch in zip(tensor.dims, tensor.pitches, strict=True))
        needed = max(needed, sum(spans) + int(element))
    if tensor.size < needed:
        yield f"{name}: takes at least {needed} bytes, the file gives it {tensor.size}"


def _quantisation(tensor: Tensor, name: str, what: str) -> Iterator[str]:
    if not math.isfinite(tensor.scale) or tensor.scale <= 0:
        yield f"{name}: the scale {tensor.scale:g} is no positive number"
        return
    limits = tensor.dtype.limits
    if limits is None:
        return
    least, most = limits
    if not least <= tensor.zero_point <= most:
        yield f"{name}: the zero point {tensor.zero_point} is outside of {tensor.dtype.label}"
    elif what == "output" and tensor.zero_point == most:
        yield (
            f"{name}: the zero point {tensor.zero_point} lets no positive value through: "
            "a sigmoid after it never exceeds 0.5"
        )


def _list(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))
