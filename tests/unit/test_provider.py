# SPDX-License-Identifier: EPL-2.0
"""XNNPACK's provider, without network: a stand-in checkout is built, cached and found again by an export."""

import io
import json
import os
import subprocess
import tarfile
import threading
import time
from pathlib import Path

import pytest

from aidge_export_gk7206 import doctor, toolchains
from aidge_export_gk7206.assets import asset
from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack import cache, debian, provider, sources
from aidge_export_gk7206.xnnpack.progress import Progress

XNNPACK_HEADER = """#pragma once
#include <stddef.h>
#include <stdint.h>
#include <pthreadpool.h>
#ifdef __cplusplus
extern "C" {
#endif
enum xnn_status { xnn_status_success };
enum xnn_datatype { xnn_datatype_fp32 };
enum xnn_unary_operator { xnn_unary_clamp, xnn_unary_gelu };
enum xnn_reduce_operator { xnn_reduce_sum };
struct xnn_allocator;
typedef struct xnn_operator* xnn_operator_t;
enum xnn_status xnn_initialize(const struct xnn_allocator* a);
enum xnn_status xnn_create_fully_connected_nc_f32(size_t, size_t, size_t, size_t, const float*, const float*, float,
    float, uint32_t, CODE_CACHE void*, xnn_operator_t*);
enum xnn_status xnn_reshape_convolution2d_nhwc_f32(xnn_operator_t, size_t, size_t, size_t, size_t*, size_t*, size_t*,
    size_t*, pthreadpool_t);
enum xnn_status xnn_create_unary_elementwise_nc(enum xnn_unary_operator, enum xnn_datatype, enum xnn_datatype,
    const void*, const void*, const void*, uint32_t, xnn_operator_t*);
enum xnn_status xnn_create_resize_bilinear2d_nhwc_f32(size_t, size_t, uint32_t, xnn_operator_t*);
enum xnn_status xnn_setup_average_pooling2d_nhwc_f32(xnn_operator_t, void*, const float*, float*);
#ifdef __cplusplus
}
#endif
"""
FEATURES_2024 = {
    "AIDGE_XNN_HAS_CODE_CACHE": 1,
    "AIDGE_XNN_HAS_WORKSPACE_ALIGNMENT": 1,
    "AIDGE_XNN_UNARY_HAS_LUT": 0,
    "AIDGE_XNN_BILINEAR_HAS_DATATYPE": 0,
    "AIDGE_XNN_AVGPOOL_HAS_WORKSPACE": 1,
    "AIDGE_XNN_HAS_GELU": 1,
    "AIDGE_XNN_HAS_APPROXGELU": 0,
    "AIDGE_XNN_HAS_REDUCE_MAX": 0,
}
DEB822 = """Types: deb
URIs: http://deb.example.org/debian-security
Suites: bookworm-security
Components: main

Types: deb
# a comment
URIs: http://deb.example.org/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing here touches the user's cache."""
    for name in ("AIDGE_XNNPACK_VERSION", "XNNPACK_ROOT", "XNNPACK_SOURCE_DIR", "CFLAGS", "CXXFLAGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AIDGE_GK7206_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def quiet() -> Progress:
    """Progress that nobody reads."""
    return Progress(io.StringIO())


def make_checkout(folder: Path, name: str = "xnnpack_0.0~git20241108.4ea82e5", code_cache: str = "void*,") -> Path:
    """An XNNPACK that compiles in a moment, with cpuinfo and pthreadpool beside it."""
    checkout = folder / name
    (checkout / "include").mkdir(parents=True)
    (checkout / "include" / "xnnpack.h").write_text(XNNPACK_HEADER.replace("CODE_CACHE", code_cache))
    (checkout / "xnn.c").write_text(
        "#include <xnnpack.h>\nenum xnn_status xnn_initialize(const struct xnn_allocator* a) "
        "{ (void)a; return xnn_status_success; }\n"
    )
    (checkout / "empty.c").write_text("int aidge_empty;\n")
    (checkout / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.15)\nproject(XNNPACK C CXX ASM)\n"
        "add_library(XNNPACK STATIC xnn.c)\n"
        "target_include_directories(XNNPACK PUBLIC include ${PTHREADPOOL_SOURCE_DIR}/include)\n"
        "foreach(name microkernels-prod pthreadpool cpuinfo)\n  add_library(${name} STATIC empty.c)\nendforeach()\n"
    )
    for dependency in ("cpuinfo-1", "pthreadpool-1", "pthreadpool-2", "fxdiv-1"):
        (folder / dependency / "include").mkdir(parents=True, exist_ok=True)
        (folder / dependency / "CMakeLists.txt").touch()
    header = folder / "pthreadpool-2" / "include" / "pthreadpool.h"
    header.write_text("#pragma once\ntypedef struct pthreadpool* pthreadpool_t;\n")
    return checkout


