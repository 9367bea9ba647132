# SPDX-License-Identifier: EPL-2.0
"""What the documents say is so: links, commands, operators, messages, examples."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aidge_export_gk7206 import cli

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OPERATORS = ROOT / "docs" / "kernel-operators.md"
#: Files that texts name and that are not this repository's.
ELSEWHERE = (
    "README.txt",
    "bundle.json",
    "export.json",
    "input_data0.bin",
    "model.onnx",
    "riscv_vector.h",
    "xnnpack.h",
)


def blocks(document: Path, language: str) -> list[str]:
    """Code blocks of a document."""
    return re.findall(rf"^```{language}\n(.*?)^```$", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def rows(document: Path, first_title: str) -> Iterator[list[str]]:
    """Rows of the tables whose first column has a title."""
    inside = False
    for line in document.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
        if not cells:
            inside = False
        elif inside and not set(line) <= set("|-"):
            yield cells
        inside = inside or (bool(cells) and cells[0].strip("| ") == first_title)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links(document: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)", document.read_text(encoding="utf-8")):
        assert link.startswith("https://") or (document.parent / link).exists(), link


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files(document: Path) -> None:
    """Files of this repository that the text names are there."""
    places = ["", "aidge_export_gk7206", "aidge_export_gk7206/xnnpack"]
    for name in re.findall(r"`([\w./*]+(?:\.\w+|/))`", document.read_text(encoding="utf-8")):
        if name.startswith(("build/", "/", "cmake/<", "out/", "dnn/")) or name in ELSEWHERE:
            continue
        found = [match for place in places for match in (ROOT / place).glob(name.removeprefix(".../").rstrip("/"))]
        assert found or list(ROOT.glob(f"*/**/{name.rstrip('/')}")), name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands(document: Path) -> None:
    """Every command is one that the command line takes, every script is there."""
    for line in "".join(blocks(document, "sh")).splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["aidge-gk7206"]:
            if "bpi_f3" not in words:  # a board that is only an example
                cli._parser(words[1:]).parse_args(words[1:])
        elif words[:1] == ["python"] or (words and words[0].startswith("scripts/")):
            assert (ROOT / words[words[0] == "python"]).is_file(), line


def test_kernel_operators() -> None:
    from aidge_export_gk7206.xnnpack.library import ExportLibXNNPack
    from aidge_export_gk7206.xnnpack.operators import binary, pad, reduce, unary

    registry = {
        name: entries[0][1] for name, entries in ExportLibXNNPack._export_node_registry.items() if "Xnn" in name
    }
    table = {cells[0].removesuffix(" **S**"): cells for cells in rows(OPERATORS, "operator")}
    assert set(table) == set(registry)
    assert {name for name, cells in table.items() if "**S**" in cells[0]} == {
        name for name, node in registry.items() if node.takes_strides
    }
    text = OPERATORS.read_text(encoding="utf-8")
    listed = re.search(r"Functions of XnnUnary: ([^.]*)\.", text)
    assert listed is not None and set(re.split(r",\s+", listed.group(1))) == unary.FUNCTIONS
    for name, functions in (("XnnBinary", binary.FUNCTIONS), ("XnnReduce", reduce.FUNCTIONS), ("XnnPad", pad.MODES)):
        first = re.match(r"`(?:op|mode)` ([\w, ]+)", table[name][2])
        assert first is not None and set(first.group(1).split(", ")) == functions


def test_onnx_operators() -> None:
    """README and the table list what there are rules for."""
    import aidge_export_gk7206.preparation  # noqa: F401 - registers the rules
    from aidge_export_gk7206.preparation.lowering import _RULES

    known = set(_RULES) - {"ConstantOfShape"}  # "everything that depends on no input"
    words = {word for cells in rows(OPERATORS, "ONNX") for word in re.findall(r"\b[A-Z]\w+", cells[0])} - {"ONNX"}
    assert words == known
    readme = rows(ROOT / "README.md", "family")
    listed = {word for cells in readme for word in re.findall(r"\b[A-Z]\w+", re.sub(r"\(.*?\)", "", cells[1]))}
    assert listed == known


def _sources() -> str:
    """Everything that can print a message, string literals joined."""
    files = [ROOT / "aidge_gk7206_cli.py", *(ROOT / "aidge_export_gk7206").rglob("*.py")]
    texts = []
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                texts.append("".join(str(v.value) if isinstance(v, ast.Constant) else "…" for v in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    for folder, pattern in (("runtime", "*.?pp"), ("cmake", "*")):
        for file in (ROOT / folder).rglob(pattern):
            if file.is_file():
                text = re.sub(r'"\s*\n\s*"', "", file.read_text(encoding="utf-8"))
                texts.append(re.sub(r"\$\{[^}]*\}|%\w+", "…", text))
    return "\n".join(texts)


def test_messages_exist() -> None:
    """Every message in the tables of symptoms is one that something here prints."""
    sources = _sources()
    document = ROOT / "docs" / "troubleshooting.md"
    symptoms = [cells[0] for cells in rows(document, "symptom")]
    assert len(symptoms) > 30
    messages = [text for symptom in symptoms for text in re.findall(r"`([^`]+)`", symptom)]
    parts = [part for message in messages for part in message.split("…") if len(part.strip(" ':(),")) > 3]
    assert [part for part in parts if part.strip() not in sources] == []


def test_prepare_is_a_function() -> None:
    """However the package and its parts are imported first."""
    for first in ("import aidge_export_gk7206.preparation", "from aidge_export_gk7206 import exporting", "pass"):
        code = f"{first}\nfrom aidge_export_gk7206 import prepare\nassert callable(prepare), prepare"
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert result.returncode == 0, f"after {first}: {result.stderr}"


BOARD_CHECK = """
import json, sys
import aidge_core, numpy, onnx
from onnx import helper
from aidge_core.export_utils import export
from aidge_core.export_utils.config import ExportConfig
from aidge_export_gk7206.preparation import prepare
x, y = (helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1, c, 6, 6]) for n, c in (("x", 3), ("y", 4)))
w = onnx.numpy_helper.from_array(numpy.ones((4, 3, 3, 3), numpy.float32), "w")
graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4)], "tiny", [x], [y], [w])
sample = aidge_core.Tensor(numpy.ones((1, 3, 6, 6), numpy.float32))
sample.set_data_format(aidge_core.dformat.nchw)
config = ExportConfig(target="bpi_f3", xnn=True, export_folder="out", compile=False, cuda=False)
export(prepare(helper.make_model(graph)), config, [sample])
"""


def test_board(tmp_path: Path) -> None:
    """The example board exports: its own channels, the toolchain of its processor."""
    import json

    code = "\n".join([*blocks(ROOT / "docs" / "adding-a-board.md", "python"), BOARD_CHECK])
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    description = json.loads((tmp_path / "out" / "export.json").read_text(encoding="utf-8"))
    assert (description["target"], description["arch"]) == ("bpi_f3", "riscv64")
    assert (tmp_path / "out" / "cmake" / "riscv64.toolchain").is_file()
