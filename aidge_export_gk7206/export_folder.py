# SPDX-License-Identifier: EPL-2.0
"""An export on disk: what its ``export.json`` says, checked and typed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from aidge_export_gk7206.errors import ExportError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

T = TypeVar("T")

DESCRIPTION_FILE = "export.json"
#: Left behind by the command line when an export did not finish, so that the next one may replace the folder.
UNFINISHED_FILE = ".aidge-gk7206-unfinished"
FORMAT = 1
_BINARY = Path("build") / "run_export"


@dataclass(frozen=True)
class TensorDescription:
    """An input or output of the model.

    :ivar name: Name in the ONNX model.
    :ivar dtype: Element type as NumPy names it.
    :ivar shape: Dims in the ONNX model.
    :ivar layout: How the program holds it: ``"nhwc"`` or ``"default"``.
    :ivar device_shape: Dims as the program takes them.
    :ivar permutation: From ONNX to the program, as :func:`numpy.transpose` takes it; None when they agree.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    layout: str
    device_shape: tuple[int, ...]
    permutation: tuple[int, ...] | None


@dataclass(frozen=True)
class NodeDescription:
    """A layer of the export: what runs it, and why that when it is not the first choice."""

    name: str
    type: str
    library: str
    reason: str


@dataclass(frozen=True)
class Reference:
    """Stored sample inputs and the outputs they must give: ``.npy`` files, named relative to the export folder.

    :ivar tolerances: How far each output may be off besides rounding, where something is quantised.
    """

    source: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tolerances: tuple[float, ...] | None = None


@dataclass(frozen=True)
class ExportFolder:
    """A generated project. Made with :meth:`load`."""

    path: Path
    model: str
    target: str
    arch: str | None
    xnn: bool
    inputs: tuple[TensorDescription, ...]
    outputs: tuple[TensorDescription, ...]
    nodes: tuple[NodeDescription, ...]
    arena_bytes: int
    weights_bytes: int
    macs: int
    reference: Reference | None

    @classmethod
    def load(cls, path: str | Path) -> ExportFolder:
        """Reads an export's description.

        :param path: The export folder.
        :type path: str | Path
        :return: What it says.
        :rtype: ExportFolder
        :raises ExportError: The folder is not an export, or its description is damaged.
        """
        folder = Path(path)
        file = folder / DESCRIPTION_FILE
        if not folder.is_dir():
            raise ExportError(f"no folder '{folder}'", "make it with aidge-gk7206 export MODEL.onnx -o " + str(folder))
        if (folder / UNFINISHED_FILE).exists():
            raise ExportError(f"the export in '{folder}' did not finish", "run aidge-gk7206 export again")
        if not file.is_file():
            raise ExportError(f"'{folder}' is not an export: it has no {DESCRIPTION_FILE}", "name a folder that "
                              "aidge-gk7206 export made")  # fmt: skip
        try:
            return cls._parse(folder, _Reader(json.loads(file.read_text(encoding="utf-8"))))
        except (_DescriptionError, ValueError, OSError) as error:
            raise ExportError(f"'{file}' is damaged ({error})", "export the model again") from error

    @classmethod
    def _parse(cls, folder: Path, reader: _Reader) -> ExportFolder:
        if (found := reader.read("format", int)) != FORMAT:
            raise _DescriptionError(f"format {found}, this program reads {FORMAT}")
        return cls(
            path=folder,
            model=reader.read("model", str),
            target=reader.read("target", str),
            arch=reader.optional("arch", str),
            xnn=reader.read("xnn", bool),
            inputs=reader.objects("inputs", _tensor),
            outputs=reader.objects("outputs", _tensor),
            nodes=reader.objects("nodes", _node),
            arena_bytes=reader.read("arena_bytes", int),
            weights_bytes=reader.read("weights_bytes", int),
            macs=reader.read("macs", int),
            reference=_reference(reader.optional("reference", dict)),
        )

    def binary(self) -> Path:
        """The compiled program.

        :return: Its absolute path.
        :rtype: Path
        :raises ExportError: The export has not been compiled.
        """
        binary = (self.path / _BINARY).resolve()
        if not binary.is_file():
            toolchain = f" --toolchain cmake/{self.arch}.toolchain" if self.arch else ""
            raise ExportError(
                f"no {_BINARY} in '{self.path}'",
                f"compile it with: cd {self.path} && cmake -B build{toolchain} && cmake --build build "
                "(or export again without --no-compile)",
            )
        return binary

    def libraries(self) -> dict[str, int]:
        """How many layers each library runs; both of ours are named even where they run none."""
        counts = Counter(node.library for node in self.nodes)
        return {"export_xnnpack": 0, "export_cpp": 0, **counts}

    def reference_inputs(self) -> list[npt.NDArray[np.generic]]:
        """The stored sample, in ONNX layout.

        :raises ExportError: It is missing or does not fit the model.
        """
        return self._load_arrays(self._stored().inputs, self.inputs, "input")

    def reference_outputs(self) -> list[npt.NDArray[np.generic]]:
        """The stored outputs of the reference, in ONNX layout.

        :raises ExportError: They are missing or do not fit the model.
        """
        stored = self._stored()
        if not stored.outputs:
            raise ExportError(
                f"'{self.path}' holds no reference outputs: nobody but the NPU can compute them",
                "export with the golden vectors input_data0.bin and output_data<i>.bin beside the .xmm",
            )
        return self._load_arrays(stored.outputs, self.outputs, "output")

    def _stored(self) -> Reference:
        if self.reference is None:
            raise ExportError(f"'{self.path}' holds no sample and reference outputs", "export it again with --input")
        return self.reference

    def _load_arrays(
        self, files: tuple[str, ...], tensors: tuple[TensorDescription, ...], kind: str
    ) -> list[npt.NDArray[np.generic]]:
        from aidge_export_gk7206.tensor_files import check_arrays, load_array

        paths = [self.path / file for file in files]
        try:
            arrays = [load_array(path) for path in paths]
            check_arrays(arrays, tensors, kind, [str(path) for path in paths])
        except ExportError as error:
            raise ExportError(
                f"the export in '{self.path}' is damaged: {error.problem}", "export the model again"
            ) from None
        return arrays


