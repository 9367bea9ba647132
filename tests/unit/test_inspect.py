# SPDX-License-Identifier: EPL-2.0
"""The command inspect: what it prints of sound, odd and broken models."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.xmm_files import ROOT, field_at, patched, sample, shared_data, vector_at

from aidge_export_gk7206 import cli
from aidge_export_gk7206.npu.inspect import describe
from aidge_export_gk7206.npu.layout import Info, Root, SubGraphField, TensorField, mmz_regions
from aidge_export_gk7206.npu.writer import NodeSpec, ProgramSpec, TensorSpec, XmmSpec, write_xmm

COMPILER = "b581eee4c  Dec 15 2025"
KEYS = [
    "file",
    "size",
    "compiler",
    "worksize",
    "weightsize",
    "codesize",
    "inputsize",
    "outputsize",
    "memory_reuse_type",
    "private_data_size",
    "inputs",
    "outputs",
    "nodes",
    "warnings",
]
TENSOR_KEYS = ["id", "name", "dims", "pitches", "dtype", "scale", "zero_point", "size", "offset"]

Told = Callable[[bytes], dict[str, Any]]


@pytest.fixture
def told(tmp_path: Path) -> Told:
    """What inspect tells of bytes."""

    def tell(data: bytes) -> dict[str, Any]:
        (tmp_path / "model.xmm").write_bytes(data)
        return describe(tmp_path / "model.xmm")

    return tell


def sound(**changes: Any) -> XmmSpec:
    """A model that nothing is to be said about."""
    tensors = [
        TensorSpec((1, 8, 8, 3), "input", name="image"),
        TensorSpec((1, 10), "output", scale=0.25, zero_point=100),
        TensorSpec((1, 2), "output", scale=1 / 255),
        TensorSpec((4, 4), "constant", 0, data=bytes(16)),
        TensorSpec((1, 64), "workspace"),
    ]
    return XmmSpec(**{"tensors": tensors, "compiler": COMPILER, "nodes": [NodeSpec("a", (0,), (1,))], **changes})


def with_output(**changes: Any) -> bytes:
    """A sound model with another output."""
    output = TensorSpec(**{"dims": (1, 4), "region": "output", **changes})
    return write_xmm(sound(tensors=[sound().tensors[0], output, *sound().tensors[3:]]))


# ---- JSON ------------------------------------------------------------------------------------------------------------


def test_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "model.xmm"
    path.write_bytes(write_xmm(sound()))
    assert cli.main(["inspect", str(path), "--json"]) == 0
    description = json.loads(capsys.readouterr().out)
    assert list(description) == KEYS
    assert description["file"] == str(path)
    assert (description["size"], description["compiler"]) == (path.stat().st_size, COMPILER)
    assert description["inputs"] == [
        {
            "id": 0,
            "name": "image",
            "dims": [1, 8, 8, 3],
            "pitches": [192, 24, 3, 1],
            "dtype": "uint8",
            "scale": 1.0,
            "zero_point": 0,
            "size": 192,
            "offset": 0,
        }
    ]
    assert all(list(tensor) == TENSOR_KEYS for tensor in description["outputs"])
    assert [tensor["name"] for tensor in description["outputs"]] == [None, None]
    assert description["nodes"] == [{"name": "a", "device": "NPU", "inputs": [0], "outputs": [1]}]
    assert description["warnings"] == []


def test_pnet(capsys: pytest.CaptureFixture[str]) -> None:
    path = shared_data("pnet.xmm")
    description = describe(path)
    sizes = {key: description[key] for key in KEYS if key.endswith("size")}
    assert sizes == {
        "size": 137700,
        "worksize": 2024,
        "weightsize": 67968,
        "codesize": 62176,
        "inputsize": 432,
        "outputsize": 16,
        "private_data_size": 0,
    }
    assert description["warnings"] == []
    assert cli.main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    for line in (
        "compiler          b581eee4c  Dec 15 2025",
        "workspace    2,024    4,096",
        "all        132,616  147,456",
        "gk7206v12a has 224 MB of MMZ: 0.1% of it, fits",
        "input  name   dims       pitches     type   scale  zero point  values    bytes  offset",
        "1       -     1x4x1x1  4 1 1 1  uint8  0.00354525377  192         -0.6807 to 0.2234      4       0",
        "xm_softmax           NPU         1",
    ):
        assert line in out.splitlines()
    assert "warnings" not in out


def test_numbers_that_json_lacks(told: Told) -> None:
    for scale in (float("nan"), float("inf")):
        description = told(with_output(scale=scale))
        assert description["outputs"][0]["scale"] is None
        json.dumps(description, allow_nan=False)
        assert any("is no positive number" in warning for warning in description["warnings"])


# ---- tables ----------------------------------------------------------------------------------------------------------


def test_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "model.xmm"
    path.write_bytes(write_xmm(sample()))
    assert cli.main(["inspect", str(path)]) == 0
    captured = capsys.readouterr()
    for part in (
        "memory reuse      type 3: inputs and outputs live in the workspace",
        "private data      20 bytes",
        "inputs       112  in the workspace",
        "xm_conv2d_xm_lut  NPU         1",
        "reshape           CPU         1",
        "the file holds native CPU programs, 48 bytes",
    ):
        assert part in captured.out
    assert captured.err == ""


def test_nothing_steers_the_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    nasty = "\x1b[31m\r\n\x07"
    tensors = [TensorSpec((1,), "input", name=nasty)]
    spec = XmmSpec(tensors, nodes=[NodeSpec(nasty)], programs=[ProgramSpec(nasty, b"1")], compiler=nasty)
    data = write_xmm(spec)
    path = tmp_path / "model.xmm"
    path.write_bytes(patched(data, 16, "<B", 0))
    assert cli.main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert "\\x1b[31m" in out
    assert "refuse" in out
    assert not set(out) & set("\x1b\r\x07")


def test_memory() -> None:
    assert mmz_regions(1, 4096, 4097, 0, 5, 0) == {
        "code": 4096,
        "workspace": 4096,
        "weights": 8192,
        "inputs": 0,
        "outputs": 4096,
    }
    for reuse, reused in ((1, {"inputs"}), (2, {"outputs"}), (3, {"inputs", "outputs"}), (9, set())):
        assert {name for name, size in mmz_regions(1, 1, 1, 1, 1, reuse).items() if not size} == reused


# ---- warnings --------------------------------------------------------------------------------------------------------


def test_what_the_runtime_refuses(told: Told) -> None:
    model_type = patched(write_xmm(sound()), field_at(write_xmm(sound()), Root.INFO, Info.MODEL_TYPE), "<I", 2)
    changed_program = patched(write_xmm(sound()), 17, "<B", 1)
    changed_constant = patched(write_xmm(sound()), 32, "<B", 1)
    for data, code, text in (
        (model_type, "-68 (XMEDIA_CL_ERROR_MODEL_TYPE)", "the model type is 2 (normal), this NPU's is 3"),
        (write_xmm(sound(model_type=99)), "-68", "99 (unknown)"),
        (write_xmm(sound(memory_reuse_type=4)), "-30 (XMEDIA_CL_INVALID_VALUE)", "reuse type is 4"),
        (changed_program, "-64 (XMEDIA_CL_INVALID_MODEL)", "at byte 16 should be the program 'placeholder'"),
        (changed_constant, "-64", "at byte 32 should be the constant 3 with checksum"),
    ):
        (warning,) = told(data)["warnings"]
        assert warning.startswith(f"the runtime will refuse this with {code}")
        assert text in warning
    assert told(write_xmm(sound(model_type=0)))["warnings"] == []


def _misplaced_constant() -> bytes:
    data = write_xmm(sound())
    # There is the program: zeros like the constant, so that the checksum is right.
    return patched(data, field_at(data, Root.TENSORS, 3, TensorField.FILE_OFFSET), "<I", 16)


def _renamed() -> bytes:
    data = write_xmm(sound())
    return patched(data, field_at(data, Root.TENSORS, 1, TensorField.ID), "<I", 5)


def _in_another_region() -> bytes:
    data = write_xmm(sound())
    return patched(data, vector_at(data, Root.INPUTS) + 4, "<I", 4)


def _bad_subgraph() -> bytes:
    data = write_xmm(sound())
    return patched(data, vector_at(data, Root.SUBGRAPHS, 0, SubGraphField.NODES) + 4, "<I", 9)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (write_xmm(sound()) + bytes(64), "64 trailing bytes, which the runtime ignores"),
        (write_xmm(sound(cpu_programs=[ProgramSpec("c", bytes(20))])), "native CPU programs, 32 bytes"),
        (write_xmm(sound(nodes=[NodeSpec("a", device="CPU")])), "some operators run on the CPU"),
        (write_xmm(sound(compiler="aidge_export_gk7206 reference, simulator only")), "no NPU can run it"),
        (write_xmm(sound(nodes=[NodeSpec("a", (7,))])), "operators name tensors that are not there: the file has 5"),
        (write_xmm(sound(programs=[])), "the model has no program"),
        (write_xmm(sound(outputs=[])), "the model has no outputs"),
        (_misplaced_constant(), "the constant 3 is at byte 16 of the file, by its region at 32"),
        (_renamed(), "tensor 1 is called 5 in the file; the runtime reports 1"),
        (_in_another_region(), "input 4 is in the region 'workspace'"),
        (_bad_subgraph(), "sub-graphs name operators that are not there: the file has 1"),
        (with_output(zero_point=255), "output 1: the zero point 255 lets no positive value through"),
        (with_output(dtype=0, zero_point=127), "output 1: the zero point 127 lets no positive value through"),
        (with_output(zero_point=-1), "the zero point -1 is outside of uint8"),
        (with_output(scale=0.0), "output 1: the scale 0 is no positive number"),
        (with_output(dims=(2, 10), pitches=(32, 1)), "output 1: padded, pitches 32 1 where without gaps they are 10 1"),
        (with_output(dims=(2, 10), pitches=(5, 1), size=64), "output 1: pitches 5 1 overlap"),
        (with_output(size=3), "output 1: takes at least 4 bytes, the file gives it 3"),
        (with_output(offset=64), "output 1 is at 64 of its region, behind the one before would be 0"),
        (with_output(dtype=200, pitches=(4, 1)), "output 1: no program can handle its element type 200"),
        (with_output(dtype=8, pitches=(6, 1), size=6), "output 1: uint12 has no NumPy type"),
        (with_output(dims=(0, 4)), "output 1: has no elements, or no shape"),
        (with_output(size=100 << 20), "needs 100.0 MB of MMZ, gk7206v11a has 96 MB"),
    ],
)
def test_warning(told: Told, data: bytes, text: str) -> None:
    (warning,) = told(data)["warnings"]
    assert text in warning


def test_warnings_of_larger_models(told: Told) -> None:
    found = told(with_output(size=300 << 20))["warnings"]
    assert [warning.rpartition(" has ")[2] for warning in found] == ["96 MB", "224 MB"]
    constants = [TensorSpec((1,), "constant", data=b"1", compression=1) for _ in range(50)]
    found = told(write_xmm(sound(tensors=[*sound().tensors, *constants])))["warnings"]
    assert (len(found), found[-1]) == (5, "46 more like these")


def test_float_outputs_need_no_zero_point(told: Told) -> None:
    assert told(with_output(dtype=6, zero_point=0))["warnings"] == []


# ---- the command -----------------------------------------------------------------------------------------------------


def test_no_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "empty.xmm").touch()
    (tmp_path / "model.onnx").write_bytes(b"\x08\x07\x12\x05Aidge" * 20)
    cut = tmp_path / "cut.xmm"
    cut.write_bytes(write_xmm(sound())[:-8])
    for path, part in (
        (tmp_path, "is a folder: name the .xmm file in it"),
        (tmp_path / "empty.xmm", "empty.xmm', byte 0: expected a header of 16 bytes, found 0 bytes"),
        (tmp_path / "none.xmm", "none.xmm': check the name"),
        (tmp_path / "model.onnx", "expected the magic number 0x5a5a5a5a of an .xmm file, found 0x05120708"),
        (cut, "the runtime refuses it with -65 (XMEDIA_CL_READ_MODEL_FAIL): the file is damaged"),
    ):
        assert cli.main(["inspect", str(path)]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("aidge-gk7206: error: ")
        assert captured.err.count("\n") == 1
        assert part in captured.err


def test_it_starts_without_aidge(tmp_path: Path) -> None:
    (tmp_path / "model.xmm").write_bytes(write_xmm(sound()))
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv[1:] = ['inspect', 'model.xmm']\n"
        "import aidge_gk7206_cli\n"
        "assert aidge_gk7206_cli.main() == 0\n"
        "heavy = {'aidge_core', 'onnx', 'onnxscript', 'onnxruntime'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "model.xmm: " in result.stdout
