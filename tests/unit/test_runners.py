# SPDX-License-Identifier: EPL-2.0
"""Runners, with the toy export: on this machine, and under QEMU where it is installed."""

import dataclasses
import platform
import shutil
from pathlib import Path

import numpy as np
import pytest
import toy_export

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.export_folder import ExportFolder
from aidge_export_gk7206.runners import HostRunner, QemuRunner, RunOptions, get_runner

SAMPLE = toy_export.sample_inputs()


@pytest.fixture(scope="session")
def export(tmp_path_factory: pytest.TempPathFactory) -> ExportFolder:
    return ExportFolder.load(toy_export.make_export(tmp_path_factory.mktemp("toy")))


def fake(folder: Path, script: str) -> ExportFolder:
    """An export whose program is a shell script."""
    toy_export.write_description(folder)
    binary = folder / "build" / "run_export"
    binary.parent.mkdir()
    binary.write_text(f"#!/bin/sh\n{script}\n")
    binary.chmod(0o755)
    return ExportFolder.load(folder)


def test_host(export: ExportFolder) -> None:
    # Arrays in another order of memory mean the same tensor.
    inputs = [np.asfortranarray(SAMPLE[0]), SAMPLE[1]]
    result = HostRunner().run(export, inputs, RunOptions(warmup=1, iterations=3, profile=True))
    for actual, wanted in zip(result.outputs, toy_export.expected(*SAMPLE), strict=True):
        np.testing.assert_array_equal(actual, wanted)
    assert result.raw["iterations"] == 3
    assert 0 <= result.times_ms["min"] <= result.times_ms["median"] <= result.times_ms["max"]
    assert result.init_ms >= 0
    assert result.xnnpack is None
    assert [layer["library"] for layer in result.layers] == ["export_xnnpack", "export_cpp"]
    assert result.layers[0]["ms"] >= 0


def test_inputs_that_do_not_fit(export: ExportFolder) -> None:
    with pytest.raises(ExportError, match="1 inputs for the model's 2: one each for 'image', 'scale'"):
        HostRunner().run(export, SAMPLE[:1])
    with pytest.raises(ExportError, match=r"input 'image' has shape \[1, 2, 3, 2\]"):
        HostRunner().run(export, [SAMPLE[0].transpose(toy_export.NHWC), SAMPLE[1]])
    with pytest.raises(ExportError, match=r"input 'scale' is float64: .*astype\('float32'\)"):
        HostRunner().run(export, [SAMPLE[0], SAMPLE[1].astype(np.float64)])


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("init", "run_export on host failed: model 'toy' does not start: layer 'scale_1': multiply: create failed"),
        ("forward", "model 'toy' failed: layer 'ramp': run failed"),
        ("crash", "it died of SIGSEGV"),
    ],
)
def test_programs_that_fail(export: ExportFolder, monkeypatch: pytest.MonkeyPatch, fault: str, message: str) -> None:
    monkeypatch.setenv("TOY_FAULT", fault)
    with pytest.raises(ExportError, match=message):
        HostRunner().run(export, SAMPLE)


def test_a_program_that_hangs(export: ExportFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_FAULT", "hang")
    with pytest.raises(ExportError, match=r"did not end within 0.5 s: .*--timeout"):
        HostRunner().run(export, SAMPLE, RunOptions(timeout=0.5))


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 3", "failed: no message"),
        ("echo first >&2; echo 'run_export: last' >&2; exit 2", "failed: last$"),
        ("echo '{}'", "no valid answer"),
        ("echo nothing", "no valid answer"),
        ('echo \'{"outputs": [{"shape": [1]}]}\'', "has other outputs than export.json"),
    ],
)
def test_programs_that_are_something_else(tmp_path: Path, script: str, message: str) -> None:
    with pytest.raises(ExportError, match=message):
        HostRunner().run(fake(tmp_path, script), SAMPLE)


def test_a_program_for_another_machine(tmp_path: Path) -> None:
    export = fake(tmp_path, "")
    export.binary().write_bytes(b"\x7fELF" + b"\0" * 100)
    with pytest.raises(ExportError, match="cannot start"):
        HostRunner().run(export, SAMPLE)


