# SPDX-License-Identifier: EPL-2.0
"""The command line: arguments, exit codes, messages, and what it prints."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy_export

from aidge_export_gk7206 import cli, export_process
from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.export_folder import UNFINISHED_FILE

ENTRY = [sys.executable, str(toy_export.ROOT / "aidge_gk7206_cli.py")]
REPORT = {
    "folder": "elsewhere",
    "target": "k230",
    "nodes": [
        {"name": "conv", "type": "Conv+Relu", "library": "export_xnnpack", "reason": ""},
        {"name": "erf", "type": "Erf", "library": "export_cpp", "reason": "export_xnnpack has no operator for Erf"},
    ],
    "arena_bytes": 1024,
    "weights_bytes": 2048,
    "macs": 4096,
    "memory": {"linux": {"weights": 2048, "packed": 2048, "arena": 1024, "total": 5120, "capacity": 502083584}},
    "steps": {"prepare": 12.3, "compile": 4000.0},
    "warnings": ["something odd"],
}


class Command:
    """Runs the command line in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = ""
        self.err = ""

    def __call__(self, *arguments: str | Path) -> int:
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        self.out, self.err = self._capsys.readouterr()
        return code

    def json(self) -> Any:
        return json.loads(self.out)

    def assert_error(self, *parts: str) -> None:
        """One line on stderr that holds the parts, nothing on stdout."""
        assert self.out == ""
        assert self.err.startswith("aidge-gk7206: error: ")
        assert self.err.count("\n") == 1
        for part in parts:
            assert part in self.err


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(capsys)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_export.make_export(tmp_path_factory.mktemp("toy"))


@pytest.fixture
def toy(compiled: Path, tmp_path: Path) -> Path:
    """A toy export that a test may change."""
    return shutil.copytree(compiled, tmp_path / "toy")


# ---- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "bundle", "doctor", "run", "validate", "xnnpack", "xnnpack build"])
def test_help_fits_on_a_screen(command: Command, name: str) -> None:
    assert command(*name.split(), "--help") == 0
    assert len(command.out.splitlines()) <= 40
    assert max(map(len, command.out.splitlines())) <= 80


def test_help_of_export_fits_on_two_screens(command: Command) -> None:
    """Half of it is Aidge's options."""
    assert command("export", "--help") == 0
    assert len(command.out.splitlines()) <= 60
    assert max(map(len, command.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND: see aidge-gk7206 --help"),
        (["fly"], "invalid choice: 'fly'"),
        (["run"], "required: DIR: see aidge-gk7206 run --help"),
        (["run", "x", "--fast"], "unrecognized arguments: --fast"),
        (["run", "x", "--iter", "3"], "unrecognized arguments: --iter 3"),
        (["run", "x", "--on", "moon"], "invalid choice: 'moon'"),
        (["run", "x", "--iterations", "0"], "'0' is not a whole number from 1"),
        (["run", "x", "--warmup", "-1"], "--warmup"),
        (["run", "x", "--timeout", "nan"], "'nan' is not a positive number"),
        (["run", "x", "--input"], "--input: expected at least one argument"),
        (["export", "m.onnx", "--dtype", "int4"], "invalid choice: 'int4'"),
        (["bundle", "m.onnx", "-o", "out"], "required: --calibration"),
        (["bundle", "m.onnx", "--calibration", "x"], "required: -o"),
        (["xnnpack"], "required: COMMAND"),
        (["xnnpack", "build"], "required: --arch"),
    ],
)
def test_wrong_arguments(command: Command, arguments: list[str], message: str) -> None:
    assert command(*arguments) == 2
    command.assert_error(message)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--help"], ["xnnpack", "build", "--help"], ["run", "toy"], ["validate", "toy"]])
def test_starts_at_once(toy: Path, arguments: list[str]) -> None:
    def seconds() -> float:
        # Of processor time, which a busy machine does not lengthen.
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    begin = seconds()
    subprocess.run([*ENTRY, *arguments], check=True, capture_output=True, cwd=toy.parent)
    assert seconds() - begin < 0.5


# ---- run -------------------------------------------------------------------------------------------------------------


def test_run(command: Command, toy: Path) -> None:
    assert command("run", toy, "--iterations", "3", "--profile") == 0
    lines = command.out.splitlines()
    assert lines[0] == "toy for host on host"
    assert 'scaled:0 "é"  1x2x2x3  -8.5 -6.5 -4.5 -2.5 -0.5 ...' in command.out
    assert "(3 runs)" in command.out
    assert any(line.split()[:1] == ["scale_1"] for line in lines)


def test_run_json(command: Command, toy: Path) -> None:
    assert command("run", toy, "--json", "--on", "host") == 0
    answer = command.json()
    assert (answer["runner"], answer["target"], answer["iterations"]) == ("host", "host", 1)
    assert answer["outputs"][1] == {"name": "ramp", "shape": [1, 120]}


