"""One task of one submission: its answers, obtained once, and its checks, each judged once."""

from __future__ import annotations

import time
import traceback
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, cast

from labgrade import beside, by_hand, course, second_opinion, subject_files
from labgrade.answers import obtain
from labgrade.counterexample.verdict import judged, memory, plan_of
from labgrade.errors import FaultError
from labgrade.explained import with_explanation
from labgrade.graded import Judged, fault, graded_so_far, settled, waiting, with_remarks
from labgrade.handed_in import UnfitError
from labgrade.items import items
from labgrade.judge import judge
from labgrade.results import Answer, NoAnswer, TaskReport, printable
from labgrade.trials import Grading, Trials, judged_value, measured, typed
from labgrade.values import Artifact
from labgrade.verdict import Outcome, Verdict, without_value
from labgrade.wording import rubric

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from labgrade.graded import Book
    from labgrade.items import Item
    from labgrade.model import Check, Counterexample, Limits, Source, SubjectSpec, Task
    from labgrade.results import Graded, Submission
    from labgrade.values import Value


class Grader(Grading, Protocol):
    """What of `pipeline.Grader` a task needs."""

    second_opinions: bool

    def digest(self, submission: Submission) -> str:
        """A digest of all that was handed in."""

    def plain(
        self, source: Source, *, subject: SubjectSpec | None, submission: Submission | None, limits: Limits
    ) -> object:
        """What a source comes to, as plain data."""


class TaskGrading:
    """One task of one submission. Each answer is obtained once, each item judged once, in whatever order one asks.

    `book` knows what need not be done again. `decided` tells the credit that a person gave a check of this submission,
    or None; what needs the check goes by it. Without `explains` nobody is told what a wrong number is.
    """

    def __init__(
        self,
        grader: Grader,
        task: Task,
        submission: Submission,
        book: Book | None = None,
        *,
        decided: Callable[[Graded], Fraction | None] = lambda _: None,
        explains: bool = True,
    ) -> None:
        self._grader = grader
        self._book = book
        self._decided = decided
        self._explains = explains
        self.task = task
        self.submission = course.without_kit(submission)
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
            first = self._first(item)
            if first is not None and first.outcome is Outcome.SKIPPED:
                own = graded_so_far(item, Judged(verdict=first, basis=self._grader.digest(self.submission)))
            else:
                own = self._book.graded(item, self._own) if self._book is not None else self._own(item)
                own = own if first is None else waiting(own, first)
            self._graded[name] = settled(own, item)
            if self._book is not None:
                self._book.enter(item, self._graded[name], list(self.items).index(name))
        return self._graded[name]

    def _own(self, item: Item) -> Graded:
        """What the submission's answer to an item comes to, whatever it needs."""
        start = time.perf_counter()
        found = self._guarded(item)
        answer = self._answers.get(_key(item.check.answer, item.subject if item.check.cases else None))
        return replace(
            graded_so_far(item, replace(found, basis=found.basis or self._grader.digest(self.submission))),
            printed=printable(answer.printed) if answer is not None else "",
            seconds=time.perf_counter() - start,
        )

    def _guarded(self, item: Item) -> Judged:
        try:
            return self._judge(item)
        except UnfitError as error:
            return Judged(verdict=error.verdict)
        except FaultError as error:
            return Judged(verdict=fault(str(error)))
        except Exception as error:  # noqa: BLE001 - whatever of ours fails must not cost a student a point
            frame = traceback.extract_tb(error.__traceback__)[-1]
            return Judged(verdict=fault(f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"))

    def _first(self, item: Item) -> Verdict | None:
        """The verdict where another check has to be right first, and is not."""
        unmet = [need for need in item.check.needs if not self._met(need)]
        waiting_for = [need for need in unmet if self._waits(need)]
        named = ", ".join(map(repr, waiting_for or unmet))
        if waiting_for:
            return without_value(Outcome.MANUAL, f"waits for {named}, which a person has to look at first")
        return without_value(Outcome.SKIPPED, f"needs full credit for {named} first") if unmet else None

    def _judge(self, item: Item) -> Judged:
        check = item.check
        if check.counterexample:
            verdict, origin = self._searched(check)
            return Judged(verdict=verdict, origin=origin)
        answer = self._answer(check.answer, item.subject if check.cases else None)
        shown = by_hand.to_mark(check, self.task.answers[check.answer], answer, self.submission)
        verdict = with_remarks(self._verdict(item, answer), answer)
        return Judged(verdict=verdict, origin=answer.origin, basis=by_hand.text_digest(answer), to_mark=shown)

    def _verdict(self, item: Item, answer: Answer | NoAnswer) -> Verdict:
        check, grader = item.check, self._grader
        waits = isinstance(answer, Answer) or answer.verdict.outcome is Outcome.MANUAL
        if check.by_hand and waits:
            shown = beside.facts(item, answer, partial(self._answer, live_only=False), self._right)
            if isinstance(answer, Answer):
                return without_value(Outcome.MANUAL, rubric(check), **shown)
            reason = f"{answer.verdict.reason}; {rubric(check)}"
            return replace(answer.verdict, reason=reason, facts={**answer.verdict.facts, **shown})
        if isinstance(answer, NoAnswer):
            return answer.verdict
        judging, expect = grader.means(self.task, check, item.subject, self.submission)
        value = judged_value(grader, self.task, check, item.subject, answer)
        verdict = self._heard(judge(check, value, judging, expect), item, answer)
        if not self._explains:
            return verdict
        return with_explanation(verdict, value, item, grader.oracle, grader.course.quantities)

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
