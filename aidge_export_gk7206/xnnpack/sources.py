# SPDX-License-Identifier: EPL-2.0
"""Where XNNPACK's sources come from: GitHub, Debian, or a folder."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack import debian
from aidge_export_gk7206.xnnpack.cache import cache_root, identity, lock
from aidge_export_gk7206.xnnpack.progress import Progress

_DEPENDENCIES = ("cpuinfo", "pthreadpool", "fxdiv")


@dataclass(frozen=True)
class Sources:
    """XNNPACK's source folder and those of what it needs.

    :param xnnpack: XNNPACK's.
    :param origin: ``github``, ``debian`` or the folder's path.
    :param dependencies: cpuinfo, pthreadpool, fxdiv to their folder; XNNPACK downloads what is missing here.
    """

    xnnpack: Path
    origin: str
    dependencies: dict[str, Path]


def resolve(source: str, dependencies: dict[str, Path], progress: Progress) -> Sources:
    """Gets the sources.

    :param source: ``github`` (the pinned commit), ``debian``, or an XNNPACK checkout, beside which folders named
        cpuinfo*, pthreadpool* and fxdiv* are found too.
    :param dependencies: Folders of cpuinfo, pthreadpool, fxdiv that the caller names.
    :param progress: Says what is done.
    :return: The sources.
    :raises ExportError: They cannot be had.
    """
    for name, folder in dependencies.items():
        if not (folder / "CMakeLists.txt").is_file():
            raise ExportError(f"{folder} holds no {name} (no CMakeLists.txt)", f"correct --{name}")
    if source == "github":
        with lock("sources-github", progress):
            return Sources(_clone(progress), source, dependencies)
    if source == "debian":
        with lock("sources-debian", progress):
            folders = debian.fetch(cache_root() / "sources" / "debian", progress)
        return Sources(folders.pop("xnnpack"), source, {**folders, **dependencies})
    folder = Path(source).absolute()
    if not (folder / "include" / "xnnpack.h").is_file():
        raise ExportError(
            f"{source} is no XNNPACK checkout (no include/xnnpack.h)", "use --from github, debian or a checkout"
        )
    return Sources(folder, str(folder), {**_siblings(folder), **dependencies})


def _siblings(folder: Path) -> dict[str, Path]:
    found = {}
    for name in _DEPENDENCIES:
        candidates = [p for p in sorted(folder.parent.iterdir()) if p.name.lower().startswith(name)]
        usable = [p for p in candidates if (p / "CMakeLists.txt").is_file()]
        if usable:
            found[name] = usable[-1]
    return found


def _clone(progress: Progress) -> Path:
    commit = identity("PINNED_COMMIT")
    folder = cache_root() / "sources" / f"xnnpack-{commit[:7]}"
    if folder.is_dir():
        return folder
    git = shutil.which("git")
    if git is None:
        raise ExportError("git is not on the PATH, and fetching from GitHub needs it", "sudo apt-get install git")
    repository = identity("REPOSITORY")
    progress.step(f"Fetching XNNPACK {commit[:7]} from {repository} ...")
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for arguments in (
        ["init", "--quiet"],
        ["fetch", "--quiet", "--depth", "1", repository, commit],
        ["checkout", "--quiet", "FETCH_HEAD"],
    ):
        result = subprocess.run([git, *arguments], cwd=partial, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            shutil.rmtree(partial, ignore_errors=True)
            reason = (result.stderr.strip().splitlines() or ["git failed"])[-1]
            raise ExportError(
                f"cannot fetch XNNPACK from {repository} ({reason})",
                "without GitHub use --from debian, or --from DIR with a checkout",
            )
    partial.rename(folder)
    return folder
