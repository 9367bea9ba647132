# SPDX-License-Identifier: EPL-2.0
"""``.xmm`` files for tests: real ones that lie beside the checkout, made ones, and ways to break them."""

from __future__ import annotations

import enum
import os
import struct
import zlib
from pathlib import Path

from aidge_export_gk7206.npu.flat import Buffer, Table
from aidge_export_gk7206.npu.layout import DataType
from aidge_export_gk7206.npu.writer import NodeSpec, ProgramSpec, SubGraphSpec, TensorSpec, XmmSpec
from support.missing import optional

ROOT = Path(__file__).resolve().parents[2]


def shared_data(name: str) -> Path:
    """A file of AIDGE_GK7206_TEST_DATA, else of ``../shared/data`` beside the checkout."""
    given = os.environ.get("AIDGE_GK7206_TEST_DATA")
    folder = Path(given) if given else ROOT.parent / "shared" / "data"
    if not (folder / name).is_file():
        optional(f"needs {name} in {folder}: set AIDGE_GK7206_TEST_DATA to the folder that holds it")
    return folder / name


def sample() -> XmmSpec:
    """A small model that uses every field, none with a value that is left out."""
    return XmmSpec(
        tensors=[
            TensorSpec((1, 3, 5), "input", DataType.INT8, scale=0.5, zero_point=7, name="first"),
            TensorSpec((1, 4, 6, 3), "input", pitches=(96, 24, 4, 1), scale=0.25, zero_point=3, name="image"),
            TensorSpec((10,), "constant", DataType.INT8, data=bytes(range(1, 31))),
            TensorSpec((1, 64), "workspace", DataType.INT16, scale=2.0, name="hidden_workspace"),
            TensorSpec((1, 10), "output", scale=0.125, zero_point=255, name="scores"),
            TensorSpec((2, 3), "output", DataType.FP32, name="boxes"),
            TensorSpec((4,), "constant", DataType.INT32, data=bytes(range(16)), compression=1),
        ],
        inputs=(1, 0),
        nodes=[
            NodeSpec("tvmgen_default_fused_transpose", (0, 1), (3,)),
            NodeSpec("tvmgen_default_fused_xm_conv2d_xm_lut_3", (3, 2), (4,)),
            NodeSpec("tvmgen_default_fused_reshape", (3, 6), (5,), device="CPU"),
        ],
        programs=[ProgramSpec("start", b"\x73\x11\x41\xf4" * 12), ProgramSpec("end", b"\x01" * 30)],
        cpu_programs=[ProgramSpec("library", b"\x7fELF" + bytes(40))],
        subgraphs=[SubGraphSpec((1, 0)), SubGraphSpec((2,), device="CPU")],
        compiler="b581eee4c  Dec 15 2025",
        memory_reuse_type=3,
        data_formats=(5, 6),
        private_data=b"classes: cat, dog",
    )


def with_header(body: bytes, description: bytes) -> bytes:
    """A file of a right header and any parts."""
    lengths = struct.pack("<2I", 16 + len(body), len(description))
    return struct.pack("<2I", 0x5A5A5A5A, zlib.crc32(lengths)) + lengths + body + description


def field_at(data: bytes, *path: int) -> int:
    """Where in a file a field is; the path is of fields, and after a vector's field of a place in it."""
    start, size = struct.unpack_from("<2I", data, 8)
    table: Table = Buffer(data[start : start + size], start).root()
    steps = list(path)
    while len(steps) > 1:
        field = steps.pop(0)
        if isinstance(steps[0], enum.Enum):
            below = table.table(field)
            assert below is not None
            table = below
        else:
            table = list(table.tables(field))[steps.pop(0)]
    offset = table.Offset(4 + 2 * steps[0])
    assert offset, f"field {steps[0]} is not written"
    return start + int(table.Pos) + offset


def vector_at(data: bytes, *path: int) -> int:
    """Where in a file a vector or string is: its length."""
    position = field_at(data, *path)
    return position + int(struct.unpack_from("<I", data, position)[0])


def patched(data: bytes, position: int, form: str, *values: float) -> bytes:
    """A file with other bytes somewhere."""
    changed = bytearray(data)
    struct.pack_into(form, changed, position, *values)
    return bytes(changed)
