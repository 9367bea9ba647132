# SPDX-License-Identifier: EPL-2.0
"""Toolchain files against compilers that only have a version, and once against the real ones."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from aidge_export_gk7206 import toolchains
from aidge_export_gk7206.assets import asset
from aidge_export_gk7206.errors import ExportError

DEBIAN_12 = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nID=debian\n'
DEBIAN_13 = 'VERSION_ID="13"\nID=debian\n'
UBUNTU_2404 = 'ID=ubuntu\nVERSION_ID="24.04"\n'


def fake_compiler(folder: Path, name: str, version: str, sysroot: bool = True) -> Path:
    """A C++ compiler, and its C compiler, that answer questions and compile nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    library = "/sysroot/libstdc++.a" if sysroot else "libstdc++.a"
    text = f"""#!/bin/sh
case "$*" in
*-print-file-name=*) echo {library} ;;
*-print-prog-name=*) echo /somewhere/ld.lld ;;
*version*) echo {version} ;;
*) exit 1 ;;
esac
"""
    for program in (name, name.replace("clang++", "clang").replace("g++", "gcc")):
        (folder / program).write_text(text, encoding="utf-8")
        (folder / program).chmod(0o755)
    return folder / name


def describe(
    tmp_path: Path, toolchain: str = "riscv64", release: str = DEBIAN_12, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Lets CMake run a toolchain file with nothing but the fake compilers on the PATH."""
    (tmp_path / "os-release").write_text(release, encoding="utf-8")
    (tmp_path / "bin").mkdir(exist_ok=True)
    file = asset("cmake", f"{toolchain}.toolchain")
    script = asset("cmake", "provider", "describe.cmake")
    return subprocess.run(
        [
            toolchains.require_tool("cmake"),
            f"-DTOOLCHAIN={file}",
            f"-DAIDGE_OS_RELEASE={tmp_path / 'os-release'}",
            "-P",
            str(script),
        ],
        env={"PATH": str(tmp_path / "bin"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("release", "packages"),
    [
        (DEBIAN_12, "clang-19 lld-19 g++-riscv64-linux-gnu"),
        (DEBIAN_13, "g++-riscv64-linux-gnu"),
        (UBUNTU_2404, "g++-14-riscv64-linux-gnu"),
    ],
)
def test_too_old_names_the_version_and_the_remedy(tmp_path: Path, release: str, packages: str) -> None:
    cxx = fake_compiler(tmp_path / "bin", "riscv64-linux-gnu-g++", "12.2.0")
    result = describe(tmp_path, release=release)
    assert result.returncode != 0
    problem, remedy = toolchains.split_cmake_error(result.stderr)
    assert f"{cxx} is 12.2.0" in problem
    assert remedy == f"sudo apt-get install {packages}"


def test_missing(tmp_path: Path) -> None:
    problem, remedy = toolchains.split_cmake_error(describe(tmp_path).stderr)
    assert problem.startswith("No RISC-V compiler") and problem.endswith("none found")
    assert remedy.startswith("sudo apt-get install clang-19")


def test_newest_gcc_is_taken(tmp_path: Path) -> None:
    fake_compiler(tmp_path / "bin", "riscv64-linux-gnu-g++", "12.2.0")
    fake_compiler(tmp_path / "bin", "riscv64-linux-gnu-g++-13", "13.3.0")
    newest = fake_compiler(tmp_path / "bin", "riscv64-linux-gnu-g++-14", "14.2.0")
    fake_compiler(tmp_path / "bin", "clang++-19", "19.1.7")
    found = json.loads(describe(tmp_path).stdout)
    assert (found["cxx"], found["version"]) == (str(newest), "14.2.0")
    assert found["cc"] == str(tmp_path / "bin" / "riscv64-linux-gnu-gcc-14")
    assert found["emulator"] == ""


def test_clang_where_gcc_is_too_old(tmp_path: Path) -> None:
    fake_compiler(tmp_path / "bin", "riscv64-linux-gnu-g++", "12.2.0")
    fake_compiler(tmp_path / "bin", "clang++", "14.0.6")
    clang = fake_compiler(tmp_path / "bin", "clang++-17", "17.0.6")
    fake_compiler(tmp_path / "bin", "qemu-riscv64-static", "8.0")
    found = json.loads(describe(tmp_path).stdout)
    assert found["cxx"] == str(clang)
    assert found["emulator"].endswith("qemu-riscv64-static -L /usr/riscv64-linux-gnu -cpu rv64,v=true,vlen=128,elen=64")


def test_clang_without_sysroot(tmp_path: Path) -> None:
    clang = fake_compiler(tmp_path / "bin", "clang++-19", "19.1.7", sysroot=False)
    problem, remedy = toolchains.split_cmake_error(describe(tmp_path).stderr)
    assert f"{clang} finds no libstdc++ for riscv64-linux-gnu" in problem
    assert "g++-riscv64-linux-gnu" in remedy


def test_toolchain_root_comes_first(tmp_path: Path) -> None:
    fake_compiler(tmp_path / "bin", "riscv64-linux-gnu-g++", "14.2.0")
    cxx = fake_compiler(tmp_path / "root" / "bin", "riscv64-unknown-linux-gnu-clang++", "18.1.0")
    found = json.loads(describe(tmp_path, RISCV_TOOLCHAIN_ROOT=str(tmp_path / "root")).stdout)
    assert found["cxx"] == str(cxx)


def test_toolchain_root_without_compiler(tmp_path: Path) -> None:
    fake_compiler(tmp_path / "bin", "riscv64-linux-gnu-g++", "14.2.0")
    result = describe(tmp_path, RISCV_TOOLCHAIN_ROOT=str(tmp_path / "nothing"))
    assert "RISCV_TOOLCHAIN_ROOT has no usable" in toolchains.split_cmake_error(result.stderr)[0]


def test_armv7_missing(tmp_path: Path) -> None:
    problem, remedy = toolchains.split_cmake_error(describe(tmp_path, "armv7-cortex-a7").stderr)
    assert problem == "No compiler for ARMv7 (arm-linux-gnueabihf-g++ is not on the PATH)"
    assert remedy == "sudo apt-get install g++-arm-linux-gnueabihf"


def test_project_says_it_once(tmp_path: Path) -> None:
    """In a project the message is the same, and CMake stops there."""
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.22)\nproject(x C CXX ASM)\n")
    command = [toolchains.require_tool("cmake"), "-S", str(tmp_path), "-B", str(tmp_path / "build"), "--toolchain"]
    result = subprocess.run(
        [*command, str(asset("cmake", "riscv64.toolchain"))],
        env={**os.environ, "RISCV_TOOLCHAIN_ROOT": str(tmp_path / "nothing")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode != 0
    assert result.stderr.count("No RISC-V compiler") == 1


def test_unknown_architecture() -> None:
    with pytest.raises(ExportError, match="unknown architecture 'mips': use one of riscv64, armv7, native"):
        toolchains.toolchain_file("mips")


@pytest.mark.parametrize(("arch", "machine"), [("riscv64", "RISC-V"), ("armv7", "ARM")])
def test_real_compiler_in_a_project(tmp_path: Path, arch: str, machine: str) -> None:
    """Flags reach all languages, and the file works when try_compile includes it again."""
    try:
        toolchains.find_compiler(arch)
    except ExportError as error:
        pytest.skip(str(error))
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(x C CXX ASM)\n"
        "include(CheckCXXSourceCompiles)\n"
        'check_cxx_source_compiles("#include <vector>\\nint main() { return 0; }" COMPILES)\n'
        'if(NOT COMPILES)\n  message(FATAL_ERROR "try_compile fails")\nendif()\n'
        "add_executable(x main.cpp data.S)\ntarget_link_options(x PRIVATE -static)\n"
    )
    (tmp_path / "main.cpp").write_text(
        '#include <cstdio>\nextern "C" const char word[];\nint main() { return std::puts(word) < 0; }\n'
    )
    (tmp_path / "data.S").write_text(
        '.section .rodata\n.globl word\nword: .asciz "hello"\n.section .note.GNU-stack,"",%progbits\n'
    )
    cmake, build = toolchains.require_tool("cmake"), tmp_path / "build"
    toolchain = str(toolchains.toolchain_file(arch))
    for command in (
        [cmake, "-S", str(tmp_path), "-B", str(build), "--toolchain", toolchain],
        [cmake, "-S", str(tmp_path), "-B", str(build)],
        [cmake, "--build", str(build)],
    ):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr
    header = (build / "x").read_bytes()[:20]
    assert int.from_bytes(header[18:20], "little") == {"RISC-V": 243, "ARM": 40}[machine]
    emulator = toolchains.find_compiler(arch).emulator.split()
    if emulator:
        result = subprocess.run([*emulator, str(build / "x")], capture_output=True, text=True, check=True)
        assert result.stdout == "hello\n"
