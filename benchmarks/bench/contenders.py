# SPDX-License-Identifier: EPL-2.0
"""Builds what is compared: an export of this package, a stock one, a bare chain of XNNPACK operators.

Everything lands in the work folder and is made anew only when the sources it comes from have changed.
"""

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from aidge_export_gk7206.xnnpack.cache import find
from bench import chain
from bench.machine import PROGRAMS, REPOSITORY, CommandError, run
from bench.results import UnavailableError

#: What an export is made from; changing it makes exports anew.
_SOURCES = ("aidge_export_gk7206", "templates", "runtime", "cmake", "benchmarks/bench/chain.py")


@dataclass(frozen=True)
class Compiler:
    """How to build for an architecture.

    :ivar name: For folders and tables.
    :ivar options: Passed to CMake.
    """

    name: str
    options: tuple[str, ...] = ()


HOST = Compiler("host")
#: What cmake/riscv64.toolchain finds: a compiler that knows RVV.
RISCV = Compiler("riscv64", (f"-DCMAKE_TOOLCHAIN_FILE={REPOSITORY / 'cmake' / 'riscv64.toolchain'}",))


def riscv_gcc() -> Compiler:
    """Debian's g++ for RISC-V, whatever its version.

    That of bookworm has no RVV intrinsics, nor does it vectorise: XNNPACK comes from a build by the other compiler.
    """
    options = [
        "-DCMAKE_SYSTEM_NAME=Linux",
        "-DCMAKE_SYSTEM_PROCESSOR=riscv64",
        "-DCMAKE_CXX_COMPILER=riscv64-linux-gnu-g++",
        "-DCMAKE_C_COMPILER=riscv64-linux-gnu-gcc",
        "-DCMAKE_CXX_FLAGS=-march=rv64gcv -mabi=lp64d",
        "-DCMAKE_ASM_FLAGS=-march=rv64gcv -mabi=lp64d",
    ]
    if (build := find("riscv64")) is not None:
        options.append(f"-DXNNPACK_ROOT={build.folder}")
    return Compiler("riscv64-gcc", tuple(options))


def version(build: Path) -> str:
    """Which C++ compiler CMake found for a build folder."""
    for file in build.glob("CMakeFiles/*/CMakeCXXCompiler.cmake"):
        found = re.search(r'set\(CMAKE_CXX_COMPILER "([^"]+)"\)', file.read_text(encoding="utf-8"))
        if found is not None:
            return run([found[1], "--version"]).splitlines()[0]
    return "unknown compiler"


