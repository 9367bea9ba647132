# SPDX-License-Identifier: EPL-2.0
"""What the export nodes of all operators share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import aidge_core
import numpy as np
import numpy.typing as npt
from aidge_core.export_utils import ExportNodeCpp

from aidge_export_gk7206 import parameters
from aidge_export_gk7206.assets import asset
from aidge_export_gk7206.code_text import c_comment, c_float, c_list, c_string
from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.layer_call import LayerCall
from aidge_export_gk7206.xnnpack.fallbacks import check_neighbours
from aidge_export_gk7206.xnnpack.kernel import kernel_of, layer_name
from aidge_export_gk7206.xnnpack.library import ExportLibXNNPack

_LIBRARY = ExportLibXNNPack._name


@dataclass(frozen=True)
class Parameter:
    """A constant array of the program: a C symbol of ``size`` floats."""

    symbol: str
    size: int


def has_foreign_readers(node: aidge_core.Node, index: int = 0) -> bool:
    """Whether a layer of another library reads an output."""
    return any(reader.get_operator().backend() != _LIBRARY for reader, _ in node.outputs()[index])


def memory_macros(name: str, entry: dict[str, Any]) -> list[str]:
    """What a layer of export_cpp wants to know about the memory of its input.

    :param name: C name of the pointer to it.
    :param entry: Its entry in the memory plan.
    """
    values = {
        "SIZE": entry["size"],
        "OFFSET": entry["offset"],
        "STRIDE": entry["stride"],
        "LENGTH": entry["length"],
        # Nothing wraps around.
        **dict.fromkeys(("CONT_OFFSET", "CONT_SIZE", "WRAP_OFFSET", "WRAP_SIZE"), 0),
    }
    return [f"#define {name.upper()}_MEM_{key} {value}" for key, value in values.items()]


class XnnNode(ExportNodeCpp):
    """Export node of a kernel operator.

    A subclass names its C++ context, its template, and fills the template's variables in :meth:`configure`.

    :ivar kernel: The kernel operator that the node is.
    :cvar context: C++ class in runtime/xnnpack; its configuration struct is called ``<context>Config``.
    :cvar header: Header of that class, relative to ``dnn/include``.
    :cvar template: File in templates/xnnpack that renders the layer's header.
    :cvar takes_strides: Whether inputs and outputs may be strided views of larger tensors.
    """

    context: ClassVar[str]
    header: ClassVar[str]
    template: ClassVar[str]
    takes_strides: ClassVar[bool] = False

    def __init__(
        self, node: aidge_core.Node, mem_info: list[dict[str, Any]], instance_count: int | None = None
    ) -> None:
        super().__init__(node, mem_info, instance_count)
        self.kernel = kernel_of(node)
        check_neighbours(node)
        # Aidge has put the dims of its tensors in place of the kernel's own in_dims and out_dims.
        self.attributes.update(self.kernel.attrs)
        self.attributes["in_name"] = [self.attributes["in_name"][index] for index in self.kernel.inputs]
        self.inputs: list[aidge_core.Node | None] = [node.input(index)[0] for index in self.kernel.inputs]
        self.config_template = str(asset("templates", "xnnpack", self.template))
        self.config_extension = "hpp"
        self.include_list: list[str] = []
        self.kernels_to_copy: list[dict[str, Any]] = []
        self.parameters: dict[str, npt.NDArray[np.float32]] = {}
        self.mem_info = mem_info
        layer = str(self.attributes.get("layer") or layer_name(node))
        origin = str(self.attributes.get("origin") or node.type())
        self.attributes.update(
            layer=layer,
            origin=origin,
            context=self.context,
            header=self.header,
            layer_literal=c_string(layer),
            title=c_comment(f'{origin} "{layer}"'),
            c_float=c_float,
            c_list=c_list,
        )
        self.configure()
        # Also makes constants among them part of the program.
        self._run_inputs = self.run_inputs()
        self.attributes["parameters"] = [Parameter(name, a.size) for name, a in self.parameters.items()]
        self.attributes["macros"] = [
            line
            for index, name in enumerate(self.run_outputs())
            if has_foreign_readers(node, index)
            for line in memory_macros(name, mem_info[index])
        ]

    def configure(self) -> None:
        """Checks the attributes and fills the variables of the template.

        :raises ExportError: The operator cannot be served as asked for.
        """

    # ---- what subclasses use -----------------------------------------------------------------------------------

    def who(self) -> str:
        """The layer, as messages name it."""
        return f"layer '{self.attributes['layer']}' ({self.attributes['origin']})"

    def attr(self, name: str) -> Any:
        """Attribute of the kernel operator.

        :raises ExportError: It is missing.
        """
        if name not in self.attributes:
            raise ExportError(
                f"layer '{self.node.name()}' ({self.node.type()}) lacks attribute '{name}'",
                "make the graph with aidge_export_gk7206.prepare()",
            )
        return self.attributes[name]

    def constant(self, index: int) -> npt.NDArray[np.float32] | None:
        """Values of a constant input, None when the input is absent or computed."""
        if index in self.kernel.constants:
            return np.asarray(self.kernel.constants[index](), dtype=np.float32)
        parent = self.inputs[index] if index < len(self.inputs) else None
        if parent is None or parent.type() != "Producer":
            return None
        return np.asarray(self.operator.get_input(self.kernel.inputs[index]), dtype=np.float32)

    def add_parameter(self, role: str, array: npt.NDArray[np.float32]) -> str:
        """Makes an array part of the program and returns its C symbol."""
        symbol = f"{self.attributes['name']}_{role}"
        self.parameters[symbol] = np.ascontiguousarray(array, dtype=np.float32)
        return symbol

    def input_stride(self, index: int, dense: int) -> int:
        """Elements from one pixel of an input to the next; ``dense`` where nothing was planned."""
        strides = self.mem_info[0].get("input_strides", []) if self.mem_info else []
        source = self.kernel.inputs[index]
        return int(strides[source] if source < len(strides) else 0) or dense

    def output_stride(self, index: int, dense: int) -> int:
        """Elements from one pixel of an output to the next; ``dense`` where nothing was planned."""
        return int(self.mem_info[index].get("pixel_stride", 0)) or dense

    def packed_channels(self, channels: int) -> int:
        """Output channels to compute: more than ``channels`` where the plan leaves room for zeros."""
        return int(self.mem_info[0].get("packed_channels", 0) if self.mem_info else 0) or channels

    def operand(self, index: int) -> str:
        """C++ expression of the pointer to an input; a constant becomes part of the program."""
        array = self.constant(index)
        return str(self.attributes["in_name"][index]) if array is None else self.add_parameter(f"input_{index}", array)

    def run_inputs(self) -> list[str]:
        """C++ expressions of the pointers that ``run()`` reads: by default the first input."""
        return [self.operand(0)]

    def run_outputs(self) -> list[str]:
        """C++ expressions of the pointers that ``run()`` writes."""
        return [str(name) for name in self.attributes["out_name"][: self.kernel.outputs]]

    def run_arguments(self, inputs: list[str], outputs: list[str]) -> str:
        """Arguments of ``run()``: by default the inputs, then the outputs."""
        return ", ".join([*inputs, *outputs])

    # ---- what Aidge calls --------------------------------------------------------------------------------------

    def export(self, export_folder: str | Path) -> list[str]:
        for symbol, array in self.parameters.items():
            parameters.write(Path(export_folder), symbol, array)
        return list(super().export(export_folder))

    def forward(self) -> list[str]:
        declarations = [
            f"float* const {name} = reinterpret_cast<float*>(mem_{self._component(i)} + {self.mem_info[i]['offset']});"
            for i, name in enumerate(self.run_outputs())
        ]
        arguments = self.run_arguments(self._run_inputs, self.run_outputs())
        name = f"layers::{self.attributes['name']}"
        bindable = all(parent is not None and _is_fixed(parent) for parent in self.inputs[: len(self._run_inputs)])
        return [
            LayerCall(
                comment=str(self.attributes["title"]),
                profile_entry=self.profile_entry(),
                declarations=declarations,
                prepare=f"{name}.bind({arguments})" if bindable else f"{name}.init()",
                run=f"{name}.run({arguments})",
                unused=self._unused_outputs(),
            )
        ]

    def _unused_outputs(self) -> list[str]:
        """Declarations of pointers to outputs that the kernel does not compute."""
        kinds, names = self.attributes["out_cdtype"], self.attributes["out_name"]
        return [
            f"[[maybe_unused]] {kinds[i]}* const {names[i]} = "
            f"reinterpret_cast<{kinds[i]}*>(mem_{self._component(i)} + {self.mem_info[i]['offset']});"
            for i in range(self.kernel.outputs, len(names))
        ]

    def profile_entry(self) -> str:
        """Name, operators and library of the layer as C++ literals."""
        texts = (self.attributes["layer"], self.attributes["origin"], _LIBRARY)
        return ", ".join(c_string(str(text)) for text in texts)

    def _component(self, output: int) -> int:
        return int(self.mem_info[output].get("mem_component_id", 0))


def _is_fixed(parent: aidge_core.Node) -> bool:
    """Whether the pointer to a node's output is known before the first call."""
    if parent.type() == "Producer":
        return True
    return bool(parent.get_operator().backend() == _LIBRARY and kernel_of(parent).type != "XnnInput")
