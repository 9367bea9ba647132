# SPDX-License-Identifier: EPL-2.0
"""Exports that cannot work end in one clear error, before anything is written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import aidge_core
import numpy as np
import onnx
import pytest
import zoo
from aidge_core.export_utils import export
from aidge_core.export_utils.config import ExportConfig
from support.graphs import Graph

from aidge_export_gk7206 import ExportError, prepare
from aidge_export_gk7206.exporting import export_model


def config(folder: Path, **changes: Any) -> ExportConfig:
    settings = {"target": "host", "xnn": True, "export_folder": str(folder / "out"), "compile": False}
    return ExportConfig(**{**settings, **changes})


@pytest.fixture
def model(tmp_path: Path) -> Path:
    file = tmp_path / "conv_relu.onnx"
    onnx.save(zoo.build("conv_relu"), file)
    return file


@pytest.mark.parametrize("dtype", ["int8", "float16"])
def test_other_types(dtype: str, model: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=dtype) as caught:
        export_model(model, config(tmp_path, dtype=dtype))
    assert "float32" in caught.value.remedy
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (np.zeros((1, 3, 16, 16), np.float64), "float64"),
        (np.zeros((1, 3, 16, 17), np.float32), "1x3x16x17"),
        (np.zeros((1, 16, 16, 3), np.float32), "1x16x16x3"),
        (np.zeros((3, 16, 16), np.float32), "3x16x16"),
    ],
)
def test_wrong_sample(sample: np.ndarray[Any, Any], message: str, model: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=message):
        export_model(model, config(tmp_path), sample=sample)
    assert not (tmp_path / "out").exists()


def test_sample_of_another_shape_than_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "open.onnx"
    g = Graph()
    onnx.save(g.model({"input": ("N", "C")}, [g.op("Relu", "input")]), file)
    for name in ("", "input"):
        with pytest.raises(ExportError, match=r"1x3.*1x4|two shapes") as caught:
            export_model(file, config(tmp_path), sample=np.zeros((1, 3), np.float32), shapes={name: [1, 4]})
        assert "leave one of them out" in caught.value.remedy


def test_unknown_target(model: Path, tmp_path: Path) -> None:
    with pytest.raises((ExportError, ValueError, KeyError), match="toaster"):
        export_model(model, config(tmp_path, target="toaster"))


def test_sample_without_layout(model: Path, tmp_path: Path) -> None:
    """Aidge's export() takes what it is given: a sample that does not say its layout fits only by chance."""
    sample = aidge_core.Tensor(np.zeros((1, 3, 16, 16), np.float32))
    with pytest.raises(ExportError, match=r"nchw|layout"):
        export(prepare(model), config(tmp_path), [sample])


SCRIPT = """
import sys
import aidge_core, numpy as np
from aidge_core.export_utils import export
from aidge_core.export_utils.config import ExportConfig
from aidge_export_gk7206 import prepare
sample = aidge_core.Tensor(np.zeros((1, 3, 16, 16), np.float32))
sample.set_data_format(aidge_core.dformat.nchw)
config = ExportConfig(target="k230", xnn=True, dtype="int8", export_folder="out", compile=False)
export(prepare(sys.argv[1]), config, [sample])
"""


def test_int8_through_aidge(model: Path, tmp_path: Path) -> None:
    """In a process of its own: Aidge ends it where a module is missing."""
    command = [sys.executable, "-c", SCRIPT, str(model)]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not (tmp_path / "out" / "export.json").exists(), "a float model was exported instead"
    assert "int8" in result.stdout + result.stderr or "quantization" in result.stdout + result.stderr
