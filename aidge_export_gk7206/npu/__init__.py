# SPDX-License-Identifier: EPL-2.0
"""Models compiled for the NPU of the GK7206: ``.xmm`` files."""
