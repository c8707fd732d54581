"""Layer by layer: what is right on the smallest network beside what the student's own table says, as comments."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.by_layer import companion, layers_of
from labgrade.errors import FaultError
from labgrade.forms import CallForm, TableType
from labgrade.model import QuantityCall
from labgrade.values import Number, Table, show

if TYPE_CHECKING:
    from labgrade.model import SubjectSpec
    from labgrade.trials import Trials

_MOST_ROWS = 12


def lines(trials: Trials, subject: SubjectSpec) -> list[str]:
    """A line a layer with both values; none where a single layer says no more than the total, or none can be had."""
    source = companion(trials.check.expected, trials.quantities)
    if source is None:
        return []
    try:
        right = {layer.name: show(Fraction(layer.value)) for layer in layers_of(trials.plain(source, subject))}
    except FaultError:
        return []
    name, column = _table_of(trials, source)
    yours = _numbers(trials.other(name, subject), column) if name else {}
    if len(right) < 2 and not yours:  # noqa: PLR2004 - one row is the total
        return []
    rows = [(layer, right.get(layer, "none"), yours.get(layer, "none")) for layer in {**right, **yours}]
    if not yours:
        rows = [(layer, number, "") for layer, number, _ in rows]
    heads = ("layer", "right", "yours" if yours else "")
    widths = [max(len(row[place]) for row in [heads, *rows]) for place in range(3)]
    written = [
        f"# {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}".rstrip()
        for row in [heads, *rows[:_MOST_ROWS]]
    ]
    more = len(rows) - _MOST_ROWS
    return [*written, f"# and {more} more"] if more > 0 else written


def _table_of(trials: Trials, source: QuantityCall) -> tuple[str, str]:
    """The answer of the task that this quantity is expected of, if a function gives it, and its column of numbers."""
    for check in trials.task.checks:
        expected, answer = check.expected, trials.task.answers[check.answer]
        if (
            isinstance(expected, QuantityCall)
            and expected.quantity == source.quantity
            and isinstance(answer.type, TableType)
            and len(answer.type.columns) == 1
            and any(isinstance(form, CallForm) for form in answer.forms)
        ):
            return answer.name, next(iter(answer.type.columns))
    return "", ""


def _numbers(table: object, column: str) -> dict[str, str]:
    if not isinstance(table, Table):
        return {}
    cells = {row.name: row.cells.get(column) for row in table.rows}
    return {name: show(cell.value) for name, cell in cells.items() if isinstance(cell, Number)}
