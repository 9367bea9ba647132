# SPDX-License-Identifier: EPL-2.0
"""The export library ``export_xnnpack``.

Aidge looks for the library in a module ``aidge_export_xnnpack`` and ends the process when there is none. Upstream's
is not on PyPI; this package stands in for it unless a real one is installed.
"""

import sys

from aidge_export_gk7206.xnnpack.library import UPSTREAM_MODULE, ExportLibXNNPack, upstream_is_installed

__all__ = ["ExportLibXNNPack"]

if not upstream_is_installed():
    from aidge_export_gk7206.xnnpack import aidge_operators, operators

    sys.modules[UPSTREAM_MODULE] = sys.modules[__name__]
    __all__ += ["aidge_operators", "operators"]
