# SPDX-License-Identifier: EPL-2.0
"""From a graph that Aidge has prepared and scheduled to a project that builds.

The export strategy of this package's boards (targets.py), so that ``aidge_core.export_utils.export()`` calls it. A
strategy rather than a project composer, since only a strategy can choose the memory manager: Aidge's own plans float
tensors without alignment.
"""

import shutil
from pathlib import Path
from typing import Any

import aidge_core
import numpy as np
from aidge_core.export_utils import ExportApplication, generate_file, scheduler_export
from aidge_core.export_utils.data_conversion import aidge2c
from aidge_core.export_utils.export import ExportContext

from aidge_export_gk7206 import budget, parameters, refusals, report
from aidge_export_gk7206.assets import asset
from aidge_export_gk7206.code_text import c_list, c_string
from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.memory import plan_memory
from aidge_export_gk7206.naming import sanitize_name
from aidge_export_gk7206.npu.library import XMM_GRAPH
from aidge_export_gk7206.npu.operators import model_file_name
from aidge_export_gk7206.schedule import StableSchedule
from aidge_export_gk7206.targets import LinuxBoard
from aidge_export_gk7206.xnnpack.fallbacks import REMEDY
from aidge_export_gk7206.xnnpack.kernel import Operators

DATA = "data"
PROTOCOL = "aidge-stdout/v1"


def write_project(context: ExportContext, application: ExportApplication) -> dict[str, Any] | None:
    """Writes the project of an export.

    :param context: What Aidge prepared.
    :type context: ExportContext
    :param application: The program that is asked for; kinds other than ``"standalone"`` are left to Aidge.
    :type application: ExportApplication
    :return: Entries of the manifest, None to let Aidge compose the project.
    :rtype: dict[str, Any] | None
    :raises ExportError: The graph cannot be exported right.
    """
    refusals.check(context)
    device = context.device
    if application.kind != "standalone" or not isinstance(device, LinuxBoard) or device.board_files_path is None:
        return None
    folder = Path(context.export_folder)
    name = sanitize_name(context.graph.name())
    context.graph.set_name(name)
    drop_other_outputs(context.graph)
    schedule = StableSchedule(context.scheduler)
    schedule.rename(device.symbol_prefix)
    inputs, outputs = _ports(context)
    if folder.is_dir():
        shutil.rmtree(folder)

    def plan(scheduler: StableSchedule, **arguments: Any) -> Any:
        # Aidge has just named the layers once more, without the prefix.
        scheduler.rename(device.symbol_prefix)
        return plan_memory(scheduler, **arguments)

    npu = _npu_node(schedule)
    header = "forward_header.jinja" if npu is None else "forward_header_npu.jinja"
    peaks = scheduler_export(
        schedule,
        str(folder),
        forward_template=str(asset("templates", "project", "forward.jinja")),
        forward_header_template=str(asset("templates", "project", header)),
        memory_manager=plan,
        memory_manager_args={"vector_channels": device.vector_channels if device.use_xnnpack else 1},
        dev_mode=context.dev_mode,
    )
    _write_libraries(folder, schedule)
    shutil.copytree(device.board_files_path, folder, dirs_exist_ok=True)
    if device.board_toolchain_path is not None:
        shutil.copy(device.board_toolchain_path, folder / "cmake")
    for toolchain in device.other_toolchains:
        shutil.copy(asset("cmake", toolchain), folder / "cmake")
    _copy_program(folder)
    _write_samples(folder, context, inputs)
    arena, weights = sum(peaks), report.weights_bytes(folder)
    model_file = None if npu is None else Path(npu.get_operator().attr.get_attr("file"))
    needs = budget.memory(device, weights, arena, model_file)
    if not device.force:
        try:
            budget.check(device, needs)
        except ExportError:
            shutil.rmtree(folder)
            raise
    generate_file(
        folder / "main.cpp",
        asset("templates", "project", "main.jinja"),
        model=name,
        target=device.name,
        arena_bytes=arena,
        model_file="" if model_file is None else model_file_name(model_file),
        inputs=inputs,
        outputs=outputs,
        c_string=c_string,
        c_list=c_list,
    )
    report.write(
        folder,
        {
            "format": 1,
            "model": name,
            "target": device.name,
            "arch": device.arch,
            "xnn": device.use_xnnpack,
            "inputs": [_public(port) for port in inputs],
            "outputs": [_public(port) for port in outputs],
            "nodes": report.nodes(schedule, device.use_xnnpack),
            "arena_bytes": arena,
            "weights_bytes": weights,
            "memory": needs,
            "macs": report.macs(schedule),
            "reference": None,
        },
    )
    return {"expected_artifact": "build/run_export", "protocol": PROTOCOL, "memory_peak_bytes": peaks}


