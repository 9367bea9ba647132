# SPDX-License-Identifier: EPL-2.0
"""ONNX models in a few lines of code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]


class Graph:
    """Collects nodes and constants.

    :param prefix: Stands in front of all names.
    :param seed: Of the random weights.
    :param opset: Of the model.
    """

    def __init__(self, prefix: str = "", seed: int = 0, opset: int = 17) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.random = np.random.default_rng(seed)
        self.opset = opset
        self.prefix = prefix
        self._count = 0

    def _name(self, role: str) -> str:
        self._count += 1
        return f"{self.prefix}{role}_{self._count}"

    def op(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """Adds a node with one output, whose name it returns. An input ``""`` is one that is left out."""
        return self.ops(op_type, 1, *inputs, **attributes)[0]

    def ops(self, op_type: str, outputs: int, *inputs: str, **attributes: Any) -> list[str]:
        """Adds a node with several outputs."""
        name = self._name(op_type)
        names = [f"{name}_{i}" if outputs > 1 else f"{name}_out" for i in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, name=name, **attributes))
        return names

    def constant(self, values: object, dtype: npt.DTypeLike = np.float32) -> str:
        """Adds an initializer."""
        name = self._name("constant")
        self.initializers.append(numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def ints(self, *values: int) -> str:
        """Adds a list of int64, as shapes and axes are."""
        return self.constant(values, np.int64)

    def normal(self, *shape: int, scale: float | None = None) -> str:
        """Adds normally distributed weights, scaled so that sums over all but the first axis stay near 1."""
        fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        factor = scale if scale is not None else 1 / np.sqrt(fan_in)
        return self.constant(self.random.standard_normal(shape) * factor)

    def uniform(self, *shape: int, low: float = -1.0, high: float = 1.0) -> str:
        """Adds uniformly distributed constants."""
        return self.constant(self.random.uniform(low, high, shape))

    def conv(self, x: str, inputs: int, outputs: int, kernel: Sequence[int] = (3, 3), **attributes: Any) -> str:
        """Adds a convolution with a bias; attributes are Conv's, with kernel_shape given by ``kernel``."""
        per_group = inputs // attributes.get("group", 1)
        weights = self.normal(outputs, per_group, *kernel)
        return self.op("Conv", x, weights, self.normal(outputs), kernel_shape=list(kernel), **attributes)

    def model(
        self,
        inputs: Mapping[str, Sequence[int | str | None]],
        outputs: Sequence[str],
        name: str = "test",
        ir_version: int = 8,
        dtype: int = TensorProto.FLOAT,
    ) -> onnx.ModelProto:
        """The model, with shapes inferred."""
        graph = helper.make_graph(
            self.nodes,
            name,
            [helper.make_tensor_value_info(key, dtype, list(shape)) for key, shape in inputs.items()],
            [helper.make_tensor_value_info(key, dtype, inputs.get(key)) for key in outputs],
            self.initializers,
        )
        domains = sorted({node.domain for node in self.nodes if node.domain})
        opsets = [helper.make_opsetid("", self.opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
        return infer_shapes(helper.make_model(graph, opset_imports=opsets, ir_version=ir_version))


def infer_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the shapes of all values whose shape can be inferred."""
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def shapes_of(model: onnx.ModelProto) -> dict[str, tuple[int, ...]]:
    """Shapes of the values of a model, where all sizes are known."""
    shapes = {}
    for value in [*model.graph.input, *model.graph.value_info, *model.graph.output]:
        dims = value.type.tensor_type.shape.dim
        if value.type.tensor_type.HasField("shape") and all(dim.HasField("dim_value") for dim in dims):
            shapes[value.name] = tuple(dim.dim_value for dim in dims)
    return shapes
