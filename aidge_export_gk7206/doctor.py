# SPDX-License-Identifier: EPL-2.0
"""What an export, a build and a run need: what is here, what is missing, the line that installs it."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.toolchains import TOOLCHAINS, find_compiler, find_tool
from aidge_export_gk7206.xnnpack import cache

_AIDGE = "0.10.1"
# Distribution, the version it must have ("" for any), whether an export needs it.
_PACKAGES = (
    ("aidge-core", _AIDGE, True),
    ("aidge-onnx", _AIDGE, True),
    ("aidge-backend-cpu", _AIDGE, True),
    ("aidge-export-cpp", _AIDGE, True),
    ("numpy", "", True),
    ("flatbuffers", "", True),
    ("jinja2", "", True),
    ("onnx", "", True),
    ("onnx-ir", "", True),
    ("onnxruntime", "", False),
)


@dataclass(frozen=True)
class Check:
    """One thing that was looked for.

    :param name: What it is.
    :param ok: Whether it is here and good enough.
    :param detail: What was found, or what is wrong.
    :param remedy: The command that mends it; empty when ok.
    :param required: Whether exporting, building and running for the K230 needs it.
    """

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    required: bool = True


def checks() -> list[Check]:
    """Looks for everything.

    :return: One entry for each thing, in the order in which they are needed.
    """
    found = [_package(*package) for package in _PACKAGES]
    found += [_tool("cmake"), _tool("ninja")]
    for arch in TOOLCHAINS:
        found.append(_compiler(arch))
    found.append(_emulator("qemu-riscv64", required=True))
    found.append(_emulator("qemu-arm", required=False))
    for arch in TOOLCHAINS:
        found.append(_xnnpack(arch))
    return found


def _package(name: str, wanted: str, required: bool) -> Check:
    remedy = f"{sys.executable} -m pip install {name}{f'=={wanted}' if wanted else ''}"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Check(name, False, "not installed", remedy, required)
    if wanted and version != wanted:
        return Check(name, False, f"{version}, but {wanted} is needed", remedy, required)
    return Check(name, True, version, required=required)


def _version_of(path: str) -> str:
    result = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    first = (result.stdout.splitlines() or [""])[0]
    return next((word for word in first.split() if word[0].isdigit()), first)


def _tool(name: str) -> Check:
    path = find_tool(name)
    if path is None:
        return Check(name, False, "not found", f"{sys.executable} -m pip install {name}")
    return Check(name, True, f"{_version_of(path)}, {path}")


def _emulator(name: str, required: bool) -> Check:
    path = shutil.which(name) or shutil.which(f"{name}-static")
    if path is None:
        return Check(name, False, "not found", "sudo apt-get install qemu-user", required)
    return Check(name, True, f"{_version_of(path)}, {path}", required=required)


def _guarded(name: str, required: bool, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except ExportError as error:
        return Check(name, False, error.problem, error.remedy, required)


def _compiler(arch: str) -> Check:
    name, required = f"compiler {arch}", arch == "riscv64"

    def look() -> Check:
        compiler = find_compiler(arch)
        return Check(name, True, f"{compiler.identity}, {compiler.path}", required=required)

    return _guarded(name, required, look)


def _xnnpack(arch: str) -> Check:
    name = f"XNNPACK {arch}"
    remedy = f"aidge-gk7206 xnnpack build --arch {arch}"

    def look() -> Check:
        compiler = find_compiler(arch)
        used = cache.find(arch, compiler.identity)
        other = cache.find(arch)
        if used is not None:
            detail = f"{used.commit} of {used.date} from {used.origin}, {used.folder}"
            return Check(name, True, detail, required=False)
        if other is not None:
            detail = f"{other.commit} was built by {other.compiler}, the compiler now is {compiler.identity}"
        else:
            detail = f"no build in {cache.builds_folder()}: every export fetches and builds its own"
        return Check(name, False, detail, remedy, required=False)

    return _guarded(name, False, look)
