# SPDX-License-Identifier: EPL-2.0
"""The generated code itself, to be read in reviews: one file of __snapshots__ for every model and target.

``pytest tests/golden --snapshot-update`` writes them anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import zoo
from support.graphs import Graph
from support.missing import need_build_tools
from support.projects import check_outputs, compile_target, configure, export, runner_of
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from aidge_export_gk7206.npu.preprocessing import Preprocessing
from aidge_export_gk7206.offloading import NpuOptions
from aidge_export_gk7206.xnnpack.library import ExportLibXNNPack

SNAPSHOTS = Path(__file__).parent / "__snapshots__"


class CodeExtension(SingleFileSnapshotExtension):
    """Snapshots that are text files."""

    _write_mode = WriteMode.TEXT
    file_extension = _file_extension = "txt"


def every_operator() -> onnx.ModelProto:
    """What the models of the zoo do not have."""
    g = Graph()
    x = g.op("Pad", "input", g.ints(0, 0, 1, 2, 0, 0, 1, 0), g.constant(0.5), mode="constant")
    x = g.conv(x, 3, 20, strides=[2, 2])
    x = g.op("ConvTranspose", x, g.uniform(20, 20, 3, 3, low=-0.1, high=0.1), strides=[2, 2])
    x = g.op("Gelu" if g.opset >= 20 else "Tanh", x)
    up = g.op("Resize", x, "", g.constant([1.0, 1.0, 2.0, 2.0]), mode="linear")
    up = g.op("Resize", up, "", g.constant([1.0, 1.0, 0.7, 1.5]), mode="nearest")
    strided = g.op("Slice", up, g.ints(1, -1), g.ints(2**62, -(2**62)), g.ints(1, 3), g.ints(2, -1))
    scaled = g.op("Pow", g.op("Abs", strided), g.constant([1.5]))
    clipped = g.op("Clip", g.op("Div", scaled, g.uniform(10, 1, 1, low=1, high=2)), g.constant(0.0), g.constant(1.0))
    average = g.op("AveragePool", clipped, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    peaks = g.op("ReduceMax", average, axes=[1, 3], keepdims=0)
    product = g.op("MatMul", g.op("Transpose", peaks, perm=[1, 0]), peaks)
    return g.model({"input": [1, 3, 15, 18]}, [clipped, peaks, product])


MODELS = [
    ("lenet", "k230"),
    ("lenet", "host"),
    ("resnet8", "k230"),
    ("groupconv", "k230"),
    ("unet_tconv", "k230"),
    ("yolo", "k230"),
    ("tinyyolo", "host"),
    ("senet", "host"),
    ("conv1d", "k230"),
    ("attn", "k230"),
    ("every_operator", "k230"),
    ("lenet_npu", "gk7206"),
    ("yolo_npu", "gk7206v11a"),
]
#: What of these is on the NPU.
ON_NPU = {
    "lenet_npu": NpuOptions(),
    "yolo_npu": NpuOptions(
        outputs={"Conv_44_out": 0, "Conv_49_out": 1}, preprocessing=Preprocessing((127.5, 110.0, 90.0), (64.0,), "bgr")
    ),
}


def model_of(name: str) -> onnx.ModelProto:
    return every_operator() if name == "every_operator" else zoo.build(name.removesuffix("_npu"))


def generated(folder: Path) -> str:
    """All text of an export that depends on the model, file after file."""
    description = json.loads((folder / "export.json").read_text(encoding="utf-8"))
    description["reference"]["source"] = "a reference"
    (folder / "export.json").write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    files = [
        folder / "export.json",
        folder / "main.cpp",
        folder / "cmake" / "libs.cmake",
        folder / "data" / "samples.S",
        *folder.glob("dnn/include/*_forward.hpp"),
        *folder.glob("dnn/src/*_forward.cpp"),
        *folder.glob("dnn/parameters/weights.S"),
        *folder.glob("simulator/reference/reference.cpp"),
    ]
    layers = sorted(folder.glob("dnn/include/layers/*"), key=lambda file: int(file.name.split("_")[1]))
    return "".join(
        f"==== {file.relative_to(folder)}\n{file.read_text(encoding='utf-8')}\n" for file in [*files, *layers]
    )


@pytest.mark.parametrize(("name", "target"), MODELS)
def test_code(name: str, target: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    file = tmp_path / f"{name}.onnx"
    onnx.save(model_of(name), file)
    export(file, tmp_path / "project", target, npu=ON_NPU.get(name))
    assert generated(tmp_path / "project") == snapshot(extension_class=CodeExtension)


def test_every_operator_is_in_a_golden_file() -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in SNAPSHOTS.rglob("*.txt"))
    types = {type_ for type_ in ExportLibXNNPack._export_node_registry if type_.startswith("Xnn")}
    assert len(types) > 15
    missing = {type_ for type_ in types if f"_{type_}_" not in text}
    assert not missing, f"add a model to MODELS that has {', '.join(sorted(missing))}"


EXPORT = """
import sys
from pathlib import Path
from support.projects import export
export(Path(sys.argv[1]), Path("project"), "k230")
"""


def tree(folder: Path) -> dict[str, bytes]:
    """Contents of all files."""
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


@pytest.mark.parametrize("name", ["yolo", "every_operator"])
def test_same_bytes_every_time(name: str, tmp_path: Path) -> None:
    """Two processes, two orders of Python's sets."""
    file = tmp_path / f"{name}.onnx"
    onnx.save(model_of(name), file)
    trees = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        command = [sys.executable, "-c", EXPORT, str(file)]
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        assert [entry.name for entry in folder.iterdir()] == ["project"], "the export leaves files elsewhere"
        trees.append(tree(folder / "project"))
    assert list(trees[0]) == list(trees[1])
    assert [name for name in trees[0] if trees[0][name] != trees[1][name]] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["my-model 1", "Ünïcode modèle", "3d.v2", "main", "class"])
