# SPDX-License-Identifier: EPL-2.0
"""Status codes of the simulator: of every call, and of files good and bad."""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from support.simulator import ABORTED, MISUSE, Programs, described, saved, two_by_two
from support.xmm_files import field_at, patched, shared_data, vector_at

from aidge_export_gk7206.npu.layout import ProgramField, Root, Shape, TensorField
from aidge_export_gk7206.npu.writer import ProgramSpec, write_xmm


def test_every_call(programs: Programs, model: Path, tmp_path: Path) -> None:
    """Codes of all calls with arguments good and bad."""
    other = saved(tmp_path, two_by_two(private_data=b"private\0"), "private.xmm")
    programs.passes("calls", model, other, cwd=tmp_path)


def test_headers_are_c(programs: Programs, model: Path) -> None:
    assert programs.passes("plain", model, strict=1).splitlines()[-1] == "304 32"


def test_profiling_needs_its_file(native: Programs, model: Path, tmp_path: Path) -> None:
    (tmp_path / "cycle_bin_file.bin").touch()
    result = native.run("calls", model, saved(tmp_path, two_by_two(private_data=b"private\0"), "p.xmm"), cwd=tmp_path)
    assert result.returncode == 1
    assert "xmedia_cl_set_profiling" in result.stderr


def changed(data: bytes, at: int, value: int) -> bytes:
    return patched(data, at, "<B", value)


def with_lengths(data: bytes, offset: int, size: int) -> bytes:
    """The file with another place of its description, and a right header checksum."""
    lengths = struct.pack("<2I", offset, size)
    return data[:4] + struct.pack("<I", zlib.crc32(lengths)) + lengths + data[16:]


def place(data: bytes) -> tuple[int, int]:
    offset, size = struct.unpack_from("<2I", data, 8)
    return int(offset), int(size)