def test_run_with_inputs_and_output(command: Command, toy: Path) -> None:
    image = np.random.default_rng(0).standard_normal(toy_export.IMAGE_SHAPE).astype(np.float32)
    scale = np.array([[5.0, 7.0]], np.float32)
    np.save("image.npy", image)
    np.save("scale.npy", scale)
    assert command("run", toy, "--input", "image.npy", "scale.npy", "--output", "out.npz") == 0
    with np.load("out.npz") as archive:
        assert archive.files == ['scaled:0 "é"', "ramp"]
        np.testing.assert_array_equal(archive[archive.files[0]], toy_export.expected(image, scale)[0])


def test_run_with_bad_inputs(command: Command, toy: Path) -> None:
    np.save("image.npy", np.zeros((1, 3, 2, 2), np.float32))
    np.save("scale.npy", np.zeros((1, 2), np.float32))
    assert command("run", toy, "--input", "image.npy", "--output", "out.npz") == 1
    command.assert_error("1 inputs for the model's 2")
    assert command("run", toy, "--input", "image.npy", "scale.npy", "--output", "out.npz") == 1
    command.assert_error("input 'image' (image.npy) has shape [1, 3, 2, 2]: the model's is [1, 2, 2, 3]")
    assert command("run", toy, "--input", "image.npy", "none.npy", "--output", "out.npz") == 1
    command.assert_error("no file 'none.npy'")
    assert not Path("out.npz").exists()


def test_run_with_a_bad_output(command: Command, toy: Path) -> None:
    assert command("run", toy, "--output", "no/where.npz") == 2
    command.assert_error("no folder for 'no/where.npz'")
    for place in (toy, "/proc/x"):
        assert command("run", toy, "--output", place) == 2
        command.assert_error("cannot write", "choose another --output")


def test_validate_of_a_damaged_export(command: Command, toy: Path) -> None:
    file = toy / "reference" / "output_0.npy"
    file.write_bytes(b"")
    assert command("validate", toy) == 1
    command.assert_error("is damaged: cannot read", ": export the model again")
    file.unlink()
    assert command("validate", toy) == 1
    command.assert_error("is damaged: no file", ": export the model again")


def test_run_of_something_else(command: Command, toy: Path) -> None:
    assert command("run", "nowhere") == 1
    command.assert_error("no folder 'nowhere': make it with")
    assert command("run", ".") == 1
    command.assert_error("is not an export")
    (toy / "build" / "run_export").unlink()
    assert command("run", toy) == 1
    command.assert_error("no build/run_export in", "cmake --build build (or export again without --no-compile)")
    assert command("run", toy, "--on", "qemu") == 1
    command.assert_error("use --on host")


