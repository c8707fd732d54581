"""The numbers of a column as one hand wrote them: what a comma or a dot means in one, it means in the others."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.numerals.numbers import explain_number, with_point
from labgrade.values import Number

if TYPE_CHECKING:
    from labgrade.core.task import TableType
    from labgrade.values import Row

_GROUPS = re.compile(r"\s*[+-]?\d{1,3}(?:,\d{3}){2}")
_DOTTED, _ONE_DOT = re.compile(r"\d{1,3}(?:\.\d{3}){2,}"), re.compile(r"[1-9]\d{0,2}\.\d{3}")


def written_alike(rows: list[Row], kind: TableType) -> list[Row]:
    """The rows of a table of one column, each number read as its neighbours say.

    `1,024 M` is 1.024 M where another has a decimal comma, and none has commas of groups; `50.176` is 50,176 where
    another is `6.452.320`, of counts and bytes.
    """
    ((column, of),) = kind.columns.items()
    if of == "text":
        return rows
    said = [cell.text if isinstance(cell := row.cells[column], Number) else "" for row in rows]
    if of in ("count", "bytes") and any(map(_DOTTED.fullmatch, said)):
        numbers = [_without_dot(each) if _ONE_DOT.fullmatch(each) else None for each in said]
    elif any(with_point(each) != each for each in said) and not any(map(_GROUPS.match, said)):
        numbers = [explain_number(with_point(each, surely=True), of).number for each in said]
    else:
        return rows
    return [
        replace(row, cells={column: number or row.cells[column]}) for row, number in zip(rows, numbers, strict=True)
    ]


def _without_dot(said: str) -> Number:
    return Number(value=Fraction(said.replace(".", "")), text=said)
