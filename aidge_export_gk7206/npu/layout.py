# SPDX-License-Identifier: EPL-2.0
"""What reader and writer of ``.xmm`` files agree on: header, tables, element types, limits, codes of the runtime."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from aidge_export_gk7206.errors import ExportError

if TYPE_CHECKING:
    import numpy as np

MAGIC = 0x5A5A5A5A
#: Magic number, checksum of the next two, where the description begins, how long it is.
HEADER = "<4I"
HEADER_BYTES = 16
MAX_DIMS = 8
#: What ``model_type`` holds in models for this NPU.
MODEL_TYPE_HIGH = 3
MAX_REUSE_TYPE = 3
REGIONS = ("input", "constant", "output", "workspace")
#: Regions that the workspace holds besides its own tensors, by memory reuse type.
REUSED: tuple[tuple[str, ...], ...] = ((), ("input",), ("output",), ("input", "output"))
DEVICES = ("CPU", "NPU")
#: Compiler string of files that no NPU can run.
SIMULATOR_ONLY = "aidge_export_gk7206 reference, simulator only"

#: Memory of the boards that only the NPU and other devices use, in bytes.
MMZ_BYTES = {"gk7206v11a": 96 << 20, "gk7206v12a": 224 << 20}
PAGE_BYTES = 4096

#: Codes with which the runtime refuses a file.
CODES = {
    -30: "XMEDIA_CL_INVALID_VALUE",
    -64: "XMEDIA_CL_INVALID_MODEL",
    -65: "XMEDIA_CL_READ_MODEL_FAIL",
    -68: "XMEDIA_CL_ERROR_MODEL_TYPE",
}


class Root(enum.IntEnum):
    """Fields of the root table."""

    INFO = 0
    INPUTS = 1
    OUTPUTS = 2
    TENSORS = 3
    NODES = 4
    CPU_PROGRAMS = 5
    PROGRAMS = 6
    SUBGRAPHS = 7
    DATA_FORMATS = 13
    REUSE_TYPE = 17
    PRIVATE_DATA = 18


class Info(enum.IntEnum):
    """Fields of the table about the model."""

    FILE_NAME = 0
    COMPILER = 1
    MODEL_TYPE = 2


class TensorField(enum.IntEnum):
    """Fields of a tensor's table."""

    ID = 0
    OFFSET = 1
    REGION = 2
    SHAPE = 3
    SCALE = 4
    ZERO_POINT = 5
    SIZE = 6
    FILE_OFFSET = 7
    CRC = 8
    COMPRESSION = 9
    NAME = 11


class Shape(enum.IntEnum):
    """Fields of a shape's table."""

    DIMS = 0
    PITCHES = 1
    DTYPE = 2
    RANK = 3


class ProgramField(enum.IntEnum):
    """Fields of a program's table."""

    NAME = 0
    SIZE = 1
    FILE_OFFSET = 2
    CRC = 3
    LOAD_ADDRESS = 4


class NodeField(enum.IntEnum):
    """Fields of a node's table."""

    NAME = 0
    INDEX = 1
    INDEX_AGAIN = 2
    DEVICE = 3
    INPUTS = 4
    OUTPUTS = 5


class SubGraphField(enum.IntEnum):
    """Fields of a sub-graph's table."""

    DEVICE = 0
    NODES = 1


class DataType(enum.IntEnum):
    """Element types of tensors. A number that is none of them gives a member that is not ``known``."""

    INT8 = 0
    UINT8 = 1
    INT16 = 2
    UINT16 = 3
    FP16 = 4
    INT32 = 5
    FP32 = 6
    INT4 = 7
    UINT12 = 8
    UINT10 = 9

    @classmethod
    def _missing_(cls, value: object) -> DataType | None:
        # The runtime passes any number on, so a file that holds one can still be looked at.
        if not isinstance(value, int):
            return None
        member = int.__new__(cls, value)
        member._name_, member._value_ = f"TYPE_{value}", value
        return member

    @property
    def known(self) -> bool:
        """Whether the runtime has such a type."""
        return self.value in _PROPERTIES

    @property
    def label(self) -> str:
        """Its name as NumPy would write it, e.g. ``uint8``."""
        return _PROPERTIES[self.value][0] if self.known else f"type {self.value}"

    @property
    def element_bytes(self) -> float | None:
        """Bytes of an element; 1.5 for UINT12, whose elements are packed, None where it is not known."""
        return _PROPERTIES[self.value][1] if self.known else None

    @property
    def has_numpy(self) -> bool:
        """Whether NumPy has such a type."""
        return self.known and _PROPERTIES[self.value][2]

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """NumPy's type.

        :raises ExportError: NumPy has none.
        """
        if not self.has_numpy:
            raise ExportError(f"the element type {self.label} has no NumPy type", "compile the model for another type")
        import numpy

        return numpy.dtype(self.label).newbyteorder("<")

    @property
    def limits(self) -> tuple[int, int] | None:
        """Smallest and largest value; None for floating point and unknown types."""
        if not self.known or self in (DataType.FP16, DataType.FP32):
            return None
        bits = int("".join(filter(str.isdigit, self.label)))
        return (0, 2**bits - 1) if self.label.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


#: Label, bytes of an element, whether NumPy has it. What an element of UINT10 takes is not known.
_PROPERTIES: dict[int, tuple[str, float | None, bool]] = {
    0: ("int8", 1, True),
    1: ("uint8", 1, True),
    2: ("int16", 2, True),
    3: ("uint16", 2, True),
    4: ("float16", 2, True),
    5: ("int32", 4, True),
    6: ("float32", 4, True),
    7: ("int4", 1, False),
    8: ("uint12", 1.5, False),
    9: ("uint10", None, False),
}


def round_up(number: int, multiple: int) -> int:
    """The next multiple that is no less.

    :param number: What to round.
    :type number: int
    :param multiple: To multiples of what.
    :type multiple: int
    :return: The multiple.
    :rtype: int
    """
    return -(-number // multiple) * multiple


def mmz_regions(code: int, work: int, weights: int, inputs: int, outputs: int, reuse_type: int) -> dict[str, int]:
    """What the board allocates for a model besides Linux's memory, each region in whole pages.

    :param code: Bytes of the programs.
    :type code: int
    :param work: Bytes of the workspace.
    :type work: int
    :param weights: Bytes of the constants.
    :type weights: int
    :param inputs: Bytes of all inputs.
    :type inputs: int
    :param outputs: Bytes of all outputs.
    :type outputs: int
    :param reuse_type: Which of them live in the workspace.
    :type reuse_type: int
    :return: Bytes by region.
    :rtype: dict[str, int]
    """
    reused = REUSED[reuse_type] if reuse_type <= MAX_REUSE_TYPE else ()
    regions = {
        "code": code,
        "workspace": work,
        "weights": weights,
        "inputs": 0 if "input" in reused else inputs,
        "outputs": 0 if "output" in reused else outputs,
    }
    return {name: round_up(size, PAGE_BYTES) for name, size in regions.items()}
