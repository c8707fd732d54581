"""Grades submissions of a plan into its ledger: one process of a class run, or pytest's own."""

from __future__ import annotations

import contextlib
import gc
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.errors import FaultError, UsageError
from labgrade.judging.variants import own_variant
from labgrade.ledger.database import Ledger, LedgerError
from labgrade.ledger.memory import VerdictMemory
from labgrade.ledger.verdict_memory import Recorded, Rules, SubmissionBook
from labgrade.review.apply import credits_of
from labgrade.review.groups import drawn_as
from labgrade.run.events import CutOff, Judging, RunFailed, SubmissionDone, SubmissionFailed
from labgrade.run.grader import Grader
from labgrade.run.task import TaskGrading
from labgrade.sandbox.time_limits import Patience

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import IO

    from labgrade.core.results import Submission
    from labgrade.ledger.rows import Place
    from labgrade.ledger.verdict_memory import MarkedVerdict
    from labgrade.run.events import Event
    from labgrade.run.plan import Plan
    from labgrade.run.pool import Conversation


MEMORY = "memory"  # what a process of a class run asks: whether what is remembered beside ledgers can be believed


@dataclass(frozen=True, slots=True)
class GradingJob:
    """One submission, or one check of it; `place` is None for all checks of all tasks."""

    who: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class _Open:
    """A submission that was taken in: its book and tasks, and what its functions are still given."""

    store: contextlib.ExitStack
    submission: Submission
    book: SubmissionBook
    gradings: dict[tuple[str, str], TaskGrading]
    patience: Patience


