# SPDX-License-Identifier: EPL-2.0
"""Puts the region that a ``.xmm`` file holds into an export once more, as layers of the CPU: for the simulator."""

import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import aidge_core
import numpy as np
import onnx_ir as ir
from aidge_core.export_utils import generate_file
from aidge_core.export_utils.config import ExportConfig
from aidge_core.export_utils.export import finalize_export, prepare_export

from aidge_export_gk7206.assets import asset
from aidge_export_gk7206.code_text import c_list, c_string
from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.export_folder import ExportFolder
from aidge_export_gk7206.npu.offload import Region
from aidge_export_gk7206.npu.simulator_model import PREFIX, output_index, simulator_model
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
            inputs=export.inputs,
            outputs=export.outputs,
            indices=[output_index(output.name) for output in export.outputs],
            c_string=c_string,
            c_list=c_list,
        )
    return []


def _export(region: Region, config: ExportConfig) -> Path:
    model = ir.from_proto(simulator_model(region))
    name = f"{PREFIX}reference"
    if config.xnn:
        graph, dformat = to_aidge(lower(model, name, {})), None
    else:
        graph, dformat = to_portable(model, name, {}).graph, "nhwc"
    config = replace(config, clone_model=False, dformat=dformat)
    sample = aidge_core.Tensor(np.zeros(region.input.tensor.dims, dtype=np.float32))
    if len(region.input.tensor.dims) == 4:
        # The axes are the file's; what matters is that the exporter takes them for those of an ONNX model.
        sample.set_data_format(aidge_core.dformat.nchw)
    context = prepare_export(graph, config, input_tensors=[sample])
    context.device.board_files_path = asset("cmake", "project")
    context.device.symbol_prefix = PREFIX
    context.device.force = True  # boards do not carry it
    return Path(finalize_export(context, config.application).path)
