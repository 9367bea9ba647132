# SPDX-License-Identifier: EPL-2.0
"""Many operator tests in one model: one input that is cut up for the branches, outputs for each of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from aidge_export_gk7206.errors import ExportError
from support.cases import Branch
from support.graphs import Graph, shapes_of
from support.projects import RUNNERS, compile_target, configure, difference, export, runner_of

Array = npt.NDArray[Any]


@dataclass
class Bundle:
    """A model that holds several cases.

    :ivar outputs: Names of the outputs of each branch.
    """

    opset: int
    branches: list[Branch]
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    samples: list[Array] = field(default_factory=list)
    outputs: dict[str, list[str]] = field(default_factory=dict)

    def build(self) -> onnx.ModelProto:
        """Makes the model; ``samples`` and ``outputs`` say what goes in and comes out."""
        self.nodes, self.initializers, self.samples, self.outputs = [], [], [], {}
        start = 0
        for branch in self.branches:
            case, form = branch.case, branch.form
            graph = Graph(f"{branch.name}/", case.seed, self.opset)
            count = int(np.prod(case.shape))
            x = _arrive(graph, case.shape, form, start)
            results = case.build(graph, x)
            results = [results] if isinstance(results, str) else results
            if form == "chained":
                results = self._leave(graph, results)
            self.outputs[branch.name] = results
            self.nodes += graph.nodes
            self.initializers += graph.initializers
            self.samples.append(case.sample())
            start += count
        return self._whole(start)

    def sample(self) -> Array:
        """The input."""
        return np.concatenate(self.samples)[np.newaxis]

    def positions(self) -> dict[str, list[int]]:
        """Indices of the outputs of each branch."""
        order = [name for names in self.outputs.values() for name in names]
        return {branch: [order.index(name) for name in names] for branch, names in self.outputs.items()}

    def _whole(self, count: int) -> onnx.ModelProto:
        graph = Graph(opset=self.opset)
        graph.nodes, graph.initializers = self.nodes, self.initializers
        outputs = [name for names in self.outputs.values() for name in names]
        return graph.model({"input": [1, count]}, outputs)

    def _leave(self, graph: Graph, results: list[str]) -> list[str]:
        """Puts a layer with weights behind each output that can have one."""
        whole = Graph(opset=self.opset)
        whole.nodes, whole.initializers = graph.nodes, graph.initializers
        total = sum(sample.size for sample in self.samples) + 10**6
        shapes = shapes_of(whole.model({"input": [1, total]}, results))
        return [_layer(graph, name, shapes.get(name, ())) for name in results]


def _arrive(graph: Graph, shape: Sequence[int], form: str, start: int) -> str:
    """The input of a branch, cut out of the model's."""
    count = int(np.prod(shape))
    if graph.opset < 10:
        flat = graph.op("Slice", "input", axes=[1], starts=[start], ends=[start + count])
    else:
        flat = graph.op("Slice", "input", graph.ints(start), graph.ints(start + count), graph.ints(1))
    if form == "last":
        # Bytes that are channels last without anything done to them.
        turned = graph.op("Reshape", flat, graph.ints(shape[0], *shape[2:], shape[1]))
        rank = len(shape)
        return graph.op("Transpose", turned, perm=[0, rank - 1, *range(1, rank - 1)])
    x = graph.op("Reshape", flat, graph.ints(*shape))
    return _layer(graph, x, shape, mixing=0.1) if form == "chained" else x


def _layer(graph: Graph, x: str, shape: Sequence[int], mixing: float = 1.0) -> str:
    """A convolution or Gemm that changes nothing but the values; positive ones stay positive."""
    if len(shape) not in (2, 3, 4) or 0 in shape:
        return x
    channels = shape[1]
    weights = np.eye(channels) + graph.random.uniform(0, mixing / channels, (channels, channels))
    if len(shape) == 2:
        return graph.op("Gemm", x, graph.constant(weights), graph.constant(np.zeros(channels)))
    ones = [1] * (len(shape) - 2)
    return graph.op("Conv", x, graph.constant(weights.reshape(channels, channels, *ones)), kernel_shape=ones)


class BundleRun:
    """A bundle exported, compiled and run; everything lies in one folder.

    :param folder: Where.
    :param bundle: The model.
    :param target: For which target.
    """

    def __init__(self, folder: Path, bundle: Bundle, target: str) -> None:
        self.folder = folder
        self._bundle = bundle
        self._target = target

    def work(self) -> None:
        """Does it all; whatever goes wrong is written down for the tests to report."""
        failures: dict[str, str] = {}
        try:
            self._export(failures)
            self._run()
        except Exception as error:
            failures["all"] = f"{type(error).__name__}: {error}"
        (self.folder / "failures.json").write_text(json.dumps(failures), encoding="utf-8")

    def _export(self, failures: dict[str, str]) -> None:
        """Exports; a case that is refused is left out."""
        model = self.folder / "model.onnx"
        while True:
            onnx.save(self._bundle.build(), model)
            try:
                export(model, self.folder / "project", self._target, self._bundle.sample())
                break
            except ExportError as error:
                refused = [b for b in self._bundle.branches if f"'{b.name}/" in str(error)]
                if not refused or len(self._bundle.branches) == 1:
                    raise
                failures.update({branch.name: str(error) for branch in refused})
                self._bundle.branches = [b for b in self._bundle.branches if b not in refused]
        (self.folder / "positions.json").write_text(json.dumps(self._bundle.positions()), encoding="utf-8")
        configure(self.folder / "project", self._target, "-DCMAKE_CXX_FLAGS_RELEASE=-O1")
        compile_target(self.folder / "project", self._target)

    def _run(self) -> None:
        from aidge_export_gk7206.export_folder import ExportFolder

        project = ExportFolder.load(self.folder / "project")
        for name, target in RUNNERS.items():
            if target == self._target:
                outputs = runner_of(name).run(project, [self._bundle.sample()]).outputs
                arrays: dict[str, Any] = {f"output_{i}": output for i, output in enumerate(outputs)}
                np.savez(self.folder / f"{name}.npz", **arrays)

    def check(self, branch: Branch, runner: str) -> None:
        """Compares the outputs of one branch with the reference.

        :raises AssertionError: They differ, or there are none.
        """
        failures = json.loads((self.folder / "failures.json").read_text(encoding="utf-8"))
        problem = failures.get(branch.name) or failures.get("all")
        assert problem is None, problem
        positions = json.loads((self.folder / "positions.json").read_text(encoding="utf-8"))[branch.name]
        with np.load(self.folder / f"{runner}.npz") as outputs:
            for i, position in enumerate(positions):
                if branch.case.expected is not None:
                    expected = branch.case.expected[i]
                else:
                    expected = np.load(self.folder / "project" / "reference" / f"output_{position}.npy")
                    assert np.all(np.isfinite(expected)), "the reference is not finite: choose other inputs"
                off = difference(outputs[f"output_{position}"], expected)
                assert off <= branch.case.tolerance, f"output {i} {list(expected.shape)}: {off:.3g} times the tolerance"
