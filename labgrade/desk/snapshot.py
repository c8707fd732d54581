"""A folder of results as it stands at this moment: read again only where something changed."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from labgrade.core.points import earned
from labgrade.core.results import Report, people
from labgrade.ledger import database
from labgrade.ledger.database import Ledger
from labgrade.review import decisions, marking, pseudonyms, results
from labgrade.review.apply import with_decisions
from labgrade.review.decisions import Decisions, Place, Ruling
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from labgrade.core.results import SubmissionReport
    from labgrade.review.marking import ToDecide
    from labgrade.review.pseudonyms import Pseudonyms
    from labgrade.review.results import Whole

# A finished run, or `--rebuild`, changes one of these; while a run is at work, verdicts come without any.
_VERDICTS = "SELECT (SELECT max(id) FROM run), (SELECT count(ended) FROM run), (SELECT count(*) FROM graded)"
_RUNNING = "SELECT count(*) FROM run WHERE ended IS NULL AND id = (SELECT max(id) FROM run)"
_DECIDED = "SELECT coalesce(max(number), 0) FROM decisions"
_EVERY_SECONDS = 5.0  # how often verdicts are read while a run is at work
_TICK_NS = 50_000_000  # a file that changed so recently may change again and bear the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that a person can mark at one moment, decided or not. `version` grows with every change.

    `people`: who handed in, by what their submission is called; nobody where names are kept back.
    """

    version: int
    checks: dict[Place, ToDecide]
    waiting: frozenset[Place]
    decisions: Decisions
    names: Pseudonyms
    anonymous: bool
    people: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def in_force(self, place: Place) -> Ruling | None:
        """Return the decision in force about a check; None if it waits."""
        return None if place in self.waiting else self.decisions.in_force(place)


class LiveResults:
    """A class's results, read by several threads while other programs may change them."""

    def __init__(self, folder: Path, roster: Path | None = None) -> None:
        self.folder = folder
        self._roster = roster
        self._lock = threading.Lock()
        self._files: tuple[object, ...] = ()
        self._verdicts: tuple[object, ...] = ()
        self._read_at = 0.0
        self._whole: Whole | None = None
        self._machine: dict[str, SubmissionReport] = {}
        self._now: Snapshot | None = None

    def snapshot(self) -> Snapshot:
        """What can be marked, as it is now.

        Raises:
            UsageError: it can't be read.
        """
        with self._lock:
            return self._newest()

    def whole(self) -> Whole:
        """Return everything that reports show; slower than a snapshot.

        Raises:
            UsageError: it can't be read.
        """
        with self._lock:
            found = results.read(self.folder, self._roster)
            self._start(found, self._stamp()[0])
            return found

    def _newest(self) -> Snapshot:
        files = self._file_stamp()
        if self._now is not None and files == self._files:
            return self._now
        verdicts, running, last = self._stamp()
        due = running and time.monotonic() - self._read_at > _EVERY_SECONDS
        now = self._now
        if now is None or due or verdicts != self._verdicts:
            now = self._start(results.read(self.folder, self._roster), verdicts)
        elif last != _last_number(now.decisions):
            now = self._decide(now, decisions.since(self.folder, _last_number(now.decisions)))
        recent = max(changed for changed, _, _ in files) > time.time_ns() - _TICK_NS
        self._files = () if running or recent else files
        self._now = now
        return now

    def _file_stamp(self) -> tuple[tuple[int, int, int], ...]:
        """Return a stamp that changes with the database or the roster."""
        found = []
        for name in (database.NAME, f"{database.NAME}-wal", pseudonyms.FILE):
            try:
                status = (self.folder / name).stat()
                found.append((status.st_mtime_ns, status.st_size, status.st_ino))
            except OSError:
                found.append((0, 0, 0))
        return tuple(found)

    def _stamp(self) -> tuple[tuple[object, ...], bool, int]:
        with Ledger(self.folder) as ledger:
            (verdicts,), ((running,),) = ledger.rows(_VERDICTS), ledger.rows(_RUNNING)
            ((last,),) = ledger.rows(_DECIDED)
        key = (self.folder / pseudonyms.FILE).is_file()
        return (*verdicts, key), bool(running), int(last)

    def _start(self, whole: Whole, verdicts: tuple[object, ...]) -> Snapshot:
        counted = {each.name for each in whole.staff.submissions}
        self._machine = {each.name: each for each in whole.machine.submissions if each.name in counted}
        self._verdicts, self._read_at = verdicts, time.monotonic()
        checks, waiting = _markable(whole.staff)
        handed_in = {each.name: people(each.members, each.called) for each in whole.shown.submissions}
        self._now = Snapshot(
            version=self._now.version + 1 if self._now is not None else 1,
            checks=checks,
            waiting=waiting,
            decisions=whole.decisions,
            names=whole.names,
            anonymous=whole.key is not None,
            people={name: who for name, who in handed_in.items() if who != (name,)},
        )
        return self._now

    def _decide(self, before: Snapshot, rows: tuple[Ruling, ...]) -> Snapshot:
        """Apply later decisions to known verdicts; only the tasks that they concern change."""
        known = before.decisions.with_rows(rows)
        about = {_task_of(row.place) for row in rows}
        chosen = ((name, self._machine[name]) for name in sorted({who for who, _, _ in about}) if name in self._machine)
        report = Report(
            submissions=tuple(
                replace(each, tasks=tuple(task for task in each.tasks if (name, task.lab, task.id) in about))
                for name, each in chosen
            )
        )
        checks, waiting = _markable(with_decisions(report, known))
        return replace(
            before,
            version=before.version + 1,
            checks={place: each for place, each in before.checks.items() if _task_of(place) not in about} | checks,
            waiting=frozenset(place for place in before.waiting if _task_of(place) not in about) | waiting,
            decisions=known,
        )


def _task_of(place: Place) -> tuple[str, str, str]:
    """Return a check's task and submission; its needs lie within them."""
    return place.submission, place.lab, place.task


def _markable(report: Report) -> tuple[dict[Place, ToDecide], frozenset[Place]]:
    """Return the checks that wait for a mark or have one, and those of them that wait."""
    waiting = {each.place: each for each in marking.waiting(report)}
    decided_already = {each.place: each for each in _decided(report.submissions)}
    return waiting | decided_already, frozenset(waiting)


def _decided(submissions: Iterable[SubmissionReport]) -> Iterable[ToDecide]:
    for each in submissions:
        for task in each.tasks:
            for check in task.checks:
                if check.decision is not None and check.decision.machine.outcome is Outcome.MANUAL:
                    machine = check.decision.machine
                    own = replace(check, verdict=machine, earned=earned(check.points, machine.credit), decision=None)
                    place = Place(submission=each.name, lab=task.lab, task=task.id, check=check.id)
                    yield marking.ToDecide(place=place, title=task.title, graded=own, rubric=marking.rubric(own))


def _last_number(known: Decisions) -> int:
    return max((known.last(place) for place in known.places), default=0)
