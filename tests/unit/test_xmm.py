# SPDX-License-Identifier: EPL-2.0
"""Reading models for the NPU: sound ones as the runtime reads them, broken ones never otherwise than with XmmError."""

import json
import os
import struct
import time
import tracemalloc
import zlib
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.xmm_files import field_at, patched, sample, shared_data, vector_at, with_header

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.npu.layout import Info, NodeField, ProgramField, Root, Shape, TensorField
from aidge_export_gk7206.npu.writer import NodeSpec, ProgramSpec, TensorSpec, XmmSpec, write_xmm
from aidge_export_gk7206.npu.xmm import DataType, SubGraph, XmmError, XmmFile, read

DATA = write_xmm(sample())
START, SIZE = struct.unpack_from("<2I", DATA, 8)


def refused(data: bytes, *parts: str) -> XmmError:
    """The error that bytes give, the same from a file."""
    with pytest.raises(XmmError) as caught:
        read(data)
    for part in parts:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


# ---- sound files -----------------------------------------------------------------------------------------------------


def test_pnet() -> None:
    """Everything that the runtime reports of a public model."""
    told = json.loads(shared_data("pnet.oracle.json").read_text(encoding="utf-8"))["models"]["pnet"]
    model = read(shared_data("pnet.xmm"), verify=True)
    for key, value in told["query_model_info"].items():
        assert key == "ret" or getattr(model, key) == value, key
    for tensors, expected in ((model.inputs, told["inputs"]), (model.outputs, told["outputs"])):
        for tensor, row in zip(tensors, expected, strict=True):
            assert (tensor.id, tensor.offset, tensor.name) == (row["id"], row["addr"], row["name"])
            assert (len(tensor.dims), list(tensor.dims), list(tensor.pitches)) == (
                row["ndims"],
                row["dims"],
                row["pch"],
            )
            assert (tensor.dtype, tensor.zero_point, tensor.size) == (row["type"], row["zp"], row["size"])
            assert np.float32(tensor.scale) == np.float32(row["scale"])
    assert (model.compiler, model.model_type) == ("b581eee4c  Dec 15 2025", 3)
    assert (len(model.tensors), len(model.nodes), len(model.programs)) == (37, 12, 1)
    assert model.subgraphs == (SubGraph("NPU", tuple(range(12))),)
    assert (model.cpu_programs, model.data_formats, model.trailing_bytes) == ((), (0, 0), 0)
    (program,) = model.programs
    assert (program.name, program.load_address) == ("tvmgen_default_fused_transpose", 70448)
    assert all(t.file_offset == 16 + model.codesize + t.offset for t in model.tensors if t.region == "constant")


def test_every_field() -> None:
    spec = sample()
    model = read(DATA, verify=True)
    assert (model.compiler, model.file_name, model.model_type) == (spec.compiler, "neuron_network.xmm", 3)
    for index, (tensor, wanted) in enumerate(zip(model.tensors, spec.tensors, strict=True)):
        assert (tensor.id, tensor.stored_id, tensor.name) == (index, index, wanted.name or None)
        assert (tensor.dims, tensor.dtype, tensor.region) == (tuple(wanted.dims), wanted.dtype, wanted.region)
        assert (tensor.scale, tensor.zero_point) == (wanted.scale, wanted.zero_point)
        assert tensor.compression == wanted.compression
    assert [tensor.name for tensor in model.inputs] == ["image", "first"]
    assert [tensor.name for tensor in model.outputs] == ["scores", "boxes"]
    assert model.tensors[1].pitches == (96, 24, 4, 1)
    assert model.tensors[5].pitches == (12, 4)
    assert [(t.offset, t.size, t.crc) for t in (model.tensors[2], model.tensors[6])] == [
        (0, 32, zlib.crc32(bytes(range(1, 31)) + bytes(2))),
        (32, 16, zlib.crc32(bytes(range(16)))),
    ]
    assert [(n.name, n.index, n.device, n.inputs, n.outputs) for n in model.nodes] == [
        ("tvmgen_default_fused_transpose", 0, "NPU", (0, 1), (3,)),
        ("tvmgen_default_fused_xm_conv2d_xm_lut_3", 1, "NPU", (3, 2), (4,)),
        ("tvmgen_default_fused_reshape", 2, "CPU", (3, 6), (5,)),
    ]
    assert [(p.name, p.size, p.file_offset) for p in model.programs] == [("start", 48, 16), ("end", 32, 64)]
    assert [(p.name, p.size, p.file_offset) for p in model.cpu_programs] == [("library", 48, 144)]
    assert model.subgraphs == (SubGraph("NPU", (1, 0)), SubGraph("CPU", (2,)))
    assert (model.data_formats, model.memory_reuse_type) == ((5, 6), 3)
    assert (model.private_data, model.private_data_size) == (b"classes: cat, dog\0\0\0", 20)
    assert (model.size, model.trailing_bytes) == (len(DATA), 0)
    # Inputs: 15 bytes, then 96 behind them at 16.
    assert (model.codesize, model.weightsize, model.worksize) == (80, 48, 128)
    assert (model.inputsize, model.outputsize) == (16 + 96, 16 + 24)
    assert model.mmz() == {"code": 4096, "workspace": 4096, "weights": 4096, "inputs": 0, "outputs": 0}


