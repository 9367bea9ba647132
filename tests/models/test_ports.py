# SPDX-License-Identifier: EPL-2.0
"""Inputs and outputs of every form: any number of axes, inputs and constants that are outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.graphs import Graph
from support.missing import need_build_tools, need_program
from support.projects import RUNNERS, check_outputs, compile_target, configure, export, runner_of

from aidge_export_gk7206 import reference


def turned_and_more(g: Graph) -> list[str]:
    """The input, something computed, and the axes the other way round."""
    return [g.op("Neg", "input"), "input", g.op("Transpose", "input")]


def constants(g: Graph) -> list[str]:
    """Nothing depends on the input."""
    return [g.op("Identity", g.normal(2, 3, 4, 5)), g.op("Identity", g.constant(2.5))]


MODELS: dict[str, tuple[tuple[int, ...], Callable[[Graph], list[str]]]] = {
    "scalar": ((), lambda g: [g.op("Neg", "input"), "input"]),
    "vector": ((5,), turned_and_more),
    "image": ((1, 3, 8, 7), turned_and_more),
    "five_axes": ((2, 3, 4, 5, 2), turned_and_more),
    "seven_axes": ((2, 2, 1, 3, 2, 2, 3), turned_and_more),
    "only_the_input": ((1, 3, 8, 7), lambda _: ["input"]),
    "empty": ((1, 3, 8, 7), lambda g: [g.op("Slice", "input", g.ints(2), g.ints(2), g.ints(1))]),
    "only_constants": ((1, 3, 8, 7), constants),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "runner"), [*((name, "host") for name in MODELS), ("five_axes", "vlen128"), ("only_constants", "vlen128")]
)
def test_ports(name: str, runner: str, tmp_path: Path) -> None:
    target = RUNNERS[runner]
    need_build_tools(target)
    if runner != "host":
        need_program("qemu-riscv64", "qemu-user")
    shape, build = MODELS[name]
    g = Graph()
    outputs = build(g)
    file = tmp_path / f"{name}.onnx"
    onnx.save(g.model({"input": shape}, outputs), file)
    project = export(file, tmp_path / "project", target)
    assert [tensor.name for tensor in project.inputs] == ["input"] and project.inputs[0].shape == shape
    assert [tensor.name for tensor in project.outputs] == outputs
    configure(project.path, target)
    compile_target(project.path, target)
    other = np.random.default_rng(7).normal(0, 2, shape).astype(np.float32)
    for array in (project.reference_inputs()[0], other):
        expected = reference.run(file, "input", array).outputs
        check_outputs(runner_of(runner).run(project, [array]).outputs, expected)
