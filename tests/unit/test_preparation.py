# SPDX-License-Identifier: EPL-2.0
"""What prepare() refuses, and how it says so; input shapes; what it drops, folds and fuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.graphs import Graph

from aidge_export_gk7206 import preparation
from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.preparation import load, lower, lowering
from aidge_export_gk7206.preparation.kernel_graph import KernelGraph

IMAGE = (1, 3, 8, 8)


def lowered(g: Graph, *outputs: str, shape: tuple[int, ...] = IMAGE) -> KernelGraph:
    return lower(load(g.model({"input": shape}, outputs)), "test", {})


def types(kernels: KernelGraph) -> dict[str, int]:
    return dict(Counter(op.type for op in kernels.ops))


# ---- refusals ------------------------------------------------------------------------------------------------------


def conv_3d(g: Graph) -> str:
    x = g.op("Reshape", "input", g.ints(1, 3, 2, 4, 8))
    return g.op("Conv", x, g.normal(4, 3, 1, 1, 1))


def pool_3d(g: Graph) -> str:
    return g.op("MaxPool", g.op("Reshape", "input", g.ints(1, 3, 2, 4, 8)), kernel_shape=[2, 2, 2])


def computed_weights(g: Graph) -> str:
    weights = g.op("Reshape", g.op("ReduceMean", "input", keepdims=1), g.ints(1, 1, 1, 1))
    return g.op("Conv", g.op("Slice", "input", g.ints(0), g.ints(1), g.ints(1)), weights)


def pooling_indices(g: Graph) -> str:
    values, indices = g.ops("MaxPool", 2, "input", kernel_shape=[2, 2])
    return g.op("Add", values, g.op("Cast", indices, to=TensorProto.FLOAT))


def other_type(g: Graph) -> str:
    return g.op("Cast", g.op("Cast", "input", to=TensorProto.INT64), to=TensorProto.FLOAT)


def computed_clip(g: Graph) -> str:
    return g.op("Clip", "input", g.op("ReduceMin", "input", keepdims=0))


def computed_indices(g: Graph) -> str:
    return g.op("Gather", g.constant(np.eye(8)), g.op("Cast", "input", to=TensorProto.INT64), axis=0)


def uneven_indices(g: Graph) -> str:
    return g.op("Gather", "input", g.ints(0, 0, 2), axis=1)


def foreign(g: Graph) -> str:
    return g.op("Fancy", "input", domain="com.example")


def training(g: Graph) -> str:
    parameters = [g.constant(np.ones(3)) for _ in range(4)]
    return g.ops("BatchNormalization", 3, "input", *parameters, training_mode=1)[0]


def ceil_mode_into_padding(g: Graph) -> str:
    return g.op("MaxPool", "input", kernel_shape=[2, 2], strides=[3, 3], pads=[0, 0, 2, 2], ceil_mode=1)


def wrap(g: Graph) -> str:
    return g.op("Pad", "input", g.ints(0, 0, 1, 1, 0, 0, 1, 1), mode="wrap")


def antialias(g: Graph) -> str:
    return g.op("Resize", "input", "", g.constant([1, 1, 0.5, 0.5]), mode="linear", antialias=1)


def channel_scale(g: Graph) -> str:
    """3 channels remain, but not the same."""
    return g.op("Resize", "input", "", g.constant([1, 1.2, 2, 1]))


def sum_of_nothing(g: Graph) -> str:
    return g.op("ReduceSum", g.op("Slice", "input", g.ints(3), g.ints(3), g.ints(2)), keepdims=0)


def no_variance(g: Graph) -> str:
    parameters = [g.constant(np.ones(3)) for _ in range(3)]
    return g.op("BatchNormalization", "input", *parameters, g.constant(np.zeros(3)), epsilon=0.0)


REFUSED: list[tuple[Callable[[Graph], str], str, str]] = [
    (conv_3d, "Conv", "3 spatial axes"),
    (pool_3d, "MaxPool", "3 spatial axes"),
    (lambda g: g.op("LRN", "input", size=3), "LRN", "not supported"),
    (foreign, "com.example.Fancy", "not supported"),
    (computed_weights, "Conv", "must be known at export"),
    (pooling_indices, "MaxPool", "indices of MaxPool"),
    (other_type, "Cast", "float32"),
    (computed_clip, "Clip", "must be known at export"),
    (computed_indices, "", "float32|must be known at export"),
    (uneven_indices, "Gather", "not evenly spaced"),
    (training, "BatchNormalization", "training_mode"),
    (ceil_mode_into_padding, "MaxPool", "ceil_mode"),
    (wrap, "Pad", "wrap"),
    (lambda g: g.op("Resize", "input", "", g.constant([1, 2, 1, 1.0])), "Resize", "other than the spatial ones"),
    (antialias, "Resize", "antialias"),
    (channel_scale, "Resize", "other than the spatial ones"),
    (sum_of_nothing, "ReduceSum", "empty"),
    (no_variance, "BatchNormalization", "variance"),
    (lambda g: g.op("Conv", "input"), "Conv", "weights of a convolution must be given"),
    (lambda g: g.op("ConvTranspose", "input"), "ConvTranspose", "weights of a transposed convolution must be given"),
    (lambda g: g.op("Add", "input", "q"), "Add", "nothing computes its input 'q'"),
    (lambda g: g.op("Conv", "input", "q"), "Conv", "nothing computes its input 'q'"),
    (lambda g: g.op("Tile", "input", g.ints(1, 2, 1, 1)), "Tile", "repeats"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "operator", "reason"), REFUSED, ids=[f"{o}-{r}" for _, o, r in REFUSED])
def test_refused(build: Callable[[Graph], str], operator: str, reason: str) -> None:
    """The message names layer, operator, reason and remedy, on one line."""
    for attempt in ("named", "unnamed"):
        g = Graph(opset=19)
        output = build(g)
        if attempt == "unnamed":
            for node in g.nodes:
                node.name = ""
        with pytest.raises(ExportError, match=reason) as caught:
            lowered(g, output)
        message = str(caught.value)
        assert operator in message and "layer '" in message and "\n" not in message
        assert caught.value.remedy and message.endswith(caught.value.remedy)
        candidates = [node for node in g.nodes if node.op_type == operator.rsplit(".", maxsplit=1)[-1]]
        assert not candidates or any(f"'{node.name or node.output[0]}'" in message for node in candidates)


def test_nothing_else_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    g = Graph()
    y = g.op("Div", g.conv("input", 3, 3), g.constant([[[0.0]], [[1.0]], [[1e-42]]]))
    z = g.op("Mul", g.op("Mul", g.conv("input", 3, 3), g.constant(1e30)), g.constant(1e30))
    lowered(g, y, z)
    g = Graph()
    with pytest.raises(ExportError, match="'q'"):
        lowered(g, g.op("Add", "input", "q"))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("error", [ValueError("two\nlines"), IndexError(), KeyError("axis"), AssertionError()])
def test_defect_in_a_rule(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that nobody thought of says where it was, and keeps its cause."""

    def broken(*_: object) -> None:
        raise error

    monkeypatch.setitem(lowering._RULES, "Relu", broken)
    g = Graph()
    with pytest.raises(ExportError, match=r"layer 'Relu_1' \(Relu\): ") as caught:
        lowered(g, g.op("Relu", "input"))
    message = str(caught.value)
    assert type(error).__name__ in message and "\n" not in message and message.endswith(caught.value.remedy)
    assert "defect" in caught.value.remedy and caught.value.__cause__ is error


