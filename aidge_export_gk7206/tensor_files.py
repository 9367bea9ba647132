# SPDX-License-Identifier: EPL-2.0
"""Tensors in NumPy files, and whether they are what a model takes."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.export_folder import TensorDescription


def load_array(path: str | Path) -> npt.NDArray[np.generic]:
    """Reads a ``.npy`` file.

    :param path: The file.
    :type path: str | Path
    :return: The array.
    :rtype: numpy.ndarray
    :raises ExportError: There is no such file, or it holds something else.
    """
    try:
        array = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise ExportError(f"no file '{path}'", "check the name") from None
    except (OSError, ValueError, EOFError) as error:
        raise ExportError(f"cannot read '{path}' as .npy ({error})", "write it with numpy.save(file, array)") from error
    if not isinstance(array, np.ndarray):
        raise ExportError(f"'{path}' is an archive of arrays", "write each array with numpy.save(file, array)")
    return array


def check_arrays(
    arrays: Sequence[npt.NDArray[np.generic]],
    tensors: Sequence[TensorDescription],
    kind: str,
    origins: Sequence[str] = (),
) -> None:
    """Makes sure that arrays are what the model's tensors are.

    :param arrays: Arrays in ONNX layout.
    :type arrays: Sequence[numpy.ndarray]
    :param tensors: Inputs or outputs of the model.
    :type tensors: Sequence[TensorDescription]
    :param kind: ``"input"`` or ``"output"``, for messages.
    :type kind: str
    :param origins: Where each array comes from, for messages.
    :type origins: Sequence[str]
    :raises ExportError: Their number, a shape or a type differs.
    """
    if len(arrays) != len(tensors):
        names = ", ".join(f"'{tensor.name}'" for tensor in tensors)
        raise ExportError(f"{len(arrays)} {kind}s for the model's {len(tensors)}", f"one each for {names}")
    for i, (array, tensor) in enumerate(zip(arrays, tensors, strict=True)):
        where = f" ({origins[i]})" if i < len(origins) else ""
        if array.shape != tensor.shape:
            raise ExportError(
                f"{kind} '{tensor.name}'{where} has shape {list(array.shape)}",
                f"the model's is {list(tensor.shape)}, in the layout of the ONNX file",
            )
        if array.dtype != np.dtype(tensor.dtype):
            raise ExportError(
                f"{kind} '{tensor.name}'{where} is {array.dtype}",
                f"the model's is {tensor.dtype}; convert it with array.astype('{tensor.dtype}')",
            )


def save_archive(path: str | Path, arrays: dict[str, npt.NDArray[np.generic]]) -> None:
    """Writes a ``.npz`` file that :func:`numpy.load` reads.

    :param path: The file; replaced when it exists.
    :type path: str | Path
    :param arrays: Arrays by name; any name, which :func:`numpy.savez` does not allow.
    :type arrays: dict[str, numpy.ndarray]
    :raises ExportError: It cannot be written.
    """
    try:
        with zipfile.ZipFile(path, "w") as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
    except OSError as error:
        raise ExportError(f"cannot write '{path}' ({error.strerror})", "choose another --output") from error
