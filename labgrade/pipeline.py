"""One submission through everything. The only caller of the rooms around it; pytest and the CLI are its two callers."""

from __future__ import annotations

import tempfile
import time
import traceback
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from labgrade import beside, handed_in, second_opinion, subject_files
from labgrade.answers import obtain
from labgrade.answers.run import Runs
from labgrade.builds import Builder
from labgrade.counterexample.verdict import judged, memory, plan_of
from labgrade.errors import FaultError
from labgrade.explained import companions, with_explanation
from labgrade.graded import fault, graded_so_far, settled, with_remarks
from labgrade.handed_in import Measurer, UnfitError
from labgrade.items import items, sources
from labgrade.judge import judge, with_parameters
from labgrade.model import LiteralValue
from labgrade.oracle import Oracle, cache_folder
from labgrade.provided import provide
from labgrade.results import Answer, NoAnswer, SubmissionReport, TaskReport
from labgrade.sandbox import handin
from labgrade.sandbox.runner import Runner
from labgrade.trials import Trials, judged_value, measured, typed
from labgrade.values import Artifact
from labgrade.verdict import Outcome, Verdict, without_value
from labgrade.wording import rubric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from labgrade.course import Course
    from labgrade.graded import Book
    from labgrade.items import Item
    from labgrade.judge import Expect, Judging
    from labgrade.model import Check, Counterexample, Limits, Source, SubjectSpec, Task
    from labgrade.results import Graded, Submission
    from labgrade.values import Value


