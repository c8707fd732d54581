"""Rows that are named by type and number: `Conv2d-1` as torchsummary has it, `Conv_3`, or by a count of one's own."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from ._names import folded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labgrade.values import Row

_NUMBERED = re.compile(r"([a-z][a-z0-9]{0,40})[-_](\d{1,6})")


def is_numbered(name: str) -> bool:
    """Whether a name is a number, or a type with one."""
    return name.isdecimal() or _NUMBERED.fullmatch(folded(name)) is not None


def numbered(given: Sequence[str], expected: Sequence[Row]) -> tuple[dict[int, int], set[int]]:
    """Pairs of expected rows and places in the answer; and the places whose names are to be taken for nothing else.

    Tools number rows in different ways, and the number of one is another row's number in the other. So the rows of a
    type are paired in their order where there are as many as are expected, else by the first way in which each of them
    has a number; where there is none, a value would be blamed for a name.
    """
    own = {folded(row.name) for row in expected}
    groups: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    strange = set()
    for place, name in enumerate(given):
        if match := _NUMBERED.fullmatch(folded(name)):
            groups[match[1]].append((int(match[2]), place))
            strange |= {match[1]} if folded(name) not in own else set()
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    known = _numbers(expected)
    for kind in strange & known.keys():
        ranked = sorted(groups[kind])
        taken |= {place for _, place in ranked}
        pairs |= _paired(ranked, known[kind])
    return pairs, taken


def _paired(ranked: Sequence[tuple[int, int]], rows: Mapping[int, list[int]]) -> dict[int, int]:
    """`ranked`: numbers and places in the answer; `rows`: the numbers that each expected row of this type may have."""
    given = dict(ranked)
    if len(given) == len(ranked) == len(rows):
        return {index: place for index, (_, place) in zip(rows, ranked, strict=True)}
    for way in (0, -1):
        numbers = {found[way]: index for index, found in rows.items()}
        if given.keys() <= numbers.keys():
            return {numbers[number]: place for number, place in given.items()}
    return {}


def _numbers(expected: Sequence[Row]) -> dict[str, dict[int, list[int]]]:
    """By type, the numbers of each row that has one, by the row's index."""
    found: defaultdict[str, dict[int, list[int]]] = defaultdict(dict)
    for index, row in enumerate(expected):
        for name in (row.name, *row.also_named):
            if match := _NUMBERED.fullmatch(folded(name)):
                found[match[1]].setdefault(index, []).append(int(match[2]))
    return found
