#!/usr/bin/env python3
# SPDX-License-Identifier: EPL-2.0
"""Exports an ONNX model through Aidge's own ``export()``; every option of Aidge's ExportConfig is an option here.

python examples/export_onnx.py model.onnx --target k230 --xnn --export-folder out
"""

import argparse
from pathlib import Path

import aidge_core
import numpy as np
from aidge_core.export_utils import export
from aidge_core.export_utils.config import ExportConfig

from aidge_export_gk7206 import prepare


def main() -> None:
    """Reads the command line, exports, says where to."""
    parser = argparse.ArgumentParser(description="Exports an ONNX model with one float32 input.")
    parser.add_argument("model", type=Path, help="the model")
    parser.add_argument("--input", type=Path, help="sample input, .npy in ONNX layout (default: random)")
    parser.add_argument("--shape", type=int, nargs="+", help="shape of the input when there is no sample")
    # These two are Aidge's to choose from the graph, which is no loss: prepare() has made the layouts explicit.
    ExportConfig.add_to_parser(parser, skip=("dformat", "clone_model"))
    arguments = parser.parse_args()
    if arguments.input is None and arguments.shape is None:
        parser.error("--input or --shape is needed")

    generator = np.random.default_rng(0)
    array = np.load(arguments.input) if arguments.input else generator.random(arguments.shape, dtype=np.float32)
    graph = prepare(arguments.model, shapes={"": array.shape})
    sample = aidge_core.Tensor(np.ascontiguousarray(array))
    if array.ndim == 4:
        sample.set_data_format(aidge_core.dformat.nchw)  # or Aidge would take it as it lies, and be wrong
    artifact = export(graph, ExportConfig.from_namespace(arguments), [sample])
    np.save(artifact.path / "sample.npy", array)
    print(f"exported; run it with: aidge-gk7206 run {artifact.path} --input {artifact.path / 'sample.npy'}")


if __name__ == "__main__":
    main()
