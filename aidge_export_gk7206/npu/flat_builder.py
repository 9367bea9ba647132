# SPDX-License-Identifier: EPL-2.0
"""The few kinds of FlatBuffer objects that ``.xmm`` files are made of, written by the ``flatbuffers`` package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import flatbuffers


@dataclass(frozen=True)
class Value:
    """What a field of a table holds.

    :ivar method: Method of the package's builder that adds it to a table.
    :ivar default: Value that is not written; None when every value is.
    """

    method: str
    value: float
    default: int | None = 0


class FlatBuilder:
    """Makes one FlatBuffer; what a table refers to is made before it."""

    def __init__(self) -> None:
        self._builder = flatbuffers.Builder(1 << 16)

    def u8(self, value: int) -> Value:
        """An unsigned 8-bit number."""
        return Value("PrependUint8Slot", value)

    def u32(self, value: int) -> Value:
        """An unsigned 32-bit number."""
        return Value("PrependUint32Slot", value)

    def i32(self, value: int) -> Value:
        """A signed 32-bit number."""
        return Value("PrependInt32Slot", value)

    def f32(self, value: float) -> Value:
        """A 32-bit floating-point number, written even when it is 0."""
        return Value("PrependFloat32Slot", value, None)

    def text(self, value: str) -> Value:
        """A string."""
        return self._reference(self._builder.CreateString(value))

    def numbers(self, values: Sequence[int]) -> Value:
        """A vector of unsigned 32-bit numbers."""
        self._builder.StartVector(4, len(values), 4)
        for value in reversed(values):
            self._builder.PrependUint32(value)
        return self._reference(self._builder.EndVector())

    def tables(self, values: Sequence[Value]) -> Value:
        """A vector of tables."""
        self._builder.StartVector(4, len(values), 4)
        for value in reversed(values):
            self._builder.PrependUOffsetTRelative(value.value)
        return self._reference(self._builder.EndVector())

    def table(self, slots: int, fields: Mapping[int, Value]) -> Value:
        """A table.

        :param slots: How many fields the schema has.
        :type slots: int
        :param fields: Values by their place in the schema.
        :type fields: Mapping[int, Value]
        :return: A reference to it.
        :rtype: Value
        """
        self._builder.StartObject(slots)
        # The widest first, so that nothing needs filling between them.
        for index, field in sorted(fields.items(), key=lambda item: (item[1].method == "PrependUint8Slot", item[0])):
            getattr(self._builder, field.method)(index, field.value, field.default)
        return self._reference(self._builder.EndObject())

    def finish(self, root: Value) -> bytes:
        """Ends it.

        :param root: The root table.
        :type root: Value
        :return: All bytes, a multiple of 4.
        :rtype: bytes
        """
        self._builder.Finish(root.value)
        return bytes(self._builder.Output())

    @staticmethod
    def _reference(position: int) -> Value:
        return Value("PrependUOffsetTRelativeSlot", position)
