# SPDX-License-Identifier: EPL-2.0
"""Aidge's own operators, imported and exported as they are: every branch of a bush of them against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import aidge_backend_cpu  # noqa: F401 - registers the backend
import aidge_core
import aidge_onnx
import numpy as np
import onnx
import onnxruntime
import pytest
import zoo
from aidge_core.export_utils.config import ExportConfig
from aidge_core.export_utils.export import export
from support.graphs import Graph
from support.missing import need_build_tools, need_program
from support.projects import check_outputs, compile_target, configure, runner_of

import aidge_export_gk7206
from aidge_export_gk7206.export_folder import ExportFolder
from aidge_export_gk7206.exporting import export_model

aidge_core.Log.set_console_level(aidge_core.Level.Fatal)

Branch = Callable[[Graph, str], "str | list[str]"]
IMAGE, SEQUENCE = (1, 5, 9, 11), (2, 7, 12)
CHANNELS = 6


def op(op_type: str, *constants: Any, **attributes: Any) -> Branch:
    """One operator; constants are numbers, arrays, or lists of integers."""

    def build(graph: Graph, x: str) -> str:
        operands = [
            "" if value is None
            else graph.ints(*value) if isinstance(value, list)
            else graph.constant(np.asarray(value, np.float32))
            for value in constants
        ]  # fmt: skip
        return graph.op(op_type, x, *operands, **attributes)

    return build


def then(*branches: Branch) -> Branch:
    """One after another."""

    def build(graph: Graph, x: str) -> str:
        for branch in branches:
            x = str(branch(graph, x))
        return x

    return build


def convolution(outputs: int = 4, inputs: int = CHANNELS, **attributes: Any) -> Branch:
    return lambda graph, x: graph.conv(x, inputs, outputs, **attributes)


def transposed(**attributes: Any) -> Branch:
    return lambda graph, x: graph.op(
        "ConvTranspose", x, graph.normal(CHANNELS, 4, 3, 3), graph.normal(4), strides=[2, 2], **attributes
    )


def dense(outputs: int, inputs: int) -> Branch:
    return lambda graph, x: graph.op("Gemm", x, graph.normal(outputs, inputs), graph.normal(outputs), transB=1)


def product(outputs: int, inputs: int) -> Branch:
    return lambda graph, x: graph.op("Add", graph.op("MatMul", x, graph.normal(inputs, outputs)), graph.normal(outputs))


def norm(graph: Graph, x: str) -> str:
    return graph.op("BatchNormalization", x, *(graph.uniform(CHANNELS, low=0.5, high=1.5) for _ in range(4)))


def gate(function: str) -> Branch:
    return lambda graph, x: graph.op("Mul", x, graph.op(function, graph.op("GlobalAveragePool", x)))


def attention(graph: Graph, x: str) -> str:
    q, k, v = (str(product(12, 12)(graph, x)) for _ in range(3))
    scores = graph.op("Mul", graph.op("MatMul", q, graph.op("Transpose", k, perm=[0, 2, 1])), graph.constant(0.3))
    return graph.op("Add", x, graph.op("MatMul", graph.op("Softmax", scores, axis=-1), v))


PADS = [0, 0, 1, 2, 0, 0, 2, 1]
SIXTH = np.float32(1 / 6)

#: What a convolution's output is given to.
IMAGES: dict[str, Branch] = {
    "relu": op("Relu"),
    "leaky": op("LeakyRelu", alpha=0.2),
    "clip": op("Clip", -0.5, 1.0),
    "sigmoid": op("Sigmoid"),
    "tanh": op("Tanh"),
    "hard_sigmoid": op("HardSigmoid", alpha=0.3, beta=0.4),
    "hard_swish": op("HardSwish"),
    "softplus": op("Softplus"),
    "add_scalar": op("Add", 0.7),
    "add_channels": op("Add", np.linspace(0, 1, CHANNELS).reshape(-1, 1, 1)),
    "mul_columns": op("Mul", np.linspace(0, 1, 11)),
    "sub_image": op("Sub", np.linspace(0, 1, CHANNELS * 99).reshape(1, CHANNELS, 9, 11)),
    "gate": gate("Sigmoid"),
    "hard_gate": gate("HardSigmoid"),
    "conv_strided": convolution(pads=[0, 1, 2, 1], strides=[2, 1]),
    "conv_dilated_relu": then(convolution(dilations=[2, 2]), op("Relu")),
    "conv_clip": then(convolution(pads=[1, 1, 1, 1]), op("Clip", 0.0, 0.5)),
    "depthwise_relu": then(convolution(CHANNELS, group=CHANNELS, pads=[1, 1, 1, 1]), op("Relu")),
    "transposed": transposed(),
    "transposed_cropped_relu": then(transposed(pads=[1, 1, 1, 1], output_padding=[1, 1]), op("Relu")),
    "norm": norm,
    "max_pool": op("MaxPool", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 0, 1]),
    "max_pool_ceil": op("MaxPool", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    "average": op("AveragePool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    "average_counting": op("AveragePool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1),
    "global_average_dense": then(op("GlobalAveragePool"), op("Flatten"), dense(7, CHANNELS)),
    "flatten_dense_relu": then(op("Flatten"), dense(7, CHANNELS * 99), op("Relu")),
    "mean_of_image": op("ReduceMean", axes=[2, 3], keepdims=0),
    "maximum_of_channels": op("ReduceMax", axes=[1], keepdims=1),
    "softmax_of_channels": op("Softmax", axis=1),
    "softmax_of_rows": op("Softmax", axis=3),
    "concat": lambda graph, x: graph.op("Concat", x, graph.op("Tanh", x), axis=1),
    "split": lambda graph, x: graph.ops("Split", 2, x, graph.ints(2, 4), axis=1),
    "slice_channels": op("Slice", [1], [4], [1], [1]),
    "slice_image": op("Slice", [1, 2], [8, 10], [2, 3], [2, 1]),
    "pad": op("Pad", PADS, mode="reflect"),
    "pad_conv": then(op("Pad", PADS, mode="edge"), convolution()),
    "transpose": op("Transpose", perm=[0, 1, 3, 2]),
    "to_channels_last": then(op("Transpose", perm=[0, 2, 3, 1]), op("Reshape", [1, 99, CHANNELS])),
    "reshape": op("Reshape", [1, CHANNELS, 99]),
    "shuffle": then(
        op("Reshape", [1, 2, 3, 9, 11]), op("Transpose", perm=[0, 2, 1, 3, 4]), op("Reshape", [1, CHANNELS, 9, 11])
    ),
    "nearest": op("Resize", None, np.array([1, 1, 2, 3]), mode="nearest", nearest_mode="floor",
                  coordinate_transformation_mode="asymmetric"),
    "bilinear": op("Resize", None, None, [1, CHANNELS, 13, 17], mode="linear"),
    "gather": op("Gather", [0, 2, 4], axis=2),
}  # fmt: skip

SEQUENCES: dict[str, Branch] = {
    "relu": op("Relu"),
    "softmax": op("Softmax", axis=-1),
    "attention": attention,
    "product_relu": then(product(5, 12), op("Relu")),
    "transpose": op("Transpose", perm=[0, 2, 1]),
    "mean": op("ReduceMean", axes=[-1], keepdims=1),
    "slice": op("Slice", [1], [5], [2], [2]),
    "concat": lambda graph, x: graph.op("Concat", x, graph.op("Tanh", x), axis=-1),
    "heads": then(op("Reshape", [2, 7, 3, 4]), op("Transpose", perm=[0, 2, 1, 3])),
    "pad": op("Pad", [0, 0, 1, 0, 0, 2]),
    "add": op("Add", np.linspace(0, 1, 12)),
}

#: What export_cpp gets wrong even when mended, or does not have.
NOT_IN_EXPORT_CPP = {
    "average", "maximum_of_channels", "mean_of_image", "slice_channels", "slice_image", "transpose", "softplus",
    "pad_conv", "hard_swish",
}  # fmt: skip


def bush(stem: Branch | None, branches: dict[str, Branch], shape: Sequence[int]) -> onnx.ModelProto:
    """A model with an output for every branch."""
    graph = Graph(seed=5, opset=14)
    x = "input" if stem is None else str(stem(graph, "input"))
    outputs: list[str] = []
    for branch in branches.values():
        result = branch(graph, x)
        outputs += [result] if isinstance(result, str) else result
    return graph.model({"input": shape}, outputs, "bush")


def check(source: onnx.ModelProto, folder: Path, runner: str, *, xnn: bool, mend: bool) -> ExportFolder:
    """Exports a model by Aidge's own export() and compares all outputs."""
    target = "host" if runner == "host" else "k230"
    need_build_tools(target)
    if target == "k230":
        need_program("qemu-riscv64", "qemu-user")
    file = folder / "bush.onnx"
    onnx.save(source, file)
    shape = [dim.dim_value for dim in source.graph.input[0].type.tensor_type.shape.dim]
    values = np.random.default_rng(11).uniform(-2, 2, shape).astype(np.float32)
    graph = aidge_onnx.load_onnx(str(file))
    graph.set_name("bush")
    if mend:
        graph = aidge_export_gk7206.prepare(graph, shapes={"": shape})
    tensor = aidge_core.Tensor(values)
    if len(shape) == 4:
        tensor.set_data_format(aidge_core.dformat.nchw)
    config = ExportConfig(
        target=target, xnn=xnn, dformat="nhwc", export_folder=str(folder / "project"), cuda=False, compile=False
    )
    export(graph, config, [tensor])
    configure(folder / "project", target)
    compile_target(folder / "project", target)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    project = ExportFolder.load(folder / "project")
    check_outputs(runner_of(runner).run(project, [values]).outputs, session.run(None, {"input": values}))
    return project


