# SPDX-License-Identifier: EPL-2.0
"""FlatBuffer tables of a file that is not trusted.

The ``flatbuffers`` package reads tables and believes what they say. Here every offset is checked before the package
follows it, by the rules of the verifier that the runtime has: inside the buffer, aligned, strings ended by a zero.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from flatbuffers import number_types as types
from flatbuffers import table

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.npu.layout import CODES

BROKEN = "the file is damaged or not an .xmm file; get it again"


class XmmError(ExportError):
    """A file is not what it says.

    :ivar offset: Where in the file, in bytes.
    :ivar expected: What should be there.
    :ivar found: What is there.
    :ivar code: What the runtime returns for such a file, None where it does not notice.
    :ivar file: Name of the file, where it has one.
    """

    def __init__(
        self,
        offset: int,
        expected: str,
        found: str,
        remedy: str = BROKEN,
        *,
        code: int | None = None,
        file: str | None = None,
    ) -> None:
        where = f"'{file}', byte {offset}" if file else f"byte {offset}"
        refusal = f"; the runtime refuses it with {code} ({CODES[code]})" if code is not None else ""
        super().__init__(f"{where}: expected {expected}, found {found}{refusal}", remedy)
        self.offset = offset
        self.expected = expected
        self.found = found
        self.code = code
        self.file = file

    def of(self, file: str) -> XmmError:
        """The same error with the name of the file."""
        return XmmError(self.offset, self.expected, self.found, self.remedy, code=self.code, file=file)


class Buffer:
    """The FlatBuffer part of a file.

    Tables and vectors may be shared, so that a small file could describe endless ones. What is read is paid for from an
    allowance that grows with the size and ends at a fixed number; tables cost more, because they take longer.

    :param data: Its bytes.
    :param base: Where it begins in the file, for messages.
    """

    MAX_ALLOWANCE = 2 << 20
    TABLE_COST = 128
    #: More than any root table here has; what a longer list says is not looked at.
    MAX_FIELDS = 32

    def __init__(self, data: bytes, base: int) -> None:
        self.data = data
        self.base = base
        self._left = min(self.MAX_ALLOWANCE, 4096 + 64 * len(data))
        self._field_lists: dict[int, tuple[tuple[int, ...], int]] = {}

    def fail(self, position: int, expected: str, found: str, code: int | None = -64) -> XmmError:
        """An error about a position in the buffer."""
        return XmmError(self.base + position, expected, found, code=code)

    def unpack(self, form: struct.Struct, position: int) -> int:
        """A number anywhere in the buffer.

        :raises XmmError: It lies outside or is not aligned.
        """
        if not 0 <= position <= len(self.data) - form.size or position % form.size:
            raise self.fail(position, f"{form.size} aligned bytes of the description", f"its end at {self._end}")
        return int(form.unpack_from(self.data, position)[0])

    def target(self, position: int) -> int:
        """Where the offset at a position leads."""
        offset = self.unpack(types.UOffsetTFlags.packer_type, position)
        if offset == 0 or offset > len(self.data) - 4 - position or (position + offset) % 4:
            raise self.fail(position, f"an aligned offset to before byte {self._end}", f"{offset}")
        return position + offset

    def spend(self, position: int, cost: int) -> None:
        """Pays for reading something."""
        self._left -= cost
        if self._left < 0:
            raise self.fail(position, "a description of that size to say less", "parts that are shared too often", None)

    def fields(self, position: int) -> tuple[tuple[int, ...], int]:
        """Offsets of the fields of the table at a position, and the table's size."""
        start = position - self.unpack(types.SOffsetTFlags.packer_type, position)
        known = self._field_lists.get(start)
        if known is None:
            length = self.unpack(types.VOffsetTFlags.packer_type, start)
            size = self.unpack(types.VOffsetTFlags.packer_type, start + 2)
            if length < 4 or length % 2 or start + length > len(self.data):
                raise self.fail(start, "a list of fields inside the description", f"a length of {length}")
            count = min((length - 4) // 2, self.MAX_FIELDS)
            offsets = struct.unpack_from(f"<{count}H", self.data, start + 4)
            known = self._field_lists[start] = (offsets, size)
        if position + known[1] > len(self.data):
            raise self.fail(position, f"a table that ends before byte {self._end}", f"a size of {known[1]}")
        return known

    def root(self) -> Table:
        """The root table.

        :raises XmmError: There is none.
        """
        return Table(self, self.target(0))

    @property
    def _end(self) -> int:
        return self.base + len(self.data)


class Table(table.Table):
    """One table; fields by their index in the schema."""

    __slots__ = ("_buffer", "_offsets", "_size")

    def __init__(self, buffer: Buffer, position: int) -> None:
        super().__init__(buffer.data, position)
        buffer.spend(position, buffer.TABLE_COST)
        self._buffer = buffer
        self._offsets, self._size = buffer.fields(position)

    @property
    def where(self) -> int:
        """Where in the file the table begins, for messages."""
        return self._buffer.base + int(self.Pos)

    def Offset(self, vtableOffset: int) -> int:  # noqa: N802, N803 - what the package calls it
        """Where in the table a field is, 0 when it is absent; as the package's, from a list that is checked."""
        index = vtableOffset // 2 - 2
        return self._offsets[index] if index < len(self._offsets) else 0

    def Get(self, flags: Any, off: int) -> Any:  # noqa: N802 - what the package calls it
        """A scalar of this table; as the package's, inside the table only."""
        width = flags.bytewidth
        if off + width > self.Pos + self._size or off < self.Pos + 4 or off % width:
            where = self._buffer.base + off
            raise self._buffer.fail(
                self.Pos, f"aligned fields in a table of {self._size} bytes", f"one at byte {where}"
            )
        return flags.packer_type.unpack_from(self.Bytes, off)[0]

    def number(self, index: int, flags: Any = types.Uint32Flags) -> Any:
        """A scalar field, 0 when it is absent.

        :param index: The field.
        :type index: int
        :param flags: Its type, one of the package's.
        :type flags: Any
        :return: Its value.
        :rtype: Any
        :raises XmmError: It lies outside of the table.
        """
        return self.GetSlot(4 + 2 * index, 0, flags)

    def table(self, index: int) -> Table | None:
        """A field that is a table, None when it is absent."""
        start = self._reference(index)
        return None if start is None else Table(self._buffer, start)

    def numbers(self, index: int, most: int | None = None) -> tuple[int, ...]:
        """A vector of unsigned 32-bit numbers, or its first ones."""
        start, length = self._vector(index, 4)
        length = length if most is None else min(length, most)
        self._buffer.spend(start, 4 * length)
        return struct.unpack_from(f"<{length}I", self.Bytes, start)

    def length(self, index: int) -> int:
        """Elements of a vector of 32-bit numbers."""
        return self._vector(index, 4)[1]

    def words(self, index: int) -> bytes:
        """The bytes of a vector of 32-bit numbers."""
        start, length = self._vector(index, 4)
        return self._buffer.data[start : start + 4 * length]

    def tables(self, index: int) -> Iterator[Table]:
        """A vector of tables."""
        start, length = self._vector(index, 4)
        for position in range(start, start + 4 * length, 4):
            yield Table(self._buffer, self._buffer.target(position))

    def text(self, index: int) -> str:
        """A string; what is not UTF-8 in it is replaced."""
        start, length = self._vector(index, 1)
        if start == 0:
            return ""
        self._buffer.spend(start, length)
        data = self._buffer.data
        if start + length >= len(data) or data[start + length]:
            raise self._buffer.fail(start, f"a string of {length} bytes and a zero", "no zero")
        return data[start : start + length].decode("utf-8", errors="replace")

    def _reference(self, index: int) -> int | None:
        offset = self.Offset(4 + 2 * index)
        if offset == 0:
            return None
        self.Get(types.UOffsetTFlags, self.Pos + offset)  # checks that the table holds it
        return self._buffer.target(self.Pos + offset)

    def _vector(self, index: int, width: int) -> tuple[int, int]:
        """First element and length; zeros when the field is absent."""
        start = self._reference(index)
        if start is None:
            return 0, 0
        length = self._buffer.unpack(types.UOffsetTFlags.packer_type, start)
        if length > (len(self._buffer.data) - start - 4) // width:
            raise self._buffer.fail(start, "a vector inside the description", f"{length} elements of {width} bytes")
        return start + 4, length
