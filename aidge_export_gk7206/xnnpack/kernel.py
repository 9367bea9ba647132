# SPDX-License-Identifier: EPL-2.0
"""Which kernel operator a node of an Aidge graph is.

:func:`aidge_export_gk7206.prepare` makes nodes that say it themselves: their type and attributes are the kernel's. The
others are Aidge's own operators and the forms that its adaptation fuses them into; a translation, registered by
:func:`serves`, tells for each which kernel it is, with which attributes, and which of its inputs the kernel reads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import aidge_core
import numpy as np
import numpy.typing as npt

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.library import ExportLibXNNPack

Array = npt.NDArray[Any]

#: What to do about a graph that Aidge's importer or adaptation has left in a state that cannot be exported right.
PREPARE = 'prepare the ONNX file instead: aidge_export_gk7206.prepare("model.onnx")'

#: Annotation of the nodes of a mended graph: the names of all its outputs.
OUTPUT_NAMES = "model_output_names"


@dataclass(frozen=True)
class Kernel:
    """A kernel operator.

    :ivar type: Its type, e.g. ``"XnnConvolution"``.
    :ivar attrs: Its attributes.
    :ivar inputs: For each of its inputs the index of the node's input that it is.
    :ivar constants: Inputs whose values are made from constants of the graph; made when asked for.
    :ivar outputs: How many of the node's outputs it computes.
    """

    type: str
    attrs: dict[str, Any]
    inputs: Sequence[int]
    constants: dict[int, Callable[[], Array]] = field(default_factory=dict)
    outputs: int = 1


class Operators:
    """The elementary operators that one node of an adapted graph stands for, and where its inputs go.

    :ivar node: The node.
    """

    def __init__(self, node: aidge_core.Node) -> None:
        self.node = node
        self.operator = node.get_operator()
        self._inputs: dict[tuple[int, int], int] = {}
        self._nodes: list[aidge_core.Node] = []
        self._enter(node, list(range(node.get_nb_inputs())))

    def _enter(self, node: aidge_core.Node, inputs: list[int]) -> None:
        operator = node.get_operator()
        if not isinstance(operator, aidge_core.MetaOperatorOp):
            self._nodes.append(node)
            self._inputs.update({(node.id(), position): index for position, index in enumerate(inputs) if index >= 0})
            return
        micro_graph = operator.get_micro_graph()
        outer = {
            (inner.id(), position): index
            for (inner, position), index in zip(micro_graph.get_ordered_inputs(), inputs, strict=False)
        }
        for inner in micro_graph.get_ordered_nodes():
            self._enter(inner, [outer.get((inner.id(), i), -1) for i in range(inner.get_nb_inputs())])

    def find(self, *types: str) -> aidge_core.Node | None:
        """The operator of one of these types, None when there is none."""
        return next((node for node in self._nodes if node.type() in types), None)

    def get(self, *types: str) -> aidge_core.Node:
        """The operator of one of these types, which must be there."""
        node = self.find(*types)
        if node is None:
            raise ExportError(f"{self.who()} holds no {' or '.join(types)}", PREPARE)
        return node

    def input_of(self, inner: aidge_core.Node, position: int) -> int | None:
        """Which input of the node an input of one of its operators is; None when it is connected to nothing."""
        index = self._inputs.get((inner.id(), position))
        if index is None or (self.node.input(index)[0] is None and self.operator.is_optional_input(index)):
            return None
        return index

    def need(self, inner: aidge_core.Node, position: int, what: str) -> int:
        """Which input of the node an input of one of its operators is, which must be there.

        :param what: What the input is, for the message.
        """
        index = self.input_of(inner, position)
        if index is None:
            raise ExportError(f"{self.who()} has no {what}", PREPARE)
        return index

    def main_input(self, inner: aidge_core.Node) -> int:
        """Which input of the node the data input of one of its operators is."""
        index = self._inputs.get((inner.id(), 0))
        if index is None:
            raise ExportError(f"{self.who()}: {inner.type()} reads what another operator in it computes", PREPARE)
        return index

    def is_constant(self, index: int) -> bool:
        """Whether an input of the node is a constant."""
        parent = self.node.input(index)[0]
        return parent is not None and bool(parent.type() == "Producer")

    def constant(self, index: int, what: str) -> Array:
        """Values of an input of the node.

        :param what: What the input is, for the message.
        :raises ExportError: It is computed.
        """
        if not self.is_constant(index):
            raise ExportError(f"{self.who()}: {what} must be constant, not computed by the model", PREPARE)
        return np.array(self.operator.get_input(index))

    def dims(self, index: int) -> list[int]:
        """Dims of an input of the node, as they are in memory."""
        return [int(dim) for dim in self.operator.get_input(index).dims]

    def out_dims(self, index: int = 0) -> list[int]:
        """Dims of an output of the node, as they are in memory."""
        return [int(dim) for dim in self.operator.get_output(index).dims]

    def layout(self, index: int) -> aidge_core.dformat:
        """Aidge's label of an input of the node."""
        return self.operator.get_input(index).dformat

    def is_inserted(self) -> bool:
        """Whether Aidge has inserted the node to change a layout: it marks those that were there."""
        annotations = self.node.annotations()
        return not annotations.has_attr("adapter:og_node") and not annotations.has_attr("adaptRoot")

    def who(self) -> str:
        """The layer, as messages name it."""
        return f"layer '{layer_name(self.node)}' ({self.node.type()})"