@pytest.mark.parametrize(("reuse", "worksize"), [(0, 8), (1, 80), (2, 120), (3, 120), (4, 8)])
def test_reuse_types(reuse: int, worksize: int) -> None:
    tensors = [TensorSpec((n,), region) for n, region in ((3, "workspace"), (77, "input"), (120, "output"))]
    model = read(write_xmm(XmmSpec(tensors, memory_reuse_type=reuse)))
    assert (model.memory_reuse_type, model.worksize) == (reuse, worksize)
    assert (model.mmz()["inputs"], model.mmz()["outputs"]) == (
        0 if reuse in (1, 3) else 4096,
        0 if reuse in (2, 3) else 4096,
    )


def test_nothing_inside() -> None:
    model = read(write_xmm(XmmSpec(programs=(), subgraphs=(), data_formats=())))
    assert (model.inputs, model.outputs, model.nodes, model.programs, model.subgraphs) == ((), (), (), (), ())
    assert (model.codesize, model.weightsize, model.worksize, model.inputsize, model.outputsize) == (0,) * 5
    bare = flatbuffers.Builder()
    bare.StartObject(0)
    bare.Finish(bare.EndObject())
    model = read(with_header(b"", bytes(bare.Output())))
    assert (model.compiler, model.model_type, model.tensors, model.private_data) == ("", 0, (), b"")


def test_a_path(tmp_path: Path) -> None:
    """Files give what their bytes give, whatever they are called."""
    for name in ("model.xmm", "gnn_rgb888hwc.bin"):
        (tmp_path / name).write_bytes(DATA)
        assert read(tmp_path / name, verify=True) == read(str(tmp_path / name)) == read(DATA)


def test_only_the_description_is_read(tmp_path: Path) -> None:
    hole = 1 << 30
    lengths = struct.pack("<2I", hole, SIZE)
    path = tmp_path / "large.xmm"
    with path.open("wb") as file:
        file.write(struct.pack("<2I", 0x5A5A5A5A, zlib.crc32(lengths)) + lengths)
        file.seek(hole)
        file.write(DATA[START:])
    tracemalloc.start()
    assert read(path).size == hole + SIZE
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_a_large_model_is_read_quickly(tmp_path: Path) -> None:
    """4 MB, 400 tensors, 60 nodes."""
    constants = [TensorSpec((64, 3, 3, 3), "constant", 0, data=bytes(16000)) for _ in range(200)]
    others = [TensorSpec((1, 64, 40, 40), "workspace") for _ in range(198)]
    ends = [TensorSpec((1, 640, 640, 3), "input"), TensorSpec((1, 64, 80, 80), "output")]
    nodes = [NodeSpec(f"tvmgen_default_fused_xm_conv2d_{i}", range(i, i + 7), (i + 200,)) for i in range(60)]
    data = write_xmm(XmmSpec([*ends, *constants, *others], nodes=nodes, programs=[ProgramSpec("a", bytes(900_000))]))
    assert len(data) > 4_000_000
    (tmp_path / "m.xmm").write_bytes(data)
    times = []
    for _ in range(5):
        before = time.process_time()
        read(tmp_path / "m.xmm", verify=True)
        times.append(time.process_time() - before)
    assert min(times) < 0.05


