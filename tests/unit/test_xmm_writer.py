# SPDX-License-Identifier: EPL-2.0
"""Writing models for the NPU: what is written is read back, and lies where the compiler would put it."""

import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.xmm_files import sample, shared_data

from aidge_export_gk7206.npu.layout import REGIONS, SIMULATOR_ONLY
from aidge_export_gk7206.npu.writer import (
    NodeSpec,
    ProgramSpec,
    SubGraphSpec,
    TensorSpec,
    XmmSpec,
    dense_pitches,
    write_xmm,
)
from aidge_export_gk7206.npu.xmm import DataType, XmmFile, read


def test_the_same_every_time() -> None:
    assert write_xmm(sample()) == write_xmm(sample())


def test_layout() -> None:
    """Header, programs, constants, description; everything in steps of 16, the checksum over two numbers."""
    data = write_xmm(XmmSpec(sample().tensors, programs=sample().programs))
    model = read(data, verify=True)
    magic, crc, start, size = struct.unpack_from("<4I", data)
    assert (magic, crc) == (0x5A5A5A5A, zlib.crc32(data[8:16]))
    assert start == 16 + model.codesize + model.weightsize
    assert (start % 16, model.codesize % 16, model.weightsize % 16, size % 4) == (0, 0, 0, 0)
    assert start + size == len(data)
    assert data[16:20] == b"\x73\x11\x41\xf4"
    assert data[96:98] == b"\x01\x02"
    assert all(t.file_offset == 16 + model.codesize + t.offset for t in model.tensors if t.region == "constant")
    # Constants 48, workspace 128, inputs 16 + 96, outputs 16 + 24, each in steps of 16.
    assert {program.load_address for program in model.programs} == {48 + 128 + 112 + 48}


def test_inputs_and_outputs_follow_each_other() -> None:
    tensors = [TensorSpec((n,), region) for n in (3, 9, 8) for region in ("input", "output")]
    model = read(write_xmm(XmmSpec(tensors)))
    assert [tensor.offset for tensor in model.inputs] == [0, 8, 24]
    assert [tensor.offset for tensor in model.outputs] == [0, 8, 24]
    assert (model.inputsize, model.outputsize) == (32, 32)


def test_defaults() -> None:
    spec = XmmSpec([TensorSpec((1, 2, 3), "input"), TensorSpec((), "output", DataType.FP32)], nodes=[NodeSpec("a")] * 2)
    model = read(write_xmm(spec), verify=True)
    assert (model.compiler, model.model_type, model.memory_reuse_type) == (SIMULATOR_ONLY, 3, 0)
    assert [(t.dims, t.pitches, t.size) for t in model.tensors] == [((1, 2, 3), (6, 3, 1), 6), ((), (), 4)]
    assert [graph.nodes for graph in model.subgraphs] == [(0, 1)]
    assert len(model.programs) == 1


@pytest.mark.parametrize(
    ("tensor", "size"),
    [
        (TensorSpec((1, 64, 48, 80), "input", pitches=(294912, 4608, 96, 1)), 294912),
        (TensorSpec((8,), "input", DataType.UINT12, pitches=(1,), size=12), 12),
        (TensorSpec((4, 8), "input", DataType.FP16), 64),
    ],
)
def test_sizes(tensor: TensorSpec, size: int) -> None:
    assert read(write_xmm(XmmSpec([tensor]))).inputs[0].size == size


def test_what_cannot_be_written() -> None:
    for tensor, message in (
        (TensorSpec((1,), "elsewhere"), "'elsewhere' is none of the regions"),
        (TensorSpec((1, 2), "input", pitches=(1,)), "2 dimensions with 1 pitches"),
        (TensorSpec((1,) * 9, "input"), "9 dimensions"),
        (TensorSpec((1,), "input", DataType.UINT12), "uint12 have no pitch"),
        (TensorSpec((1,), "input", 200), "type 200 have no pitch"),
    ):
        with pytest.raises(ValueError, match=message):
            write_xmm(XmmSpec([tensor]))


def test_dense_pitches() -> None:
    assert dense_pitches((1, 12, 12, 3), DataType.UINT8) == [432, 36, 3, 1]
    assert dense_pitches((2, 3), DataType.INT32) == [12, 4]
    assert dense_pitches((), DataType.INT32) == []


