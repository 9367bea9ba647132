# SPDX-License-Identifier: EPL-2.0
"""Puts the region that a ``.xmm`` file holds into an export once more, as layers of the CPU: for the simulator."""

import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx_ir as ir
from aidge_core.export_utils import generate_file
from aidge_core.export_utils.config import ExportConfig
from aidge_core.export_utils.export import finalize_export

from aidge_export_gk7206.assets import asset
from aidge_export_gk7206.code_text import c_list, c_string
from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.export_folder import ExportFolder, TensorDescription
from aidge_export_gk7206.model_source import ModelSource
from aidge_export_gk7206.npu.matching import Match
from aidge_export_gk7206.npu.offload import Region
from aidge_export_gk7206.npu.simulator_model import PREFIX, simulator_model
from aidge_export_gk7206.preparation import lower, to_aidge
from aidge_export_gk7206.preparation.portable import to_portable

FOLDER = Path("simulator") / "reference"
#: What the export itself has as well.
_SHARED = ("src/common", "include/common")


def write_simulator_model(folder: Path, region: Region, config: ExportConfig) -> list[str]:
    """Adds the region to an export as a second model, which only the simulator runs.

    :param folder: The export.
    :param region: The region.
    :param config: How the export was made.
    :return: Warnings: the CPU may lack an operator that the NPU has.
    """
    with TemporaryDirectory(prefix="aidge-gk7206-") as scratch:
        try:
            made = _export(region, replace(config, export_folder=str(Path(scratch) / "export"), compile=False))
        except ExportError as error:
            return [f"the simulator cannot compute what the NPU does, it will give a pattern ({error})"]
        target = folder / FOLDER
        shutil.copytree(made / "dnn", target / "dnn")
        for name in _SHARED:
            shutil.rmtree(target / "dnn" / name)
        shutil.copytree(made / "cmake", target / "cmake")
        export = ExportFolder.load(made)
        generate_file(
            target / "reference.cpp",
            asset("templates", "npu", "reference.jinja"),
            model=export.model,
            inputs=[_from_file(region.input, export.inputs[0])],
            outputs=[_from_file(match, port) for match, port in zip(region.outputs, export.outputs, strict=True)],
            indices=[match.index for match in region.outputs],
            c_string=c_string,
            c_list=c_list,
        )
    return []


def _from_file(match: Match, port: TensorDescription) -> dict[str, Any]:
    """A tensor in the file's layout, and the way to the second model's."""
    device = port.permutation or tuple(range(len(port.shape)))
    order = [match.perm.index(axis) for axis in device]
    return {
        "name": match.name,
        "dtype": port.dtype,
        "shape": [match.shape[axis] for axis in match.perm],
        "device_shape": list(port.device_shape),
        "permutation": None if order == sorted(order) else order,
    }


def _export(region: Region, config: ExportConfig) -> Path:
    model = ir.from_proto(simulator_model(region))
    name = f"{PREFIX}reference"
    graph = to_aidge(lower(model, name, {})) if config.xnn else to_portable(model, name, {}).graph
    sample = np.zeros(region.input.shape, dtype=np.float32)
    context = ModelSource(graph, config.xnn, sample, lambda: None).adapt(config)
    context.device.symbol_prefix = PREFIX
    context.device.force = True  # boards do not carry it
    return Path(finalize_export(context, config.application).path)
