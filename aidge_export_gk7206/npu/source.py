# SPDX-License-Identifier: EPL-2.0
"""Where the bytes of a model come from: a file, of which only the parts that are asked for are read, or memory."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from aidge_export_gk7206.errors import ExportError
from aidge_export_gk7206.npu.flat import XmmError

_CHUNK_BYTES = 1 << 20


class Source:
    """The bytes of a model.

    :param origin: Path of a file, or the bytes.
    :raises ExportError: There is no such file.
    """

    def __init__(self, origin: str | os.PathLike[str] | bytes) -> None:
        self._bytes = origin if isinstance(origin, bytes) else b""
        self.path = None if isinstance(origin, bytes) else Path(origin)
        if self.path is None:
            self.size = len(self._bytes)
        else:
            with self._open() as file:
                self.size = os.fstat(file.fileno()).st_size

    @property
    def name(self) -> str | None:
        """Name for messages."""
        return None if self.path is None else str(self.path)

    def read(self, offset: int, size: int) -> bytes:
        """Bytes of the model, fewer where it ends before."""
        if self.path is None:
            return self._bytes[offset : offset + size]
        with self._open() as file:
            file.seek(offset)
            return file.read(size)

    def crcs(self, ranges: Iterator[tuple[int, int]]) -> Iterator[int]:
        """CRC-32 of each range, an offset and a size."""
        if self.path is None:
            view = memoryview(self._bytes)
            for offset, size in ranges:
                yield zlib.crc32(view[offset : offset + size])
            return
        with self._open() as file:
            for offset, size in ranges:
                file.seek(offset)
                crc, left = 0, size
                while left and (chunk := file.read(min(left, _CHUNK_BYTES))):
                    crc, left = zlib.crc32(chunk, crc), left - len(chunk)
                yield crc

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        assert self.path is not None
        try:
            # A pipe or a device must not make the program wait.
            descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
            try:
                self._check(os.fstat(descriptor).st_mode)
            except ExportError:
                os.close(descriptor)
                raise
            with os.fdopen(descriptor, "rb") as file:
                yield file
        except FileNotFoundError:
            raise ExportError(f"no file '{self.path}'", "check the name") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ExportError(f"cannot read '{self.path}'", reason) from error

    def _check(self, mode: int) -> None:
        if stat.S_ISDIR(mode):
            raise ExportError(f"'{self.path}' is a folder", "name the .xmm file in it")
        if not stat.S_ISREG(mode):
            raise ExportError(f"'{self.path}' is no regular file", "copy what it gives into a file first")


def read_part(source: Source, offset: int, size: int, what: str) -> bytes:
    """Bytes that must all be there.

    :param source: Where they come from.
    :type source: Source
    :param offset: Where they begin.
    :type offset: int
    :param size: How many.
    :type size: int
    :param what: What they are, for the message.
    :type what: str
    :return: The bytes.
    :rtype: bytes
    :raises XmmError: The model ends before.
    """
    if offset + size > source.size:
        raise XmmError(
            offset, f"{what} of {size} bytes", f"{max(source.size - offset, 0)} bytes to the end of the file", code=-65
        )
    return source.read(offset, size)
