# SPDX-License-Identifier: EPL-2.0
"""Rewrites of the ONNX model before it is lowered; each does one thing."""

import logging
from collections.abc import Mapping, Sequence

import numpy as np
import onnx_ir as ir
from onnx_ir.passes import common
from onnxscript import optimizer
from onnxscript.rewriter import pattern, rewrite

from aidge_export_gk7206.errors import ExportError


def drop_constant_inputs(model: ir.Model) -> None:
    """Initializers that are listed as inputs (old IR versions) are constants, not inputs."""
    constants = set(model.graph.initializers)
    inputs = [value for value in model.graph.inputs if value.name not in constants]
    model.graph.inputs.clear()
    model.graph.inputs.extend(inputs)


def name_nodes(model: ir.Model) -> None:
    """Gives nodes without a name that of their first output: it is what messages call them, and people can find."""
    for node in model.graph:
        if not node.name and node.outputs:
            node.name = node.outputs[0].name


def fix_dims(model: ir.Model, shapes: Mapping[str, Sequence[int]]) -> None:
    """Gives every input its final shape: the one asked for, or the model's own with 1 for a free batch size.

    :param shapes: Shapes by input name; the name ``""`` stands for the only input.
    :raises ExportError: A size other than the batch is not known, or contradicts the model.
    """
    names = [value.name or "" for value in model.graph.inputs]
    for name in shapes:
        if name not in ("", *names):
            raise ExportError(f"the model has no input '{name}'", f"it has {', '.join(map(repr, names)) or 'none'}")
    if len({tuple(shape) for name, shape in shapes.items() if name in ("", *names[:1])}) > 1:
        raise ExportError(f"input '{names[0]}' is given two shapes", "leave one of them out (--shape, --input)")
    for value in model.graph.inputs:
        wanted = shapes.get(value.name or "", shapes.get("") if len(model.graph.inputs) == 1 else None)
        dims = None if value.shape is None else [d if isinstance(d, int) and d > 0 else None for d in value.shape]
        if wanted is not None:
            if dims is not None and (
                len(dims) != len(wanted) or any(d not in (None, w) for d, w in zip(dims, wanted, strict=True))
            ):
                shown = "x".join("?" if d is None else str(d) for d in dims) or "a scalar"
                raise ExportError(
                    f"input '{value.name}' is {shown} in the model, not {'x'.join(map(str, wanted)) or 'a scalar'}",
                    "give a shape or a sample that fits, in the layout of the ONNX file",
                )
            if 0 in wanted:
                raise ExportError(f"input '{value.name}' would be empty", "give a shape without 0")
            value.shape = ir.Shape(list(wanted))
            continue
        if dims is None or any(d is None for d in dims[1:]):
            shown = "unknown" if value.shape is None else "x".join("?" if d is None else str(d) for d in dims or [])
            raise ExportError(
                f"input '{value.name}' has no fixed shape ({shown})",
                "give the shape that the program is to work on (--shape 1,3,48,192), or a sample (--input FILE.npy)",
            )
        value.shape = ir.Shape([d or 1 for d in dims])


def silence_onnxscript() -> None:
    """Its optimizer comments on every initializer it leaves alone; what is wrong with a model is said elsewhere."""
    for library in ("onnx_ir", "onnxscript"):
        logging.getLogger(library).setLevel(logging.ERROR)


def fold_constants(model: ir.Model) -> None:
    """Computes what depends on no input; drops dead nodes; merges BatchNormalization into convolutions."""
    _shapes_of_intermediates_are_stale(model)
    limits = {"input_size_limit": 1 << 40, "output_size_limit": 1 << 40}
    try:
        optimizer.optimize(model, num_iterations=2, onnx_shape_inference=True, **limits)
    except ir.passes.PassError:
        # One of onnxscript's rewrites, which only save work, cannot cope with the model (a Pad of opset 10, say).
        optimizer.fold_constants(model, onnx_shape_inference=True, **limits)
        optimizer.remove_unused_nodes(model)
        common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)


def _shapes_of_intermediates_are_stale(model: ir.Model) -> None:
    """Forgets inferred shapes, which may hold for other input sizes than those asked for."""
    for node in model.graph:
        if node.domain not in ("", "ai.onnx"):
            continue  # nothing infers those of others
        for value in node.outputs:
            value.shape = None


def fuse_patterns(model: ir.Model) -> None:
    """Finds activations that exporters write as several nodes."""
    rewrite(model, pattern_rewrite_rules=pattern.RewriteRuleSet(_RULES, commute=True))


def _is(value: ir.Value, number: float, x: ir.Value) -> bool:
    """Whether a value is a constant close to a number that gives no axes to what it is combined with.

    :param x: What that is.
    """
    array = None if value.const_value is None else value.const_value.numpy()
    if array is None or array.size != 1 or array.ndim > (0 if x.shape is None else len(x.shape)):
        return False
    return bool(np.isclose(float(array.reshape(())), number, rtol=1e-5))


def _hard_swish(op, x, three, zero, six, divisor):  # type: ignore[no-untyped-def]
    return op.Div(op.Mul(x, op.Clip(op.Add(x, three), zero, six)), divisor)


def _hard_swish_divided(op, x, three, zero, six, divisor):  # type: ignore[no-untyped-def]
    return op.Mul(x, op.Div(op.Clip(op.Add(x, three), zero, six), divisor))


def _is_hard_swish(context, x, three, zero, six, divisor, **_) -> bool:  # type: ignore[no-untyped-def]
    return _is(three, 3, x) and _is(zero, 0, x) and _is(six, 6, x) and _is(divisor, 6, x)


def _to_hard_swish(op, x, **_):  # type: ignore[no-untyped-def]
    return op.HardSwish(x)


def _gelu(op, x, root, one, half):  # type: ignore[no-untyped-def]
    return op.Mul(op.Mul(x, op.Add(op.Erf(op.Div(x, root)), one)), half)


def _gelu_halved(op, x, root, one, half):  # type: ignore[no-untyped-def]
    return op.Mul(x, op.Mul(op.Add(op.Erf(op.Div(x, root)), one), half))


def _gelu_half_first(op, x, root, one, half):  # type: ignore[no-untyped-def]
    return op.Mul(op.Mul(x, half), op.Add(op.Erf(op.Div(x, root)), one))


def _is_gelu(context, x, root, one, half, **_) -> bool:  # type: ignore[no-untyped-def]
    return _is(root, float(np.sqrt(2)), x) and _is(one, 1, x) and _is(half, 0.5, x)


def _to_gelu(op, x, **_):  # type: ignore[no-untyped-def]
    return op.Gelu(x)


_RULES = [
    *(pattern.RewriteRule(p, _to_hard_swish, _is_hard_swish) for p in (_hard_swish, _hard_swish_divided)),
    *(pattern.RewriteRule(p, _to_gelu, _is_gelu) for p in (_gelu, _gelu_halved, _gelu_half_first)),
]
