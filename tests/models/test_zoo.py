# SPDX-License-Identifier: EPL-2.0
"""Every model of the zoo on this machine and as the K230 runs it, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import zoo
from support.missing import need_program
from support.projects import RUNNERS, check_outputs, export, runner_of

from aidge_export_gk7206 import ExportError, reference

COMPUTE = {"Conv", "ConvTranspose", "Gemm", "MatMul", "MaxPool", "AveragePool", "GlobalAveragePool", "Add", "Softmax"}
#: Models that the 32 MB that Linux has on a GK7206 cannot hold.
TOO_LARGE = {"resnet18", "mobilenetv2_224"}


@pytest.mark.slow
@pytest.mark.parametrize("runner", ["host", "vlen128"])
@pytest.mark.parametrize("name", list(zoo.MODELS))
def test_outputs(name: str, runner: str, projects: Any) -> None:
    if runner != "host":
        need_program("qemu-riscv64", "qemu-user")
    project = projects.get(name, RUNNERS[runner])
    result = runner_of(runner).run(project, project.reference_inputs())
    check_outputs(result.outputs, project.reference_outputs())


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in zoo.MODELS if name not in TOO_LARGE])
def test_outputs_on_a_cortex_a7(name: str, projects: Any) -> None:
    """What the GK7206's CPU computes where there is no model for its NPU."""
    need_program("qemu-arm", "qemu-user")
    project = projects.get(name, "gk7206")
    check_outputs(runner_of("cortex-a7").run(project, project.reference_inputs()).outputs, project.reference_outputs())


@pytest.mark.parametrize("name", sorted(TOO_LARGE))
def test_what_does_not_fit_is_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / f"{name}.onnx"
    onnx.save(zoo.build(name), file)
    with pytest.raises(ExportError, match=r"for Linux do not fit gk7206, which has 32.0 MB \(weights "):
        export(file, tmp_path / "project", "gk7206")
    assert not (tmp_path / "project").exists()
    assert export(file, tmp_path / "project", "gk7206", force=True).target == "gk7206"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lenet", "mobilenetv1_025_96", "unet", "yolo"])
def test_outputs_at_twice_the_vector_length(name: str, projects: Any) -> None:
    """The program is the same whatever the length of the processor's vectors."""
    need_program("qemu-riscv64", "qemu-user")
    project = projects.get(name, "k230")
    for runner in ("vlen256", "vlen512"):
        check_outputs(runner_of(runner).run(project, project.reference_inputs()).outputs, project.reference_outputs())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet8", "yolo", "attn"])
def test_other_inputs(name: str, projects: Any) -> None:
    """Nothing of the sample is built in: inputs of both signs, several times in a row."""
    project = projects.get(name, "host")
    inputs = [np.random.default_rng(7).normal(0, 2, project.inputs[0].shape).astype(np.float32)]
    file = project.path.parent / f"{name}.onnx"
    expected = reference.run(file, "input", inputs[0]).outputs
    for _ in range(2):
        check_outputs(runner_of("host").run(project, inputs).outputs, expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet18", "mobilenetv1_025_96", "mobilenetv2_224", "dscnn", "unet", "tinyyolo"])
def test_compute_runs_on_xnnpack(name: str, projects: Any) -> None:
    nodes = projects.get(name, "host").nodes
    assert {node.library for node in nodes} == {"export_xnnpack"}
    assert COMPUTE & {part for node in nodes for part in node.type.split("+")}


def test_models_are_always_the_same() -> None:
    assert zoo.build("yolo").SerializeToString() == zoo.build("yolo").SerializeToString()
    for name in ("lenet", "senet", "attn"):
        onnx.checker.check_model(zoo.build(name), full_check=True)