@pytest.mark.slow
@pytest.mark.parametrize("runner", ["host", "vlen128"])
@pytest.mark.parametrize("mend", [False, True])
def test_images(runner: str, mend: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    project = check(
        bush(convolution(CHANNELS, 5, pads=[1, 1, 1, 1]), IMAGES, IMAGE), tmp_path, runner, xnn=True, mend=mend
    )
    # Softmax along an axis that is not the last in memory, and indexing.
    assert {node.type for node in project.nodes if node.library != "export_xnnpack"} == {"Softmax", "Gather"}


@pytest.mark.slow
@pytest.mark.parametrize("runner", ["host", "vlen128"])
def test_sequences(runner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    project = check(bush(None, SEQUENCES, SEQUENCE), tmp_path, runner, xnn=True, mend=False)
    assert {node.library for node in project.nodes} == {"export_xnnpack"}


@pytest.mark.slow
def test_images_without_xnnpack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What prepare() mends runs right on export_cpp's kernels."""
    monkeypatch.chdir(tmp_path)
    branches = {name: branch for name, branch in IMAGES.items() if name not in NOT_IN_EXPORT_CPP}
    source = bush(convolution(CHANNELS, 5, pads=[1, 1, 1, 1]), branches, IMAGE)
    project = check(source, tmp_path, "vlen128", xnn=False, mend=True)
    assert {node.library for node in project.nodes} == {"export_cpp"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dscnn", "senet"])
def test_zoo_without_xnnpack(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``aidge-gk7206 export`` without ``--xnn``: DS-CNN and the SE network are wrong or do not export unmended."""
    monkeypatch.chdir(tmp_path)
    need_build_tools("k230")
    need_program("qemu-riscv64", "qemu-user")
    file = tmp_path / f"{name}.onnx"
    onnx.save(zoo.build(name), file)
    folder = tmp_path / "project"
    export_model(file, ExportConfig(target="k230", xnn=False, export_folder=str(folder), compile=False))
    configure(folder, "k230")
    compile_target(folder, "k230")
    project = ExportFolder.load(folder)
    assert {node.library for node in project.nodes} == {"export_cpp"}
    assert [port.name for port in project.inputs] == ["input"]
    result = runner_of("vlen128").run(project, project.reference_inputs())
    check_outputs(result.outputs, project.reference_outputs())
