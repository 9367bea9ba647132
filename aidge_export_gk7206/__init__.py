# SPDX-License-Identifier: EPL-2.0
"""Eclipse Aidge plugin for the Canaan K230 and the Goke GK7206.

Importing it registers the targets and the export library ``export_xnnpack``; from then on Aidge's own
``aidge_core.export_utils.export()`` works for them.
"""

from typing import TYPE_CHECKING, Any

from aidge_export_gk7206 import project, targets, xnnpack
from aidge_export_gk7206.errors import ExportError

if TYPE_CHECKING:
    from aidge_export_gk7206.preparation import prepare

__all__ = ["ExportError", "prepare", "project", "targets", "xnnpack"]


def __getattr__(name: str) -> Any:
    # The ONNX tools behind prepare() take most of a second to import; running an export needs none of them.
    if name == "prepare":
        from aidge_export_gk7206.preparation import prepare

        return prepare
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
