# SPDX-License-Identifier: EPL-2.0
"""Turns ONNX nodes into kernel operators. The rules themselves are in the lower_*.py modules."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx_ir as ir

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.preparation.kernel_graph import (
    Array,
    Dims,
    Form,
    KernelGraph,
    Op,
    Port,
    Tensor,
    Value,
    channels_last,
    permuted,
    plain,
    reshaped_perm,
    same_bytes,
    size,
)
from aidge_export_gk7206.preparation.small_layers import close_gaps, merge_groups

INFINITY = float("inf")


#: Operators that leave the bytes as they are.
_VIEWS = frozenset({"Cast", "Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})


class Unsupported(Exception):  # noqa: N818 - it is caught, never shown
    """No kernel operator serves this node; the message says why."""


Rule = Callable[["Lowering", ir.Node], None]
_RULES: dict[str, Rule] = {}
_OTHER_RULES: dict[tuple[str, str], Rule] = {}


def lowers(*op_types: str, domain: str = "") -> Callable[[Rule], Rule]:
    """Registers the rule for operators, those of ONNX where no domain is given."""

    def register(rule: Rule) -> Rule:
        for op_type in op_types:
            if domain:
                _OTHER_RULES[domain, op_type] = rule
            else:
                _RULES[op_type] = rule
        return rule

    return register


def rule_for(node: ir.Node) -> Rule | None:
    """The rule that lowers a node, None when there is none."""
    if node.domain in ("", "ai.onnx"):
        return _RULES.get(node.op_type)
    return _OTHER_RULES.get((node.domain, node.op_type))


class Lowering:
    """State of one lowering: what has been emitted, and in which forms every value is at hand."""

    def __init__(self, model: ir.Model) -> None:
        self.model = model
        self.opset = model.opset_imports.get("", 1)
        self.ops: list[Op] = []
        self._values: dict[ir.Value, Value] = {}
        self._outputs = set(model.graph.outputs)

    # ---- values --------------------------------------------------------------------------------------------------

    def value(self, source: ir.Value | None) -> Value:
        """The value behind an input or output of a node.

        :raises Unsupported: It is absent, or its shape or type is not known.
        """
        if source is None:
            raise Unsupported("an input is missing")
        if source not in self._values:
            constant = None if source.const_value is None else source.const_value.numpy()
            shape = source.shape if constant is None else ir.Shape(constant.shape)
            dims = () if shape is None else tuple(dim for dim in shape if isinstance(dim, int))
            if shape is None or len(dims) != len(shape):
                raise Unsupported(f"the shape of '{source.name}' is not known{'' if shape is None else f' ({shape})'}")
            if constant is None and source.dtype not in (ir.DataType.FLOAT, None) and not _is_raw(source):
                raise Unsupported(f"'{source.name}' is {source.dtype}, only float32 is supported")
            if size(dims) == 0:
                # Nothing needs to compute what has no elements.
                constant = np.zeros(dims, np.float32)
            self._values[source] = Value(
                source.name or "",
                dims,
                len(source.uses()) + (source in self._outputs),
                constant,
            )
        return self._values[source]

    def knows(self, source: ir.Value) -> bool:
        """Whether something has been lowered that computes a value."""
        value = self._values.get(source)
        if source.const_value is not None:
            return True
        return value is not None and (bool(value.forms) or value.view_of is not None or value.constant is not None)

    def has(self, node: ir.Node, index: int) -> bool:
        """Whether an optional input of a node is there."""
        return index < len(node.inputs) and node.inputs[index] is not None

    def constant(self, node: ir.Node, index: int) -> Array | None:
        """Values of an input that is known at export, None otherwise."""
        return self.value(node.inputs[index]).constant if self.has(node, index) else None

    def need_constant(self, node: ir.Node, index: int, what: str) -> Array:
        """Values of an input that must be known at export.

        :raises Unsupported: They are not.
        """
        if not self.has(node, index):
            raise Unsupported(f"{what} must be given")
        array = self.constant(node, index)
        if array is None:
            raise Unsupported(f"{what} must be known at export, not computed by the model")
        return array

    def ints(self, node: ir.Node, name: str, index: int | None, default: Sequence[int] | None) -> list[int] | None:
        """Integers that are an attribute in some opsets and an input in others."""
        if name in node.attributes:
            attribute = node.attributes[name]
            return list(attribute.as_ints()) if attribute.type == ir.AttributeType.INTS else [attribute.as_int()]
        if index is not None and self.has(node, index):
            return [int(v) for v in self.need_constant(node, index, name).reshape(-1)]
        return None if default is None else list(default)

    # ---- forms ---------------------------------------------------------------------------------------------------

    def forms(self, value: Value) -> list[Form]:
        """The forms in which a value is at hand; at least one."""
        if not value.forms:
            if value.constant is not None:
                value.forms.append(Form(_constant_tensor(value.constant), plain(len(value.shape))))
            elif value.view_of is not None:
                value.forms.append(self._moved(value.view_of, value))
            else:
                raise Unsupported(f"'{value.name}' is not float32")
        return value.forms

    def _moved(self, source: Value, target: Value) -> Form:
        """A reshaped value whose bytes have to move: channels last where one transpose can do that."""
        for perm in (channels_last(len(target.shape)), plain(len(target.shape))):
            before = reshaped_perm(target.shape, source.shape, perm)
            if before is not None:
                return Form(self.form(source, before), perm)
        return Form(self.form(source, plain(len(source.shape))), plain(len(target.shape)))

    def form(self, value: Value, perm: Dims) -> Tensor:
        """A tensor that holds ``numpy.transpose(value, perm)``; emits a transpose when none is at hand."""
        if value.constant is not None:
            return _constant_tensor(np.transpose(value.constant, perm))
        for form in self.forms(value):
            if same_bytes(value.shape, form.perm, perm):
                return form.tensor
        source = value.forms[0]
        # Axes of the source are positions in its own order.
        order = [source.perm.index(axis) for axis in perm]
        tensor = Tensor(permuted(value.shape, perm))
        dims = permuted(value.shape, source.perm)
        self.ops.append(
            Op(
                "XnnTranspose",
                [source.tensor],
                [tensor],
                {"in_dims": list(dims), "perm": order},
                f"{value.name} (layout)",
                "Transpose",
            )
        )
        value.forms.append(Form(tensor, perm))
        return tensor

    def natural(self, value: Value) -> Form:
        """The form that costs nothing; channels last when there is a choice."""
        if value.constant is not None:
            perm = plain(len(value.shape))
            return Form(self.form(value, perm), perm)
        forms = self.forms(value)
        wanted = channels_last(len(value.shape))
        return next((form for form in forms if form.perm == wanted), forms[0])

    def broadcast(self, value: Value, rank: int, perm: Dims) -> tuple[Tensor, Dims]:
        """A tensor and its dims for numpy broadcasting against values of ``rank`` axes in the order ``perm``."""
        missing = rank - len(value.shape)
        own = tuple(axis - missing for axis in perm if axis >= missing)
        dims = tuple(value.shape[axis - missing] if axis >= missing else 1 for axis in perm)
        return self.form(value, own), dims

    # ---- results -------------------------------------------------------------------------------------------------

    def emit(self, node: ir.Node, type_: str, inputs: list[Tensor], shape: Dims, /, **attrs: Any) -> Tensor:
        """Adds a kernel operator with one output and returns that; ``origin`` names the ONNX operators it serves.

        :raises Unsupported: An input has no elements.
        """
        if any(size(source.dims) == 0 for source in inputs):
            raise Unsupported("an input is empty, one of its sizes is 0")
        tensor = Tensor(tuple(int(dim) for dim in shape))
        origin = attrs.pop("origin", node.op_type)
        self.ops.append(Op(type_, inputs, [tensor], attrs, layer_name(node), origin))
        return tensor

    def define(self, target: ir.Value | Value, tensor: Tensor, perm: Dims) -> None:
        """Says that a tensor holds ``numpy.transpose(target, perm)``."""
        value = target if isinstance(target, Value) else self.value(target)
        assert size(tensor.dims) == size(value.shape), f"{tensor.dims} cannot hold {value.shape}"
        value.forms.append(Form(tensor, perm))

    def temporary(self, name: str, shape: Dims) -> Value:
        """A value that the ONNX model does not have, for rules that work in several steps."""
        return Value(name, shape)

    def scalar(self, number: float) -> Value:
        """A constant without axes."""
        return Value("scalar", (), constant=np.full((), number, np.float32))

    def alias(self, source: Value, target: Value, forms: list[Form]) -> None:
        """Gives a value forms that are another value's bytes."""
        for form in forms:
            form.tensor.shared = form.tensor.shared or source.uses > 1
        target.forms += forms

    def reshape(self, source: Value, target: Value) -> None:
        """Lets a value be the reshaped source; moves bytes only when asked for a form that needs it.

        :raises Unsupported: They differ in size: the model is wrong.
        """
        if size(source.shape) != size(target.shape):
            raise Unsupported(f"{list(source.shape)} cannot become {list(target.shape)}")
        if source.constant is not None:
            target.constant = source.constant.reshape(target.shape)
            return
        shared = False
        while not source.forms and source.view_of is not None:
            # A reshaped value reshaped once more is the first one reshaped.
            shared, source = shared or source.uses > 1, source.view_of
        views = [
            Form(form.tensor, perm)
            for form in self.forms(source)
            if (perm := reshaped_perm(source.shape, target.shape, form.perm)) is not None
        ]
        for view in views:
            view.tensor.shared = view.tensor.shared or shared
        if views:
            self.alias(source, target, views)
        else:
            target.view_of = source

    def note_values(self) -> None:
        """Writes into every tensor which values of the model it is."""
        for source, value in self._values.items():
            for form in value.forms:
                if value.constant is None and value.name and not self._is_overtaken(source, form.tensor):
                    form.tensor.values.append((value.name, value.shape, form.perm))

    def _is_overtaken(self, source: ir.Value, tensor: Tensor) -> bool:
        """Whether a value's reader has been fused into what computes it, so that the tensor is another value by now."""
        results = (
            self._values[result]
            for user, _ in source.uses()
            if user.op_type not in _VIEWS
            for result in user.outputs
            if result in self._values
        )
        return any(form.tensor is tensor for result in results for form in result.forms)

    def sole_producer(self, value: Value, *types: str) -> Op | None:
        """The operator that computes a value for one consumer only, if it is of one of these types."""
        if value.uses != 1 or value.constant is not None or len(value.forms) != 1:
            return None
        tensor = value.forms[0].tensor
        return tensor.op if tensor.op is not None and not tensor.shared and tensor.op.type in types else None


