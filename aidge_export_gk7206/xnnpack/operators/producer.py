# SPDX-License-Identifier: EPL-2.0
"""Constants. Layers of this library put theirs into the program themselves, in the form that their kernel wants."""

from pathlib import Path
from typing import Any

import aidge_core
import numpy as np
from aidge_core.export_utils import ExportNode

from aidge_export_gk7206 import parameters
from aidge_export_gk7206.xnnpack.fallbacks import check_neighbours
from aidge_export_gk7206.xnnpack.library import ExportLibXNNPack
from aidge_export_gk7206.xnnpack.node import has_foreign_readers, memory_macros


@ExportLibXNNPack.register("Producer", aidge_core.ImplSpec(aidge_core.IOSpec(aidge_core.dtype.any)))
class Producer(ExportNode):
    """A constant that layers of other libraries read: an array under the name that they expect, and its header."""

    def __init__(
        self, node: aidge_core.Node, mem_info: list[dict[str, Any]], instance_count: int | None = None
    ) -> None:
        super().__init__(node, mem_info, instance_count)
        check_neighbours(node)

    def export(self, export_folder: str | Path) -> list[str]:
        if not has_foreign_readers(self.node):
            return []
        folder = Path(export_folder)
        symbol = str(self.attributes["out_name"][0])
        array = np.asarray(self.operator.get_output(0))
        parameters.write(folder, symbol, array)
        header = Path("include") / "layers" / f"{self.attributes['name']}.h"
        (folder / header).parent.mkdir(parents=True, exist_ok=True)
        lines = [
            "// SPDX-License-Identifier: EPL-2.0",
            "#pragma once",
            "",
            "#include <cstdint>",
            "",
            f'extern "C" const {self.attributes["out_cdtype"][0]} {symbol}[{array.size}];',
            "",
            *memory_macros(symbol, {"size": array.nbytes, "offset": 0, "stride": array.nbytes, "length": 1}),
            "",
        ]
        (folder / header).write_text("\n".join(lines), encoding="utf-8")
        return [str(header)]

    def forward(self) -> list[str]:
        return []
