"""Cells of a printed table: the text of one, as a value of its column's type."""

from __future__ import annotations

import re

from labgrade.answers.numbers import as_ascii, explain_number
from labgrade.answers.plain import cut
from labgrade.answers.shapes import read_shape
from labgrade.answers.typed import WrongTypeError, as_scalar
from labgrade.values import Row, Scalar

_OPEN = frozenset({"", "-", "--", "---", "n/a", "na", "none", "null", "(recursive)", "recursive"})
_TREE = re.compile(r"^[\s\u2500-\u257f|+`>*-]+")
_MARKUP = re.compile(r"^[*_`\s]+|[*_`\s]+$")


def row_of(name: str, cells: dict[str, str], kinds: dict[str, str], units: dict[str, str]) -> Row:
    """A row from its cells as they were printed. `units`: what the header says of a column (`M`, `MB`).

    Raises:
        WrongTypeError: a cell is no value of its column; names row and column.
    """
    typed: dict[str, Scalar | None] = {}
    for column, kind in kinds.items():
        try:
            typed[column] = cell_value(cells.get(column, ""), kind, units.get(column, ""))
        except WrongTypeError as error:
            message = f"row '{cut(name)}', column '{column}': {error}"
            raise WrongTypeError(message) from None
    return Row(name=name, cells=typed)


def cell_value(written: str, kind: str, unit: str = "") -> Scalar | None:
    """The value of a cell; None where it was left open (`--`, `(recursive)`).

    Raises:
        WrongTypeError: it is no value of that kind.
    """
    plain = _MARKUP.sub("", as_ascii(written))
    if plain.lower() in _OPEN:
        return None
    if kind == "shape" and (shape := read_shape(plain)) is not None:
        return shape
    if kind in ("count", "bytes") and unit:
        found = explain_number(plain, kind, unit=unit)
        if found.number is not None:
            return found.number
    return as_scalar(plain, kind)


def row_name(written: str) -> str:
    """A row's name without the tree or the list marks that a printer drew before it."""
    return _MARKUP.sub("", _TREE.sub("", written)).rstrip(":").strip()
