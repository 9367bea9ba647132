# SPDX-License-Identifier: EPL-2.0
"""The test programs of the simulator, compiled in several ways."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.missing import need_program
from support.sharing import once, shared_folder
from support.simulator import Programs, build, saved, two_by_two

KINDS = {
    "native": [],
    "address": ["-fsanitize=address,undefined -fno-sanitize-recover=undefined"],
    "thread": ["-fsanitize=thread"],
    "armv7": ["-static -march=armv7-a -mfpu=neon-vfpv4 -mfloat-abi=hard"],
}
ALL_KINDS = [kind if kind == "native" else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Programs]:
    """Compiles the test programs once per kind, whatever the number of workers."""

    def made(kind: str) -> Programs:
        launcher: list[str] = []
        options: list[str] = []
        need_program("g++")
        if kind == "armv7":
            compiler = need_program("arm-linux-gnueabihf-g++", "g++-arm-linux-gnueabihf")
            launcher = [need_program("qemu-arm", "qemu-user"), "-cpu", "cortex-a7"]
            options = [f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_C_COMPILER={compiler.replace('g++', 'gcc')}"]
            options += ["-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=armv7l"]
        folder = shared_folder(tmp_path_factory) / f"simulator-{kind}"
        once(folder, lambda into: build(into, *options, flags=" ".join(KINDS[kind])))
        # Only leaks that the simulator itself reports count: tests leave on purpose.
        return Programs(folder, launcher, {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "halt_on_error=1"})

    return made


@pytest.fixture
def native(builds: Callable[[str], Programs]) -> Programs:
    return builds("native")


@pytest.fixture(params=ALL_KINDS)
def programs(request: pytest.FixtureRequest, builds: Callable[[str], Programs]) -> Programs:
    return builds(request.param)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(tmp_path, two_by_two())
