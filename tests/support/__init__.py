# SPDX-License-Identifier: EPL-2.0
"""What the tests share: ONNX graphs in a few lines, exports compiled and run."""
