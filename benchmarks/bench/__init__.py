# SPDX-License-Identifier: EPL-2.0
"""Side-by-side measurements of exports: see docs/measurements.md for what they said, run.py for how to repeat them."""
