"""Grades submissions of a plan into its ledger: one process of a class run, or pytest's own."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.errors import FaultError, UsageError
from labgrade.ledger.book import Recorded, Rules, SubmissionBook
from labgrade.ledger.database import Ledger, LedgerError
from labgrade.review.apply import credits_of
from labgrade.run.events import RunFailed, SubmissionDone, SubmissionFailed
from labgrade.run.grader import Grader
from labgrade.run.task import TaskGrading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import IO

    from labgrade.ledger.rows import Place
    from labgrade.run.events import Event
    from labgrade.run.plan import Plan
    from labgrade.run.pool import Conversation


@dataclass(frozen=True, slots=True)
class GradingJob:
    """One submission, or one check of it; `place` is None for all checks of all tasks."""

    who: str
    place: Place | None = None


class Worker:
    """Grades into one ledger. `before` is called before the first student's code runs.

    A submission is taken in at its first job. Its answers stay in memory until all of it is graded by one job, or the
    worker is closed.
    """

    def __init__(self, plan: Plan, grader: Grader, before: Callable[[], None] = lambda: None) -> None:
        self._plan, self._grader = plan, grader
        self._recorded: list[Recorded] = []
        self._rules = Rules(
            run=plan.run,
            again=plan.again,
            lower=plan.request.lower,
            specs=plan.specs,
            before=before,
            after=self._recorded.append,
        )
        self._ledger = Ledger(plan.request.results, write=True)
        self._open: dict[str, tuple[contextlib.ExitStack, dict[tuple[str, str], TaskGrading]]] = {}

    def close(self) -> None:
        """Let go of the ledger, and delete what was taken in."""
        for who in list(self._open):
            self._forget(who)
        self._ledger.close()

    def events(self, jobs: Iterable[GradingJob]) -> Iterator[Event]:
        """Do the jobs, one after the other.

        Raises:
            LedgerError: the ledger can't be read or written.
        """
        for job in jobs:
            try:
                gradings = self._gradings(job.who)
            except (UsageError, FaultError, OSError) as error:
                if isinstance(error, LedgerError):
                    raise
                yield SubmissionFailed(job.who, str(error))  # labgrade's disk or sandbox: what they hand in is no error
                continue
            if job.place is not None:
                yield from self._graded(gradings[job.place[:2]], [job.place[2]])
                continue
            name = ""
            for key in list(gradings):
                grading = gradings.pop(key)  # its answers may be large
                name = grading.submission.name
                yield from self._graded(grading, grading.items)
            self._forget(job.who)
            self._grader.forget()
            yield SubmissionDone(name, self._grader.oracle.memory.written)

    def _graded(self, grading: TaskGrading, names: Iterable[str]) -> Iterator[Event]:
        for name in names:
            grading.graded(name)
            yield from self._recorded
            self._recorded.clear()

    def _gradings(self, who: str) -> dict[tuple[str, str], TaskGrading]:
        """All tasks of a submission: what they look for in it is read at once."""
        if who not in self._open:
            with contextlib.ExitStack() as stack:
                folder = tempfile.TemporaryDirectory(prefix="labgrade-store-", ignore_cleanup_errors=True)
                submission = self._plan.offered.take(who, Path(stack.enter_context(folder)) / "0", self._opening)
                book = SubmissionBook(self._ledger, self._plan.known, submission, self._rules)
                gradings = {}
                for task in self._plan.tasks:
                    decided = credits_of(self._plan.decisions, submission.name, task.lab, task.id)
                    own = TaskGrading(self._grader, task, submission, book.task(task), decided=decided)
                    gradings[task.lab, task.id] = own
                self._open[who] = stack.pop_all(), gradings
        return self._open[who][1]

    def _opening(
        self, kind: str, source: Path, take: Callable[[IO[bytes]], None], arguments: Mapping[str, object]
    ) -> str:
        """As `Runner.open`: opening an archive needs a server, and comes before any student's code."""
        self._rules.before()
        return self._grader.runner.open(kind, source, take, arguments)

    def _forget(self, who: str) -> None:
        stack, _ = self._open.pop(who)
        stack.close()


def work(conversation: Conversation, plan: Plan) -> None:
    """Grade submissions until there are no more. The servers of students' code are the parent process's."""
    grader = Grader(plan.course, torch_home=plan.request.torch_home, secret=(plan.request.results,))
    joined = False

    def join() -> None:
        nonlocal joined
        if not joined:
            joined = True
            shared = conversation.ask("servers")
            if shared:
                grader.runner.join(Path(shared))
            grader.prepare(plan.tasks)

    try:
        with contextlib.closing(Worker(plan, grader, join)) as worker:
            for event in worker.events(map(GradingJob, conversation.jobs())):
                conversation.tell(event)
    except LedgerError as error:
        conversation.tell(RunFailed(str(error)))
    finally:
        grader.stop()