def test_what_is_behind_the_rank_is_not_read() -> None:
    """There the compiler leaves whatever was in memory."""
    data = DATA
    for field in (Shape.DIMS, Shape.PITCHES):
        vector = vector_at(data, Root.TENSORS, 4, TensorField.SHAPE, field)
        data = patched(data, vector + 4 + 2 * 4, "<6I", *[0xDEADBEEF] * 6)
    assert read(data) == read(DATA)


def test_element_types() -> None:
    numpy = {0: "int8", 1: "uint8", 2: "int16", 3: "uint16", 4: "float16", 5: "int32", 6: "float32"}
    for dtype in DataType:
        assert dtype.known
        if dtype in numpy:
            assert dtype.numpy == np.dtype(numpy[dtype])
            assert dtype.element_bytes == dtype.numpy.itemsize
            info = np.iinfo(dtype.numpy) if dtype.numpy.kind in "iu" else None
            assert dtype.limits == (info and (info.min, info.max))
        else:
            with pytest.raises(ExportError, match=f"{dtype.label} has no NumPy type"):
                _ = dtype.numpy
    assert [DataType(value).element_bytes for value in (7, 8, 9)] == [1, 1.5, None]
    assert (DataType.UINT12.limits, DataType.UINT10.limits, DataType.INT4.limits) == ((0, 4095), (0, 1023), (-8, 7))
    odd = DataType(200)
    assert (odd, odd.known, odd.label, odd.element_bytes, odd.limits) == (200, False, "type 200", None, None)
    assert len(DataType) == 10


# ---- broken headers --------------------------------------------------------------------------------------------------


def test_header() -> None:
    assert refused(b"").code == -65
    assert refused(DATA[:15], "byte 0: expected a header of 16 bytes, found 15 bytes").code == -65
    assert refused(b"\x7fELF" + DATA[4:], "magic number").code == -64
    error = refused(patched(DATA, 4, "<I", 0x12345678), "checksum", "0x12345678", "(XMEDIA_CL_INVALID_MODEL)")
    assert (error.offset, error.code) == (4, -64)
    assert refused(patched(DATA, 8, "<I", 16), "checksum").code == -64


def test_description_out_of_range() -> None:
    body, description = DATA[16:START], DATA[START:]
    assert refused(DATA[:-1], f"a description of {SIZE} bytes").code == -65
    assert refused(with_header(body, description)[: START + 4]).code == -65

    def with_lengths(start: int, size: int) -> bytes:
        lengths = struct.pack("<2I", start, size)
        return struct.pack("<2I", 0x5A5A5A5A, zlib.crc32(lengths)) + lengths + DATA[16:]

    assert refused(with_lengths(len(DATA) + 1000, SIZE), "found 0 bytes to the end").code == -65
    assert refused(with_lengths(START, SIZE + 1)).code == -65
    assert refused(with_lengths(0xFFFFFFFF, 0xFFFFFF)).code == -65
    assert refused(with_lengths(START, 0xFFFFFFFF), "at most 16777216 bytes").offset == 12
    assert refused(with_lengths(8, SIZE), "behind the header").offset == 8
    assert refused(with_lengths(START, 0)).code == -64
    for size in range(4, SIZE, 4):
        assert refused(with_lengths(START, size)).code == -64


def test_older_header() -> None:
    old = bytes(64) + DATA[:64] + DATA
    error = refused(old, "it at byte 64, as in models of older chips", "compile the model for the GK7206")
    assert error.code == -64


def test_every_truncation() -> None:
    for length in range(len(DATA)):
        assert refused(DATA[:length]).code == -65


def test_trailing_bytes() -> None:
    model = read(DATA + bytes(64))
    assert (model.trailing_bytes, model.inputs) == (64, read(DATA).inputs)


# ---- what the runtime lets pass, or stumbles over --------------------------------------------------------------------


def test_model_type_and_reuse_type_are_read() -> None:
    for value in (0, 1, 2, 4, 99):
        assert read(patched(DATA, field_at(DATA, Root.INFO, Info.MODEL_TYPE), "<I", value)).model_type == value
    assert read(patched(DATA, field_at(DATA, Root.REUSE_TYPE), "<I", 77)).memory_reuse_type == 77


