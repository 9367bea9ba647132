# SPDX-License-Identifier: EPL-2.0
"""Models that Python packages ship: onnx's own, and PP-OCR in rapidocr."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from support.missing import missing, need_build_tools, need_program
from support.projects import RUNNERS, check_outputs, compile_target, configure, export, runner_of

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
PP_OCR = {
    "cls": ("ch_ppocr_mobile_v2.0_cls_infer.onnx", (1, 3, 48, 192)),
    "det": ("ch_PP-OCRv4_det_infer.onnx", (1, 3, 96, 160)),
    "rec": ("ch_PP-OCRv4_rec_infer.onnx", (1, 3, 48, 192)),
}


def run(model: Path, folder: Path, runner: str, sample: np.ndarray[Any, Any]) -> None:
    """Exports, compiles, runs, compares."""
    target = RUNNERS[runner]
    need_build_tools(target)
    project = export(model, folder / "project", target, sample)
    configure(project.path, target)
    compile_target(project.path, target)
    check_outputs(runner_of(runner).run(project, [sample]).outputs, project.reference_outputs())


def with_random_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model of onnx's with other weights: there, all elements of an array are equal, and so are all outputs."""
    random = np.random.default_rng(0)
    roles = {name: (node.op_type, i) for node in model.graph.node for i, name in enumerate(node.input)}
    shapes = {array.name: numpy_helper.to_array(array) for array in model.graph.initializer}
    nodes = []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            nodes.append(node)
            continue
        shape = [int(dim) for dim in shapes[node.input[0]]]
        if roles[node.output[0]] in (("BatchNormalization", 1), ("BatchNormalization", 4)):
            values = random.uniform(0.5, 1.5, shape)
        else:
            fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 100
            values = random.standard_normal(shape) * np.sqrt(2 / fan_in)
        nodes.append(
            helper.make_node("Constant", [], node.output, value=numpy_helper.from_array(values.astype(np.float32)))
        )
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squeezenet", "shufflenet", "resnet50", "densenet121", "inception_v2"])
def test_onnx_model(name: str, tmp_path: Path) -> None:
    file = tmp_path / f"{name}.onnx"
    onnx.save(with_random_weights(onnx.load(LIGHT / f"light_{name}.onnx")), file)
    run(file, tmp_path, "host", np.random.default_rng(1).random((1, 3, 224, 224), dtype=np.float32))


@pytest.mark.slow
@pytest.mark.parametrize(("part", "runner"), [("cls", "host"), ("det", "host"), ("rec", "host"), ("cls", "vlen128")])
def test_pp_ocr(part: str, runner: str, tmp_path: Path) -> None:
    spec = importlib.util.find_spec("rapidocr_onnxruntime")
    if spec is None or spec.origin is None:
        missing("needs rapidocr_onnxruntime: pip install aidge_export_gk7206[demo]")
    if runner != "host":
        need_program("qemu-riscv64", "qemu-user")
    name, shape = PP_OCR[part]
    sample = np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)
    run(Path(spec.origin).parent / "models" / name, tmp_path, runner, sample)
