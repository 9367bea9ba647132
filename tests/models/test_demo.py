# SPDX-License-Identifier: EPL-2.0
"""README's main job: the text direction classifier on the K230, under QEMU."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from support.missing import missing, need_build_tools, need_program

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples" / "k230_text_direction" / "run.py"


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    """The script as a module."""
    for name in ("PIL", "onnxruntime", "rapidocr_onnxruntime"):
        if importlib.util.find_spec(name) is None:
            missing(f"needs {name}: pip install aidge_export_gk7206[demo]")
    spec = importlib.util.spec_from_file_location("k230_text_direction", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_pictures_and_input(demo: ModuleType, tmp_path: Path) -> None:
    """One line of text, dark on light, once as it is and once turned; scaled like rapidocr's, zeros at the right."""
    upright, upside_down = (demo.Image.open(file) for file in demo.draw_pictures(tmp_path))
    values = np.asarray(upright)
    assert (np.asarray(upside_down) == values[::-1, ::-1]).all()
    assert values[0].min() == 255 and values[:, 0].min() == 255, "the text reaches the edge"
    assert 0.02 < (values < 128).mean() < 0.5
    narrow = demo.preprocess(upright.crop((0, 0, upright.height, upright.height)))
    assert narrow.shape == (1, 3, 48, 192) and narrow.dtype == np.float32
    assert narrow[..., :48].min() < -0.9 and narrow[..., :48].max() == 1.0
    assert not narrow[..., 48:].any()


def test_blue_comes_first(demo: ModuleType) -> None:
    red = demo.preprocess(demo.Image.new("RGB", (400, 100), (255, 0, 0)))
    assert red[0, :, 0, 0].tolist() == [-1.0, -1.0, 1.0]


@pytest.mark.parametrize(
    ("wanted", "got", "code"),
    [
        ([0.9, 0.1], [0.90005, 0.09995], 0),
        ([0.9, 0.1], [0.89, 0.11], 1),  # the right answer, but not the same numbers
        ([0.1, 0.9], [0.1, 0.9], 1),  # the same numbers, but the wrong answer
        ([0.9, 0.1], [np.nan, 0.1], 1),
    ],
)
def test_verdict(
    demo: ModuleType, capsys: pytest.CaptureFixture[str], wanted: list[float], got: list[float], code: int
) -> None:
    arrays = [np.array([values], np.float32) for values in (wanted, got)]
    assert demo.verdict([demo.Answer(Path("upright.png"), 0, *arrays)]) == code
    assert ("wrong answer or too large a difference for upright.png" in capsys.readouterr().err) == bool(code)


@pytest.mark.slow
def test_demo(demo: ModuleType, tmp_path: Path) -> None:
    """The whole job: answers 0 and 180 on an emulated K230, every operator by XNNPACK."""
    need_build_tools("k230")
    need_program("qemu-riscv64", "qemu-user")
    folder = tmp_path / "with space"
    command = [sys.executable, str(SCRIPT), "--output", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    answers = [line for line in lines if line and line[0].endswith(".png")]
    assert [(line[0], *line[1:4], line[-1]) for line in answers] == [
        ("upright.png", "0", "0", "0", "yes"),
        ("upside_down.png", "180", "180", "180", "yes"),
    ]
    assert all(float(line[5]) < 1e-5 for line in answers)
    table = {line[0]: line[1:] for line in lines if line}
    assert table["operators"][1:] == ["by", "export_xnnpack"]
    assert {"target", "XNNPACK", "program", "arena", "prepare", "compile", "start", "inference"} <= set(table)
    assert sorted(file.name for file in folder.iterdir()) == [
        "export",
        "export.log",
        "upright.png",
        "upside_down.png",
    ]
    assert list(tmp_path.iterdir()) == [folder], "left files in the current folder"


def test_export_that_fails(
    demo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One line that says what and where to look; what was printed before is in the log."""
    from aidge_export_gk7206 import exporting

    def fail(*_: object, **__: object) -> None:
        print("main.cpp:1:1: error: no such luck")
        raise RuntimeError("Failed to build export")

    monkeypatch.setattr(exporting, "export_model", fail)
    here = Path.cwd()
    log = tmp_path / "export.log"
    with pytest.raises(demo.ExportError) as caught:
        demo.export_model(tmp_path / "model.onnx", "k230", np.zeros((1, 3, 48, 192), np.float32), tmp_path)
    assert str(caught.value) == f"the export failed (main.cpp:1:1: error: no such luck): see {log}"
    assert Path.cwd() == here
    print("back")
    assert capfd.readouterr().out == "back\n"
