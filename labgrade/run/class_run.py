"""A run over a class: each submission in one of several processes, and what came of it. The ledger holds the rest."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Self

from labgrade.core.errors import FaultError
from labgrade.core.task import QuantityCall
from labgrade.core.text import encodable
from labgrade.judging.items import fresh_subject, items, sources
from labgrade.judging.variants import all_variants
from labgrade.ledger import read
from labgrade.ledger.database import Ledger, LedgerError
from labgrade.ledger.verdict_memory import Recorded
from labgrade.run.events import CutOff, Finished, RunFailed, Started, SubmissionDone, SubmissionFailed, WorkerLost
from labgrade.run.grader import Grader
from labgrade.run.plan import end, opened
from labgrade.run.pool import WorkerPool, WorkerQuestion
from labgrade.run.worker import MEMORY, work
from labgrade.sandbox.runner import Runner
from labgrade.spec import course, load
from labgrade.truth.lent import Lender

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from labgrade.run.events import Event
    from labgrade.run.plan import Plan, RunRequest


class Workers(Protocol):
    """What runs the jobs: a pool of processes, or machines of a cluster. No job outlives it."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def run(self, jobs: Iterable[str], /) -> Iterator[Any]:
        """Grade the submissions of these names; yield events and each `WorkerQuestion`."""


class Elsewhere(Protocol):
    """Other machines. `protection` is what protects them from submissions' code, as they said when they were asked."""

    protection: tuple[str, ...] | None

    def workers(self, plan: Plan) -> Workers:
        """Return the workers that grade on these machines."""


def grade(
    request: RunRequest, choose: Callable[[course.Course], list[Path]], elsewhere: Elsewhere | None = None
) -> Iterator[Event]:
    """Grade a class into a results folder; `choose` picks the specs of the course. The last event is `Finished`.

    Students' code runs `elsewhere`, where that is given; the ledger is written here in any case.

    Raises:
        UsageError: the request can't be met; another run is at work; the ledger can't be used.
        FaultError: no process could be started.
        KeyboardInterrupt: Ctrl-C; all that was graded is kept.
    """
    found = course.find(request.root)
    specs = load.read_all(choose(found), found)
    tasks = tuple(each.task for each in specs if each.task is not None)
    with opened(request, found, tasks) as plan:
        checks = [(task, item) for task in tasks for item in items(task)]
        for task in all_variants(tasks):
            for item in items(task):
                plan.known.of(task, item)  # once, before there are several processes
        names = plan.offered.names
        yield Started(submissions=len(names), checks=len(names) * len(checks))
        run = _ClassRun(plan, elsewhere)
        yield from run.events()
        with Ledger(request.results) as ledger:
            yield Finished(
                names=names,
                changes=tuple(read.changes(ledger, plan.unfinished_since)),
                held=tuple(read.held(ledger)),
                broken=tuple(finding for each in specs for finding in each.findings),
                lost=tuple(run.lost),
                ran=run.ran,
            )