class Grader:
    """What a whole run shares: the course, the oracle of expected values, the runner of students' code.

    Use as a context manager, so that the processes behind it end. `torch_home` is offered to students' code; `shared`:
    where to find another grader's servers. `secret`: more folders that no student's code may see. `second_opinions`:
    what is measured is measured in another way, too.
    """

    def __init__(
        self,
        course: Course,
        *,
        runner: Runner | None = None,
        oracle: Oracle | None = None,
        torch_home: Path | None = None,
        shared: Path | None = None,
        secret: Iterable[Path] = (),
        second_opinions: bool = False,
    ) -> None:
        self.course = course
        self.second_opinions = second_opinions
        hidden = (*course.folders, cache_folder(), *secret)
        self.runner = runner or Runner(secret=hidden, torch_home=torch_home, shared=shared)
        self.runs = Runs(self.runner, provide, Builder(self.runner, cache_folder() / "builds"))
        self.oracle = oracle or Oracle(course.quantities)
        self.measurer = Measurer(course.quantities, self.runner)
        self._store = tempfile.TemporaryDirectory(prefix="labgrade-store-")
        self.store = Path(self._store.name)

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
            parts = [item for task in tasks for item in items(task)]
            asked = (each for item in parts for each in (*sources(item), *companions(item, self.course.quantities)))
            self.oracle.recall(asked)

    def forget(self) -> None:
        """Let go of all that belongs to the submissions graded so far: memory does not grow with a class."""
        self.runs.close()
        self.measurer.forget()
        for kept in self.store.iterdir():
            handin.discard(kept) if kept.is_dir() else kept.unlink()

    def grade(self, tasks: Iterable[Task], submission: Submission) -> SubmissionReport:
        """Every task of one submission."""
        tasks = list(tasks)
        self.prepare(tasks)
        return report_of(submission, [TaskGrading(self, task, submission) for task in tasks])

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
        plain = partial(self.plain, subject=subject, submission=submission, limits=task.limits)
        return judging, lambda source: typed(plain(source), kind)

    def plain(
        self, source: Source, *, subject: SubjectSpec | None, submission: Submission | None, limits: Limits
    ) -> object:
        """What a source comes to, as plain data.

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
            own = handed_in.find(submission, subject.handed_in)
            return self.measurer.value(source, own, subject, limits)
        return self.oracle.value(source, subject)


def report_of(submission: Submission, gradings: Iterable[TaskGrading]) -> SubmissionReport:
    """The report of one submission from its gradings."""
    return SubmissionReport(
        name=submission.name,
        tasks=tuple(grading.report() for grading in gradings),
        remarks=submission.refused,
    )


class TaskGrading:
    """One task of one submission. Each answer is obtained once, each item judged once, in whatever order one asks.

    A `book` knows what need not be done again.
    """

    def __init__(self, grader: Grader, task: Task, submission: Submission, book: Book | None = None) -> None:
        self._grader = grader
        self._book = book
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
            unmet = self._unmet(item)
            if unmet is not None:
                own = graded_so_far(item, unmet, "")
            else:
                own = self._book.graded(item, self._own) if self._book is not None else self._own(item)
            self._graded[name] = settled(own, item)
            if self._book is not None:
                self._book.enter(item, self._graded[name], list(self.items).index(name))
        return self._graded[name]

    def _own(self, item: Item) -> Graded:
        """What the submission's answer to an item comes to, whatever it needs."""
        start = time.perf_counter()
        verdict, origin = self._guarded(item)
        answer = self._answers.get(_key(item.check.answer, item.subject if item.check.cases else None))
        printed = answer.printed if answer is not None else ""
        return replace(graded_so_far(item, verdict, origin, printed), seconds=time.perf_counter() - start)

    def _guarded(self, item: Item) -> tuple[Verdict, str]:
        try:
            return self._judge(item)
        except UnfitError as error:
            return error.verdict, ""
        except FaultError as error:
            return fault(str(error)), ""
        except Exception as error:  # noqa: BLE001 - whatever of ours fails must not cost a student a point
            frame = traceback.extract_tb(error.__traceback__)[-1]
            return fault(f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"), ""

    def _unmet(self, item: Item) -> Verdict | None:
        """The verdict where another check has to be right first, and is not."""
        unmet = [need for need in item.check.needs if not self._met(need)]
        waiting = [need for need in unmet if self._waits(need)]
        if waiting:
            named = ", ".join(map(repr, waiting))
            return without_value(Outcome.MANUAL, f"waits for {named}, which a person has to look at first")
        if unmet:
            return without_value(Outcome.SKIPPED, f"needs full credit for {', '.join(map(repr, unmet))} first")
        return None

    def _judge(self, item: Item) -> tuple[Verdict, str]:
        check = item.check
        if check.counterexample:
            return self._searched(check)
        answer = self._answer(check.answer, item.subject if check.cases else None)
        if isinstance(answer, NoAnswer):
            verdict = answer.verdict
            if verdict.outcome is Outcome.MANUAL and check.by_hand:
                verdict = replace(verdict, reason=f"{verdict.reason}; {rubric(check)}")
            return with_remarks(verdict, answer), answer.origin
        if check.by_hand:
            shown = beside.facts(item, answer, partial(self._answer, live_only=False), self._right)
            return with_remarks(without_value(Outcome.MANUAL, rubric(check), **shown), answer), answer.origin
        judging, expect = self._grader.means(self.task, check, item.subject, self.submission)
        value = judged_value(self._grader, self.task, check, item.subject, answer)
        verdict = self._heard(judge(check, value, judging, expect), item, answer)
        verdict = with_explanation(verdict, value, item, self._grader.oracle, self._grader.course.quantities)
        return with_remarks(verdict, answer), answer.origin

    def _heard(self, verdict: Verdict, item: Item, answer: Answer) -> Verdict:
        """The verdict, with a second opinion on the student's file where one was asked for."""
        grader, call = self._grader, item.check.measured
        other = second_opinion.of(call, grader.course.quantities) if call and grader.second_opinions else None
        if other is None or not isinstance(answer.value, Artifact):
            return verdict
        return second_opinion.heard(verdict, partial(measured, grader, self.task, other, item.subject, answer.value))

    def _searched(self, check: Check) -> tuple[Verdict, str]:
        """What came of looking for the smallest network on which a function is wrong."""
        trials = Trials(self._grader, self.task, check, self.submission)
        plan = plan_of(self.task, cast("Counterexample", check.counterexample))
        return judged(trials, plan, [memory(self.task, check, trials.content())])

    def _verdicts(self, need: str) -> list[Verdict]:
        return [self.graded(name).verdict for name, item in self.items.items() if item.check.id == need]

    def _waits(self, need: str) -> bool:
        """Nothing but a person's look keeps it from full credit."""
        verdicts = [verdict for verdict in self._verdicts(need) if verdict.credit < 1]
        return all(verdict.outcome in (Outcome.MANUAL, Outcome.FAULT) for verdict in verdicts)

    def _met(self, need: str) -> bool:
        """Full credit; a fault of ours does not keep a student from what needs it."""
        verdicts = self._verdicts(need)
        return all(verdict.credit == 1 or verdict.outcome is Outcome.FAULT for verdict in verdicts)

    def _right(self, source: Source, subject: SubjectSpec | None, name: str) -> Value:
        plain = self._grader.plain(source, subject=subject, submission=self.submission, limits=self.task.limits)
        return typed(plain, self.task.answers[name].type)

    def _answer(self, name: str, case: SubjectSpec | None, *, live_only: bool = True) -> Answer | NoAnswer:
        """The answer for the task's own subject, or for a case, which only live forms can give."""
        key = _key(name, case, live_only=live_only)
        if key not in self._answers:
            wanted, subject = self.task.answers[name], case or self.task.subject
            self._answers[key] = obtain.obtain(
                wanted,
                self.submission,
                subject=subject,
                model=subject_files.given(self._grader.oracle, wanted, subject, self.submission),
                live_only=live_only and case is not None,
                limits=self.task.limits,
                runner=self._grader.runner,
                runs=self._grader.runs,
                store=self._grader.store,
            )
        return self._answers[key]


def _key(name: str, case: SubjectSpec | None, *, live_only: bool = True) -> tuple[str, str]:
    """Which answer it is. Options are a mapping, so a subject has no hash."""
    return name, f"{live_only} {case!r}"