def make_export(folder: Path) -> Path:
    """A project that includes export_xnnpack.cmake as an export does."""
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(x C CXX ASM)\nset(CMAKE_CXX_STANDARD 17)\n"
        f"include({asset('cmake', 'export_xnnpack.cmake')})\n"
        "add_executable(x main.cpp)\ntarget_link_libraries(x PRIVATE aidge_export_xnnpack)\n"
    )
    (folder / "main.cpp").write_text(
        "#include <cstdio>\n#include <xnnpack.h>\nint main() {\n"
        '  std::printf("%s %d\\n", AIDGE_XNNPACK_DESCRIPTION, AIDGE_XNN_HAS_CODE_CACHE);\n'
        "  return xnn_initialize(nullptr) == xnn_status_success ? 0 : 1;\n}\n"
    )
    return folder


def cmake(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [toolchains.require_tool("cmake"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def build_export(folder: Path, build: str, *options: str) -> str:
    """Configures, builds and runs the export; returns what the program says."""
    result = cmake("-S", folder, "-B", folder / build, *options)
    assert result.returncode == 0, result.stdout + result.stderr
    result = cmake("--build", folder / build)
    assert result.returncode == 0, result.stdout + result.stderr
    return subprocess.run([folder / build / "x"], capture_output=True, text=True, check=True).stdout.strip()


def configure_error(folder: Path, build: str, *options: str) -> str:
    result = cmake("-S", folder, "-B", folder / build, *options)
    assert result.returncode != 0
    return toolchains.split_cmake_error(result.stderr)[0]


def put_stamp(commit: str, date: str, compiler: str = "GNU 12.2.0", arch: str = "riscv64", flags: str = "-mx") -> None:
    """A build in the cache that is only a stamp."""
    key = f"{commit}-{arch}-{compiler}-{flags}".replace(" ", "-")
    folder = cache.builds_folder() / key
    folder.mkdir(parents=True)
    stamp = {"key": key, "commit": commit, "date": date, "arch": arch, "compiler": compiler, "flags": flags}
    format_number = int(cache.identity("STAMP_FORMAT"))
    (folder / "stamp.json").write_text(
        json.dumps({**stamp, "origin": "debian", "features": FEATURES_2024, "format": format_number})
    )


def cmake_finds(tmp_path: Path, wanted: str, compiler: str) -> str:
    """The commit that export_xnnpack.cmake would choose."""
    name, version = compiler.split()
    include = asset("cmake", "xnnpack")
    script = tmp_path / "find.cmake"
    script.write_text(
        "cmake_minimum_required(VERSION 3.22)\n"
        f"include({include}/identity.cmake)\ninclude({include}/cached.cmake)\n"
        f"set(CMAKE_SYSTEM_PROCESSOR riscv64)\nset(CMAKE_C_COMPILER_ID {name})\n"
        f"set(CMAKE_C_COMPILER_VERSION {version})\n"
        f'set(CMAKE_C_FLAGS "-O2 -mx -DSOMETHING")\naidge_xnnpack_find_cached(build "{wanted}")\n'
        'if(build)\n  aidge_xnnpack_read_stamp("${build}" commit date features)\n'
        '  message(STATUS "${commit} ${date} ${features}")\nendif()\n'
    )
    lines = cmake("-P", script).stdout.splitlines()
    found = [line.split()[1] for line in lines if "AIDGE_XNN_HAS_CODE_CACHE=1" in line]
    return found[0] if found else ""


def test_export_uses_what_the_provider_built(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "sources")
    output = io.StringIO()
    made = provider.build("native", str(checkout), jobs=2, progress=Progress(output))
    assert (made.commit, made.date, made.origin) == ("4ea82e5", "2024-11-08", str(checkout))
    assert made.features == FEATURES_2024
    assert sorted(p.name for p in (made.folder / "lib").iterdir()) == [
        "libXNNPACK.a", "libcpuinfo.a", "libmicrokernels-prod.a", "libpthreadpool.a",
    ]  # fmt: skip
    assert sorted(p.name for p in (made.folder / "include").iterdir()) == ["pthreadpool.h", "xnnpack.h"]
    assert not (cache.cache_root() / "build" / made.key).exists()
    assert "Compiling XNNPACK for native" in output.getvalue()
    assert provider.installed() == [made] and provider.find("native", made.compiler) == made

    # Again: nothing to do. Forced: replaced.
    stamp = (made.folder / "stamp.json").stat()
    assert provider.build("native", str(checkout), progress=quiet()) == made
    assert (made.folder / "stamp.json").stat().st_ino == stamp.st_ino
    provider.build("native", str(checkout), force=True, progress=quiet())
    assert (made.folder / "stamp.json").stat().st_ino != stamp.st_ino
    assert provider.installed() == [made]

    export = make_export(tmp_path / "export")
    assert build_export(export, "cached") == "4ea82e5 2024-11-08, from the cache 1"
    assert build_export(export, "root", f"-DXNNPACK_ROOT={made.folder}") == "4ea82e5 2024-11-08, from XNNPACK_ROOT 1"
    (made.folder / "lib" / "libmicrokernels-prod.a").unlink()
    message = configure_error(export, "broken", f"-DXNNPACK_ROOT={made.folder}")
    assert "lacks libxnnpack-microkernels-prod.a or libmicrokernels-prod.a" in message


def test_export_builds_a_checkout(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "sources", "xnnpack_0.0~git20250601.abcdef0", code_cache="")
    export = make_export(tmp_path / "export")
    options = [f"-DXNNPACK_SOURCE_DIR={checkout}", f"-DPTHREADPOOL_SOURCE_DIR={tmp_path / 'sources' / 'pthreadpool-2'}"]
    expected = "abcdef0 2025-06-01, built from XNNPACK_SOURCE_DIR 0"
    assert build_export(export, "source", *options) == expected
    assert build_export(export, "source", *options) == expected
    root = f"-DXNNPACK_ROOT={export / 'source' / 'xnnpack'}"
    assert "lacks cpuinfo" not in configure_error(export, "layout", "-DXNNPACK_ROOT=/nothing")
    assert "libpthreadpool.a" in configure_error(export, "partial", root)


def test_export_without_xnnpack_says_so_in_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Out of reach here as where there is no network.
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "url./nowhere/.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://github.com/")
    result = cmake("-S", make_export(tmp_path / "export"), "-B", tmp_path / "build")
    problem, remedy = toolchains.split_cmake_error(result.stderr)
    assert problem.startswith("No XNNPACK for ") and "cannot be reached" in problem
    assert remedy == "aidge-gk7206 xnnpack build --arch native --from debian"
    assert result.stderr.count("CMake Error") == 1


def test_export_names_what_is_wrong(tmp_path: Path) -> None:
    export = make_export(tmp_path / "export")
    assert "no include/xnnpack.h" in configure_error(export, "a", f"-DXNNPACK_SOURCE_DIR={tmp_path}")
    assert "lacks libXNNPACK.a" in configure_error(export, "b", f"-DXNNPACK_ROOT={tmp_path}")
    message = configure_error(export, "c", "-DAIDGE_XNNPACK_VERSION=1234567")
    assert "AIDGE_XNNPACK_VERSION=1234567 is not in the cache" in message


def test_unknown_interface_is_refused(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "sources", code_cache="int,")
    with pytest.raises(ExportError, match="This XNNPACK's interface is not known"):
        provider.build("native", str(checkout), progress=quiet())


def test_failed_compilation_says_why_and_goes_on(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "sources")
    good = (checkout / "xnn.c").read_text()
    (checkout / "xnn.c").write_text("#error no such thing\n")
    with pytest.raises(ExportError, match=r"compiling XNNPACK for native failed \(.*no such thing.*build.log"):
        provider.build("native", str(checkout), progress=quiet())
    assert provider.installed() == []
    (checkout / "xnn.c").write_text(good)
    assert provider.build("native", str(checkout), progress=quiet()).commit == "4ea82e5"


@pytest.mark.parametrize("compiler", ["GNU 12.2.0", "Clang 19.1.7"])
@pytest.mark.parametrize("wanted", ["", "4ea82e5", "75db3c0", "75db3c093b6d74fe90b8df82670cd8a01102ba38", "fffffff"])
@pytest.mark.parametrize("pinned", [False, True])
def test_cmake_and_python_choose_alike(tmp_path: Path, compiler: str, wanted: str, pinned: bool) -> None:
    put_stamp("4ea82e5", "2024-11-08")
    put_stamp("aaaaaaa", "2026-10-01")
    put_stamp("bbbbbbb", "2026-12-01", compiler="GNU 14.2.0")
    put_stamp("ccccccc", "2026-12-02", arch="armv7")
    if pinned:
        put_stamp("75db3c0", "2026-08-21")
    (cache.builds_folder() / "rubbish").mkdir()
    (cache.builds_folder() / "rubbish" / "stamp.json").write_text("{")
    found = provider.find("riscv64", compiler, wanted or None)
    chosen = found.commit if found else ""
    assert cmake_finds(tmp_path, wanted, compiler) == chosen
    if compiler == "GNU 12.2.0" and not wanted:
        assert chosen == ("75db3c0" if pinned else "aaaaaaa")


def test_key_depends_on_everything(tmp_path: Path) -> None:
    script = tmp_path / "key.cmake"
    script.write_text(
        f"cmake_minimum_required(VERSION 3.22)\ninclude({asset('cmake', 'xnnpack', 'identity.cmake')})\n"
        "set(CMAKE_SYSTEM_PROCESSOR ${P})\nset(CMAKE_C_COMPILER_ID GNU)\nset(CMAKE_C_COMPILER_VERSION ${V})\n"
        'set(CMAKE_C_FLAGS "${F}")\naidge_xnnpack_platform(a c f)\n'
        'aidge_xnnpack_key(key 4ea82e5 "${a}" "${c}" "${f}")\n'
        'message(STATUS "${key}")\n'
    )

    def key(processor: str, version: str, flags: str) -> str:
        return cmake(f"-DP={processor}", f"-DV={version}", f"-DF={flags}", "-P", script).stdout.split()[1]

    base = key("riscv64", "14.2.0", "-march=rv64gcv -mabi=lp64d")
    assert base.startswith("4ea82e5-riscv64-gnu-14.2.0-")
    assert key("riscv64", "14.2.0", "-O3 -mabi=lp64d -march=rv64gcv -DNDEBUG") == base
    others = [
        key("armv7", "14.2.0", "-march=rv64gcv -mabi=lp64d"),
        key("riscv64", "14.3.0", "-march=rv64gcv -mabi=lp64d"),
        key("riscv64", "14.2.0", "-march=rv64gc -mabi=lp64d"),
    ]
    assert len({base, *others}) == 4


def test_version_of_a_checkout(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path, "xnnpack")
    script = tmp_path / "version.cmake"
    script.write_text(
        f"cmake_minimum_required(VERSION 3.22)\ninclude({asset('cmake', 'xnnpack', 'identity.cmake')})\n"
        f'aidge_xnnpack_version({checkout} commit date)\nmessage(STATUS "${{commit}} ${{date}}")\n'
    )

    def version() -> list[str]:
        return cmake("-P", script).stdout.split()[1:]

    assert version()[0].startswith("local-")
    commit = make_repository(checkout)
    assert version() == [commit[:7], "2025-03-04"]
    (checkout / "xnn.c").write_text("changed")
    assert version() == [f"{commit[:7]}-dirty", "2025-03-04"]


def make_repository(folder: Path) -> str:
    """Turns a folder into a git repository with one commit; returns its id."""
    environment = {
        **os.environ,
        "GIT_COMMITTER_DATE": "2025-03-04T05:06:07Z",
        "GIT_AUTHOR_DATE": "2025-03-04T05:06:07Z",
    }
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run(["git", *identity, *arguments], cwd=folder, env=environment, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True)
    return head.stdout.strip()


def test_github_is_cloned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upstream = make_checkout(tmp_path, "upstream")
    commit = make_repository(upstream)
    values = {"PINNED_COMMIT": commit, "REPOSITORY": str(upstream)}
    monkeypatch.setattr(sources, "identity", values.__getitem__)
    found = sources.resolve("github", {}, quiet())
    assert (found.xnnpack / "include" / "xnnpack.h").is_file() and found.origin == "github"
    values["REPOSITORY"] = "/nowhere"
    assert sources.resolve("github", {}, quiet()) == found
    values["PINNED_COMMIT"] = "0" * 40
    with pytest.raises(ExportError, match=r"cannot fetch XNNPACK from /nowhere .*--from debian"):
        sources.resolve("github", {}, quiet())


def test_folder_brings_its_neighbours(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path)
    found = sources.resolve(str(checkout), {}, quiet())
    assert found.dependencies == {
        "cpuinfo": tmp_path / "cpuinfo-1", "pthreadpool": tmp_path / "pthreadpool-2", "fxdiv": tmp_path / "fxdiv-1",
    }  # fmt: skip
    named = sources.resolve(str(checkout), {"pthreadpool": tmp_path / "pthreadpool-1"}, quiet())
    assert named.dependencies["pthreadpool"] == tmp_path / "pthreadpool-1"
    with pytest.raises(ExportError, match="holds no fxdiv"):
        sources.resolve(str(checkout), {"fxdiv": tmp_path}, quiet())
    with pytest.raises(ExportError, match="is no XNNPACK checkout"):
        sources.resolve(str(tmp_path), {}, quiet())


def apt_folder(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / "apt" / "sources.list.d").mkdir(parents=True)
    (tmp_path / "apt" / name).write_text(text)
    return tmp_path / "apt"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sources.list.d/debian.sources", DEB822),
        (
            "sources.list",
            "# x\ndeb http://a.example.org/debian-security bookworm-security main\n"
            "deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.example.org/debian "
            "bookworm main contrib\n",
        ),
    ],
)
def test_archive_is_the_machines_own(tmp_path: Path, name: str, text: str) -> None:
    found = debian.find_archive(apt_folder(tmp_path, name, text))
    assert found == debian.Archive("http://deb.example.org/debian", "/usr/share/keyrings/debian-archive-keyring.gpg")


