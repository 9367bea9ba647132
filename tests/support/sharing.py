# SPDX-License-Identifier: EPL-2.0
"""Folders that all processes of a parallel test run share, and work that only one of them does."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """A temporary folder that is the same in every worker of pytest-xdist."""
    base = factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds a lock that ends with the process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def once(folder: Path, work: Callable[[Path], None]) -> Path:
    """Lets the first process that comes fill a folder. What it could not do, the next one tries again."""
    done = folder.with_name(folder.name + ".done")
    with locked(folder.with_name(folder.name + ".lock")):
        if not done.exists():
            folder.mkdir(parents=True, exist_ok=True)
            work(folder)
            done.touch()
    return folder
