# SPDX-License-Identifier: EPL-2.0
"""Whether an export fits its board: Linux' memory, and the media memory zone (MMZ) that the NPU works in."""

from pathlib import Path
from typing import Any

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.npu.layout import PAGE_BYTES
from aidge_export_gk7206.npu.xmm import read
from aidge_export_gk7206.targets import LinuxBoard

_MEGA = 2**20


def memory(device: LinuxBoard, weights: int, arena: int, model_file: Path | None) -> dict[str, Any]:
    """What an export needs and what the board has, in bytes.

    :param device: The board.
    :param weights: Bytes of constants in the program.
    :param arena: Bytes of activations.
    :param model_file: The NPU's model.
    :return: ``linux`` and, with a model, ``mmz``: parts, ``total`` and ``capacity``.
    :rtype: dict[str, Any]
    """
    # XNNPACK packs all weights into memory of its own; Linux can drop the originals, which are in a file, but need not.
    parts = {"weights": weights, "packed": weights if device.use_xnnpack else 0, "arena": arena}
    linux = {**parts, "total": sum(parts.values()), "capacity": device.mem.capacity}
    if model_file is None:
        return {"linux": linux}
    # The runtime wants a workspace and weights in any case, of a page at least.
    page = {"workspace": PAGE_BYTES, "weights": PAGE_BYTES}
    regions = {name: max(size, page.get(name, 0)) for name, size in read(model_file).mmz().items()}
    return {"linux": linux, "mmz": {**regions, "total": sum(regions.values()), "capacity": device.mmz_capacity}}


def check(device: LinuxBoard, needs: dict[str, Any]) -> None:
    """Refuses an export that does not fit.

    :param needs: What :func:`memory` says.
    :raises ExportError: It says what is needed, and of what.
    """
    if device.arch is None:
        return  # this machine, whose memory nobody has promised
    for name, title in (("linux", "Linux"), ("mmz", "the NPU (MMZ)")):
        need = needs.get(name)
        if need is None or need["total"] <= need["capacity"]:
            continue
        parts = ", ".join(
            f"{part} {_shown(size)}" for part, size in need.items() if part not in ("total", "capacity") and size
        )
        raise ExportError(
            f"{_shown(need['total'])} for {title} do not fit {device.name}, which has {_shown(need['capacity'])} "
            f"({parts})",
            "use a smaller model, or --force where the board divides its memory otherwise",
        )


def _shown(size: int) -> str:
    return f"{size / _MEGA:.1f} MB"
