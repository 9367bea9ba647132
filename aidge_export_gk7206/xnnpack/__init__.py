# SPDX-License-Identifier: EPL-2.0
"""The export library ``export_xnnpack``.

Aidge looks for the library in a module ``aidge_export_xnnpack`` and ends the process when there is none. Upstream's
is not on PyPI; this package stands in for it unless a real one is installed.
"""

import importlib.util
import sys

UPSTREAM_MODULE = "aidge_export_xnnpack"

if UPSTREAM_MODULE not in sys.modules and importlib.util.find_spec(UPSTREAM_MODULE) is None:
    from aidge_export_gk7206.xnnpack import aidge_operators, operators
    from aidge_export_gk7206.xnnpack.library import ExportLibXNNPack

    sys.modules[UPSTREAM_MODULE] = sys.modules[__name__]
    __all__ = ["ExportLibXNNPack", "aidge_operators", "operators"]
