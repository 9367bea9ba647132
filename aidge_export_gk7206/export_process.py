# SPDX-License-Identifier: EPL-2.0
"""Runs an export in a process of its own, so that a crash inside Aidge becomes an error message."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.toolchains import split_cmake_error

WORKER = (sys.executable, "-m", "aidge_export_gk7206._worker")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Aidge's log breaks long messages; only their first line has the dash.
_COMPLAINT = re.compile(r"^\[(?:FATAL|ERROR)\] *(- )?(.*)")
# CMake's words; a toolchain file for another machine has its own.
_NO_COMPILER = re.compile(r"No CMAKE_(?:C|CXX|ASM)_COMPILER could be found|is not a full path to an existing compiler")
_HELD = re.compile(r"\[(?:FATAL|ERROR)\]|CMake Error|\s*$")
_CONTINUED = re.compile(r"CMake |\s|-- Configuring incomplete")


@dataclass
class _Messages:
    """What the process has said so far."""

    debug: bool = False
    step: str = "starting"
    report: dict[str, Any] | None = None
    error: dict[str, str] | None = None
    complaint: str = ""
    held: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class NpuRequest:
    """What is to run on the NPU; see ``NpuOptions`` and ``Preprocessing``.

    :ivar samples: Files to calibrate with, see :mod:`aidge_export_gk7206.samples`.
    """

    file: Path | None
    outputs: dict[str, int | None]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    order: str
    raw: bool
    samples: tuple[Path, ...]

    def to_json(self) -> dict[str, Any]:
        """With absolute paths."""
        files = [str(sample.absolute()) for sample in self.samples]
        return {**asdict(self), "file": str(self.file.resolve()) if self.file else None, "samples": files}


@dataclass(frozen=True)
class Request:
    """What to export.

    :ivar model: ONNX file.
    :ivar config: Fields of Aidge's ``ExportConfig``.
    :ivar sample: ``.npy`` file with a sample input.
    :ivar shapes: Shapes of inputs whose sizes the model leaves open, by name.
    :ivar npu: What is to run on the NPU.
    :ivar force: Whether to export what is larger than the board's memory.
    :ivar debug: Whether to log in detail, with tracebacks.
    """

    model: Path
    config: dict[str, Any]
    sample: Path | None = None
    shapes: dict[str, list[int]] = field(default_factory=dict)
    npu: NpuRequest | None = None
    force: bool = False
    debug: bool = False

    def to_json(self) -> dict[str, Any]:
        """With absolute paths: the process works in another folder."""
        return {
            "command": "export",
            "model": str(self.model.resolve()),
            "config": {**self.config, "export_folder": str(Path(self.config["export_folder"]).resolve())},
            "sample": str(self.sample.resolve()) if self.sample else None,
            "shapes": self.shapes,
            "npu": self.npu.to_json() if self.npu else None,
            "force": self.force,
            "debug": self.debug,
        }


@dataclass(frozen=True)
class BundleRequest:
    """What to make a bundle of; see :func:`aidge_export_gk7206.bundling.bundle_model`.

    :ivar model: ONNX file.
    :ivar folder: Where to write.
    :ivar samples: Files to calibrate with.
    :ivar sample: One more file, which comes first.
    :ivar outputs: Tensors where the NPU's part ends.
    """

    model: Path
    folder: Path
    samples: tuple[Path, ...]
    sample: Path | None
    shapes: dict[str, list[int]]
    outputs: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    order: str
    debug: bool = False

    def to_json(self) -> dict[str, Any]:
        """With absolute paths."""
        return {
            **asdict(self),
            "command": "bundle",
            "model": str(self.model.resolve()),
            "folder": str(self.folder.resolve()),
            "samples": [str(sample.absolute()) for sample in self.samples],
            "sample": str(self.sample.absolute()) if self.sample else None,
        }


def export_in_process(
    request: Request | BundleRequest, progress: Callable[[str], None], worker: Sequence[str] = WORKER
) -> dict[str, Any]:
    """Exports a model, or makes a bundle of it; logs of the process go to the standard error.

    :param request: What to do.
    :type request: Request | BundleRequest
    :param progress: Called with the name of each step when it begins.
    :type progress: Callable[[str], None]
    :param worker: Command of the process.
    :type worker: Sequence[str]
    :return: The export's report, or what the bundle says, as a dictionary.
    :rtype: dict[str, Any]
    :raises ExportError: The export failed, whichever way.
    """
    messages = _Messages(debug=request.debug)
    xnn = isinstance(request, BundleRequest) or bool(request.config.get("xnn"))
    # Aidge writes exported_graph.mmd into the current folder.
    with tempfile.TemporaryDirectory(prefix="aidge-gk7206-") as folder:
        code = _run_worker(worker, request.to_json(), folder, messages, progress)
    if messages.error is not None:
        raise ExportError(_describe(messages.error, messages.step, xnn))
    if messages.report is not None and code == 0:
        sys.stderr.writelines(messages.held)
        return messages.report
    raise _death(code, messages, xnn)


def _run_worker(
    worker: Sequence[str],
    request: dict[str, Any],
    folder: str,
    messages: _Messages,
    progress: Callable[[str], None],
) -> int:
    receiver, sender = os.pipe()
    # The process must find this very package, installed or not.
    places = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    search = [Path(__file__).resolve().parents[1], *(Path(place).absolute() for place in places)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, search))}
    process = subprocess.Popen(
        [*worker, str(sender)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=[sender],
        cwd=folder,
        env=environment,
        text=True,
        errors="replace",
    )
    os.close(sender)
    assert process.stdin is not None and process.stdout is not None
    logs = threading.Thread(target=_forward_logs, args=(process.stdout, messages), daemon=True)
    logs.start()
    try:
        with process.stdin:
            json.dump(request, process.stdin)
        with os.fdopen(receiver, encoding="utf-8") as answers:
            for line in answers:
                _take(json.loads(line), messages, progress)
        return process.wait()
    except BrokenPipeError:  # it died before it read the request
        return process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        logs.join(timeout=5)


def _take(answer: dict[str, Any], messages: _Messages, progress: Callable[[str], None]) -> None:
    if "progress" in answer:
        messages.step = answer["progress"]
        progress(messages.step)
    messages.report = answer.get("report", messages.report)
    messages.error = answer.get("error", messages.error)


def _forward_logs(stream: IO[str], messages: _Messages) -> None:
    for line in stream:
        text = _COLOUR.sub("", line)
        # What the error message will say is not said twice.
        if messages.debug or not (_HELD.match(text) or (messages.held and _CONTINUED.match(text))):
            sys.stderr.write(line)
            sys.stderr.flush()
        else:
            messages.held.append(line)
        if (match := _COMPLAINT.match(text)) is not None:
            begun = "" if match.group(1) else messages.complaint + " "
            messages.complaint = (begun + match.group(2).strip()).strip()


def _death(code: int, messages: _Messages, xnn: bool) -> ExportError:
    said = f" ({messages.complaint})" if messages.complaint else ""
    if code < 0:
        name = signal.Signals(-code).name
        memory = "; memory may have run out" if code == -signal.SIGKILL else ""
        return ExportError(
            f"Aidge died of {name} in step '{messages.step}'{said}{memory}",
            "a defect of Aidge with this model; --debug shows where"
            if xnn
            else "a defect of Aidge with this model: export with XNNPACK (--xnn)",
        )
    return ExportError(f"Aidge gave up with exit code {code} in step '{messages.step}'{said}", "--debug shows more")


def _describe(error: dict[str, str], step: str, xnn: bool) -> str:
    """The error of the process in one line."""
    message = error["message"].strip()
    if not error["type"]:
        return message
    if _NO_COMPILER.search(message) is not None:
        return "cannot compile the export: no C++ compiler for this machine on the PATH: sudo apt-get install g++"
    if (cause := _build_error(message)) is not None:
        # Some of export_cpp's kernels do not compile for every model.
        remedy = ": export with XNNPACK (--xnn)" if not xnn and " error: " in cause else ""
        return f"cannot compile the export: {cause}{remedy}"
    first = (message.splitlines() or ["no message"])[0].rstrip(" .:")
    return f"{first} ({error['type']} in step '{step}'): --debug shows more"


def _build_error(message: str) -> str | None:
    """What CMake or a compiler complained about first, when a message quotes their output."""
    if "CMake Error" in message:
        return ": ".join(filter(None, split_cmake_error(message)))
    compiler = re.search(r"^[^\n]*\berror: [^\n]*", message, re.MULTILINE)
    return compiler.group(0).strip() if compiler is not None else None
