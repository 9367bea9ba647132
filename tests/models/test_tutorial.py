# SPDX-License-Identifier: EPL-2.0
"""Upstream's tutorial "Cross-compiling an XNNPACK export for a RISC-V board", step by step.

The network is ResNet-18 made thin, so that its layers have the numbers that the tutorial's code looks for. In Aidge
0.10.1 ``export()`` gives an artifact rather than its folder; nothing else differs from the tutorial's cells.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import aidge_backend_cpu  # noqa: F401 - host reference inference
import aidge_core
import aidge_onnx
import numpy as np
import onnx
import pytest
import zoo
from aidge_core.export_utils import compile_export, export, generate_main_inference_time_cpp
from aidge_core.export_utils.config import ExportConfig
from aidge_core.export_utils.export import prepare_export, write_export
from aidge_core.hw_model import get_target_by_name
from support.missing import need_build_tools, need_program
from support.projects import environment

import aidge_export_gk7206  # noqa: F401 - registers targets and ExportLibXNNPack
from aidge_export_gk7206.runners.qemu import QemuRunner
from aidge_export_gk7206.toolchains import require_tool

aidge_core.Log.set_console_level(aidge_core.Level.Fatal)

SHAPE = (1, 3, 32, 32)
ITERATIONS, WARMUP = 5, 1
RISCV = 243  # e_machine of ELF files
VARIANTS = ("xnn", "cpp")


def network() -> onnx.ModelProto:
    """ResNet-18's layers with an eighth of the channels, on small images."""
    net = zoo.Net("thin_resnet18", SHAPE[1], 13)
    x = net.convolve("input", 8, 7, 2, norm=True, then="Relu")
    x = net.keep(x, "MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 8
    for outputs, stride in ((8, 1), (8, 1), (16, 2), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        y = net.convolve(x, outputs, stride=stride, norm=True, then="Relu")
        y = net.convolve(y, outputs, norm=True)
        shortcut = x if stride == 1 and channels == outputs else net.convolve(x, outputs, 1, stride, norm=True)
        x, channels = net.keep(net.keep(y, "Add", shortcut), "Relu"), outputs
    x = net.op("Flatten", net.op("GlobalAveragePool", x))
    x = net.op("Gemm", x, net.normal(10, channels), net.normal(10, scale=0.1), transB=1)
    return net.model({"input": SHAPE}, [x], "resnet18")


def make_input(array: np.ndarray) -> aidge_core.Tensor:
    """§4 of the tutorial."""
    tensor = aidge_core.Tensor(array)
    tensor.set_data_format(aidge_core.dformat.nchw)
    return tensor


def config_for(target: str, variant: str, folder: Path) -> ExportConfig:
    """§5 of the tutorial."""
    return ExportConfig(
        target=target,
        xnn=(variant == "xnn"),
        dformat="nhwc",
        export_folder=str(folder),
        cuda=False,
        clone_model=True,
    )


def parse_output(text: str) -> np.ndarray:
    """§7 of the tutorial."""
    lines = [line for line in text.splitlines() if line.strip()]
    index = next(i for i, line in enumerate(lines) if line.startswith("_30_FC_0_output_0"))
    return np.fromstring(lines[index + 1].split("Output")[0], sep=" ")


def reference(model: aidge_core.GraphView, sample: np.ndarray) -> np.ndarray:
    """§7 of the tutorial."""
    model.set_backend("cpu")
    model.set_datatype(aidge_core.dtype.float32)
    model.forward_dims([list(SHAPE)], allow_data_dependency=True)
    scheduler = aidge_core.SequentialScheduler(model)
    return np.array(scheduler.forward(data=[make_input(sample)])[0]).flatten()[:100]


def run(target: str, binary: Path) -> str:
    """Stands for the board."""
    command = [str(binary)] if target == "host" else QemuRunner("riscv64").command(binary)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> aidge_core.GraphView:
    """§3 of the tutorial."""
    file = tmp_path_factory.mktemp("tutorial") / "resnet18.onnx"
    onnx.save(network(), file)
    graph = aidge_onnx.load_onnx(str(file))
    graph.set_name("resnet18")
    aidge_core.remove_flatten(graph)
    aidge_core.fuse_batchnorm(graph)
    return graph


@pytest.fixture
def sample() -> np.ndarray:
    np.random.seed(1234)
    return np.random.rand(*SHAPE).astype(np.float32)


@pytest.fixture
def build(request: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A target that can be built for here, and the tools for it where Aidge looks for them."""
    target = str(request.param)
    need_build_tools(target)
    if target == "k230":
        need_program("qemu-riscv64", "qemu-user")
    if "XNNPACK_ROOT" not in environment(target):
        monkeypatch.delenv("XNNPACK_ROOT", raising=False)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(require_tool("cmake")).parent), os.environ["PATH"]]))
    monkeypatch.chdir(tmp_path)  # Aidge writes exported_graph.mmd there
    return target


def test_declared_boards() -> None:
    """§2: the switch decides which libraries are asked, in which order."""
    for target, before, after in (("k230", [], []), ("host", [], ["export_gk7206"]), ("gk7206", ["export_gk7206"], [])):
        for xnn, libraries in ((False, ["export_cpp"]), (True, ["export_xnnpack", "export_cpp"])):
            device = get_target_by_name(target, xnn_pack=xnn)
            assert (device.name, list(device.lib)) == (target, [*before, *libraries, *after])
    assert get_target_by_name("k230", xnn_pack=True).board_toolchain_path.name == "riscv64.toolchain"


@pytest.mark.slow
@pytest.mark.parametrize("build", ["host", "k230"], indirect=True)
@pytest.mark.parametrize("variant", VARIANTS)
def test_export_and_run(
    build: str, variant: str, model: aidge_core.GraphView, sample: np.ndarray, tmp_path: Path
) -> None:
    """§5, §6, §7."""
    artifact = export(model, config_for(build, variant, tmp_path / variant), [make_input(sample)])
    binary = artifact.path / "build" / "run_export"
    if build == "k230":
        assert int.from_bytes(binary.read_bytes()[18:20], "little") == RISCV
    values = parse_output(run(build, binary))
    assert np.max(np.abs(values - reference(model, sample))) <= 1e-5
    if variant == "xnn":
        forward = (artifact.path / "dnn" / "src" / "resnet18_forward.cpp").read_text(encoding="utf-8")
        assert ".run(" in forward


@pytest.mark.slow
@pytest.mark.parametrize("build", ["host", "k230"], indirect=True)
@pytest.mark.parametrize("variant", VARIANTS)
def test_timing(build: str, variant: str, model: aidge_core.GraphView, sample: np.ndarray, tmp_path: Path) -> None:
    """§8: the three functions that export() is made of, and Aidge's own program around the network."""
    context = prepare_export(model, config_for(build, variant, tmp_path / variant), input_tensors=[make_input(sample)])
    write_export(context)
    generate_main_inference_time_cpp(context.export_folder, context.graph, ITERATIONS, WARMUP)
    compile_export(context.export_folder, build_system=context.device.build_system, arch=context.device.arch)
    text = run(build, context.export_folder / "build" / "run_export")
    times = np.fromstring(text.strip().splitlines()[-1], sep=" ")
    assert len(times) == ITERATIONS
    assert np.all(times > 0)