def test_defect_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    error = ValueError("why")
    monkeypatch.setattr(preparation, "fuse_patterns", lambda _: (_ for _ in ()).throw(error))
    g = Graph()
    with pytest.raises(ExportError, match="the model: ValueError") as caught:
        lowered(g, g.op("Relu", "input"))
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("empty", ["Slice", "Gather", "Relu"])
def test_empty_output(empty: str) -> None:
    g = Graph()
    x = g.op("Slice", "input", g.ints(3), g.ints(3), g.ints(1))
    x = {"Slice": x, "Gather": g.op("Gather", "input", g.ints(), axis=1), "Relu": g.op("Relu", x)}[empty]
    kernels = lowered(g, g.op("Relu", "input"), x)
    assert kernels.outputs[1].shape == (1, 0, 8, 8)
    assert types(kernels) == {"XnnInput": 1, "XnnUnary": 1, "XnnSplit": 1}


def test_empty_parts_cost_nothing() -> None:
    g = Graph()
    nothing = g.op("Relu", g.op("Slice", "input", g.ints(3), g.ints(3), g.ints(1)))
    assert types(lowered(g, g.op("Relu", g.op("Concat", nothing, "input", axis=1)))) == {"XnnUnary": 1}


def test_dropout_mask_is_an_output() -> None:
    g = Graph()
    values, mask = g.ops("Dropout", 2, "input")
    model = g.model({"input": IMAGE}, [values, mask])
    model.graph.output[1].type.tensor_type.elem_type = TensorProto.BOOL
    with pytest.raises(ExportError, match="float32"):
        lower(load(model), "test", {})


