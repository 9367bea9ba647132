# SPDX-License-Identifier: EPL-2.0
"""The set-up scripts, on machines that only exist as answers of apt and dpkg."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETUP = ROOT / "scripts" / "setup.sh"
BASE = {"ca-certificates", "g++", "git", "make", "qemu-user"}
CLANG = {"clang-19", "lld-19", "g++-riscv64-linux-gnu"}


class Machine:
    """Programs on a PATH of their own.

    :param folder: Where to put them.
    :param known: Packages that apt has.
    :param present: Packages that are installed.
    :param user: User number.
    """

    def __init__(self, folder: Path, known: Iterable[str], present: Iterable[str] = (), user: int = 0) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        self.log = folder / "log"
        self.log.touch()
        for program in ("bash", "sh", "cat", "dirname", "env", "mkdir", "tail", "sleep"):
            (self.bin / program).symlink_to(shutil.which(program) or "missing")
        self.program("dpkg-query", self._case(dict.fromkeys(present, "echo installed"), "exit 1"))
        self.program("apt-cache", self._case({name: f"echo Package: {name}" for name in known}, "exit 100"))
        self.program("apt-get", f'echo "apt-get $*" >> {self.log}')
        self.program("sudo", f'echo "sudo $*" >> {self.log}; [ "$1" = -v ] || "$@"')
        self.program("id", f"echo {user}")
        self.program("python3", "exit 0")

    def program(self, name: str, body: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (self.bin / name).chmod(0o755)

    @staticmethod
    def _case(answers: dict[str, str], otherwise: str) -> str:
        branches = "".join(f"'{name}') {answer} ;;\n" for name, answer in answers.items())
        return f'for last in "$@"; do :; done\ncase "$last" in\n{branches}*) {otherwise} ;;\nesac'

    def run(self, call: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Sources setup.sh from a copy of the checkout and calls one of its functions."""
        scripts = self.bin.parent / "checkout" / "scripts"
        scripts.mkdir(parents=True, exist_ok=True)
        shutil.copy(SETUP, scripts)
        return subprocess.run(
            ["bash", "-c", f'set -euo pipefail; . "{scripts / "setup.sh"}"; {call}'],
            env={"PATH": str(self.bin), **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def installs(self) -> list[set[str]]:
        """What apt-get was told to install, call by call."""
        lines = [line.split() for line in self.log.read_text(encoding="utf-8").splitlines() if "apt-get" in line]
        options = {"apt-get", "-y", "-q", "-o", "DPkg::Lock::Timeout=300", "--no-install-recommends", "install"}
        return [set(line) - options for line in lines if line[0] == "apt-get" and "install" in line]


@pytest.mark.parametrize(
    ("known", "compiler"),
    [
        (CLANG, CLANG),  # Debian 12
        ({"g++-14-riscv64-linux-gnu", "g++-riscv64-linux-gnu", "clang-19", "lld-19"}, {"g++-14-riscv64-linux-gnu"}),
        ({"g++-15-riscv64-linux-gnu", *CLANG}, {"g++-15-riscv64-linux-gnu"}),
    ],
)
def test_fresh_machine(tmp_path: Path, known: set[str], compiler: set[str]) -> None:
    machine = Machine(tmp_path, known)
    result = machine.run('install_packages "${PACKAGES[@]}"')
    assert result.returncode == 0, result.stderr
    assert machine.installs() == [BASE | compiler]
    assert "apt-get update" in (tmp_path / "log").read_text().replace("-y -q -o DPkg::Lock::Timeout=300 ", "")
    assert "sudo" not in (tmp_path / "log").read_text()


def test_only_what_is_missing(tmp_path: Path) -> None:
    machine = Machine(tmp_path, CLANG, BASE | CLANG - {"lld-19"})
    assert machine.run('install_packages "${PACKAGES[@]}"').returncode == 0
    assert machine.installs() == [CLANG]  # apt leaves alone what it has


def test_second_run_asks_nobody(tmp_path: Path) -> None:
    machine = Machine(tmp_path, CLANG, BASE | CLANG)
    result = machine.run('install_packages "${PACKAGES[@]}"')
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert (tmp_path / "log").read_text() == ""


def test_test_packages(tmp_path: Path) -> None:
    machine = Machine(tmp_path, CLANG, BASE | CLANG)
    call = "install_package() { :; }; build_xnnpack() { echo $*; }; set_up test native riscv64"
    result = machine.run(call)
    assert result.stdout == "native riscv64\n"
    assert machine.installs() == [{"cppcheck", "g++-arm-linux-gnueabihf"}]


def test_own_toolchain_needs_no_compiler(tmp_path: Path) -> None:
    machine = Machine(tmp_path, ())
    assert machine.run('install_packages "${PACKAGES[@]}"', RISCV_TOOLCHAIN_ROOT="/opt/riscv").returncode == 0
    assert machine.installs() == [BASE]


def test_python_that_will_not_do(tmp_path: Path) -> None:
    machine = Machine(tmp_path, CLANG, BASE | CLANG)
    machine.program("python3", "exit 1")
    assert machine.run('install_packages "${PACKAGES[@]}"').returncode == 0
    assert machine.installs() == [{"python3", "python3-venv"}]


def test_sudo(tmp_path: Path) -> None:
    machine = Machine(tmp_path, CLANG, BASE, user=1000)
    result = machine.run('install_packages "${PACKAGES[@]}"')
    assert result.returncode == 0 and "takes sudo" in result.stderr
    assert machine.installs() == [CLANG]
    assert machine.log.read_text().startswith("sudo -v\nsudo env DEBIAN_FRONTEND=noninteractive apt-get")


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        ("rm apt-get", "there is no apt-get here"),
        ("rm sudo", "packages are missing and there is no sudo: run this once as root"),
        ("printf '#!/bin/sh\\nexit 1\\n' > sudo", "packages are missing and sudo was refused"),
        ("printf '#!/bin/sh\\nexit 100\\n' > apt-get", "Reading the lists of packages failed with exit code 100"),
        ("printf '#!/bin/sh\\n' > apt-cache", "apt has no RISC-V compiler that is new enough"),
    ],
)
def test_one_clear_line(tmp_path: Path, prepare: str, message: str) -> None:
    machine = Machine(tmp_path, CLANG, BASE, user=1000)
    subprocess.run(["bash", "-c", prepare], cwd=machine.bin, check=True)
    result = machine.run('install_packages "${PACKAGES[@]}"')
    assert result.returncode == 1
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and message in errors[0]


