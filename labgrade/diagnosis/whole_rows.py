"""What is wrong with the tables of a function whose cells are right as such, but stand under another row's name."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import accumulate, combinations
from typing import TYPE_CHECKING, Any

from labgrade.values import Number, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from labgrade.diagnosis.probe import Trial
    from labgrade.values import Row

    _Rows: TypeAlias = tuple[Sequence[Row], Sequence[Row]]
    _Tables: TypeAlias = Sequence[_Rows]

_LATE = (
    "A function that is made in a loop looks the loop's variable up when it is called, and finds the last one: give it "
    "the name (def hook(module, args, output, name=name))."
)
_WHOLE = "Take the names that the task says: of a layer the whole one in named_modules()."
_RARE = 4  # there is a layer that runs twice in fewer networks than in one of so many
_FEWEST = 2  # tables of several rows from which something is seen


def of_rows(wrong: Sequence[Trial]) -> tuple[str, str]:
    """Return what all wrong tables have in common: a name and a sentence for a student, both empty if there is nothing.

    The first table is that of the task's own subject.
    """
    tables = [
        (each.value.rows, [row for row in each.expected.rows if not row.optional])
        for each in wrong
        if isinstance(each.value, Table) and isinstance(each.expected, Table)
    ]
    empty = sum(bool(right) and not given for given, right in tables[1:])
    if tables and tables[0][0] and empty >= max(_FEWEST, len(tables) / 2):
        return "unfound", (
            f"In {empty} of the small networks the function finds nothing at all. It chooses by something that these "
            "have not, such as the names or sizes that one model has: choose layers by what they are (isinstance)."
        )
    if len(tables) < len(wrong):
        return "", ""
    return _of_names(tables) or _of_own_row(tables) or _of_order(tables) or _of_sum(tables) or ("", "")


def of_tensors(given: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """Return that all tensors are right and in order, under wrong names; an empty text if that is not so."""
    import numpy as np

    def same(one: Any, other: Any) -> bool:
        return one.shape == other.shape and np.allclose(one, other, rtol=1e-3, atol=1e-4)

    arrays = [*given.values(), *expected.values()]
    if len(given) != len(expected) or len(given) < _FEWEST:
        return ""
    if not all(isinstance(each, np.ndarray) and each.dtype.kind == "f" for each in arrays):
        return ""
    if given.keys() == expected.keys():
        return _of_each_others_names(given, expected, same)
    pairs = zip(given.values(), expected.values(), strict=True)
    if given.keys() & expected.keys() or not all(same(*each) for each in pairs):
        return ""
    wrong, right = next(iter(given)), next(iter(expected))
    return (
        f"The {len(given)} tensors are right, in the order of the calls, but they bear other names: what belongs to "
        f"'{right}' stands under '{wrong}'. {_WHOLE}"
    )


def _of_each_others_names(
    given: Mapping[str, Any], expected: Mapping[str, Any], same: Callable[[Any, Any], bool]
) -> str:
    """Return that each tensor is right, but has another one's name."""
    left = {name: value for name, value in expected.items() if not same(given[name], value)}
    moved: dict[str, str] = {}
    for name in left:
        right = next((other for other in left if other not in moved and same(given[name], left[other])), None)
        if right is None:
            return ""
        moved[right] = name
    if not moved:
        return ""
    right, wrong = next(iter(moved.items()))
    return (
        f"The tensors are right, but {len(moved)} of them stand under each other's names: what belongs to '{right}' "
        f"stands under '{wrong}'. Outputs come in the order of the calls, which need not be the order of "
        "named_modules(): keep each under its own name in the hook."
    )


def exchanged(given: Table, expected: Table) -> str:
    """Return that two columns are exchanged and all else is right; an empty text if that is not so."""
    rows = {row.name: row for row in given.rows}
    pairs = [
        (next((rows[name] for name in (row.name, *row.also_named) if name in rows), None), row)
        for row in expected.rows
        if not row.optional
    ]
    columns = dict.fromkeys(column for row in expected.rows for column in row.cells)
    if len(pairs) < _FEWEST:
        return ""
    for one, other in combinations(columns, 2):
        ways = {one: other, other: one}
        there = [(row, right) for row, right in pairs if row is not None]
        swapped = len(there) == len(pairs) and all(_agree(*each, ways) for each in there)
        if swapped and not any(_agree(*each, {}) for each in there):
            return f"What belongs to the column '{other}' stands under '{one}', and the other way round: exchange them."
    return ""


def _agree(row: Row, right: Row, ways: Mapping[str, str]) -> bool:
    """Return whether the numbers of a row are right, perhaps in each other's columns."""
    for column in right.cells:
        got, wanted = row.cells.get(column), right.cells.get(ways.get(column, column))
        if not isinstance(got, Number) or not isinstance(wanted, Number):
            if column in ways:
                return False
        elif abs(got.value - wanted.value) > got.half_unit:
            return False
    return True


