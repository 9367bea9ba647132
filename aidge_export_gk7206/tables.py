# SPDX-License-Identifier: EPL-2.0
"""Plain tables for people."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[str] = ()) -> None:
    """Prints a table with columns as wide as they need.

    :param head: Titles of the columns.
    :type head: Sequence[str]
    :param rows: Cells, as many in each row as there are titles.
    :type rows: Sequence[Sequence[str]]
    :param right: Titles of the columns that end at the right, as numbers do.
    :type right: Collection[str]
    """
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, *rows):
        cells = [
            cell.rjust(width) if title in right else cell.ljust(width)
            for cell, width, title in zip(row, widths, head, strict=True)
        ]
        print("  ".join(cells).rstrip())