def is_export(path: Path) -> bool:
    """Whether a folder is an export, finished or not, that a new one may replace."""
    return (path / DESCRIPTION_FILE).is_file() or (path / UNFINISHED_FILE).is_file()


class _DescriptionError(Exception):
    """What is wrong with export.json."""


class _Reader:
    """Takes typed values out of a JSON object."""

    def __init__(self, values: object) -> None:
        if not isinstance(values, Mapping):
            raise _DescriptionError("it is not a JSON object")
        self._values: Mapping[str, Any] = values

    def read(self, key: str, kind: type[T]) -> T:
        if key not in self._values:
            raise _DescriptionError(f"'{key}' is missing")
        value = self._values[key]
        # JSON's true is an int for Python.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise _DescriptionError(f"'{key}' is not of type {kind.__name__}")
        return value

    def optional(self, key: str, kind: type[T]) -> T | None:
        return None if self._values.get(key) is None else self.read(key, kind)

    def objects(self, key: str, make: Callable[[_Reader], T]) -> tuple[T, ...]:
        return tuple(make(_Reader(item)) for item in self.read(key, list))

    def integers(self, key: str) -> tuple[int, ...]:
        values = self.read(key, list)
        if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
            raise _DescriptionError(f"'{key}' is not a list of integers")
        return tuple(values)

    def strings(self, key: str) -> tuple[str, ...]:
        values = self.read(key, list)
        if not all(isinstance(value, str) for value in values):
            raise _DescriptionError(f"'{key}' is not a list of strings")
        return tuple(values)


def _tensor(reader: _Reader) -> TensorDescription:
    permutation = None if reader.optional("permutation", list) is None else reader.integers("permutation")
    shape = reader.integers("shape")
    if permutation is not None and sorted(permutation) != list(range(len(shape))):
        raise _DescriptionError(f"'permutation' {list(permutation)} does not fit 'shape' {list(shape)}")
    return TensorDescription(
        name=reader.read("name", str),
        dtype=reader.read("dtype", str),
        shape=shape,
        layout=reader.read("layout", str),
        device_shape=reader.integers("device_shape"),
        permutation=permutation,
    )


def _node(reader: _Reader) -> NodeDescription:
    return NodeDescription(
        name=reader.read("name", str),
        type=reader.read("type", str),
        library=reader.read("library", str),
        reason=reader.optional("reason", str) or "",
    )


def _reference(values: dict[str, Any] | None) -> Reference | None:
    if values is None:
        return None
    reader = _Reader(values)
    outputs = reader.strings("outputs")
    tolerances = reader.optional("tolerances", list)
    if tolerances is not None and (
        len(tolerances) != len(outputs) or not all(isinstance(value, int | float) for value in tolerances)
    ):
        raise _DescriptionError("'tolerances' is not one number per output")
    return Reference(
        reader.read("source", str), reader.strings("inputs"), outputs, None if tolerances is None else tuple(tolerances)
    )
