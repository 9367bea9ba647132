# SPDX-License-Identifier: EPL-2.0
"""Fewer axes that say the same: XNNPACK's operators take at most six."""

from collections.abc import Hashable, Sequence
from math import prod

from aidge_export_gk7206.errors import ExportError

# XNN_MAX_TENSOR_DIMS, max_rank in runtime/xnnpack/dims.hpp.
MAX_RANK = 6


def merge(kinds: Sequence[Hashable | None], *columns: Sequence[int]) -> tuple[list[Hashable], list[list[int]]]:
    """Merges neighbouring axes that are treated alike.

    :param kinds: How each axis is treated. Neighbours of the same kind become one axis; None drops an axis of size 1.
    :type kinds: collections.abc.Sequence[collections.abc.Hashable | None]
    :param columns: What each axis has: sizes, starts, ... Those of merged axes are multiplied.
    :type columns: collections.abc.Sequence[int]
    :return: Kinds and columns of the merged axes.
    :rtype: tuple[list[collections.abc.Hashable], list[list[int]]]
    """
    groups: list[tuple[Hashable, list[int]]] = []
    for axis, kind in enumerate(kinds):
        if kind is None:
            continue
        if groups and groups[-1][0] == kind:
            groups[-1][1].append(axis)
        else:
            groups.append((kind, [axis]))
    return (
        [kind for kind, _ in groups],
        [[prod(int(column[axis]) for axis in axes) for _, axes in groups] for column in columns],
    )


def merge_permutation(dims: Sequence[int], perm: Sequence[int]) -> tuple[list[int], list[int]]:
    """Drops axes of size 1 and merges axes that stay neighbours.

    :param dims: Sizes of the input.
    :type dims: collections.abc.Sequence[int]
    :param perm: Axis of the input that each axis of the output is.
    :type perm: collections.abc.Sequence[int]
    :return: Sizes and permutation that move the same bytes.
    :rtype: tuple[list[int], list[int]]
    """
    solid = [axis for axis, dim in enumerate(dims) if dim != 1]
    order = [solid.index(axis) for axis in perm if dims[axis] != 1]
    runs: list[list[int]] = []
    for axis in order:
        if runs and runs[-1][-1] + 1 == axis:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    sources = sorted(runs)
    return [prod(int(dims[solid[axis]]) for axis in run) for run in sources], [sources.index(run) for run in runs]


def fitted(who: str, values: Sequence[int], fill: int) -> list[int]:
    """Exactly six axes: leading ones are added.

    :param who: The layer, for the message.
    :type who: str
    :param values: What each axis has.
    :type values: collections.abc.Sequence[int]
    :param fill: What an axis of size 1 has.
    :type fill: int
    :return: The six values.
    :rtype: list[int]
    :raises ExportError: There are more than six.
    """
    if len(values) > MAX_RANK:
        raise ExportError(
            f"{who}: {len(values)} axes are left after merging, XNNPACK takes {MAX_RANK}",
            "split the operation into several steps in the model",
        )
    return [fill] * (MAX_RANK - len(values)) + [int(value) for value in values]
