# SPDX-License-Identifier: EPL-2.0
"""Layouts and data types that operators take, as Aidge's adaptation reads them.

Only the data input is bound to a layout: constants are brought into order at export, whatever their label. Every
specification has an input more than the smallest operator that uses it, since Aidge takes one that is exactly what a
node asks for as one that does not fit.
"""

from collections.abc import Callable
from typing import Any

from aidge_core import ImplSpec, IOSpec, dformat, dtype
from aidge_export_cpp import ExportLibCpp

Condition = Callable[[Any], int]

_FREE = IOSpec(dtype.any, dformat.any)


def spec(source: dformat | list[dformat], target: dformat, *conditions: Condition) -> ImplSpec:
    """Float32 data inputs in their layouts, an output in a layout, everything else as it comes.

    :param source: Layout of the first input, or those of the first few.
    :param target: Layout of the output.
    :param conditions: Functions of the operator; all must say yes.
    """
    sources = source if isinstance(source, list) else [source]
    inputs = [*(IOSpec(dtype.float32, layout) for layout in sources), _FREE]
    return ImplSpec(inputs, [IOSpec(dtype.float32, target), _FREE], list(conditions))


IMAGE = spec(dformat.nhwc, dformat.nhwc)
SEQUENCE = spec(dformat.nwc, dformat.nwc)
#: ONNX order: Aidge transposes what is channels last.
PLAIN = spec(dformat.default, dformat.default)
#: Whatever layout the input has, the output has too.
ANY = spec(dformat.any, dformat.any)
#: A float64 input, which only constants of Aidge's own are.
DOUBLE = ImplSpec([IOSpec(dtype.float64), _FREE], [IOSpec(dtype.float32), _FREE])
#: All inputs, however many, in one layout.
ALIKE = ImplSpec([IOSpec(dtype.float32, dformat.any_1)], [IOSpec(dtype.float32, dformat.any_1)])


def recipes(*types: str) -> dict[str, str]:
    """Recipes of fused forms that export_cpp has too: Aidge knows one recipe per name, whichever library it is from."""
    return {type_: ExportLibCpp._fusion_registry[type_] for type_ in types}
