"""A run over a class: who is graded, by which processes, and what came of it. The ledger holds the rest."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.core import points
from labgrade.core.errors import FaultError, UsageError
from labgrade.core.text import encodable
from labgrade.judging.items import items, sources
from labgrade.ledger import database, rows
from labgrade.ledger import read as reading
from labgrade.ledger.book import Recorded
from labgrade.ledger.database import Ledger, LedgerError
from labgrade.ledger.depends import Parts
from labgrade.review import decisions
from labgrade.run.events import RunFailed, Started, SubmissionDone, SubmissionFailed, WorkerLost
from labgrade.run.grader import Grader
from labgrade.run.pool import Pool
from labgrade.run.worker import Plan, work
from labgrade.sandbox.runner import Runner
from labgrade.spec import course, load
from labgrade.submissions import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from labgrade.core.errors import SpecFinding
    from labgrade.core.task import Task
    from labgrade.ledger.read import Change, Held
    from labgrade.run.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a run is asked for: of whom, which tasks, and where to.

    `root` is the course's folder, None for labgrade's own. `names` and `tasks`: empty is all. `again`: what runs before
    this one were asked for, and nothing of its own.
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

    def plain(self) -> dict[str, Any]:
        """As the ledger keeps it, for `regrade`."""
        return {
            "source": str(self.source.absolute()),
            "root": str(self.root.absolute()) if self.root else "",
            "lab": self.lab,
            "tasks": list(self.tasks),
            "names": list(self.names),
            "torch_home": str(self.torch_home.absolute()) if self.torch_home else "",
            "again": self.again,
        }


@dataclass(slots=True)
class RunResult:
    """What came of a run, beside what is in the ledger.

    `names`: whom it was about; `lost`: who was not graded, and why.
    """

    changes: list[Change] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    broken: list[SpecFinding] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    left_out: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    ran: int = 0
    graded: int = 0


def grade(asked: Asked, choose: Callable[[course.Course], list[Path]], tell: Callable[[Event], None]) -> RunResult:
    """Grade a class into `asked.results`. `choose` picks the specs of the course, `tell` hears what goes on.

    Raises:
        UsageError: what was asked for can't be done; another run is at work; the ledger can't be used.
        FaultError: no process could be started.
        KeyboardInterrupt: Ctrl-C; all that was graded is kept.
    """
    database.refuse_within(asked.results, asked.source)
    found = course.find(asked.root)
    specs = load.read_all(choose(found), found)
    tasks = tuple(read.task for read in specs if read.task is not None)
    came = RunResult(broken=[finding for read in specs for finding in read.findings])
    with (
        database.held(asked.results),
        tempfile.TemporaryDirectory(prefix="labgrade-store-", ignore_cleanup_errors=True) as store,
    ):
        with Runner() as runner:
            offered = find.offer(
                asked.source, asked.names or ("all",), Path(store), opening=runner.open, grader=found.root.resolve()
            )
        if not offered.names:
            message = f"there is no submission in '{asked.source}'"
            raise UsageError(message)
        came.left_out, came.names = offered.left_out, offered.names
        with Ledger(asked.results, write=True) as ledger:
            since = reading.unfinished_since(ledger)
            run = rows.begin(ledger, asked.plain())
        plan = _plan(asked, found, tasks, offered, run)
        tell(Started(submissions=len(offered.names), checks=len(offered.names) * sum(len(items(t)) for t in tasks)))
        _Run(asked, plan, came, tell).all()
        with Ledger(asked.results) as ledger:
            came.changes, came.held = reading.changes(ledger, since), reading.held(ledger)
    return came


class _Run:
    """The parent's part: it looks after expected values and servers, and hears what its processes tell."""

    def __init__(self, asked: Asked, plan: Plan, came: RunResult, tell: Callable[[Event], None]) -> None:
        self._asked, self._plan, self._came, self._tell = asked, plan, came, tell
        self._grader: Grader | None = None
        self._shared = ""
        self._notes: tuple[str, ...] = ()
        self._written: dict[str, str] = {}

    def all(self) -> None:
        """Everybody side by side; then, alone, those whom a busy machine may have failed."""
        try:
            names = self._plan.offered.names
            self._pass(self._plan, names, self._asked.jobs or os.cpu_count() or 1)
            unsteady = self._unsteady()
            if unsteady:
                self._tell(f"{len(unsteady)} once more, alone: time or memory ran out")
                self._pass(replace(self._plan, again=True), [name for name in names if encodable(name) in unsteady], 1)
        finally:
            if self._grader is not None:
                self._grader.close(self._written)
        with Ledger(self._plan.results, write=True) as ledger:
            notes = self._notes if self._grader is not None else reading.notes(ledger)
            left_out = (f"{points.LEFT_OUT}{each}" for each in self._came.left_out)
            rows.end(ledger, self._plan.run, tuple(dict.fromkeys((*notes, *left_out))))

    def _pass(self, plan: Plan, names: Sequence[str], jobs: int) -> None:
        with Pool(min(jobs, len(names)), work, plan) as pool:
            for message in pool.run(names, self._answer):
                self._hear(message)
        if self._came.lost and not self._came.graded:
            message = f"nobody could be graded: {self._came.lost[-1]}"
            raise FaultError(message)

    def _hear(self, message: object) -> None:
        match message:
            case RunFailed(message=why):
                raise LedgerError(why)
            case WorkerLost(job=name, code=code):
                who = f"'{encodable(name)}'" if name is not None else "nobody yet"
                self._came.lost.append(f"{who}: the process ended with exit code {code}, twice")
            case SubmissionFailed(who=name, why=why):
                self._came.lost.append(f"'{encodable(name)}': {why}")
            case Recorded(ran=ran):
                self._came.ran += ran
                self._tell(message)
            case SubmissionDone(written=written):
                self._came.graded += 1
                self._written |= written
                self._tell(message)
            case None:
                self._tell(None)

    def _answer(self, _: str) -> str:
        """Before the first student's code runs: expected values are at hand, and what protects us is known."""
        if self._grader is None:
            hidden = (self._plan.results, self._asked.source)
            self._grader = Grader(self._plan.course, torch_home=self._plan.torch_home, secret=hidden)
            self._tell("computing expected values")
            self._compute()
            self._notes = self._grader.protected_by(unsafe=self._asked.unsafe)
            if sys.platform == "linux":
                self._shared = str(self._grader.runner.share())
            self._tell("grading")
        return self._shared

    def _compute(self) -> None:
        """Each value once, and not once a process; what fails here fails again where it is needed, and says so."""
        if self._grader is None:  # pragma: no cover - it was made just before
            return
        oracle = self._grader.oracle
        for task in self._plan.tasks:
            for wanted in (each for item in items(task) for each in sources(item)):
                with contextlib.suppress(FaultError, OSError):
                    oracle.value(*wanted)
        oracle.close()
        self._grader.prepare(self._plan.tasks)

    def _unsteady(self) -> set[str]:
        with Ledger(self._plan.results) as ledger:
            return reading.unsteady(ledger)


def _plan(asked: Asked, found: course.Course, tasks: tuple[Task, ...], offered: find.Offered, run: int) -> Plan:
    """What all processes of the run know."""
    there = {(path.parent.name, path.stem) for path in load.files(found.specs)}
    return Plan(
        course=found,
        tasks=tasks,
        offered=offered,
        results=asked.results,
        run=run,
        known=_known(found, tasks, asked),
        lower=asked.lower,
        torch_home=asked.torch_home,
        decisions=decisions.read(asked.results),
        elsewhere=frozenset(there - {(task.lab, task.id) for task in tasks}),
    )


def _known(found: course.Course, tasks: Iterable[Task], asked: Asked) -> Parts:
    """What each check of the course depends on."""
    known = Parts(found, asked.torch_home)
    for task in tasks:
        for item in items(task):
            known.of(task, item)
    return known
