# SPDX-License-Identifier: EPL-2.0
"""Exports, compiles and runs the bundles of all operator tests that were selected, before the first of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.bundle import Bundle, BundleRun
from support.cases import Branch, Case
from support.missing import need_build_tools, need_program
from support.onnx_tests import accepted
from support.projects import RUNNERS
from support.sharing import once, shared_folder

#: Branches of one model; more make fewer, larger programs.
BUNDLE_SIZE = 120


def _branches(item: pytest.Item, parameters: dict[str, Any]) -> list[Branch]:
    """What a test needs."""
    if not isinstance(item, pytest.Function):
        return []
    module = item.module.__name__
    if isinstance(case := parameters.get("case"), Case):
        return [Branch(module, case, parameters["form"])]
    if operator := parameters.get("onnx_operator"):
        return [Branch(module, case, "plain") for case in accepted(operator)]
    return []


class Bundles:
    """The bundles of a test run.

    :param folder: For all their files.
    :param items: The tests that were selected.
    """

    def __init__(self, folder: Path, items: list[pytest.Item]) -> None:
        self._where: dict[tuple[Branch, str], BundleRun] = {}
        self._runs: list[BundleRun] = []
        groups: dict[tuple[int, str], dict[Branch, None]] = {}
        for item in items:
            parameters = getattr(getattr(item, "callspec", None), "params", {})
            for branch in _branches(item, parameters):
                groups.setdefault((branch.case.opset, RUNNERS[parameters["runner"]]), {})[branch] = None
        for (opset, target), branches in groups.items():
            everything = list(branches)
            for start in range(0, len(everything), BUNDLE_SIZE):
                part = everything[start : start + BUNDLE_SIZE]
                run = BundleRun(folder / f"opset{opset}-{start // BUNDLE_SIZE}-{target}", Bundle(opset, part), target)
                self._runs.append(run)
                self._where.update({(branch, target): run for branch in part})

    def targets(self) -> set[str]:
        return {target for _, target in self._where}

    def work(self) -> None:
        """Does what no other process has done."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda run: once(run.folder, lambda _: run.work()), self._runs))

    def check(self, branch: Branch, runner: str) -> None:
        """Compares a branch with the reference."""
        self._where[branch, RUNNERS[runner]].check(branch, runner)


@pytest.fixture(scope="session")
def bundles(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundles]:
    """All bundles, run."""
    found = Bundles(shared_folder(tmp_path_factory) / "operators", request.session.items)
    for target in found.targets():
        need_build_tools(target)
    if "k230" in found.targets():
        need_program("qemu-riscv64", "qemu-user")
    found.work()
    yield found