def _is_raw(source: ir.Value) -> bool:
    """Whether an input goes to other operators than ONNX's only, which take its type."""
    return source.dtype == ir.DataType.UINT8 and all(
        (user.domain, user.op_type) in _OTHER_RULES for user, _ in source.uses()
    )


def layer_name(node: ir.Node) -> str:
    """Name of a node, or of its first output where the model does not name nodes."""
    return node.name or (node.outputs[0].name if node.outputs else None) or node.op_type


def _constant_tensor(array: Array) -> Tensor:
    data = np.ascontiguousarray(array, dtype=np.float32)
    return Tensor(data.shape, constant=data)


def output_form(lowering: Lowering, value: Value) -> Form:
    """The form in which the program gives an output: channels last where it is, ONNX order otherwise."""
    rank = len(value.shape)
    form = lowering.natural(value)
    for perm in (plain(rank), channels_last(rank)):
        if same_bytes(value.shape, form.perm, perm):
            return Form(form.tensor, perm)
    return Form(lowering.form(value, plain(rank)), plain(rank))


def finish(lowering: Lowering, name: str, inputs: list[Port], vector_channels: int) -> KernelGraph:
    """Collects outputs, drops what nothing reads, closes gaps that small layers leave."""
    outputs: list[Port] = []
    for source in lowering.model.graph.outputs:
        if source.dtype not in (ir.DataType.FLOAT, None):
            raise ExportError(f"output '{source.name}' is {source.dtype}, only float32 is supported", "remove it")
        value = lowering.value(source)
        if size(value.shape) == 0:
            outputs.append(_empty_output(lowering, value, inputs[0]))
            continue
        form = output_form(lowering, value)
        tensor = form.tensor
        if tensor.op is None or any(tensor is port.tensor for port in outputs):
            # An output that is an input, a constant or another output needs bytes of its own.
            copy = Tensor(permuted(value.shape, form.perm))
            dims = [1, int(np.prod(value.shape, dtype=np.int64))]
            lowering.ops.append(Op("XnnCopy", [tensor], [copy], {"dims": dims}, source.name or "", "Identity"))
            tensor = copy
        outputs.append(Port(source.name or "", value.shape, form.perm, tensor))
    lowering.note_values()
    needed = {id(port.tensor) for port in outputs}
    kept: list[Op] = []
    for op in reversed(lowering.ops):
        if any(id(tensor) in needed for tensor in op.outputs):
            kept.append(op)
            needed.update(id(tensor) for tensor in op.inputs)
    kept = _anchored(kept, inputs[0])
    kept += [_fan_out(port, kept) for port in inputs if _readers(port.tensor, kept) > 1]
    tensors = [port.tensor for port in outputs]
    merge_groups(kept, vector_channels)
    ops = close_gaps(kept[::-1], tensors, vector_channels)
    outputs = [replace(port, tensor=tensor) for port, tensor in zip(outputs, tensors, strict=True)]
    return KernelGraph(name, inputs, outputs, ops)


