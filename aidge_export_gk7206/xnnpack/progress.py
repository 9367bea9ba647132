# SPDX-License-Identifier: EPL-2.0
"""Tells how far a long step has come: one changing line on a terminal, a line every tenth elsewhere."""

import sys
import time
from typing import TextIO


class Progress:
    """Writes the progress of one step after another.

    :param stream: Where to; None for standard error.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._open = False
        self._tenth = 0
        self._start = time.monotonic()

    def step(self, text: str) -> None:
        """Begins a step.

        :param text: What is done now.
        """
        self._end_line()
        self._tenth = 0
        self._start = time.monotonic()
        print(text, file=self._stream, flush=True)

    def count(self, label: str, done: int, total: int) -> None:
        """Says how much of the step is done.

        :param label: What is counted.
        :param done: How many are done.
        :param total: How many there are.
        """
        seconds = time.monotonic() - self._start
        text = f"  {label} {done}/{total}, {seconds:.0f} s"
        if self._terminal:
            print(f"\r{text}\033[K", end="", file=self._stream, flush=True)
            self._open = True
        elif total > 0 and done * 10 // total > self._tenth:
            self._tenth = done * 10 // total
            print(text, file=self._stream, flush=True)

    def finish(self, text: str) -> None:
        """Ends the last step.

        :param text: What has been reached.
        """
        self._end_line()
        print(text, file=self._stream, flush=True)

    def _end_line(self) -> None:
        if self._open:
            print(file=self._stream, flush=True)
            self._open = False
