# SPDX-License-Identifier: EPL-2.0
"""The arena's plan, tried out: every layer must find what the layer before it wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aidge_core
import numpy as np
import numpy.typing as npt
import onnx
import pytest
import zoo
from aidge_core.export_utils.config import ExportConfig
from aidge_core.export_utils.export import prepare_export
from support.graphs import Graph

from aidge_export_gk7206.memory import ALIGNMENT, TAIL_BYTES, plan_memory
from aidge_export_gk7206.preparation import prepare

Positions = npt.NDArray[np.int64]
VECTOR_CHANNELS = {"host": 1, "k230": 16}
#: Peak of Aidge's own planner for ResNet-18, 224 x 224.
AIDGE_RESNET18 = 5_619_712
#: Constants, and what only passes the caller's pointer on.
NOT_IN_ARENA = ("Producer", "XnnInput")
MAY_OVERWRITE = ("XnnUnary", "XnnBinary", "XnnSoftmax", "XnnConcat", "XnnSplit", "XnnCopy")


class Plan:
    """A planned model, and the arena as a row of numbers that say which value lies where."""

    def __init__(self, model: onnx.ModelProto, target: str, folder: Path) -> None:
        graph = prepare(model)
        shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
        sample = aidge_core.Tensor(np.zeros(shape, np.float32))
        if len(shape) == 4:
            sample.set_data_format(aidge_core.dformat.nchw)
        config = ExportConfig(target=target, xnn=True, export_folder=str(folder), clone_model=False, dformat=None)
        context = prepare_export(graph, config, input_tensors=[sample])
        self.entries: dict[aidge_core.Node, list[dict[str, Any]]]
        peaks, self.entries = plan_memory(context.scheduler, vector_channels=VECTOR_CHANNELS[target])
        self.peak = peaks[0]
        self.graph = context.graph
        scheduled = context.scheduler.get_sequential_static_scheduling()
        self.nodes = [node for node in scheduled if node.type() not in NOT_IN_ARENA]
        self.arena = np.full(self.peak // 4, -1)
        self.values: dict[tuple[str, int], Positions] = {}
        self._count = 0

    def fresh(self, count: int) -> Positions:
        """Numbers that no value has yet."""
        self._count += count
        return np.arange(self._count - count, self._count)

    def attrs(self, node: aidge_core.Node) -> dict[str, Any]:
        return dict(node.get_operator().attr.dict())

    def elements(self, node: aidge_core.Node, index: int) -> int:
        return int(np.prod(node.get_operator().get_output(index).dims, dtype=np.int64))

    def channels(self, node: aidge_core.Node, index: int, side: str) -> int | None:
        """Elements of a pixel, as the node sees its input or output."""
        attrs = self.attrs(node)
        if "inners" in attrs:
            many = "in" if node.type() == "XnnConcat" else "out"
            return int(attrs["inners"][index] if side == many else sum(attrs["inners"]))
        dims = attrs.get("dims") or attrs.get(f"{side}_dims")
        return int(dims[-1]) if dims and index == 0 else None

    def written(self, node: aidge_core.Node, index: int) -> Positions:
        """Where an output goes, element by element."""
        entry = self.entries[node][index]
        return self._positions(
            entry, self.elements(node, index), self.channels(node, index, "out"), entry["pixel_stride"]
        )

    def read(self, node: aidge_core.Node, index: int) -> Positions | None:
        """Where an input is looked for; None when it is not in the arena."""
        parent, output = node.input(index)
        if parent is None or parent.type() in NOT_IN_ARENA:
            return None
        stride = self.entries[node][0]["input_strides"][index]
        channels = self.channels(node, index, "in")
        return self._positions(self.entries[parent][output], self.elements(parent, output), channels, stride)

    def _positions(self, entry: dict[str, int], elements: int, channels: int | None, stride: int) -> Positions:
        assert entry["offset"] % 4 == 0
        channels = channels or elements
        rows = np.arange(elements // channels)[:, np.newaxis] * (stride or channels)
        positions: Positions = (entry["offset"] // 4 + rows + np.arange(channels)).reshape(-1)
        assert positions.min() >= 0 and positions.max() * 4 + 4 <= self.peak - TAIL_BYTES
        return positions

    def run(self) -> None:
        """Runs the model on the numbers."""
        for node in self.nodes:
            inputs, places = [], []
            for index in range(node.get_nb_inputs()):
                parent, output = node.input(index)
                place = self.read(node, index)
                if place is None:
                    size = int(np.prod(node.get_operator().get_input(index).dims, dtype=np.int64))
                    inputs.append(self.fresh(size))
                    continue
                value = self.values[parent.name(), output]
                assert np.array_equal(self.arena[place], value), f"{node.type()} {node.name()}: input {index} is gone"
                inputs.append(value)
                places.append((place, index))
            outputs = self._outputs(node, inputs)
            for index, value in enumerate(outputs):
                self._write(node, index, value, places)
        for node, index in self.graph.get_ordered_outputs():
            place = self.written(node, index)
            assert np.array_equal(place, place[0] + np.arange(place.size)), "an output of the model has gaps"
            assert np.array_equal(self.arena[place], self.values[node.name(), index]), "an output was overwritten"

    def _outputs(self, node: aidge_core.Node, inputs: list[Positions]) -> list[Positions]:
        attrs = self.attrs(node)
        if node.type() == "XnnConcat":
            rows = [value.reshape(attrs["outer"], -1) for value in inputs]
            return [np.concatenate(rows, axis=1).reshape(-1)]
        if node.type() == "XnnSplit":
            rows = np.split(inputs[0].reshape(attrs["outer"], -1), np.cumsum(attrs["inners"])[:-1], axis=1)
            return [row.reshape(-1) for row in rows]
        if node.type() == "XnnCopy":
            return [inputs[0]]
        return [self.fresh(self.elements(node, index)) for index in range(node.get_nb_outputs())]

    def _write(self, node: aidge_core.Node, index: int, value: Positions, inputs: list[tuple[Positions, int]]) -> None:
        entry, place = self.entries[node][index], self.written(node, index)
        covered = place
        if entry["packed_channels"]:
            # Zeros are computed beside the channels.
            rows = place.reshape(-1, self.channels(node, index, "out") or place.size)[:, :1]
            covered = (rows + np.arange(entry["packed_channels"])).reshape(-1)
        for source, _ in inputs:
            if np.intersect1d(source, covered).size:
                assert node.type() in MAY_OVERWRITE, f"{node.type()} {node.name()} writes over its input"
                assert covered is place and self._harmless(node, source, place)
        self.arena[covered] = -2
        self.arena[place] = value
        self.values[node.name(), index] = value

    def _harmless(self, node: aidge_core.Node, source: Positions, place: Positions) -> bool:
        """Whether every element is only written where it was read, or where the same value is put again."""
        if node.type() in ("XnnConcat", "XnnSplit", "XnnCopy"):
            return True
        return np.array_equal(source, place)

    def in_place(self, type_: str) -> list[bool]:
        """For every part of all concats (or splits): whether it lies in the whole."""
        found = []
        for node in self.nodes:
            if node.type() == type_:
                concat = type_ == "XnnConcat"
                whole = self.written(node, 0) if concat else self.read(node, 0)
                assert whole is not None
                parts = [
                    self.read(node, i) if concat else self.written(node, i)
                    for i in range(node.get_nb_inputs() if concat else node.get_nb_outputs())
                ]
                found += [part is not None and bool(np.isin(part, whole).all()) for part in parts]
        return found


def dense_net() -> onnx.ModelProto:
    """Concats of concats, a part that is an output, parts that are used twice."""
    g = Graph()
    x, channels = g.conv("input", 3, 8, pads=[1] * 4), 8
    parts = []
    for _ in range(3):
        part = g.op("Relu", g.conv(x, channels, 5, pads=[1] * 4))
        parts.append(part)
        x, channels = g.op("Concat", x, part, axis=1), channels + 5
    twice = g.op("Concat", x, x, axis=1)
    return g.model({"input": [1, 3, 9, 7]}, [g.conv(twice, 46, 4, [1, 1]), parts[1], g.op("Sigmoid", x)])


def splits() -> onnx.ModelProto:
    """Parts that are outputs, that nothing reads, that are overwritten, that are split again."""
    g = Graph()
    x = g.conv("input", 3, 24, pads=[1] * 4)
    a, b, c, _ = g.ops("Split", 4, x, g.ints(8, 4, 6, 6), axis=1)
    d, e = g.ops("Split", 2, c, axis=1)
    y = g.op("Concat", g.op("Abs", a), d, g.op("Tanh", e), b, axis=1)
    return g.model({"input": [2, 3, 9, 7]}, [g.conv(y, 18, 3, [1, 1]), b, g.op("Exp", x)])


def small_layers() -> onnx.ModelProto:
    """Layers with few channels, in a row, before a reshape, as outputs, in a concat."""
    g = Graph()
    a = g.conv("input", 3, 5, pads=[1] * 4)
    b = g.op("Sigmoid", g.conv(a, 5, 3, [1, 1]))
    c = g.op("Add", g.conv(b, 3, 2, [1, 1]), g.conv(a, 5, 2, [1, 1]))
    flat = g.op("Reshape", c, g.ints(1, -1))
    whole = g.op("Concat", a, c, b, axis=1)
    return g.model(
        {"input": [1, 3, 9, 7]}, [g.op("Gemm", flat, g.normal(126, 5)), whole, g.op("MatMul", c, g.normal(7, 3))]
    )


OTHERS = {"dense_net": dense_net, "splits": splits, "small_layers": small_layers}
LARGE = ("resnet18", "mobilenetv2_224")


@pytest.mark.parametrize("target", list(VECTOR_CHANNELS))
@pytest.mark.parametrize("name", [*(name for name in zoo.MODELS if name not in LARGE), *OTHERS])
def test_every_layer_finds_its_input(name: str, target: str, tmp_path: Path) -> None:
    model = OTHERS[name]() if name in OTHERS else zoo.build(name)
    plan = Plan(model, target, tmp_path)
    plan.run()
    for node in plan.nodes:
        parts = {"XnnSplit"} | {child.type() for child in node.get_children() if child is not None}
        if not parts & {"XnnConcat"} and node.type() != "XnnSplit":
            assert all(entry["offset"] % ALIGNMENT == 0 for entry in plan.entries[node])


@pytest.mark.parametrize("target", list(VECTOR_CHANNELS))
def test_resnet18_needs_no_more_than_aidge_plans(target: str, tmp_path: Path) -> None:
    plan = Plan(zoo.build("resnet18"), target, tmp_path)
    plan.run()
    assert plan.peak - TAIL_BYTES <= AIDGE_RESNET18


def test_concat_in_place(tmp_path: Path) -> None:
    found = Plan(zoo.build("unet"), "k230", tmp_path).in_place("XnnConcat")
    assert found and all(found)


def test_layers_that_need_room_for_zeros_are_not_in_place(tmp_path: Path) -> None:
    """Eight channels beside eight others: in place, the board would run a scalar kernel."""
    g = Graph()
    parts = [g.op("Relu", g.conv("input", 3, 8, pads=[1] * 4)), g.conv("input", 3, 16, pads=[1] * 4)]
    found = {
        target: Plan(g.model({"input": [1, 3, 9, 7]}, [g.op("Concat", *parts, axis=1)]), target, tmp_path / target)
        for target in ("k230", "host")
    }
    assert found["k230"].in_place("XnnConcat") == [False, True]
    assert found["host"].in_place("XnnConcat") == [True, True]


def test_split_in_place(tmp_path: Path) -> None:
    g = Graph()
    parts = g.ops("Split", 2, g.conv("input", 3, 32, pads=[1] * 4), axis=1)
    outputs = [g.conv(part, 16, 16, pads=[1] * 4) for part in parts]
    found = Plan(g.model({"input": [1, 3, 9, 7]}, outputs), "k230", tmp_path).in_place("XnnSplit")
    assert found == [True, True]


def test_element_wise_layers_overwrite_their_input(tmp_path: Path) -> None:
    g = Graph()
    x = g.op("Neg", g.op("Sigmoid", g.conv("input", 3, 16, pads=[1] * 4)))
    y = g.conv(x, 16, 16, pads=[1] * 4)
    plan = Plan(g.model({"input": [1, 3, 32, 32]}, [y]), "host", tmp_path)
    plan.run()
    assert plan.peak - TAIL_BYTES == 2 * 16 * 32 * 32 * 4
