# SPDX-License-Identifier: EPL-2.0
"""Graphs of Aidge's own operators: what runs them, what is refused, what prepare() mends."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import aidge_backend_cpu  # noqa: F401 - registers the backend
import aidge_core
import aidge_onnx
import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest
import zoo
from aidge_core.export_utils.config import ExportConfig
from aidge_core.export_utils.export import ExportContext, prepare_export, write_export
from support.graphs import Graph

import aidge_export_gk7206
from aidge_export_gk7206 import ExportError, refusals
from aidge_export_gk7206.exporting import export_model
from aidge_export_gk7206.preparation.portable import explicit_padding, to_portable
from aidge_export_gk7206.project import drop_other_outputs
from aidge_export_gk7206.xnnpack.kernel import Kernel, is_served, kernel_of

aidge_core.Log.set_console_level(aidge_core.Level.Fatal)

IMAGE = (1, 5, 9, 11)


def imported(model: onnx.ModelProto) -> aidge_core.GraphView:
    """The model as Aidge imports it."""
    return aidge_onnx.convert_onnx_to_aidge(model)


def sample(shape: Sequence[int], label: bool = True) -> aidge_core.Tensor:
    """An input, labelled as the tutorial tells."""
    tensor = aidge_core.Tensor(np.zeros(shape, np.float32))
    if label and len(shape) == 4:
        tensor.set_data_format(aidge_core.dformat.nchw)
    return tensor


def adapted(
    graph: aidge_core.GraphView, shape: Sequence[int], *, xnn: bool = True, label: bool = True
) -> ExportContext:
    """The graph as Aidge's export has it before files are written."""
    config = ExportConfig(target="k230", xnn=xnn, dformat="nhwc", export_folder="unused", cuda=False, clone_model=True)
    return prepare_export(graph, config, input_tensors=[sample(shape, label)])


def layers(context: ExportContext) -> list[aidge_core.Node]:
    """Nodes in the order in which they run."""
    return [node for node in context.scheduler.get_sequential_static_scheduling() if node.type() != "Producer"]


def types(context: ExportContext) -> list[str]:
    return [str(node.type()) for node in layers(context)]


def kernels(context: ExportContext) -> list[Kernel]:
    return [kernel_of(node) for node in layers(context)]


def model(build: Callable[[Graph, str], str], shape: Sequence[int] = IMAGE, opset: int = 13) -> onnx.ModelProto:
    """A model of a few nodes, whose input is ``input``."""
    graph = Graph(opset=opset)
    return graph.model({"input": shape}, [build(graph, "input")])


def convolved(graph: Graph, x: str, channels: int = 6) -> str:
    return graph.conv(x, 5, channels, pads=[1, 1, 1, 1])


# ---- which library, which form ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["addrelu", "asympad", "attn", "autoenc", "conv_relu", "dscnn", "lenet", "lenet_softmax", "resnet8", "senet",
     "tinyyolo", "unet", "unet_tconv", "yolo"],
)  # fmt: skip
def test_zoo_runs_on_xnnpack(name: str) -> None:
    context = adapted(imported(zoo.build(name)), zoo.MODELS[name][0])
    refusals.check(context)
    assert [node.type() for node in layers(context) if not is_served(node)] == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("conv_relu", ["PadConvAct"]),
        ("addrelu", ["PadConvAct", "PadConv", "AddAct"]),
        ("asympad", ["PadConvClip", "PadAvgPool"]),
        (
            "lenet",
            ["PadConvAct", "MaxPooling2D", "ConvAct", "MaxPooling2D", "Transpose", "Flatten", *["FCAct"] * 2, "FC"],
        ),
    ],
)
def test_fused_forms(name: str, expected: list[str]) -> None:
    assert types(adapted(imported(zoo.build(name)), zoo.MODELS[name][0])) == expected


