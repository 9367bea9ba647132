# SPDX-License-Identifier: EPL-2.0
"""An ONNX model whose first part runs on the NPU: what :mod:`aidge_export_gk7206.exporting` needs to know of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aidge_core
import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.naming import sanitize_name
from aidge_export_gk7206.npu.checks import read_usable
from aidge_export_gk7206.npu.golden import Tail, golden, golden_files, grid, pixels, tail_of
from aidge_export_gk7206.npu.layout import DataType
from aidge_export_gk7206.npu.library import XMM_GRAPH
from aidge_export_gk7206.npu.offload import Region, cut, offload_region
from aidge_export_gk7206.npu.preprocessing import Preprocessing, describe, onnx_channel_axis
from aidge_export_gk7206.npu.quantisation import Grid, check_range
from aidge_export_gk7206.npu.reference_model import reference_file
from aidge_export_gk7206.npu.session_spec import describe_session
from aidge_export_gk7206.npu.xmm import read
from aidge_export_gk7206.preparation import cleaned, lower, to_aidge
from aidge_export_gk7206.preparation.kernel_graph import KernelGraph, Op, Port, Tensor, plain
from aidge_export_gk7206.reference import Golden, random_input
from aidge_export_gk7206.samples import read_samples

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class NpuOptions:
    """What is to run on the NPU.

    :ivar file: The ``.xmm`` file; None to make one for the simulator.
    :ivar outputs: Tensors where the region ends, each with the position of the file's output that it is, or None; empty
        for the outputs of the model.
    :ivar preprocessing: How the model's input maps onto the file's.
    :ivar samples: Inputs that a file for the simulator is calibrated with, besides the sample; or files of them, see
        :func:`aidge_export_gk7206.samples.read_sample`.
    """

    file: Path | None = None
    outputs: Mapping[str, int | None] = field(default_factory=dict)
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    samples: Sequence[Array | Path] = ()


@dataclass(frozen=True)
class Offloaded:
    """A model with a region on the NPU.

    :ivar kernels: The model, lowered.
    :ivar region: The region.
    :ivar tail: What follows it.
    :ivar samples: The inputs that were given to calibrate with, in ONNX layout.
    """

    kernels: KernelGraph
    region: Region
    tail: Tail
    samples: Sequence[Array] = ()

    def golden(self, sample: Array) -> Golden:
        """What the model gives for a sample."""
        return golden(self.region, self.tail, sample)

    def check_range(self, sample: Array) -> None:
        """Refuses a sample that the file's input cannot hold: the preprocessing is not the compiler's.

        :raises ExportError: It says what the sample's pixels are, and what the file takes.
        """
        if self.region.preprocessing.raw:
            return
        entry = self.region.input
        check_range(f"input '{entry.name}'", pixels(self.region, sample), grid(entry))


def offload_model(
    model: ir.Model, name: str, shapes: Mapping[str, Sequence[int]], options: NpuOptions, folder: Path
) -> Offloaded:
    """Puts a region of a model onto the NPU and lowers the rest.

    :param model: The model; it is changed.
    :param name: Name of the export.
    :param shapes: Shapes of inputs whose sizes the model leaves open.
    :param options: What is to run on the NPU.
    :param folder: Where a file for the simulator is put, when one is made.
    :raises ExportError: The file does not fit the model, or the rest cannot be exported.
    """
    cleaned(model, shapes)
    samples = _samples(model, options)
    path = options.file
    if path is None:
        path = folder / f"{name}.xmm"
        ends = list(options.outputs) or [value.name or "" for value in model.graph.outputs]
        region = cut(model, ends)
        shape = _input_shape(model)
        chosen = samples or [random_sample(shape, options.preprocessing)]
        path.write_bytes(reference_file(region, chosen, options.preprocessing))
    region_ = offload_region(model, path, options.outputs or None, options.preprocessing)
    tail = tail_of(ir.to_proto(model), region_)
    return Offloaded(lower(model, name, shapes), region_, tail, samples)


def _input_shape(model: ir.Model) -> tuple[int, ...]:
    """Dims of the input of a model that is cleaned up."""
    return tuple(int(dim) for dim in model.graph.inputs[0].shape or ())  # type: ignore[arg-type]


def _samples(model: ir.Model, options: NpuOptions) -> list[Array]:
    """Inputs to calibrate with, of the model's shape and in ONNX layout."""
    shape, samples = _input_shape(model), []
    for given in options.samples:
        if isinstance(given, Path):
            samples += [sample.value for sample in read_samples([given], shape, options.preprocessing)]
        else:
            samples.append(np.asarray(given, dtype=np.float32))
    for sample in samples:
        if sample.shape != shape:
            raise ExportError(
                f"a calibration sample is {'x'.join(map(str, sample.shape))}, the input {'x'.join(map(str, shape))}",
                "give samples of the model's shape",
            )
    return samples