class Work:
    """The work folder.

    :param folder: Where everything is built.
    :ivar xnnpack: Which XNNPACK was linked, by name of the compiler.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.xnnpack: dict[str, str] = {}
        self._sources = _digest(REPOSITORY / name for name in _SOURCES)

    # ---- contenders --------------------------------------------------------------------------------------------

    def export(self, model: Path, target: str, *, compiled: bool = False) -> Path:
        """An export of this package; returns its folder."""
        folder = self.folder / f"{'compiled' if compiled else 'export'}-{target}" / model.stem
        command: list[str | Path] = [sys.executable, REPOSITORY / "aidge_gk7206_cli.py", "export", model]
        command += ["-o", folder, "--target", target]
        command += ["--xnn", "--compile" if compiled else "--no-compile"]
        if not self._fresh(folder, model):
            shutil.rmtree(folder, ignore_errors=True)
            run([*command, "--json"], cwd=self.scratch())
            self._stamp(folder, model)
        return folder

    def export_program(self, model: Path, target: str, compiler: Compiler) -> Path:
        """The measuring programs around an export; returns the folder they are in."""
        export = self.export(model, target)
        folder = self.folder / f"program-export-{compiler.name}" / model.stem
        adapter = folder / "adapter.cpp"
        folder.mkdir(parents=True, exist_ok=True)
        adapter.write_text(_export_adapter(export), encoding="utf-8")
        return self._build(folder, compiler, "export", export, adapter)

    def chain_program(self, model: Path) -> Path:
        """The measuring programs around a bare chain, for the host.

        :raises UnavailableError: The model has an operator that XNNPACK has not.
        """
        folder = self.folder / "program-chain" / model.stem
        if not self._fresh(folder / "source", model):
            shutil.rmtree(folder, ignore_errors=True)
            chain.write(model, folder / "source")
            self._stamp(folder / "source", model)
        return self._build(folder, HOST, "chain", folder / "source")

    def stock(self, model: Path) -> Path:
        """An export by aidge_export_cpp alone, for the host.

        :raises UnavailableError: It does not export the model.
        """
        folder = self.folder / "stock" / model.stem
        if not self._fresh(folder, model, sources=False):
            shutil.rmtree(folder, ignore_errors=True)
            try:
                run([sys.executable, PROGRAMS.parent / "stock_export.py", model, folder], cwd=self.scratch())
            except CommandError as error:
                raise UnavailableError(f"stock does not export it ({str(error).splitlines()[-1][:120]})") from None
            if not (folder / "main.cpp").is_file():
                raise UnavailableError("stock does not export it (Python ended without an error)")
            self._stamp(folder, model, sources=False)
        return folder

    def stock_program(self, model: Path, compiler: Compiler) -> Path:
        """The measuring programs around a stock export."""
        stock = self.stock(model)
        folder = self.folder / f"program-stock-{compiler.name}" / model.stem
        folder.mkdir(parents=True, exist_ok=True)
        adapter = folder / "adapter.cpp"
        adapter.write_text(_stock_adapter(stock), encoding="utf-8")
        return self._build(folder, compiler, "stock", stock, adapter)

    def empty_program(self) -> Path:
        """The measuring programs around nothing."""
        return self._build(self.folder / "program-empty", HOST, "empty", PROGRAMS)

    # ---- building ----------------------------------------------------------------------------------------------

    def _build(self, folder: Path, compiler: Compiler, kind: str, source: Path, adapter: Path | None = None) -> Path:
        build = folder / "build"
        options = [*compiler.options, f"-DKIND={kind}", f"-DFOLDER={source}"]
        options += [f"-DADAPTER={adapter}"] if adapter is not None else []
        configured = run(["cmake", "-G", "Ninja", "-S", PROGRAMS, "-B", build, *options])
        if (found := re.search(r"XNNPACK: (.+) \(", configured)) is not None:
            self.xnnpack[compiler.name] = found[1]
        run(["cmake", "--build", build])
        return build

    def scratch(self) -> Path:
        """Where Aidge may leave the files that it leaves in the current folder."""
        folder = self.folder / "scratch"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _fresh(self, folder: Path, model: Path, *, sources: bool = True) -> bool:
        stamp = folder / ".benchmark-stamp"
        return stamp.is_file() and stamp.read_text(encoding="utf-8") == self._key(model, sources)

    def _stamp(self, folder: Path, model: Path, *, sources: bool = True) -> None:
        (folder / ".benchmark-stamp").write_text(self._key(model, sources), encoding="utf-8")

    def _key(self, model: Path, sources: bool) -> str:
        return json.dumps([hashlib.sha256(model.read_bytes()).hexdigest(), self._sources if sources else ""])


def _digest(folders: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for folder in folders:
        for file in [folder] if folder.is_file() else sorted(folder.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"{file}\0".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


# ---- adapters: contenders as network.hpp wants them ----------------------------------------------------------------


def _export_adapter(export: Path) -> str:
    description = json.loads((export / "export.json").read_text(encoding="utf-8"))
    model = description["model"]
    samples = sorted(file.stem for file in (export / "data").glob("*.bin"))
    outputs = len(description["outputs"])
    arguments = [*samples, *(f"&out[{i}]" for i in range(outputs))]
    return f"""#include "network.hpp"
#include "{model}_forward.hpp"
extern "C" {{
{os.linesep.join(f"extern const float {sample}[];" for sample in samples)}
}}
bool network_init() {{
    return {model}_init() == 0;
}}
bool network_run() {{
    float* out[{outputs}] = {{}};
    {model}_forward({", ".join(arguments)});
    return out[0] != nullptr;
}}
"""


def _stock_adapter(stock: Path) -> str:
    header = next((stock / "dnn" / "include").glob("*forward.hpp"))
    found = re.search(r"void\s+(\w+)\s*\(([^)]*)\)", header.read_text(encoding="utf-8"))
    assert found is not None, header
    parameters = [parameter.strip() for parameter in found[2].split(",")]
    inputs = [parameter.split()[-1] for parameter in parameters if parameter.startswith("const")]
    outputs = [parameter.split("*")[0].strip() for parameter in parameters if not parameter.startswith("const")]
    declarations = "\n    ".join(f"{type_}* out{i} = nullptr;" for i, type_ in enumerate(outputs))
    arguments = [*inputs, *(f"&out{i}" for i in range(len(outputs)))]
    return f"""#include <cstdint>
#include "network.hpp"
#include "{header.name}"
{os.linesep.join(f'#include "data/{name}.h"' for name in inputs)}
bool network_init() {{
    return true;
}}
bool network_run() {{
    {declarations}
    {found[1]}({", ".join(arguments)});
    return out0 != nullptr;
}}
"""
