# SPDX-License-Identifier: EPL-2.0
"""Where the files that are not Python lie: templates, C++ runtime, CMake files.

In a checkout they are folders beside the package; in a wheel they are inside it, under ``_assets``.
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_ROOT = _PACKAGE / "_assets" if (_PACKAGE / "_assets").is_dir() else _PACKAGE.parent


def asset(*parts: str) -> Path:
    """Path of a file or folder that the package ships.

    :param parts: Components of the path, e.g. ``"templates", "project"``.
    :type parts: str
    :return: Absolute path.
    :rtype: Path
    :raises FileNotFoundError: The installation is incomplete.
    """
    path = _ROOT.joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: reinstall aidge_export_gk7206")
    return path
