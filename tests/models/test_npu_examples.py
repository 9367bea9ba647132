# SPDX-License-Identifier: EPL-2.0
"""The examples for the GK7206's NPU, whole: export, compile, run on the simulator here and under QEMU, bundle."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.missing import missing, need_program

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.npu.xmm import read
from aidge_export_gk7206.toolchains import find_compiler

ROOT = Path(__file__).resolve().parents[2]


def run(name: str, folder: Path, *arguments: str | Path) -> list[list[str]]:
    """Runs an example in another folder; the words of each line that it prints."""
    for module in ("PIL", "onnxruntime"):
        if importlib.util.find_spec(module) is None:
            missing(f"needs {module}: pip install aidge_export_gk7206[demo]")
    for arch in ("native", "armv7"):
        try:
            find_compiler(arch)
        except ExportError as error:
            missing(str(error))
    need_program("cmake")
    need_program("qemu-arm", "qemu-user")
    work = folder / "elsewhere"
    work.mkdir()
    command = [sys.executable, str(ROOT / "examples" / name / "run.py"), *map(str, arguments)]
    result = subprocess.run(
        [*command, "-o", str(folder / "with space")], capture_output=True, text=True, check=False, cwd=work
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert list(work.iterdir()) == [], "left files in the current folder"
    return [line.split() for line in result.stdout.splitlines()]


@pytest.mark.slow
def test_pnet(tmp_path: Path) -> None:
    """A model of the detector's shapes; this machine and the board's program answer the same."""
    spec = importlib.util.spec_from_file_location("gk7206_pnet", ROOT / "examples" / "gk7206_pnet" / "run.py")
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = example  # dataclasses look their module up
    spec.loader.exec_module(example)
    model = tmp_path / "pnet.xmm"
    model.write_bytes(example.make_model())
    # Beside a model golden vectors are what the simulator answers with, for the input that they belong to.
    (tmp_path / "drawn").mkdir()
    face = example.cut_crops(example.draw_picture(tmp_path / "drawn"))["right face"]
    (tmp_path / "input_data0.bin").write_bytes(face.tobytes())
    (tmp_path / "output_data0.bin").write_bytes(bytes([192, 193, 194, 195]))
    (tmp_path / "output_data1.bin").write_bytes(bytes([0, 255]))
    lines = run("gk7206_pnet", tmp_path, model)
    faces = {line[0]: line for line in lines if line and line[0] in ("left", "right", "between", "corner")}
    assert len(faces) == 4
    assert faces["right"][3:] == ["1.000", "1.000", "+0.000", "+0.004", "+0.007", "+0.011"]
    assert len({line[-5] for line in faces.values()}) > 1, "the answers do not depend on the input"
    text = " ".join(word for line in lines for word in line)
    assert "no detections" in text and "golden vectors beside the model" in text
    mmz = sum(read(model).mmz().values())
    assert f"{mmz:,} bytes" in text
    assert (tmp_path / "with space" / "picture.png").is_file()


@pytest.mark.slow
def test_from_onnx(tmp_path: Path) -> None:
    """Every output within one step of the quantisation, on both targets; a bundle of the same pictures."""
    lines = run("gk7206_from_onnx", tmp_path)
    answers = [line for line in lines if line and line[-1] in ("yes", "NO")]
    assert len(answers) == 6
    for line in answers:
        _, wanted, here, steps, board, board_steps, right = line
        assert (here, board, right) == (wanted, wanted, "yes")
        assert float(steps) <= 1.0 and float(board_steps) <= 1.0
    bundle = tmp_path / "with space" / "bundle"
    description = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))
    assert [sample["name"] for sample in description["samples"]] == [line[0] for line in answers]
    onnx.checker.check_model(onnx.load(bundle / "model.onnx"))
    # The compiler gets what the exports were calibrated with.
    (output,) = read(tmp_path / "with space" / "host" / "classifier.xmm").outputs
    assert np.isclose(output.scale, description["outputs"][0]["scale"], rtol=1e-3)
