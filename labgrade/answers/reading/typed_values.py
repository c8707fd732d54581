"""Plain data from a student's function, answers.yaml or a quantity of labgrade's, as a typed value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from labgrade.answers.reading.numerals.numbers import LIMIT, explain_number
from labgrade.answers.reading.plain_values import (
    LEFT_OPEN,
    cut,
    in_units,
    is_array,
    named,
    not_finite,
    read_shape,
    read_tensor,
    what,
    without_numpy,
)
from labgrade.answers.reading.tabular.headers import column_meant, names_rows, told_apart
from labgrade.core.errors import FaultError
from labgrade.core.task import TableOfType, TableType
from labgrade.values import Number, Row, Scalar, Table

if TYPE_CHECKING:
    from labgrade.core.task import AnswerType
    from labgrade.values import Array, Value

_MOST_ROWS = _LONGEST_TEXT = 100_000
_MOST_DIMENSIONS, _MOST_NUMBERS = 64, 1 << 24
_LONGEST_NUMBER = 1_000  # characters: what is longer is no number that anybody wrote
_NOISE = 1e-12  # of a whole number that was added up of thousands of floats
_UNREADABLE = 0.5  # of the rows: with more, the table is of another kind
NUMBER_KINDS = ("count", "bytes", "number", "time")
_ASKED = {
    "count": "a count",
    "bytes": "a number of bytes",
    "number": "a number",
    "time": "a time (seconds, or with a unit such as 12.5 ms)",
    "text": "text",
    "shape": "a shape (a list of whole numbers)",
    "histogram": "a mapping of names to counts",
    "tensor": "an array of numbers",
}


class WrongTypeError(Exception):
    """What was handed in is no value of the type asked for. The message is for the student."""


def as_value(plain: object, kind: AnswerType, *, trusted: bool = False) -> Value:
    """Return the value of type `kind` that plain data stands for.

    `plain` is None, bool, int, float, str, list, tuple, dict, a numpy array or scalar, a Fraction, or a `Number`, which
    stays as it is. `trusted` data is ours: its table rows may say `also_named`, `also_right` and `optional`.

    Raises:
        WrongTypeError: it is no such value; says what was found and what is asked for.
        FaultError: no type is called `kind`.
    """
    if isinstance(kind, TableType):
        return _table(plain, kind, trusted=trusted)
    if isinstance(kind, TableOfType):
        return cast("Value", {name: as_value(item, kind.kind) for name, item in _named(plain, "arrays").items()})
    if kind == "histogram":
        return _histogram(plain)
    if kind == "tensor":
        return _tensor(plain)
    return as_scalar(plain, kind)


def as_scalar(plain: Any, kind: str) -> Scalar:
    """Return a value as `as_value` does, of a type that fits in a table's cell: count, bytes, number, text, shape."""
    if kind in NUMBER_KINDS:
        return _number(without_numpy(plain.reshape(()) if is_array(plain) and plain.size == 1 else plain), kind)
    plain = without_numpy(plain)
    if kind == "text":
        return _text(plain)
    if kind == "shape":
        return _shape(plain)
    message = f"no type of answer is called '{kind}'"
    raise FaultError(message)


def _without_noise(number: float) -> float:
    """Return a whole number for a float that is as near to it as floats can be."""
    return round(number) if abs(number - round(number)) <= _NOISE * abs(number) else number


