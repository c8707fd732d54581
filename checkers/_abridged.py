"""Rows of one name in a table that leaves some out: which of the expected ones they are, only their values tell."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ._names import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from labgrade.values import Row

_MOST_COMPARED = 50_000


def realigned(
    pairs: Mapping[int, int], answer: Sequence[Row], expected: Sequence[Row], right: Callable[[int, int], bool]
) -> Mapping[int, int]:
    """The pairs of expected and given rows; several of one name are paired so that the most are `right`, in order."""
    named: defaultdict[str, list[int]] = defaultdict(list)
    for index, row in enumerate(expected):
        for name in {folded(row.name), *map(folded, row.also_named)}:
            named[name].append(index)
    given: defaultdict[str, list[int]] = defaultdict(list)
    for place in sorted(pairs.values()):
        given[folded(answer[place].name)].append(place)
    found = dict(pairs)
    for name, places in given.items():
        open_to = [index for index in named[name] if index not in pairs or pairs[index] in places]
        own = [index for index in open_to if index in pairs]
        if 1 < len(own) == len(places) < len(open_to) and len(places) * len(open_to) <= _MOST_COMPARED:
            found = {index: place for index, place in found.items() if index not in own}
            chosen = _in_order([[right(index, place) for index in open_to] for place in places])
            found |= {open_to[at]: place for at, place in zip(chosen, places, strict=True)}
    return dict(sorted(found.items()))


def _in_order(right: Sequence[Sequence[bool]]) -> list[int]:
    """For each row a column behind that of the row before, so that the most are right; the first of several ways."""
    rows, columns = len(right), len(right[0])
    best = [[0] * (columns + 1) for _ in range(rows + 1)]  # of the rows from here on, in the columns from here on
    for row in reversed(range(rows)):
        best[row][columns] = -rows  # there is no column left for it
        for column in reversed(range(columns)):
            here = right[row][column] + best[row + 1][column + 1]
            best[row][column] = max(here, best[row][column + 1])
    chosen, column = [], 0
    for row in range(rows):
        while best[row][column] > right[row][column] + best[row + 1][column + 1]:
            column += 1
        chosen.append(column)
        column += 1
    return chosen
