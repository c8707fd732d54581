"""What is wrong with the tables of a function whose cells are right as such, but stand under another row's name."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from labgrade.values import Number, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labgrade.diagnosis.probe import Trial
    from labgrade.values import Row

_FEWEST = 2  # tables of several rows from which something is seen


def of_rows(wrong: Sequence[Trial]) -> tuple[str, str]:
    """What all wrong tables have in common, by name, and the sentence for a student; nothing where there is nothing."""
    tables = [
        (each.value.rows, [row for row in each.expected.rows if not row.optional])
        for each in wrong
        if isinstance(each.value, Table) and isinstance(each.expected, Table)
    ]
    several = [each for each in tables if min(map(len, each)) > 1]
    if len(tables) < len(wrong) or len(several) < _FEWEST:
        return "", ""
    least = min(several, key=lambda each: len(each[1]))
    if all(_one_name(given) for given, _ in several):
        return "one_name", (
            f"All rows bear one name ('{least[0][0].name}' in the smallest network). A function that is made in a loop "
            "looks the loop's variable up when it is called, and finds the last one: give it the name "
            "(def hook(module, args, output, name=name))."
        )
    renamed = _renamed(*least)
    if renamed and all(_renamed(*each) for each in tables):
        given, right = renamed
        return "names", (
            f"What the rows say is right, but they bear other names: what belongs to '{right}' stands under '{given}' "
            "in the smallest network. Take the names that the task says: of a layer the whole one in named_modules()."
        )
    told = any(len({_cells(row, row) for row in right}) > _FEWEST for _, right in several)
    if told and all(_one_late(*each) for each in several):
        return "one_late", "Each row says what belongs to the row before it. Look at where the name and the value meet."
    return "", ""


def _one_name(given: Sequence[Row]) -> bool:
    return len({row.name.partition("#")[0] for row in given}) == 1


def _renamed(given: Sequence[Row], expected: Sequence[Row]) -> tuple[str, str] | None:
    """A row's name with the right one, where the same cells are there and some stand under another name."""
    known = {name: _cells(row, row) for row in expected for name in (row.name, *row.also_named)}
    if not expected or Counter(_cells(row, expected[0]) for row in given) != Counter(known[e.name] for e in expected):
        return None
    wrong = [row for row in given if known.get(row.name) != _cells(row, expected[0])]
    taken = {row.name for row in given if row not in wrong}
    for row in wrong:
        right = [e.name for e in expected if e.name not in taken and known[e.name] == _cells(row, expected[0])]
        if right:
            return row.name, right[0]
    return None


def _one_late(given: Sequence[Row], expected: Sequence[Row]) -> bool:
    if [row.name for row in given] != [row.name for row in expected]:
        return False
    late = [_cells(row, expected[0]) for row in given[1:]]
    return late == [_cells(row, row) for row in expected[:-1]]


def _cells(row: Row, columns: Row) -> tuple[Any, ...]:
    cells = [row.cells.get(name) for name in columns.cells]
    return tuple(each.value if isinstance(each, Number) else each for each in cells)
