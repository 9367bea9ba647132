# SPDX-License-Identifier: EPL-2.0
"""Writes ``.xmm`` files: reference models for the simulator, and models for tests.

The container is the compiler's; the programs are whatever the caller gives, so no NPU can run what this writes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from aidge_export_gk7206.npu.flat_builder import FlatBuilder, Value
from aidge_export_gk7206.npu.layout import (
    DEVICES,
    HEADER,
    HEADER_BYTES,
    MAGIC,
    MAX_DIMS,
    MODEL_TYPE_HIGH,
    REGIONS,
    SIMULATOR_ONLY,
    DataType,
    Info,
    NodeField,
    ProgramField,
    Root,
    Shape,
    SubGraphField,
    TensorField,
    round_up,
)

#: The compiler's files keep programs and constants in steps of it.
_BLOCK = 16
#: Field slots of each table, as the compiler's files have them.
_SLOTS = {"root": 19, "info": 4, "tensor": 12, "shape": 4, "program": 7, "node": 6, "subgraph": 4}


@dataclass
class TensorSpec:
    """A tensor to write; see :class:`aidge_export_gk7206.npu.model.Tensor`.

    :ivar pitches: Bytes from one index to the next; dense when None.
    :ivar data: Bytes of a constant.
    :ivar size: From dims and pitches when None; a constant's is always that of its data in steps of 16.
    :ivar offset: In its region; behind the tensor before when None. Constants follow each other.
    """

    dims: Sequence[int]
    region: str
    dtype: int = DataType.UINT8
    pitches: Sequence[int] | None = None
    scale: float = 1.0
    zero_point: int = 0
    name: str = ""
    data: bytes = b""
    size: int | None = None
    offset: int | None = None
    compression: int = 0


@dataclass
class ProgramSpec:
    """Code to write, for the NPU or for the CPU."""

    name: str
    data: bytes


@dataclass
class NodeSpec:
    """An operator to write; inputs and outputs are places in the list of tensors."""

    name: str
    inputs: Sequence[int] = ()
    outputs: Sequence[int] = ()
    device: str = "NPU"


@dataclass
class SubGraphSpec:
    """Nodes in the order in which they run, by their places."""

    nodes: Sequence[int]
    device: str = "NPU"


@dataclass
class XmmSpec:
    """A file to write.

    :ivar inputs: Places in the list of tensors; by default all tensors of the region.
    :ivar outputs: As inputs.
    :ivar subgraphs: By default one, of all nodes.
    :ivar private_data: Filled up with zeros to a multiple of 4 bytes.
    """

    tensors: Sequence[TensorSpec] = ()
    inputs: Sequence[int] | None = None
    outputs: Sequence[int] | None = None
    nodes: Sequence[NodeSpec] = ()
    programs: Sequence[ProgramSpec] = field(default_factory=lambda: [ProgramSpec("placeholder", bytes(_BLOCK))])
    cpu_programs: Sequence[ProgramSpec] = ()
    subgraphs: Sequence[SubGraphSpec] | None = None
    compiler: str = SIMULATOR_ONLY
    file_name: str = "neuron_network.xmm"
    model_type: int = MODEL_TYPE_HIGH
    memory_reuse_type: int = 0
    data_formats: Sequence[int] = (0, 0)
    private_data: bytes = b""


@dataclass
class _Placed:
    """A tensor with everything that depends on the others."""

    spec: TensorSpec
    pitches: Sequence[int]
    size: int
    offset: int
    file_offset: int = 0
    crc: int = 0


def write_xmm(spec: XmmSpec) -> bytes:
    """Makes a file. The same description gives the same bytes.

    :param spec: What it is to hold.
    :type spec: XmmSpec
    :return: Its bytes; all sizes, offsets and checksums are right.
    :rtype: bytes
    :raises ValueError: No such file can be written.
    """
    codes = [_blocks(program.data) for program in spec.programs]
    cpu_codes = [_blocks(program.data) for program in spec.cpu_programs]
    constants = [_blocks(tensor.data) for tensor in spec.tensors if tensor.region == "constant"]
    placed = _place(spec.tensors, HEADER_BYTES + sum(map(len, codes)))
    body = b"".join((*codes, *constants, *cpu_codes))
    cpu_start = HEADER_BYTES + len(body) - sum(map(len, cpu_codes))
    build = FlatBuilder()
    root = _root(build, spec, placed)
    root[Root.PROGRAMS] = build.tables(_programs(build, spec.programs, codes, HEADER_BYTES, _load_address(placed)))
    root[Root.CPU_PROGRAMS] = build.tables(_programs(build, spec.cpu_programs, cpu_codes, cpu_start, 0))
    description = build.finish(build.table(_SLOTS["root"], root))
    lengths = struct.pack("<2I", HEADER_BYTES + len(body), len(description))
    header = struct.pack(HEADER, MAGIC, zlib.crc32(lengths), *struct.unpack("<2I", lengths))
    return header + body + description


# ---- where things are ------------------------------------------------------------------------------------------------


def _blocks(data: bytes) -> bytes:
    return data + bytes(-len(data) % _BLOCK)


def dense_pitches(dims: Sequence[int], dtype: int) -> list[int]:
    """Pitches of a tensor without gaps.

    :param dims: Sizes, outermost first.
    :type dims: Sequence[int]
    :param dtype: Element type; one whose elements are not whole bytes has no pitches.
    :type dtype: int
    :return: Bytes from one index to the next, by dimension.
    :rtype: list[int]
    :raises ValueError: There are none.
    """
    element = DataType(dtype).element_bytes
    if element is None or element != int(element):
        raise ValueError(f"elements of {DataType(dtype).label} have no pitch of their own: give the pitches")
    pitches = [int(element)]
    for dim in reversed(dims[1:]):
        pitches.insert(0, pitches[0] * dim)
    return pitches[: len(dims)]


def _place(tensors: Sequence[TensorSpec], constants_start: int) -> list[_Placed]:
    ends = dict.fromkeys(REGIONS, 0)
    placed = []
    for tensor in tensors:
        if tensor.region not in ends:
            raise ValueError(f"'{tensor.region}' is none of the regions {', '.join(REGIONS)}")
        pitches = dense_pitches(tensor.dims, tensor.dtype) if tensor.pitches is None else tensor.pitches
        if len(pitches) != len(tensor.dims) or len(pitches) > MAX_DIMS:
            raise ValueError(f"{len(tensor.dims)} dimensions with {len(pitches)} pitches: at most {MAX_DIMS}, as many")
        if tensor.region == "constant":
            data = _blocks(tensor.data)
            offset = ends["constant"]
            item = _Placed(tensor, pitches, len(data), offset, constants_start + offset, zlib.crc32(data))
        else:
            size = tensor.size
            if size is None:
                size = tensor.dims[0] * pitches[0] if tensor.dims else int(DataType(tensor.dtype).element_bytes or 0)
            item = _Placed(tensor, pitches, size, ends[tensor.region] if tensor.offset is None else tensor.offset)
        ends[tensor.region] = round_up(max(ends[tensor.region], item.offset + item.size), 8)
        placed.append(item)
    return placed


def _load_address(placed: Sequence[_Placed]) -> int:
    ends = dict.fromkeys(REGIONS, 0)
    for item in placed:
        ends[item.spec.region] = max(ends[item.spec.region], item.offset + item.size)
    return sum(round_up(end, _BLOCK) for end in ends.values())


# ---- the description -------------------------------------------------------------------------------------------------


def _root(build: FlatBuilder, spec: XmmSpec, placed: Sequence[_Placed]) -> dict[int, Value]:
    def of_region(given: Sequence[int] | None, region: str) -> Sequence[int]:
        return [i for i, tensor in enumerate(spec.tensors) if tensor.region == region] if given is None else given

    subgraphs = [SubGraphSpec(range(len(spec.nodes)))] if spec.subgraphs is None else spec.subgraphs
    info: dict[int, Value] = {
        Info.FILE_NAME: build.text(spec.file_name),
        Info.COMPILER: build.text(spec.compiler),
        Info.MODEL_TYPE: build.u32(spec.model_type),
    }
    private = spec.private_data + bytes(-len(spec.private_data) % 4)
    return {
        Root.INFO: build.table(_SLOTS["info"], info),
        Root.INPUTS: build.numbers(of_region(spec.inputs, "input")),
        Root.OUTPUTS: build.numbers(of_region(spec.outputs, "output")),
        Root.TENSORS: build.tables([_tensor(build, index, item) for index, item in enumerate(placed)]),
        Root.NODES: build.tables([_node(build, index, node) for index, node in enumerate(spec.nodes)]),
        Root.SUBGRAPHS: build.tables(
            [
                build.table(
                    _SLOTS["subgraph"],
                    {
                        SubGraphField.DEVICE: build.u8(DEVICES.index(subgraph.device)),
                        SubGraphField.NODES: build.numbers(subgraph.nodes),
                    },
                )
                for subgraph in subgraphs
            ]
        ),
        Root.DATA_FORMATS: build.numbers(spec.data_formats),
        Root.REUSE_TYPE: build.u32(spec.memory_reuse_type),
        Root.PRIVATE_DATA: build.numbers(struct.unpack(f"<{len(private) // 4}I", private)),
    }


def _tensor(build: FlatBuilder, index: int, item: _Placed) -> Value:
    rest = [0] * (MAX_DIMS - len(item.pitches))
    shape: dict[int, Value] = {
        Shape.DIMS: build.numbers([*item.spec.dims, *rest]),
        Shape.PITCHES: build.numbers([*item.pitches, *rest]),
        Shape.DTYPE: build.u8(item.spec.dtype),
        Shape.RANK: build.u32(len(item.pitches)),
    }
    fields: dict[int, Value] = {
        TensorField.ID: build.u32(index),
        TensorField.OFFSET: build.u32(item.offset),
        TensorField.REGION: build.u8(REGIONS.index(item.spec.region)),
        TensorField.SHAPE: build.table(_SLOTS["shape"], shape),
        TensorField.SCALE: build.f32(item.spec.scale),
        TensorField.ZERO_POINT: build.i32(item.spec.zero_point),
        TensorField.SIZE: build.u32(item.size),
        TensorField.FILE_OFFSET: build.u32(item.file_offset),
        TensorField.CRC: build.u32(item.crc),
        TensorField.COMPRESSION: build.u32(item.spec.compression),
        TensorField.NAME: build.text(item.spec.name),
    }
    return build.table(_SLOTS["tensor"], fields)


def _node(build: FlatBuilder, index: int, node: NodeSpec) -> Value:
    fields: dict[int, Value] = {
        NodeField.NAME: build.text(node.name),
        NodeField.INDEX: build.u32(index),
        NodeField.INDEX_AGAIN: build.u32(index),
        NodeField.DEVICE: build.u8(DEVICES.index(node.device)),
        NodeField.INPUTS: build.numbers(node.inputs),
        NodeField.OUTPUTS: build.numbers(node.outputs),
    }
    return build.table(_SLOTS["node"], fields)


def _programs(
    build: FlatBuilder, programs: Sequence[ProgramSpec], codes: Sequence[bytes], start: int, load_address: int
) -> list[Value]:
    tables = []
    for program, code in zip(programs, codes, strict=True):
        fields: dict[int, Value] = {
            ProgramField.NAME: build.text(program.name),
            ProgramField.SIZE: build.u32(len(code)),
            ProgramField.FILE_OFFSET: build.u32(start),
            ProgramField.CRC: build.u32(zlib.crc32(code)),
            ProgramField.LOAD_ADDRESS: build.u32(load_address),
        }
        tables.append(build.table(_SLOTS["program"], fields))
        start += len(code)
    return tables