def rewritten(model: XmmFile, data: bytes) -> bytes:
    """A model written again from what was read of it."""

    def code(offset: int, size: int) -> bytes:
        return data[offset : offset + size]

    tensors = [
        TensorSpec(
            t.dims,
            t.region,
            t.dtype,
            t.pitches,
            t.scale,
            t.zero_point,
            t.name or "",
            code(t.file_offset, t.size) if t.region == "constant" else b"",
            t.size,
            t.offset,
            t.compression,
        )
        for t in model.tensors
    ]
    ids = {id(tensor): index for index, tensor in enumerate(model.tensors)}
    return write_xmm(
        XmmSpec(
            tensors,
            [ids[id(tensor)] for tensor in model.inputs],
            [ids[id(tensor)] for tensor in model.outputs],
            [NodeSpec(n.name, n.inputs, n.outputs, n.device) for n in model.nodes],
            [ProgramSpec(p.name, code(p.file_offset, p.size)) for p in model.programs],
            [ProgramSpec(p.name, code(p.file_offset, p.size)) for p in model.cpu_programs],
            [SubGraphSpec(g.nodes, g.device) for g in model.subgraphs],
            model.compiler,
            model.file_name,
            model.model_type,
            model.memory_reuse_type,
            model.data_formats,
            model.private_data,
        )
    )


def test_a_real_model_written_again() -> None:
    data = shared_data("pnet.xmm").read_bytes()
    model = read(data)
    again = read(rewritten(model, data), verify=True)
    for name in ("compiler", "nodes", "programs", "subgraphs", "codesize", "weightsize", "worksize", "inputsize"):
        assert getattr(again, name) == getattr(model, name), name
    # In the compiler's file the checksums and places of others than constants mean nothing.
    meaningless = {"file_offset", "crc"}
    for tensor, wanted in zip(again.tensors, model.tensors, strict=True):
        for name in set(tensor.__slots__) - (meaningless if wanted.region != "constant" else set()):
            assert getattr(tensor, name) == getattr(wanted, name), f"{name} of {tensor.id}"


U32 = st.integers(0, 2**32 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
IDS = st.lists(U32, max_size=5)


@st.composite
def tensor_specs(draw: st.DrawFn) -> TensorSpec:
    rank = draw(st.integers(0, 8))
    numbers = st.lists(U32, min_size=rank, max_size=rank)
    region = draw(st.sampled_from(REGIONS))
    return TensorSpec(
        draw(numbers),
        region,
        draw(st.integers(0, 255)),
        draw(numbers),
        draw(st.floats(width=32, allow_nan=False)),
        draw(st.integers(-(2**31), 2**31 - 1)),
        draw(TEXT),
        draw(st.binary(max_size=40)) if region == "constant" else b"",
        draw(st.integers(0, 2**30)),
        draw(st.integers(0, 2**30)),
        draw(U32),
    )


PROGRAMS = st.lists(st.builds(ProgramSpec, TEXT, st.binary(max_size=40)), max_size=3)
DEVICES = st.sampled_from(["CPU", "NPU"])


@st.composite
def specs(draw: st.DrawFn) -> XmmSpec:
    tensors = draw(st.lists(tensor_specs(), max_size=5))
    chosen = st.permutations(range(len(tensors)))
    return XmmSpec(
        tensors,
        draw(chosen),
        draw(chosen),
        draw(st.lists(st.builds(NodeSpec, TEXT, IDS, IDS, DEVICES), max_size=3)),
        draw(PROGRAMS),
        draw(PROGRAMS),
        draw(st.lists(st.builds(SubGraphSpec, IDS, DEVICES), max_size=3)),
        draw(TEXT),
        draw(TEXT),
        draw(U32),
        draw(U32),
        draw(IDS),
        draw(st.binary(max_size=20)),
    )


@settings(max_examples=200, deadline=None)
@given(specs())
def test_what_is_written_is_read(spec: XmmSpec) -> None:
    data = write_xmm(spec)
    model = read(data, verify=True)
    for tensor, wanted in zip(model.tensors, spec.tensors, strict=True):
        assert (tensor.dims, tensor.pitches) == (tuple(wanted.dims), tuple(wanted.pitches or ()))
        assert (tensor.dtype, tensor.scale, tensor.zero_point) == (wanted.dtype, wanted.scale, wanted.zero_point)
        assert (tensor.name or "", tensor.region, tensor.compression) == (
            wanted.name,
            wanted.region,
            wanted.compression,
        )
        if wanted.region != "constant":
            assert (tensor.size, tensor.offset) == (wanted.size, wanted.offset)
    assert (model.compiler, model.file_name, model.model_type) == (spec.compiler, spec.file_name, spec.model_type)
    assert (model.memory_reuse_type, model.data_formats) == (spec.memory_reuse_type, tuple(spec.data_formats))
    assert model.private_data[: len(spec.private_data)] == spec.private_data
    assert [(p.name, p.size) for p in (*model.programs, *model.cpu_programs)] == [
        (p.name, len(p.data) + -len(p.data) % 16) for p in (*spec.programs, *spec.cpu_programs)
    ]
    assert [(n.name, n.inputs, n.outputs, n.device) for n in model.nodes] == [
        (n.name, tuple(n.inputs), tuple(n.outputs), n.device) for n in spec.nodes
    ]
    assert rewritten(model, data) == data
