# SPDX-License-Identifier: EPL-2.0
"""The wheel on its own: everything it needs is in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import onnx
import pytest
import zoo

ROOT = Path(__file__).resolve().parents[1]
ASSETS = ("templates", "runtime", "simulator", "cmake")

SCRIPT = """
import json, sys
import aidge_core, numpy as np
import aidge_export_gk7206
from aidge_core.export_utils import export
from aidge_core.export_utils.config import ExportConfig
from aidge_export_gk7206.assets import asset
sample = aidge_core.Tensor(np.ones((1, 1, 28, 28), np.float32))
sample.set_data_format(aidge_core.dformat.nchw)
config = ExportConfig(target="k230", xnn=True, dformat="nhwc", export_folder="exported", compile=False)
export(aidge_export_gk7206.prepare(sys.argv[1]), config, [sample])
places = [aidge_export_gk7206.__file__, str(asset("templates")), sys.modules["aidge_export_xnnpack"].__file__]
print("RESULT" + json.dumps(places))
"""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    settings = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    result = subprocess.run(
        [*map(str, command)], cwd=cwd, env={**settings, **environment}, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, (result.stdout + result.stderr)[-3000:]
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of a new environment that has the wheel, and sees this environment's packages, but not the checkout."""
    folder = tmp_path_factory.mktemp("venv") / "venv"
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--no-index", "--no-deps", "--quiet", wheel, cwd=folder)
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    # A folder named in a .pth file is searched, but its own .pth files, as of an editable installation, are not read.
    (Path(site) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


@pytest.mark.slow
def test_contents(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    for part in ASSETS:
        files = [f for f in (ROOT / part).rglob("*") if f.is_file() and "__pycache__" not in f.parts]
        assert files
        missing = [f for f in files if f"aidge_export_gk7206/_assets/{f.relative_to(ROOT)}" not in names]
        assert not missing, f"not in the wheel: {missing}"
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]
    assert "License-Expression: EPL-2.0" in metadata


@pytest.mark.slow
def test_export_from_another_folder(python: Path, tmp_path: Path) -> None:
    model = tmp_path / "lenet.onnx"
    onnx.save(zoo.build("lenet"), model)
    output = run(python, "-c", SCRIPT, model, cwd=tmp_path)
    places = json.loads(output[output.index("RESULT") + 6 :].splitlines()[0])
    environment = str(python.parents[1])
    assert all(place.startswith(environment) for place in places), places
    exported = {str(file.relative_to(tmp_path / "exported")) for file in (tmp_path / "exported").rglob("*")}
    expected = ["CMakeLists.txt", "cmake/riscv64.toolchain", "cmake/export_xnnpack.cmake", "main.cpp", "export.json"]
    expected += ["dnn/include/xnnpack/convolution.hpp", "dnn/include/common/application.hpp"]
    assert not set(expected) - exported


@pytest.mark.slow
def test_command_line(python: Path, tmp_path: Path) -> None:
    """The command that the wheel installs, where it is called from elsewhere."""
    onnx.save(zoo.build("conv_relu"), tmp_path / "my model.onnx")
    command = python.with_name("aidge-gk7206")
    options = ["--target", "host", "--xnn", "--no-compile", "--json", "-o", "out"]
    answer = json.loads(run(command, "export", "my model.onnx", *options, cwd=tmp_path))
    assert answer["target"] == "host" and {node["library"] for node in answer["nodes"]} == {"export_xnnpack"}
    assert (tmp_path / "out" / "reference" / "output_0.npy").is_file()
