# SPDX-License-Identifier: EPL-2.0
"""Models of the zoo with a part on the simulated NPU: exported, compiled, run, broken."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aidge_core
import numpy as np
import onnx
import pytest
import zoo
from aidge_core.export_utils import export as aidge_export
from aidge_core.export_utils.config import ExportConfig
from support.missing import need_build_tools, need_program
from support.projects import compile_target, configure, export, runner_of
from support.sharing import once, shared_folder
from support.xmm_files import shared_data

from aidge_export_gk7206 import prepare
from aidge_export_gk7206.export_folder import ExportFolder
from aidge_export_gk7206.npu.preprocessing import Preprocessing
from aidge_export_gk7206.npu.xmm import read
from aidge_export_gk7206.offloading import NpuOptions
from aidge_export_gk7206.offloading_graph import offload
from aidge_export_gk7206.validation import Validation, validate

pytestmark = pytest.mark.slow

BGR = Preprocessing((127.5, 110.0, 90.0), (127.5, 100.0, 60.0), "bgr")
#: Model, target, what is on the NPU, whether XNNPACK runs the rest.
EXPORTS: dict[str, tuple[str, str, NpuOptions, bool]] = {
    "whole": ("lenet", "host", NpuOptions(), True),
    "whole-cortex-a7": ("lenet", "gk7206", NpuOptions(), True),
    "without-xnnpack": ("lenet", "host", NpuOptions(), False),
    "pixels": ("mobilenetv1_025_96", "host", NpuOptions(preprocessing=BGR), True),
    "raw": (
        "mobilenetv1_025_96", "host", NpuOptions(preprocessing=Preprocessing(BGR.mean, BGR.std, "bgr", raw=True)), True,
    ),
    "tail": ("yolo", "host", NpuOptions(outputs={"Conv_44_out": 0, "Conv_49_out": 1}, preprocessing=BGR), True),
    "tail-cortex-a7": ("yolo", "gk7206", NpuOptions(outputs={"Conv_49_out": None, "Conv_44_out": None}), True),
}  # fmt: skip


@pytest.fixture(scope="session")
def npu_exports(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ExportFolder]:
    """Compiled exports, by their names in EXPORTS."""
    shared = shared_folder(tmp_path_factory) / "npu"

    def get(name: str) -> ExportFolder:
        model, target, npu, xnn = EXPORTS[name]
        need_build_tools(target)

        def build(folder: Path) -> None:
            onnx.save(zoo.build(model), folder / f"{model}.onnx")
            export(folder / f"{model}.onnx", folder / "project", target, npu=npu, xnn=xnn)
            configure(folder / "project", target)
            compile_target(folder / "project", target)

        return ExportFolder.load(once(shared / name, build) / "project")

    return get


def check(project: ExportFolder) -> Validation:
    name = "host" if project.arch is None else "cortex-a7"
    if name != "host":
        need_program("qemu-arm", "qemu-user")
    result = validate(project, runner_of(name))
    assert result.passed, result
    return result


@pytest.mark.parametrize("name", list(EXPORTS))
def test_outputs(name: str, npu_exports: Any) -> None:
    """As ONNX Runtime's on the pixels that the NPU saw, within what a step of the NPU's outputs makes."""
    result = check(npu_exports(name))
    assert result.libraries["export_gk7206"] == 1
    for output in result.outputs:
        assert output.max_abs_reference and output.max_abs_reference > 0


@pytest.mark.parametrize("name", ["whole", "pixels", "tail"])
def test_strict_simulator_has_no_complaint(name: str, npu_exports: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XMEDIA_SIM_STRICT", "1")
    check(npu_exports(name))


def test_other_inputs_are_within_a_step(npu_exports: Any) -> None:
    """Against ONNX Runtime without any quantisation: the input's step matters as well."""
    project = npu_exports("whole")
    from aidge_export_gk7206 import reference

    file = read(project.path / "lenet.xmm")
    inputs = [np.random.default_rng(5).random(project.inputs[0].shape, dtype=np.float32)]
    (output,) = runner_of("host").run(project, inputs).outputs
    seen = np.rint(inputs[0] / file.inputs[0].scale).astype(np.float32) * np.float32(file.inputs[0].scale)
    (expected,) = reference.run(project.path.parent / "lenet.onnx", "input", seen).outputs
    assert float(np.abs(output - expected).max()) <= 0.51 * file.outputs[0].scale


