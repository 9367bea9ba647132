# SPDX-License-Identifier: EPL-2.0
"""The session class on the simulator: what it does, and every stage made to fail once."""

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.cplusplus import BUILDS, Build
from support.missing import need_program
from support.npu_models import write_models
from support.sharing import once, shared_folder

from aidge_export_gk7206.assets import asset

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "tests" / "session"
ARCHITECTURES = ["host", "cortex-a7"]
STRICT = {"XMEDIA_SIM_STRICT": "1"}
REUSING = [f"reuse{reuse}{padded}" for reuse in (1, 2, 3) for padded in ("", "padded")]

pytestmark = pytest.mark.slow


@dataclass
class Programs:
    """The compiled scenarios of one architecture, in a folder with the models."""

    folder: Path
    build: Build

    def run(self, program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [*self.build.emulator, str(self.folder / program), *arguments]
        env = {**os.environ, "XMEDIA_SIM_QUIET": "1", **environment}
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=env, cwd=self.folder / "models", timeout=300
        )

    def passes(self, program: str, *arguments: str, **environment: str) -> str:
        """What a scenario prints; it must find nothing wrong."""
        result = self.run(program, *arguments, **environment)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout


def build_programs(build: Build, folder: Path) -> None:
    """The simulator, once, and both programs with it."""
    cmake, ninja = need_program("cmake"), need_program("ninja")
    models = write_models(folder / "models")
    need_program(build.compiler, *build.packages[:1])
    flags = " ".join(build.options)
    configure = [cmake, "-S", ROOT / "simulator", "-B", folder / "simulator", "-G", "Ninja"]
    configure += [
        f"-DCMAKE_MAKE_PROGRAM={ninja}",
        f"-DCMAKE_CXX_COMPILER={build.compiler}",
        f"-DCMAKE_CXX_FLAGS={flags}",
    ]
    for command in (configure, [cmake, "--build", folder / "simulator"]):
        made = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stdout + made.stderr
    names = ["xmedia_cl", "xmedia_npu", "xmedia_flatcc", "xmedia_common"]
    libraries = [str(folder / "simulator" / f"lib{name}.a") for name in names]
    includes = ["-I", asset("runtime"), "-I", ROOT / "simulator" / "include", "-I", models]
    reference = SOURCES / "session_reference.cpp"
    for name, options in {
        "runs": [],
        "failures": [],
        "no_input_flush": ["-DEXPORT_XMEDIA_TEST_NO_FLUSH=1"],
        "no_output_flush": ["-DEXPORT_XMEDIA_TEST_NO_FLUSH=2"],
    }.items():
        source = SOURCES / f"session_{'failures' if name == 'failures' else 'runs'}.cpp"
        build.compile([*options, *includes, source, reference, *libraries, "-lpthread", "-ldl"], folder / name)


@pytest.fixture(scope="session")
def programs_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Programs]:
    """The programs of an architecture, compiled when the first test wants them."""

    def make(name: str) -> Programs:
        build = BUILDS[name]
        folder = once(shared_folder(tmp_path_factory) / f"session-{name}", lambda to: build_programs(build, to))
        return Programs(folder, build)

    return make


@pytest.fixture(params=ARCHITECTURES)
def programs(request: pytest.FixtureRequest, programs_of: Callable[[str], Programs]) -> Programs:
    return programs_of(request.param)


@pytest.mark.parametrize("strict", [{}, STRICT], ids=["usual", "strict"])
@pytest.mark.parametrize("model", ["plain", "padded", *REUSING])
def test_runs(programs: Programs, model: str, strict: dict[str, str]) -> None:
    """Cached and uncached, memory of the session's own, the library's, or shared."""
    programs.passes("runs", "runs", model, **strict)


@pytest.mark.parametrize("model", ["plain", "reuse3padded"])
def test_asynchronous_runs_are_like_the_others(programs: Programs, model: str) -> None:
    programs.passes("runs", "async", model, **STRICT)


@pytest.mark.parametrize("scenario", ["batches", "two_models", "types", "in_place", "left_open"])
def test_scenario(programs: Programs, scenario: str) -> None:
    programs.passes("runs", scenario, **STRICT)


@pytest.mark.parametrize("scenario", ["misuse", "mismatches", "too_small"])
def test_refusals(programs: Programs, scenario: str) -> None:
    programs.passes("failures", scenario, **STRICT)


