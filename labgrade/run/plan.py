"""A run over a class: what was requested, what all its processes know, and its rows in the results folder."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.core import points
from labgrade.core.errors import UsageError
from labgrade.core.text import encodable, listed_names
from labgrade.judging import variants
from labgrade.ledger import course_key, database, read, rows, unfinished
from labgrade.ledger.database import Ledger
from labgrade.ledger.depends import VerdictParts
from labgrade.review import decisions, handed_in_times
from labgrade.review import roster as rosters
from labgrade.sandbox.runner import Runner
from labgrade.spec import load
from labgrade.submissions import find

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from labgrade.core.task import Task
    from labgrade.review.decisions import Decisions
    from labgrade.review.roster import Roster
    from labgrade.spec.course import Course
    from labgrade.submissions.find import Offered


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What to grade: which submissions, which tasks, and into which folder.

    `root` is the course's folder, None for labgrade's own. `names` and `tasks`: empty is all. `again`: a repetition of
    earlier requests, which is not repeated itself. `skip`: whom not to grade this time. `seconds`: how long the checks
    of one submission may take together, 0 is as long as they take; what it cuts off waits. `fresh`: nothing is believed
    that an earlier run came to.
    """

    source: Path
    results: Path
    root: Path | None = None
    lab: str | None = None
    tasks: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    jobs: int = 0
    torch_home: Path | None = None
    unsafe: bool = False
    lower: bool = False
    again: bool = False
    skip: tuple[str, ...] = ()
    seconds: float = 0.0
    fresh: bool = False

    def plain(self) -> dict[str, Any]:
        """Return the request as the ledger keeps it for `regrade`."""
        return {
            "source": str(self.source.absolute()),
            "root": str(self.root.absolute()) if self.root else "",
            "lab": self.lab,
            "tasks": list(self.tasks),
            "names": list(self.names),
            "torch_home": str(self.torch_home.absolute()) if self.torch_home else "",
            "again": self.again,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What all processes of a run know. `specs`: all tasks of the course as (lab, task), graded now or not.

    `unfinished_since`: the first run since one came to its end. `again`: what a busy machine may have failed is tried
    once more. `scratch`: a folder that is deleted when the run ends, also where a process of it was killed.
    """

    request: RunRequest
    scratch: Path
    course: Course
    offered: Offered
    run: int
    unfinished_since: int
    known: VerdictParts
    decisions: Decisions
    specs: frozenset[tuple[str, str]]
    roster: Roster
    tasks: tuple[Task, ...] = ()
    again: bool = False


@contextlib.contextmanager
def opened(
    request: RunRequest, found: Course, tasks: tuple[Task, ...] = (), runner: Runner | None = None
) -> Iterator[Plan]:
    """Open a new run and return its plan; no other run may use its results folder meanwhile. `runner` opens hand-ins.

    Before the first verdict the folder knows what is to be graded (pytest says it later), and when it was handed in.

    Raises:
        UsageError: there is no such submission; another run is at work; the ledger can't be used.
        SpecError: a lab.yaml or the roster is wrong.
    """
    database.refuse_within(request.results, request.source)
    with (
        database.locked_folder(request.results),
        tempfile.TemporaryDirectory(prefix="labgrade-store-", ignore_cleanup_errors=True) as store,
    ):
        names, grader = request.names or ("all",), found.root.resolve()
        deadlines, roster = load.deadlines(found.specs), rosters.of_course(found.root)
        with contextlib.nullcontext(runner) if runner else Runner(secret=(request.results,)) as opens:
            offered = find.offer(request.source, names, Path(store), opening=opens.open, grader=grader)
            if not offered.names:
                message = f"there is no submission in '{request.source}'"
                raise UsageError(message)
            offered = offered.without(request.source, request.skip)
            since, run = _begun(request, found, offered, tasks)
            handed_in_times.note_moments(request.results, request.source, offered.names, deadlines, opening=opens.open)
        yield Plan(
            request=request,
            scratch=Path(store),
            course=found,
            offered=offered,
            run=run,
            unfinished_since=since,
            known=VerdictParts(found, request.torch_home),
            decisions=decisions.read(request.results),
            specs=frozenset((path.parent.name, path.stem) for path in load.files(found.specs)),
            tasks=tasks,
            roster=roster,
        )


def _begun(request: RunRequest, found: Course, offered: Offered, tasks: tuple[Task, ...]) -> tuple[int, int]:
    """Enter the new run in the ledger; return the first run since the last that ended, and the new one."""
    with Ledger(request.results, write=True) as ledger:
        course_key.refuse_another(ledger, found, request.results)
        since = read.unfinished_since(ledger)
        run = rows.begin(ledger, {**request.plain(), "part": not tasks})
        unfinished.plan_run(ledger, run, offered.names, tasks)
        course_key.note_key(ledger, run, found, tasks)
    return since, run


def end(plan: Plan, protection: tuple[str, ...] | None, lost: Iterable[str] = ()) -> None:
    """Write that the run ended, and what holds for all of its verdicts.

    `lost`: which submissions were not graded, and why. `protection` is None where no student's code ran: then the
    verdicts are those of earlier runs, and so is what protected them.

    Raises:
        LabgradeError: that can't be written.
    """
    request = plan.request
    with Ledger(request.results, write=True) as ledger:
        before = (each for each in read.notes(ledger) if not each.startswith(points.OF_ONE_RUN))
        notes = before if protection is None else protection
        left_out = (f"{points.LEFT_OUT}{each}" for each in plan.offered.left_out)
        skipped = (
            f"'{encodable(name)}', as --skip asks; what was graded before stands" for name in plan.offered.skipped
        )
        not_graded = (f"{points.NOT_GRADED}{each}" for each in (*lost, *skipped))
        key = variants.missing_key_findings(plan.course, plan.tasks)
        doubts = (f"{points.ONLY_ONE}{each}" for each in plan.offered.doubts)
        there = _not_there(ledger, plan)
        rows.end(ledger, plan.run, tuple(dict.fromkeys((*notes, *key, *left_out, *doubts, *there, *not_graded))))


def _not_there(ledger: Ledger, plan: Plan) -> Iterator[str]:
    """Yield a line on the submissions whose results stay although this run did not see them."""
    if plan.request.names:
        return
    offered = {encodable(name) for name in (*plan.offered.names, *plan.offered.skipped)}
    runs, here = read.run_requests(ledger), plan.request.plain()["source"]
    whose: dict[str, list[str]] = {}
    for who, run in sorted(read.handed_in(ledger).items()):
        if who not in offered:
            whose.setdefault(runs[run].get("source", ""), []).append(who)
    for source, names in whose.items():
        where = f"no more in '{source}'" if source == here else f"not in '{here}', but were taken from '{source}'"
        count = f"{len(names):,} of these results {'is' if len(names) == 1 else 'are'}"
        yield f"{points.NOT_THERE}{count} {where}, and what was graded stays: {listed_names(names)}"
