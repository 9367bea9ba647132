# SPDX-License-Identifier: EPL-2.0
"""Models for the tests of the NPU session: files, and the tables that an export would have of them."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

from aidge_export_gk7206.npu.layout import DataType
from aidge_export_gk7206.npu.model import Tensor, XmmFile
from aidge_export_gk7206.npu.writer import TensorSpec, XmmSpec, write_xmm
from aidge_export_gk7206.npu.xmm import read

TYPES = [DataType(number) for number in range(7)]


def _plain(reuse: int = 0, *, pad: bool = False, workspace: int = 4096) -> XmmSpec:
    # As compilers pad: rows of 32 bytes.
    image, other, heat, line = ([128, 32, 3, 1], [32, 1], [768, 256, 32, 1], [32, 2]) if pad else [None] * 4
    return XmmSpec(
        tensors=[
            TensorSpec([1, 4, 8, 3], "input", DataType.UINT8, image, 1.0, 0, "image"),
            TensorSpec([1, 5], "input", DataType.INT8, other, 0.5, -3),
            TensorSpec([64], "constant", DataType.INT8, data=bytes(range(64))),
            TensorSpec([workspace], "workspace"),
            TensorSpec([1, 3, 8, 4], "output", DataType.UINT8, heat, 0.5, 10),
            TensorSpec([1, 5], "output", DataType.INT16, line, 0.25),
        ],
        memory_reuse_type=reuse,
        private_data=b"private data",
    )


def specs() -> dict[str, XmmSpec]:
    """The models by name."""
    tensors = [
        TensorSpec([3, 5], region, dtype, None, *((1.0, 0) if dtype == DataType.FP16 else (0.5, 2)))
        for region in ("input", "output")
        for dtype in TYPES
    ]
    return {
        "plain": _plain(),
        "padded": _plain(pad=True),
        **{f"reuse{reuse}": _plain(reuse) for reuse in (1, 2, 3)},
        **{f"reuse{reuse}padded": _plain(reuse, pad=True) for reuse in (1, 2, 3)},
        "large": replace(_plain(workspace=100000), private_data=b""),
        "types": XmmSpec(tensors=[*tensors, TensorSpec([64], "workspace")]),
    }


def write_models(folder: Path) -> Path:
    """Writes ``<name>.xmm`` for every model, and ``models.hpp`` with their tables; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = ["#pragma once", '#include "xmedia/config.hpp"', "", "namespace models {", "using namespace export_xmedia;"]
    for name, spec in specs().items():
        data = write_xmm(spec)
        (folder / f"{name}.xmm").write_bytes(data)
        text += _tables(name, read(data), data)
    (folder / "models.hpp").write_text("\n".join([*text, "}  // namespace models", ""]), encoding="utf-8")
    return folder


def _tables(name: str, model: XmmFile, data: bytes) -> list[str]:
    lines = []
    for direction, tensors in (("inputs", model.inputs), ("outputs", model.outputs)):
        rows = ",\n    ".join(map(_row, tensors))
        lines.append(f"constexpr TensorSpec {name}_{direction}[] = {{\n    {rows}}};")
    lines += [
        f"constexpr SessionConfig {name}() {{",
        "    SessionConfig c;",
        f'    c.path = "{name}.xmm";',
        f"    c.file_size = {len(data)};",
        f"    c.file_crc = {zlib.crc32(data)}U;",
        f"    c.inputs = {name}_inputs;",
        f"    c.outputs = {name}_outputs;",
        f"    c.reuse_type = {model.memory_reuse_type};",
        "    return c;",
        "}",
    ]
    return lines


def _row(tensor: Tensor) -> str:
    name = (tensor.name or "").replace('"', "")
    dims, pitches = (", ".join(map(str, values)) for values in (tensor.dims, tensor.pitches))
    return (
        f'{{"{name}", {tensor.id}, static_cast<DataType>({int(tensor.dtype)}), {len(tensor.dims)}, '
        f"{{{dims}}}, {{{pitches}}}, {float(tensor.scale).hex()}F, {tensor.zero_point}, {tensor.size}}}"
    )
