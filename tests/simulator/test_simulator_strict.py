# SPDX-License-Identifier: EPL-2.0
"""Strict mode of the simulator, injected faults, settings, summary."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.simulator import ABORTED, MISUSE, Programs, build, saved

from aidge_export_gk7206.npu.writer import TensorSpec, XmmSpec

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


@pytest.mark.parametrize("case", ["nothing", "global"])
def test_right_use_passes(programs: Programs, model: Path, case: str) -> None:
    result = programs.run("misuse", case, model, strict=1)
    assert result.returncode == 0, result.stderr


# ---- faults and figures ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["abort", "timeout", "abort:1,abort:2"])
def test_jobs_that_fail(programs: Programs, model: Path, fault: str) -> None:
    programs.passes("asynchronous", "fails", model, fault=fault, poll_us=100)


def test_jobs_that_never_end(programs: Programs, model: Path) -> None:
    programs.passes("asynchronous", "hangs", model, fault="hang")


def test_callbacks_that_wait(programs: Programs, model: Path) -> None:
    result = programs.run("asynchronous", "waits-for-itself", model, latency_us=50000)
    assert result.returncode == ABORTED
    assert "inside a callback never returns" in result.stderr


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
def test_settings_that_are_wrong(native: Programs, model: Path, variables: dict[str, Any]) -> None:
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
