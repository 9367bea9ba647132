# SPDX-License-Identifier: EPL-2.0
"""Aidge's own operators as kernel operators, one module for each family; importing this package registers them all."""

from importlib import import_module
from pkgutil import iter_modules

for _module in sorted(module.name for module in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")
