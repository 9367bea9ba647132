# SPDX-License-Identifier: EPL-2.0
"""What is not exported, because the program would be wrong.

Aidge falls back to export_cpp for what export_xnnpack has no kernel for, and chooses by layouts and data types alone.
Some of those kernels ignore attributes, or apply axes that are the model's to a tensor that lies channels last. Each
row of the table below was found by comparison with ONNX Runtime; tests/unit/test_refusals.py keeps it true.
"""

import aidge_core
from aidge_core.export_utils.export import ExportContext

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.xnnpack.kernel import is_served, kernel_of


def check(context: ExportContext) -> None:
    """Refuses a graph that Aidge has adapted in a way that cannot be exported right.

    :param context: What Aidge prepared.
    :type context: ExportContext
    :raises ExportError: It names the layer, the reason and the remedy.
    """
    for node in context.scheduler.get_sequential_static_scheduling():
        if is_served(node):
            # Translates as the export will, and mends the dims of what Aidge has lost track of.
            kernel_of(node)
