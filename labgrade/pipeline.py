"""One submission through everything. The only caller of the rooms around it; pytest and the CLI are its two callers."""

from __future__ import annotations

import tempfile
import traceback
from dataclasses import replace
from functools import partial as bind
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from labgrade import by_hand, handed_in, policy, subject_files
from labgrade.answers import obtain
from labgrade.answers.natural import natural
from labgrade.answers.run import Runs
from labgrade.answers.typed import WrongTypeError, as_value
from labgrade.errors import FaultError
from labgrade.handed_in import Measurer, UnfitError
from labgrade.items import items, sources
from labgrade.judge import judge, with_parameters
from labgrade.judged import Judged, fault, with_remarks, worded
from labgrade.model import LiteralValue
from labgrade.oracle import Oracle, cache_folder
from labgrade.provided import provide
from labgrade.results import Answer, Graded, NoAnswer, SubmissionReport, TaskReport, printable
from labgrade.sandbox.runner import Runner
from labgrade.values import Artifact
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from fractions import Fraction

    from labgrade.course import Course
    from labgrade.items import Item
    from labgrade.judge import Expect, Judging
    from labgrade.model import AnswerType, Check, Limits, Source, SubjectSpec, Task
    from labgrade.results import Submission
    from labgrade.values import Value
    from labgrade.verdict import Verdict


class Grader:
    """What a whole run shares: the course, the oracle of expected values, the runner of students' code.

    Use as a context manager, so that the processes behind it end. `torch_home` is offered to students' code; `shared`:
    where to find another grader's servers.
    """

    def __init__(
        self,
        course: Course,
        *,
        runner: Runner | None = None,
        oracle: Oracle | None = None,
        torch_home: Path | None = None,
        shared: Path | None = None,
    ) -> None:
        self.course = course
        self.runner = runner or Runner(secret=(*course.folders, cache_folder()), torch_home=torch_home, shared=shared)
        self.runs = Runs(self.runner, provide)
        self.oracle = oracle or Oracle(course.quantities)
        self.measurer = Measurer(course.quantities, self.runner)
        self._store = tempfile.TemporaryDirectory(prefix="labgrade-store-")
        self.store = Path(self._store.name)
        self._digest: tuple[Submission, str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self, written: Mapping[str, str] | None = None) -> None:
        """Stop the processes behind the run, then delete remembered values that something else changed meanwhile.

        `written`: what the other processes of the run wrote (`oracle.memory.written`).
        """
        self.stop()
        self.oracle.memory.discard_changes({**self.oracle.memory.written, **(written or {})})

    def stop(self) -> None:
        """Stop the processes behind the run."""
        self.oracle.close()
        self.runs.close()
        self.runner.close()
        self._store.cleanup()

    def prepare(self, tasks: Iterable[Task]) -> None:
        """Take in the expected values that are remembered. Once a run, before the first student's code runs.

        Nothing that a student's code writes over them then has an effect on this run.
        """
        if not self.oracle.recalled:
            self.oracle.memory.watch()
            self.oracle.recall(wanted for task in tasks for item in items(task) for wanted in sources(item))

    def grade(self, tasks: Iterable[Task], submission: Submission) -> SubmissionReport:
        """Every task of one submission."""
        tasks = list(tasks)
        self.prepare(tasks)
        return report_of(submission, [TaskGrading(self, task, submission) for task in tasks])

    def digest(self, submission: Submission) -> str:
        """A digest of all that was handed in, read once while one goes on with the same."""
        if self._digest is None or self._digest[0] is not submission:
            self._digest = submission, by_hand.files_digest(submission)
        return self._digest[1]

    def means(
        self, task: Task, check: Check, subject: SubjectSpec | None, submission: Submission | None = None
    ) -> tuple[Judging, Expect]:
        """What a check is judged with: its checker with parameters, and how its expected values are computed.

        `submission` is whose file a quantity is computed of, where the subject is one that students hand in.

        Raises:
            FaultError: from the second, where a value can't be computed or does not fit the answer's type.
            UnfitError: from the second, where the student's own file can't be analysed.
        """
        kind = task.answers[check.answer].type if check.measured is None else None
        if check.checker is None:  # pragma: no cover - a validated spec has a checker where nothing is marked by hand
            message = f"the check '{check.id}' has no checker"
            raise FaultError(message)
        entry = self.course.checkers.get(check.checker.name)
        function = cast("Callable[..., Verdict]", entry.load())
        judging = with_parameters(function, entry.parameters, check.checker.parameters, kind)
        plain = bind(self._plain, subject=subject, submission=submission, limits=task.limits)
        return judging, lambda source: _typed(plain(source), kind)

    def _plain(
        self, source: Source, *, subject: SubjectSpec | None, submission: Submission | None, limits: Limits
    ) -> object:
        if isinstance(source, LiteralValue):
            return source.value
        if subject is None or (subject.handed_in and submission is None):
            message = f"the quantity '{source.quantity}' has no subject"
            raise FaultError(message)
        if subject.handed_in and submission is not None:
            own = handed_in.find(submission, subject.handed_in)
            return self.measurer.value(source, own, subject, limits)
        return self.oracle.value(source, subject)