def random_sample(shape: tuple[int, ...], preprocessing: Preprocessing) -> Array:
    """An input of random pixels where it is made from pixels, of random numbers otherwise; always the same."""
    values = random_input(shape)
    if preprocessing.is_identity:
        return values
    return preprocessing.from_pixels(np.floor(values * 256), onnx_channel_axis(len(shape)))


# ---- a model of the NPU alone ----------------------------------------------------------------------------------------


def kernels_from_xmm(path: Path, *, raw: bool = False) -> KernelGraph:
    """A model of one operator, which a file holds whole.

    :param path: The file.
    :param raw: Whether the program takes uint8 values as they are; real values, float32, otherwise.
    :raises ExportError: The file cannot be read, or has several inputs.
    """
    file = read_usable(path)
    if len(file.inputs) != 1:
        raise ExportError(f"{path}: the file has {len(file.inputs)} inputs", "compile the model for one input")
    (entry,) = file.inputs
    if raw and entry.dtype != DataType.UINT8:
        raise ExportError(f"{path}: the file takes {entry.dtype.label}, raw input is uint8", "leave out --raw")
    dims = [output.dims for output in file.outputs]
    chosen = list(range(len(dims)))
    session = describe_session(path, file, entry.dims, dims, chosen, describe(Preprocessing(raw=raw)))
    assert session is not None  # the dims are the file's own
    source = Tensor(entry.dims)
    targets = [Tensor(d) for d in dims]
    attrs = {"file": str(path.resolve()), "session": json.dumps(session.tables), "chosen": chosen}
    op = Op(XMM_GRAPH, [source], targets, attrs, path.stem, XMM_GRAPH)
    dtype = "uint8" if raw else "float32"
    inputs = [Port(entry.name or "input", entry.dims, plain(len(entry.dims)), source, dtype)]
    outputs = [
        Port(output.name or f"output_{i}", output.dims, plain(len(output.dims)), target)
        for i, (output, target) in enumerate(zip(file.outputs, targets, strict=True))
    ]
    return KernelGraph(sanitize_name(path.stem), inputs, outputs, [op])


def graph_from_xmm(path: str | Path, *, raw: bool = False) -> aidge_core.GraphView:
    """A graph of one node ``XmmGraph``, which a file holds whole.

    :param path: The ``.xmm`` file.
    :type path: str | Path
    :param raw: Whether the program takes uint8 values as they are; real values, float32, otherwise.
    :type raw: bool
    :return: The graph, for a target with the NPU. Its input has the file's dims, its outputs are real values.
    :rtype: aidge_core.GraphView
    :raises ExportError: The file cannot be read, or has several inputs.
    """
    return to_aidge(kernels_from_xmm(Path(path), raw=raw))


@dataclass(frozen=True)
class GoldenVectors:
    """What the vendor's compiler writes beside a file: stored values of inputs and outputs.

    :ivar stored: The input.
    :ivar entry: What the input can store.
    :ivar golden: Real values of the outputs.
    """

    stored: Array
    entry: Grid
    golden: Golden

    def sample(self, dtype: str) -> Array:
        """The input as a program takes it."""
        return self.stored if dtype == "uint8" else self.entry.real(self.stored)


def golden_vectors(path: Path) -> GoldenVectors | None:
    """Reads ``input_data0.bin`` and ``output_data<i>.bin`` beside a file; None where they are not all there.

    :raises ExportError: They are of other sizes than the file's tensors.
    """
    file = read(path)
    tensors = [*file.inputs[:1], *file.outputs]
    files = golden_files(path, len(file.outputs))
    if not files:
        return None
    arrays = []
    for one, tensor in zip(files, tensors, strict=True):
        data = one.read_bytes()
        if len(data) != tensor.size:
            raise ExportError(f"{one} has {len(data)} bytes, the tensor {tensor.size}", "remove it, or make it again")
        element = tensor.dtype.numpy
        flat = np.frombuffer(data[: len(data) // element.itemsize * element.itemsize], dtype=element)
        wide = [*tensor.pitches[:-1], element.itemsize]
        arrays.append(np.lib.stride_tricks.as_strided(flat, tensor.dims, wide).copy())
    grids = [Grid(tensor.dtype, tensor.scale, tensor.zero_point) for tensor in tensors]
    outputs = [g.real(array) for g, array in zip(grids[1:], arrays[1:], strict=True)]
    step = [float(g.step(output).max()) for g, output in zip(grids[1:], outputs, strict=True)]
    return GoldenVectors(arrays[0], grids[0], Golden("golden vectors of the compiler", outputs, step))
