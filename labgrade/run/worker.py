"""One process of a class run: takes submissions one at a time, and writes what they come to into the ledger."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.errors import FaultError, UsageError
from labgrade.judging.items import items
from labgrade.ledger.book import Rules, SubmissionBook
from labgrade.ledger.database import Ledger, LedgerError
from labgrade.review.apply import credits_of
from labgrade.review.decisions import Decisions
from labgrade.run import grader
from labgrade.run.events import RunFailed, SubmissionDone, SubmissionFailed
from labgrade.run.task import TaskGrading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import IO

    from labgrade.core.task import Task
    from labgrade.ledger.depends import Parts
    from labgrade.run.pool import Conversation
    from labgrade.spec.course import Course
    from labgrade.submissions.find import Offered


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What all processes of a run know. `elsewhere`: tasks that are there, and not graded now: (lab, task)."""

    course: Course
    tasks: tuple[Task, ...]
    offered: Offered
    results: Path
    run: int
    known: Parts
    again: bool = False
    lower: bool = False
    torch_home: Path | None = None
    elsewhere: frozenset[tuple[str, str]] = field(default_factory=frozenset)
    decisions: Decisions = field(default_factory=Decisions)


def work(conversation: Conversation, plan: Plan) -> None:
    """Grade submissions until there are no more."""
    try:
        with Ledger(plan.results, write=True) as ledger:
            worker = Worker(conversation, plan, ledger)
            with contextlib.closing(worker):
                for name in conversation.jobs():
                    worker.grade(name)
    except LedgerError as error:
        conversation.tell(RunFailed(str(error)))


class Worker:
    """Grades into one ledger. The servers of students' code are the parent's, asked for when the first is needed."""

    def __init__(self, conversation: Conversation, plan: Plan, ledger: Ledger) -> None:
        self._conversation, self._plan, self._ledger = conversation, plan, ledger
        self._grader = grader.Grader(
            plan.course,
            torch_home=plan.torch_home,
            secret=(plan.results,),
        )
        self._joined = False
        self._rules = Rules(
            run=plan.run, again=plan.again, lower=plan.lower, before=self._join, after=conversation.tell
        )

    def close(self) -> None:
        """End what was started."""
        self._grader.stop()

    def grade(self, name: str) -> None:
        """All tasks of one submission. Nothing of it stays in memory or on disk but its rows in the ledger."""
        with contextlib.ExitStack() as stack:
            try:
                folder = tempfile.TemporaryDirectory(prefix="labgrade-store-", ignore_cleanup_errors=True)
                submission = self._plan.offered.take(name, Path(stack.enter_context(folder)) / "0", self._open)
            # Of our own disk or sandbox: what can't be read of a student's is no error.
            except (UsageError, FaultError, OSError) as error:
                self._conversation.tell(SubmissionFailed(name, str(error)))
                return
            book = SubmissionBook(self._ledger, self._plan.known, submission, self._rules)
            for task in self._plan.tasks:
                decided = credits_of(self._plan.decisions, submission.name, task.lab, task.id)
                TaskGrading(self._grader, task, submission, book.task(task), decided=decided).report()
            asked = {(task.lab, task.id, item.id) for task in self._plan.tasks for item in items(task)}
            book.finish(lambda place: place in asked or place[:2] in self._plan.elsewhere)
        self._grader.forget()
        self._conversation.tell(SubmissionDone(submission.name, self._grader.oracle.memory.written))

    def _open(self, kind: str, source: Path, take: Callable[[IO[bytes]], None], arguments: Mapping[str, object]) -> str:
        """As `Runner.open`, by the servers of our parent."""
        self._join()
        return self._grader.runner.open(kind, source, take, arguments)

    def _join(self) -> None:
        """Before the first student's code runs: our parent has the servers, and looked after the expected values."""
        if not self._joined:
            self._joined = True
            shared = self._conversation.ask("servers")
            if shared:
                self._grader.runner.join(Path(shared))
            self._grader.prepare(self._plan.tasks)