def layer_name(node: aidge_core.Node) -> str:
    """Name of a node in the model: Aidge renames the nodes of an adapted graph, the operators inside keep theirs."""
    annotations = node.annotations()
    if annotations.has_attr("layer"):
        return str(annotations.get_attr("layer"))
    operator = node.get_operator()
    if isinstance(operator, aidge_core.MetaOperatorOp):
        inner = [one for one in operator.get_micro_graph().get_ordered_nodes() if one.type() != "Pad"]
        if inner:
            return layer_name(inner[0])
    return str(node.name())


Translation = Callable[[Operators], Kernel]
_TRANSLATIONS: dict[str, Translation] = {}


def is_served(node: aidge_core.Node) -> bool:
    """Whether a node of an adapted graph runs on this package's library."""
    return bool(node.type() != "Producer" and isinstance(node.get_operator().get_impl(), ExportLibXNNPack))


def kernel_of(node: aidge_core.Node) -> Kernel:
    """The kernel operator that a node is.

    :param node: A node that export_xnnpack runs.
    :type node: aidge_core.Node
    :return: Its kernel operator.
    :rtype: Kernel
    :raises ExportError: No kernel computes what the node does.
    """
    translation = _TRANSLATIONS.get(node.type())
    if translation is not None:
        return translation(Operators(node))
    attributes = node.get_operator().attr
    return Kernel(
        node.type(),
        {} if attributes is None else attributes.dict(),
        range(node.get_nb_inputs()),
        outputs=node.get_nb_outputs(),
    )


def serves(*types: str, specs: Sequence[aidge_core.ImplSpec]) -> Callable[[Translation], Translation]:
    """Registers a translation of Aidge's own operators.

    :param types: Types of Aidge's operators.
    :type types: str
    :param specs: Layouts and data types that it takes; Aidge adapts the graph to the first that needs nothing.
    :type specs: collections.abc.Sequence[aidge_core.ImplSpec]
    """

    def register(translation: Translation) -> Translation:
        for type_ in types:
            for spec in specs:
                ExportLibXNNPack.register(type_, spec)(_export_node)
            _TRANSLATIONS[type_] = translation
        return translation

    return register


def serves_fused(
    recipes: dict[str, str], *, specs: Sequence[aidge_core.ImplSpec]
) -> Callable[[Translation], Translation]:
    """Registers a translation of fused forms.

    :param recipes: For each type the recipe by which Aidge finds it in a graph.
    :type recipes: dict[str, str]
    :param specs: As for :func:`serves`.
    :type specs: collections.abc.Sequence[aidge_core.ImplSpec]
    """

    def register(translation: Translation) -> Translation:
        for type_, recipe in recipes.items():
            for spec in specs:
                ExportLibXNNPack.register_metaop(type_, recipe, spec)(_export_node)
            _TRANSLATIONS[type_] = translation
        # The longest forms first, which leave nothing for their parts.
        ExportLibXNNPack._fusion_list.extend(recipes)
        ExportLibXNNPack._fusion_list.sort(key=lambda name: (-ExportLibXNNPack._fusion_registry[name].count(">"), name))
        return translation

    return register


def serves_generic(type_: str, *, specs: Sequence[aidge_core.ImplSpec]) -> Callable[[Translation], Translation]:
    """Registers a translation of operators that Aidge imports without knowing them."""

    def register(translation: Translation) -> Translation:
        for spec in specs:
            ExportLibXNNPack.register_generic(type_, spec)(_export_node)
        _TRANSLATIONS[type_] = translation
        return translation

    return register


def export_node_class(kernel: str) -> Any:
    """The export node class of a kernel operator."""
    return ExportLibXNNPack._export_node_registry[kernel][0][1]


def _export_node(node: aidge_core.Node, mem_info: list[dict[str, Any]], instance_count: int | None = None) -> Any:
    """The export node of one of Aidge's operators: that of the kernel operator that it is."""
    return export_node_class(kernel_of(node).type)(node, mem_info, instance_count)
