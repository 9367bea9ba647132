# SPDX-License-Identifier: EPL-2.0
"""Output channels padded with zeros, so that XNNPACK takes a vector kernel on RISC-V.

XNNPACK's RISC-V kernels for convolutions and fully connected layers compute as many output channels at once as four
vector registers hold (16 at VLEN 128, 32 at VLEN 256). Where the layer has fewer, it takes a scalar kernel instead.
"""

import numpy as np
import numpy.typing as npt

# Kernels that compute all output channels of a pixel together.
_PACKED = ("XnnConvolution", "XnnDeconvolution", "XnnFullyConnected")


def padded_channels(type_: str, channels: int, groups: int = 1, vector_channels: int = 16) -> int:
    """Output channels with which a kernel operator gets a vector kernel.

    :param type_: Type of the kernel operator.
    :type type_: str
    :param channels: Output channels of the layer.
    :type channels: int
    :param groups: Groups of a convolution. Those of a grouped one can't be padded, they lie side by side.
    :type groups: int
    :param vector_channels: Channels that a vector kernel computes at once: VLEN / 8 on RISC-V, 1 where it is no use.
    :type vector_channels: int
    :return: ``channels`` where that is good already, otherwise the next multiple of ``vector_channels``.
    :rtype: int
    """
    if type_ not in _PACKED or groups != 1:
        return channels
    wasted = -channels % vector_channels
    scalar = channels < vector_channels
    if type_ == "XnnFullyConnected":
        # XNNPACK's alternative computes two channels at once, and is taken when the vector kernel would waste more
        # than it does, and more than one percent.
        scalar = scalar or (wasted > channels % 2 and wasted * 100 > channels)
    return channels + wasted if scalar else channels


def pad_channels(array: npt.NDArray[np.float32], channels: int) -> npt.NDArray[np.float32]:
    """Appends zeros to the first axis.

    :param array: Weights or bias, output channels first.
    :type array: numpy.ndarray
    :param channels: Size of the first axis to reach.
    :type channels: int
    :return: The padded array.
    :rtype: numpy.ndarray
    """
    return np.pad(array, [(0, channels - array.shape[0])] + [(0, 0)] * (array.ndim - 1))
