"""Measured plain data as a value of the type that it has by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labgrade.answers.plain import what
from labgrade.answers.typed import WrongTypeError, as_value
from labgrade.sandbox.visible import visible
from labgrade.values import Finding, Findings, Grid, Row, Table

if TYPE_CHECKING:
    from labgrade.values import Value


_SAID_CHARS = 600
_LINE_CHARS = 120


def natural(plain: object) -> Value:
    """A number, text, shape (whole numbers), histogram, table without columns (texts), or findings (what they say).

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
        case list() if plain and all(isinstance(item, dict) and isinstance(item.get("says"), str) for item in plain):
            return Findings(found=tuple(_finding(item) for item in plain))
        case list() if all(isinstance(item, str) for item in plain):
            return Table(rows=tuple(Row(name=item, cells={}) for item in plain))
    message = f"{what(plain)} can't be judged"
    raise WrongTypeError(message)


def _finding(plain: dict[str, Any]) -> Finding:
    """A finding from plain data of ours, which quotes names of the student's."""
    return Finding(
        says=visible(plain["says"], _SAID_CHARS),
        certain=plain.get("certain", True) is True,
        opinion=visible(str(plain.get("opinion", "")), _SAID_CHARS),
        picture=tuple(visible(str(line), _LINE_CHARS) for line in plain.get("picture", ())),
        grid=_grid(plain["grid"]) if "grid" in plain else None,
    )


def _grid(plain: dict[str, Any]) -> Grid:
    blocks, down, across = plain["tiles"]
    each_down, each_across = plain["scale"]
    return Grid(
        layer=visible(plain["layer"], _LINE_CHARS),
        block=plain["block"],
        tiles=(blocks, down, across),
        scale=(each_down, each_across),
        lines=tuple(plain["lines"]),
    )