def test_run_of_a_failing_program(command: Command, toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_FAULT", "init")
    assert command("run", toy, "--json") == 1
    command.assert_error("run_export on host failed: model 'toy' does not start: layer 'scale_1'")


# ---- validate --------------------------------------------------------------------------------------------------------


def test_validate(command: Command, toy: Path) -> None:
    assert command("validate", toy) == 0
    assert command.out.splitlines()[-1] == "passed"
    assert "reference: onnxruntime 1.32.0" in command.out
    assert command("validate", toy, "--json") == 0
    answer = command.json()
    assert list(answer) == ["target", "runner", "xnnpack", "libraries", "outputs", "passed"]
    assert list(answer["outputs"][0]) == ["name", "shape", "max_abs_diff", "max_abs_reference", "cosine"]
    assert answer["passed"] is True


def test_validate_fails_on_a_difference(command: Command, toy: Path) -> None:
    file = toy / "reference" / "output_0.npy"
    np.save(file, np.load(file) + np.float32(0.01))
    assert command("validate", toy) == 1
    assert command.out.splitlines()[-1] == "FAILED"
    assert command("validate", toy, "--json") == 1
    assert command.json()["passed"] is False


def test_validate_fails_on_nan(command: Command, toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_FAULT", "nan")
    assert command("validate", toy, "--json") == 1
    answer = command.json()
    assert (answer["passed"], answer["outputs"][1]["max_abs_diff"]) == (False, None)
    assert "output 'ramp' holds 1 values that are infinite or not a number" in command.err


# ---- export ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def fake_export(monkeypatch: pytest.MonkeyPatch, command: Command) -> list[export_process.Request]:
    """Exports that make an empty folder."""
    Path("my-net 1.onnx").write_bytes(b"")
    requests: list[export_process.Request] = []

    def export(request: export_process.Request, progress: Callable[[str], None]) -> dict[str, Any]:
        requests.append(request)
        folder = Path(request.config["export_folder"])
        folder.mkdir(exist_ok=True)
        (folder / "main.cpp").touch()
        progress("prepare")
        if request.debug:
            raise ExportError("broken on purpose")
        (folder / "export.json").touch()
        return dict(REPORT)

    monkeypatch.setattr(export_process, "export_in_process", export)
    return requests


def test_export(command: Command, fake_export: list[export_process.Request]) -> None:
    np.save("x.npy", np.zeros(3))
    arguments = ["--target", "k230", "--xnn", "--no-compile", "--build-jobs", "2", "--shape", "x=1,3", "--shape", "2x4"]
    assert command("export", "my-net 1.onnx", "--input", "x.npy", *arguments) == 0
    (request,) = fake_export
    assert (request.model, request.sample) == (Path("my-net 1.onnx"), Path("x.npy"))
    assert request.shapes == {"x": [1, 3], "": [2, 4]}
    assert request.config == {
        "target": "k230",
        "export_folder": "export_my_net_1_float32_k230",
        "dtype": "float32",
        "heuristic": "nb_op",
        "legacy": False,
        "static_analysis": None,
        "xnn": True,
        "cuda": False,
        "compile": False,
        "build_jobs": 2,
        "clone_model": False,
    }
    assert command.err == "aidge-gk7206: prepare ...\naidge-gk7206: warning: something odd\n"
    assert "layers   1 by export_cpp, 1 by export_xnnpack" in command.out
    assert "export_xnnpack has no operator for Erf" in command.out


def test_export_json(command: Command, fake_export: list[export_process.Request]) -> None:
    assert command("export", "my-net 1.onnx", "-o", "out", "--json") == 0
    keys = ("target", "nodes", "arena_bytes", "weights_bytes", "macs", "memory")
    assert command.json() == {"folder": "out", **{key: REPORT[key] for key in keys}}


def test_export_replaces_only_exports(command: Command, fake_export: list[export_process.Request]) -> None:
    Path("mine").mkdir()
    Path("mine/precious.txt").touch()
    Path("file").touch()
    assert command("export", "my-net 1.onnx", "-o", "mine") == 2
    command.assert_error("the folder 'mine' holds something other than an export: choose another with -o")
    assert command("export", "my-net 1.onnx", "-o", "file") == 2
    command.assert_error("'file' is a file")
    assert command("export", "my-net 1.onnx", "-o", "file/below") == 2
    command.assert_error("cannot make the folder 'file/below'", "choose another with -o")
    assert command("export", "my-net 1.onnx", "-o", "/proc/new") == 2
    command.assert_error("cannot write to '/proc'", "choose another folder with -o")
    assert command("export", "my-net 1.onnx", "-o", "") == 2
    command.assert_error("the name of a folder is empty")
    assert not fake_export
    Path("empty").mkdir()
    assert command("export", "my-net 1.onnx", "-o", "empty") == 0
    assert command("export", "my-net 1.onnx", "-o", "empty") == 0


def test_an_export_that_fails_may_be_repeated(command: Command, fake_export: list[export_process.Request]) -> None:
    assert command("export", "my-net 1.onnx", "-o", "out", "--debug") == 1
    assert command.err.endswith("aidge-gk7206: error: broken on purpose\n")
    assert "Traceback" in command.err
    assert Path("out", UNFINISHED_FILE).is_file()
    assert command("run", "out") == 1
    command.assert_error("the export in 'out' did not finish")
    assert command("export", "my-net 1.onnx", "-o", "out") == 0


def test_export_of_nothing(command: Command, fake_export: list[export_process.Request]) -> None:
    assert command("export", "none.onnx") == 2
    command.assert_error("no file 'none.onnx'")
    assert command("export", "my-net 1.onnx", "--input", "none.npy") == 2
    command.assert_error("no file 'none.npy'")
    for shape in ("", "x=", "1,,3", "0,3", "x=1,-3"):
        assert command("export", "my-net 1.onnx", "--shape", shape) == 2
        command.assert_error(f"--shape '{shape}' is not a shape")
    assert command("export", "my-net 1.onnx", "--shape", "x=1", "--shape", "x=2") == 2
    command.assert_error("--shape names 'x' twice")
    assert not fake_export


# ---- how it ends -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("two\nlines"), "two lines (ValueError): --debug shows more"),
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device (OSError)"),
        (ModuleNotFoundError("No module named 'numpy'"), "No module named 'numpy': pip install it where"),
        (AssertionError(), "no message (AssertionError)"),
    ],
)
def test_unforeseen_errors(command: Command, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str) -> None:
    def fail(options: object) -> int:
        raise error

    monkeypatch.setattr(cli.commands, "run", fail)
    assert command("run", "x") == 1
    command.assert_error(message)
    assert command("--debug", "run", "x") == 1
    assert command.err.startswith("Traceback")


def test_interruption(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.commands, "run", interrupt)
    assert command("run", "x") == 130
    assert command.err == "aidge-gk7206: interrupted\n"


def test_interruption_by_a_signal(toy: Path) -> None:
    environment = {**os.environ, "TOY_FAULT": "hang"}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        process = subprocess.Popen([*ENTRY, "run", str(toy)], stderr=subprocess.PIPE, text=True, env=environment)
    finally:
        signal.signal(signal.SIGINT, before)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not children.read_text():  # the program has not started yet
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, err) == (130, "aidge-gk7206: interrupted\n")


def test_a_closed_pipe_is_quiet(toy: Path) -> None:
    receiver, sender = os.pipe()
    os.close(receiver)
    result = subprocess.run([*ENTRY, "run", str(toy)], stdout=sender, stderr=subprocess.PIPE, text=True, check=False)
    os.close(sender)
    assert (result.returncode, result.stderr) == (1, "")