def _typed(plain: object, kind: AnswerType | None) -> Value:
    """An expected value in its answer's type; where something is measured, in the type that it has by itself."""
    try:
        return as_value(plain, kind, trusted=True) if kind is not None else natural(plain)
    except WrongTypeError as error:
        message = f"the expected value does not fit the answer's type: {error}"
        raise FaultError(message) from error


def report_of(submission: Submission, gradings: Iterable[TaskGrading]) -> SubmissionReport:
    """The report of one submission from its gradings."""
    return SubmissionReport(
        name=submission.name,
        tasks=tuple(grading.report() for grading in gradings),
        remarks=submission.refused,
    )


class TaskGrading:
    """One task of one submission. Each answer is obtained once, each item judged once, in whatever order one asks.

    `decided` tells the credit that a person gave a check of this submission, or None; what needs the check goes by it.
    """

    def __init__(
        self,
        grader: Grader,
        task: Task,
        submission: Submission,
        *,
        decided: Callable[[Graded], Fraction | None] = lambda _: None,
    ) -> None:
        self._grader = grader
        self._decided = decided
        self.task = task
        self.submission = submission
        self.items = {item.id: item for item in items(task)}
        self._graded: dict[str, Graded] = {}
        self._answers: dict[tuple[str, str], Answer | NoAnswer] = {}

    def report(self) -> TaskReport:
        """All items, graded."""
        return TaskReport(
            lab=self.task.lab,
            id=self.task.id,
            title=self.task.title,
            points=self.task.points,
            checks=tuple(self.graded(name) for name in self.items),
        )

    def graded(self, name: str) -> Graded:
        """The item called `name`, graded. Never raises for what a student did; a fault of ours is a FAULT verdict."""
        if name not in self._graded:
            item = self.items[name]
            found = self._guarded(item, self._judge)
            self._graded[name] = Graded(
                id=name,
                points=item.points,
                earned=policy.earned(item.points, found.verdict.credit),
                verdict=worded(item, found.verdict),
                answer_from=printable(found.origin),
                hidden=item.check.hidden,
                bonus=item.check.bonus,
                basis=found.basis or self._grader.digest(self.submission),
                needs=item.check.needs,
                once_met=found.once_met and worded(item, found.once_met),
                to_mark=by_hand.with_rubric(found.to_mark, item.check),
            )
        return self._graded[name]

    def _guarded(self, item: Item, judge_it: Callable[[Item], Judged]) -> Judged:
        try:
            return judge_it(item)
        except UnfitError as error:
            return Judged(verdict=error.verdict)
        except FaultError as error:
            return Judged(verdict=fault(str(error)))
        except Exception as error:  # noqa: BLE001 - whatever of ours fails must not cost a student a point
            frame = traceback.extract_tb(error.__traceback__)[-1]
            return Judged(verdict=fault(f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"))

    def _judge(self, item: Item) -> Judged:
        """The verdict, if what the check needs is met; what waits for a person's look at another one is judged, too."""
        unmet = [need for need in item.check.needs if not self._met(need)]
        waiting = [need for need in unmet if self._waits(need)]
        named = ", ".join(map(repr, waiting or unmet))
        if waiting:
            verdict = without_value(Outcome.MANUAL, f"waits for {named}, which a person has to look at first")
            judged = self._guarded(item, self._judge_answer)
            return replace(judged, verdict=verdict, origin="", once_met=judged.verdict)
        if unmet:
            return Judged(verdict=without_value(Outcome.SKIPPED, f"needs full credit for {named} first"))
        return self._judge_answer(item)

    def _judge_answer(self, item: Item) -> Judged:
        check = item.check
        answer = self._answer(check.answer, item.subject if check.cases else None)
        shown = by_hand.to_mark(check, self.task.answers[check.answer], answer, self.submission)
        verdict = with_remarks(self._verdict(item, answer), answer)
        return Judged(verdict=verdict, origin=answer.origin, basis=by_hand.text_digest(answer), to_mark=shown)

    def _verdict(self, item: Item, answer: Answer | NoAnswer) -> Verdict:
        check = item.check
        if isinstance(answer, NoAnswer):
            if answer.verdict.outcome is Outcome.MANUAL and check.by_hand:
                return replace(answer.verdict, reason=f"{answer.verdict.reason}; {by_hand.rubric(check)}")
            return answer.verdict
        if check.by_hand:
            return without_value(Outcome.MANUAL, by_hand.rubric(check))
        judging, expect = self._grader.means(self.task, check, item.subject, self.submission)
        return judge(check, self._value(answer, item), judging, expect)

    def _value(self, answer: Answer, item: Item) -> Value:
        """What is judged: the answer, or what is measured of it."""
        measured = item.check.measured
        if measured is None or not isinstance(answer.value, Artifact):
            return answer.value
        quantity = self._grader.course.quantities.get(measured.quantity)
        original = subject_files.original(self._grader.oracle, quantity, item.subject)
        limits = self.task.limits
        value = self._grader.measurer.value(measured, answer.value, item.subject, limits, original=original)
        return _typed(value, None)

    def _needed(self, need: str) -> list[Graded]:
        return [self.graded(name) for name, item in self.items.items() if item.check.id == need]

    def _waits(self, need: str) -> bool:
        """Nothing but a person's look keeps it from full credit."""
        open_ones = [graded for graded in self._needed(need) if not self._is_met(graded)]
        return all(each.verdict.outcome is Outcome.MANUAL and self._decided(each) is None for each in open_ones)

    def _met(self, need: str) -> bool:
        return all(map(self._is_met, self._needed(need)))

    def _is_met(self, graded: Graded) -> bool:
        """Full credit, labgrade's or a person's; a fault of ours does not keep a student from what needs it."""
        verdict = graded.verdict
        return verdict.credit == 1 or verdict.outcome is Outcome.FAULT or self._decided(graded) == 1

    def _answer(self, name: str, case: SubjectSpec | None) -> Answer | NoAnswer:
        """The answer for the task's own subject, or for a case, which only live forms can give."""
        key = (name, repr(case))  # options are a mapping, so a subject has no hash
        if key not in self._answers:
            wanted, subject = self.task.answers[name], case or self.task.subject
            self._answers[key] = obtain.obtain(
                wanted,
                self.submission,
                subject=subject,
                model=subject_files.given(self._grader.oracle, wanted, subject, self.submission),
                live_only=case is not None,
                limits=self.task.limits,
                runner=self._grader.runner,
                runs=self._grader.runs,
                store=self._grader.store,
            )
        return self._answers[key]