def test_changed_bytes() -> None:
    program, constant, library = (patched(DATA, position, "<B", 0xEE) for position in (16, 96, 144))
    for data, what in ((program, "'start'"), (constant, "constant 2"), (library, "'library'")):
        read(data)
        with pytest.raises(XmmError, match=what) as caught:
            read(data, verify=True)
        assert caught.value.code == -64
        assert [problem.offset for problem in read(data).crc_problems()] == [caught.value.offset]
    assert read(DATA).crc_problems() == []


def test_constants_beyond_the_file() -> None:
    data = patched(DATA, field_at(DATA, Root.TENSORS, 2, TensorField.FILE_OFFSET), "<I", len(DATA))
    (problem,) = read(data).crc_problems()
    assert "32 bytes of the constant 2" in str(problem)
    data = patched(DATA, field_at(DATA, Root.TENSORS, 2, TensorField.SIZE), "<I", 0xFFFFFFFF)
    (problem,) = read(data).crc_problems()
    assert "programs and constants that fit" in str(problem)


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "m.xmm").write_bytes(DATA)
    model = read(tmp_path / "m.xmm")
    (tmp_path / "m.xmm").write_bytes(DATA[:20])
    assert model.crc_problems()
    (tmp_path / "m.xmm").unlink()
    with pytest.raises(ExportError, match="no file"):
        model.crc_problems()


def test_tensors_that_are_not_there() -> None:
    for field in (Root.INPUTS, Root.OUTPUTS):
        data = patched(DATA, vector_at(DATA, field) + 4, "<I", 7)
        refused(data, f"{field.name.lower()} below the number of tensors, 7, found 7")


def test_programs_beyond_the_file() -> None:
    for field in (ProgramField.SIZE, ProgramField.FILE_OFFSET):
        for programs in (Root.PROGRAMS, Root.CPU_PROGRAMS):
            data = patched(DATA, field_at(DATA, programs, 0, field), "<I", 0xFFFFFFF0)
            refused(data, f"a program inside the file of {len(DATA)} bytes")


def test_dimensions() -> None:
    rank = field_at(DATA, Root.TENSORS, 0, TensorField.SHAPE, Shape.RANK)
    refused(patched(DATA, rank, "<I", 9), "at most 8 dimensions of tensor 0, found 9, with 8 sizes and 8 pitches")
    refused(patched(DATA, rank, "<I", 0xFFFFFFFF))
    dims = vector_at(DATA, Root.TENSORS, 0, TensorField.SHAPE, Shape.DIMS)
    refused(patched(DATA, dims, "<I", 9), "9 sizes")
    refused(patched(DATA, dims, "<I", 2), "3, with 2 sizes and 8 pitches")
    refused(patched(DATA, dims, "<I", 0x40000000), "a vector inside the description")
    assert read(patched(DATA, dims, "<I", 3)).tensors[0].dims == (1, 3, 5)


def test_regions_and_devices() -> None:
    refused(patched(DATA, field_at(DATA, Root.TENSORS, 4, TensorField.REGION), "<b", 4), "region from 0 to 3", "4")
    refused(patched(DATA, field_at(DATA, Root.TENSORS, 4, TensorField.REGION), "<b", -1), "found -1")
    data = patched(DATA, field_at(DATA, Root.NODES, 0, NodeField.DEVICE), "<B", 7)
    assert read(data).nodes[0].device == "device 7"


def test_element_type_that_is_none() -> None:
    data = patched(DATA, field_at(DATA, Root.TENSORS, 4, TensorField.SHAPE, Shape.DTYPE), "<B", 200)
    assert read(data).tensors[4].dtype == 200


def test_strings() -> None:
    name = vector_at(DATA, Root.TENSORS, 0, TensorField.NAME)
    assert read(patched(DATA, name + 4, "<B", 0xFF)).tensors[0].name == "\ufffdirst"
    refused(patched(DATA, name, "<I", 4), "a string of 4 bytes and a zero")
    refused(patched(DATA, name, "<I", 0x7FFFFFFF), "a vector inside")


# ---- FlatBuffers that lie --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, 2, 6, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC])
def test_root_offset(value: int) -> None:
    error = refused(patched(DATA, START, "<I", value))
    assert (error.offset, error.code) == (START, -64)