def _number(plain: object, kind: str) -> Number:
    if type(plain) is int and -LIMIT <= plain <= LIMIT:  # most are
        return Number(value=Fraction(plain), text=str(plain))
    if isinstance(plain, Number):
        return plain
    if isinstance(plain, str):
        if len(plain) > _LONGEST_NUMBER:
            message = f"a text of {len(plain):,} characters, but {_ASKED[kind]} is asked for"
            raise WrongTypeError(message)
        found = explain_number(plain, kind)
        if found.number is None:
            raise WrongTypeError(found.problem)
        return found.number
    if (said := in_units(plain, kind)) is not None:
        return said if isinstance(said, Number) else _number(said, kind)
    if isinstance(plain, bool) or not isinstance(plain, int | float | Fraction):
        raise _wrong(plain, kind)
    if isinstance(plain, float) and not math.isfinite(plain):
        message = f"{plain}, but {_ASKED[kind]} is asked for; look for a division by zero or an overflow"
        raise WrongTypeError(message)
    plain = _without_noise(plain) if isinstance(plain, float) and kind in ("count", "bytes") else plain
    if not -LIMIT <= plain <= LIMIT:
        message = f"{_magnitude(plain)}, too large to be {_ASKED[kind]}"
        raise WrongTypeError(message)
    value = Fraction(plain)
    return Number(value=value, text=str(value.numerator) if value.denominator == 1 else repr(float(value)))


def _magnitude(plain: float | Fraction) -> str:
    """Return a huge number without its digits: `10**400` helps nobody, and Python refuses `str(10**5000)`."""
    return f"a number of about {int(int(plain).bit_length() * math.log10(2)) + 1} digits"


def _text(plain: object) -> str:
    if isinstance(plain, Number):
        return str(plain)
    if isinstance(plain, list | tuple) and all(isinstance(each, str | int) for each in plain):
        return ", ".join(map(_text, plain))
    if isinstance(plain, bool) or not isinstance(plain, str | int | float):
        raise _wrong(plain, "text")
    if isinstance(plain, int) and abs(plain) > LIMIT:
        message = f"{_magnitude(plain)}, but text is asked for"
        raise WrongTypeError(message)
    text = str(plain).strip()
    if len(text) > _LONGEST_TEXT:
        message = f"a text of {len(text):,} characters is too long; {_LONGEST_TEXT:,} are read"
        raise WrongTypeError(message)
    return text


def _shape(plain: object) -> tuple[int, ...]:
    if isinstance(plain, str):
        shape = read_shape(plain) if len(plain) <= _LONGEST_NUMBER else None
        if shape is None:
            message = f"'{cut(plain)}' is not a shape (such as [1, 64, 112, 112])"
            raise WrongTypeError(message)
        return shape
    if is_array(plain):
        plain = cast("Any", plain).tolist()
    if not isinstance(plain, list | tuple):
        raise _wrong(plain, "shape")
    if len(plain) == 1 and isinstance(plain[0], list | tuple):
        return _shape(plain[0])
    if len(plain) > _MOST_DIMENSIONS:
        message = f"a list of {len(plain)} is too long to be a shape"
        raise WrongTypeError(message)
    return tuple(_dimension(each) for each in plain)


def _dimension(plain: object) -> int:
    if type(plain) is int and -LIMIT < plain < LIMIT:  # most are
        return plain
    size = -1 if plain is None else without_numpy(plain)
    if isinstance(size, Number):
        size = size.value
    if isinstance(size, bool) or not isinstance(size, int | float | Fraction) or not -LIMIT < size < LIMIT:
        message = f"a shape is made of whole numbers, but {what(plain)} is in it"
        raise WrongTypeError(message)
    if size != int(size):
        message = f"a shape is made of whole numbers, but {size} is in it"
        raise WrongTypeError(message)
    return int(size)


def _histogram(plain: object) -> dict[str, Number]:
    counted = _named(plain, "counts")
    numbers = {}
    for name, count in counted.items():
        try:
            numbers[name] = _number(without_numpy(count), "count")
        except WrongTypeError as error:
            message = f"'{cut(name)}': {error}"
            raise WrongTypeError(message) from None
    return numbers


def _named(plain: object, of_what: str) -> dict[str, object]:
    """Return a mapping, or a list of pairs, by name."""
    if isinstance(plain, list | tuple) and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in plain):  # noqa: PLR2004 - a pair
        plain = {str(name): item for name, item in plain}
    if not isinstance(plain, Mapping):
        message = f"{what(plain)}, but a mapping of names to {of_what} is asked for"
        raise WrongTypeError(message)
    if len(plain) > _MOST_ROWS:
        message = f"a mapping of {len(plain):,} names is too long; {_MOST_ROWS:,} are read"
        raise WrongTypeError(message)
    return {str(name): item for name, item in plain.items()}