@pytest.mark.parametrize(
    ("environment", "github", "sources"),
    [
        ({}, "exit 0", ["github", "github"]),
        ({}, "exit 1", ["github", "debian", "debian"]),
        ({"CI": "true"}, "exit 0", ["debian", "debian"]),
        ({"XNNPACK_FROM": "/src/XNNPACK", "CI": "true"}, "exit 1", ["/src/XNNPACK", "/src/XNNPACK"]),
    ],
)
def test_source_of_xnnpack(tmp_path: Path, environment: dict[str, str], github: str, sources: list[str]) -> None:
    """GitHub first, for CI and where that fails Debian; what fails once is not tried again."""
    machine = Machine(tmp_path, CLANG, BASE | CLANG)
    machine.program(
        "aidge-gk7206",
        f'echo "$6" >> {machine.log}\ncase "$6" in github) {github} ;; esac',
    )
    result = machine.run("missing_xnnpack() { echo $*; }; build_xnnpack native riscv64", **environment)
    assert result.returncode == 0, result.stderr
    assert machine.log.read_text().splitlines() == sources
    assert ("could not be had from GitHub" in result.stderr) == (github == "exit 1" and not environment)


def test_xnnpack_that_cannot_be_had(tmp_path: Path) -> None:
    machine = Machine(tmp_path, CLANG)
    machine.program("aidge-gk7206", "echo why >&2; exit 1")
    result = machine.run("missing_xnnpack() { echo $*; }; build_xnnpack riscv64")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-2:] == ["why", "error: there is no XNNPACK for riscv64"]


@pytest.mark.parametrize("ready", [True, False])
def test_missing_xnnpack_asks_doctor(tmp_path: Path, ready: bool) -> None:
    machine = Machine(tmp_path, ())
    checks = f'[{{"name": "XNNPACK riscv64", "ok": {str(ready).lower()}}}, {{"name": "XNNPACK native", "ok": true}}]'
    machine.program("aidge-gk7206", f"echo '{checks}'; exit 1")
    machine.program("python", f'exec "{sys.executable}" "$@"')
    result = machine.run("missing_xnnpack native riscv64")
    assert (result.returncode, result.stdout.strip()) == (0, "" if ready else "riscv64"), result.stderr


@pytest.mark.parametrize("script", ["demo.sh", "test.sh", "setup.sh"])
def test_scripts_are_well_formed(script: str) -> None:
    path = ROOT / "scripts" / script
    subprocess.run(["bash", "-n", path], check=True)
    assert os.access(path, os.X_OK) == (script != "setup.sh")
