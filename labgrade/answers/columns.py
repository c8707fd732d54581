"""Which value of a row belongs to which column, where only the types of the values tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def told_apart(
    values: Sequence[object], kinds: Mapping[str, str], fits: Callable[[object, str], bool]
) -> dict[str, object] | None:
    """The value of each column; values of no column (a layer's type) are left out. None where types do not tell.

    Values in the order of the columns are taken as they are; a value of None fits any column there. In another order,
    or with more of them, each column must have exactly one value that fits it.
    """
    in_order = dict(zip(kinds, values, strict=False))
    if len(values) == len(kinds) and all(cell is None or fits(cell, kinds[name]) for name, cell in in_order.items()):
        return in_order
    places: dict[str, int] = {}
    for column, kind in kinds.items():
        fitting = [place for place, value in enumerate(values) if fits(value, kind)]
        if len(fitting) != 1 or fitting[0] in places.values():
            return None
        places[column] = fitting[0]
    return {column: values[place] for column, place in places.items()}
