# SPDX-License-Identifier: EPL-2.0
"""Regions of models and graphs put onto the NPU: what fits, what does not, what becomes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aidge_core
import numpy as np
import onnx
import pytest
import zoo
from aidge_core.export_utils import export as aidge_export
from aidge_core.export_utils.config import ExportConfig
from support.projects import export

from aidge_export_gk7206 import ExportError, prepare
from aidge_export_gk7206.export_folder import ExportFolder
from aidge_export_gk7206.npu.layout import DataType
from aidge_export_gk7206.npu.matching import channel_axis_of, layout_of, match_outputs
from aidge_export_gk7206.npu.preprocessing import Preprocessing
from aidge_export_gk7206.npu.quantisation import Grid, grid_for
from aidge_export_gk7206.npu.writer import TensorSpec, XmmSpec, write_xmm
from aidge_export_gk7206.npu.xmm import read
from aidge_export_gk7206.offloading import NpuOptions, golden_vectors, graph_from_xmm
from aidge_export_gk7206.offloading_graph import offload

HEADS = ("Conv_44_out", "Conv_49_out")
PIXELS = Preprocessing((127.5,), (64.0, 65.0, 66.0), "bgr")


@pytest.fixture(scope="module")
def yolo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A detector as ONNX, with the file that its exports make for the simulator beside it."""
    folder = tmp_path_factory.mktemp("yolo")
    onnx.save(zoo.build("yolo"), folder / "yolo.onnx")
    export(folder / "yolo.onnx", folder / "npu", "host", npu=NpuOptions(None, dict.fromkeys(HEADS), PIXELS))
    (folder / "npu" / "yolo.xmm").rename(folder / "yolo.xmm")
    return folder


def through_aidge(graph: aidge_core.GraphView, shape: tuple[int, ...], folder: Path, target: str) -> ExportFolder:
    tensor = aidge_core.Tensor(np.zeros(shape, dtype=np.float32))
    if len(shape) == 4 and shape[-1] != 3:
        tensor.set_data_format(aidge_core.dformat.nchw)
    config = ExportConfig(target=target, xnn=True, export_folder=str(folder), compile=False, cuda=False)
    aidge_export(graph, config, [tensor])
    return ExportFolder.load(folder)


# ---- layouts, types, ranges ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "dims", "perm"),
    [
        ((1, 3, 12, 16), (1, 12, 16, 3), (0, 2, 3, 1)),
        ((1, 3, 12, 16), (1, 3, 12, 16), (0, 1, 2, 3)),
        ((1, 3, 3, 3), (1, 3, 3, 3), (0, 1, 2, 3)),
        ((1, 3, 12, 3), (1, 12, 3, 3), (0, 2, 3, 1)),
        ((1, 10), (1, 10, 1, 1), (0, 1)),
        ((1, 4, 1, 1), (1, 4), (0, 1, 2, 3)),
        ((1, 1, 28, 28), (1, 28, 28, 1), (0, 2, 3, 1)),
        ((1, 3, 12, 16), (1, 16, 12, 3), None),
        ((1, 10), (10, 2), None),
    ],
)
def test_layouts(shape: tuple[int, ...], dims: tuple[int, ...], perm: tuple[int, ...] | None) -> None:
    assert layout_of(shape, dims) == perm


def file_with(*outputs: TensorSpec) -> Any:
    return read(write_xmm(XmmSpec(tensors=[TensorSpec((1, 8, 8, 3), "input"), *outputs])))


def test_outputs_are_found_by_name_position_and_dims() -> None:
    file = file_with(
        TensorSpec((1, 4, 5, 5), "output"), TensorSpec((1, 4, 5, 5), "output", name="b"), TensorSpec((1, 9), "output")
    )
    shapes = {"b": (1, 4, 5, 5), "a": (1, 4, 5, 5), "c": (1, 9)}
    assert [m.index for m in match_outputs(shapes, file, dict.fromkeys(shapes))] == [1, 0, 2]
    assert [m.index for m in match_outputs(shapes, file, {"b": 0, "a": 1, "c": None})] == [0, 1, 2]


