# SPDX-License-Identifier: EPL-2.0
"""Reads ``.xmm`` files: models compiled for the NPU. docs/xmm-format.md describes them.

A file is a header of 16 bytes, the NPU's programs, the constants, and a FlatBuffer that describes it all.
"""

from __future__ import annotations

import os
import struct
import zlib

from flatbuffers import number_types as types

from aidge_export_gk7206.npu.flat import Buffer, Table, XmmError
from aidge_export_gk7206.npu.layout import (
    DEVICES,
    HEADER,
    HEADER_BYTES,
    MAGIC,
    MAX_DIMS,
    REGIONS,
    DataType,
    Info,
    NodeField,
    ProgramField,
    Root,
    Shape,
    SubGraphField,
    TensorField,
)
from aidge_export_gk7206.npu.model import Node, Program, SubGraph, Tensor, XmmFile
from aidge_export_gk7206.npu.source import Source, read_part

#: Descriptions are a few hundred kilobytes; a larger one is not read.
MAX_DESCRIPTION_BYTES = 16 << 20
#: Models of older chips have a longer header, the magic number further on in it.
_OLD_HEADER_BYTES = 128


def read(source: str | os.PathLike[str] | bytes, *, verify: bool = False) -> XmmFile:
    """Reads a model.

    :param source: Path of the file, or its bytes. ``.bin`` files of the SVP layer are the same container.
    :type source: str | os.PathLike[str] | bytes
    :param verify: Also check programs and constants against their checksums; :meth:`XmmFile.crc_problems` lists all
        that are wrong.
    :type verify: bool
    :return: What the file holds.
    :rtype: XmmFile
    :raises XmmError: It is no such file, or contradicts itself.
    :raises ExportError: It cannot be read.
    """
    origin = Source(source)
    try:
        model = _read(origin)
        for problem in model.crc_problems() if verify else ():
            raise problem
    except XmmError as error:
        raise error.of(origin.name) if origin.name else error from None
    return model


def _read(source: Source) -> XmmFile:
    head = source.read(0, _OLD_HEADER_BYTES + 4)
    if len(head) < HEADER_BYTES:
        raise XmmError(0, f"a header of {HEADER_BYTES} bytes", f"{len(head)} bytes", code=-65)
    magic, crc, start, size = struct.unpack_from(HEADER, head)
    if magic != MAGIC:
        older = head.find(struct.pack("<I", MAGIC), 1)
        if older > 0 and older % 4 == 0:
            raise XmmError(
                0,
                f"the magic number {MAGIC:#010x}",
                f"it at byte {older}, as in models of older chips",
                "compile the model for the GK7206",
                code=-64,
            )
        raise XmmError(0, f"the magic number {MAGIC:#010x} of an .xmm file", f"{magic:#010x}", code=-64)
    wanted = zlib.crc32(head[8:HEADER_BYTES])
    if crc != wanted:
        raise XmmError(4, f"the header's checksum {wanted:#010x}", f"{crc:#010x}", code=-64)
    if start < HEADER_BYTES:
        raise XmmError(8, "a description behind the header", f"one at byte {start}")
    if size > MAX_DESCRIPTION_BYTES:
        raise XmmError(12, f"a description of at most {MAX_DESCRIPTION_BYTES} bytes", f"{size} bytes")
    description = read_part(source, start, size, "a description")
    return _model(Buffer(description, start).root(), source, start + size)


def _model(root: Table, source: Source, described: int) -> XmmFile:
    info = root.table(Root.INFO)
    tensors = tuple(_tensor(table, index) for index, table in enumerate(root.tables(Root.TENSORS)))
    return XmmFile(
        size=source.size,
        file_name="" if info is None else info.text(Info.FILE_NAME),
        compiler="" if info is None else info.text(Info.COMPILER),
        model_type=0 if info is None else info.number(Info.MODEL_TYPE),
        tensors=tensors,
        inputs=_chosen(root, Root.INPUTS, tensors),
        outputs=_chosen(root, Root.OUTPUTS, tensors),
        nodes=tuple(map(_node, root.tables(Root.NODES))),
        programs=tuple(_program(table, source.size) for table in root.tables(Root.PROGRAMS)),
        cpu_programs=tuple(_program(table, source.size) for table in root.tables(Root.CPU_PROGRAMS)),
        subgraphs=tuple(map(_subgraph, root.tables(Root.SUBGRAPHS))),
        data_formats=root.numbers(Root.DATA_FORMATS),
        memory_reuse_type=root.number(Root.REUSE_TYPE),
        private_data=root.words(Root.PRIVATE_DATA),
        described_bytes=described,
        source=source,
    )


