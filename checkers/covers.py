"""The checker for a grid of runs: whether every combination was tried."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from labgrade.values import Table, show
from labgrade.verdict import Verdict, correct, incorrect, partial

from ._runs import groups, number, unreadable
from ._wording import listed, shown

if TYPE_CHECKING:
    from labgrade.values import Findings, Value

_MOST = 100_000


def covers(answer: Table | Findings, expected: Value | None, *, columns: list[str], least: list[int]) -> Verdict:
    """A table with a row for each combination of the values of some columns; the credit is the share that is there.

    `least`: how many different values each of the `columns` needs, in the same order.
    """
    del expected  # the table's own values are what has to be combined
    if not isinstance(answer, Table):
        return incorrect(f"got {shown(answer)}, which is no table of runs")
    if reason := unreadable(answer, columns):
        return incorrect(reason)
    values = [list(groups(answer, column)) for column in columns]
    for column, own, wanted in zip(columns, values, least, strict=False):
        if len(own) < wanted:
            tried = listed([show(each) for each in own])
            return incorrect(f"{len(own)} values of {column} were tried ({tried}); {wanted} are asked for")
    total = prod(map(len, values))
    if total > _MOST:
        return incorrect(f"{total:,} combinations of {listed(columns)} can't all be there")
    there = {tuple(number(row, column) for column in columns) for row in answer.rows}
    lacking = [each for each in product(*values) if each not in there]
    if not lacking:
        return correct(f"all {total:,} combinations of {listed(columns)} are there")
    named = [
        " with ".join(f"{column} {show(value)}" for column, value in zip(columns, each, strict=True))
        for each in lacking
    ]
    reason = f"{len(lacking)} of {total:,} combinations are missing: {listed(named)}"
    return partial(Fraction(len(there), total), reason)
