# SPDX-License-Identifier: EPL-2.0
"""Whole models, exported and compiled once for all tests."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
import zoo
from support.missing import need_build_tools
from support.projects import compile_target, configure, export
from support.sharing import once, shared_folder

from aidge_export_gk7206.export_folder import ExportFolder


class Projects:
    """Models of the zoo as compiled projects.

    :param folder: For all of them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, name: str, target: str) -> ExportFolder:
        """The export of a model for a target."""
        need_build_tools(target)
        folder = once(self._folder / f"{name}-{target}", lambda folder: _build(zoo.build(name), folder, target))
        return ExportFolder.load(folder / "project")


def _build(model: onnx.ModelProto, folder: Path, target: str) -> None:
    file = folder / f"{model.graph.name}.onnx"
    onnx.save(model, file)
    export(file, folder / "project", target)
    configure(folder / "project", target)
    compile_target(folder / "project", target)


@pytest.fixture(scope="session")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Projects:
    """Compiled models of the zoo."""
    return Projects(shared_folder(tmp_path_factory) / "models")
