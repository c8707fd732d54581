"""What is wrong with the tables of a function whose cells are right as such, but stand under another row's name."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from labgrade.values import Number, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labgrade.diagnosis.probe import Trial
    from labgrade.values import Row

_LATE = (
    "A function that is made in a loop looks the loop's variable up when it is called, and finds the last one: give it "
    "the name (def hook(module, args, output, name=name))."
)
_FEWEST = 2  # tables of several rows from which something is seen


def of_rows(wrong: Sequence[Trial]) -> tuple[str, str]:
    """What all wrong tables have in common, by name, and the sentence for a student; nothing where there is nothing."""
    tables = [
        (each.value.rows, [row for row in each.expected.rows if not row.optional])
        for each in wrong
        if isinstance(each.value, Table) and isinstance(each.expected, Table)
    ]
    several = [each for each in tables if min(map(len, each)) > 1]
    if len(tables) == len(wrong) and (left := _one_left(tables)):
        return "one_name", (
            f"One row is left of each table: the last value, under the name of another module ('{left}' in the "
            f"smallest network where it is so). {_LATE}"
        )
    if len(tables) < len(wrong) or len(several) < _FEWEST:
        return "", ""
    least = min(several, key=lambda each: len(each[1]))
    if all(_one_name(given) for given, _ in several):
        return "one_name", (f"All rows bear one name ('{least[0][0].name}' in the smallest network). {_LATE}")
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
    if all(_running(*each) for each in several):
        return "running", (
            "Each row says the sum of all rows up to it. Give each layer's own value: start a row at 0, or take the "
            "difference."
        )
    return "", ""


def _one_left(tables: Sequence[tuple[Sequence[Row], Sequence[Row]]]) -> str:
    """The name of the only row of a smallest table, where each has the last value alone and under another name."""
    if any(len(given) != 1 or not right for given, right in tables) or not all(
        _cells(given[0], right[-1]) == _cells(right[-1], right[-1]) for given, right in tables
    ):
        return ""
    late = [each for each in tables if len(each[1]) > 1 and each[0][0].name != each[1][-1].name]
    return min(late, key=lambda each: len(each[1]))[0][0].name if len(late) >= _FEWEST else ""


def _one_name(given: Sequence[Row]) -> bool:
    return len({row.name.partition("#")[0] for row in given}) == 1


def _renamed(given: Sequence[Row], expected: Sequence[Row]) -> tuple[str, str] | None:
    """A row's name with the right one, where the same cells are there and some stand under another name."""
    known = {name: _cells(row, row) for row in expected for name in (row.name, *row.also_named)}
    if all(any(_cells(row, row)) for row in expected):  # a type that a network has none of may be there with 0
        given = [row for row in given if any(_cells(row, row))]
    if not expected or Counter(_cells(row, expected[0]) for row in given) != Counter(known[e.name] for e in expected):
        return None
    wrong = [row for row in given if known.get(row.name) != _cells(row, expected[0])]
    taken = {row.name for row in given if row not in wrong}
    for row in wrong:
        right = [e.name for e in expected if e.name not in taken and known[e.name] == _cells(row, expected[0])]
        if right:
            return row.name, right[0]
    return None


def _running(given: Sequence[Row], expected: Sequence[Row]) -> bool:
    """Whether each row of one number has the sum of what is expected up to it."""
    cells = [[_cells(row, expected[0]) for row in rows] for rows in (given, expected)]
    if any(len(each) != 1 or not isinstance(each[0], Fraction) for rows in cells for each in rows):
        return False
    values, right = ([each[0] for each in rows] for rows in cells)
    return [row.name for row in given] == [row.name for row in expected] and values == list(accumulate(right))


def _one_late(given: Sequence[Row], expected: Sequence[Row]) -> bool:
    if [row.name for row in given] != [row.name for row in expected]:
        return False
    late = [_cells(row, expected[0]) for row in given[1:]]
    return late == [_cells(row, row) for row in expected[:-1]]


def _cells(row: Row, columns: Row) -> tuple[Any, ...]:
    cells = [row.cells.get(name) for name in columns.cells]
    return tuple(each.value if isinstance(each, Number) else each for each in cells)
