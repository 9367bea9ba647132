# SPDX-License-Identifier: EPL-2.0
"""The simulator at work: memory, runs, and where outputs come from."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from support.simulator import MISUSE, Programs, saved, two_by_two

from aidge_export_gk7206.npu.layout import DataType
from aidge_export_gk7206.npu.writer import TensorSpec, XmmSpec


def test_memory(programs: Programs) -> None:
    programs.passes("memory", mmz_mb=1)


@pytest.mark.parametrize("cached", [[], ["cached"]])
def test_unmapped_memory_is_gone(native: Programs, cached: list[str]) -> None:
    assert native.run("memory", "touch-unmapped", *cached).returncode == -11


@pytest.mark.parametrize("case", ["usual", "plain", "spacing", "batch", "shared"])
def test_runs(programs: Programs, model: Path, case: str) -> None:
    programs.passes("runs", case, model)


def test_stale_data(programs: Programs, model: Path) -> None:
    """Without its flush, neither side sees what the other wrote."""
    programs.passes("runs", "flushes", model, strict=1)


def test_model_without_constants_and_workspace(native: Programs, tmp_path: Path) -> None:
    spec = XmmSpec([TensorSpec([3], "input"), TensorSpec([5], "output")], programs=[])
    native.passes("runs", "plain", saved(tmp_path, spec))
    text = native.passes("linked", saved(tmp_path, spec), stdin=b"AAA", strict=1)
    assert "in 165\n" in text, "fresh memory: this program does not flush"


@pytest.mark.parametrize("reuse", [1, 2, 3])
@pytest.mark.parametrize("strict", [0, 1])
def test_memory_reuse(programs: Programs, tmp_path: Path, reuse: int, strict: int) -> None:
    programs.passes("runs", "reuse", saved(tmp_path, two_by_two(memory_reuse_type=reuse)), strict=strict)


def test_reuse_needs_binding_before_each_run(native: Programs, tmp_path: Path) -> None:
    path = saved(tmp_path, two_by_two(memory_reuse_type=1))
    native.passes("misuse", "run-again", saved(tmp_path, two_by_two(), "usual.xmm"), strict=1)
    result = native.run("misuse", "run-again", path, strict=1)
    assert result.returncode == MISUSE
    assert "before xmedia_cl_graph_set_inout" in result.stderr


def test_asynchronous_runs(programs: Programs, model: Path) -> None:
    programs.passes("asynchronous", "completes", model, latency_us=50000)


@pytest.mark.parametrize("count", [1000, pytest.param(10000, marks=pytest.mark.slow)])
def test_nothing_grows(native: Programs, model: Path, count: int) -> None:
    kilobytes = int(native.passes("growth", model, count, quiet=1))
    assert kilobytes < 512


def test_output_without_reference(native: Programs, model: Path) -> None:
    result = native.run("runs", "usual", model)
    assert result.stderr.count("outputs are a pattern without meaning") == 2, "once for each loaded graph"


def test_lines_on_stdout(native: Programs, model: Path) -> None:
    """The board's library writes there, too."""
    assert "xmedia_cl simulator\n" in native.passes("runs", "usual", model)
    assert native.passes("runs", "usual", model, quiet=1) == ""


# ---- where outputs come from -----------------------------------------------------------------------------------------


def outputs(text: str) -> bytes:
    line = next(line for line in text.splitlines() if line.startswith("out"))
    return bytes.fromhex(line.removeprefix("out").replace(" ", ""))


def test_golden_vectors(programs: Programs, model: Path, tmp_path: Path) -> None:
    def write(kind: str, middle: str, seed: int, sizes: tuple[int, int]) -> bytes:
        parts = [bytes((seed + i * 3 + j) % 256 for j in range(size)) for i, size in enumerate(sizes)]
        for i, part in enumerate(parts):
            (tmp_path / f"{kind}_data{middle}{i}.bin").write_bytes(part)
        return b"".join(parts)

    for middle, seed in (("", 1), ("0_", 2), ("1_", 3)):
        write("input", middle, seed, (48, 5))
        expected = write("output", middle, seed + 100, (7, 16))
        files = [tmp_path / f"input_data{middle}{i}.bin" for i in range(2)]
        assert outputs(programs.passes("runs", "files", model, *files)) == expected
    (tmp_path / "other").write_bytes(bytes(48))
    unknown = programs.run("runs", "files", model, tmp_path / "other", tmp_path / "input_data1.bin")
    assert "without meaning" in unknown.stderr


FORMATS = {
    DataType.INT8: "b",
    DataType.UINT8: "B",
    DataType.INT16: "h",
    DataType.UINT16: "H",
    DataType.FP16: "e",
    DataType.INT32: "i",
    DataType.FP32: "f",
}


@pytest.mark.parametrize("dtype", FORMATS, ids=lambda dtype: DataType(dtype).name)
def test_linked_reference(programs: Programs, tmp_path: Path, dtype: DataType) -> None:
    """Real values go in and out; rounding is half to even, rows are padded, and what does not fit saturates."""
    code = FORMATS[dtype]
    size = struct.calcsize(code)
    row = 8 * size
    tensors = [
        TensorSpec([1, 2, 3], "input", dtype, pitches=[2 * row, row, size], scale=0.25, zero_point=2),
        TensorSpec([2, 5], "output", dtype, pitches=[row, size], scale=1.0, zero_point=1),
        TensorSpec([8], "workspace"),
        TensorSpec([4], "constant", data=bytes(4)),
    ]
    path = saved(tmp_path, XmmSpec(tensors))
    stored = [4, 3, 2, 6, 7, 10]
    rows = [struct.pack(f"<3{code}", *stored[start : start + 3]).ljust(row, b"\xee") for start in (0, 3)]
    text = programs.passes("linked", path, stdin=b"".join(rows))
    assert [float(value) for value in re.findall(r"^in (.*)$", text, re.MULTILINE)] == [(s - 2) * 0.25 for s in stored]
    memory = outputs(text)
    found = [struct.unpack_from(f"<{code}", memory, r * row + c * size)[0] for r in range(2) for c in range(5)]
    if dtype in (DataType.FP16, DataType.FP32):
        assert found[:7] == [i * 0.5 + 0.5 + 1 for i in range(7)]
        assert found[9] != found[9]
        assert found[8] == (float("inf") if dtype == DataType.FP16 else pytest.approx(1e12))
    else:
        bits = 8 * size
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if code.islower() else (0, 2**bits - 1)
        assert found == [1, 2, 3, 3, 3, 4, 5, low, high, 1]


def test_reference_that_declines(native: Programs, tmp_path: Path) -> None:
    tensors = [
        TensorSpec([3], "input", DataType.INT8),
        TensorSpec([5], "output"),
        TensorSpec([8], "workspace"),
        TensorSpec([4], "constant", data=bytes(4)),
    ]
    result = native.run("linked", saved(tmp_path, XmmSpec(tensors)), stdin=b"\xff\0\0")
    assert result.returncode == 0
    assert "without meaning" in result.stderr