def test_every_mismatch_is_named() -> None:
    file = file_with(TensorSpec((1, 4, 5, 5), "output"), TensorSpec((1, 4, 5, 5), "output"))
    shapes = {"a": (1, 4, 5, 5), "b": (1, 4, 5, 5), "c": (1, 9), "d": (1, 2)}
    with pytest.raises(ExportError) as error:
        match_outputs(shapes, file, {"a": None, "b": None, "c": None, "d": 7})
    text = str(error.value)
    assert "'a' (1x4x5x5) may be output 0 or 1: say which, e.g. a=0" in text
    assert "'c' (1x9) is no output of the file" in text
    assert "'d' cannot be output 7, the file has 2" in text
    assert "(outputs of the file: 0: 1x4x5x5 uint8, 1: 1x4x5x5 uint8)" in text


def test_grids() -> None:
    grid = grid_for(np.array([-1.0, 3.0], dtype=np.float32))
    assert (grid.zero_point, round(grid.scale, 6)) == (64, 0.015686)
    assert grid.store(np.array([-9.0, 0.0, 9.0, np.nan])).tolist() == [0, 64, 255, 64]
    assert grid_for(np.array([5.0, 6.0])).zero_point == 0
    assert grid_for(np.zeros(3)).scale == 1.0
    half = Grid(DataType.UINT8, 1.0, 0)
    assert half.store(np.array([0.5, 1.5, 2.5])).tolist() == [0, 2, 2]


def test_preprocessing_and_back() -> None:
    x = np.random.default_rng(0).random((1, 4, 5, 3)).astype(np.float32)
    pixels = PIXELS.to_pixels(x, 3)
    assert np.allclose(pixels[..., 0], x[..., 2] * 66 + 127.5)
    assert np.allclose(PIXELS.from_pixels(pixels, 3), x, atol=1e-6)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"std": (0.0,)}, "is not positive"),
        ({"mean": ()}, "is not one number per channel"),
        ({"mean": (float("nan"),)}, "is not one number per channel"),
        ({"order": "rbg"}, "channel order 'rbg' is not known"),
    ],
)
def test_wrong_preprocessing(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ExportError, match=message):
        Preprocessing(**fields)


def test_numbers_per_channel(yolo: Path, tmp_path: Path) -> None:
    npu = NpuOptions(yolo / "yolo.xmm", dict.fromkeys(HEADS), Preprocessing(mean=(1.0, 2.0)))
    with pytest.raises(ExportError, match="mean has 2 numbers, the input has 3 channels: give one or 3"):
        export(yolo / "yolo.onnx", tmp_path / "out", "host", npu=npu)


# ---- regions ---------------------------------------------------------------------------------------------------------


def test_a_region_must_be_closed(yolo: Path, tmp_path: Path) -> None:
    npu = NpuOptions(outputs={"Conv_44_out": None})
    with pytest.raises(ExportError, match=r"tensor '\w+' is inside the region, and what follows the region needs it"):
        export(yolo / "yolo.onnx", tmp_path / "out", "host", npu=npu)


def test_unknown_tensor(yolo: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"the model computes no tensor 'none': its last ones are .*'Sigmoid_54_out'"):
        export(yolo / "yolo.onnx", tmp_path / "out", "host", npu=NpuOptions(outputs={"none": None}))


def test_another_model(yolo: Path, tmp_path: Path) -> None:
    onnx.save(zoo.build("lenet"), tmp_path / "lenet.onnx")
    with pytest.raises(ExportError, match="input 'input' is 1x1x28x28 in the graph, 1x96x96x3 uint8 in the file"):
        export(tmp_path / "lenet.onnx", tmp_path / "out", "host", npu=NpuOptions(yolo / "yolo.xmm"))


def test_a_sample_that_the_file_cannot_hold(yolo: Path, tmp_path: Path) -> None:
    """Without the preprocessing that the file was made with, a normalised input would be black."""
    npu = NpuOptions(yolo / "yolo.xmm", dict.fromkeys(HEADS))
    dark = np.random.default_rng(0).random((1, 3, 96, 96), dtype=np.float32)
    with pytest.raises(ExportError, match="counts in steps of 1 and would see next to nothing: give --mean and --std"):
        export(yolo / "yolo.onnx", tmp_path / "out", "host", sample=dark, npu=npu)
    with pytest.raises(ExportError, match=r"from .* once converted, the file takes 0 to 255: give --mean and --std"):
        export(yolo / "yolo.onnx", tmp_path / "out", "host", sample=dark * 500 - 100, npu=npu)


