# SPDX-License-Identifier: EPL-2.0
"""Weights as binary sections of the program.

Every array is one file ``dnn/parameters/<symbol>.bin``; ``weights.S`` pulls them in with ``.incbin``. Compiling then
takes no time that grows with the model (facts: 46 MB as C text took 61 s and 776 MB of compiler, as ``.incbin`` 0.3 s).
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FOLDER = "parameters"
_ASSEMBLY = "weights.S"
# Symbols <name>_begin and <name>_end around all weights, for runtime/xnnpack/weights.hpp.
_WHOLE = "aidge_parameters"
# XNNPACK may read this far past the end of an array (XNN_EXTRA_BYTES, at most 128).
_TAIL_BYTES = 128


def write(dnn_folder: Path, symbol: str, array: npt.NDArray[Any]) -> None:
    """Adds one array to an export.

    :param dnn_folder: The ``dnn`` folder of the export.
    :type dnn_folder: Path
    :param symbol: C name under which the program finds the array.
    :type symbol: str
    :param array: The values, written little endian in C order.
    :type array: numpy.ndarray
    """
    folder = dnn_folder / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{symbol}.bin").write_bytes(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes())
    # Made from the listing, so that it is right whatever was written before and in whatever order.
    symbols = sorted(file.stem for file in folder.glob("*.bin"))
    (folder / _ASSEMBLY).write_text(assembly(symbols, f"dnn/{FOLDER}", _WHOLE), encoding="utf-8")


def assembly(symbols: list[str], folder: str, whole: str = "") -> str:
    """Assembly source that turns ``<symbol>.bin`` files into read-only data.

    :param symbols: Names, each a file ``<symbol>.bin`` and a C symbol.
    :type symbols: list[str]
    :param folder: Where the files are, seen from the root of the project, which is on the assembler's include path.
    :type folder: str
    :param whole: Name of all of them together: ``<whole>_begin`` and ``<whole>_end`` become symbols too.
    :type whole: str
    :return: Text of a ``.S`` file for GNU as and clang, any architecture.
    :rtype: str
    """
    lines = [
        "/* SPDX-License-Identifier: EPL-2.0 */",
        f"/* The .bin files of {folder}/ as read-only data of the program. */",
        "",
        '    .section .rodata.aidge_parameters, "a", %progbits',
    ]
    begin, end = (["", f"    .weak {whole}_{edge}", f"{whole}_{edge}:"] if whole else [] for edge in ("begin", "end"))
    lines += begin
    for symbol in symbols:
        lines += ["", "    .balign 64", f"    .global {symbol}", f"{symbol}:", f'    .incbin "{folder}/{symbol}.bin"']
    lines += end
    lines += ["", f"    .zero {_TAIL_BYTES}", "", '    .section .note.GNU-stack, "", %progbits', ""]
    return "\n".join(lines)