def _of_names(tables: _Tables) -> tuple[str, str] | None:
    """Return that names are wrong, and the cells beside them right."""
    several = _several(tables)
    names = {row.name.partition("#")[0] for given, _ in tables for row in given}
    left = _one_left(tables)
    if len(names) == 1 and (several or left):  # a loop's last name would be another one each time
        return "one_name", f"Every row bears the name '{names.pop()}', in each network that was tried. {_WHOLE}"
    if left:
        return "one_name", (
            f"One row is left of each table: the last value, under the name of another module ('{left}' in the "
            f"smallest network where it is so). {_LATE}"
        )
    if several and all(_one_name(given) for given, _ in several):
        name = _least(several)[0][0].name
        return "one_name", f"All rows bear one name ('{name}' in the smallest network). {_LATE}"
    renamed = _renamed(*_least(several)) if several else None
    others = [each for each in tables if not _renamed(*each)]
    # Under names of one's own each run of a layer has a row, which no mapping has that is asked for by name.
    runs = tables[0] not in others and all(len(given) > len(right) for given, right in others)
    if renamed and runs and _RARE * len(others) <= len(tables):
        given, right = renamed
        return "names", (
            f"What the rows say is right, but they bear other names: what belongs to '{right}' stands under '{given}' "
            f"in the smallest network. {_WHOLE}"
        )
    return None


def _of_own_row(tables: _Tables) -> tuple[str, str] | None:
    """Return that a part of a row has a row of its own, which nobody expects."""
    found = [_apart(*each) for each in tables]
    if len(found) < _FEWEST or not all(found):
        return None
    row, own = min(filter(None, found))
    return "own_row", (
        f"What is missing from '{row}' stands in a row of its own, '{own}'. Put both under '{row}': it is one type, "
        "whatever its options are."
    )


def _apart(given: Sequence[Row], expected: Sequence[Row]) -> tuple[str, str] | None:
    """Return the only wrong row, and the unexpected row that holds the missing part of it."""
    if any(len(row.cells) != 1 for row in expected):
        return None
    right = {row.name: _cells(row, row)[0] for row in expected}
    there = {row.name: _cells(row, expected[0])[0] for row in given}
    if not all(isinstance(value, Fraction) for value in (*right.values(), *there.values())):
        return None
    wrong = [name for name in right if there.get(name, 0) != right[name]]
    strange = [name for name in there if name not in right and there[name]]
    if len(wrong) != 1 or not strange:
        return None
    gap = right[wrong[0]] - there.get(wrong[0], 0)
    own = next((name for name in strange if there[name] == gap), strange[0])
    return (wrong[0], own) if gap in (there[own], sum(there[name] for name in strange)) else None


def _of_order(tables: _Tables) -> tuple[str, str] | None:
    """Return that each row is mixed up with the one before it."""
    several = _several(tables)
    told = any(len({_cells(row, row) for row in right}) > _FEWEST for _, right in several)
    if told and all(_one_late(*each) for each in several):
        return "one_late", "Each row says what belongs to the row before it. Look at where the name and the value meet."
    if several and all(_running(*each) for each in several):
        return "running", (
            "Each row says the sum of all rows up to it. Give each layer's own value: start a row at 0, or take the "
            "difference."
        )
    return None


def _of_sum(tables: _Tables) -> tuple[str, str] | None:
    """Return that rows have the sum of all, or a share of it."""
    several = [each for each in map(_columns, _several(tables)) if each is not None]
    if len(several) < _FEWEST or len(several) < len(_several(tables)):
        return None
    if all(set(given) == {sum(right)} for given, right in several):
        return "sum_everywhere", (
            "Each row has the sum of all rows. Rows that share one list or counter (dict.fromkeys(names, [0])) all "
            "change at once: make one for each."
        )
    for whole, words in ((100, "percent"), (1, "parts of 1")):
        if all(_shares(*each, whole) for each in several):
            return "shares", f"These are shares of the sum in {words}. Give the numbers themselves."
    return None


def _shares(given: Sequence[Fraction], right: Sequence[Fraction], whole: int) -> bool:
    off = Fraction(whole, 200)  # to a hundredth, or to whole percent
    return all(abs(one - whole * other / sum(right)) <= off for one, other in zip(given, right, strict=True))


def _columns(table: _Rows) -> tuple[list[Fraction], list[Fraction]] | None:
    """Return the numbers of each row, given and right, where rows have one and are named as they should be."""
    given, right = ({row.name: _cells(row, table[1][0]) for row in rows} for rows in table)
    if given.keys() != right.keys() or len(table[1][0].cells) != 1:
        return None
    found = [[cells[0] for cells in (rows[name] for name in right)] for rows in (given, right)]
    if not all(isinstance(each, Fraction) for each in (*found[0], *found[1])):
        return None
    return (found[0], found[1]) if sum(found[1]) else None


def _several(tables: _Tables) -> _Tables:
    """Return the tables with more than one row; none if these are too few."""
    several = [each for each in tables if min(map(len, each)) > 1]
    return several if len(several) >= _FEWEST else []


def _least(tables: _Tables) -> _Rows:
    return min(tables, key=lambda each: len(each[1]))


def _one_left(tables: _Tables) -> str:
    """Return the name of the only row of the smallest table, if each has only the last value, under another name."""
    if any(len(given) != 1 or not right for given, right in tables) or not all(
        _cells(given[0], right[-1]) == _cells(right[-1], right[-1]) for given, right in tables
    ):
        return ""
    late = [each for each in tables if len(each[1]) > 1 and each[0][0].name != each[1][-1].name]
    return _least(late)[0][0].name if len(late) >= _FEWEST else ""


def _one_name(given: Sequence[Row]) -> bool:
    return len({row.name.partition("#")[0] for row in given}) == 1


def _renamed(given: Sequence[Row], expected: Sequence[Row]) -> tuple[str, str] | None:
    """Return a row's name with the right one, if it has the same cells and some have another name."""
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
    """Return whether each row of one number has the running total of the expected ones."""
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