class Worker:
    """Grades into one ledger. `before` is called before the first student's code runs, and with what is to be judged.

    `elsewhere`: what another machine came to; then nothing is judged here, and the ledger is all that is written.
    `at_fault` is called before a fault of labgrade's is entered, and raises where the run itself has ended.
    `memory`: what is remembered beside the ledger; it is closed with the worker.
    A submission is taken in at its first job. Its answers stay in memory until all of it is graded by one job, or the
    worker is closed.
    """

    def __init__(
        self,
        plan: Plan,
        grader: Grader,
        before: Callable[[Judging | None], None] = lambda _: None,
        elsewhere: Callable[[str, Place], MarkedVerdict] | None = None,
        at_fault: Callable[[], object] = lambda: None,
        memory: VerdictMemory | None = None,
    ) -> None:
        self._memory = memory
        self._plan, self._grader, self._before = plan, grader, before
        self._recorded: list[Recorded] = []
        self._rules = Rules(
            run=plan.run,
            again=plan.again,
            lower=plan.request.lower,
            specs=plan.specs,
            before=lambda who, place: before(Judging(who, " ".join(place[1:]))),
            after=self._recorded.append,
            at_fault=at_fault,
            elsewhere=elsewhere,
            memory=memory,
            fresh=plan.request.fresh,
        )
        self._ledger = Ledger(plan.request.results, write=True)
        self._open: dict[str, _Open] = {}

    def close(self) -> None:
        """Let go of the ledger, and delete what was taken in."""
        for who in list(self._open):
            self.forget(who)
        self._ledger.close()
        if self._memory is not None:
            self._memory.close()

    def remembered(self, who: str) -> tuple[Submission, dict[Place, MarkedVerdict | None]]:
        """A submission, taken in, and what the ledger has of each of its checks; None is to be judged.

        Raises:
            UsageError, FaultError, OSError: it can't be taken in.
            LedgerError: the ledger can't be read.
        """
        opened = self._opened(who)
        found = {
            (*key, name): known
            for key, grading in opened.gradings.items()
            for name, known in opened.book.remembered(grading.task).items()
        }
        return opened.submission, found

    def entered(self, who: str) -> list[Event]:
        """Enter what another machine came to on a submission: all of it, or nothing.

        Raises:
            FaultError: it came to no verdict on something.
            LedgerError: the ledger can't be written.
        """
        with self._ledger.transaction():
            return list(self.events([GradingJob(who)]))

    def forget(self, who: str) -> None:
        """Delete what was taken in of a submission."""
        self._open.pop(who).store.close()

    def events(self, jobs: Iterable[GradingJob]) -> Iterator[Event]:
        """Do the jobs, one after the other.

        Raises:
            LedgerError: the ledger can't be read or written.
        """
        for job in jobs:
            try:
                opened = self._opened(job.who)
            except (UsageError, FaultError, OSError) as error:
                if isinstance(error, LedgerError):
                    raise
                yield SubmissionFailed(job.who, str(error))  # labgrade's disk or sandbox: what they hand in is no error
                continue
            self._grader.runner.patience = opened.patience
            if job.place is not None:
                grading = opened.gradings[job.place[:2]]
                opened.patience.task(grading.task.id)
                yield from self._graded(grading, [job.place[2]])
                continue
            yield from self._whole(job.who, opened)

    def _whole(self, who: str, opened: _Open) -> Iterator[Event]:
        name = ""
        for key in list(opened.gradings):
            grading = opened.gradings.pop(key)
            name = grading.submission.name
            opened.patience.task(grading.task.id)
            yield from self._graded(grading, grading.items)
            grading.forget()
        self.forget(who)
        self._grader.forget()
        if opened.patience.cut:
            yield CutOff(who)
        oracle = self._grader.oracle
        yield SubmissionDone(name, oracle.memory.written, oracle.new())

    def _graded(self, grading: TaskGrading, names: Iterable[str]) -> Iterator[Event]:
        for name in names:
            grading.graded(name)
            yield from self._recorded
            self._recorded.clear()

    def _opened(self, who: str) -> _Open:
        """All tasks of a submission: what they look for in it is read at once."""
        if who not in self._open:
            with contextlib.ExitStack() as stack:
                folder = tempfile.TemporaryDirectory(prefix="labgrade-store-", ignore_cleanup_errors=True)
                submission = self._plan.offered.take(who, Path(stack.enter_context(folder)) / "0", self._opening)
                book = SubmissionBook(self._ledger, self._plan.known, submission, self._rules)
                gradings = {}
                student = drawn_as(self._plan.roster, submission.name)
                for each in self._plan.tasks:
                    task = own_variant(each, student, self._grader.course.key)
                    decided = credits_of(self._plan.decisions, submission.name, task.lab, task.id)
                    own = TaskGrading(self._grader, task, submission, book.task(task), decided=decided)
                    gradings[task.lab, task.id] = own
                patience = Patience(seconds=self._plan.request.seconds)
                self._open[who] = _Open(stack.pop_all(), submission, book, gradings, patience)
        return self._open[who]

    def _opening(
        self, kind: str, source: Path, take: Callable[[IO[bytes]], None], arguments: Mapping[str, object]
    ) -> str:
        """As `Runner.open`: opening an archive needs a server, and comes before any student's code."""
        self._before(None)
        return self._grader.runner.open(kind, source, take, arguments)


def work(conversation: Conversation, given: tuple[Plan, socket.socket | None]) -> None:
    """Grade submissions until there are no more. The servers of students' code are the parent process's.

    So is what computes values; `given` has the line to ask for it.
    """
    plan, line = given
    tempfile.tempdir = str(plan.scratch)  # Ctrl-C kills this process, and what it leaves here goes with the run
    grader = Grader(plan.course, torch_home=plan.request.torch_home, secret=(plan.request.results,))
    grader.oracle.lender = lambda: line if conversation.ask("oracle") else None
    joined = False

    def before(judging: Judging | None) -> None:
        nonlocal joined
        if not joined:
            joined = True
            shared = conversation.ask("servers")
            if shared:
                grader.runner.join(Path(shared))
            grader.prepare(plan.tasks)
            gc.freeze()  # what all submissions are judged by is looked through for rubbish no more
        if judging is not None:
            conversation.tell(judging, hurry=False)

    try:
        memory = VerdictMemory(safe=lambda: bool(conversation.ask(MEMORY)))
        at_fault = partial(conversation.ask, "anybody?")
        with contextlib.closing(Worker(plan, grader, before, at_fault=at_fault, memory=memory)) as worker:
            for event in worker.events(map(GradingJob, conversation.jobs())):
                if isinstance(event, Recorded):
                    conversation.tell(replace(event, graded=None), hurry=False)
                else:
                    conversation.tell(event)
    except LedgerError as error:
        conversation.tell(RunFailed(str(error)))
    finally:
        grader.stop()