def test_an_offloaded_graph_computes_the_same(npu_exports: Any, tmp_path: Path) -> None:
    """A prepared graph through Aidge's export(), which knows no reference: both run on the simulator's pattern."""
    project = npu_exports("tail")
    folder = project.path.parent
    options = EXPORTS["tail"][2]
    shutil.copytree(project.path, tmp_path / "model", ignore=shutil.ignore_patterns("build"))
    (tmp_path / "model" / "simulator" / "reference" / "reference.cpp").unlink()
    graph = offload(prepare(folder / "yolo.onnx"), project.path / "yolo.xmm", options.outputs, options.preprocessing)
    sample = project.reference_inputs()
    tensor = aidge_core.Tensor(sample[0])
    tensor.set_data_format(aidge_core.dformat.nchw)
    target = ExportConfig(target="host", xnn=True, export_folder=str(tmp_path / "graph"), compile=False, cuda=False)
    aidge_export(graph, target, [tensor])
    results = []
    for name in ("model", "graph"):
        configure(tmp_path / name, "host")
        compile_target(tmp_path / name, "host", jobs=2)
        results.append(runner_of("host").run(ExportFolder.load(tmp_path / name), sample).outputs)
    np.testing.assert_array_equal(results[0][0], results[1][0])
    assert np.ptp(results[0][0]) > 0


@pytest.mark.parametrize(("name", "target"), [("tail", "host"), ("whole-cortex-a7", "gk7206")])
def test_no_warnings(name: str, target: str, npu_exports: Any) -> None:
    project = npu_exports(name)
    assert "warning" not in compile_target(project.path, target, "strict", jobs=2)
    for tool in ("cppcheck", "clang-tidy"):
        if any(shutil.which(program) for program in (tool, *(f"{tool}-{n}" for n in range(14, 23)))):
            compile_target(project.path, target, tool)


def run(project: ExportFolder, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [str(project.binary()), *arguments]
    environment = {**os.environ, **variables}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_the_model_is_found_and_checked(npu_exports: Any, tmp_path: Path) -> None:
    project = npu_exports("whole")
    model = project.path / "lenet.xmm"
    data = model.read_bytes()
    moved = tmp_path / "other name.xmm"
    moved.write_bytes(data)
    assert run(project, "--model", str(moved)).returncode == 0
    result = run(project, "--model", str(tmp_path / "none.xmm"))
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"run_export: cannot read '{tmp_path / 'none.xmm'}': ")
    for name, wrong in (("longer", data + b"\0"), ("changed", bytes([*data[:-1], data[-1] ^ 1]))):
        (tmp_path / name).write_bytes(wrong)
        result = run(project, "--model", str(tmp_path / name), XMEDIA_SIM_QUIET="1")
        assert result.returncode == 1
        assert "model 'lenet' does not start: NPU, check of the model file: " in result.stderr
        assert result.stdout == ""


def test_the_program_alone_finds_its_model(npu_exports: Any, tmp_path: Path) -> None:
    """Program and model side by side, wherever they are and wherever the program is started."""
    project = npu_exports("whole")
    for file in (project.binary(), project.path / "lenet.xmm"):
        shutil.copy(file, tmp_path)
    result = subprocess.run([tmp_path / "run_export"], capture_output=True, text=True, check=False, cwd="/")
    assert result.returncode == 0, result.stderr
    (tmp_path / "lenet.xmm").unlink()
    result = subprocess.run([tmp_path / "run_export"], capture_output=True, text=True, check=False, cwd="/")
    assert result.returncode == 1
    assert f"cannot read '{tmp_path}/lenet.xmm'" in result.stderr


@pytest.mark.parametrize(
    ("fault", "stage"),
    [
        ("init", "stage 1, system initialization"),
        ("devices", "stage 2, device and context"),
        ("query", "stage 3, query of memory sizes"),
        ("alloc", "stage 4, allocation of MMZ memory"),
        ("load", "stage 5, loading the model"),
        ("tensors", "stage 6, inputs and outputs"),
        ("process", "stage 7, inference"),
    ],
)
def test_every_stage_may_fail(fault: str, stage: str, npu_exports: Any) -> None:
    result = run(npu_exports("whole"), XMEDIA_SIM_FAULT=fault, XMEDIA_SIM_QUIET="1", XMEDIA_SIM_STRICT="1")
    assert result.returncode == 1, result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert f"NPU, {stage}: " in result.stderr


def test_switches(npu_exports: Any) -> None:
    project = npu_exports("tail")
    assert "--model FILE" in run(project, "--help").stdout
    profiled = run(project, "--iterations", "3", "--profile").stdout
    assert "XmmGraph" in profiled and "export_gk7206" in profiled
    result = run(npu_exports("raw"), "--input", "/dev/null")
    assert result.returncode == 2 and "uint8" in result.stderr