def test_table_outside() -> None:
    root = START + struct.unpack_from("<I", DATA, START)[0]
    fields = root - struct.unpack_from("<i", DATA, root)[0]
    for data in (
        patched(DATA, root, "<i", 1 << 30),
        patched(DATA, root, "<i", -(1 << 30)),
        patched(DATA, root, "<i", 1),
        patched(DATA, fields, "<H", 2),
        patched(DATA, fields, "<H", 43),
        patched(DATA, fields, "<H", 0xFFFE),
        patched(DATA, fields + 2, "<H", 0xFFFF),
        patched(DATA, fields + 4, "<H", 2),
        patched(DATA, fields + 4, "<H", 0xFFF0),
        patched(DATA, fields + 4, "<H", 5),
    ):
        assert refused(data).code == -64


def test_references_outside() -> None:
    for path in (
        (Root.INFO,),
        (Root.TENSORS,),
        (Root.PRIVATE_DATA,),
        (Root.NODES, 0, NodeField.NAME),
        (Root.TENSORS, 0, TensorField.SHAPE),
    ):
        position = field_at(DATA, *path)
        for value in (0, 3, len(DATA), 0x7FFFFFFC, 0xFFFFFFFC):
            assert refused(patched(DATA, position, "<I", value)).code == -64


def _bomb(entries: int, *, node: bool = False) -> bytes:
    """A vector that names the same table very often, which names a long vector."""
    builder = flatbuffers.Builder(1 << 20)
    builder.StartVector(4, entries, 4)
    for _ in range(entries):
        builder.PrependUint32(1)
    numbers = builder.EndVector()
    builder.StartObject(12)
    builder.PrependUOffsetTRelativeSlot(4 if node else 3, numbers if node else 0, 0)
    shared = builder.EndObject()
    builder.StartVector(4, entries, 4)
    for _ in range(entries):
        builder.PrependUOffsetTRelative(shared)
    tables = builder.EndVector()
    builder.StartObject(19)
    builder.PrependUOffsetTRelativeSlot(Root.NODES if node else Root.TENSORS, tables, 0)
    builder.Finish(builder.EndObject())
    return with_header(b"", bytes(builder.Output()))


@pytest.mark.parametrize("node", [False, True])
@pytest.mark.parametrize("entries", [1000, 300_000])
def test_shared_tables(entries: int, node: bool) -> None:
    """Work and memory are bounded by a number, not by what a file can name."""
    data = _bomb(entries, node=node)
    tracemalloc.start()
    before = time.process_time()
    if entries > 1000 or node:
        refused(data, "parts that are shared too often")
    else:
        assert len(read(data).tensors) == entries
    # Tracing memory makes it several times slower.
    assert time.process_time() - before < 8
    assert tracemalloc.get_traced_memory()[1] < 100 << 20
    tracemalloc.stop()


# ---- files that are none ---------------------------------------------------------------------------------------------


def test_no_file(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "none.xmm", "no file '.*none.xmm': check the name"),
        (tmp_path, "is a folder"),
        (Path(os.devnull), "is no regular file"),
        (Path("a\0b"), "cannot read"),
    ):
        with pytest.raises(ExportError, match=message):
            read(path)
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    with pytest.raises(ExportError, match="is no regular file"):
        read(fifo)
    (tmp_path / "empty.xmm").touch()
    with pytest.raises(XmmError, match=r"empty\.xmm', byte 0: expected a header of 16 bytes, found 0 bytes"):
        read(tmp_path / "empty.xmm")


# ---- anything --------------------------------------------------------------------------------------------------------


def survives(data: bytes) -> XmmFile | None:
    """A file is read or refused, nothing else."""
    try:
        model = read(data)
    except XmmError:
        return None
    model.crc_problems()
    return model


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.binary(max_size=400))
def test_any_description(body: bytes, description: bytes) -> None:
    survives(description)
    survives(with_header(body, description))


@settings(max_examples=1000, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(START, len(DATA) - 4),
            st.one_of(
                st.sampled_from([0, 1, 4, 0x7FFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]), st.integers(0, 2**32 - 1)
            ),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_any_change_of_a_description(changes: list[tuple[int, int]]) -> None:
    data = DATA
    for position, value in changes:
        data = patched(data, position, "<I", value)
    survives(data)


def test_every_byte_of_a_description() -> None:
    for position in range(START, len(DATA)):
        for value in (0x00, 0xFF, DATA[position] ^ 0x01, DATA[position] ^ 0x80):
            survives(patched(DATA, position, "<B", value))