class _ClassRun:
    """The parent process: it provides expected values and servers, and listens to the workers."""

    def __init__(self, plan: Plan, elsewhere: Elsewhere | None = None) -> None:
        self._plan = plan
        self._elsewhere = elsewhere
        self._grader: Grader | None = None
        self._answers: dict[str, Callable[[], object]] = {}
        self._lender = Lender()
        self._protection: tuple[str, ...] | None = None
        self._written: dict[str, str] = {}
        self._done = 0
        self._cut: set[str] = set()
        self._failed: dict[str, str] = {}
        self.lost: list[str] = []
        self.ran = 0

    def events(self) -> Iterator[Event]:
        """Grade all submissions side by side; then, alone, those that were cut off or failed on a busy machine."""
        try:
            names = self._plan.offered.names
            yield from self._pass(self._plan, names, self._plan.request.jobs or os.cpu_count() or 1)
            with Ledger(self._plan.request.results) as ledger:
                unsteady = read.unsteady(ledger)
            again = {*self._cut, *self._failed}
            repeated = [name for name in names if encodable(name) in unsteady or name in again]
            self._failed.clear()
            if repeated:
                yield f"{len(repeated)} once more, alone: time, memory or room ran out"
                yield from self._pass(replace(self._plan, again=True), repeated, 1)
            self.lost += (f"'{encodable(name)}': {why}" for name, why in self._failed.items())
            if self.lost and not self._done:
                message = f"nobody could be graded: {self.lost[-1]}"
                raise FaultError(message)
        finally:
            self._lender.close()
            if self._grader is not None:
                self._grader.close(self._written)
        end(self._plan, self._elsewhere.protection if self._elsewhere is not None else self._protection, self.lost)

    def _workers(self, plan: Plan, size: int) -> Workers:
        return (
            self._elsewhere.workers(plan)
            if self._elsewhere is not None
            else WorkerPool(size, work, (plan, self._lender.line))
        )

    def _pass(self, plan: Plan, names: Sequence[str], jobs: int) -> Iterator[Event]:
        with self._workers(plan, min(jobs, len(names))) as pool:
            for message in pool.run(names):
                if isinstance(message, WorkerQuestion):
                    if message.text == MEMORY:
                        message.answer(self._is_safe())
                        continue
                    if self._grader is None:
                        yield from self._prepare()
                    message.answer(self._answers.get(message.text, str)())
                else:
                    self._hear(message)
                    yield message

    def _is_safe(self) -> str:
        """Return whether students' code is kept from the cache folder, as the lightest of servers says."""
        if self._grader is not None:
            return "yes" if self._grader.runner.protection.tier != "D" else ""
        with Runner(secret=(self._plan.request.results,)) as runner:
            return "yes" if runner.protection.tier != "D" else ""

    def _hear(self, event: Event) -> None:
        match event:
            case RunFailed(message=why):
                raise LedgerError(why)
            case WorkerLost(job=name, code=code):
                who = f"'{encodable(name)}'" if name is not None else "nobody yet"
                self.lost.append(f"{who}: the process ended with exit code {code}, twice")
            case SubmissionFailed(who=name, why=why):
                self._failed[name] = why  # what fills our disk may be its neighbour's work
            case CutOff(who=name):
                self._cut.add(name)
            case Recorded(ran=ran):
                self.ran += ran
            case SubmissionDone(written=written, values=values):
                self._done += 1
                self._written |= written
                if self._grader is not None:
                    self._grader.oracle.hear(values)

    def _prepare(self) -> Iterator[Event]:
        """Compute expected values and determine the protection, before any student's code runs."""
        request = self._plan.request
        hidden = (request.results, request.source)
        self._grader = Grader(self._plan.course, torch_home=request.torch_home, secret=hidden)
        lender, fork = self._lender, self._grader.runner.fork
        self._grader.oracle.lender = lambda: lender.line if lender.start(fork) else None
        yield "computing expected values"
        self._compute(self._grader)
        if self._elsewhere is not None:
            self._answers["values"] = partial(getattr, self._grader.oracle, "values")
        else:
            self._protection = self._grader.protected_by(unsafe=request.unsafe)
            self._answers["oracle"] = partial(lender.start, fork)
            if sys.platform == "linux":
                self._answers["servers"] = partial(str, self._grader.runner.share())
        yield "grading"

    def _compute(self, grader: Grader) -> None:
        """Compute each value once for all processes. What fails here fails again where it is needed, with a message."""
        for task in all_variants(self._plan.tasks):
            for item in items(task):
                right, fresh = item.check.expected, fresh_subject(task, item, grader.course.key)
                again = [(right, fresh)] if fresh is not None and isinstance(right, QuantityCall) else []
                for wanted in (*sources(item), *again):
                    with contextlib.suppress(FaultError, OSError):
                        grader.oracle.learn(*wanted)
        grader.oracle.close()
        with contextlib.suppress(Exception):  # the search itself fails again, which is a fault of one check
            grader.know_subjects(self._plan.tasks, draw=True)
        grader.prepare(self._plan.tasks)
