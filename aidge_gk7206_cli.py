# SPDX-License-Identifier: EPL-2.0
"""Entry point of the command ``aidge-gk7206``.

Importing ``aidge_export_gk7206`` registers its targets with Aidge, which takes most of a second. The command needs that
only in the process that exports, so it reaches the package's modules without running the package's ``__init__``.
"""

import importlib.util
import sys


def main() -> int:
    """Runs the command line.

    :return: Exit code.
    :rtype: int
    """
    spec = importlib.util.find_spec("aidge_export_gk7206")
    assert spec is not None
    sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    from aidge_export_gk7206 import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