def _tensor(plain: object) -> Array:
    import numpy as np

    plain = read_tensor(plain) if isinstance(plain, str) else plain
    if isinstance(plain, bool | str | Mapping | None) or not isinstance(
        plain, int | float | list | tuple | np.ndarray | np.generic
    ):
        raise _wrong(plain, "tensor")
    if isinstance(plain, list | tuple):
        _check_numbers(plain)
    try:
        array = np.asarray(plain)
    except (ValueError, OverflowError, RecursionError):
        message = "a nested list whose rows have different lengths or are nested too deep, but an array is asked for"
        raise WrongTypeError(message) from None
    if array.dtype.kind == "b" and not isinstance(plain, list | tuple):
        array = array.astype(np.uint8)  # masks are often made so
    if array.dtype.kind not in "iufc":
        message = f"an array of {array.dtype} values, but an array of numbers is asked for"
        raise WrongTypeError(message)
    return array


def _check_numbers(plain: Sequence[object]) -> None:
    """Check nested lists before numpy reads them: it makes room for the longest text in each place.

    Raises:
        WrongTypeError: there is something else than numbers in them, or there are too many.
    """
    waiting: list[Any] = [plain]
    numbers = 0
    while waiting:
        for item in waiting.pop():
            if isinstance(item, list | tuple):
                waiting.append(item)
            elif isinstance(item, str | bytes | Mapping | None):
                message = f"{what(item)} in a list, but an array of numbers is asked for"
                raise WrongTypeError(message)
            else:
                numbers += cast("Any", item).size if is_array(item) else 1
    if numbers > _MOST_NUMBERS:
        message = f"{numbers:,} numbers in lists; {_MOST_NUMBERS:,} are read, more in one array"
        raise WrongTypeError(message)


# ---- tables ----------------------------------------------------------------------------------------------------


def _table(plain: object, kind: TableType, *, trusted: bool) -> Table:
    if isinstance(plain, Table):
        return plain
    if not isinstance(plain, Mapping | list | tuple):
        message = f"{what(plain)}, but a table is asked for: {_example(kind)}"
        raise WrongTypeError(message)
    if len(plain) > _MOST_ROWS:
        message = f"a table of {len(plain):,} rows is too long; {_MOST_ROWS:,} are read"
        raise WrongTypeError(message)
    if isinstance(plain, Mapping):
        named = [(str(name), cells) for name, cells in plain.items()]
    else:
        named = [_listed_row(place, row, kind) for place, row in enumerate(plain, 1)]
    read = [_row(name, cells, kind) for name, cells in named]
    problems = [problem for _, problem in read if problem]
    if problems and (trusted or len(problems) > len(read) * _UNREADABLE):
        raise WrongTypeError(problems[0])
    if trusted:
        return Table(rows=tuple(_annotated(row, cells, kind) for (row, _), (_, cells) in zip(read, named, strict=True)))
    return Table(rows=tuple(row for row, _ in read))


def _listed_row(place: int, row: object, kind: TableType) -> tuple[str, object]:
    """Return the name and the cells of a list's row: a mapping with its name, or a list that begins with it."""
    if isinstance(row, list | tuple) and row and isinstance(row[0], str):
        return row[0], list(row[1:])
    if isinstance(row, Mapping):
        keys = [kind.row] if kind.row in row else [key for key in row if names_rows(str(key), kind.row)]
        if keys:
            return _text(row[keys[0]]), row
    message = f"row {place} has no '{kind.row}': a table is {_example(kind)}"
    raise WrongTypeError(message)