def test_choice(export: ExportFolder) -> None:
    riscv64 = dataclasses.replace(export, arch="riscv64" if platform.machine() != "riscv64" else "armv7")
    assert isinstance(get_runner("auto", export), HostRunner)
    assert isinstance(get_runner("auto", dataclasses.replace(export, arch=platform.machine())), HostRunner)
    assert isinstance(get_runner("auto", riscv64), QemuRunner)
    assert isinstance(get_runner("auto", dataclasses.replace(export, arch="armv7-cortex-a7")), QemuRunner)
    with pytest.raises(ExportError, match="not for this machine: use --on qemu"):
        get_runner("host", riscv64)
    with pytest.raises(ExportError, match="is for this machine: use --on host"):
        get_runner("qemu", export)
    with pytest.raises(ExportError, match="does not know architecture 'z80'"):
        get_runner("qemu", dataclasses.replace(export, arch="z80"))
    with pytest.raises(ExportError, match="no runner 'ssh': there are auto, host, qemu"):
        get_runner("ssh", export)


@pytest.mark.parametrize("vlen", [0, -128, 64, 100, 192, 2048])
def test_impossible_vector_lengths(vlen: int) -> None:
    with pytest.raises(ExportError, match="vector length"):
        QemuRunner("riscv64", vlen)


def elf(folder: Path, dynamic: bool) -> Path:
    """A 64-bit ELF file with one program header."""
    header = bytearray(64 + 56)
    header[:6] = b"\x7fELF\x02\x01"
    header[32] = 64  # e_phoff
    header[54], header[56] = 56, 1  # e_phentsize, e_phnum
    header[64] = 3 if dynamic else 1  # PT_INTERP, PT_LOAD
    file = folder / "program"
    file.write_bytes(header)
    return file


def test_qemu_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name.endswith("-static") else None)
    monkeypatch.setenv("QEMU_LD_PREFIX", str(tmp_path))
    runner = QemuRunner("riscv64", 256)
    assert runner.available() is None
    start = ["/bin/qemu-riscv64-static", "-cpu", "rv64,v=true,vlen=256,elen=64"]
    file = elf(tmp_path, dynamic=False)
    assert runner.command(file) == [*start, str(file)]
    elf(tmp_path, dynamic=True)
    (tmp_path / "lib").mkdir()
    assert runner.command(file) == [*start, "-L", str(tmp_path), str(file)]
    file.write_bytes(b"#!/bin/sh")
    with pytest.raises(ExportError, match="is not a program"):
        runner.command(file)


def test_qemu_is_missing(export: ExportFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    runner = QemuRunner("riscv64")
    assert runner.available() == "qemu-riscv64 is not installed: sudo apt-get install qemu-user"
    with pytest.raises(ExportError, match="runner 'qemu' is not available: qemu-riscv64 is not installed"):
        runner.run(export, SAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arch", "compiler", "flags", "vector"),
    [
        ("riscv64", "riscv64-linux-gnu-g++", ["-O1"], "rvv, vlen 256"),
        ("riscv64", "riscv64-linux-gnu-g++", ["-O1", "-static"], "rvv, vlen 256"),
        ("armv7", "arm-linux-gnueabihf-g++", ["-O1", "-static"], "neon"),
    ],
)
def test_qemu(tmp_path: Path, arch: str, compiler: str, flags: list[str], vector: str) -> None:
    runner = QemuRunner(arch, 256)
    if runner.available() is not None or shutil.which(compiler) is None:
        pytest.skip(f"needs QEMU and {compiler}")
    toy_export.write_sources(tmp_path)
    toy_export.compile_project(tmp_path, flags, compiler)
    toy_export.write_description(tmp_path, arch=arch)
    result = runner.run(ExportFolder.load(tmp_path), SAMPLE)
    assert result.raw["vector"] == vector
    for actual, wanted in zip(result.outputs, toy_export.expected(*SAMPLE), strict=True):
        np.testing.assert_array_equal(actual, wanted)
