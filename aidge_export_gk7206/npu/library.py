# SPDX-License-Identifier: EPL-2.0
"""The export library: Aidge's view of the NPU of the GK7206."""

from typing import ClassVar

import aidge_core
from aidge_core.export_utils import ExportLib

from aidge_export_gk7206.assets import asset

#: Type of the operator that stands for a region.
XMM_GRAPH = "XmmGraph"


class ExportLibGK7206(ExportLib):
    """Regions of a graph that a ``.xmm`` file holds, each one operator ``XmmGraph``."""

    _name = "export_gk7206"
    _default_dformat = aidge_core.dformat.nhwc
    static_files: ClassVar[dict[str, str]] = {str(asset("cmake", "export_gk7206.cmake")): "cmake"}
    static_folders: ClassVar[dict[str, str]] = {
        str(asset("runtime", "xmedia")): "dnn/include/xmedia",
        str(asset("simulator")): "simulator",
    }
