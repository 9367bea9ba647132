# SPDX-License-Identifier: EPL-2.0
"""The compiled program: every switch and every error, on a toy model compiled with warnings as errors."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import toy_export

Run = Callable[..., "subprocess.CompletedProcess[str]"]
SAMPLE = toy_export.sample_inputs()
QEMU = shutil.which("qemu-riscv64") or shutil.which("qemu-riscv64-static")
CROSS = shutil.which("riscv64-linux-gnu-g++")
needs_qemu = pytest.mark.skipif(not (QEMU and CROSS), reason="needs qemu-riscv64 and riscv64-linux-gnu-g++")


@pytest.fixture(scope="session")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = toy_export.write_sources(tmp_path_factory.mktemp("sanitized"))
    return toy_export.compile_project(folder, toy_export.SANITIZE)


@pytest.fixture(scope="session")
def riscv64(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = toy_export.write_sources(tmp_path_factory.mktemp("riscv64"))
    return toy_export.compile_project(folder, ["-O1"], CROSS or "")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder that holds good and bad input files."""
    monkeypatch.chdir(tmp_path)
    SAMPLE[0].tofile("image.bin")
    SAMPLE[1].tofile("scale.bin")
    Path("short.bin").write_bytes(b"\0" * 7)
    Path("long.bin").write_bytes(b"\0" * 9)
    Path("folder").mkdir()
    yield tmp_path


def runner(command: list[str]) -> Run:
    def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*command, *arguments], capture_output=True, text=True, env={**os.environ, **environment}, check=False
        )

    return run


@pytest.fixture
def program(files: Path, sanitized: Path) -> Run:
    return runner([str(sanitized)])


def assert_fails(result: "subprocess.CompletedProcess[str]", code: int, *parts: str) -> None:
    assert result.returncode == code
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    for part in parts:
        assert part in result.stderr


def names(folder: str | Path) -> list[str]:
    return sorted(file.name for file in Path(folder).iterdir())


def read_outputs(folder: str) -> list[np.ndarray]:
    shapes = [tuple(output["shape"]) for output in toy_export.OUTPUTS]
    return [np.fromfile(f"{folder}/output_{i}.bin", np.float32).reshape(shape) for i, shape in enumerate(shapes)]


def test_without_arguments_prints_as_aidge_does(program: Run) -> None:
    result = program()
    scaled, ramp = toy_export.expected(*SAMPLE)
    # Aidge prints the values in the order in which the program holds them: channels last.
    first = "".join(f"{value:f} " for value in scaled.transpose(toy_export.NHWC).ravel())
    second = "".join(f"{value:f} " for value in ramp.ravel()[:100])
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == (
        f"scale_1_output_0:\n{first}\nramp_output_0:\n{second}Output 1 is too large and has been truncated.\n\n"
    )


def test_input_and_output_are_in_the_onnx_layout(program: Run) -> None:
    image = np.random.default_rng(0).standard_normal(toy_export.IMAGE_SHAPE).astype(np.float32)
    scale = np.array([[3.0, -7.0]], np.float32)
    image.tofile("image.bin")
    scale.tofile("scale.bin")
    result = program("--input", "image.bin", "scale.bin", "--output", "out")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    for actual, wanted in zip(read_outputs("out"), toy_export.expected(image, scale), strict=True):
        np.testing.assert_array_equal(actual, wanted)
    assert names("out") == ["output_0.bin", "output_1.bin"]


def test_output_into_an_existing_folder(program: Run) -> None:
    Path("out").mkdir()
    Path("out/other.txt").write_text("kept")
    assert program("--output", "out/").returncode == 0
    assert names("out") == ["other.txt", "output_0.bin", "output_1.bin"]


def test_iterations(program: Run) -> None:
    lines = program("--iterations", "4", "--warmup", "2").stdout.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("init ")
    assert lines[1].startswith("forward min ")
    assert lines[1].endswith("(4 runs after 2 for warming up)")


def test_profile(program: Run) -> None:
    lines = program("--profile").stdout.splitlines()
    assert lines[2].split() == ["layer", "operator", "library", "ms", "share"]
    assert [line.split()[0] for line in lines[3:]] == ["scale_1", "ramp", "total"]


def test_json(program: Run) -> None:
    result = program("--json", "--iterations", "3", "--profile", "--output", "out")
    answer = json.loads(result.stdout)
    assert list(answer) == [
        "model", "target", "xnnpack", "vector", "init_ms", "iterations", "min_ms", "median_ms", "max_ms",
        "arena_bytes", "layers", "outputs",
    ]  # fmt: skip
    assert (answer["model"], answer["target"], answer["iterations"], answer["arena_bytes"]) == ("toy", "host", 3, 528)
    assert 0 <= answer["min_ms"] <= answer["median_ms"] <= answer["max_ms"]
    assert [layer["name"] for layer in answer["layers"]] == ["scale_1", 'ramp "1"']
    assert sum(layer["share"] for layer in answer["layers"]) == pytest.approx(1.0)
    assert answer["outputs"] == [{"name": o["name"], "shape": o["shape"]} for o in toy_export.OUTPUTS]
    assert len(read_outputs("out")) == 2


