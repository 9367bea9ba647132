# SPDX-License-Identifier: EPL-2.0
"""The models that are measured: those of tests/zoo.py, or the ONNX files of a folder."""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.machine import REPOSITORY


def find(folder: Path | None, names: Sequence[str], work: Path) -> list[Path]:
    """Paths of the models.

    :param folder: Where they are; None to make those of tests/zoo.py.
    :param names: The ones that are wanted, all when empty.
    :param work: Where to make them.
    """
    if folder is not None:
        return [folder.resolve() / f"{name}.onnx" for name in names] or sorted(folder.resolve().glob("*.onnx"))
    tests = str(REPOSITORY / "tests")
    if tests not in sys.path:
        sys.path.insert(0, tests)
    zoo = importlib.import_module("zoo")
    made = []
    for name in names or zoo.MODELS:
        path = work.resolve() / "models" / f"{name}.onnx"
        content = zoo.build(name).SerializeToString()
        # Written only when it changes, so that what was built from it stays.
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        made.append(path)
    return made