def test_no_debian_archive(tmp_path: Path) -> None:
    ubuntu = "Types: deb\nURIs: http://archive.example.org/ubuntu\nSuites: noble\nComponents: main universe\n"
    with pytest.raises(ExportError, match=r"names no Debian archive.*--from github"):
        debian.find_archive(apt_folder(tmp_path, "sources.list.d/ubuntu.sources", ubuntu))


def test_apt_configuration_is_private(tmp_path: Path) -> None:
    archive = debian.Archive("http://deb.example.org/debian", "/k.gpg")
    configuration = debian.write_configuration(tmp_path / "apt", archive, "trixie")
    settings = dict(line.rstrip(";").split(" ", 1) for line in configuration.read_text().splitlines())
    folders = [value.strip('"') for name, value in settings.items() if name.startswith("Dir::")]
    assert len(folders) == 6 and all(Path(f).exists() and f.startswith(str(tmp_path)) for f in folders)
    listed = (tmp_path / "apt" / "sources.list").read_text()
    assert listed == "deb-src [signed-by=/k.gpg] http://deb.example.org/debian trixie main\n"
    assert not any((tmp_path / "apt" / "parts").iterdir())


def fake_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, versions: dict[str, str]) -> None:
    """An apt-get that delivers these archives, says that something else failed, and exits with 100."""
    archives = tmp_path / "archives"
    archives.mkdir(exist_ok=True)
    for name, version in versions.items():
        with tarfile.open(archives / f"{name}_{version}.orig.tar.xz", "w:xz") as archive:
            member = tarfile.TarInfo("CMakeLists.txt" if name == "xnnpack" else f"{name}-{version}/CMakeLists.txt")
            archive.addfile(member)
            if name == "xnnpack":
                archive.addfile(tarfile.TarInfo("include/xnnpack.h"))
    script = tmp_path / "apt-get"
    script.write_text(
        "#!/bin/sh\ngrep -q ^deb-src $(dirname $APT_CONFIG)/sources.list || exit 1\n"
        f'for word in "$@"; do\n  for file in {archives}/"$word"_*; do test -e "$file" && cp "$file" .; done\ndone\n'
        "echo E: 404\nexit 100\n"
    )
    script.chmod(0o755)
    monkeypatch.setattr(debian.shutil, "which", lambda name: str(script))
    monkeypatch.setattr(debian, "find_archive", lambda: debian.Archive("http://deb.example.org/debian"))