GOOD = write_xmm(two_by_two())
START, LENGTH = place(GOOD)
#: By name: bytes of the file, and what querysize, query_model_info and loadmodel return.
FILES = {
    "good": (GOOD, 0, 0, 0),
    "empty": (b"", -65, -65, -65),
    "short": (GOOD[:15], -65, -65, -65),
    "truncated": (GOOD[:-1], -65, -65, -65),
    "description too far": (with_lengths(GOOD, START + 4, LENGTH), -65, -65, -65),
    "description too long": (with_lengths(GOOD, START, LENGTH + 4), -65, -65, -65),
    "huge": (with_lengths(GOOD, 0xFFFFFFFF, 0xFFFFFFFF), -65, -65, -65),
    "magic": (changed(GOOD, 0, 0x5B), -64, -64, -64),
    "header checksum": (changed(GOOD, 4, GOOD[4] ^ 1), -64, -64, -64),
    "root": (changed(GOOD, START + 3, 0x7F), -64, -64, -64),
    "no description": (with_lengths(GOOD, START, 0), -64, -64, -64),
    "half a description": (with_lengths(GOOD, START, LENGTH // 2 // 4 * 4), -64, -64, -64),
    "low": (write_xmm(two_by_two(model_type=1)), -68, 0, 0),
    "normal": (write_xmm(two_by_two(model_type=2)), -68, 0, 0),
    "type 99": (write_xmm(two_by_two(model_type=99)), -68, 0, 0),
    "type unknown": (write_xmm(two_by_two(model_type=0)), 0, 0, 0),
    "reuse 4": (write_xmm(two_by_two(memory_reuse_type=4)), -30, -30, -30),
    "program": (changed(GOOD, 16, GOOD[16] ^ 1), 0, 0, -64),
    "constant": (changed(GOOD, 32, GOOD[32] ^ 1), 0, 0, -64),
    "trailing bytes": (GOOD + bytes(64), 0, 0, 0),
    "native programs": (write_xmm(two_by_two(cpu_programs=[ProgramSpec("cpu", b"\x7fELF")])), 0, 0, 0),
}


@pytest.mark.parametrize("name", FILES)
def test_files(native: Programs, tmp_path: Path, name: str) -> None:
    data, query, info, load = FILES[name]
    answer = described(native, saved(tmp_path, data))
    assert (answer["querysize_ret"], answer["info_ret"], answer["load_ret"]) == (query, info, load)
    sizes = (answer["query_worksize"], answer["query_weightsize"])
    assert sizes == ((304, 32) if query == 0 else (0, 0)), "a failed query sets its results to 0"


def test_missing_file(native: Programs, tmp_path: Path) -> None:
    answer = described(native, tmp_path / "none.xmm")
    assert (answer["querysize_ret"], answer["info_ret"], answer["load_ret"]) == (-65, -65, -65)


def test_models_in_memory(native: Programs, model: Path) -> None:
    assert described(native, model, "buffer") == described(native, model)


#: By name: a file whose loading the board's library does not survive, and what the simulator says.
CRASH_FILES = {
    "input out of range": (patched(GOOD, vector_at(GOOD, Root.INPUTS) + 8, "<I", 77), "input or output 77"),
    "program size": (
        patched(GOOD, field_at(GOOD, Root.PROGRAMS, 0, ProgramField.SIZE), "<I", 0x70000000),
        "program of 1879048192 bytes",
    ),
    "nine dims": (
        patched(GOOD, vector_at(GOOD, Root.TENSORS, 0, TensorField.SHAPE, Shape.DIMS), "<I", 9),
        "tensor 0 has more than 8 dims",
    ),
    "constant out of the file": (
        patched(GOOD, field_at(GOOD, Root.TENSORS, 2, TensorField.FILE_OFFSET), "<I", 0x70000000),
        "constant 2 of 16 bytes",
    ),
}


@pytest.mark.parametrize("name", CRASH_FILES)
def test_what_the_runtime_does_not_survive(native: Programs, tmp_path: Path, name: str) -> None:
    """Loading ends the process with a message, as there is nothing to return."""
    data, message = CRASH_FILES[name]
    path = saved(tmp_path, data)
    result = native.run("describe", path)
    assert result.returncode == ABORTED
    assert f"the runtime would crash: {message}" in result.stderr
    assert native.run("describe", path, strict=1).returncode == MISUSE


def test_random_damage_is_survived(builds: Callable[[str], Programs], tmp_path: Path) -> None:
    """Whatever a file holds, the process ends with a status or with the message of a crash."""
    programs = builds("native")
    generator = random.Random(1)
    for _ in range(60):
        data = bytearray(GOOD)
        for _ in range(generator.randint(1, 4)):
            data[generator.randrange(START, len(data))] = generator.choice(
                [0, 1, 4, 127, 255, generator.randrange(256)]
            )
        result = programs.run("describe", saved(tmp_path, bytes(data)), mmz_mb=64)
        assert result.returncode in (0, ABORTED), result.stderr
        assert (result.returncode == ABORTED) == ("the runtime would crash" in result.stderr)


def test_damage_in_memory(programs: Programs, model: Path) -> None:
    assert int(programs.passes("damage", model, 20000, quiet=1)) > 0


def test_real_model(programs: Programs) -> None:
    """The model file of a public sample: all that the board's library says of it."""
    oracle = json.loads(shared_data("pnet.oracle.json").read_text(encoding="utf-8"))["models"]["pnet"]
    answer = described(programs, shared_data("pnet.xmm"))
    assert answer["querysize_ret"] == answer["load_ret"] == 0
    for key, value in oracle["query_model_info"].items():
        assert answer["info_ret" if key == "ret" else key] == value
    for direction in ("inputs", "outputs"):
        found, expected = answer[direction], oracle[direction]
        assert isinstance(found, list)
        for tensor in [*found, *expected]:
            tensor["scale"] = struct.pack("<f", tensor["scale"])
        assert found == expected
    assert answer["private"] == oracle["private"]
    programs.passes("runs", "usual", shared_data("pnet.xmm"))
