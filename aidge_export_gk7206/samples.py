# SPDX-License-Identifier: EPL-2.0
"""Samples of a model's input, to calibrate with: tensors and pixels in NumPy files, and pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from aidge_export_gk7206.errors import ArgumentError, ExportError
from aidge_export_gk7206.tensor_files import load_array

if TYPE_CHECKING:
    from aidge_export_gk7206.npu.preprocessing import Preprocessing

Array = npt.NDArray[Any]

PICTURES = (".bmp", ".jpeg", ".jpg", ".png")
#: What Pillow calls pictures of one and of three channels.
_MODES = {1: "L", 3: "RGB"}


@dataclass(frozen=True)
class Sample:
    """An input of a model.

    :ivar name: Name for files, made from that of the sample's.
    :ivar value: What the model takes, float32 in ONNX layout.
    :ivar pixels: The pixels that it was made from, uint8 as height, width, channel; None where they are not known.
    """

    name: str
    value: Array
    pixels: Array | None = None


def sample_files(folder: Path) -> tuple[Path, ...]:
    """The samples in a folder, by name.

    :param folder: The folder.
    :type folder: Path
    :return: ``.npy`` files and pictures.
    :rtype: tuple[Path, ...]
    :raises ArgumentError: There are none.
    """
    if not folder.is_dir():
        raise ArgumentError(f"no folder '{folder}'", "name the one that holds the samples")
    files = tuple(sorted(file for file in folder.iterdir() if file.suffix.lower() in (".npy", *PICTURES)))
    if not files:
        raise ArgumentError(
            f"no .npy files and no pictures in '{folder}'",
            f"write samples with numpy.save(file, array), or put {', '.join(PICTURES)} files there",
        )
    return files


def sample_names(files: Sequence[Path]) -> list[str]:
    """Names for files that are made of samples: letters, digits and ``._-`` only, each once."""
    names: list[str] = []
    for file in files:
        base = re.sub(r"[^0-9A-Za-z._-]", "_", file.stem).lstrip(".") or "sample"
        name, count = base, 1
        while name in names:
            count += 1
            name = f"{base}_{count}"
        names.append(name)
    return names


def read_sample(file: Path, shape: Sequence[int], preprocessing: Preprocessing) -> Sample:
    """Reads a sample.

    :param file: A ``.npy`` file: the input itself, float32 in ONNX layout, or pixels, uint8 as height, width and
        channel (red, green, blue); or a picture, which is brought to the input's size.
    :type file: Path
    :param shape: Dims of the model's input.
    :type shape: Sequence[int]
    :param preprocessing: What the model's input is made from pixels with.
    :type preprocessing: Preprocessing
    :return: The sample.
    :rtype: Sample
    :raises ExportError: It cannot be read, or is not what the model takes.
    """
    (name,) = sample_names([file])
    if file.suffix.lower() in PICTURES:
        return from_pixels(name, _picture(file, _image_dims(file, shape)), preprocessing)
    array = load_array(file)
    if array.dtype == np.uint8:
        return from_pixels(name, _pixels(file, array, _image_dims(file, shape)), preprocessing)
    if array.dtype != np.float32:
        raise ExportError(
            f"sample '{file}' is {array.dtype}", "convert it with astype('float32'), or give pixels as uint8"
        )
    if array.shape != tuple(shape):
        raise ExportError(
            f"sample '{file}' is {_shown(array.shape)}, the input {_shown(shape)}", "give samples of the model's shape"
        )
    if not np.all(np.isfinite(array)):
        raise ExportError(f"sample '{file}' holds values that are infinite or not a number", "remove it")
    return Sample(name, array)


def read_samples(files: Sequence[Path], shape: Sequence[int], preprocessing: Preprocessing) -> list[Sample]:
    """Reads samples; their names differ. See :func:`read_sample`."""
    names = sample_names(files)
    return [
        replace(read_sample(file, shape, preprocessing), name=name) for file, name in zip(files, names, strict=True)
    ]


def from_pixels(name: str, pixels: Array, preprocessing: Preprocessing) -> Sample:
    """The sample that pixels make.

    :param pixels: uint8 as height, width, channel.
    """
    batch = np.transpose(pixels, (2, 0, 1))[np.newaxis]
    return Sample(name, np.ascontiguousarray(preprocessing.from_pixels(batch, 1)), pixels)


def _image_dims(file: Path, shape: Sequence[int]) -> tuple[int, int, int]:
    """Height, width and channels of an input that is one image."""
    if len(shape) != 4 or shape[0] != 1 or shape[1] not in _MODES:
        raise ExportError(
            f"sample '{file}' holds pixels, and the input is {_shown(shape)}, no image of one or three channels",
            "give the input itself as float32, in ONNX layout",
        )
    return shape[2], shape[3], shape[1]


def _pixels(file: Path, array: Array, dims: tuple[int, int, int]) -> Array:
    if array.shape != dims and not (dims[2] == 1 and array.shape == dims[:2]):
        raise ExportError(
            f"sample '{file}' is uint8 and {_shown(array.shape)}, the input takes {_shown(dims)} pixels "
            "(height, width, channel)",
            "resize it, or save it as a picture, which is resized here",
        )
    return array.reshape(dims)


def _picture(file: Path, dims: tuple[int, int, int]) -> Array:
    try:
        from PIL import Image
    except ModuleNotFoundError:
        raise ExportError(
            f"'{file}' is a picture, and Pillow is not installed", "pip install pillow, or give .npy files"
        ) from None
    height, width, channels = dims
    try:
        with Image.open(file) as picture:
            resized = picture.convert(_MODES[channels]).resize((width, height), Image.Resampling.BILINEAR)
    # What Pillow raises for damaged files depends on their format.
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ExportError(f"cannot read the picture '{file}' ({reason})", "save it again, or remove it") from error
    return np.asarray(resized).reshape(dims)


def _shown(dims: Sequence[int]) -> str:
    return "x".join(map(str, dims)) or "scalar"
