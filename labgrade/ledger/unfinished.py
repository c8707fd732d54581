"""Runs that have not come to their end: what they were to grade, so that a part never looks like the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labgrade.core import serialise
from labgrade.core.points import NOT_REACHED
from labgrade.core.text import encodable
from labgrade.judging.graded_items import Judged, graded_so_far, with_points
from labgrade.judging.items import items
from labgrade.ledger.database import dump, load
from labgrade.ledger.rows import CheckRow
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from labgrade.core.results import Graded
    from labgrade.core.task import Task
    from labgrade.judging.items import Item
    from labgrade.ledger.database import Ledger
    from labgrade.ledger.rows import Place

_NOT_REACHED = without_value(
    Outcome.FAULT, "not graded yet: no points are lost", fault=f"{NOT_REACHED}: the run was interrupted, or goes on"
)


def plan_run(
    ledger: Ledger, run: int, names: Iterable[str], tasks: Iterable[Task], only: Collection[Place] | None = None
) -> None:
    """Note what a run is to grade, all checks of the tasks or `only` some. The run's end replaces the note."""
    wanted = [
        [task.lab, task.id, task.title, str(task.points), place, serialise.plain(_not_reached(item))]
        for task in tasks
        for place, item in enumerate(items(task))
        if only is None or (task.lab, task.id, item.id) in only
    ]
    plain = {"names": sorted(map(encodable, names)), "checks": wanted}
    with ledger.transaction():
        ledger.write("UPDATE run SET notes = ? WHERE id = ?", dump(plain), run)


def _not_reached(item: Item) -> Graded:
    return with_points(graded_so_far(item, Judged(verdict=_NOT_REACHED)), item)


def unfinished(ledger: Ledger) -> list[Any]:
    """Return what unfinished runs were to grade and no later run covered."""
    later: list[dict[str, Any]] = []
    found = []
    for ended, asked, notes in ledger.rows("SELECT ended, asked, notes FROM run ORDER BY id DESC"):
        plain = load(ledger, asked)
        if ended is not None:
            later.append(plain)
        elif not any(_makes_up_for(plain, each) for each in later):
            found.append(load(ledger, notes))
    return found


def _makes_up_for(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> bool:
    """Return whether a finished run covers an earlier one. `part`: pytest chose, so that nobody knows."""
    if later.get("again"):
        return True
    wider = all(not later[each] or (earlier[each] and set(earlier[each]) <= {*later[each]}) for each in _CHOICES)
    same_place = later["source"] == earlier["source"] and later["lab"] in (None, earlier["lab"])
    return wider and same_place and (not later.get("part") or bool(earlier.get("part")))


_CHOICES = ("names", "tasks")


def not_reached(runs: Iterable[Any]) -> dict[str, dict[Place, CheckRow]]:
    """Return for each submission the checks that unfinished runs did not reach, as pending."""
    found: dict[str, dict[Place, CheckRow]] = {}
    for wanted in runs:
        rows = {
            (lab, task, plain["id"]): CheckRow(place=place, title=title, points=points, judged=None, at="", plain=plain)
            for lab, task, title, points, place, plain in wanted["checks"]
        }
        for name in wanted["names"]:
            found[name] = {**found.get(name, {}), **rows}
    return found


def was_not_reached(graded: Graded) -> bool:
    """Return whether a check is pending because no run has reached it."""
    return graded.verdict.facts == _NOT_REACHED.facts
