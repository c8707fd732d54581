"""The checker for a grid of runs: whether every combination was tried."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Annotated

from labgrade.values import Number, Table, show
from labgrade.verdict import Outcome, Suggestion, Verdict, correct, incorrect, partial, without_value

from ._runs import as_finite, groups, judged_without_gaps, no_share, number
from ._wording import listed, of_all_parts, shown

if TYPE_CHECKING:
    from labgrade.values import Findings, Value

_MOST = 100_000
_MOST_GAPS = 2_000  # a grid with more is not one with a few runs too many


def covers(  # noqa: PLR0913 - what a spec may set, each by its name
    answer: Table | Findings,
    expected: Value | None,
    *,
    columns: Annotated[list[Annotated[str, {"format": "column"}]], {"minItems": 1, "uniqueItems": True}],
    least: list[Annotated[int, {"minimum": 1}]],
    ends: Annotated[list[float], {"minItems": 2, "maxItems": 2}] | None = None,
    span: Annotated[float, {"exclusiveMinimum": 1}] | None = None,
    result: Annotated[str, {"format": "column"}] | None = None,
    share: bool = False,
) -> Verdict:
    """A table with a row for each combination of the values of some columns; the credit is the share that is there.

    `least`: how many different values each of the `columns` needs, in the same order. What was tried beyond a grid of
    as many leaves no gap in it. `ends`: from where to where the first column has to go; an end that is not reached
    counts as a value of which all combinations are missing. `span`: how many times its smallest value its largest has
    to be; where it is less, a value is missing in the same way. `result`: the column of what came out of a run, without
    which there was none; it may have gone astray (nan, inf). Where it is a `share` that is none, a person looks.
    """
    del expected  # the table's own values are what has to be combined
    _refuse_contradictions(columns, least, ends)
    if not isinstance(answer, Table):
        return incorrect(f"got {shown(answer)}, which is no table of runs")
    if result is None:
        return judged_without_gaps(answer, columns, lambda runs: _covered(runs, columns, least, ends, span))

    if not any(isinstance(row.cells.get(result), Number) for row in answer.rows):  # another name may be meant
        reason = f"no row has a number in a column '{result}'"
        nothing = Suggestion(outcome=Outcome.INCORRECT, credit=Fraction(0), why=reason)
        return replace(without_value(Outcome.MANUAL, reason), suggestion=nothing)

    def judged(runs: Table) -> Verdict:
        return (no_share(runs, result) if share else None) or _covered(runs, columns, least, ends, span)

    return judged_without_gaps(as_finite(answer, result), [*columns, result], judged)


def _covered(
    runs: Table, columns: list[str], least: list[int], ends: list[float] | None, span: float | None
) -> Verdict:
    """The verdict on runs that all have a number in each column."""
    values = [list(groups(runs, column)) for column in columns]
    for column, own, wanted in zip(columns, values, least, strict=False):
        if len(own) < wanted:
            tried = listed([show(each) for each in own])
            some = f"{len(own)} values of {column} were" if len(own) > 1 else f"1 value of {column} was"
            return incorrect(f"{some} tried ({tried}); {wanted} are asked for")
    if (total := prod(map(len, values))) > _MOST:
        return incorrect(f"{total:,} combinations of {listed(columns)} can't all be there")
    there = {tuple(number(row, column) for column in columns) for row in runs.rows}
    lacks = [*(_beyond(values[0], ends) if ends else ()), *(_too_near(values[0], span) if span else ())]
    short = [f"all with {columns[0]} {end}" for end in lacks]
    values = _without_extra(values, there, least)
    lacking = [each for each in product(*values) if each not in there]
    if not (lacking or short):
        return correct(f"all {prod(map(len, values)):,} combinations of {listed(columns)} are there")
    named = [" with ".join(map(_said, columns, each)) for each in lacking]
    at_ends = len(short) * prod(map(len, values[1:]))
    missing, total = len(lacking) + at_ends, prod(map(len, values)) + at_ends
    reason = f"{of_all_parts(missing, total, 'combinations', 'is', 'are')} missing: {listed([*short, *named])}"
    return partial(Fraction(total - missing, total), reason)


def _said(column: str, value: Fraction) -> str:
    return f"{column} {show(value)}"


def _refuse_contradictions(columns: list[str], least: list[int], ends: list[float] | None) -> None:
    if len(columns) != len(least):
        message = f"'least' has one number for each of 'columns': {len(columns)}, not {len(least)}"
        raise ValueError(message)
    if ends and ends[0] >= ends[1]:
        message = f"'ends' go from the smaller number to the larger, not from {ends[0]:g} to {ends[1]:g}"
        raise ValueError(message)


def _beyond(values: list[Fraction], ends: list[float]) -> list[str]:
    """The ends that the values do not reach, to a hundredth."""
    low, high = (Fraction(repr(end)) for end in ends)
    least = [f"{show(low)} or less"] if min(values) > low * Fraction(101, 100) else []
    return least + ([f"{show(high)} or more"] if max(values) < high * Fraction(99, 100) else [])


def _too_near(values: list[Fraction], span: float) -> list[str]:
    """The largest value that is asked for, where all of them lie too near to each other."""
    most = min(values) * Fraction(repr(span))
    return [f"{show(most)} or more"] if min(values) > 0 and max(values) < most else []


def _without_extra(
    values: list[list[Fraction]], there: set[tuple[Fraction, ...]], least: list[int]
) -> list[list[Fraction]]:
    """The values of each column, without those beyond `least` that leave most combinations out, while any is left out.

    A few runs more than a grid, such as a third seed at one setting, leave the grid as whole as it was.
    """
    kept = [list(own) for own in values]
    while len(gaps := [each for each in product(*kept) if each not in there]) in range(1, _MOST_GAPS):
        lacking = Counter(pair for each in gaps for pair in enumerate(each))
        spare = [pair for pair in lacking if len(kept[pair[0]]) > least[pair[0]]]
        if not spare:
            break
        place, value = max(spare, key=lacking.__getitem__)
        kept[place].remove(value)
    return kept
