"""What slips make of a quantity of a config, found from its formula. None of these values is ever right."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._slips.compose import Composition, WantedProducts, answered, compatible
from ._slips.formulas import counted, flat, parts_of, traced
from ._slips.in_formulas import is_likely, library

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def formula_slips(
    config: dict[str, Any],
    *,
    most: int = 1,
    among: list[str] | None = None,
    between: list[str] | None = None,
) -> dict[str, Any]:
    """What slips make of the quantity `of` that the `file` has, computed of `config`.

    `known`: the sentences of the functions of the same file that are known as its slips. `digest`: of all of this.

    Raises:
        ValueError: the quantity has no formula that can be found by running it.
    """
    wanted = WantedProducts(most=most, among=among, between=between)
    file, own = Path(config["file"]), config["config"]
    right = traced(file, config["of"], own)
    parts, says = list(parts_of(right)), {}
    for name, hint in config["known"].items():
        try:
            parts += parts_of(traced(file, name, own), name, right)
        except ValueError:  # then it is known as a value alone
            continue
        says[name] = hint
    values = flat(own)
    slips = library(parts, values, config["of"], says)
    if among is not None:  # a slip of another config may have no place in this one
        wanted = replace(wanted, among=[each for each in among if set(filter(None, each.split("+"))) <= slips.keys()])
    found = Composition(library=slips, make=lambda _: counted(parts, values))
    if isinstance(right, list):
        return answered(slips, ((names, _table(right, rows)) for names, rows in found.tables(wanted)))
    answer = answered(slips, found.totals(wanted))
    if most != 1 or among is not None:
        return answer
    return answer | _further(found, [name for name, _ in answer["values"] if name], says)


def _table(right: list[dict[str, Any]], rows: dict[str, int | float]) -> list[dict[str, Any]]:
    """Rows as the quantity gives them, with other numbers."""
    made = []
    for row in right:
        name, *columns = row
        made.append({name: row[name], **{each: rows.get(f"{row[name]}\0{each}", 0) for each in columns}})
    return made


def _further(found: Composition, names: Iterable[str], known: Collection[str]) -> dict[str, list[str]]:
    """Which slips are `likely`, and the `pairs` of these to ask for next."""
    likely = [name for name in names if name in known or is_likely(name)]
    pairs = [each for each in combinations(likely, 2) if compatible(each, found.library)]
    return {"pairs": ["+".join(each) for each in pairs], "likely": likely}