def test_same_nodes_with_and_without_xnnpack() -> None:
    """The tutorial: only the kernel behind each node differs."""
    graph = imported(zoo.build("resnet8"))
    aidge_core.remove_flatten(graph)
    aidge_core.fuse_batchnorm(graph)
    shape = zoo.MODELS["resnet8"][0]
    assert sorted(types(adapted(graph, shape))) == sorted(types(adapted(graph, shape, xnn=False)))


def test_every_fused_form_of_export_cpp_is_there() -> None:
    from aidge_export_cpp import ExportLibCpp

    from aidge_export_gk7206.xnnpack import ExportLibXNNPack

    kinds = ("Conv", "FC", "Pool", "Add", "Sub", "Mul", "Div")
    wanted = {
        name: recipe
        for name, recipe in ExportLibCpp._fusion_registry.items()
        if any(kind in name for kind in kinds)
        # Quantized forms, second names of the same form, and recipes that no graph matches.
        and not name.startswith(("Q", "Padded"))
        and "GlobalAveragePooling2D" not in recipe
    }
    assert wanted.items() <= ExportLibXNNPack._fusion_registry.items()


def test_attributes_of_a_fused_convolution() -> None:
    def build(graph: Graph, x: str) -> str:
        y = graph.conv(x, 5, 7, strides=[2, 1], pads=[0, 1, 2, 1])
        return graph.op("Clip", y, graph.constant(np.float32(-0.5)), graph.constant(np.float32(1.5)))

    (kernel,) = kernels(adapted(imported(model(build)), IMAGE))
    assert kernel.type == "XnnConvolution"
    assert kernel.attrs == {
        "in_dims": [1, 9, 11, 5],
        "out_dims": [1, 5, 11, 7],
        "kernel": [3, 3],
        "stride": [2, 1],
        "dilation": [1, 1],
        "pads": [0, 1, 2, 1],
        "groups": 1,
        "activation_min": -0.5,
        "activation_max": 1.5,
    }
    assert kernel.constants[1]().shape == (7, 3, 3, 5)


def test_reshapes_and_moves_of_nothing_are_copies() -> None:
    """Aidge transposes one pixel before Flatten: the planner makes both views."""

    def build(graph: Graph, x: str) -> str:
        return graph.op("Flatten", graph.op("GlobalAveragePool", x))

    context = adapted(imported(model(build)), IMAGE)
    assert types(context) == ["GlobalAveragePooling", "Transpose", "Flatten"]
    assert [kernel.type for kernel in kernels(context)] == ["XnnReduce", "XnnCopy", "XnnCopy"]


def test_transposition_of_a_channels_last_tensor() -> None:
    """Its axes are the model's; Aidge computes the dims from others, which the translation mends."""

    def build(graph: Graph, x: str) -> str:
        return graph.op("Transpose", convolved(graph, x), perm=[0, 1, 3, 2])

    context = adapted(imported(model(build)), IMAGE)
    kernel = kernels(context)[-1]
    assert (kernel.attrs["in_dims"], kernel.attrs["perm"]) == ([1, 9, 11, 6], [0, 2, 1, 3])
    assert list(layers(context)[-1].get_operator().get_output(0).dims) == [1, 11, 9, 6]


