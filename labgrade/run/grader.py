"""One submission through everything. The only caller of the rooms around it; pytest and the CLI are its two callers."""

from __future__ import annotations

import copy
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from labgrade.answers import obtain
from labgrade.answers.question import Question
from labgrade.answers.reader.reader import Reader
from labgrade.answers.run import Runs
from labgrade.core.by_identity import ByIdentity
from labgrade.core.errors import FaultError, UsageError
from labgrade.core.results import SubmissionReport
from labgrade.core.task import AnswerValue, LiteralValue
from labgrade.cpp.build import Builder
from labgrade.diagnosis.counterexample import know_subjects, plan_of
from labgrade.diagnosis.explain import companions
from labgrade.diagnosis.fitting import typed
from labgrade.files.cache import cache_folder
from labgrade.judging import by_hand
from labgrade.judging.items import fresh_subject, items, sources
from labgrade.judging.judge import of_tables, with_parameters
from labgrade.judging.other_answer import compared_with, with_row_name
from labgrade.judging.variants import all_variants
from labgrade.run.task import TaskGrading
from labgrade.sandbox.host import working_copy
from labgrade.sandbox.runner import Runner
from labgrade.subjects.provide import provide
from labgrade.truth import measure
from labgrade.truth.lent import Lender
from labgrade.truth.measure import Measurer, files_given
from labgrade.truth.oracle import Oracle

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable, Mapping

    from labgrade.core.results import Answered, Submission
    from labgrade.core.task import AnswerType, Check, CheckerCall, Limits, QuantityCall, Source, SubjectSpec, Task
    from labgrade.judging.judge import Expect, Judging
    from labgrade.judging.other_answer import OtherAnswer
    from labgrade.spec.course import Course
    from labgrade.values import Value
    from labgrade.verdict import Verdict

_TABLES = 256  # expected tables that are kept in their types
_CHECKERS = 1024  # asked for with each network that a function is tried on
_REFUSED = (
    "nothing protects you from the submissions' code; grade in a virtual machine, or say --unsafe if you trust it"
)
_UNSAFE = (
    "unsafe: others' code was run with nothing around it, which --unsafe allowed; verdicts may have been tampered with"
)


def hidden(course: Course, *secret: Path) -> tuple[Path, ...]:
    """Return the folders that students' code must not see."""
    return (course.root, *course.folders, cache_folder(), *secret)


