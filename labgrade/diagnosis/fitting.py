"""Values of labgrade's own from plain data, and whether an answer is what a hypothesis makes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from labgrade.answers.reading.plain_values import is_array, what
from labgrade.answers.reading.typed_values import WrongTypeError, as_value
from labgrade.core.errors import FaultError, NoSuchSlipError
from labgrade.core.task import InputSpec, TableOfType, TableType
from labgrade.core.text import excerpt
from labgrade.judging.judge import explains_all, refuted
from labgrade.values import Finding, Findings, Grid, Number, Row, Table
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from labgrade.core.task import AnswerType, SubjectSpec
    from labgrade.diagnosis.bases import Base
    from labgrade.diagnosis.probe import Trial, Trials
    from labgrade.values import Value

_SAID_CHARS = 600
_LINE_CHARS = 120
_BUILD = "Build the input from all of input_size."
_USUAL = (224, 32)  # heights and widths that people write down
_FIXED = "The height and width that are given are not used: the value is that of images of {0}x{0}. " + _BUILD


def _of_size(size: int) -> Callable[[Sequence[int]], Sequence[int]]:
    return lambda shape: (*shape[:-2], size, size)


OTHER_INPUTS: Mapping[str, tuple[Callable[[Sequence[int]], Sequence[int]], str]] = {
    "fixed_input": (
        lambda _: (1, 3, 224, 224),
        f"The input size that is given is not used: the value is that of one image of 3x224x224. {_BUILD}",
    ),
    **{f"fixed_size_{size}": (_of_size(size), _FIXED.format(size)) for size in _USUAL},
    "square_input": (
        lambda shape: (*shape[:-1], shape[-2]),
        f"The value is that of a square image, of the given height: the width is not used. {_BUILD}",
    ),
    "square_input_of_width": (
        lambda shape: (*shape[:-2], shape[-1], shape[-1]),
        f"The value is that of a square image, of the given width: the height is not used. {_BUILD}",
    ),
    "swapped_input": (
        lambda shape: (*shape[:-2], shape[-1], shape[-2]),
        f"The value is that of an image whose height and width are swapped. {_BUILD}",
    ),
}
_IMAGE = 4  # dimensions
_NOISE = Fraction(1, 10**9)  # between two ways of computing the same in floating point


_KINDS: Mapping[type, str] = {str: "text", list: "shape", tuple: "shape"}


def typed(plain: object, kind: AnswerType | None) -> Value:
    """Return labgrade's value in the type of its answer; in its natural type where something is measured.

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
    """Return plain data as a number, text, shape, histogram, tensors, table without columns, or findings.

    Rows that say nothing are a table, the first column of which names each row.

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
        case list() if plain and all(isinstance(item, dict) and item for item in plain):
            return as_value(plain, _table_type(plain), trusted=True)
        case list() if all(isinstance(item, str) for item in plain):
            return Table(rows=tuple(Row(name=item, cells={}) for item in plain))
    message = f"{what(plain)} can't be judged"
    raise WrongTypeError(message)


def _table_type(rows: list[dict[str, Any]]) -> TableType:
    """Return the type of a table from its rows."""
    name, *others = dict.fromkeys(column for row in rows for column in row)
    cells = {column: next((row[column] for row in rows if row.get(column) is not None), 0) for column in others}
    kinds = {column: _KINDS.get(type(cell), "number") for column, cell in cells.items()}
    return TableType(row=name, columns=kinds, sparse=True)


def _finding(plain: dict[str, Any]) -> Finding:
    """Return a finding from labgrade's plain data, which quotes names of the student's."""
    return Finding(
        says=excerpt(plain["says"], _SAID_CHARS),
        certain=plain.get("certain", True) is True,
        absent=plain.get("absent") is True,
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


def fits(kind: AnswerType, trial: Trial, plain: Any, rows: dict[str, tuple[Row, ...]] | None = None) -> bool:
    """Return whether a value is one of slips, as plain data; for a table, one that explains each wrong cell.

    `rows`: a cache for the rows of earlier tables; thousands of tables of slips share theirs.
    """
    if isinstance(trial.value, Number):
        if type(plain) is int:  # most are, and reading a fraction takes longer than the rest
            return abs(trial.value.value - plain) <= trial.value.half_unit
        value = Fraction(repr(plain))
        off = trial.value.half_unit + (0 if value.denominator == 1 else abs(value) * _NOISE)
        return abs(trial.value.value - value) <= off
    table = typed(plain, kind) if rows is None or not isinstance(plain, list) else _table(kind, plain, rows)
    return explains(trial, table) and not leaves_open(trial, table)


def _table(kind: AnswerType, plain: list[object], rows: dict[str, tuple[Row, ...]]) -> Value:
    """Return what `typed` does; rows are taken from the cache."""
    made: list[Row] = []
    for each in plain:
        said = repr(each)
        if said not in rows:
            alone = typed([each], kind)
            if not isinstance(alone, Table):
                return typed(plain, kind)
            rows[said] = alone.rows
        made += rows[said]
    return Table(rows=tuple(made))


def leaves_open(trial: Trial, hypothesis: Value) -> bool:
    """Return whether a hypothesis lacks a row or a cell that is expected in a table."""
    return _more_rows(trial, hypothesis) or _more_cells(trial, hypothesis)


def _more_rows(trial: Trial, hypothesis: Value) -> bool:
    """Return whether a hypothesis lacks a row that a table should have. A checker may allow further rows.

    A row with the same cells that nobody expects is that row under another name, unless the hypothesis has it, too. A
    row of zeros counts as none.
    """
    tables = (trial.value, trial.expected, hypothesis)
    given, expected, left = (each.rows if isinstance(each, Table) else () for each in tables)
    there = {
        row.name for row in given if any(not isinstance(each, Number) or each.value for each in row.cells.values())
    }
    kept = {row.name for row in left}
    known = {name for row in expected for name in (row.name, *row.also_named)}
    strange = [row.cells for row in given if row.name not in known | kept]
    gone = [row for row in expected if not kept & {row.name, *row.also_named}]
    return any(there & {row.name, *row.also_named} or _alike(row.cells, strange) for row in gone)


def _alike(cells: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> bool:
    def bare(row: Mapping[str, Any]) -> list[Any]:
        return [cell.value if isinstance(cell, Number) else cell for cell in map(row.get, cells)]

    return any(bare(other) == bare(cells) for other in others)


def _more_cells(trial: Trial, hypothesis: Value) -> bool:
    """Return whether a hypothesis lacks a cell that a row should have."""
    tables = (trial.value, trial.expected, hypothesis)
    given, expected, left = ({row.name: row for row in each.rows} if isinstance(each, Table) else {} for each in tables)
    return any(
        cell is not None and left[name].cells.get(column) is None and given[name].cells.get(column) is not None
        for name in left.keys() & expected.keys() & given.keys()
        for column, cell in expected[name].cells.items()
    )


def explains(trial: Trial, known: Value) -> bool:
    """Return whether a slip's value is the given one, and explains every wrong cell of a table."""
    judging, value = trial.judging, trial.value
    if judging is None or value is None or refuted(judging, value, known):
        return False
    if judging(value, known).outcome is not Outcome.CORRECT:
        return False
    return explains_all(value, known, trial.expected, judging)


def is_of_input(trials: Trials, base: Base, trial: Trial, subject: SubjectSpec, slip: str) -> bool:
    """Return whether a value is the one for another input; the right one where that is no image or has no value."""
    given = subject.input.shape
    other = given if len(given) != _IMAGE and slip != "fixed_input" else tuple(OTHER_INPUTS[slip][0](given))
    try:
        value = trials.value_of(base.call, replace(subject, input=InputSpec(shape=other)))
    except FaultError:
        return slip != "fixed_input" and trial.value == trial.expected
    return fits(trials.kind, trial, value)
