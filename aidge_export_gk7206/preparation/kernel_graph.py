# SPDX-License-Identifier: EPL-2.0
"""Kernel operators and the tensors between them: what a model is lowered to before it becomes an Aidge graph."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

Dims = tuple[int, ...]
Array = npt.NDArray[Any]


@dataclass(eq=False)
class Tensor:
    """Bytes in memory: float32 values, dense, row-major in ``dims``.

    :ivar dims: Sizes, outermost first.
    :ivar op: The operator that computes it, None for inputs of the model and constants.
    :ivar constant: The values, for constants.
    :ivar shared: Whether something beyond its next consumer reads it, so that nothing may be fused into it.
    :ivar values: What it is in the model: names, each with its shape there and the order of axes, as a Form has it.
    """

    dims: Dims
    op: "Op | None" = None
    constant: Array | None = None
    shared: bool = False
    values: "list[tuple[str, Dims, Dims]]" = field(default_factory=list)


@dataclass(eq=False)
class Op:
    """One kernel operator.

    :ivar type: Type of the GenericOperator, e.g. ``"XnnConvolution"``; see docs/kernel-operators.md.
    :ivar layer: Name of the node in the ONNX model.
    :ivar origin: ONNX types it serves, e.g. ``"Conv+Relu"``.
    """

    type: str
    inputs: list[Tensor]
    outputs: list[Tensor]
    attrs: dict[str, Any]
    layer: str
    origin: str
    fallback: Any = None

    def __post_init__(self) -> None:
        for tensor in self.outputs:
            tensor.op = self

    def absorb(self, origin: str) -> None:
        """Notes that another ONNX node is now served by this operator."""
        self.origin += f"+{origin}"


@dataclass(frozen=True)
class Form:
    """A tensor that holds a value of the model with its axes in some order.

    :ivar tensor: The bytes.
    :ivar perm: ``tensor`` holds ``numpy.transpose(value, perm)``.
    """

    tensor: Tensor
    perm: Dims


@dataclass(eq=False)
class Value:
    """A value of the ONNX model, in any number of forms.

    :ivar shape: Sizes in ONNX order.
    :ivar uses: How many nodes read it; outputs of the model count once more.
    :ivar constant: Its values, when known at export.
    :ivar view_of: The value it reshapes, while no form of it has been asked for.
    """

    name: str
    shape: Dims
    uses: int = 1
    constant: Array | None = None
    forms: list[Form] = field(default_factory=list)
    view_of: "Value | None" = None


@dataclass(frozen=True)
class Port:
    """An input or output of the model.

    :ivar shape: Sizes in ONNX order.
    :ivar dtype: Element type as NumPy names it: float32, but for what goes to the NPU as it is.
    :ivar perm: The program takes or gives ``numpy.transpose(value, perm)``.
    """

    name: str
    shape: Dims
    perm: Dims
    tensor: Tensor
    dtype: str = "float32"

    @property
    def device_shape(self) -> Dims:
        return permuted(self.shape, self.perm)

    def describe(self) -> dict[str, Any]:
        """Entry of export.json."""
        moved = self.perm != plain(len(self.shape))
        return {
            "name": self.name,
            "dtype": self.dtype,
            "shape": list(self.shape),
            "layout": {4: "nhwc", 3: "nwc"}.get(len(self.shape), "other") if moved else "default",
            "device_shape": list(self.device_shape),
            "permutation": list(self.perm) if moved else None,
        }


@dataclass
class KernelGraph:
    """A model lowered to kernel operators, in execution order."""

    name: str
    inputs: list[Port]
    outputs: list[Port]
    ops: list[Op]


def size(dims: Dims) -> int:
    """Number of elements."""
    return math.prod(dims)


def plain(rank: int) -> Dims:
    """The order of axes that ONNX has."""
    return tuple(range(rank))


def channels_last(rank: int) -> Dims:
    """NHWC for rank 4, NWC for rank 3; ONNX's own order for what has no spatial axes."""
    return (0, *range(2, rank), 1) if rank >= 3 else plain(rank)


def permuted(shape: Dims, perm: Dims) -> Dims:
    """``numpy.transpose(x, perm).shape`` for x of a shape."""
    return tuple(shape[axis] for axis in perm)


def same_bytes(shape: Dims, a: Dims, b: Dims) -> bool:
    """Whether two orders of axes put the same bytes into memory: axes of size 1 may be anywhere."""
    return [axis for axis in a if shape[axis] != 1] == [axis for axis in b if shape[axis] != 1]


def reshaped_perm(source: Dims, target: Dims, perm: Dims) -> Dims | None:
    """Order of axes of a reshaped value when its bytes stay as they are.

    A reshape splits and merges groups of neighbouring axes. Where the bytes hold each group's axes together and in
    order, the reshaped value is in memory already.

    :param source: Shape before, in ONNX order.
    :param target: Shape after, in ONNX order.
    :param perm: Order in which memory holds the axes of the source.
    :return: Order in which the same memory holds the axes of the target, None when the bytes would have to move.
    """
    if size(source) == 0:
        return None
    order = [axis for axis in perm if source[axis] != 1]
    ones: list[int] = []
    by_first: dict[int, tuple[list[int], list[int]]] = {}
    for left, right in _common_groups(source, target):
        solid = [axis for axis in left if source[axis] != 1]
        if solid:
            by_first[solid[0]] = (solid, right)
        else:
            ones += right
    result: list[int] = []
    position = 0
    while position < len(order):
        solid, right = by_first.get(order[position], ([], []))
        if not solid or order[position : position + len(solid)] != solid:
            return None
        position += len(solid)
        result += right
    # Axes of size 1 go where ONNX order has them, so that plain memory stays plain.
    for axis in ones:
        at = next((k for k, other in enumerate(result) if other > axis), len(result))
        result.insert(at, axis)
    return tuple(result)


def _common_groups(source: Dims, target: Dims) -> list[tuple[list[int], list[int]]]:
    """The smallest runs of axes of two shapes that hold as many elements as each other."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(source) or j < len(target):
        left, right = list(range(i, min(i + 1, len(source)))), list(range(j, min(j + 1, len(target))))
        i, j = i + len(left), j + len(right)
        while (a := math.prod(source[k] for k in left)) != (b := math.prod(target[k] for k in right)):
            if a < b:
                left.append(i)
                i += 1
            else:
                right.append(j)
                j += 1
        groups.append((left, right))
    return groups
