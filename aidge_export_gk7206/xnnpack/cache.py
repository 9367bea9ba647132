# SPDX-License-Identifier: EPL-2.0
"""XNNPACK builds in the user's cache, shared by all exports. cmake/xnnpack/identity.cmake names them."""

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aidge_export_gk7206.assets import asset
from aidge_export_gk7206.toolchains import TOOLCHAINS
from aidge_export_gk7206.xnnpack.progress import Progress


@dataclass(frozen=True)
class CachedBuild:
    """One build of XNNPACK.

    :param folder: Holds include/, lib/ and stamp.json.
    :param key: Name of the folder.
    :param commit: First 7 digits of XNNPACK's commit, or ``local-...``.
    :param date: Of the commit.
    :param arch: Processor as CMake names it: riscv64, armv7, x86_64, ...
    :param compiler: For instance ``Clang 19.1.7``.
    :param flags: The machine options (-m...).
    :param origin: ``github``, ``debian`` or the source folder.
    :param features: What cmake/xnnpack/probe.cmake found.
    """

    folder: Path
    key: str
    commit: str
    date: str
    arch: str
    compiler: str
    flags: str
    origin: str
    features: dict[str, int]


def cache_root() -> Path:
    """Folder of this package in the user's cache: AIDGE_GK7206_CACHE, or in XDG_CACHE_HOME, or in ~/.cache."""
    own = os.environ.get("AIDGE_GK7206_CACHE")
    if own:
        return Path(own).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "aidge_export_gk7206"


def builds_folder() -> Path:
    """Folder that holds the builds."""
    return cache_root() / "xnnpack"


def identity(name: str) -> str:
    """A value that cmake/xnnpack/identity.cmake sets.

    :param name: The variable's name after AIDGE_XNNPACK_, e.g. ``PINNED_COMMIT``.
    :return: Its value.
    :raises KeyError: There is no such variable.
    """
    text = asset("cmake", "xnnpack", "identity.cmake").read_text(encoding="utf-8")
    match = re.search(rf"^set\(AIDGE_XNNPACK_{name} (\S+)\)$", text, re.MULTILINE)
    if match is None:
        raise KeyError(name)
    return match.group(1)


def read_stamp(folder: Path) -> CachedBuild | None:
    """What a folder's stamp.json says.

    :param folder: Folder of a build.
    :return: The build; None when there is no stamp or none that this version understands.
    """
    try:
        stamp: dict[str, Any] = json.loads((folder / "stamp.json").read_text(encoding="utf-8"))
        if stamp.pop("format") != int(identity("STAMP_FORMAT")):
            return None
        return CachedBuild(folder=folder, **stamp)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def installed() -> list[CachedBuild]:
    """All builds in the cache, by architecture, then newest first."""
    found = [read_stamp(stamp.parent) for stamp in builds_folder().glob("[!.]*/stamp.json")]
    builds = [build for build in found if build is not None]
    builds.sort(key=lambda build: (build.date, build.key), reverse=True)
    return sorted(builds, key=lambda build: build.arch)


def find(arch: str, compiler: str | None = None, version: str | None = None) -> CachedBuild | None:
    """The build that an export will use; the rule is that of cmake/export_xnnpack.cmake.

    :param arch: ``riscv64``, ``armv7``, ``native``, or a processor as CMake names it.
    :param compiler: For instance ``Clang 19.1.7``; None for any.
    :param version: A commit; None for AIDGE_XNNPACK_VERSION, else the pinned one, else the newest.
    :return: The build, None when there is none.
    """
    processor = os.uname().machine if TOOLCHAINS.get(arch, arch) is None else arch
    version = version or os.environ.get("AIDGE_XNNPACK_VERSION")
    builds = [b for b in installed() if b.arch == processor and compiler in (None, b.compiler)]
    if version:
        builds = [b for b in builds if b.commit.startswith(version) or version.startswith(b.commit)]
    pinned = identity("PINNED_COMMIT")
    return next((b for b in builds if pinned.startswith(b.commit)), builds[0] if builds else None)


@contextmanager
def lock(name: str, progress: Progress) -> Iterator[None]:
    """Holds a lock that ends with the process, however it ends.

    :param name: What is locked.
    :param progress: Says that another process is waited for.
    """
    path = cache_root() / "locks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.step(f"Waiting for another process that works on {name} ...")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
