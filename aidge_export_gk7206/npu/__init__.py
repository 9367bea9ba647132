# SPDX-License-Identifier: EPL-2.0
"""The NPU of the GK7206."""
