# SPDX-License-Identifier: EPL-2.0
"""The process in which an export runs: Aidge may crash in native code, or exit with status 0 after a fatal error.

Reads a request from the standard input and writes answers, one JSON object a line, to the file descriptor that is its
argument; see :mod:`aidge_export_gk7206.export_process` for the other end.
"""

from __future__ import annotations

import ctypes
import dataclasses
import faulthandler
import json
import os
import signal
import sys
import traceback
from typing import Any

from aidge_export_gk7206.errors import ExportError


def main() -> None:
    """Exports a model or makes a bundle, and answers ``report`` or ``error``, after any number of ``progress``."""
    # The parent tells about an interruption.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _write_lines_at_once()
    request = json.load(sys.stdin)
    if request["debug"]:
        faulthandler.enable()
    with os.fdopen(int(sys.argv[1]), "w", encoding="utf-8") as stream:

        def answer(kind: str, content: Any) -> None:
            print(json.dumps({kind: content}, default=_plain), file=stream, flush=True)

        try:
            work = _bundle if request["command"] == "bundle" else _export
            answer("report", work(request, lambda step: answer("progress", step)))
        # Aidge raises whatever it likes. Its exit() after a fatal error is not caught: no answer says as much.
        except Exception as error:
            if request["debug"]:
                traceback.print_exc()
            kind = "" if isinstance(error, ExportError) else type(error).__name__
            # As a text, a KeyError is the representation of its argument.
            text = error.args[0] if isinstance(error, KeyError) and error.args else error
            answer("error", {"type": kind, "message": str(text)})


def _export(request: dict[str, Any], progress: Any) -> dict[str, Any]:
    progress("loading Aidge")
    import aidge_core
    from aidge_core.export_utils.config import ExportConfig

    from aidge_export_gk7206.exporting import export_model
    from aidge_export_gk7206.tensor_files import load_array

    # Its warnings are about layouts that a prepared graph has made explicit; ours are in the report.
    aidge_core.Log.set_console_level(aidge_core.Level.Debug if request["debug"] else aidge_core.Level.Error)
    config = ExportConfig(**request["config"])
    sample = load_array(request["sample"]) if request["sample"] else None
    report = export_model(
        request["model"],
        config,
        sample=sample,
        shapes=request["shapes"],
        npu=_npu_options(request["npu"]),
        force=request["force"],
        progress=progress,
    )
    return dataclasses.asdict(report)


def _bundle(request: dict[str, Any], progress: Any) -> dict[str, Any]:
    progress("loading Aidge")
    from pathlib import Path

    from aidge_export_gk7206.bundling import bundle_model
    from aidge_export_gk7206.npu.preprocessing import Preprocessing

    return bundle_model(
        Path(request["model"]),
        Path(request["folder"]),
        [Path(sample) for sample in request["samples"]],
        sample=Path(request["sample"]) if request["sample"] else None,
        shapes=request["shapes"],
        outputs=request["outputs"],
        preprocessing=Preprocessing(tuple(request["mean"]), tuple(request["std"]), request["order"]),
        progress=progress,
    )


def _npu_options(request: dict[str, Any] | None) -> Any:
    if request is None:
        return None
    from pathlib import Path

    from aidge_export_gk7206.npu.preprocessing import Preprocessing
    from aidge_export_gk7206.offloading import NpuOptions

    pre = Preprocessing(tuple(request["mean"]), tuple(request["std"]), request["order"], request["raw"])
    file = Path(request["file"]) if request["file"] else None
    return NpuOptions(file, request["outputs"], pre, [Path(sample) for sample in request["samples"]])


def _plain(value: Any) -> Any:
    """NumPy's numbers and paths for JSON."""
    return value.item() if hasattr(value, "item") else str(value)


def _write_lines_at_once() -> None:
    """Makes Python's and C's standard output show every line when it ends, so that none is lost in a crash."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    library = ctypes.CDLL(None)
    line_buffered = 1  # _IOLBF of Linux' C libraries
    library.setvbuf(ctypes.c_void_p.in_dll(library, "stdout"), None, line_buffered, 0)


if __name__ == "__main__":
    main()
