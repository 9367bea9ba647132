# SPDX-License-Identifier: EPL-2.0
"""Exports a model with this package through Aidge's own ``export()``, and says how long that took.

usage: own_export.py MODEL.onnx FOLDER
"""

import json
import sys
import time

import aidge_core
import numpy as np
import onnx
from aidge_core.export_utils import export
from aidge_core.export_utils.config import ExportConfig

import aidge_export_gk7206


def main() -> None:
    path, folder = sys.argv[1:3]
    aidge_core.Log.set_console_level(aidge_core.Level.Error)
    shape = [dim.dim_value for dim in onnx.load(path).graph.input[0].type.tensor_type.shape.dim]
    begin = time.perf_counter()
    graph = aidge_export_gk7206.prepare(path)
    tensor = aidge_core.Tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    if len(shape) == 4:
        tensor.set_data_format(aidge_core.dformat.nchw)
    config = ExportConfig(target="host", xnn=True, export_folder=folder, compile=False, cuda=False)
    prepared = time.perf_counter()
    export(graph, config, [tensor])
    done = time.perf_counter()
    print(json.dumps({"prepare_s": prepared - begin, "export_s": done - prepared}))


if __name__ == "__main__":
    main()
