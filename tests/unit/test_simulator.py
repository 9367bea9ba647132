# SPDX-License-Identifier: EPL-2.0
"""The simulator of the NPU runtime: status codes, memory, runs, strict mode, faults."""

from __future__ import annotations

import json
import random
import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from support.missing import need_program
from support.sharing import once, shared_folder
from support.simulator import ABORTED, MISUSE, Programs, build, two_by_two
from support.xmm_files import field_at, patched, shared_data, vector_at

from aidge_export_gk7206.npu.layout import DataType, ProgramField, Root, Shape, TensorField
from aidge_export_gk7206.npu.writer import ProgramSpec, TensorSpec, XmmSpec, write_xmm

KINDS = {
    "native": [],
    "address": ["-fsanitize=address,undefined -fno-sanitize-recover=undefined"],
    "thread": ["-fsanitize=thread"],
    "armv7": ["-static -march=armv7-a -mfpu=neon-vfpv4 -mfloat-abi=hard"],
}
ALL_KINDS = [kind if kind == "native" else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Programs]:
    """Compiles the test programs once per kind, whatever the number of workers."""

    def made(kind: str) -> Programs:
        launcher: list[str] = []
        options: list[str] = []
        need_program("g++")
        if kind == "armv7":
            compiler = need_program("arm-linux-gnueabihf-g++", "g++-arm-linux-gnueabihf")
            launcher = [need_program("qemu-arm", "qemu-user"), "-cpu", "cortex-a7"]
            options = [f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_C_COMPILER={compiler.replace('g++', 'gcc')}"]
            options += ["-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=armv7l"]
        folder = shared_folder(tmp_path_factory) / f"simulator-{kind}"
        once(folder, lambda into: build(into, *options, flags=" ".join(KINDS[kind])))
        # Only leaks that the simulator itself reports count: tests leave on purpose.
        return Programs(folder, launcher, {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "halt_on_error=1"})

    return made


@pytest.fixture
def native(builds: Callable[[str], Programs]) -> Programs:
    return builds("native")


@pytest.fixture(params=ALL_KINDS)
def programs(request: pytest.FixtureRequest, builds: Callable[[str], Programs]) -> Programs:
    return builds(request.param)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(tmp_path, two_by_two())


def saved(folder: Path, spec: XmmSpec | bytes, name: str = "model.xmm") -> Path:
    path = folder / name
    path.write_bytes(spec if isinstance(spec, bytes) else write_xmm(spec))
    return path


def described(programs: Programs, path: Path, *arguments: str) -> dict[str, object]:
    text = programs.passes("describe", path, *arguments)
    answer = json.loads(text[text.index("{") :])
    assert isinstance(answer, dict)
    return answer


# ---- status codes ----------------------------------------------------------------------------------------------------


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


# ---- memory and runs -------------------------------------------------------------------------------------------------


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


# ---- strict mode -----------------------------------------------------------------------------------------------------

MISUSES = {
    "init-before-sys": "wrong order",
    "devices-before-init": "wrong order",
    "uninit-without-init": "wrong order",
    "uninit-with-context": "wrong order",
    "sys-exit-before-uninit": "wrong order",
    "context-before-unload": "wrong order",
    "process-before-set-inout": "wrong order",
    "batch-after-set-inout": "wrong order",
    "batch-does-not-fit": "packing",
    "alignment": "alignment",
    "packing": "packing: output 1 is bound",
    "foreign-address": "foreign address",
    "foreign-weights": "foreign address",
    "small-workspace": "the workspace has 8 bytes",
    "unmapped-input": "unmapped address",
    "weights-overwritten": "weights were overwritten",
    "memory-before-unload": "unmapped before the graph is unloaded",
    "unload-while-running": "unloaded while it runs",
    "release-running-event": "released while its job runs",
    "free-twice": "freed twice",
    "free-while-mapped": "while it is mapped",
    "unmap-twice": "unmapped twice",
    "flush-foreign": "not in one mapping",
    "leak-block": "leak at exit: block 'forgotten'",
    "leak-context": "leak at exit",
    "leak-graph": "leak at exit: 1 graph(s)",
    "leak-event": "leak at exit: 1 event(s)",
}
CRASHES = {
    "process-after-unload": "used after it was unloaded",
    "null-context": "is no context",
    "event-after-release": "used after it was released",
}


@pytest.mark.parametrize("case", [*MISUSES, *CRASHES])
def test_strict_mode(programs: Programs, model: Path, case: str) -> None:
    result = programs.run("misuse", case, model, strict=1, latency_us=20000, quiet=1)
    assert result.returncode == MISUSE, result.stderr
    lines = [line for line in result.stderr.splitlines() if line.startswith("xmedia-sim")]
    assert len(lines) == 1
    assert (MISUSES | CRASHES)[case] in lines[0]


@pytest.mark.parametrize("case", CRASHES)
def test_crashes(native: Programs, model: Path, case: str) -> None:
    result = native.run("misuse", case, model)
    assert result.returncode == ABORTED
    assert CRASHES[case] in result.stderr


@pytest.mark.parametrize("case", sorted(set(MISUSES) - {"unmapped-input"}))
def test_otherwise_the_runtime_goes_on(native: Programs, model: Path, case: str) -> None:
    """Without strict mode a misuse has the status that the board's library gives."""
    result = native.run("misuse", case, model)
    # 1: the test's own clean-up meets what the misuse left.
    assert result.returncode in (0, 1), result.stderr
    assert "misuse" not in result.stderr


def test_right_use_passes(programs: Programs, model: Path) -> None:
    result = programs.run("misuse", "nothing", model, strict=1)
    assert result.returncode == 0, result.stderr


# ---- faults and figures ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["abort", "timeout", "abort:1,abort:2"])
def test_jobs_that_fail(programs: Programs, model: Path, fault: str) -> None:
    programs.passes("asynchronous", "fails", model, fault=fault, poll_us=100)


def test_runs_that_are_refused(programs: Programs, model: Path) -> None:
    programs.passes("asynchronous", "refused", model, fault="process")


#: By fault: what the program complains about.
FAULTS = {
    "sys": "xmedia_sys_init",
    "init": "xmedia_cl_init: fault injected",
    "devices": "xmedia_cl_create_context",
    "context": "xmedia_cl_create_context: fault injected",
    "query": "xmedia_cl_graph_query",
    "alloc:1": "no room for 'test' of",
    "alloc:5": "no room for 'Npu_Module'",
    "map:2": "xmedia_mmz_map",
    "map:5": "no memory for the module: -6",
    "load": "xmedia_cl_graph_loadmodel: .*: -65",
    "tensors": "xmedia_cl_graph_get_input: fault injected: -30",
    "setinout": "xmedia_cl_graph_set_inout: fault injected: -30",
    "flush": "xmedia_mmz_flush_cache: fault injected: -1",
    "process:1": "xmedia_cl_graph_process: fault injected: -67",
    "abort:1": "aborted",
    "timeout:1": "given up",
    "unload": "xmedia_cl_graph_unload: fault injected: -67",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(native: Programs, model: Path, fault: str) -> None:
    result = native.run("misuse", "nothing", model, fault=fault, poll_us=10)
    assert result.returncode == 1
    assert re.search(FAULTS[fault], result.stderr), result.stderr


@pytest.mark.parametrize("fault", ["process:2", "alloc:99"])
def test_faults_that_are_not_reached(native: Programs, model: Path, fault: str) -> None:
    native.passes("misuse", "nothing", model, fault=fault)


@pytest.mark.parametrize(
    "variables",
    [{"fault": "aloc"}, {"fault": "alloc:x"}, {"fault": "alloc:0"}, {"mmz_mb": "lots"}, {"latency_us": -1}],
    ids=str,
)
def test_settings_that_are_wrong(native: Programs, model: Path, variables: dict[str, object]) -> None:
    result = native.run("misuse", "nothing", model, **variables)
    assert result.returncode == MISUSE
    assert "XMEDIA_SIM_" in result.stderr


def test_summary(programs: Programs, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "summary.txt"
    programs.passes("runs", "batch", model, summary=file)
    text = file.read_text(encoding="utf-8")
    assert "mmz zone: 0x42000000, 229376 kB" in text
    # Code, workspace, weights, inputs, outputs: a page each.
    assert "mmz used: 0 kB, peak 20 kB" in text
    assert "mmz blocks: 5 allocated, 0 refused, 5 mapped" in text
    assert f"model {model}: code 16, weights 32, workspace 304, input 56, output 24" in text
    assert "runs 1, jobs 3, failed 0; outputs from reference 0, golden 0, pattern 3" in text
    assert "leaks: 0" in text
    result = programs.run("misuse", "leak-block", model, summary=1)
    assert result.returncode == 0
    assert "leaks: 1\n  block 'forgotten' of 8 bytes at 0x42000000" in result.stderr


@pytest.mark.slow
def test_shared_libraries(tmp_path: Path, model: Path) -> None:
    build(tmp_path / "build", "-DXMEDIA_SIM_SHARED=ON")
    programs = Programs(tmp_path / "build")
    assert sorted(path.name for path in (tmp_path / "build" / "simulator").glob("*.so")) == [
        "libxmedia_cl.so",
        "libxmedia_common.so",
        "libxmedia_flatcc.so",
        "libxmedia_npu.so",
    ]
    programs.passes("runs", "usual", model)
    path = saved(tmp_path, XmmSpec([TensorSpec([3], "input"), TensorSpec([5], "output"), TensorSpec([8], "workspace")]))
    assert "in 65\n" in programs.passes("linked", path, stdin=b"AAA")
    result = programs.run("misuse", "leak-graph", model, strict=1)
    assert result.returncode == MISUSE
