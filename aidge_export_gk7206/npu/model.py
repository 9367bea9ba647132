# SPDX-License-Identifier: EPL-2.0
"""What an ``.xmm`` file holds."""

from __future__ import annotations

from dataclasses import dataclass, field

from aidge_export_gk7206.npu.flat import XmmError
from aidge_export_gk7206.npu.layout import MAX_REUSE_TYPE, REUSED, DataType, mmz_regions, round_up
from aidge_export_gk7206.npu.source import Source

#: Ranges with checksums do not overlap in a sound file, so together they are no longer than it.
_MAX_CRC_PASSES = 2


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of the model.

    :ivar id: Its place in the file's list, which is how the runtime names it.
    :ivar name: None when the file gives none.
    :ivar dims: Sizes, outermost first.
    :ivar pitches: Bytes from one index of a dimension to the next; mean nothing for constants.
    :ivar scale: A real value is (stored value - zero point) x scale.
    :ivar size: Bytes that it takes.
    :ivar offset: Where it begins in its region.
    :ivar region: ``input``, ``constant``, ``output`` or ``workspace``.
    :ivar file_offset: Where a constant's bytes are in the file.
    :ivar crc: CRC-32 of a constant's bytes.
    :ivar compression: Not 0 when a constant is compressed.
    :ivar stored_id: What the file says its place is.
    """

    id: int
    name: str | None
    dims: tuple[int, ...]
    pitches: tuple[int, ...]
    dtype: DataType
    scale: float
    zero_point: int
    size: int
    offset: int
    region: str
    file_offset: int
    crc: int
    compression: int
    stored_id: int


@dataclass(frozen=True, slots=True)
class Program:
    """Code for the NPU; or a shared object for the CPU, which the runtime loads.

    :ivar load_address: Where the code begins when constants, workspace, inputs and outputs stand before it.
    """

    name: str
    size: int
    file_offset: int
    crc: int
    load_address: int


@dataclass(frozen=True, slots=True)
class Node:
    """An operator.

    :ivar device: ``NPU`` or ``CPU``.
    :ivar inputs: Tensors that it reads, constants included, by id.
    """

    name: str
    index: int
    device: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SubGraph:
    """Nodes in the order in which they run, by index."""

    device: str
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class XmmFile:
    """A model compiled for the NPU. Sizes are those that the runtime reports, in bytes.

    :ivar size: Bytes of the whole file.
    :ivar file_name: What the compiler called the file: always the same, no identity.
    :ivar model_type: 3 in models for this NPU.
    :ivar cpu_programs: Native code that the runtime would run on the CPU.
    :ivar data_formats: Of input and output: 0 is RGB.
    :ivar described_bytes: Where the part of the file that the header describes ends.
    """

    size: int
    file_name: str
    compiler: str
    model_type: int
    tensors: tuple[Tensor, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    nodes: tuple[Node, ...]
    programs: tuple[Program, ...]
    cpu_programs: tuple[Program, ...]
    subgraphs: tuple[SubGraph, ...]
    data_formats: tuple[int, ...]
    memory_reuse_type: int
    private_data: bytes
    described_bytes: int
    source: Source = field(repr=False, compare=False)

    def region_bytes(self, region: str) -> int:
        """Bytes of a region: where its last tensor ends, in steps of 8."""
        ends = (tensor.offset + tensor.size for tensor in self.tensors if tensor.region == region)
        return round_up(max(ends, default=0), 8)

    @property
    def weightsize(self) -> int:
        """Bytes of the constants."""
        return self.region_bytes("constant")

    @property
    def worksize(self) -> int:
        """Bytes of the workspace, with the inputs and outputs that live in it."""
        reused = REUSED[self.memory_reuse_type] if self.memory_reuse_type <= MAX_REUSE_TYPE else ()
        return max(self.region_bytes(region) for region in ("workspace", *reused))

    @property
    def inputsize(self) -> int:
        """Bytes of all inputs, each in steps of 8."""
        return sum(round_up(tensor.size, 8) for tensor in self.inputs)

    @property
    def outputsize(self) -> int:
        """Bytes of all outputs, each in steps of 8."""
        return sum(round_up(tensor.size, 8) for tensor in self.outputs)

    @property
    def codesize(self) -> int:
        """Bytes of the NPU's programs."""
        return round_up(sum(program.size for program in self.programs), 8)

    @property
    def private_data_size(self) -> int:
        """Bytes of the private data."""
        return len(self.private_data)

    @property
    def trailing_bytes(self) -> int:
        """Bytes behind what the header describes; the runtime ignores them."""
        return self.size - self.described_bytes

    def mmz(self) -> dict[str, int]:
        """What the board must allocate for the NPU, by region, in bytes of whole pages."""
        return mmz_regions(
            self.codesize, self.worksize, self.weightsize, self.inputsize, self.outputsize, self.memory_reuse_type
        )

    def crc_problems(self) -> list[XmmError]:
        """Checks programs and constants against their checksums, as the runtime does when it loads the model.

        :return: What does not match.
        :rtype: list[XmmError]
        :raises ExportError: The file cannot be read any more.
        """
        parts = [
            (f"the program {program.name!r}", program.file_offset, program.size, program.crc)
            for program in (*self.programs, *self.cpu_programs)
        ]
        constants = (tensor for tensor in self.tensors if tensor.region == "constant")
        parts += [(f"the constant {c.id}", c.file_offset, c.size, c.crc) for c in constants]
        total = sum(size for _, _, size, _ in parts)
        if total > _MAX_CRC_PASSES * self.size:
            return [XmmError(0, f"programs and constants that fit {self.size} bytes", f"{total} bytes", code=-64)]
        problems = []
        found = self.source.crcs((offset, size) for _, offset, size, _ in parts)
        for (what, offset, size, wanted), crc in zip(parts, found, strict=True):
            if offset + size > self.size:
                problems.append(XmmError(offset, f"{size} bytes of {what}", f"a file of {self.size} bytes", code=-64))
            elif crc != wanted:
                problems.append(XmmError(offset, f"{what} with checksum {wanted:#010x}", f"{crc:#010x}", code=-64))
        return problems


__all__ = ["Node", "Program", "SubGraph", "Tensor", "XmmFile"]
