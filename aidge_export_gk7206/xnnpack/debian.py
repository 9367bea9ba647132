# SPDX-License-Identifier: EPL-2.0
"""XNNPACK's sources from Debian, through apt with a configuration of its own: /etc/apt is read, never written.

No package is installed and no root is needed. apt checks the archives against the signed index; here their names
(versions) are checked too.
"""

import re
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.progress import Progress

_ELSEWHERE = "get the sources otherwise: --from github, or --from DIR with an XNNPACK checkout"
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@dataclass(frozen=True)
class Package:
    """A source package.

    :param name: Its name.
    :param suite: The Debian suite that has it.
    :param version: Upstream version.
    :param newer: A newer one is fine too.
    """

    name: str
    suite: str
    version: str
    newer: bool = False

    def accepts(self, version: str) -> bool:
        """Whether an archive of that version will do."""
        return version >= self.version if self.newer else version == self.version


#: XNNPACK and what it is built with. cpuinfo is sid's, which newer XNNPACK checkouts need too; it moves on.
PACKAGES = (
    Package("xnnpack", "trixie", "0.0~git20241108.4ea82e5"),
    Package("pthreadpool", "trixie", "0.0~git20240616.560c60d"),
    Package("fxdiv", "trixie", "0.0~git20200417.b408327"),
    Package("cpuinfo", "sid", "0.0~git20250905.877328f", newer=True),
)


@dataclass(frozen=True)
class Archive:
    """Where this machine gets Debian's packages.

    :param uri: Of the archive.
    :param keyring: Path of the keyring that signs it, empty for apt's default.
    """

    uri: str
    keyring: str = ""


def find_archive(apt: Path = Path("/etc/apt")) -> Archive:
    """Reads the archive from the machine's own apt sources, one-line and deb822.

    :param apt: apt's configuration folder.
    :return: The first Debian archive in it.
    :raises ExportError: This machine has none.
    """
    files = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]
    for file in files:
        if not file.is_file():
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        found = _parse_deb822(text) if file.suffix == ".sources" else _parse_lines(text)
        for archive in found:
            if archive.uri.rstrip("/").rsplit("/", 1)[-1] == "debian":
                return archive
    raise ExportError(f"{apt} names no Debian archive, so apt cannot fetch Debian's sources here", _ELSEWHERE)


def _parse_lines(text: str) -> list[Archive]:
    found = []
    for line in text.splitlines():
        match = re.match(r"deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+\S+\s+.*\bmain\b", line.strip())
        if match:
            signed = re.search(r"signed-by=(\S+)", match.group(1) or "")
            found.append(Archive(match.group(2), _keyring(signed.group(1) if signed else "")))
    return found


def _parse_deb822(text: str) -> list[Archive]:
    found = []
    for stanza in re.split(r"\n\s*\n", text):
        lines = [line for line in stanza.splitlines() if not line.startswith("#")]
        fields = dict(re.findall(r"^([\w-]+):[ \t]*(.*)$", "\n".join(lines), re.MULTILINE))
        fields = {name.lower(): value for name, value in fields.items()}
        usable = "deb" in fields.get("types", "").split() and fields.get("enabled", "yes") != "no"
        if usable and "main" in fields.get("components", "").split():
            keyring = _keyring(fields.get("signed-by", ""))
            found += [Archive(uri, keyring) for uri in fields.get("uris", "").split()]
    return found


def _keyring(signed_by: str) -> str:
    """A keyring file; a key or fingerprint written in place cannot be handed on, Debian's own file can."""
    if signed_by.startswith("/"):
        return signed_by
    return str(_KEYRING) if _KEYRING.is_file() else ""


