# SPDX-License-Identifier: EPL-2.0
"""What runs an export: the interface, and what the runners on this machine share."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.export_folder import ExportFolder, TensorDescription

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class RunOptions:
    """How to run.

    :ivar warmup: Runs before measuring.
    :ivar iterations: Measured runs.
    :ivar profile: Whether to time each layer.
    :ivar timeout: Seconds after which the program is stopped.
    """

    warmup: int = 0
    iterations: int = 1
    profile: bool = False
    timeout: float = 1800.0


@dataclass(frozen=True)
class RunResult:
    """What an export computed, and what it cost.

    :ivar outputs: Outputs of the last run, in ONNX layout, in the model's order.
    :ivar init_ms: Time to start: packing weights, setting operators up.
    :ivar times_ms: ``min``, ``median`` and ``max`` of the measured runs.
    :ivar layers: One entry per layer: ``name``, ``operator``, ``library`` and, when profiled, ``ms`` and ``share``.
    :ivar raw: The program's whole JSON answer.
    """

    outputs: list[npt.NDArray[np.generic]]
    init_ms: float
    times_ms: dict[str, float]
    layers: list[dict[str, Any]]
    raw: dict[str, Any]

    @property
    def xnnpack(self) -> str | None:
        """Which XNNPACK is linked, and from where; None when there is none."""
        return str(self.raw["xnnpack"]) or None


class Runner(ABC):
    """Runs exports somewhere."""

    name: str

    @abstractmethod
    def available(self) -> str | None:
        """Whether this runner can be used.

        :return: None when it can, else what is missing and how to get it.
        :rtype: str | None
        """

    @abstractmethod
    def run(
        self, export: ExportFolder, inputs: Sequence[npt.NDArray[np.generic]], options: RunOptions | None = None
    ) -> RunResult:
        """Runs an export.

        :param export: A compiled export.
        :type export: ExportFolder
        :param inputs: One array per input, in ONNX layout.
        :type inputs: Sequence[numpy.ndarray]
        :param options: How to run.
        :type options: RunOptions | None
        :return: Outputs and measurements.
        :rtype: RunResult
        :raises ExportError: The inputs do not fit, or the program failed.
        """


class LocalRunner(Runner):
    """Runs the program as a process of this machine, directly or through an emulator."""

    @abstractmethod
    def command(self, binary: Path) -> list[str]:
        """The command that starts the program.

        :param binary: The compiled program.
        :type binary: Path
        :return: Command and arguments, to which the program's own arguments are added.
        :rtype: list[str]
        :raises ExportError: This runner cannot run that program.
        """

    def run(
        self, export: ExportFolder, inputs: Sequence[npt.NDArray[np.generic]], options: RunOptions | None = None
    ) -> RunResult:
        import numpy as np

        from aidge_export_gk7206.tensor_files import check_arrays

        check_arrays(inputs, export.inputs, "input")
        if (reason := self.available()) is not None:
            raise ExportError(f"runner '{self.name}' is not available", reason)
        options = options or RunOptions()
        command = self.command(export.binary())
        with tempfile.TemporaryDirectory(prefix="aidge-gk7206-") as name:
            folder = Path(name)
            files = [folder / f"input_{i}.bin" for i in range(len(inputs))]
            for file, array in zip(files, inputs, strict=True):
                file.write_bytes(np.ascontiguousarray(array).tobytes())
            command += ["--input", *map(str, files)] if files else []
            command += ["--output", str(folder), "--json", "--warmup", str(options.warmup)]
            command += ["--iterations", str(options.iterations), *(["--profile"] if options.profile else [])]
            raw = _answer(_execute(command, self.name, options.timeout), export)
            outputs = [_read_output(folder / f"output_{i}.bin", tensor) for i, tensor in enumerate(export.outputs)]
        return RunResult(
            outputs=outputs,
            init_ms=raw["init_ms"],
            times_ms={key: raw[f"{key}_ms"] for key in ("min", "median", "max")},
            layers=raw["layers"],
            raw=raw,
        )


def _execute(command: list[str], runner: str, timeout: float) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise ExportError(
            f"run_export on {runner} did not end within {timeout:g} s", "give it longer with --timeout"
        ) from None
    except OSError as error:
        raise ExportError(f"cannot start {command[0]} ({error.strerror})", "compile the export again") from error
    if result.returncode == 0:
        return result.stdout
    lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
    message = lines[-1].removeprefix("run_export: ") if lines else "no message"
    if result.returncode < 0 or result.returncode > 128:
        number = -result.returncode if result.returncode < 0 else result.returncode - 128
        message = f"it died of {_signal_name(number)}" + (f": {message}" if lines else "")
    raise ExportError(f"run_export on {runner} failed: {message}")


def _read_output(file: Path, tensor: TensorDescription) -> npt.NDArray[np.generic]:
    import numpy as np

    array: npt.NDArray[np.generic] = np.fromfile(file, dtype=tensor.dtype)
    if array.size != math.prod(tensor.shape):
        raise ExportError(
            f"output '{tensor.name}' has {array.size} values, export.json says {list(tensor.shape)}",
            "compile the export again",
        )
    return array.reshape(tensor.shape)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _answer(text: str, export: ExportFolder) -> dict[str, Any]:
    try:
        answer = json.loads(text)
        shapes = [tuple(output["shape"]) for output in answer["outputs"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ExportError("run_export gave no valid answer", "compile the export again") from error
    if shapes != [tensor.shape for tensor in export.outputs]:
        raise ExportError(
            f"the program in '{export.path}' has other outputs than export.json", "compile the export again"
        )
    assert isinstance(answer, dict)
    return answer
