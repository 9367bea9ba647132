# SPDX-License-Identifier: EPL-2.0
"""What is wrong with an export that Aidge gave up, in words that help."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt
import onnx

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.fallbacks import REMEDY

Array = npt.NDArray[Any]


def explained(error: Exception, step: str, model: Path, shapes: Mapping[str, Sequence[int]]) -> Exception:
    """An error of the way without XNNPACK, with a remedy that can be followed: to take the other way, if that works."""
    if isinstance(error, ExportError) and "prepare(" not in error.remedy:
        return error
    if isinstance(error, OSError):
        return error
    from aidge_export_gk7206.preparation import load, lower

    try:
        lower(load(model), model.stem, shapes)
    except ExportError as other:
        return other
    except Exception:
        return _invalid(model) or error
    return ExportError(_problem(error, step), "export with XNNPACK (--xnn)")


def _invalid(model: Path) -> ExportError | None:
    """What ONNX's own checker finds wrong with a model."""
    try:
        onnx.checker.check_model(str(model))
    except onnx.checker.ValidationError as invalid:
        reason = " ".join((str(invalid).strip().splitlines() or ["no reason given"])[0].split())
        return ExportError(f"{model}: not a valid ONNX model ({reason})", "check the file with onnx.checker")
    return None


def _problem(error: Exception, step: str) -> str:
    """What is wrong, in one line."""
    if isinstance(error, ExportError):
        return error.problem
    text = str(error).strip()
    if (missing := re.search(r"No implementation found for node ([^\n]*)\[(\w+)\]", text)) is not None:
        return f"layer '{missing.group(1)}' ({missing.group(2)}): export_cpp has no kernel for it"
    first = (text.splitlines() or ["no message"])[0].rstrip(" .:")
    return f"{first} ({type(error).__name__} in step '{step}')"


def check_outputs(described: list[dict[str, Any]], expected: list[Array]) -> None:
    """Refuses a program whose outputs are not the model's.

    :raises ExportError: Aidge has lost one, or its shape.
    """
    found = [(str(port["name"]), tuple(port["shape"])) for port in described]
    # Aidge has no scalars.
    if [shape or (1,) for _, shape in found] != [array.shape or (1,) for array in expected]:
        shapes = ", ".join(f"'{name}' {list(shape)}" for name, shape in found)
        wanted = ", ".join(str(list(array.shape)) for array in expected)
        raise ExportError(f"Aidge has lost track of the outputs: {shapes} instead of {wanted}", REMEDY)