def write_configuration(folder: Path, archive: Archive, suite: str) -> Path:
    """Writes an apt configuration that reads one suite's sources and keeps everything in one folder.

    :param folder: That folder.
    :param archive: Where from.
    :param suite: For instance ``trixie``.
    :return: The file for APT_CONFIG.
    """
    for name in ("parts", "state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    signed = f"[signed-by={archive.keyring}] " if archive.keyring else ""
    (folder / "sources.list").write_text(f"deb-src {signed}{archive.uri} {suite} main\n", encoding="utf-8")
    settings = {
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": folder / "parts",
        "Dir::State": folder / "state",
        "Dir::State::Lists": folder / "state" / "lists",
        "Dir::State::Status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Acquire::Languages": "none",
        "APT::Sandbox::User": "root",  # the user _apt may not enter a home folder
    }
    configuration = folder / "apt.conf"
    lines = [f'{name} "{value}";\n' for name, value in settings.items()]
    configuration.write_text("".join(lines), encoding="utf-8")
    return configuration


def fetch(folder: Path, progress: Progress) -> dict[str, Path]:
    """Downloads and unpacks the sources; does nothing when they are there.

    :param folder: Where to keep them.
    :param progress: Says what is done.
    :return: Package name to source folder.
    :raises ExportError: apt cannot get them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    missing = [package for package in PACKAGES if _unpacked(folder, package) is None]
    if missing:
        apt_get = shutil.which("apt-get")
        if apt_get is None:
            raise ExportError("apt-get is not on this machine", _ELSEWHERE)
        archive = find_archive()
        for suite in dict.fromkeys(package.suite for package in missing):
            wanted = [package for package in missing if package.suite == suite]
            progress.step(f"Fetching {', '.join(p.name for p in wanted)} from Debian {suite} ...")
            log = _run_apt(apt_get, folder, write_configuration(folder / "apt" / suite, archive, suite), wanted)
            for package in wanted:
                _unpack(folder, package, log)
        shutil.rmtree(folder / "apt", ignore_errors=True)
    return {package.name: _require(folder, package) for package in PACKAGES}


def _run_apt(apt_get: str, folder: Path, configuration: Path, packages: list[Package]) -> str:
    log = ""
    environment = {"APT_CONFIG": str(configuration), "LC_ALL": "C", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
    for arguments in (["update"], ["source", "--download-only", *(package.name for package in packages)]):
        # Exit code 100 with every archive there is usual (some mirrors lack the .dsc): what counts is checked after.
        result = subprocess.run(
            [apt_get, "-q", *arguments],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        log += result.stdout
    return log


def _unpack(folder: Path, package: Package, log: str) -> None:
    tarballs = sorted(folder.glob(f"{package.name}_*.orig.tar.*"))
    accepted = [t for t in tarballs if package.accepts(_version(t))]
    if not accepted:
        arrived = ", ".join(t.name for t in tarballs) or "nothing"
        errors = [line for line in log.splitlines() if line.startswith(("E:", "Err:", "W:"))]
        reason = errors[0] if errors and not tarballs else f"it has {arrived}"
        raise ExportError(
            f"Debian {package.suite} did not deliver {package.name} {package.version} ({reason})", _ELSEWHERE
        )
    tarball = accepted[-1]
    partial = folder / f".{package.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    with tarfile.open(tarball) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(partial, filter="data")
        else:
            archive.extractall(partial)
    entries = list(partial.iterdir())
    top = entries[0] if len(entries) == 1 and entries[0].is_dir() else partial
    top.rename(folder / f"{package.name}_{_version(tarball)}")
    shutil.rmtree(partial, ignore_errors=True)
    tarball.unlink()


def _version(path: Path) -> str:
    return path.name.split("_", 1)[1].split(".orig.tar", 1)[0]


def _unpacked(folder: Path, package: Package) -> Path | None:
    found = [p for p in sorted(folder.glob(f"{package.name}_*")) if p.is_dir() and package.accepts(_version(p))]
    return found[-1] if found else None


def _require(folder: Path, package: Package) -> Path:
    path = _unpacked(folder, package)
    assert path is not None  # fetch() has just unpacked it
    return path
