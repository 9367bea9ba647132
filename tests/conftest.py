# SPDX-License-Identifier: EPL-2.0
"""Fixtures that several kinds of tests share."""

import os
import shutil
import subprocess
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.missing import OPTIONAL, in_ci, missing

from aidge_export_gk7206.assets import asset
from aidge_export_gk7206.xnnpack import provider
from aidge_export_gk7206.xnnpack.cache import read_stamp

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """In CI nothing is skipped in silence: what a test needs and does not find is a failure there."""
    report = yield
    reason = str(call.excinfo.value) if call.excinfo else ""
    if report.skipped and in_ci() and OPTIONAL not in reason and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} skipped in CI: {reason}"
    return report


@dataclass(frozen=True)
class NativeXnnpack:
    """XNNPACK for this machine.

    :ivar folder: Holds include/ and lib/.
    :ivar definitions: What the probe found, as compiler options.
    """

    folder: Path
    definitions: list[str]

    def compiler_options(self) -> list[str]:
        """Options for a compiler, sources of the caller left out."""
        return ["-isystem", str(self.folder / "include"), *self.definitions]

    def linker_options(self) -> list[str]:
        """What follows the sources."""
        kernels = next((self.folder / "lib").glob("lib*microkernels-prod.a"))
        names = ["libXNNPACK.a", kernels.name, "libpthreadpool.a", "libcpuinfo.a"]
        return [*(str(self.folder / "lib" / name) for name in names), "-lm", "-lpthread"]


@pytest.fixture(scope="session")
def xnnpack_native() -> NativeXnnpack:
    """XNNPACK in AIDGE_TEST_XNNPACK_ROOT, else the build of the user's cache that an export would take."""
    if shutil.which("g++") is None:
        missing("needs g++")
    given = os.environ.get("AIDGE_TEST_XNNPACK_ROOT")
    if given:
        folder = Path(given)
        stamp = read_stamp(folder)
        features = stamp.features if stamp is not None else _probe(folder)
    else:
        build = provider.find("native")
        if build is None:
            missing("no XNNPACK for this machine: run `aidge-gk7206 xnnpack build --arch native`")
        folder, features = build.folder, build.features
    return NativeXnnpack(folder, [f"-D{name}={value}" for name, value in sorted(features.items())])


def _probe(folder: Path) -> dict[str, int]:
    """What cmake/xnnpack/probe.cmake would find."""
    probe = asset("cmake", "xnnpack", "probe.cpp")
    text = probe.read_text(encoding="utf-8")
    names = sorted({word for word in text.replace("(", " ").replace(")", " ").split() if word.startswith("AIDGE_XNN_")})
    compiler = ["g++", "-std=c++17", "-fsyntax-only", "-I", str(folder / "include")]
    return {
        name: int(subprocess.run([*compiler, f"-D{name}=1", probe], capture_output=True, check=False).returncode == 0)
        for name in names
    }


@pytest.fixture
def run_runtime_test(xnnpack_native: NativeXnnpack, tmp_path: Path) -> Callable[[str], None]:
    """Compiles tests/runtime/<name>.cpp with warnings and sanitizers, and runs it."""

    def run(name: str) -> None:
        source = Path(__file__).parent / "runtime" / f"{name}.cpp"
        program = tmp_path / name
        command = ["g++", "-std=c++17", "-O1", *WARNINGS, *SANITIZERS, "-I", str(asset("runtime"))]
        command += [*xnnpack_native.compiler_options(), str(source), *xnnpack_native.linker_options()]
        built = subprocess.run([*command, "-o", str(program)], capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr
        result = subprocess.run([program], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr

    return run
