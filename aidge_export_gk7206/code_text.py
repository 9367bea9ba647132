# SPDX-License-Identifier: EPL-2.0
"""Numbers and texts as C++."""

import json
import math
from collections.abc import Sequence

import numpy as np


def c_float(value: float) -> str:
    """C++ literal of a float.

    :param value: Any float, infinities included.
    :type value: float
    :return: The shortest literal that reads back as the same float32.
    :rtype: str
    """
    if math.isnan(value):
        return "std::numeric_limits<float>::quiet_NaN()"
    if math.isinf(value):
        return ("-" if value < 0 else "") + "std::numeric_limits<float>::infinity()"
    text = np.format_float_scientific(np.float32(value), unique=True, trim="0")
    plain = np.format_float_positional(np.float32(value), unique=True, trim="0")
    return (plain if len(plain) <= len(text) else text) + "F"


def c_string(text: str) -> str:
    """C++ string literal, pure ASCII, of any text.

    :param text: Any text.
    :type text: str
    :return: The literal with its quotes.
    :rtype: str
    """
    # Octal escapes end after three digits, unlike \\x, which would swallow what follows.
    return (
        '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode()) + '"'
    )


def c_comment(text: str) -> str:
    """Text that is safe inside a ``//`` comment: one line, ASCII, no backslash at its end."""
    return json.dumps(text, ensure_ascii=True)[1:-1].replace('\\"', '"').rstrip("\\")


def c_list(values: Sequence[int]) -> str:
    """Brace-enclosed list of integers: ``{1, 2}``."""
    return "{" + ", ".join(str(int(v)) for v in values) + "}"
