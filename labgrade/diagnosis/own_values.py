"""Values of labgrade's own quantities, from plain data: in the type of an answer, or in their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labgrade.answers.reading.plain_values import is_array, what
from labgrade.answers.reading.typed_values import WrongTypeError, as_value
from labgrade.core.errors import FaultError, NoSuchSlipError
from labgrade.core.task import TableOfType
from labgrade.core.text import excerpt
from labgrade.values import Finding, Findings, Grid, Row, Table

if TYPE_CHECKING:
    from labgrade.core.task import AnswerType
    from labgrade.values import Value

_SAID_CHARS = 600
_LINE_CHARS = 120


def typed(plain: object, kind: AnswerType | None) -> Value:
    """A value of labgrade's in its answer's type; where something is measured, in the type that it has by itself.

    Raises:
        NoSuchSlipError: it is None.
        FaultError: it has another type.
    """
    if plain is None:
        message = "there is no such value of this subject"
        raise NoSuchSlipError(message)
    try:
        return as_value(plain, kind, trusted=True) if kind is not None else natural(plain)
    except WrongTypeError as error:
        message = f"the expected value does not fit the answer's type: {error}"
        raise FaultError(message) from error


def natural(plain: object) -> Value:
    """A number, text, shape, histogram, tensors, table without columns (texts), or findings (what they say).

    Raises:
        WrongTypeError: it is none of them.
    """
    match plain:
        case int() | float() if not isinstance(plain, bool):
            return as_value(plain, "number")
        case str():
            return as_value(plain, "text")
        case dict():
            return as_value(plain, TableOfType(kind="tensor") if any(map(is_array, plain.values())) else "histogram")
        case list() if plain and all(isinstance(item, int) for item in plain):
            return as_value(plain, "shape")
        case list() if plain and all(isinstance(item, dict) and isinstance(item.get("says"), str) for item in plain):
            return Findings(found=tuple(_finding(item) for item in plain))
        case list() if all(isinstance(item, str) for item in plain):
            return Table(rows=tuple(Row(name=item, cells={}) for item in plain))
    message = f"{what(plain)} can't be judged"
    raise WrongTypeError(message)


def _finding(plain: dict[str, Any]) -> Finding:
    """A finding from plain data of labgrade's, which quotes names of the student's."""
    return Finding(
        says=excerpt(plain["says"], _SAID_CHARS),
        certain=plain.get("certain", True) is True,
        opinion=excerpt(str(plain.get("opinion", "")), _SAID_CHARS),
        fault=plain.get("kind") == "fault",
        picture=tuple(excerpt(str(line), _LINE_CHARS) for line in plain.get("picture", ())),
        grid=_grid(plain["grid"]) if "grid" in plain else None,
    )


def _grid(plain: dict[str, Any]) -> Grid:
    blocks, down, across = plain["tiles"]
    each_down, each_across = plain["scale"]
    return Grid(
        layer=excerpt(plain["layer"], _LINE_CHARS),
        block=plain["block"],
        tiles=(blocks, down, across),
        scale=(each_down, each_across),
        lines=tuple(plain["lines"]),
    )
