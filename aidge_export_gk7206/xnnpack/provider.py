# SPDX-License-Identifier: EPL-2.0
"""Fills the user's cache with builds of XNNPACK, so that an export only links one."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from aidge_export_gk7206.assets import asset
from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.toolchains import find_compiler, require_tool, split_cmake_error, toolchain_file
from aidge_export_gk7206.xnnpack.cache import CachedBuild, builds_folder, cache_root, find, installed, lock, read_stamp
from aidge_export_gk7206.xnnpack.progress import Progress
from aidge_export_gk7206.xnnpack.sources import Sources, resolve

__all__ = ["CachedBuild", "build", "find", "installed"]


def build(
    arch: str,
    source: str = "github",
    *,
    cpuinfo: str | Path | None = None,
    pthreadpool: str | Path | None = None,
    fxdiv: str | Path | None = None,
    jobs: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> CachedBuild:
    """Builds XNNPACK into the cache. Does nothing when it is there; goes on where a cancelled build stopped.

    :param arch: ``riscv64``, ``armv7`` or ``native``.
    :param source: ``github`` (the pinned commit), ``debian``, or an XNNPACK checkout.
    :param cpuinfo: cpuinfo's source folder; None for a folder beside the checkout, else XNNPACK downloads it.
    :param pthreadpool: The same for pthreadpool.
    :param fxdiv: The same for FXdiv.
    :param jobs: Compilers at the same time; None for one per processor.
    :param force: Build again what is there.
    :param progress: Where to report; None for standard error.
    :return: The build.
    :raises ExportError: A tool, the sources or the build failed.
    """
    progress = progress or Progress()
    find_compiler(arch)  # a missing one is said before anything is downloaded
    named = {"cpuinfo": cpuinfo, "pthreadpool": pthreadpool, "fxdiv": fxdiv}
    dependencies = {name: Path(folder).absolute() for name, folder in named.items() if folder is not None}
    sources = resolve(source, dependencies, progress)
    identity = _identify(arch, sources)
    target = builds_folder() / identity.key
    with lock(identity.key, progress):
        present = read_stamp(target)
        if present is not None and not force and not identity.commit.endswith("-dirty"):
            progress.finish(f"XNNPACK {present.commit} for {present.arch} is in {target}")
            return present
        work = cache_root() / "build" / identity.key
        _compile(arch, sources, work, jobs or os.cpu_count() or 1, progress)
        _publish(work / "stage", target)
        shutil.rmtree(work, ignore_errors=True)
    made = read_stamp(target)
    if made is None:
        raise ExportError(f"{target} has no valid stamp.json", "remove the folder and build again")
    progress.finish(f"XNNPACK {made.commit} of {made.date} for {made.arch}, {made.compiler}: {target}")
    return made


def _identify(arch: str, sources: Sources) -> CachedBuild:
    """What a build of these sources will be called: CMake's own answer, from a project that only detects compilers."""
    with tempfile.TemporaryDirectory(prefix="aidge-xnnpack-") as name:
        folder = Path(name)
        _configure(arch, sources, folder, only_stamp=True)
        stamp = read_stamp(folder / "stage")
    assert stamp is not None  # _configure raises when CMake fails
    return stamp


def _configure(arch: str, sources: Sources, folder: Path, only_stamp: bool = False) -> None:
    toolchain = toolchain_file(arch)
    settings = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_MAKE_PROGRAM": require_tool("ninja"),
        "Python_EXECUTABLE": sys.executable,
        "AIDGE_XNNPACK_SOURCE": sources.xnnpack,
        "AIDGE_XNNPACK_ORIGIN": sources.origin,
        "AIDGE_STAGE": folder / "stage",
        "AIDGE_ONLY_STAMP": "ON" if only_stamp else "OFF",
        **({"CMAKE_TOOLCHAIN_FILE": toolchain} if toolchain else {}),
        **{f"{name.upper()}_SOURCE_DIR": path for name, path in sources.dependencies.items()},
    }
    options = [f"-D{name}={value}" for name, value in settings.items()]
    command = [require_tool("cmake"), "-S", str(asset("cmake", "provider")), "-B", str(folder), "-G", "Ninja"]
    result = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        problem, remedy = split_cmake_error(result.stderr)
        raise ExportError(f"CMake cannot configure XNNPACK for {arch}: {problem}", remedy)


def _compile(arch: str, sources: Sources, work: Path, jobs: int, progress: Progress) -> None:
    progress.step(f"Configuring XNNPACK for {arch} ...")
    try:
        _configure(arch, sources, work)
    except ExportError:
        # What a cancelled run left may be the reason: once more, from nothing.
        if not (work / "build.ninja").is_file():
            raise
        shutil.rmtree(work)
        _configure(arch, sources, work)
    progress.step(f"Compiling XNNPACK for {arch} with {jobs} jobs ...")
    # Not through cmake --build, which would leave ninja running when it is ended.
    command = [require_tool("ninja"), "-C", str(work), "-j", str(jobs), "stage"]
    log = work / "build.log"
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                file.write(line)
                step = re.match(r"\[(\d+)/(\d+)\]", line)
                if step:
                    progress.count("compiled", int(step.group(1)), int(step.group(2)))
        except BaseException:
            process.terminate()  # ninja then ends its compilers; what is done stays for the next run
            raise
    if process.returncode != 0:
        errors = re.findall(r"^.*(?:error|FAILED)\b.*$", log.read_text(encoding="utf-8"), re.MULTILINE)
        reason = next((e for e in errors if "error" in e), errors[0] if errors else "no message")
        raise ExportError(f"compiling XNNPACK for {arch} failed ({reason.strip()})", f"see {log}, then run it again")


def _publish(stage: Path, target: Path) -> None:
    """Puts a finished build into the cache in one step: an export sees all of it or nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        old = target.with_name(f".{target.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        target.rename(old)
        stage.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    else:
        stage.rename(target)
