# SPDX-License-Identifier: EPL-2.0
"""Figures: what was measured, and what it should have been."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

_COMPARE: dict[str, Callable[[float, float], bool]] = {"<=": operator.le, ">=": operator.ge}


class UnavailableError(Exception):
    """A contender cannot take part; the message says why."""


@dataclass
class Figure:
    """One measured number.

    :ivar what: What was measured, one row of the table.
    :ivar subject: The model, or model and variant.
    :ivar value: The number; None when it could not be measured, `note` says why.
    :ivar limit: What to reach, None where the number is only told.
    :ivar better: ``"<="`` or ``">="``: on which side of the limit it should be.
    """

    what: str
    subject: str
    value: float | None
    unit: str = ""
    limit: float | None = None
    better: str = "<="
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the limit is kept; None when there is none or nothing was measured."""
        if self.limit is None or self.value is None:
            return None
        return _COMPARE[self.better](self.value, self.limit)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "reached": self.reached}


def table(figures: Sequence[Figure]) -> str:
    """The figures as text, one line each, grouped by what was measured."""
    lines: list[str] = []
    for what in dict.fromkeys(figure.what for figure in figures):
        group = [figure for figure in figures if figure.what == what]
        lines += ["", what]
        width = max(len(figure.subject) for figure in group)
        for figure in group:
            value = "-" if figure.value is None else f"{_number(figure.value)} {figure.unit}".strip()
            limit = "" if figure.limit is None else f"{figure.better} {_number(figure.limit)}"
            verdict = {True: "reached", False: "MISSED", None: ""}[figure.reached]
            lines.append(f"  {figure.subject:{width}}  {value:>14}  {limit:>12}  {verdict:7}  {figure.note}".rstrip())
    return "\n".join(lines[1:])


def _number(value: float) -> str:
    if value != 0 and abs(value) < 0.001:
        return f"{value:.2g}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
