"""What the ledger tells: the report of a class, what changed, and the story of one verdict. Nothing is run."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any

from labgrade.core import serialise
from labgrade.core.results import Report, SubmissionReport, TaskReport
from labgrade.ledger.database import Ledger, load
from labgrade.ledger.rows import each_standing, parts_of, published, standing
from labgrade.ledger.unfinished import not_reached, unfinished

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from labgrade.core.results import Graded
    from labgrade.ledger.rows import CheckRow, Place, Published


_EMPTY = hashlib.sha256().hexdigest()[:32]  # as `depends.digest` has it
FEW = 3
NOT_ENDED = "a run did not finish: what it did not reach is pending, or as it was before; grade again to go on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A check whose result changed. `after` is None if the check is gone."""

    who: str
    place: Place
    at: str
    before_at: str
    before: Graded
    after: Graded | None
    why: str

    @property
    def counts(self) -> bool:
        """Return whether more than the wording changed."""
        return self.after is None or _result(self.before) != _result(self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCheck:
    """A lower result that is held back because the check's points are published."""

    who: str
    place: Place
    published: Fraction
    would_be: Graded
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One verdict: its current state, what it depends on, and its history, oldest first."""

    place: Place
    graded: Graded
    at: str
    parts: Mapping[str, Any]
    history: tuple[Change, ...]


def report_of(results: Path) -> Report:
    """The report of all that was graded into a folder, from its ledger alone.

    Submissions are sorted by name, tasks by lab and name, checks as the spec has them, whatever order they came in.
    What a run did not reach that has not come to its end is pending.

    Raises:
        LedgerError: there is no ledger, or it can't be read.
    """
    with Ledger(results) as ledger:
        runs = unfinished(ledger)
        to_do = not_reached(runs)
        people = {**dict.fromkeys(to_do, "[]"), **dict(ledger.rows("SELECT who, remarks FROM submission"))}
        judged = {who: _tasks({**to_do.get(who, {}), **standings}) for who, standings in each_standing(ledger)}
        return Report(
            submissions=tuple(
                SubmissionReport(
                    name=who,
                    tasks=judged[who] if who in judged else _tasks(to_do.get(who, {})),
                    remarks=tuple(load(ledger, people[who])),
                )
                for who in sorted(people)
            ),
            notes=(*notes(ledger), *((NOT_ENDED,) if runs else ())),
        )


def notes(ledger: Ledger) -> tuple[str, ...]:
    """Return the notes of the last finished run, such as the protection in force and stray files."""
    found = ledger.rows("SELECT notes FROM run WHERE ended IS NOT NULL ORDER BY id DESC LIMIT 1")
    return tuple(load(ledger, found[0][0])) if found else ()


def _result(graded: Graded) -> tuple[object, ...]:
    return graded.verdict.outcome, graded.verdict.credit, graded.points, graded.earned, graded.bonus


def unsteady(ledger: Ledger) -> set[str]:
    """Return submissions with a verdict that a busy machine may have caused and that was seen only once."""
    question = (
        "SELECT who, judged.plain FROM graded JOIN judged ON judged.id = graded.judged "
        "WHERE judged.tries = 1 AND judged.outcome IN ('TIMEOUT', 'MEMORY')"
    )
    return {who for who, plain in ledger.rows(question) if load(ledger, plain)["verdict"].get("unsteady")}


def _tasks(standings: Mapping[Place, CheckRow]) -> tuple[TaskReport, ...]:
    """Group standings by task in the order in which pytest collects specs: by path."""
    rows = sorted(standings.items(), key=lambda row: (row[0][0], f"{row[0][1]}.yaml", row[1].place))
    tasks = []
    for (lab, task), group in groupby(rows, key=lambda row: row[0][:2]):
        checks = list(group)
        last = checks[-1][1]
        tasks.append(
            TaskReport(
                lab=lab,
                id=task,
                title=last.title,
                points=Fraction(last.points),
                checks=tuple(serialise.from_plain(each.plain) for _, each in checks),
            )
        )
    return tuple(tasks)


def changes(ledger: Ledger, since: int) -> list[Change]:
    """Return what changed in the run `since` and later, by submission and check."""
    question = f"{_HISTORY} WHERE run >= ? ORDER BY who, lab, task, item, id"
    return [_change(ledger, row) for row in ledger.rows(question, since)]


def held(ledger: Ledger) -> list[HeldCheck]:
    """Return the results that are held back because they would lower a published one."""
    released: dict[str, Mapping[str, Published]] = {}
    found = []
    question = "SELECT who, lab, task, item, plain, why FROM held ORDER BY who, lab, task, item"
    for who, lab, task, item, plain, why in ledger.rows(question):
        released.setdefault(who, published(ledger, who))
        found.append(
            HeldCheck(
                who=who,
                place=(lab, task, item),
                published=released[who][f"{lab}/{task}/{item}"].earned,
                would_be=serialise.from_plain(load(ledger, plain)),
                why=why,
            )
        )
    return found


def unfinished_since(ledger: Ledger) -> int:
    """Return the first run after the last finished one, which later runs continue."""
    ((last,),) = ledger.rows("SELECT max(id) FROM run WHERE ended IS NOT NULL")
    return int(last or 0) + 1


def same_files(ledger: Ledger) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return files that a few submissions share byte for byte, with their owners, the most shared first.

    What more than a tenth of the class has (and more than three) was handed out; an empty file belongs to no student.
    """
    holders: defaultdict[str, dict[str, str]] = defaultdict(dict)
    rows = ledger.rows("SELECT who, content FROM submission JOIN part ON part.digest = files ORDER BY who")
    for who, content in rows:
        for path, digest in load(ledger, content).items():
            if len(digest) == len(_EMPTY) and digest != _EMPTY:
                holders[digest].setdefault(who, path)
    most = max(FEW, len(rows) // 10)
    together: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for found in holders.values():
        if 1 < len(found) <= most:
            together[tuple(found)].append(next(iter(found.values())))
    pairs = [(tuple(sorted(files)), whose) for whose, files in together.items()]
    return sorted(pairs, key=lambda row: (-len(row[0]), row))


def run_requests(ledger: Ledger) -> dict[int, dict[str, Any]]:
    """Return each run's request by the run's number, newest first."""
    return {run: load(ledger, plain) for run, plain in ledger.rows("SELECT id, asked FROM run ORDER BY id DESC")}


def handed_in(ledger: Ledger) -> dict[str, int]:
    """Return each submission with the run that first saw it in its current state."""
    return dict(ledger.rows("SELECT who, run FROM submission"))


def story(ledger: Ledger, who: str) -> list[Story]:
    """Return the stories of a submission's verdicts, in the report's order."""
    found = sorted(standing(ledger, who).items(), key=lambda row: (row[0][:2], row[1].place))
    return [
        Story(
            place=place,
            graded=serialise.from_plain(each.plain),
            at=each.at,
            parts=parts_of(ledger, each.judged),
            history=tuple(
                _change(ledger, row)
                for row in ledger.rows(
                    f"{_HISTORY} WHERE who = ? AND lab = ? AND task = ? AND item = ? ORDER BY id", who, *place
                )
            ),
        )
        for place, each in found
    ]


_HISTORY = "SELECT who, lab, task, item, at, before_at, before, after, why FROM history"


def _change(ledger: Ledger, row: tuple[Any, ...]) -> Change:
    who, lab, task, item, at, before_at, before, after, why = row
    return Change(
        who=who,
        place=(lab, task, item),
        at=at,
        before_at=before_at,
        before=serialise.from_plain(load(ledger, before)),
        after=None if after is None else serialise.from_plain(load(ledger, after)),
        why=why,
    )
