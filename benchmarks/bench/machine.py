# SPDX-License-Identifier: EPL-2.0
"""The machine, the tools, and how programs are run on it."""

import datetime
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAMS = REPOSITORY / "benchmarks" / "programs"


class CommandError(Exception):
    """A command did not work; the message is the end of what it printed."""


def run(command: Sequence[str | Path], *, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    """Runs a command and returns what it prints.

    :raises CommandError: It ends with an error.
    """
    result = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        cwd=cwd,
        env={**os.environ, **(env or {})},
    )
    if result.returncode != 0:
        text = (result.stdout + result.stderr).strip()
        raise CommandError(f"{Path(command[0]).name} ended with {result.returncode}: ...{text[-1500:]}")
    return result.stdout


def pinned(core: int) -> list[str]:
    """What to put before a command so that it stays on one core."""
    return ["taskset", "-c", str(core)]


def describe() -> dict[str, str]:
    """Date, processor, system and tools."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}, {_pretty_name()}",
        "python": platform.python_version(),
        "compiler": _version("c++"),
        "cross compiler": _version("clang-19"),
        "riscv64 g++": _version("riscv64-linux-gnu-g++"),
        "qemu": _version("qemu-riscv64"),
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = fields.get("model name", platform.machine())
    model = " ".join(f"{key} {fields[key]}" for key in ("cpu family", "model") if key in fields)
    return f"{name} ({model})" if model else name


def _pretty_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return ""


def _version(program: str) -> str:
    if shutil.which(program) is None:
        return "not installed"
    return run([program, "--version"]).splitlines()[0]