def test_any_name_compiles(name: str, tmp_path: Path) -> None:
    need_build_tools("host")
    file = tmp_path / f"{name}.onnx"
    onnx.save(zoo.build("conv_relu"), file)
    project = export(file, tmp_path / "project", "host")
    configure(project.path, "host", "-DCMAKE_CXX_FLAGS_RELEASE=-O0")
    compile_target(project.path, "host", jobs=2)
    sample = project.reference_inputs()
    check_outputs(runner_of("host").run(project, sample).outputs, project.reference_outputs())


@pytest.mark.slow
def test_hostile_names_compile(tmp_path: Path) -> None:
    """Names of nodes, inputs and outputs may be any text: they end up in comments, strings, never in code."""
    need_build_tools("host")
    hostile = 'a "quoted" \\ name??/\n*/ // ünïcode \t %s {0}\\'
    model = zoo.build("addrelu")
    final = model.graph.output[0].name
    for node in model.graph.node:
        node.name = f"{hostile} {node.name}"
        node.input[:] = [hostile if name == "input" else name for name in node.input]
        node.output[:] = [f"{hostile} out" if name == final else name for name in node.output]
    model.graph.input[0].name = hostile
    model.graph.output[0].name = f"{hostile} out"
    del model.graph.value_info[:]
    file = tmp_path / "hostile.onnx"
    onnx.save(model, file)
    project = export(file, tmp_path / "project", "host")
    assert project.inputs[0].name == hostile
    configure(project.path, "host", "-DCMAKE_CXX_FLAGS_RELEASE=-O0")
    compile_target(project.path, "host", "strict", jobs=2)
    compile_target(project.path, "host", jobs=2)
    outputs = runner_of("host").run(project, project.reference_inputs()).outputs
    check_outputs(outputs, project.reference_outputs())
    assert np.any(outputs[0])