@pytest.mark.parametrize("target", ["host", "gk7206"])
def test_a_graph_and_its_model_give_the_same_layers(yolo: Path, tmp_path: Path, target: str) -> None:
    """offload() of a prepared graph, through Aidge's own export(), against the command line's way.

    The graph's tensors are channels last already, so that it turns what the file gives.
    """
    options = {HEADS[0]: 0, HEADS[1]: 1}
    graph = offload(prepare(yolo / "yolo.onnx"), yolo / "yolo.xmm", options, PIXELS)
    ours = through_aidge(graph, (1, 3, 96, 96), tmp_path / "graph", target)
    npu = NpuOptions(yolo / "yolo.xmm", options, PIXELS)
    theirs = export(yolo / "yolo.onnx", tmp_path / "model", target, npu=npu)
    assert [n.name for n in theirs.nodes] == [n.name for n in ours.nodes if n.type != "Transpose"]
    assert [node.library for node in ours.nodes].count("export_gk7206") == 1
    assert [(t.name, t.shape) for t in ours.outputs] == [(t.name, t.shape) for t in theirs.outputs]
    first, second = (next(p.path.glob("dnn/include/layers/*XmmGraph*")).read_text("utf-8") for p in (ours, theirs))
    assert first == second


def test_offload_of_what_is_not_there(yolo: Path) -> None:
    graph = prepare(yolo / "yolo.onnx")
    with pytest.raises(ExportError, match="the graph has no tensor 'none'"):
        offload(graph, yolo / "yolo.xmm", {"none": 0})
    with pytest.raises(ExportError, match="is inside the region"):
        offload(graph, yolo / "yolo.xmm", {HEADS[0]: 0})
    with pytest.raises(ExportError, match="the graph was not prepared"):
        offload(aidge_core.GraphView(), yolo / "yolo.xmm")


def test_targets_without_npu(yolo: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"target 'k230' has no NPU for \.xmm files: choose gk7206"):
        export(yolo / "yolo.onnx", tmp_path / "out", "k230", npu=NpuOptions())


def test_a_graph_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "two-heads.xmm"
    tensors = [
        TensorSpec((1, 12, 12, 3), "input", name="input"),
        TensorSpec((1, 4, 1, 1), "output", scale=0.5, zero_point=192),
        TensorSpec((1, 2), "output", name="scores"),
    ]
    file.write_bytes(write_xmm(XmmSpec(tensors=tensors)))
    project = through_aidge(graph_from_xmm(file), (1, 12, 12, 3), tmp_path / "out", "gk7206v11a")
    assert [(t.name, t.shape, t.dtype) for t in project.inputs] == [("input", (1, 12, 12, 3), "float32")]
    assert [(t.name, t.shape) for t in project.outputs] == [("output_0", (1, 4, 1, 1)), ("scores", (1, 2))]
    description = json.loads((project.path / "export.json").read_text(encoding="utf-8"))
    assert description["memory"]["mmz"]["capacity"] == 96 << 20
    assert (project.path / "two_heads.xmm").read_bytes() == file.read_bytes()


def test_a_file_for_a_larger_zone(tmp_path: Path) -> None:
    file = tmp_path / "large.xmm"
    tensors = [
        TensorSpec((1, 8), "input"),
        TensorSpec((1, 100 << 20), "workspace"),
        TensorSpec((1, 8), "output"),
    ]
    file.write_bytes(write_xmm(XmmSpec(tensors=tensors)))
    message = r"100.0 MB for the NPU \(MMZ\) do not fit gk7206v11a, which has 96.0 MB \(code 0.0 MB, workspace 100.0 MB"
    with pytest.raises(ExportError, match=message):
        through_aidge(graph_from_xmm(file), (1, 8), tmp_path / "out", "gk7206v11a")
    assert through_aidge(graph_from_xmm(file), (1, 8), tmp_path / "out", "gk7206").target == "gk7206"