def _row(name: str, cells: object, kind: TableType) -> tuple[Row, str]:
    """Return a row, and the error of the first cell that can't be read, which stays as text."""
    typed: dict[str, Scalar | None] = {}
    problem = ""
    try:
        given = _cells(name, cells, kind)
    except WrongTypeError as error:
        return Row(name=name, cells=dict.fromkeys(kind.columns, what(cells))), str(error)
    for column, cell_kind in kind.columns.items():
        try:
            cell = given.get(column)
            open_cell = cell is None or (cell_kind != "text" and isinstance(cell, str) and _left_open(cell))
            one = cell_kind == "shape" and isinstance(cell, int) and not isinstance(cell, bool)
            typed[column] = None if open_cell else as_scalar([cell] if one else cell, cell_kind)
        except WrongTypeError as error:
            if (infinite := not_finite(given[column])) and cell_kind != "text":
                typed[column] = infinite
                continue
            problem = problem or f"row '{cut(name)}', column '{column}': {error}"
            typed[column] = what(given[column])
    return Row(name=name, cells=typed), problem


def _left_open(cell: str) -> bool:
    return cell.strip().lower() in LEFT_OPEN


def _annotated(row: Row, cells: object, kind: TableType) -> Row:
    """Return an expected row with its further names, right values and whether it is optional."""
    if not isinstance(cells, Mapping) or not any(word in cells for word in ("also_right", "also_named", "optional")):
        return row
    also_right = {
        column: tuple(as_scalar(other, kind.columns[column]) for other in others)
        for column, others in cells.get("also_right", {}).items()
        if column in kind.columns
    }
    also_named = tuple(str(other) for other in cells.get("also_named", ()))
    return replace(row, also_named=also_named, also_right=also_right, optional=bool(cells.get("optional", False)))


def _cells(name: str, cells: object, kind: TableType) -> dict[str, object]:
    """Return the cell of each column, still plain."""
    columns = list(kind.columns)
    cells = without_numpy(cells)
    if isinstance(cells, Mapping):
        return _cells_by_name(name, cells, kind)
    if len(columns) == 1 and _fits(cells, kind.columns[columns[0]]):
        return {columns[0]: cells}
    if isinstance(cells, Sequence) and not isinstance(cells, str):
        told = told_apart(cells, kind.columns, _fits)
        if told is not None:
            return told
        if len(cells) == len(columns):
            return dict(zip(columns, cells, strict=True))
        if list(kind.columns.values()) != ["shape"]:
            asked = f"{len(columns)} are asked for: {', '.join(columns)}"
            message = f"row '{cut(name)}' has {len(cells)} values, but {asked}"
            raise WrongTypeError(message)
    if len(columns) > 1:
        message = f"row '{cut(name)}' has {what(cells)}, but a table is {_example(kind)}"
        raise WrongTypeError(message)
    return {columns[0]: cells}


def _fits(plain: object, kind: str) -> bool:
    try:
        as_scalar(plain, kind)
    except WrongTypeError:
        return False
    return True


def _cells_by_name(name: str, cells: Mapping[Any, object], kind: TableType) -> dict[str, object]:
    columns = list(kind.columns)
    found: dict[str, object] = {}
    for key, cell in cells.items():
        meant = column_meant(str(key), columns)
        if meant is not None and (meant not in found or key == meant):
            found[meant] = cell
    if len(found) < len(columns):
        inside = [cell for key, cell in cells.items() if key != "also_right" and not column_meant(str(key), columns)]
        for key, cell in (part for part_of in inside for part in named(part_of)):
            if (meant := column_meant(key, columns)) is not None:
                found.setdefault(meant, cell)
    missing = [column for column in columns if column not in found]
    if missing and not kind.sparse:
        has = ", ".join(f"'{cut(str(key))}'" for key in list(cells)[:8]) or "nothing"
        message = f"row '{cut(name)}' has no column '{missing[0]}'; it has {has}"
        raise WrongTypeError(message)
    return found


def _example(kind: TableType) -> str:
    columns = list(kind.columns)
    inner = f"its {columns[0]}" if len(columns) == 1 else "{" + ", ".join(f"{column}: ..." for column in columns) + "}"
    return f"a mapping of each {kind.row} to {inner}"


def _wrong(plain: object, kind: str) -> WrongTypeError:
    hint = "; a function without a `return` gives None" if plain is None else ""
    return WrongTypeError(f"{what(plain)}, but {_ASKED[kind]} is asked for{hint}")