def test_json_without_profile_names_the_layers(program: Run) -> None:
    layers = json.loads(program("--json").stdout)["layers"]
    assert layers[0] == {"name": "scale_1", "operator": "Mul", "library": "export_xnnpack"}


def test_help(program: Run) -> None:
    result = program("--help")
    assert result.returncode == 0
    assert "image: float32 [1,2,2,3]" in result.stdout
    assert len(result.stdout.splitlines()) <= 24


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--iterations", "0"], "whole number from 1"),
        (["--iterations", "10x"], "not '10x'"),
        (["--iterations", "-3"], "not '-3'"),
        (["--iterations", "99999999999999999999999"], "whole number from 1 to 1000000"),
        (["--iterations", ""], "not ''"),
        (["--iterations"], "whole number"),
        (["--warmup", "1.5"], "whole number from 0"),
        (["--warmup"], "whole number"),
        (["--iterations", "2", "--iterations", "2"], "--iterations is given twice"),
        (["--warmup", "0", "--warmup", "0"], "--warmup is given twice"),
        (["--json", "--json"], "--json is given twice"),
        (["--profile", "--json", "--profile"], "--profile is given twice"),
        (["--output", "a", "--output", "b"], "--output is given twice"),
        (["--input", "image.bin", "--input", "scale.bin"], "--input is given twice"),
        (["--input"], "one file per input"),
        (["--input", "--json"], "one file per input"),
        (["--output"], "name of a folder"),
        (["--output", ""], "name of a folder"),
        (["--output", "--json"], "name of a folder"),
        (["--fast"], "unknown argument '--fast'"),
        (["image.bin"], "unknown argument 'image.bin'"),
        (["two\nlines"], "unknown argument 'two?lines'"),
        (["--input", "image.bin"], "names 1 files, the model takes 2"),
        (["--input", "image.bin", "scale.bin", "scale.bin"], "names 3 files, the model takes 2"),
        (["--input", "image.bin", "nowhere.bin"], "cannot read 'nowhere.bin': No such file"),
        (["--input", "image.bin", "folder"], "cannot read 'folder': Is a directory"),
        (["--input", "image.bin", "short.bin"], "'short.bin' has 7 bytes, input 'scale' (float32 [1,2], raw) takes 8"),
        (["--input", "image.bin", "long.bin"], "'long.bin' has 9 bytes"),
        (["--input", "image.bin", "/dev/zero"], "'/dev/zero' has more than 8 bytes"),
        (["--output", "image.bin"], "folder 'image.bin': Not a directory"),
        (["--output", "no/where"], "folder 'no/where': No such file"),
    ],
)
def test_wrong_command_lines(program: Run, files: Path, arguments: list[str], message: str) -> None:
    before = names(files)
    assert_fails(program(*arguments), 2, "run_export: ", message)
    assert names(files) == before


def test_a_wrong_input_writes_nothing(program: Run) -> None:
    assert_fails(program("--output", "out", "--input", "image.bin", "short.bin", "--json"), 2, "short.bin")
    assert not Path("out").exists()


@pytest.mark.parametrize(("fault", "message"), [("init", "out of memory"), ("forward", "invalid state")])
def test_failures_of_the_model(program: Run, fault: str, message: str) -> None:
    assert_fails(program("--json", "--output", "out", TOY_FAULT=fault), 1, "model 'toy'", "layer '", message)
    assert not Path("out").exists()


def test_a_full_disk_leaves_no_partial_output(program: Run) -> None:
    Path("out").mkdir()
    Path("out/output_1.bin").symlink_to("/dev/full")
    assert_fails(program("--output", "out"), 1, "cannot write 'out/output_1.bin': No space left")
    assert names("out") == ["output_0.bin"]


def test_a_full_standard_output_is_noticed(files: Path, sanitized: Path) -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run([str(sanitized)], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 1
    assert "standard output" in result.stderr


@pytest.mark.slow
@needs_qemu
@pytest.mark.parametrize("vlen", [128, 256])
def test_under_qemu(files: Path, riscv64: Path, vlen: int) -> None:
    cpu = f"rv64,v=true,vlen={vlen},elen=64"
    program = runner([str(QEMU), "-L", str(toy_export.SYSROOT), "-cpu", cpu, str(riscv64)])
    answer = json.loads(program("--input", "image.bin", "scale.bin", "--output", "out", "--json").stdout)
    assert answer["vector"] == f"rvv, vlen {vlen}"
    for actual, wanted in zip(read_outputs("out"), toy_export.expected(*SAMPLE), strict=True):
        np.testing.assert_array_equal(actual, wanted)


@pytest.mark.slow
@needs_qemu
def test_a_processor_without_vectors_is_refused(files: Path, riscv64: Path) -> None:
    program = runner([str(QEMU), "-L", str(toy_export.SYSROOT), "-cpu", "rv64,v=false", str(riscv64)])
    assert_fails(program(), 1, "does not offer the RISC-V vector extension")
