# SPDX-License-Identifier: EPL-2.0
"""Which tensor of a graph is which tensor of a ``.xmm`` file, and in which layout the file has it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.npu.xmm import Tensor, XmmFile

Dims = tuple[int, ...]


@dataclass(frozen=True)
class Match:
    """A tensor of the graph and the same one in the file.

    :ivar name: Name in the graph.
    :ivar shape: Dims in the graph.
    :ivar tensor: The tensor in the file.
    :ivar index: Its position among the file's inputs or outputs.
    :ivar perm: The file holds ``numpy.transpose(value, perm)``, apart from axes of size 1.
    """

    name: str
    shape: Dims
    tensor: Tensor
    index: int
    perm: Dims


def layout_of(shape: Sequence[int], dims: Sequence[int], *, is_input: bool = False) -> Dims | None:
    """Order in which a file has the axes of a tensor of the graph; None where its dims are not those.

    Axes of size 1 do not count: compilers add and drop them. Where both orders fit, as with as many channels as rows
    and columns, inputs are channels last and outputs channels first, which is what the vendor's compiler makes.

    :param shape: Dims in the graph, ONNX order.
    :param dims: Dims in the file.
    """
    rank = len(shape)
    solid = [dim for dim in dims if dim != 1]
    orders = [tuple(range(rank))]
    if rank >= 3:
        orders.append((0, *range(2, rank), 1))
    if is_input:
        orders.reverse()
    # The very same dims say more than those that only agree apart from ones.
    for order in sorted(orders, key=lambda order: [shape[axis] for axis in order] != list(dims)):
        if [shape[axis] for axis in order if shape[axis] != 1] == solid:
            return order
    return None


def channel_axis_of(shape: Sequence[int], dims: Sequence[int], perm: Dims) -> int | None:
    """Which axis of a file's tensor is axis 1 of the graph's, the channels; None where there are not several.

    :param shape: Dims in the graph.
    :param dims: Dims in the file.
    :param perm: As :func:`layout_of` gives it.
    """
    if len(shape) < 3 or shape[1] == 1:
        return None
    solid = [axis for axis in perm if shape[axis] != 1]
    return [position for position, dim in enumerate(dims) if dim != 1][solid.index(1)]


def match_input(name: str, shape: Dims, file: XmmFile) -> Match:
    """The file's input that the graph's input is.

    :raises ExportError: The file has several inputs, or one of other dims.
    """
    if len(file.inputs) != 1:
        raise ExportError(
            f"the file has {len(file.inputs)} inputs ({', '.join(_shown(t) for t in file.inputs)}), the graph has one",
            "compile the model for one input: RGB pixels rather than YUV planes",
        )
    perm = layout_of(shape, file.inputs[0].dims, is_input=True)
    if perm is None:
        raise ExportError(
            f"input '{name}' is {_dims(shape)} in the graph, {_shown(file.inputs[0])} in the file",
            "compile the file from this very model, or give the graph the file's size with --shape",
        )
    return Match(name, shape, file.inputs[0], 0, perm)


def match_outputs(tensors: Mapping[str, Dims], file: XmmFile, chosen: Mapping[str, int | None]) -> list[Match]:
    """The file's outputs that tensors of the graph are, each by the position given, by its name, or by its dims.

    :param tensors: Dims of the graph's tensors, by name.
    :param file: The file.
    :param chosen: Positions among the file's outputs; None where they are to be found.
    :raises ExportError: It says of every tensor what does not fit.
    """
    found: dict[str, Match] = {}
    problems: list[str] = []
    taken: set[int] = set()
    by_name = {tensor.name: index for index, tensor in enumerate(file.outputs) if tensor.name}
    for name, shape in tensors.items():
        index = chosen.get(name)
        index = by_name.get(name) if index is None else index
        if index is not None:
            problem = _take(name, shape, index, file, taken, found)
            problems += [problem] if problem else []
    for name, shape in tensors.items():
        if name in found or chosen.get(name) is not None or name in by_name:
            continue
        fitting = [i for i, t in enumerate(file.outputs) if i not in taken and layout_of(shape, t.dims) is not None]
        rivals = [other for other in tensors if other not in found and _same(tensors[other], shape)]
        if not fitting:
            problems.append(f"'{name}' ({_dims(shape)}) is no output of the file")
        elif len(fitting) > 1 or len(rivals) > 1:
            which = " or ".join(f"{i}" for i in fitting)
            problems.append(f"'{name}' ({_dims(shape)}) may be output {which}: say which, e.g. {name}={fitting[0]}")
        else:
            _take(name, shape, fitting[0], file, taken, found)
    if problems:
        outputs = ", ".join(f"{i}: {_shown(tensor)}" for i, tensor in enumerate(file.outputs))
        raise ExportError(
            f"{'; '.join(problems)} (outputs of the file: {outputs})", "name the tensors with --xmm-output"
        )
    return [found[name] for name in tensors]


def _take(name: str, shape: Dims, index: int, file: XmmFile, taken: set[int], found: dict[str, Match]) -> str | None:
    if not 0 <= index < len(file.outputs):
        return f"'{name}' cannot be output {index}, the file has {len(file.outputs)}"
    if index in taken:
        return f"'{name}' and another tensor are both output {index}"
    perm = layout_of(shape, file.outputs[index].dims)
    if perm is None:
        return f"'{name}' is {_dims(shape)} in the graph, output {index} {_shown(file.outputs[index])} in the file"
    taken.add(index)
    found[name] = Match(name, shape, file.outputs[index], index, perm)
    return None


def _same(a: Dims, b: Dims) -> bool:
    return sorted(dim for dim in a if dim != 1) == sorted(dim for dim in b if dim != 1)


def _shown(tensor: Tensor) -> str:
    return f"{_dims(tensor.dims)} {tensor.dtype.label}"


def _dims(dims: Sequence[int]) -> str:
    return "x".join(map(str, dims)) or "scalar"