@pytest.mark.parametrize("dtype", [TensorProto.INT64, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.UINT8])
def test_input_of_another_type(dtype: int) -> None:
    g = Graph()
    model = g.model({"input": (1, 4)}, [g.op("Identity", "input")], dtype=dtype)
    with pytest.raises(ExportError, match=r"input 'input' .*float32"):
        lower(load(model), "test", {})


@pytest.mark.parametrize("names", [["a", "b"], ["left image", "right image", "third"]])
def test_several_inputs(names: list[str]) -> None:
    g = Graph()
    model = g.model(dict.fromkeys(names, (1, 4)), [g.op("Sum", *names)])
    with pytest.raises(ExportError, match=f"{len(names)} inputs") as caught:
        lower(load(model), "test", {})
    assert all(f"'{name}'" in str(caught.value) for name in names)


def test_no_input() -> None:
    g = Graph()
    model = g.model({}, [g.op("Relu", g.constant([1.0]))])
    with pytest.raises(ExportError, match="0 inputs"):
        lower(load(model), "test", {})


# ---- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"no ONNX at all", b"\x08\x08", bytes(range(256)) * 8, b"\x00" * 100])
def test_bad_file(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "bad.onnx"
    file.write_bytes(content)
    with pytest.raises(ExportError, match=r"bad\.onnx: not an ONNX model") as caught:
        load(file)
    assert "\n" not in str(caught.value) and caught.value.remedy


def test_truncated_file(tmp_path: Path) -> None:
    g = Graph()
    model = g.model({"input": IMAGE}, [g.conv("input", 3, 8)])
    data = model.SerializeToString()
    file = tmp_path / "truncated.onnx"
    file.write_bytes(data[: len(data) // 2])
    with pytest.raises(ExportError, match="not an ONNX model"):
        load(file)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.onnx", tmp_path):
        with pytest.raises(ExportError, match="no such file"):
            load(path)


def test_missing_external_data(tmp_path: Path) -> None:
    g = Graph()
    model = g.model({"input": IMAGE}, [g.conv("input", 3, 64)])
    file = tmp_path / "model.onnx"
    onnx.save(model, file, save_as_external_data=True, location="weights.data", size_threshold=0)
    (tmp_path / "weights.data").unlink()
    with pytest.raises(ExportError, match=r"model\.onnx"):
        lower(load(file), "test", {})


# ---- input shapes --------------------------------------------------------------------------------------------------


def open_model(*dims: int | str | None) -> onnx.ModelProto:
    g = Graph()
    return g.model({"input": dims}, [g.op("Relu", "input")])


@pytest.mark.parametrize("batch", ["N", None, 0, -1])
def test_free_batch_is_1(batch: int | str | None) -> None:
    assert lower(load(open_model(batch, 3, 8, 8)), "test", {}).inputs[0].shape == IMAGE


@pytest.mark.parametrize("shapes", [{"input": [2, 3, 10, 12]}, {"": [2, 3, 10, 12]}])
def test_shape_is_given(shapes: dict[str, list[int]]) -> None:
    kernels = lower(load(open_model("N", 3, "H", "W")), "test", shapes)
    assert kernels.inputs[0].shape == kernels.outputs[0].shape == (2, 3, 10, 12)


def test_stale_shapes_inside_are_forgotten() -> None:
    g = Graph()
    model = g.model({"input": [1, 3, 8, 8]}, [g.op("Relu", g.conv("input", 3, 4))])
    for dim in model.graph.input[0].type.tensor_type.shape.dim:
        dim.Clear()
    kernels = lower(load(model), "test", {"": [2, 3, 20, 20]})
    assert kernels.outputs[0].shape == (2, 4, 18, 18)


@pytest.mark.parametrize("dims", [("N", 3, "H", 8), ("N", "C"), (1, None, 8)])
def test_open_shape_without_sample(dims: tuple[int | str | None, ...]) -> None:
    with pytest.raises(ExportError, match="input 'input' has no fixed shape") as caught:
        lower(load(open_model(*dims)), "test", {})
    assert "--shape" in caught.value.remedy and "--input" in caught.value.remedy


def test_unknown_rank() -> None:
    g = Graph()
    model = g.model({"input": IMAGE}, [g.op("Relu", "input")])
    model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(ExportError, match="no fixed shape"):
        lower(load(model), "test", {})


@pytest.mark.parametrize("shape", [[1, 3, 8, 9], [1, 3, 8], [1, 4, 8, 8], [0, 3, 8, 8]])
def test_shape_contradicts_the_model(shape: list[int]) -> None:
    with pytest.raises(ExportError, match=r"input 'input' (is|would be)") as caught:
        lower(load(open_model("N", 3, 8, 8)), "test", {"": shape})
    assert "shape" in caught.value.remedy


def test_two_shapes_of_one_input() -> None:
    model = open_model("N", 3, "H", 8)
    with pytest.raises(ExportError, match="two shapes"):
        lower(load(model), "test", {"": [1, 3, 8, 8], "input": [1, 3, 9, 8]})
    assert lower(load(model), "test", {"": IMAGE, "input": list(IMAGE)}).inputs[0].shape == IMAGE


def test_shape_of_an_unknown_input() -> None:
    with pytest.raises(ExportError, match=r"no input 'image'.*'input'"):
        lower(load(open_model("N", 3, 8, 8)), "test", {"image": [1, 3, 8, 8]})


# ---- what is dropped, folded, fused --------------------------------------------------------------------------------


def test_initializers_among_the_inputs_are_constants() -> None:
    g = Graph()
    model = g.model({"input": IMAGE}, [g.conv("input", 3, 16)])
    for array in model.graph.initializer:
        model.graph.input.append(helper.make_tensor_value_info(array.name, array.data_type, array.dims))
    assert types(lower(load(model), "test", {})) == {"XnnConvolution": 1}


def test_shape_computations_cost_nothing() -> None:
    g = Graph()
    x = g.conv("input", 3, 16, pads=[1] * 4)
    batch = g.op("Slice", g.op("Shape", x), g.ints(0), g.ints(1))
    x = g.op("Reshape", x, g.op("Concat", batch, g.ints(-1), axis=0))
    x = g.op("Identity", g.op("Dropout", g.op("Unsqueeze", g.op("Squeeze", x, g.ints(0)), g.ints(0))))
    assert types(lowered(g, g.op("Gemm", x, g.normal(1024, 16)))) == {"XnnConvolution": 1, "XnnFullyConnected": 1}


def test_residual_block_is_fused() -> None:
    """Batch normalisation, padding and activations become part of the convolutions and the sum."""
    g = Graph()
    padded = g.op("Pad", "input", g.ints(0, 0, 1, 1, 0, 0, 1, 1))
    x = g.conv(padded, 3, 16)
    ones = [g.uniform(16, low=0.5) for _ in range(4)]
    x = g.op("Relu", g.op("BatchNormalization", x, *ones))
    y = g.op("Mul", g.conv(x, 16, 16, pads=[1] * 4), g.uniform(16, 1, 1))
    kernels = lowered(g, g.op("Relu", g.op("Add", x, g.op("Add", y, g.uniform(16, 1, 1)))))
    assert types(kernels) == {"XnnConvolution": 2, "XnnBinary": 1}
    assert [op.attrs["activation_min"] for op in kernels.ops] == [0.0, -np.inf, 0.0]
    assert kernels.ops[0].attrs["pads"] == [1, 1, 1, 1]


@pytest.mark.parametrize("lower_bound", [-np.inf, 0.0])
def test_bounds_are_fused_once(lower_bound: float) -> None:
    g = Graph()
    x = g.conv("input", 3, 16)
    x = g.op("Clip", g.op("Clip", x, g.constant(np.float32(lower_bound)), g.constant(6.0)), g.constant(-1.0))
    ops = lowered(g, x).ops
    assert ops[0].attrs["activation_max"] == 6.0


def test_a_shared_layer_keeps_its_values() -> None:
    g = Graph()
    x = g.conv("input", 3, 16)
    kernels = lowered(g, g.op("Relu", x), g.op("Neg", x))
    assert types(kernels) == {"XnnConvolution": 1, "XnnUnary": 2}
    assert kernels.ops[0].attrs["activation_min"] == -np.inf


def test_unused_nodes_are_dropped() -> None:
    g = Graph()
    g.op("LRN", "input", size=3)
    g.ops("MaxPool", 2, "input", kernel_shape=[2, 2])
    assert types(lowered(g, g.op("Relu", "input"))) == {"XnnUnary": 1}


def test_pooling_indices_are_no_output() -> None:
    g = Graph()
    values, _ = g.ops("MaxPool", 2, "input", kernel_shape=[2, 2])
    assert len(lowered(g, values).outputs) == 1


def test_outputs_keep_names_order_and_layout() -> None:
    g = Graph()
    x = g.conv("input", 3, 16)
    flat = g.op("Flatten", x)
    kernels = lowered(g, flat, x, "input")
    assert [port.name for port in kernels.outputs] == [flat, x, "input"]
    described = [port.describe() for port in kernels.outputs]
    assert [entry["layout"] for entry in described] == ["default", "nhwc", "nhwc"]
    assert described[1]["device_shape"] == [1, 6, 6, 16] and described[1]["permutation"] == [0, 2, 3, 1]


@pytest.mark.parametrize("shape", [(), (5,), IMAGE, (1, 2, 3, 4, 5), (1, 2, 1, 3, 1, 2, 2)])
def test_an_input_that_is_an_output_keeps_its_name(shape: tuple[int, ...]) -> None:
    g = Graph()
    kernels = lowered(g, "input", g.op("Relu", "input"), shape=shape)
    assert kernels.inputs[0].name == kernels.outputs[0].name == "input"
    assert kernels.inputs[0].shape == kernels.outputs[0].shape == shape


def test_no_operator_reads_constants_alone() -> None:
    """Aidge would try to compute it."""
    g = Graph()
    image = g.op("ConstantOfShape", g.ints(1, 3, 4, 4))
    outputs = [g.op("Identity", g.constant([1.0, 2.0])), g.conv(image, 3, 16), g.op("Relu", "input")]
    kernels = lowered(g, *outputs)
    assert types(kernels) == {"XnnInput": 1, "XnnCopy": 2, "XnnConvolution": 1, "XnnUnary": 1}
    assert all(any(tensor.constant is None for tensor in op.inputs) for op in kernels.ops)


@pytest.mark.parametrize("divisor", [0.0, 1e-42])
def test_infinite_weights_are_not_folded(divisor: float) -> None:
    g = Graph()
    y = g.op("Div", g.conv("input", 3, 16), g.constant(np.full((16, 1, 1), divisor)))
    assert types(lowered(g, y)) == {"XnnConvolution": 1, "XnnBinary": 1}


@pytest.mark.parametrize(("channels", "shape", "folded"), [(16, (2, 16, 1), True), (8, (4, 8), False)])
def test_batch_norm_is_folded_per_channel_of_the_weights(channels: int, shape: tuple[int, ...], folded: bool) -> None:
    g = Graph()
    x = g.op("Reshape", g.op("Gemm", "input", g.normal(3, 16)), g.ints(*shape))
    x = g.op("BatchNormalization", x, *(g.uniform(channels, low=0.5) for _ in range(4)))
    assert (types(lowered(g, x, shape=(2, 3))) == {"XnnFullyConnected": 1}) == folded


@pytest.mark.parametrize(("axes", "fused"), [((), True), ((1, 1), True), ((1, 1, 1), False)])
def test_patterns_keep_the_rank(axes: tuple[int, ...], fused: bool) -> None:
    g = Graph()
    three, six = g.constant(np.full(axes, 3.0)), g.constant(6.0)
    y = g.op("Div", g.op("Mul", "input", g.op("Clip", g.op("Add", "input", three), g.constant(0.0), six)), six)
    kernels = lowered(g, y, shape=(2, 3))
    assert (types(kernels) == {"XnnUnary": 1}) == fused
    assert kernels.outputs[0].shape == (*axes[2:], 2, 3)


# ---- layers too small for a vector ---------------------------------------------------------------------------------


def small_then(op_type: str | None, channels: int = 5) -> KernelGraph:
    g = Graph()
    x = g.conv("input", 3, channels, pads=[1] * 4)
    if op_type == "Reshape":
        x = g.op("Sigmoid", g.op("Reshape", x, g.ints(1, -1)))
    elif op_type is not None:
        x = g.conv(g.op(op_type, x), channels, 16)
    else:
        x = g.conv(x, channels, 16)
    return lowered(g, x)


@pytest.mark.parametrize(("reader", "copies"), [(None, 0), ("Sigmoid", 0), ("Reshape", 1), ("Transpose", 1)])
def test_gaps_are_closed_where_needed(reader: str | None, copies: int) -> None:
    """A convolution to 5 channels leaves gaps for 11 more: element-wise layers and convolutions skip them."""
    if reader == "Transpose":
        g = Graph()
        x = g.op("Transpose", g.conv("input", 3, 5, pads=[1] * 4), perm=[0, 1, 3, 2])
        kernels = lowered(g, g.conv(x, 5, 16))
    else:
        kernels = small_then(reader)
    assert types(kernels).get("XnnCopy", 0) == copies


def test_outputs_have_no_gaps() -> None:
    g = Graph()
    kernels = lowered(g, g.conv("input", 3, 5), g.conv("input", 3, 16))
    assert [port.tensor.op.type for port in kernels.outputs if port.tensor.op] == ["XnnCopy", "XnnConvolution"]


def test_no_gaps_on_a_machine_without_long_vectors() -> None:
    g = Graph()
    model = g.model({"input": IMAGE}, [g.conv("input", 3, 5)])
    assert types(lower(load(model), "test", {}, vector_channels=1)) == {"XnnConvolution": 1}