def test_a_real_model(tmp_path: Path) -> None:
    """Its outputs on the simulator are a pattern, or what lies beside it as golden vectors."""
    need_build_tools("host")
    file = tmp_path / "pnet.xmm"
    shutil.copy(shared_data("pnet.xmm"), file)
    model = read(file)
    random = np.random.default_rng(1)
    vectors = [random.integers(0, 256, t.size).astype(np.uint8) for t in (*model.inputs, *model.outputs)]
    for name, vector in zip(["input_data0", "output_data0", "output_data1"], vectors, strict=True):
        vector.tofile(tmp_path / f"{name}.bin")
    project = export(file, tmp_path / "project", "host", npu=NpuOptions(preprocessing=Preprocessing(raw=True)))
    configure(project.path, "host")
    compile_target(project.path, "host", jobs=2)
    for vector in tmp_path.glob("*.bin"):
        shutil.copy(vector, project.path / "build")
    assert [tensor.dtype for tensor in project.inputs] == ["uint8"]
    check(project)


def sdk(folder: Path, project: ExportFolder) -> Path:
    """A tree like that of the SDK, of the simulator's headers and libraries."""
    shutil.copytree(project.path / "simulator" / "include", folder / "source" / "gmp" / "include")
    libraries = folder / "source" / "gmp" / "lib" / "arm-gcc12.2.0-linux-uclibceabi" / "nolog" / "static"
    libraries.mkdir(parents=True)
    for file in (project.path / "build" / "simulator").glob("libxmedia_*.a"):
        shutil.copy(file, libraries)
    return folder


def configured(project: ExportFolder, build: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [need_program("cmake"), "-G", "Ninja", "-S", ".", "-B", build]
    command += ["--toolchain", "cmake/gk7206-sdk.toolchain", *options]
    environment = {**os.environ, **variables}
    return subprocess.run(command, cwd=project.path, capture_output=True, text=True, check=False, env=environment)


def test_build_with_the_sdk(npu_exports: Any, tmp_path: Path) -> None:
    """The compiler's own name is another one here; flags, headers and link line are the SDK's."""
    need_program("arm-linux-gnueabihf-g++", "g++-arm-linux-gnueabihf")
    need_program("qemu-arm", "qemu-user")
    project = npu_exports("whole-cortex-a7")
    compiler = "-DGK7206_COMPILER_PREFIX=arm-linux-gnueabihf-"
    tree = sdk(tmp_path / "sdk", project)
    build = "build-sdk"
    result = configured(project, build, compiler, f"-DGK7206_SDK={tree}", "-DAIDGE_STATIC=ON", CXXFLAGS="-Wall -Werror")
    assert result.returncode == 0, result.stderr
    assert f"NPU: xmedia_cl of the SDK ({tree}/source/gmp/lib/" in result.stdout
    compile_target(project.path, "gk7206", build=build, jobs=2)
    commands = (project.path / build / "compile_commands.json").read_text(encoding="utf-8")
    assert (
        "-mcpu=cortex-a7 -mfloat-abi=hard -mfpu=neon-vfpv4 -mthumb -fPIC" in commands
        and "simulator/src" not in commands
    )
    program = project.path / build / "run_export"
    ran = subprocess.run(["qemu-arm", "-cpu", "cortex-a7", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr

    header = tree / "source" / "gmp" / "include" / "xmedia_cl_common.h"
    text = header.read_text(encoding="utf-8")
    header.write_text(text.replace("tensor_batch;", "batch_of_old;"), encoding="utf-8")
    result = configured(project, "build-old", compiler, f"-DGK7206_SDK={tree}")
    assert result.returncode != 0
    assert "are those of an older NPU runtime" in " ".join(result.stderr.split())


def test_no_sdk_where_it_should_be(npu_exports: Any, tmp_path: Path) -> None:
    project = npu_exports("whole-cortex-a7")
    result = configured(project, "build-none", GK7206_TOOLCHAIN=str(tmp_path))
    assert f"is not in GK7206_TOOLCHAIN={tmp_path}" in " ".join(result.stderr.split())
    compiler = "-DGK7206_COMPILER_PREFIX=arm-linux-gnueabihf-"
    result = configured(project, "build-none2", compiler, GK7206_SDK=str(tmp_path))
    assert f"GK7206_SDK={tmp_path} has no" in " ".join(result.stderr.split())
