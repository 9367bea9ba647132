# SPDX-License-Identifier: EPL-2.0
"""Exports a model with Aidge and aidge_export_cpp alone: the peer of the benchmarks. Runs as a process of its own.

usage: stock_export.py MODEL.onnx FOLDER
"""

import json
import sys
import time

import aidge_backend_cpu  # noqa: F401 - registers itself
import aidge_core
import aidge_export_cpp  # noqa: F401 - registers itself
import aidge_onnx
import numpy as np
import onnx
from aidge_core.export_utils import export
from aidge_core.export_utils.config import ExportConfig


def main() -> None:
    path, folder = sys.argv[1:3]
    aidge_core.Log.set_console_level(aidge_core.Level.Error)
    shape = [dim.dim_value for dim in onnx.load(path).graph.input[0].type.tensor_type.shape.dim]
    begin = time.perf_counter()
    graph = aidge_onnx.load_onnx(path)
    aidge_core.remove_flatten(graph)
    aidge_core.fuse_batchnorm(graph)
    _fix_clips(graph)
    tensor = aidge_core.Tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    if len(shape) == 4:
        tensor.set_data_format(aidge_core.dformat.nchw)
    config = ExportConfig(
        target="host", dformat="nhwc" if len(shape) == 4 else None, export_folder=folder, compile=False, cuda=False
    )
    prepared = time.perf_counter()
    export(graph, config, [tensor])
    done = time.perf_counter()
    print(json.dumps({"prepare_s": prepared - begin, "export_s": done - prepared}))


def _fix_clips(graph: aidge_core.GraphView) -> None:
    """Gives Clip the bounds that it has as inputs: export_cpp reads its attributes only."""
    for node in graph.get_nodes():
        if node.type() == "Clip":
            operator = node.get_operator()
            for slot, name in ((1, "min"), (2, "max")):
                if node.input(slot)[0] is not None:
                    setattr(operator.attr, name, float(np.asarray(operator.get_input(slot)).reshape(-1)[0]))


if __name__ == "__main__":
    main()
