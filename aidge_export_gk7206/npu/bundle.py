# SPDX-License-Identifier: EPL-2.0
"""Writes a bundle: what the vendor's compiler needs of a region, and what its result is compared with."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from aidge_export_gk7206.errors import ArgumentError, ExportError
from aidge_export_gk7206.npu.bundle_readme import Origin, readme
from aidge_export_gk7206.npu.preprocessing import Preprocessing, onnx_channel_axis
from aidge_export_gk7206.npu.quantisation import Grid, check_range, grid_for
from aidge_export_gk7206.npu.reference_model import PIXELS, input_order
from aidge_export_gk7206.reference import OnnxRuntime
from aidge_export_gk7206.samples import Sample, read_sample, sample_names

Array = npt.NDArray[Any]

DESCRIPTION_FILE = "bundle.json"
FORMAT = 1
#: Folders in which bundles are made.
_SCRATCH = ".bundle-"
_CHUNK_BYTES = 1 << 20


@dataclass
class _Range:
    """The values that were seen of a tensor."""

    low: float = float("inf")
    high: float = float("-inf")

    def add(self, values: Array) -> None:
        self.low = min(self.low, float(values.min(initial=self.low)))
        self.high = max(self.high, float(values.max(initial=self.high)))

    def grid(self) -> Grid:
        return grid_for(np.array([self.low, self.high]))

    def describe(self, grid: Grid) -> dict[str, Any]:
        return {
            "min": self.low,
            "max": self.high,
            "dtype": grid.dtype.label,
            "scale": grid.scale,
            "zero_point": grid.zero_point,
        }


@dataclass
class _Output:
    """An output of the region.

    :ivar shape: Known once the region has run.
    """

    name: str
    range: _Range = field(default_factory=_Range)
    shape: tuple[int, ...] = ()


class _Writer:
    """Writes the files of a bundle.

    :param folder: Where.
    :param region: The region, with fixed dims and one input.
    :param preprocessing: What its input is made from pixels with.
    """

    def __init__(self, folder: Path, region: onnx.ModelProto, preprocessing: Preprocessing) -> None:
        self._folder = folder
        self._region = region
        self._pre = preprocessing
        (entry,) = region.graph.input
        self.name = entry.name
        self.shape = tuple(dim.dim_value for dim in entry.type.tensor_type.shape.dim)
        self.range = _Range()
        self.grid = PIXELS
        self.outputs = [_Output(value.name) for value in region.graph.output]
        self.has_pixels = True

    def calibration(self, files: Sequence[Path], names: Sequence[str]) -> None:
        """Writes what the region sees of every sample."""
        for file, name in zip(files, names, strict=True):
            sample = read_sample(file, self.shape, self._pre)
            pixels = self._pixels(sample)
            # A sample of rounded pixels is what the compiled file sees.
            value = sample.value if pixels is None else self._from_pixels(pixels)
            self.range.add(value)
            self._save(f"calibration/{name}.npy", value)
            if pixels is None:
                self.has_pixels = False
            else:
                self._write(f"calibration/{name}.bin", self._stored_order(pixels).tobytes())
        if not self.has_pixels:
            # Of an input that is no picture for one sample the others' pixels mean nothing.
            for name in names:
                (self._folder / f"calibration/{name}.bin").unlink(missing_ok=True)
            self.grid = self.range.grid()

    def golden(self, names: Sequence[str]) -> str:
        """Runs the region on every sample and writes inputs and outputs; who ran it."""
        # With several threads sums might depend on their number, and the bytes on the machine.
        runtime = OnnxRuntime(self._region.SerializeToString(), threads=1)
        for name in names:
            value = np.load(self._folder / f"calibration/{name}.npy")
            if not self.has_pixels:
                stored = self.grid.store(value)
                # What the outputs belong to is what the file holds of the input.
                value = self.grid.real(stored)
            else:
                stored = PIXELS.store(self._to_pixels(value))
            self._write(f"golden/{name}/input_data0.bin", self._stored_order(stored).tobytes())
            for index, (output, array) in enumerate(
                zip(self.outputs, runtime.run({self.name: value}).outputs, strict=True)
            ):
                if not np.all(np.isfinite(array)):
                    raise ExportError(
                        f"output '{output.name}' holds values that are infinite or not a number for sample '{name}'",
                        "check the sample, and --mean and --std",
                    )
                output.shape = array.shape
                output.range.add(array)
                self._save(f"golden/{name}/output_{index}.npy", array)
        # Only now all ranges are known.
        for name in names:
            for index, output in enumerate(self.outputs):
                array = np.load(self._folder / f"golden/{name}/output_{index}.npy")
                self._write(f"golden/{name}/output_data{index}.bin", output.range.grid().store(array).tobytes())
        return runtime.source

    def model(self) -> None:
        """Writes the region."""
        self._write("model.onnx", self._region.SerializeToString(deterministic=True))

    def text(self, name: str, content: str) -> None:
        self._write(name, content.encode())

    def checksums(self) -> dict[str, str]:
        """SHA-256 of every file that was written, by its path."""
        files = sorted(file for file in self._folder.rglob("*") if file.is_file())
        return {file.relative_to(self._folder).as_posix(): _sha256(file) for file in files}

    def _pixels(self, sample: Sample) -> Array | None:
        """The sample's pixels in the order of the region's axes, uint8; None where it is not made of any."""
        if sample.pixels is not None:
            return np.transpose(sample.pixels, (2, 0, 1))[np.newaxis]
        if self._pre.is_identity:
            return None
        values = self._to_pixels(sample.value)
        check_range(f"sample '{sample.name}'", values, PIXELS)
        return PIXELS.store(values)

    def _to_pixels(self, value: Array) -> Array:
        return self._pre.to_pixels(value, onnx_channel_axis(value.ndim))

    def _from_pixels(self, pixels: Array) -> Array:
        return self._pre.from_pixels(pixels, onnx_channel_axis(pixels.ndim))

    def _stored_order(self, value: Array) -> Array:
        return np.ascontiguousarray(np.transpose(value, input_order(value.ndim)))

    def _save(self, name: str, array: Array) -> None:
        np.save(self._place(name), np.ascontiguousarray(array))

    def _write(self, name: str, data: bytes) -> None:
        self._place(name).write_bytes(data)

    def _place(self, name: str) -> Path:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def write_bundle(
    folder: Path, region: onnx.ModelProto, files: Sequence[Path], preprocessing: Preprocessing, origin: Origin
) -> dict[str, Any]:
    """Writes a bundle. The same region and samples give the same bytes.

    :param folder: Where; the files of a bundle that was there are replaced, others stay.
    :type folder: Path
    :param region: The region, with fixed dims and one input.
    :type region: onnx.ModelProto
    :param files: Samples, see :mod:`aidge_export_gk7206.samples`.
    :type files: Sequence[Path]
    :param preprocessing: What the region's input is made from pixels with.
    :type preprocessing: Preprocessing
    :param origin: Where the region comes from.
    :type origin: Origin
    :return: What ``bundle.json`` says.
    :rtype: dict[str, Any]
    :raises ExportError: The region has types that the NPU does not take, or a sample does not fit it.
    """
    _check_types(region)
    check_folder(folder)
    names = sample_names(files)
    # A bundle that cannot be finished leaves the one before as it was.
    with _scratch(folder) as scratch:
        writer = _Writer(Path(scratch), region, preprocessing)
        preprocessing.channels(writer.shape[1] if len(writer.shape) >= 3 else 1)
        writer.calibration(files, names)
        source = writer.golden(names)
        writer.model()
        description = {
            "format": FORMAT,
            "tool": f"aidge-gk7206 {_version()}",
            "model": origin.model,
            "reference": source,
            "opset": next(entry.version for entry in region.opset_import if entry.domain in ("", "ai.onnx")),
            "preprocessing": _preprocessing(preprocessing) if writer.has_pixels else None,
            "input": {
                "name": writer.name,
                "shape": list(writer.shape),
                "layout": _layout(writer.shape),
                "file_shape": [writer.shape[axis] for axis in input_order(len(writer.shape))],
                "file_layout": _layout(writer.shape, stored=True),
                "holds": "pixels" if writer.has_pixels else "the input's values",
                **writer.range.describe(writer.grid),
            },
            "outputs": [
                {
                    "name": output.name,
                    "shape": list(output.shape),
                    "layout": _layout(output.shape),
                    **output.range.describe(output.range.grid()),
                }
                for output in writer.outputs
            ],
            "samples": [{"name": name, "file": file.name} for name, file in zip(names, files, strict=True)],
        }
        writer.text("README.txt", readme(description, origin))
        description["files"] = writer.checksums()
        writer.text(DESCRIPTION_FILE, json.dumps(description, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        _remove_bundle(folder)
        for part in sorted(Path(scratch).rglob("*")):
            if part.is_file():
                target = folder / part.relative_to(scratch)
                target.parent.mkdir(parents=True, exist_ok=True)
                part.replace(target)
    return description


def _scratch(folder: Path) -> TemporaryDirectory[str]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(f"{_SCRATCH}*"):  # of a run that was killed
            shutil.rmtree(left)
        return TemporaryDirectory(prefix=_SCRATCH, dir=folder)
    except OSError as error:
        raise ExportError(f"cannot write to '{folder}' ({error.strerror})", "choose another folder with -o") from error


def check_folder(folder: Path) -> None:
    """Refuses a folder that holds something other than a bundle.

    :raises ArgumentError: It does.
    """
    if folder.exists() and not folder.is_dir():
        raise ArgumentError(f"'{folder}' is a file", "choose another folder with -o")
    if (folder / DESCRIPTION_FILE).is_file() or not folder.is_dir():
        return
    if any(not file.name.startswith(_SCRATCH) for file in folder.iterdir()):
        raise ArgumentError(f"the folder '{folder}' holds something other than a bundle", "choose another with -o")


def _remove_bundle(folder: Path) -> None:
    """Removes what an earlier bundle wrote; what the user has put beside it stays."""
    file = folder / DESCRIPTION_FILE
    try:
        names = list(json.loads(file.read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return
    for name in names:
        path = (folder / str(name)).resolve()
        if folder.resolve() in path.parents and path.is_file():
            path.unlink()
    for part in sorted(folder.glob("golden/*")):
        if part.is_dir() and not any(part.iterdir()):
            shutil.rmtree(part)


def _check_types(region: onnx.ModelProto) -> None:
    for kind, values in (("input", region.graph.input), ("output", region.graph.output)):
        for value in values:
            code = value.type.tensor_type.elem_type
            if code != onnx.TensorProto.FLOAT:
                raise ExportError(
                    f"{kind} '{value.name}' is {onnx.TensorProto.DataType.Name(code).lower()}, the NPU's are real "
                    "numbers",
                    "convert the model to float32" if kind == "input" else "end the region before, with --xmm-output",
                )


def _preprocessing(preprocessing: Preprocessing) -> dict[str, Any]:
    return {
        "mean": list(preprocessing.mean),
        "std": list(preprocessing.std),
        "order": preprocessing.order,
        "meaning": "input = (pixel - mean) / std; order is that of the input's channels, the file takes red first",
    }


def _layout(shape: Sequence[int], stored: bool = False) -> str:
    if len(shape) != 4:
        return "as in model.onnx"
    return "NHWC" if stored else "NCHW"


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _version() -> str:
    try:
        return version("aidge_export_gk7206")
    except PackageNotFoundError:
        return "0"
