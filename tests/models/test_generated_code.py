# SPDX-License-Identifier: EPL-2.0
"""The generated projects as C++: warnings, sanitizers, static analysis, heap allocations."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.missing import missing, need_program
from support.projects import compile_target, configure

from aidge_export_gk7206.export_folder import ExportFolder
from aidge_export_gk7206.xnnpack import provider

COPIES = ["lenet", "mobilenetv1_025_96", "yolo", "attn"]


@pytest.fixture
def fresh(projects: Any, tmp_path: Path) -> Callable[[str, str], ExportFolder]:
    """A copy of an export that has not been configured."""

    def copy(name: str, target: str) -> ExportFolder:
        folder = tmp_path / "project"
        shutil.copytree(projects.get(name, target).path, folder, ignore=shutil.ignore_patterns("build"))
        return ExportFolder.load(folder)

    return copy


def run(program: Path, project: ExportFolder, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of the export on its sample, for this machine."""
    image = tmp_path / "input.bin"
    image.write_bytes(np.ascontiguousarray(project.reference_inputs()[0]).tobytes())
    command = [str(program), "--input", str(image), "--iterations", "2", "--profile", "--output", str(tmp_path / "out")]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


@pytest.mark.slow
@pytest.mark.parametrize("name", COPIES)
def test_sanitizers_find_nothing(name: str, fresh: Callable[[str, str], ExportFolder], tmp_path: Path) -> None:
    project = fresh(name, "host")
    configure(project.path, "host", "--preset", "host-debug-sanitize")
    compile_target(project.path, "host", "run_export", jobs=2)
    result = run(project.path / "build" / "run_export", project, tmp_path, ASAN_OPTIONS="detect_leaks=1")
    assert result.returncode == 0, result.stderr
    assert not result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("name", COPIES)
def test_no_warnings(name: str, compiler: str, fresh: Callable[[str, str], ExportFolder]) -> None:
    newest = next((f"clang++-{n}" for n in range(22, 13, -1) if shutil.which(f"clang++-{n}")), "clang++")
    path = need_program(newest if compiler == "clang++" else compiler, "clang")
    project = fresh(name, "host")
    options = [f"-DCMAKE_CXX_COMPILER={path}", "-DCMAKE_CXX_FLAGS_RELEASE=-O1"]
    build = provider.find("native")
    if compiler == "clang++" and not os.environ.get("XNNPACK_ROOT"):
        # The cache keeps one build for each compiler; any of them links.
        if build is None:
            missing("no XNNPACK for this machine: run `aidge-gk7206 xnnpack build --arch native`")
        options += [f"-DXNNPACK_ROOT={build.folder}", f"-DCMAKE_C_COMPILER={path.replace('clang++', 'clang')}"]
    configure(project.path, "host", *options)
    said = compile_target(project.path, "host", "strict", jobs=2)
    assert "warning" not in said


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet8", "senet"])
def test_no_warnings_for_the_k230(name: str, fresh: Callable[[str, str], ExportFolder]) -> None:
    project = fresh(name, "k230")
    configure(project.path, "k230", "-DCMAKE_CXX_FLAGS_RELEASE=-O1")
    assert "warning" not in compile_target(project.path, "k230", "strict", jobs=2)


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "name"), [("cppcheck", "lenet"), ("cppcheck", "yolo"), ("clang-tidy", "yolo")])
def test_static_analysis(tool: str, name: str, fresh: Callable[[str, str], ExportFolder]) -> None:
    if tool == "cppcheck":
        need_program(tool)
    elif not any(shutil.which(program) for program in (tool, *(f"{tool}-{n}" for n in range(14, 23)))):
        missing(f"needs {tool}: sudo apt-get install {tool}")
    project = fresh(name, "host")
    configure(project.path, "host")
    compile_target(project.path, "host", tool)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["lenet", "resnet8", "mobilenetv1_025_96", "unet", "unet_tconv", "yolo", "senet", "attn", "conv1d"]
)
def test_forward_allocates_nothing(name: str, projects: Any, xnnpack_native: Any, tmp_path: Path) -> None:
    project = projects.get(name, "host")
    program = tmp_path / "allocations"
    source = Path(__file__).parents[1] / "runtime" / "allocations.cpp"
    definitions = {
        "MODEL_HEADER": f'"{name}_forward.hpp"',
        "MODEL_INIT": f"{name}_init",
        "MODEL_FORWARD": f"{name}_forward",
        "MODEL_INPUT_SIZE": str(math.prod(project.inputs[0].shape)),
    }
    command = ["g++", "-std=c++17", "-O1", *(f"-D{key}={value}" for key, value in definitions.items())]
    command += ["-I", str(project.path / "dnn" / "include"), str(source), str(project.path / "build/libaidge_model.a")]
    built = subprocess.run(
        [*command, *xnnpack_native.linker_options(), "-o", str(program)], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    result = subprocess.run([program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    init, forward = map(int, result.stdout.split())
    assert init > 0 and forward == 0, f"{forward} allocations in three runs after init ({init} in it)"
