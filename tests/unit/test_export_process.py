# SPDX-License-Identifier: EPL-2.0
"""Crashes, exits and errors of the process that exports become one error message."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.export_process import Request, export_in_process

SAY = """
import json, os, signal, sys
request = json.load(sys.stdin)
def say(**answer):
    os.write(int(sys.argv[1]), (json.dumps(answer) + "\\n").encode())
"""

# The real process, with an export of our own in it.
WORKER = """
import os, sys, types
exporting = types.ModuleType("aidge_export_gk7206.exporting")
exec(os.environ["TEST_EXPORT"], exporting.__dict__)
sys.modules[exporting.__name__] = exporting
from aidge_export_gk7206 import _worker
_worker.main()
"""


def run(tmp_path: Path, script: str, progress: list[str] | None = None, **changes: Any) -> dict[str, Any]:
    request = Request(tmp_path / "model.onnx", {"export_folder": "out", "target": "host"}, **changes)
    steps = progress if progress is not None else []
    return export_in_process(request, steps.append, (sys.executable, "-c", script))


def test_report_progress_and_logs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    progress: list[str] = []
    script = SAY + 'print("a log"); say(progress="one"); say(progress="two"); say(report=[request, os.getcwd()])'
    request, folder = run(tmp_path, script, progress, shapes={"x": [1, 3]})
    assert request == {
        "command": "export",
        "model": str(tmp_path / "model.onnx"),
        "config": {"export_folder": str(tmp_path / "out"), "target": "host"},
        "sample": None,
        "shapes": {"x": [1, 3]},
        "npu": None,
        "force": False,
        "debug": False,
    }
    assert progress == ["one", "two"]
    assert capsys.readouterr().err == "a log\n"
    assert folder != str(tmp_path)
    assert not Path(folder).exists()


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGFPE", "SIGKILL"])
def test_a_signal(tmp_path: Path, name: str) -> None:
    script = SAY + f'say(progress="adapt"); os.kill(os.getpid(), signal.{name})'
    with pytest.raises(ExportError, match=f"Aidge died of {name} in step 'adapt'.*: a defect of Aidge"):
        run(tmp_path, script)


def test_a_signal_without_xnnpack_names_the_other_way(tmp_path: Path) -> None:
    script = SAY + 'say(progress="adapt"); os.kill(os.getpid(), signal.SIGFPE)'
    with pytest.raises(ExportError, match=r"died of SIGFPE in step 'adapt': .*: export with XNNPACK \(--xnn\)"):
        run(tmp_path, script)


def test_what_the_error_says_is_not_said_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    noise = "a log\\n\\n[\\x1b[91mERROR\\x1b[0m] - Assertion failed\\nCMake Error: CMAKE_CXX_COMPILER not set"
    with pytest.raises(ExportError, match="broken"):
        run(tmp_path, SAY + f'print("{noise}"); say(error={{"type": "", "message": "broken"}})')
    assert capsys.readouterr().err == "a log\n"
    run(tmp_path, SAY + f'print("{noise}"); say(report={{}})')
    assert "Assertion failed" in capsys.readouterr().err


def test_an_exit_that_claims_success(tmp_path: Path) -> None:
    fatal = r"\x1b[95mFATAL\x1b[0m"
    script = SAY + f'say(progress="adapt"); print("[{fatal}] - no module\\n[{fatal}]   x"); sys.exit(0)'
    with pytest.raises(ExportError, match=r"gave up with exit code 0 in step 'adapt' \(no module x\): --debug"):
        run(tmp_path, script)


def test_a_crash_after_the_report(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="died of SIGABRT"):
        run(tmp_path, SAY + "say(report={}); os.abort()")


def test_a_process_that_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="gave up with exit code 5 in step 'starting'"):
        run(tmp_path, "import sys; sys.exit(5)")


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("", "layer 'c' (Conv): 3-D: reshape it", "layer 'c' (Conv): 3-D: reshape it"),
        ("RuntimeError", "Assertion failed:\nmany\nlines", "Assertion failed (RuntimeError in step 'adapt'): --debug"),
        ("KeyError", "", "no message (KeyError in step 'adapt')"),
        (
            "RuntimeError",
            "Failed to build export: cmake -B build\n\nBuild output:\n-- x\n"
            "CMake Error at cmake/a.toolchain:7 (message):\n  no compiler found.  Install one:\n\n"
            "    sudo apt-get install clang-19\n\n"
            "Call Stack (most recent first):\n",
            "cannot compile the export: no compiler found: sudo apt-get install clang-19",
        ),
        (
            "RuntimeError",
            "Failed to build export: cmake -B build\n\nCMake Error at CMakeLists.txt:6 (project):\n"
            "  No CMAKE_CXX_COMPILER could be found.\n",
            "cannot compile the export: no C++ compiler for this machine on the PATH: sudo apt-get install g++",
        ),
        (
            "RuntimeError",
            "Failed to build export: cmake --build build\n\nmain.cpp:3:1: error: expected ';'\n  3 | x\nninja: stopped",
            "cannot compile the export: main.cpp:3:1: error: expected ';'",
        ),
    ],
)
def test_errors(tmp_path: Path, kind: str, message: str, expected: str) -> None:
    error = json.dumps({"type": kind, "message": message})
    with pytest.raises(ExportError) as caught:
        run(tmp_path, SAY + f'say(progress="adapt"); say(error=json.loads({error!r}))')
    assert str(caught.value).startswith(expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("export", "expected"),
    [
        ("import ctypes; progress('adapt'); ctypes.string_at(0)", "died of SIGSEGV in step 'adapt'"),
        ("progress('adapt'); exit()", "gave up with exit code 0 in step 'adapt'"),
        ("import aidge_core; aidge_core.Log.fatal('no module x'); exit()", r"\(no module x\)"),
        (
            "from aidge_export_gk7206.errors import ExportError; raise ExportError('what (where)', 'mend')",
            r"^what \(where\): mend$",
        ),
        ("raise ValueError('odd')", r"^odd \(ValueError in step 'loading Aidge'\)"),
    ],
)
def test_the_real_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, export: str, expected: str) -> None:
    signature = "model, config, *, sample=None, shapes=None, npu=None, force=False, progress=None"
    monkeypatch.setenv("TEST_EXPORT", f"def export_model({signature}): {export}")
    with pytest.raises(ExportError, match=expected):
        run(tmp_path, WORKER)


@pytest.mark.slow
def test_the_real_process_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "TEST_EXPORT",
        """
import dataclasses, numpy, pathlib
@dataclasses.dataclass
class Report:
    folder: object
    macs: object
    seen: object
def export_model(model, config, *, sample=None, shapes=None, npu=None, force=False, progress=None):
    return Report(pathlib.Path("x"), numpy.int64(7), [model, config.target, sample, shapes])
""",
    )
    assert run(tmp_path, WORKER, shapes={"": [1]}) == {
        "folder": "x",
        "macs": 7,
        "seen": [str(tmp_path / "model.onnx"), "host", None, {"": [1]}],
    }


@pytest.mark.slow
def test_interruption_ends_the_process(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"

    def interrupt(step: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    script = SAY + f'open({str(pid_file)!r}, "w").write(str(os.getpid())); say(progress="adapt"); signal.pause()'
    request = Request(tmp_path / "model.onnx", {"export_folder": "out"})
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            export_in_process(request, interrupt, (sys.executable, "-c", script))
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)