def drop_other_outputs(graph: aidge_core.GraphView) -> None:
    """Takes away outputs of the graph that the model does not have: what nothing reads of a node with several outputs.

    Those of max pooling are its indices; Aidge drops them itself where it has not fused the pooling with a padding.
    """
    imported = any(node.annotations().has_attr("output_names") for node in graph.get_nodes())
    ports = [(node, index) for node, index in graph.get_ordered_outputs() if _is_output(node, index, imported)]
    graph.set_ordered_outputs(ports, ignore_missing=True)


def _is_output(node: aidge_core.Node, index: int, imported: bool) -> bool:
    if node.type() == "Transpose" and node.input(0)[0] is not None and Operators(node).is_inserted():
        parent, output = node.input(0)
        return _is_output(parent, output, imported)
    if node.get_nb_outputs() == 1 or not imported:
        return not (index == 1 and "MaxPool" in node.type())
    if "MaxPool" in node.type():
        return index == 0
    names = node.annotations().get_attr("output_names") if node.annotations().has_attr("output_names") else []
    return index < len(names) and names[index] != ""


def _npu_node(schedule: StableSchedule) -> aidge_core.Node | None:
    """The node that runs on the NPU, None where there is none.

    :raises ExportError: There are several: a program has one model file.
    """
    nodes = [node for node in schedule.get_sequential_static_scheduling() if node.type() == XMM_GRAPH]
    if len(nodes) > 1:
        raise ExportError(f"the graph has {len(nodes)} regions for the NPU", "put all of them into one .xmm file")
    return nodes[0] if nodes else None


def _ports(context: ExportContext) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Inputs and outputs as export.json and main.cpp describe them.

    :raises ExportError: The sample input is not in the layout that the graph takes, or an output is not the model's.
    """
    graph = context.graph
    ports_in = [(node, index) for node, index in graph.get_ordered_inputs() if not _optional(node, index)]
    ports_out = list(graph.get_ordered_outputs())
    described = report.ports(graph)
    names = report.output_names(graph)
    if names and len(names) != len(ports_out):
        raise ExportError(f"Aidge makes {len(ports_out)} outputs of the model's {len(names)}", REMEDY)
    names = names or [""] * len(ports_out)
    inputs, outputs = [], []
    for position, (node, index) in enumerate(ports_in):
        tensor = node.get_operator().get_input(index)
        symbol = report.symbol(node, index, "input")
        entry = described["inputs"][position] if described else report.describe_port(node, index, "input")
        dims = [int(dim) for dim in tensor.dims]
        # Aidge has no tensors without axes.
        if dims != (entry["device_shape"] or [1]):
            raise ExportError(
                f"input '{entry['name']}' is {_shown(dims)} in the graph's layout instead of "
                f"{_shown(entry['device_shape'])}",
                "label the sample tensor (set_data_format(aidge_core.dformat.nchw)) and use dformat='nhwc'",
            )
        inputs.append({**entry, "symbol": symbol, "ctype": aidge2c(tensor.dtype)})
    for position, (node, index) in enumerate(ports_out):
        tensor = node.get_operator().get_output(index)
        symbol = report.symbol(node, index, "output")
        entry = (
            described["outputs"][position]
            if described
            else report.describe_port(node, index, "output", names[position])
        )
        outputs.append({**entry, "symbol": symbol, "ctype": aidge2c(tensor.dtype)})
    return inputs, outputs


def _optional(node: Any, index: int) -> bool:
    return bool(node.get_operator().is_optional_input(index))


def _public(port: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in port.items() if key not in ("symbol", "ctype")}


def _shown(dims: list[int]) -> str:
    return "x".join(map(str, dims))


def _write_libraries(folder: Path, schedule: StableSchedule) -> None:
    """Names the kernel libraries to CMake, in place of Aidge, which does so in an order that changes."""
    nodes = schedule.get_sequential_static_scheduling()
    libraries = sorted({node.get_operator().backend() for node in nodes if node.type() != "Producer"})
    generate_file(folder / "cmake" / "libs.cmake", asset("templates", "project", "libs.jinja"), libraries=libraries)


def _copy_program(folder: Path) -> None:
    """The parts of the program that are the same for every model."""
    for source in sorted(asset("runtime", "common").iterdir()):
        destination = folder / "dnn" / ("src" if source.suffix == ".cpp" else "include") / "common"
        destination.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, destination)


def _write_samples(folder: Path, context: ExportContext, inputs: list[dict[str, Any]]) -> None:
    """Sample inputs as read-only data of the program, in the layout that it takes."""
    data = folder / DATA
    data.mkdir(exist_ok=True)
    for port, tensor in zip(inputs, context.input_tensors, strict=True):
        array = np.asarray(tensor)
        (data / f"{port['symbol']}.bin").write_bytes(np.ascontiguousarray(array).tobytes())
    symbols = [port["symbol"] for port in inputs]
    (data / "samples.S").write_text(parameters.assembly(symbols, DATA), encoding="utf-8")
