# SPDX-License-Identifier: EPL-2.0
"""What a model gives whose first part runs on the NPU: the reference of an export."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from aidge_export_gk7206.npu.matching import Match
from aidge_export_gk7206.npu.offload import Region, channel_axis
from aidge_export_gk7206.npu.quantisation import Grid
from aidge_export_gk7206.reference import Golden, run_onnxruntime

Array = npt.NDArray[Any]
#: How often the outputs of the NPU are moved by a step, to see what that makes of the model's.
_TRIALS = 4


def golden_files(path: Path, outputs: int) -> list[Path]:
    """The golden vectors that lie beside a file: of the input, then of its outputs; none unless all are there."""
    files = [path.parent / name for name in ("input_data0.bin", *(f"output_data{i}.bin" for i in range(outputs)))]
    return files if all(file.is_file() for file in files) else []


def grid(match: Match) -> Grid:
    """What a tensor of the file can store."""
    return Grid(match.tensor.dtype, match.tensor.scale, match.tensor.zero_point)


def to_file(match: Match, value: Array) -> Array:
    """A value of the graph in the file's layout."""
    return np.ascontiguousarray(np.transpose(value, match.perm)).reshape(match.tensor.dims)


def from_file(match: Match, value: Array) -> Array:
    """A value in the file's layout in that of the graph."""
    moved = value.reshape([match.shape[axis] for axis in match.perm])
    return np.ascontiguousarray(np.transpose(moved, np.argsort(match.perm)))


def stored_input(region: Region, sample: Array) -> Array:
    """What the NPU reads, in the file's type and layout, for an input of the program.

    :param sample: In ONNX layout, or in the file's where the program takes it raw.
    """
    if region.preprocessing.raw:
        return sample
    return grid(region.input).store(pixels(region, sample))


def pixels(region: Region, sample: Array) -> Array:
    """Real values of the file's input, in its layout, for an input in ONNX layout."""
    value = to_file(region.input, sample)
    if region.preprocessing.is_identity:
        return value
    return region.preprocessing.to_pixels(value, channel_axis(region.input))


def seen_input(region: Region, stored: Array) -> Array:
    """What the region computes with, ONNX layout: the stored pixels as the graph would have had them."""
    value = grid(region.input).real(stored)
    if not region.preprocessing.is_identity:
        value = region.preprocessing.from_pixels(value, channel_axis(region.input))
    return from_file(region.input, value).astype(np.float32)


@dataclass(frozen=True)
class Tail:
    """What follows the region.

    :ivar model: Takes the region's outputs, and the model's input where it needs that; gives what it computes of the
        model's outputs.
    :ivar outputs: Names of all of the model's outputs; some may be the region's own.
    """

    model: onnx.ModelProto
    outputs: list[str]

    def run(self, values: dict[str, Array]) -> list[Array]:
        """The model's outputs.

        :param values: The region's outputs and the model's input, by name.
        """
        computed = dict(values)
        if self.model.graph.output:
            needed = {value.name for value in self.model.graph.input}
            given = {name: value for name, value in values.items() if name in needed}
            answers = run_onnxruntime(self.model.SerializeToString(), given).outputs
            computed.update(zip((value.name for value in self.model.graph.output), answers, strict=True))
        return [computed[name] for name in self.outputs]


def tail_of(model: onnx.ModelProto, region: Region) -> Tail:
    """What follows the region in a model where a node stands for it."""
    tail = onnx.ModelProto()
    tail.CopyFrom(model)
    ends = {match.name: match.shape for match in region.outputs}
    graph = tail.graph
    nodes = [node for node in graph.node if not set(ends) & set(node.output)]
    read = {name for node in nodes for name in node.input}
    inputs = [value for value in graph.input if value.name in read]
    inputs += [_float(name, shape) for name, shape in ends.items() if name in read]
    outputs = [value for value in graph.output if value.name not in ends]
    names = [value.name for value in graph.output]
    for field, kept in ((graph.node, nodes), (graph.input, inputs), (graph.output, outputs)):
        del field[:]
        field.extend(kept)
    return Tail(tail, names)


def golden(region: Region, tail: Tail, sample: Array) -> Golden:
    """Computes a model with a region on the NPU, and for each output the difference that one step of the NPU's makes.

    :param region: The region.
    :param tail: What follows.
    :param sample: Input of the program.
    """
    seen = seen_input(region, stored_input(region, sample))
    run = run_onnxruntime(region.model.SerializeToString(), {region.input.name: seen})
    ends = {match.name: grid(match).round(value) for match, value in zip(region.outputs, run.outputs, strict=True)}
    whole = {region.input.name: sample, **ends}
    outputs = tail.run(whole)
    tolerances = [0.0] * len(outputs)
    for trial in range(_TRIALS):
        moved = tail.run({**whole, **_moved(region, ends, trial)})
        differences = [float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(moved, outputs, strict=True)]
        tolerances = [max(pair) for pair in zip(tolerances, differences, strict=True)]
    return Golden(f"{run.source}, quantised as on the NPU", outputs, tolerances)


def _moved(region: Region, ends: dict[str, Array], trial: int) -> dict[str, Array]:
    """All outputs of the NPU a step up, a step down, then some of each."""
    random = np.random.default_rng(trial)
    moved = {}
    for match in region.outputs:
        value = ends[match.name]
        step = grid(match).step(value)
        signs = random.choice([-1.0, 1.0], value.shape) if trial > 1 else np.full(value.shape, 1.0 - 2.0 * trial)
        moved[match.name] = (value + step * signs).astype(np.float32)
    return moved


def _float(name: str, shape: tuple[int, ...]) -> onnx.ValueInfoProto:
    return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