class Grader:
    """What a run shares: the course, the oracle of expected values, the runner of students' code.

    Use as a context manager, so that the processes behind it end. `torch_home` is offered to students' code; `shared`:
    where to find another grader's servers. `secret`: more folders that no student's code may see. `runner`,
    `reader` and `oracle` are others in tests.
    """

    def __init__(
        self,
        course: Course,
        *,
        runner: Runner | None = None,
        reader: Reader | None = None,
        oracle: Oracle | None = None,
        torch_home: Path | None = None,
        shared: Path | None = None,
        secret: Iterable[Path] = (),
    ) -> None:
        self.course = course
        self.runner = runner or Runner(secret=hidden(course, *secret), torch_home=torch_home, shared=shared)
        self.reader = reader or Reader(self.runner)
        builder = Builder(self.runner, cache_folder() / "builds", self.reader.explain)
        self.runs = Runs(self.runner, provide, builder, self.reader)
        self._lender: Lender | None = None
        self.oracle = oracle or Oracle(course.quantities)
        if oracle is None and shared is None:
            self.oracle.lender = self._torch
        self.measurer = Measurer(course.quantities, self.runner)
        self._store = tempfile.TemporaryDirectory(prefix="labgrade-store-")
        self.store = Path(self._store.name)
        self._digest: tuple[Submission, str] | None = None
        self._typed = ByIdentity(typed, _TABLES)
        self._checked_by = ByIdentity(self._checker, _CHECKERS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self, written: Mapping[str, str] | None = None) -> None:
        """Stop the run's processes, then delete remembered values that something else changed meanwhile.

        `written`: what the other processes of the run wrote (`oracle.memory.written`).
        """
        self.stop()
        self.oracle.keep()
        self.oracle.memory.discard_changes({**self.oracle.memory.written, **(written or {})})

    def stop(self) -> None:
        """Stop the run's processes."""
        self.oracle.close()
        if self._lender is not None:
            self._lender.close()
        self.runs.close()
        self.runner.close()
        self._store.cleanup()

    def _torch(self) -> socket.socket | None:
        """Return the line to the process that has torch loaded, of which expected values are computed in forks."""
        self._lender = self._lender or Lender()
        return self._lender.line if self._lender.start(self.runner.fork) else None

    def protected_by(self, *, unsafe: bool) -> tuple[str, ...]:
        """Return what protects the grader from submissions, for the head of a report.

        Raises:
            UsageError: nothing does, and `unsafe` does not allow that.
        """
        protection = self.runner.protection
        if protection.tier != "D":
            return protection.lines
        if not unsafe:
            raise UsageError("\n".join((*protection.lines, _REFUSED)))
        return (_UNSAFE, *protection.lines)

    def prepare(self, tasks: Iterable[Task]) -> None:
        """Load the remembered expected values, once a run, before any student's code runs.

        Nothing that a student's code writes over them then has an effect on this run.
        """
        if not self.oracle.recalled:
            tasks = list(tasks)
            self.oracle.memory.watch()
            parts = [(task, item) for task in all_variants(tasks) for item in items(task)]
            fresh = [(item, fresh_subject(task, item, self.course.key)) for task, item in parts]
            again = [replace(item, subject=subject) for item, subject in fresh if subject is not None]
            every = [*(item for _, item in parts), *again]
            asked = (each for item in every for each in (*sources(item), *companions(item, self.course.quantities)))
            self.oracle.recall(asked)
            self.know_subjects(tasks)

    def know_subjects(self, tasks: Iterable[Task], *, draw: bool = False) -> None:
        """Load the random networks of all searches; `draw` those that are not remembered."""
        for task in all_variants(tasks):
            for search in (item.check.counterexample for item in items(task)):
                if search is not None:
                    know_subjects(plan_of(task, search), self.oracle.memory, draw=draw)

    def forget(self) -> None:
        """Free all that belongs to the submissions graded so far, so that memory does not grow with the class."""
        self.runs.close()
        self.reader.forget()
        self.measurer.forget()
        for kept in self.store.iterdir():
            working_copy.discard(kept) if kept.is_dir() else kept.unlink()

    def keeping_in(self, folder: Path) -> Grader:
        """Return a grader that keeps what functions write in this folder, which the caller deletes."""
        other = copy.copy(self)
        other.store = folder
        return other

    def grade(self, tasks: Iterable[Task], submission: Submission) -> SubmissionReport:
        """Grade every task of one submission."""
        tasks = list(tasks)
        self.prepare(tasks)
        return report_of(submission, [TaskGrading(self, task, submission) for task in tasks])

    def digest(self, submission: Submission) -> str:
        """Return a digest of all that was handed in, read once for each submission."""
        if self._digest is None or self._digest[0] is not submission:
            self._digest = submission, by_hand.files_digest(submission)
        return self._digest[1]

    def judging_of(
        self,
        task: Task,
        check: Check,
        subject: SubjectSpec | None,
        submission: Submission | None = None,
        answers: OtherAnswer | None = None,
    ) -> tuple[Judging, Expect]:
        """Return what a check is judged with: its checker and parameters, and how its expected values are computed.

        `submission` is whose file a quantity is computed of, where students hand in the subject, and whose `answers`
        are expected values; without these they are obtained.

        Raises:
            FaultError: from the second, where a value can't be computed or does not fit the answer's type.
            UnfitError: from the second, where the student's own file can't be analysed.
        """
        kind = task.answers[check.answer].type if check.measured is None else None
        if check.checker is None:  # pragma: no cover - a validated spec has a checker where nothing is marked by hand
            message = f"the check '{check.id}' has no checker"
            raise FaultError(message)

        found = answers or partial(self._answer, task, submission)

        def expect(source: Source) -> Value:
            if isinstance(source, AnswerValue):
                return compared_with(source, found(source.answer, subject), kind)
            plain = self.value_of(source, subject=subject, submission=submission, limits=task.limits)
            own_table = isinstance(plain, list) and not (subject is not None and subject.handed_in)
            return self._typed(plain, kind) if own_table else typed(plain, kind)

        checked, own = self._checked_by(check.checker, kind), check.expected
        if isinstance(own, AnswerValue) and own.take:
            return lambda answer, right: checked(with_row_name(own, found(own.answer, subject), answer), right), expect
        return checked, expect

    def _checker(self, call: CheckerCall, kind: AnswerType | None) -> Judging:
        entry = self.course.checkers.get(call.name)
        judging = with_parameters(cast("Callable[..., Verdict]", entry.load()), entry.parameters, call.parameters, kind)
        as_rows = kind is None and "Table" in entry.judges.split(" | ") and "Mapping[str, Number]" not in entry.judges
        return of_tables(judging) if as_rows else judging

    def _answer(self, task: Task, submission: Submission | None, name: str, subject: SubjectSpec | None) -> Answered:
        if submission is None:
            message = f"the answer '{name}' is a student's, and there is no submission"
            raise FaultError(message)
        wanted = task.answers[name]
        question = Question(
            wanted=wanted,
            submission=submission,
            subject=subject,
            model=files_given(self.oracle, wanted, subject, submission),
            live_only=subject != task.subject,
            limits=task.limits,
        )
        return obtain.obtain(question, self)

    def value_of(
        self,
        source: LiteralValue | QuantityCall,
        *,
        subject: SubjectSpec | None,
        submission: Submission | None,
        limits: Limits,
    ) -> object:
        """Return the value of a source as plain data.

        Raises:
            FaultError: it can't be computed.
            UnfitError: the student's own file can't be analysed.
        """
        if isinstance(source, LiteralValue):
            return source.value
        if subject is None or (subject.handed_in and submission is None):
            message = f"the quantity '{source.quantity}' has no subject"
            raise FaultError(message)
        if subject.handed_in and submission is not None:
            own = measure.find(submission, subject.handed_in)
            return self.measurer.value(source, own, subject, limits)
        return self.oracle.value(source, subject)


def report_of(submission: Submission, gradings: Iterable[TaskGrading]) -> SubmissionReport:
    """Return the report of one submission from its gradings."""
    return SubmissionReport(
        name=submission.name,
        tasks=tuple(grading.report() for grading in gradings),
        remarks=submission.refused,
    )
