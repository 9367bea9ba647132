# SPDX-License-Identifier: EPL-2.0
"""Names that go into C++ code and file names."""

import re


def sanitize_name(name: str) -> str:
    """A model's name as a C identifier and file name.

    :param name: Any text.
    :return: Letters, digits and underscores, not starting with a digit; ``"model"`` when nothing is left.
    """
    cleaned = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower() or "model"
    return f"model_{cleaned}" if cleaned[0].isdigit() else cleaned