def test_debian_sources_are_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {package.name: package.version for package in debian.PACKAGES}
    versions["cpuinfo"] = "0.0~git20270101.1234567"
    fake_apt(tmp_path, monkeypatch, versions)
    found = sources.resolve("debian", {}, quiet())
    assert found.xnnpack.name == "xnnpack_0.0~git20241108.4ea82e5"
    assert {name: path.name for name, path in found.dependencies.items()} == {
        name: f"{name}_{version}" for name, version in versions.items() if name != "xnnpack"
    }
    assert all((folder / "CMakeLists.txt").is_file() for folder in found.dependencies.values())
    monkeypatch.setattr(debian.shutil, "which", lambda name: None)
    assert sources.resolve("debian", {}, quiet()) == found


@pytest.mark.parametrize(
    ("version", "reason"), [("0.0~git20990101.fffffff", "it has xnnpack_0.0~git20990101"), (None, "E: 404")]
)
def test_debian_has_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None, reason: str
) -> None:
    fake_apt(tmp_path, monkeypatch, {"xnnpack": version} if version else {})
    with pytest.raises(ExportError, match=f"did not deliver xnnpack 0.0~git20241108.4ea82e5 .*{reason}.*--from github"):
        sources.resolve("debian", {}, quiet())


def test_second_process_waits(own_cache: Path) -> None:
    events: list[str] = []
    output = io.StringIO()

    def other() -> None:
        with cache.lock("build", Progress(output)):
            events.append("second")

    with cache.lock("build", quiet()):
        thread = threading.Thread(target=other)
        thread.start()
        time.sleep(0.2)
        events.append("first")
    thread.join()
    assert events == ["first", "second"]
    assert output.getvalue() == "Waiting for another process that works on build ...\n"