@pytest.mark.parametrize("flush", ["input", "output"])
@pytest.mark.parametrize("model", ["plain", *REUSING])
def test_a_missing_flush_is_seen(programs: Programs, flush: str, model: str) -> None:
    """A mutation: the tests above would not pass without the session's flushes."""
    result = programs.run(f"no_{flush}_flush", "once", model, **STRICT)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "not so: outputs are those of these inputs" in result.stdout


FAULTS = {
    "sys:1": (-1, "stage 1, system initialization: xmedia_sys_init: XMEDIA_FAILURE (-1): is the driver loaded?"),
    "init:1": (
        -67,
        "stage 1, system initialization: xmedia_cl_init: XMEDIA_CL_CALL_INTERFUNC_ERR (-67): is the driver",
    ),
    "devices:1": (0, "stage 2, device and context: xmedia_cl_get_device_ids: 1 devices, CPU and NPU are at least 2"),
    "context:1": (-6, "stage 2, device and context: xmedia_cl_create_context: XMEDIA_CL_OUT_OF_HOST_MEMORY (-6)"),
    "query:1": (-65, "stage 3, query of memory sizes: xmedia_cl_graph_querysize_from_file: XMEDIA_CL_READ_MODEL_FAIL"),
    "query:2": (-65, "stage 3, query of memory sizes: xmedia_cl_graph_query_model_info_from_file"),
    "alloc:1": (
        -1,
        "stage 4, allocation of MMZ memory: xmedia_mmz_alloc: no 4096 bytes for 'npu_workspace': MMZ is full",
    ),
    "alloc:2": (-1, "stage 4, allocation of MMZ memory: xmedia_mmz_alloc: no 64 bytes for 'npu_weight'"),
    "alloc:3": (-6, "stage 5, loading the model: xmedia_cl_graph_loadmodel_from_file_withmem: XMEDIA_CL_OUT_OF_HOST"),
    "alloc:4": (-1, "stage 4, allocation of MMZ memory: xmedia_mmz_alloc: no 104 bytes for 'input'"),
    "alloc:5": (-1, "stage 4, allocation of MMZ memory: xmedia_mmz_alloc: no 112 bytes for 'output'"),
    "map:1": (-1, "stage 4, allocation of MMZ memory: xmedia_mmz_map: no 4096 bytes for 'npu_workspace'"),
    "map:2": (-1, "stage 4, allocation of MMZ memory: xmedia_mmz_map: no 64 bytes for 'npu_weight'"),
    "map:4": (-1, "stage 4, allocation of MMZ memory: xmedia_mmz_map: no 104 bytes for 'input'"),
    "map:5": (-1, "stage 4, allocation of MMZ memory: xmedia_mmz_map: no 112 bytes for 'output'"),
    "load:1": (
        -65,
        "stage 5, loading the model: xmedia_cl_graph_loadmodel_from_file_withmem: XMEDIA_CL_READ_MODEL_FAIL",
    ),
    "tensors:1": (-30, "stage 6, inputs and outputs: xmedia_cl_graph_get_input: XMEDIA_CL_INVALID_VALUE (-30)"),
    "tensors:2": (-30, "stage 6, inputs and outputs: xmedia_cl_graph_get_input: XMEDIA_CL_INVALID_VALUE (-30)"),
    "tensors:3": (-30, "stage 6, inputs and outputs: xmedia_cl_graph_get_output: XMEDIA_CL_INVALID_VALUE (-30)"),
    "tensors:4": (-30, "stage 6, inputs and outputs: xmedia_cl_graph_get_output: XMEDIA_CL_INVALID_VALUE (-30)"),
    "setinout:1": (-30, "stage 7, inference: xmedia_cl_graph_set_inout: XMEDIA_CL_INVALID_VALUE (-30)"),
    "flush:1": (-1, "stage 7, inference: xmedia_mmz_flush_cache: XMEDIA_FAILURE (-1)"),
    "flush:2": (-1, "stage 7, inference: xmedia_mmz_flush_cache: XMEDIA_FAILURE (-1)"),
    "flush:3": (-1, "stage 7, inference: xmedia_mmz_flush_cache: XMEDIA_FAILURE (-1)"),
    "process:1": (-67, "stage 7, inference: xmedia_cl_graph_process: XMEDIA_CL_CALL_INTERFUNC_ERR (-67)"),
    "abort:1": (-67, "stage 7, inference: xmedia_cl_graph_process: XMEDIA_CL_CALL_INTERFUNC_ERR (-67): the NPU gave"),
    "timeout:1": (-67, "stage 7, inference: xmedia_cl_graph_process: XMEDIA_CL_CALL_INTERFUNC_ERR (-67): the NPU gave"),
    "unload:1": (-67, "stage 8, release: xmedia_cl_graph_unload: XMEDIA_CL_CALL_INTERFUNC_ERR (-67)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_stage_fails_once(programs: Programs, fault: str) -> None:
    """With the right message, without a leak (strict mode and sanitizers), and not twice."""
    code, message = FAULTS[fault]
    output = programs.passes("failures", "recovers", XMEDIA_SIM_FAULT=fault, XMEDIA_SIM_POLL_US="100", **STRICT)
    assert output.startswith(f"failure {code}: NPU, {message}"), output


@pytest.mark.parametrize("fault", ["setinout:1", "setinout:2", "abort:1"])
def test_runs_of_reused_memory_fail_once(programs: Programs, fault: str) -> None:
    programs.passes("failures", "recovers", "reuse3", XMEDIA_SIM_FAULT=fault, **STRICT)


def test_a_submitted_job_that_fails(programs: Programs) -> None:
    output = programs.passes("failures", "async", XMEDIA_SIM_FAULT="abort:1", **STRICT)
    assert "stage 7, inference: xmedia_cl_wait_for_events: XMEDIA_CL_WAIT_EVENT_FAILED (-56): the NPU gave" in output


def test_no_mmz_memory(programs: Programs) -> None:
    result = programs.run("failures", "recovers", XMEDIA_SIM_MMZ_MB="0", **STRICT)
    assert result.returncode == 1
    assert "xmedia_mmz_alloc: no 4096 bytes for 'npu_workspace': MMZ is full" in result.stdout


def damaged(folder: Path, damage: str) -> str:
    """A changed copy of the plain model."""
    data = bytearray((folder / "models" / "plain.xmm").read_bytes())
    DAMAGES[damage](data)
    path = folder / "models" / f"damaged-{damage}.xmm"
    path.write_bytes(data)
    return path.name


DAMAGES: dict[str, Callable[[bytearray], object]] = {
    "program": lambda data: data.__setitem__(20, data[20] ^ 1),
    "cut": lambda data: data.pop(),
    "longer": lambda data: data.append(0),
    "magic": lambda data: data.__setitem__(0, 0),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files(programs: Programs, damage: str) -> None:
    name = damaged(programs.folder, damage)
    output = programs.passes("failures", "open", name, **STRICT)
    differs = "bytes, the model of this program has" if damage in ("cut", "longer") else "has the CRC-32"
    assert f"NPU, check of the model file: '{name}'" in output
    assert differs in output
    if damage != "longer":  # which the library does not mind
        output = programs.passes("failures", "unchecked", name, **STRICT)
        assert ("READ_MODEL_FAIL (-65)" if damage == "cut" else "INVALID_MODEL (-64)") in output


@pytest.mark.parametrize("name", ["missing.xmm", "/dev/null", "."])
def test_what_is_no_file(programs: Programs, name: str) -> None:
    output = programs.passes("failures", "open", name, **STRICT)
    assert f"NPU, check of the model file: cannot read '{name}': " in output


def peak(summary: Path) -> str:
    """What the simulator says of the zone's use."""
    match = re.search(r"^mmz used: .*$", summary.read_text(encoding="utf-8"), re.MULTILINE)
    assert match is not None
    return match[0]


def test_ten_thousand_runs(programs_of: Callable[[str], Programs], tmp_path: Path) -> None:
    """Neither the process nor its share of the zone grows; a sanitizer's memory would, so without one."""
    programs = programs_of("optimised")
    uses = []
    for runs in ("100", "10000"):
        summary = tmp_path / runs
        short = {"SESSION_TEST_ANY_SIZE": "1"} if runs == "100" else {}
        programs.passes("runs", "many", runs, XMEDIA_SIM_SUMMARY=str(summary), **short)
        uses.append(peak(summary))
    assert uses[0] == uses[1]
    assert uses[0].startswith("mmz used: 0 kB")


def test_many_runs_on_the_board(programs_of: Callable[[str], Programs], tmp_path: Path) -> None:
    """QEMU's memory is not the program's: only the zone is looked at."""
    summary = tmp_path / "summary"
    programs_of("cortex-a7").passes("runs", "many", "1000", SESSION_TEST_ANY_SIZE="1", XMEDIA_SIM_SUMMARY=str(summary))
    assert peak(summary).startswith("mmz used: 0 kB")