def _tensor(table: Table, index: int) -> Tensor:
    region = table.number(TensorField.REGION, types.Int8Flags)
    if not 0 <= region < len(REGIONS):
        raise XmmError(table.where, f"a region from 0 to {len(REGIONS) - 1} of tensor {index}", f"{region}")
    dims: tuple[int, ...] = ()
    pitches: tuple[int, ...] = ()
    dtype = DataType.INT8
    shape = table.table(TensorField.SHAPE)
    if shape is not None:
        rank = shape.number(Shape.RANK)
        # The runtime copies all that is stored into arrays of MAX_DIMS.
        lengths = shape.length(Shape.DIMS), shape.length(Shape.PITCHES)
        if rank > MAX_DIMS or max(lengths) > MAX_DIMS or rank > min(lengths):
            found = f"{rank}, with {lengths[0]} sizes and {lengths[1]} pitches"
            raise XmmError(shape.where, f"at most {MAX_DIMS} dimensions of tensor {index}", found)
        # Beyond the rank the compiler leaves whatever was in memory.
        dims, pitches = shape.numbers(Shape.DIMS, rank), shape.numbers(Shape.PITCHES, rank)
        dtype = DataType(shape.number(Shape.DTYPE, types.Uint8Flags))
    return Tensor(
        id=index,
        name=table.text(TensorField.NAME) or None,
        dims=dims,
        pitches=pitches,
        dtype=dtype,
        scale=float(table.number(TensorField.SCALE, types.Float32Flags)),
        zero_point=table.number(TensorField.ZERO_POINT, types.Int32Flags),
        size=table.number(TensorField.SIZE),
        offset=table.number(TensorField.OFFSET),
        region=REGIONS[region],
        file_offset=table.number(TensorField.FILE_OFFSET),
        crc=table.number(TensorField.CRC),
        compression=table.number(TensorField.COMPRESSION),
        stored_id=table.number(TensorField.ID),
    )


def _chosen(root: Table, field: Root, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    numbers, what = root.numbers(field), field.name.lower()
    if len(numbers) > len(tensors):
        raise XmmError(root.where, f"no more {what} than the {len(tensors)} tensors", f"{len(numbers)}")
    for number in numbers:
        if number >= len(tensors):
            # The runtime ends the program when it loads this.
            raise XmmError(root.where, f"{what} below the number of tensors, {len(tensors)}", f"{number}")
    return tuple(tensors[number] for number in numbers)


def _program(table: Table, file_size: int) -> Program:
    program = Program(
        name=table.text(ProgramField.NAME),
        size=table.number(ProgramField.SIZE),
        file_offset=table.number(ProgramField.FILE_OFFSET),
        crc=table.number(ProgramField.CRC),
        load_address=table.number(ProgramField.LOAD_ADDRESS),
    )
    if program.file_offset + program.size > file_size:
        found = f"{program.size} bytes at byte {program.file_offset}"
        raise XmmError(table.where, f"a program inside the file of {file_size} bytes", found)
    return program


def _node(table: Table) -> Node:
    return Node(
        name=table.text(NodeField.NAME),
        index=table.number(NodeField.INDEX),
        device=_device(table.number(NodeField.DEVICE, types.Uint8Flags)),
        inputs=table.numbers(NodeField.INPUTS),
        outputs=table.numbers(NodeField.OUTPUTS),
    )


def _subgraph(table: Table) -> SubGraph:
    return SubGraph(_device(table.number(SubGraphField.DEVICE, types.Uint8Flags)), table.numbers(SubGraphField.NODES))


def _device(number: int) -> str:
    return DEVICES[number] if number < len(DEVICES) else f"device {number}"


__all__ = ["DataType", "Node", "Program", "SubGraph", "Tensor", "XmmError", "XmmFile", "read"]
