# SPDX-License-Identifier: EPL-2.0
"""A ``.xmm`` file in place of the vendor compiler's, for the simulator: its tensors and types, no program."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from aidge_export_gk7206.npu.layout import DataType
from aidge_export_gk7206.npu.preprocessing import Preprocessing
from aidge_export_gk7206.npu.quantisation import Grid, grid_for
from aidge_export_gk7206.npu.writer import NodeSpec, TensorSpec, XmmSpec, write_xmm
from aidge_export_gk7206.reference import run_onnxruntime

Array = npt.NDArray[Any]

#: What an input of pixels stores.
PIXELS = Grid(DataType.UINT8, 1.0, 0)


def input_order(rank: int) -> tuple[int, ...]:
    """Order in which the vendor's compiler has the axes of an input: channels last in images."""
    return (0, 2, 3, 1) if rank == 4 else tuple(range(rank))


def reference_file(region: onnx.ModelProto, samples: Sequence[Array], preprocessing: Preprocessing) -> bytes:
    """Makes the file that the vendor's compiler would make of a region, as far as a program sees it.

    :param region: The region, with fixed dims and one input.
    :param samples: Inputs, ONNX layout: the ranges of inputs and outputs come from them.
    :param preprocessing: When it does anything, the file takes pixels from 0 to 255, as the compiler's do.
    :return: Its bytes. The compiler string says that it is for the simulator only.
    :rtype: bytes
    """
    (entry,) = region.graph.input
    shape = samples[0].shape
    dims = tuple(shape[axis] for axis in input_order(len(shape)))
    grid = grid_for(np.stack(samples)) if preprocessing.is_identity and not preprocessing.raw else PIXELS
    tensors = [TensorSpec(dims, "input", scale=grid.scale, zero_point=grid.zero_point, name=entry.name)]
    runs = [run_onnxruntime(region.SerializeToString(), {entry.name: sample}).outputs for sample in samples]
    for value, arrays in zip(region.graph.output, zip(*runs, strict=True), strict=True):
        found = grid_for(np.stack(arrays))
        tensors.append(
            TensorSpec(arrays[0].shape, "output", scale=found.scale, zero_point=found.zero_point, name=value.name)
        )
    node = NodeSpec(f"reference_{region.graph.name or 'model'}", [0], list(range(1, len(tensors))))
    return write_xmm(XmmSpec(tensors=tensors, nodes=[node]))