def test_padding_that_counts() -> None:
    def build(graph: Graph, x: str) -> str:
        return graph.op("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)

    (kernel,) = kernels(adapted(imported(model(build)), IMAGE))
    assert kernel.type == "XnnConvolution"
    assert np.allclose(kernel.constants[1](), 1 / 9)


def test_indices_of_max_pooling_are_no_output() -> None:
    context = adapted(imported(zoo.build("yolo")), zoo.MODELS["yolo"][0])
    assert len(context.graph.get_ordered_outputs()) == 3
    drop_other_outputs(context.graph)
    assert len(context.graph.get_ordered_outputs()) == 1


@pytest.mark.parametrize("kept", [0, 1])
def test_unused_parts_are_no_output(kept: int) -> None:
    def build(graph: Graph, x: str) -> str:
        return graph.ops("Split", 2, convolved(graph, x), graph.ints(2, 4), axis=1)[kept]

    context = adapted(imported(model(build)), IMAGE)
    drop_other_outputs(context.graph)
    assert [(node.type(), index) for node, index in context.graph.get_ordered_outputs()] == [("Split", kept)]


# ---- what is refused -------------------------------------------------------------------------------------------------


def _pool(**attributes: Any) -> Callable[[Graph, str], str]:
    return lambda graph, x: graph.op("AveragePool", convolved(graph, x), kernel_shape=[3, 3], **attributes)


WRONG_IN_EXPORT_CPP: dict[str, tuple[Callable[[Graph, str], str], str]] = {
    "clip": (
        lambda graph, x: graph.op("Clip", convolved(graph, x), graph.constant(np.float32(0))),
        "inputs of Clip",
    ),
    "global pooling": (lambda graph, x: graph.op("GlobalAveragePool", convolved(graph, x)), "swaps height and width"),
    "padding that does not count": (_pool(pads=[1, 1, 1, 1]), "counts the padding"),
    "dilated pooling": (
        lambda graph, x: graph.op("MaxPool", convolved(graph, x), kernel_shape=[2, 2], dilations=[2, 2]),
        "no dilation",
    ),
    "reduction": (lambda graph, x: graph.op("ReduceMean", convolved(graph, x), axes=[2, 3]), "applies its axes"),
    "slice": (
        lambda graph, x: graph.op("Slice", convolved(graph, x), graph.ints(1), graph.ints(4), graph.ints(1)),
        "applies its axes",
    ),
    "transpose": (lambda graph, x: graph.op("Transpose", convolved(graph, x), perm=[0, 1, 3, 2]), "applies its axes"),
    "hard swish": (
        lambda graph, x: graph.op("Mul", graph.op("HardSigmoid", graph.op("Sigmoid", x)), x),
        "takes any product",
    ),
    "output padding": (
        lambda graph, x: graph.op(
            "ConvTranspose", x, graph.normal(5, 4, 3, 3), graph.normal(4), strides=[2, 2], output_padding=[1, 1]
        ),
        "forgets the bias",
    ),
    "activation of a pooling": (
        lambda graph, x: graph.op("Relu", graph.op("MaxPool", convolved(graph, x), kernel_shape=[2, 2])),
        "forgets the activation",
    ),
    "overhanging windows": (
        _pool(strides=[2, 2], pads=[1, 0, 0, 0], ceil_mode=1, count_include_pad=1),
        "beyond the image",
    ),
    "indices of one axis": (
        lambda graph, x: graph.op("Gather", convolved(graph, x), graph.constant(1, np.int64), axis=2),
        "axes of the output",
    ),
    "indices of two axes": (
        lambda graph, x: graph.op("Gather", convolved(graph, x), graph.constant([[0, 2], [4, 1]], np.int64), axis=-2),
        "axes of the output",
    ),
    "shrinking": (
        lambda graph, x: graph.op("Resize", convolved(graph, x), "", graph.constant([1, 1, 0.5, 0.5]), mode="linear"),
        "not known to be right",
    ),
    "rounding": (
        lambda graph, x: graph.op("Resize", convolved(graph, x), "", graph.constant([1, 1, 2, 2]), mode="nearest"),
        "not known to be right",
    ),
    "depthwise multiplier": (lambda graph, x: graph.conv(x, 5, 10, group=5, pads=[1, 1, 1, 1]), "several outputs"),
}


@pytest.mark.parametrize("case", list(WRONG_IN_EXPORT_CPP))
def test_wrong_kernels_are_refused(case: str) -> None:
    build, reason = WRONG_IN_EXPORT_CPP[case]
    context = adapted(imported(model(build, opset=14)), IMAGE, xnn=False)
    with pytest.raises(ExportError, match=reason) as error:
        refusals.check(context)
    assert "layer '" in error.value.problem
    assert "prepare(" in error.value.remedy


def test_sequences_are_refused() -> None:
    """Aidge gives the convolution's output dims of another layout."""
    for xnn in (True, False):
        context = adapted(imported(zoo.build("conv1d")), zoo.MODELS["conv1d"][0], xnn=xnn)
        with pytest.raises(ExportError, match=r"do not go together|mixes up the axes"):
            refusals.check(context)


@pytest.mark.parametrize("xnn", [True, False])
def test_unlabelled_samples_are_refused(xnn: bool) -> None:
    context = adapted(imported(zoo.build("conv_relu")), zoo.MODELS["conv_relu"][0], xnn=xnn, label=False)
    with pytest.raises(ExportError, match="label the sample tensor"):
        refusals.check(context)


def test_quantized_graphs_are_refused_with_xnnpack() -> None:
    context = adapted(imported(zoo.build("conv_relu")), zoo.MODELS["conv_relu"][0])
    with pytest.raises(ExportError, match="quantized"):
        refusals.check(dataclasses.replace(context, dtype="int8"))
    without = adapted(imported(zoo.build("conv_relu")), zoo.MODELS["conv_relu"][0], xnn=False)
    refusals.check(dataclasses.replace(without, dtype="int8"))


def test_refused_in_aidges_own_flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``write_export()`` instead of ``export()``: seen by the layers beside the one that is wrong."""
    monkeypatch.chdir(tmp_path)

    def build(graph: Graph, x: str) -> str:
        return graph.op("Relu", graph.op("ReduceMean", convolved(graph, x), axes=[3], keepdims=0))

    context = adapted(imported(model(build)), IMAGE)
    assert [is_served(node) for node in layers(context)] == [True, False, True]
    with pytest.raises(ExportError, match="applies its axes"):
        write_export(dataclasses.replace(context, export_folder=tmp_path / "project"))


def test_mixed_layouts_are_refused() -> None:
    """A constant first operand: Aidge gives the result the layout of the constant."""

    def build(graph: Graph, x: str) -> str:
        return graph.op("Sub", graph.constant(np.float32(1)), convolved(graph, x))

    context = adapted(imported(model(build)), IMAGE)
    with pytest.raises(ExportError, match="do not go together"):
        refusals.check(context)


# ---- what prepare() mends --------------------------------------------------------------------------------------------


def mended(source: onnx.ModelProto, shape: Sequence[int] = IMAGE) -> aidge_core.GraphView:
    return aidge_export_gk7206.prepare(imported(source), shapes={"input": shape})


@pytest.mark.parametrize(
    "case", [case for case in WRONG_IN_EXPORT_CPP if case in ("clip", "global pooling", "reduction")]
)
def test_mended_for_export_cpp(case: str) -> None:
    graph = mended(model(WRONG_IN_EXPORT_CPP[case][0], opset=14))
    refusals.check(adapted(graph, IMAGE, xnn=False))


@pytest.mark.parametrize("op", ["Sub", "Div", "Add", "Mul"])
@pytest.mark.parametrize("shape", [(), (6, 1, 1), (11,)])
def test_constant_operands(op: str, shape: tuple[int, ...]) -> None:
    """First or second, with any number of axes."""

    def build(graph: Graph, x: str) -> str:
        y = graph.op(op, graph.uniform(*shape, low=0.5), convolved(graph, x))
        return graph.op(op, y, graph.uniform(*shape, low=0.5))

    source = model(build)
    graph = mended(source)
    refusals.check(adapted(graph, IMAGE))
    refusals.check(adapted(graph, IMAGE, xnn=False))
    values = np.random.default_rng(3).normal(size=IMAGE).astype(np.float32)
    assert np.allclose(run(graph, values), run(imported(source), values), atol=1e-5)


def run(graph: aidge_core.GraphView, values: np.ndarray) -> np.ndarray:
    """The first output, computed by Aidge."""
    return run_all(graph, values)[0]


def run_all(graph: aidge_core.GraphView, values: np.ndarray) -> list[np.ndarray]:
    """All outputs, computed by Aidge."""
    graph.set_backend("cpu")
    graph.set_datatype(aidge_core.dtype.float32)
    graph.forward_dims([list(values.shape)], allow_data_dependency=True)
    tensor = aidge_core.Tensor(values)
    tensor.set_data_format(aidge_core.dformat.nchw)
    return [np.array(output) for output in aidge_core.SequentialScheduler(graph).forward(data=[tensor])]


@pytest.mark.parametrize(("outputs", "group"), [(8, 2), (12, 6)])
def test_convolutions_in_groups(outputs: int, group: int) -> None:
    """Also depthwise ones with several outputs per input."""
    graph = mended(model(lambda g, x: g.conv(x, 6, outputs, group=group), (1, 6, 9, 11)), (1, 6, 9, 11))
    (kernel,) = kernels(adapted(graph, (1, 6, 9, 11)))
    assert (kernel.type, kernel.attrs["groups"], kernel.attrs["out_dims"]) == (
        "XnnConvolution",
        group,
        [1, 7, 9, outputs],
    )


def test_convolutions_in_groups_name_the_remedy() -> None:
    source = model(lambda g, x: g.conv(x, 6, 8, group=2), (1, 6, 9, 11))
    with pytest.raises(ExportError, match=r"no convolution in groups: aidge_export_gk7206.prepare\(graph"):
        refusals.check(adapted(imported(source), (1, 6, 9, 11)))


def test_batch_normalization_and_dropout_are_gone() -> None:
    def build(graph: Graph, x: str) -> str:
        parameters = [graph.uniform(6, low=0.5, high=1.5) for _ in range(4)]
        return graph.op("Dropout", graph.op("BatchNormalization", convolved(graph, x), *parameters))

    assert types(adapted(mended(model(build)), IMAGE)) == ["PadConv"]


def normalized(graph: Graph, x: str, beta: str = "") -> str:
    scale, mean, variance = (graph.uniform(6, low=0.5, high=1.5) for _ in range(3))
    return graph.op("BatchNormalization", x, scale, beta or graph.uniform(6), mean, variance)


def test_parameters_that_a_batch_normalization_changes_are_shared() -> None:
    """Aidge scales them in place: by the wrong factors, or twice, for whoever else reads them."""
    graph = Graph(opset=13)
    weights, bias = graph.normal(6, 5, 3, 3), graph.uniform(6)
    first, second, third = (graph.op("Conv", "input", weights, bias) for _ in range(3))
    outputs = [normalized(graph, first), graph.op("Relu", second), normalized(graph, third, bias)]
    source = graph.model({"input": IMAGE}, outputs)
    values = np.random.default_rng(3).normal(size=IMAGE).astype(np.float32)
    for output, wanted in zip(run_all(mended(source), values), reference(source, values), strict=True):
        assert np.allclose(output, wanted, atol=1e-5)


def reference(source: onnx.ModelProto, values: np.ndarray) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, {"input": values}))


def test_outputs_keep_their_order_and_names() -> None:
    """Also those that are rewritten, and those that Aidge's adaptation replaces."""
    from aidge_export_gk7206.project import _ports

    graph = Graph(opset=13)
    normal = normalized(graph, convolved(graph, "input"))
    mean = graph.op("ReduceMean", "input", axes=[2, 3])
    flat = graph.op("Flatten", "input")
    reshaped = graph.op("Reshape", "input", graph.ints(3, 5, 3, 11))
    outputs = [normal, convolved(graph, "input"), reshaped, mean, flat, graph.op("Relu", normal)]
    source = graph.model({"input": IMAGE}, outputs)
    context = adapted(mended(source), IMAGE)
    refusals.check(context)
    ports = _ports(context)[1]
    assert [port["name"] for port in ports] == outputs
    shapes = [[1, 6, 9, 11], [1, 6, 9, 11], [3, 5, 3, 11], [1, 5, 1, 1], [1, 495], [1, 6, 9, 11]]
    assert [port["shape"] for port in ports] == shapes


@pytest.mark.parametrize("mend", [True, False])
@pytest.mark.parametrize("xnn", [True, False])
def test_reshaped_images(mend: bool, xnn: bool) -> None:
    """Aidge gives them the dims of another layout before it changes the layout."""
    source = model(lambda graph, x: graph.op("Reshape", graph.op("Relu", x), graph.ints(3, 5, 3, 11)), (1, 5, 9, 11))
    context = adapted(mended(source) if mend else imported(source), IMAGE, xnn=xnn)
    refusals.check(context)
    reshape, transpose = layers(context)[-2:]
    assert list(reshape.get_operator().get_output(0).dims) == [3, 5, 3, 11]
    assert list(transpose.get_operator().get_output(0).dims) == [3, 3, 11, 5]


def test_shapes_that_aidge_refuses() -> None:
    def build(graph: Graph, x: str) -> str:
        return graph.op("Slice", x, graph.ints(-1), graph.ints(-99), graph.ints(3), graph.ints(-1))

    with pytest.raises(ExportError, match=r"layer '.*' \(Slice\): Aidge cannot tell the shape"):
        mended(model(build))


def test_inputs_without_xnnpack() -> None:
    graph = Graph(opset=13)
    pair = graph.model({"a": IMAGE, "b": IMAGE}, [graph.op("Add", "a", "b")])
    with pytest.raises(ExportError, match=r"2 inputs \('a', 'b'\)"):
        to_portable(ir.from_proto(pair), "pair", {})
    graph = Graph(opset=13)
    integers = graph.model({"a": IMAGE}, [graph.op("Cast", "a", to=1)], dtype=onnx.TensorProto.INT64)
    with pytest.raises(ExportError, match="input 'a' is INT64: export a float32 model"):
        to_portable(ir.from_proto(integers), "integers", {})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda graph, x: graph.op("Exp", x), r"layer '.*' \(Exp\): export_cpp has no kernel for it: .*--xnn"),
        (
            lambda graph, x: graph.op("ReduceMax", x, axes=[1]),
            r"layer '.*' \(ReduceMax\): export_cpp applies its axes.*: export with XNNPACK \(--xnn\)",
        ),
        (
            lambda graph, x: graph.op("Foo", x, domain="my.dom"),
            r"layer '.*': operator my.dom.Foo is not supported: replace it",
        ),
    ],
)
def test_remedies_without_xnnpack(
    build: Callable[[Graph, str], str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other way, where it works; what is wrong there, where it does not."""
    monkeypatch.chdir(tmp_path)
    onnx.save(model(build), "model.onnx")
    config = ExportConfig(target="host", xnn=False, export_folder="project", compile=False)
    with pytest.raises(ExportError, match=message):
        export_model("model.onnx", config)


def test_names() -> None:
    """The model's name becomes a C identifier; inputs, outputs and layers keep theirs."""
    from aidge_export_gk7206.project import _ports

    graph = aidge_export_gk7206.prepare(imported(zoo.build("lenet")), name="my-model 1", shapes={"": (1, 1, 28, 28)})
    assert graph.name() == "my_model_1"
    inputs, outputs = _ports(adapted(graph, (1, 1, 28, 28)))
    source = zoo.build("lenet").graph
    assert ([port["name"] for port in inputs], [port["name"] for port in outputs]) == (
        ["input"],
        [source.output[0].name],
    )


def test_graphs_made_by_hand_are_labelled() -> None:
    graph = aidge_core.sequential(
        [
            aidge_core.Conv2D(5, 6, [3, 3], name="first"),
            aidge_core.ReLU(name="second"),
            aidge_core.Sigmoid(name="third"),
        ]
    )
    for node in graph.get_nodes():
        if node.type() == "Producer":
            tensor = aidge_core.Tensor(np.ones(node.get_operator().get_output(0).dims, np.float32))
            node.get_operator().set_output(0, tensor)
    context = adapted(aidge_export_gk7206.prepare(graph, name="hand", shapes={"": IMAGE}), IMAGE)
    refusals.check(context)
    assert types(context) == ["ConvAct", "Sigmoid"]
    assert list(layers(context)[-1].get_operator().get_output(0).dims) == [1, 7, 9, 6]


def test_unknown_shapes_are_asked_for() -> None:
    with pytest.raises(ExportError, match="shape of input 'input' is not known"):
        aidge_export_gk7206.prepare(imported(zoo.build("conv_relu")))


def test_prepare_leaves_the_graph_alone() -> None:
    graph = imported(zoo.build("asympad"))
    before = sorted(node.type() for node in graph.get_nodes())
    aidge_export_gk7206.prepare(graph, shapes={"": zoo.MODELS["asympad"][0]})
    assert sorted(node.type() for node in graph.get_nodes()) == before


@pytest.mark.parametrize("name", ["dscnn", "lenet", "senet", "tinyyolo", "yolo"])
def test_zoo_without_xnnpack(name: str) -> None:
    """The way of the command line without --xnn."""
    graph = to_portable(ir.from_proto(zoo.build(name)), name, {}).graph
    refusals.check(adapted(graph, zoo.MODELS[name][0], xnn=False))


def test_groups_need_xnnpack() -> None:
    with pytest.raises(ExportError, match="--xnn"):
        to_portable(ir.from_proto(zoo.build("groupconv")), "groupconv", {})


@pytest.mark.parametrize(("mode", "pads"), [("SAME_UPPER", [1, 0, 1, 1]), ("SAME_LOWER", [1, 1, 1, 0])])
def test_automatic_padding(mode: str, pads: list[int]) -> None:
    """Aidge's importer does not look at the size of the image: 9 rows get one row of padding, not two."""

    def build(graph: Graph, x: str) -> str:
        return graph.op("Conv", x, graph.normal(4, 5, 3, 3), strides=[2, 2], auto_pad=mode)

    source = ir.from_proto(model(build, (1, 5, 9, 12)))
    explicit_padding(source)
    assert list(source.graph[0].attributes.get_ints("pads", [])) == pads
    portable = to_portable(ir.from_proto(model(build, (1, 5, 9, 12))), "same", {})
    (layer,) = layers(adapted(portable.graph, (1, 5, 9, 12), xnn=False))
    assert list(layer.get_operator().get_output(0).dims) == [1, 5, 6, 4]


# ---- the module that Aidge looks for ---------------------------------------------------------------------------------


def test_stands_in_for_the_upstream_module() -> None:
    assert sys.modules["aidge_export_xnnpack"] is aidge_export_gk7206.xnnpack


@pytest.mark.parametrize("first", ["aidge_export_xnnpack", "aidge_export_gk7206"])
def test_an_installed_upstream_module_wins(first: str, tmp_path: Path) -> None:
    package = tmp_path / "aidge_export_xnnpack"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import aidge_core\nfrom aidge_core.export_utils import ExportLib\n\n\n"
        'class ExportLibXNNPack(ExportLib):\n    _name = "export_xnnpack"\n'
        "    _default_dformat = aidge_core.dformat.nhwc\n",
        encoding="utf-8",
    )
    script = (
        f"import json, {first}, aidge_export_gk7206\n"
        "from aidge_core.export_utils import get_export_libs_from_names\n"
        "import sys\n"
        'ours = [name for name in sys.modules if name.startswith("aidge_export_gk7206.xnn") and "operators" in name]\n'
        'print(json.dumps([get_export_libs_from_names(["export_xnnpack"])[0].__module__, *ours]))\n'
    )
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2]}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout.splitlines()[-1]) == ["aidge_export_xnnpack"]