def test_progress_without_and_with_terminal() -> None:
    plain = io.StringIO()
    progress = Progress(plain)
    progress.step("Step")
    for done in range(1, 101):
        progress.count("compiled", done, 100)
    progress.finish("Done")
    assert [line.split(",")[0] for line in plain.getvalue().splitlines()] == [
        "Step", *(f"  compiled {n}/100" for n in range(10, 101, 10)), "Done",
    ]  # fmt: skip

    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    progress = Progress(terminal)
    progress.count("compiled", 1, 3)
    progress.count("compiled", 2, 3)
    progress.finish("Done")
    assert terminal.getvalue().count("\r") == 2 and terminal.getvalue().endswith("\nDone\n")


def test_doctor_names_the_remedy() -> None:
    found = {check.name: check for check in doctor.checks()}
    assert found["cmake"].ok and found["aidge-core"].ok
    native = found["XNNPACK native"]
    assert not native.ok and native.remedy == "aidge-gk7206 xnnpack build --arch native"
    assert all(check.ok or check.remedy for check in found.values())


@pytest.mark.slow
def test_debian_downloads_and_configures() -> None:
    """The real thing, up to where compiling would begin."""
    try:
        debian.find_archive()
        toolchains.find_compiler("riscv64")
    except ExportError as error:
        pytest.skip(str(error))
    found = sources.resolve("debian", {}, quiet())
    work = cache.cache_root() / "work"
    provider._configure("riscv64", found, work)
    stamp = cache.read_stamp(work / "stage")
    assert stamp is not None and (stamp.commit, stamp.arch, stamp.date) == ("4ea82e5", "riscv64", "2024-11-08")
    assert stamp.features == FEATURES_2024
