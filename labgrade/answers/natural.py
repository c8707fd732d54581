"""Measured plain data as a value of the type that it has by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.answers.plain import what
from labgrade.answers.typed import WrongTypeError, as_value
from labgrade.values import Row, Table

if TYPE_CHECKING:
    from labgrade.values import Value


def natural(plain: object) -> Value:
    """A number, a text, a shape (a list of whole numbers), a histogram, or a table without columns (a list of texts).

    Raises:
        WrongTypeError: it is none of them.
    """
    match plain:
        case int() | float() if not isinstance(plain, bool):
            return as_value(plain, "number")
        case str():
            return as_value(plain, "text")
        case dict():
            return as_value(plain, "histogram")
        case list() if plain and all(isinstance(item, int) for item in plain):
            return as_value(plain, "shape")
        case list() if all(isinstance(item, str) for item in plain):
            return Table(rows=tuple(Row(name=item, cells={}) for item in plain))
    message = f"{what(plain)} can't be judged"
    raise WrongTypeError(message)
