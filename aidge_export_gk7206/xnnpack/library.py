# SPDX-License-Identifier: EPL-2.0
"""The export library: Aidge's view of the XNNPACK kernels."""

import importlib.util
import sys
from typing import Any, ClassVar

import aidge_core
from aidge_core.export_utils import ExportLib
from aidge_export_cpp import CPP_ROOT

from aidge_export_gk7206.assets import asset

UPSTREAM_MODULE = "aidge_export_xnnpack"


def upstream_is_installed() -> bool:
    """Whether there is a module ``aidge_export_xnnpack`` that is not this package standing in for it."""
    loaded = sys.modules.get(UPSTREAM_MODULE)
    if loaded is not None:
        return loaded.__name__ != __package__
    return importlib.util.find_spec(UPSTREAM_MODULE) is not None


class _Unlisted(ExportLib):
    """Aidge finds libraries by name among the direct subclasses of ExportLib: one below this it does not find."""

    _name = "export_xnnpack_unlisted"


class ExportLibXNNPack(_Unlisted if upstream_is_installed() else ExportLib):  # type: ignore[misc]
    """XNNPACK operators, float32, channels last."""

    _name = "export_xnnpack"
    _default_dformat = aidge_core.dformat.nhwc
    # In the order in which Aidge's older adaptation looks for them.
    _fusion_list: ClassVar[list[str]] = []
    static_files: ClassVar[dict[str, str]] = {
        str(asset("cmake", "export_xnnpack.cmake")): "cmake",
        # Aidge's data headers include it, whichever library runs the layers.
        str(CPP_ROOT / "static" / "typedefs.hpp"): "dnn/include/utils/cpp",
    }
    static_folders: ClassVar[dict[str, str]] = {
        str(asset("cmake", "xnnpack")): "cmake/xnnpack",
        str(asset("runtime", "xnnpack")): "dnn/include/xnnpack",
    }

    def get_export_node(self, spec: aidge_core.ImplSpec) -> Any:
        """The export node of the operator, whether or not Aidge finds that the specification fits.

        Aidge settles on this library for want of a better one, too; the export node checks what it can serve.
        """
        found = super().get_export_node(spec)
        entries = self._export_node_registry.get(self.get_operator().type(), [])
        return found or (entries[0][1] if entries else None)


# One specification serves all kernel operators: prepare() has already made layouts explicit.
ANY_LAYOUT = aidge_core.ImplSpec(aidge_core.IOSpec(aidge_core.dtype.float32, aidge_core.dformat.any))
