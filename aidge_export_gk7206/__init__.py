# SPDX-License-Identifier: EPL-2.0
"""Eclipse Aidge plugin for the Canaan K230 and the Goke GK7206.

Importing it registers the targets and the export libraries ``export_xnnpack`` and ``export_gk7206``; from then on
Aidge's own ``aidge_core.export_utils.export()`` works for them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aidge_export_gk7206 import project, targets, xnnpack
from aidge_export_gk7206.errors import ExportError

if TYPE_CHECKING:
    from aidge_export_gk7206.npu.preprocessing import Preprocessing
    from aidge_export_gk7206.offloading import graph_from_xmm
    from aidge_export_gk7206.offloading_graph import offload
    from aidge_export_gk7206.preparation import prepare

__all__ = ["ExportError", "Preprocessing", "graph_from_xmm", "offload", "prepare", "project", "targets", "xnnpack"]

#: Names that are imported when they are asked for: the ONNX tools behind them take most of a second, and running an
#: export needs none of them.
_LATE = {
    "Preprocessing": "npu.preprocessing",
    "graph_from_xmm": "offloading",
    "offload": "offloading_graph",
    "prepare": "preparation",
}


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