def test_quantised_input_of_another_kind(tmp_path: Path) -> None:
    file = tmp_path / "halves.xmm"
    tensors = [TensorSpec((1, 8), "input", DataType.FP16), TensorSpec((1, 8), "output", DataType.INT16, scale=0.01)]
    file.write_bytes(write_xmm(XmmSpec(tensors=tensors)))
    with pytest.raises(ExportError, match="the file takes float16, raw input is uint8"):
        graph_from_xmm(file, raw=True)
    project = through_aidge(graph_from_xmm(file), (1, 8), tmp_path / "out", "gk7206")
    code = next(project.path.glob("dnn/include/layers/*.hpp")).read_text(encoding="utf-8")
    assert "DataType::float16" in code and "DataType::int16" in code


# ---- what graphs of a region look like -------------------------------------------------------------------------------


def built(make: Any, inputs: tuple[int, ...], outputs: list[str]) -> onnx.ModelProto:
    """A model of nodes that a function adds to lists of nodes and initializers."""
    nodes: list[onnx.NodeProto] = []
    constants: list[onnx.TensorProto] = []
    make(nodes, constants)
    ports = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs]
    source = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, inputs)
    graph = onnx.helper.make_graph(nodes, "g", [source], ports, constants)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 9
    return model


def convolution(nodes: list[onnx.NodeProto], constants: list[onnx.TensorProto]) -> None:
    weights = np.random.default_rng(1).normal(size=(5, 3, 3, 3)).astype(np.float32)
    constants.append(onnx.numpy_helper.from_array(weights, "w"))
    nodes.append(onnx.helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]))
    nodes.append(onnx.helper.make_node("Relu", ["a"], ["b"]))
    nodes.append(onnx.helper.make_node("GlobalAveragePool", ["b"], ["c"]))
    nodes.append(onnx.helper.make_node("Softmax", ["c"], ["d"], axis=1))


def compiled(folder: Path, *outputs: tuple[int, ...]) -> Path:
    """A file for an image of 8 x 8."""
    file = folder / "model.xmm"
    tensors = [TensorSpec((1, 8, 8, 3), "input", scale=1 / 255)]
    tensors += [TensorSpec(dims, "output", scale=0.02, zero_point=100) for dims in outputs]
    file.write_bytes(write_xmm(XmmSpec(tensors=tensors)))
    return file


def test_what_is_fused_is_no_end(tmp_path: Path) -> None:
    """The convolution computes its activation too: cutting between the two would lose it."""
    graph = prepare(built(convolution, (1, 3, 8, 8), ["b", "d"]))
    with pytest.raises(ExportError, match="the graph has no tensor 'a': it is fused with what follows"):
        offload(graph, compiled(tmp_path, (1, 5, 8, 8)), {"a": 0})


@pytest.mark.parametrize("outputs", [None, [], ["b", "d"], ["d", "b"]])
def test_several_outputs(outputs: list[str] | None, tmp_path: Path) -> None:
    """An output that is read on, with its gaps closed for it."""
    graph = prepare(built(convolution, (1, 3, 8, 8), ["b", "d"]))
    file = compiled(tmp_path, (1, 5, 8, 8), (1, 5, 1, 1))
    project = through_aidge(offload(graph, file, outputs), (1, 3, 8, 8), tmp_path / "out", "gk7206")
    assert {node.type for node in project.nodes} <= {"XmmGraph", "Transpose", "Copy", "Identity"}
    assert [tensor.name for tensor in project.outputs] == ["b", "d"]


def test_what_follows_may_read_the_input(tmp_path: Path) -> None:
    def make(nodes: list[onnx.NodeProto], constants: list[onnx.TensorProto]) -> None:
        convolution(nodes, constants)
        nodes.append(onnx.helper.make_node("ReduceMean", ["x"], ["m"], axes=[1, 2, 3]))
        nodes.append(onnx.helper.make_node("Mul", ["d", "m"], ["e"]))

    graph = prepare(built(make, (1, 3, 8, 8), ["e"]))
    project = through_aidge(
        offload(graph, compiled(tmp_path, (1, 5, 1, 1)), ["d"]), (1, 3, 8, 8), tmp_path / "out", "gk7206"
    )
    assert {"XmmGraph", "Input", "ReduceMean", "Mul"} <= {node.type for node in project.nodes}