def _empty_output(lowering: Lowering, value: Value, port: Port) -> Port:
    """An output without elements: nothing, split off the model's input."""
    rest, nothing = Tensor(port.tensor.dims), Tensor(value.shape)
    attrs = {"outer": 1, "inners": [size(rest.dims), 0]}
    lowering.ops.append(Op("XnnSplit", [port.tensor], [rest, nothing], attrs, value.name, "Constant"))
    return Port(value.name, value.shape, plain(len(value.shape)), nothing)


def _anchored(ops: list[Op], port: Port) -> list[Op]:
    """Operators, last first, none of which reads constants alone: Aidge would try to compute it itself, and fail.

    A copy that is given the model's input as well, which it does not look at, stands between.
    """
    result: list[Op] = []
    for op in ops:
        result.append(op)
        if all(source.constant is not None for source in op.inputs):
            copy = op
            if op.type != "XnnCopy":
                passed = Tensor(op.inputs[0].dims)
                dims = {"dims": [1, size(passed.dims)]}
                copy = Op("XnnCopy", op.inputs[:1], [passed], dims, f"{op.layer} (constant)", "Constant")
                op.inputs[0] = passed
                result.append(copy)
            copy.inputs.append(port.tensor)
    return result


def _readers(tensor: Tensor, ops: list[Op]) -> int:
    return sum(source is tensor for op in ops for source in op.inputs)


def _fan_out(port: Port, ops: list[Op]) -> Op:
    """An operator that is the only reader of an input and passes it on: Aidge wants one reader."""
    passed = Tensor(port.tensor.dims)
    for op in ops:
        op.inputs = [passed if source is port.tensor else source for source in op.inputs]
    return Op("XnnInput", [port.tensor], [passed], {}, port.name, "Input")
