"""What is right because another answer of the same task says so: its value, or what follows from its rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from labgrade.answers.reading.plain_values import not_finite
from labgrade.answers.reading.typed_values import WrongTypeError, as_scalar, as_value
from labgrade.core.results import NoAnswer
from labgrade.core.task import SCALAR_KINDS, AnswerValue
from labgrade.truth.measure import UnfitError
from labgrade.values import Number, Row, Scalar, Table
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from labgrade.core.results import Answered
    from labgrade.core.task import AnswerType, SubjectSpec
    from labgrade.judging.graded_items import Judged
    from labgrade.judging.items import Item
    from labgrade.values import Value

OtherAnswer: TypeAlias = "Callable[[str, SubjectSpec | None], Answered]"

TOTALS: Mapping[str, Callable[[list[Number]], Number]] = {
    "sum": lambda numbers: _added(numbers, 1),
    "mean": lambda numbers: _added(numbers, len(numbers)),
    "max": lambda numbers: max(numbers, key=lambda each: each.value),
    "min": lambda numbers: min(numbers, key=lambda each: each.value),
    "count": lambda numbers: Number(value=Fraction(len(numbers))),
}
BEST: Mapping[str, Callable[[Iterable[Fraction]], Fraction]] = {"argmax": max, "argmin": min}


_WHERE = {"argmax": "highest", "argmin": "lowest"}


_UNITS = re.compile(r"\d\s?(?:(?P<seconds>[mun\u00b5\u03bc]?s|min|h)|(?P<bytes>[kKMGT]?i?B))$")


def own_contradiction(source: AnswerValue, expected: Scalar, answer: Value) -> str:
    """Say what the student's other answer has: `Your own 'runs' says 16, where loss is lowest on average.`."""
    of = source.of or "the number"
    taken = f"where {of} is {_WHERE[source.take]} on average" if source.take in _WHERE else f"the {source.take} of {of}"
    shown = f"{source.by} {expected}" if source.by else str(expected)
    unit = _UNITS.search(expected.text) if isinstance(expected, Number) else None
    bare = isinstance(answer, Number) and answer.text.replace(".", "", 1).isdecimal()
    read = f"; yours has no unit and is read as {unit.lastgroup}" if unit and bare else ""
    return f"Your own '{source.answer}' says {shown}{f', {taken}' if source.take else ''}{read}."


def is_missing(name: str, items: Iterable[Item], judged: Callable[[Item], Judged]) -> bool:
    """Return whether a check of an answer is certain that no text holds it."""
    own = (each for each in items if each.check.answer == name and not each.check.cases)
    alone = (each for each in own if not isinstance(each.check.expected, AnswerValue))
    return any(judged(each).verdict.outcome is Outcome.MISSING for each in alone)


def compared_with(source: AnswerValue, answered: Answered, kind: AnswerType | None) -> Value:
    """Return the other answer as a value of `kind`; a measured one as it is.

    Raises:
        UnfitError: there is none, or it does not say what is best.
    """
    if isinstance(answered, NoAnswer):
        reason = f"it is compared with your '{source.answer}': {answered.verdict.reason or 'which is not there'}"
        raise UnfitError(replace(answered.verdict, reason=reason))
    value = _derived_value(source, answered.value) if source.take else answered.value
    try:
        if isinstance(value, str | Number | tuple) and isinstance(kind, str) and kind in SCALAR_KINDS:
            return as_scalar(value.text or str(value) if kind == "text" and isinstance(value, Number) else value, kind)
        return as_value(value, kind) if kind is not None else value
    except WrongTypeError as error:
        reason = f"it is compared with your '{source.answer}', which says {error}"
        raise UnfitError(without_value(Outcome.MANUAL, reason)) from None


def with_row_name(source: AnswerValue, answered: Answered, value: Value) -> Value:
    """Return the value with the spelling of the other answer's row name or label: `QAT` for `qat`.

    If two of these differ only in case, it is left as it is.
    """
    if not isinstance(value, str) or isinstance(answered, NoAnswer):
        return value
    wanted = " ".join(value.split()).casefold()
    names = {_row_label(source, row) for row, _ in _rows(source, answered.value)}
    meant = [each for each in names if isinstance(each, str) and " ".join(each.split()).casefold() == wanted]
    return meant[0] if len(meant) == 1 else value


def _derived_value(source: AnswerValue, value: Value) -> Scalar:
    """Compute a value from a table's rows or a histogram's counts."""
    rows = _rows(source, value)
    if not rows:
        reason = f"it is compared with your '{source.answer}', which has no row with a number"
        raise UnfitError(without_value(Outcome.MISSING, reason))
    if source.take in TOTALS:
        _all_finite(source, value)
        return TOTALS[source.take]([number for _, number in rows])
    groups: dict[object, tuple[Scalar, list[Number]]] = {}
    for row, number in rows:
        own = _row_label(source, row)
        groups.setdefault(own.value if isinstance(own, Number) else own, (own, []))[1].append(number)
    means = {key: _added(numbers, len(numbers)).value for key, (_, numbers) in groups.items()}
    best = [key for key, mean in means.items() if mean == BEST[source.take](means.values())]
    if len(best) > 1:
        named = ", ".join(str(groups[key][0]) for key in best)
        reason = f"it is compared with your '{source.answer}', in which several are best: {named}"
        raise UnfitError(without_value(Outcome.MANUAL, reason))
    return groups[best[0]][0]


def _all_finite(source: AnswerValue, value: Value) -> None:
    """Refuse to add up rows with infinite or NaN cells; a person decides whether they count.

    Raises:
        UnfitError: a row has nan or inf.
    """
    rows = value.rows if isinstance(value, Table) else ()
    astray = [row.name for row in rows if not_finite(row.cells.get(source.of or next(iter(row.cells), "")))]
    if astray:
        reason = f"it is compared with your '{source.answer}', of which {len(astray)} rows have no finite number"
        raise UnfitError(without_value(Outcome.MANUAL, reason))


def _rows(source: AnswerValue, value: Value) -> list[tuple[Row, Number]]:
    """Return the rows that have a number to compare, with that number."""
    if isinstance(value, Table):
        found = ((row, row.cells.get(source.of or next(iter(row.cells), ""))) for row in value.rows)
        return [(row, cell) for row, cell in found if isinstance(cell, Number)]
    counts = value if isinstance(value, Mapping) else {}
    return [(Row(name=name, cells={}), count) for name, count in counts.items() if isinstance(count, Number)]


def _row_label(source: AnswerValue, row: Row) -> Scalar:
    cell = row.cells.get(source.by)
    return row.name if cell is None else cell


def _added(numbers: list[Number], parts: int) -> Number:
    """Return the sum of numbers divided by `parts`, as precise as they are."""
    return Number(
        value=sum((each.value for each in numbers), Fraction(0)) / parts,
        half_unit=sum((each.half_unit for each in numbers), Fraction(0)) / parts,
    )