# ---- files that no program could run ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tensors", "fields", "message"),
    [
        ([TensorSpec((1, 8), "input")], {}, "the model has no outputs"),
        ([TensorSpec((1, 8), "output")], {}, "the model has no inputs"),
        ([TensorSpec((1, 8), "input", DataType.INT4), TensorSpec((1, 8), "output")], {}, "input 0 is int4"),
        ([TensorSpec((1, 8), "input", scale=0.0), TensorSpec((1, 8), "output")], {}, r"input 0 has the scale 0\.0"),
        ([TensorSpec((1, 8), "input"), TensorSpec((1, 500), "output", size=8)], {}, "takes at least 500 bytes"),
        ([TensorSpec((1, 8), "input"), TensorSpec((1, 0), "output", size=8)], {}, "output 1 has no values"),
        ([TensorSpec((1, 8), "input"), TensorSpec((1, 8), "output")], {"memory_reuse_type": 9}, "reuse type is 9"),
        ([TensorSpec((1, 8), "input"), TensorSpec((1, 8), "output")], {"model_type": 1}, "refuse this with -68"),
        (
            [TensorSpec((1, 8), "input"), TensorSpec((1, 1 << 31, 1 << 31, 4), "output", pitches=(0, 0, 0, 1), size=8)],
            {},
            "takes at least 18446744073709551616 bytes",
        ),
    ],
)
def test_files_that_cannot_run(tensors: list[TensorSpec], fields: dict[str, Any], message: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.xmm"
    file.write_bytes(write_xmm(XmmSpec(tensors=tensors, **fields)))
    with pytest.raises(ExportError, match=message):
        graph_from_xmm(file)


def test_golden_vectors_of_odd_sizes(tmp_path: Path) -> None:
    file = tmp_path / "model.xmm"
    tensors = [TensorSpec((1, 3), "input"), TensorSpec((1, 2), "output", DataType.INT16, scale=0.5, size=5)]
    file.write_bytes(write_xmm(XmmSpec(tensors=tensors)))
    (tmp_path / "input_data0.bin").write_bytes(bytes(3))
    (tmp_path / "output_data0.bin").write_bytes(np.array([-2, 7], dtype="<i2").tobytes() + b"\x00")
    vectors = golden_vectors(file)
    assert vectors is not None
    assert vectors.golden.outputs[0].tolist() == [[-1.0, 3.5]]


def test_a_step_of_floating_point_is_small() -> None:
    values = np.array([0.5, 100.0], dtype=np.float32)
    assert Grid(DataType.FP16, 1.0, 0).step(values).tolist() == [2**-11, 2**-4]
    assert Grid(DataType.UINT8, 0.25, 3).step(values).tolist() == [0.25, 0.25]


def test_as_many_channels_as_rows(tmp_path: Path) -> None:
    """The vendor's compiler takes images channels last."""
    assert layout_of((1, 3, 3, 3), (1, 3, 3, 3), is_input=True) == (0, 2, 3, 1)
    assert channel_axis_of((1, 3, 3, 3), (1, 3, 3, 3), (0, 2, 3, 1)) == 3
    assert channel_axis_of((1, 3, 4, 5), (3, 4, 5), (0, 1, 2, 3)) == 0
    assert channel_axis_of((1, 1, 4, 5), (1, 4, 5, 1), (0, 2, 3, 1)) is None


def test_a_graph_refuses_a_file_that_cannot_run(tmp_path: Path) -> None:
    graph = prepare(built(convolution, (1, 3, 8, 8), ["d"]))
    file = tmp_path / "bad.xmm"
    tensors = [TensorSpec((1, 8, 8, 3), "input"), TensorSpec((1, 5, 1, 1), "output", scale=0.0)]
    file.write_bytes(write_xmm(XmmSpec(tensors=tensors)))
    with pytest.raises(ExportError, match=r"output 1 has the scale 0\.0"):
        offload(graph, file)


def test_more_axes_than_an_image(tmp_path: Path) -> None:
    """On the NPU and, for the simulator, once more on the CPU."""

    def make(nodes: list[onnx.NodeProto], _: list[onnx.TensorProto]) -> None:
        nodes.append(onnx.helper.make_node("Relu", ["x"], ["y"]))

    onnx.save(built(make, (1, 2, 3, 4, 5), ["y"]), tmp_path / "deep.onnx")
    project = export(tmp_path / "deep.onnx", tmp_path / "out", "host", npu=NpuOptions())
    assert [(tensor.name, tensor.shape) for tensor in project.inputs] == [("x", (1, 2, 3, 4, 5))]
    assert (project.path / "simulator" / "reference" / "reference.cpp").is_file()
