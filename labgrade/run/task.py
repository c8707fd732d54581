"""One task of one submission: its answers, obtained once, and its checks, each judged once."""

from __future__ import annotations

import time
import traceback
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, cast

from labgrade.answers import obtain
from labgrade.answers.question import Question, about, taken_by_others
from labgrade.answers.reader.asks import ask_passages
from labgrade.core.errors import FaultError
from labgrade.core.points import hidden_points
from labgrade.core.results import Answer, NoAnswer, TaskReport
from labgrade.core.task import AnswerValue, QuantityCall, TextForm
from labgrade.diagnosis.counterexample import judged, memory, plan_of
from labgrade.diagnosis.diagnose import Diagnoser
from labgrade.diagnosis.explain import with_number
from labgrade.diagnosis.fitting import typed
from labgrade.diagnosis.probe import ProbeGrader, Trials, judged_value, measured
from labgrade.diagnosis.stated import Means, by_itself
from labgrade.files.cache import missing
from labgrade.judging import by_hand, plots
from labgrade.judging.coherent import of_one_file, tells_files
from labgrade.judging.graded_items import Judged, fault, graded_so_far, lacks_packages, waiting, with_points
from labgrade.judging.items import call_before, fresh_subject, items, same_source, with_fresh
from labgrade.judging.judge import apply_known_value, follows, judge, with_measured
from labgrade.judging.needs import Gates
from labgrade.judging.other_answer import compared_with, is_missing
from labgrade.judging.tools import of_choice, of_tool
from labgrade.judging.variants import own_variant, with_variant
from labgrade.run.texts.free_text import FreeText
from labgrade.run.together import Together
from labgrade.spec import course
from labgrade.truth.measure import UnfitError, files_given, with_case
from labgrade.values import Artifact, Number
from labgrade.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from fractions import Fraction

    from labgrade.core.results import Answered, Graded, Plot, Submission
    from labgrade.core.task import Alternative, Check, Counterexample, Limits, LiteralValue, Source, SubjectSpec, Task
    from labgrade.judging.graded_items import Book
    from labgrade.judging.items import Item
    from labgrade.judging.judge import Expect, Judging
    from labgrade.judging.texts.choice import Choice
    from labgrade.values import Value


class TaskGrader(ProbeGrader, Protocol):
    """The part of the grader that a task needs."""

    def digest(self, submission: Submission) -> str:
        """Return a digest of all that was handed in."""

    def value_of(
        self,
        source: LiteralValue | QuantityCall,
        *,
        subject: SubjectSpec | None,
        submission: Submission | None,
        limits: Limits,
    ) -> object:
        """Return the value of a source as plain data."""


class TaskGrading:
    """One task of one submission. Each answer is obtained once, each item judged once, in whatever order one asks.

    `book` knows what need not be done again. `decided` tells the credit that a person gave a check of this submission,
    or None; what needs the check goes by it. Without `explains` no wrong number is explained.
    """

    def __init__(
        self,
        grader: TaskGrader,
        task: Task,
        submission: Submission,
        book: Book | None = None,
        *,
        decided: Callable[[Graded], Fraction | None] = lambda _: None,
        explains: bool = True,
    ) -> None:
        self._grader, self._book = grader, book
        self._decided, self._explains = decided, explains
        self.task = task = own_variant(task, submission.name, grader.course.key)
        self._fresh = partial(fresh_subject, task, key=grader.course.key)
        self.submission = course.without_kit(submission)
        self._diagnoser = Diagnoser(grader, task, self.submission)
        self.items = {item.id: item for item in items(task)}
        for together, asks in obtain.asks(task, self.submission):
            grader.reader.expect(self.submission, asks, together)
        self._graded: dict[str, Graded] = {}
        self._answers: dict[tuple[str, str], Answered] = {}
        self._together = Together(grader, partial(self._question, live_only=True), self._fresh, self._judged)
        self._verdicts: dict[str, Verdict] = {}  # labgrade's own, whatever a check needs
        self._credits: dict[str, Fraction] = {}  # what people gave

    def report(self) -> TaskReport:
        """Grade all items and return the report."""
        checks, task = tuple(self.graded(name) for name in self.items), self.task
        more = None if task.hidden_points is None else task.hidden_points + hidden_points(checks)
        return TaskReport(lab=task.lab, id=task.id, title=task.title, points=task.points, checks=checks, not_shown=more)

    def forget(self) -> None:
        """Free the answers, which may be large and would stay through references back to this object."""
        del self._together, self._answers

    def graded(self, name: str) -> Graded:
        """Grade the item called `name`. Never raises for what a student did; labgrade's own fault is a FAULT."""
        if name not in self._graded:
            item = self.items[name]
            if (first := self._first(item)) is not None and first.outcome is Outcome.SKIPPED:
                own = graded_so_far(item, Judged(verdict=first, basis=self._grader.digest(self.submission)))
            else:
                own = self._book.graded(item, self._own) if self._book is not None else self._own(item)
                self._verdicts[name] = own.verdict
                own = own if first is None else waiting(own, first)
            self._graded[name] = with_points(own, item)
            credit = self._decided(self._graded[name])
            if credit is not None:
                self._credits[name] = credit
            if self._book is not None:
                self._book.enter(item, self._graded[name], list(self.items).index(name))
        return self._graded[name]

    def _own(self, item: Item) -> Graded:
        """Return the verdict on an item, whatever other checks it needs."""
        start = time.perf_counter()
        found = self._of_one_file(item, self._guarded(item))
        answer = self._answers.get(_key(item.check.answer, item.subject if item.check.cases else None))
        judged = replace(found, basis=found.basis or self._grader.digest(self.submission))
        printed = answer.printed if answer is not None else ""
        return graded_so_far(item, judged, printed=printed, seconds=time.perf_counter() - start)

    def _guarded(self, item: Item) -> Judged:
        if lacking := missing(self.task.packages):
            return Judged(verdict=lacks_packages(lacking))
        try:
            return self._judge(item)
        except UnfitError as error:
            return Judged(verdict=error.verdict)
        except FaultError as error:
            return Judged(verdict=fault(str(error)))
        except Exception as error:  # noqa: BLE001 - what fails in labgrade must not cost a student a point
            frame = traceback.extract_tb(error.__traceback__)[-1]
            return Judged(verdict=fault(f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"))

    def _of_one_file(self, item: Item, found: Judged) -> Judged:
        """Return the verdict on an item; it waits where another answer was made of another file."""
        others = (each for each in self.items.values() if not each.check.cases and tells_files(each.check))
        judged = ((each, self._guarded(each).verdict) for each in others)
        beside = ((each.check, verdict) for each, verdict in judged if not self._is_computed(each))
        verdict = of_one_file(item.check, found.verdict, beside)
        if verdict is found.verdict or item.check.cases or self._is_computed(item):
            return found
        shown = by_hand.to_mark(NoAnswer(verdict=verdict), partial(self._passages, item.check.answer))
        return replace(found, verdict=verdict, to_mark=shown)

    def _is_computed(self, item: Item) -> bool:
        """Return whether labgrade computed the answer, on its own subject."""
        answer = self._answers.get(_key(item.check.answer, None))
        return isinstance(answer, Answer) and answer.computed

    def _first(self, item: Item) -> Verdict | None:
        """Return the verdict where a check that has to be right first is not, else None."""
        if not item.check.needs:
            return None
        for name, other in self.items.items():
            if other.check.id in item.check.needs:
                self.graded(name)
        needs = {name: each.check.needs for name, each in self.items.items()}
        return Gates(needs, self._verdicts, self._credits).of(item.id).verdict()

    def _judge(self, item: Item) -> Judged:
        check = item.check
        if check.counterexample:
            verdict, origin = self._searched(check)
            return Judged(verdict=self._uncontradicted(verdict, item), origin=origin)
        if check.cases:
            self._call_together(item)
        answer = self._answer(check.answer, item.subject if check.cases else None)
        shown, basis, origin = None, "", answer.origin
        try:
            verdict = self._verdict(item, answer)
            if answer.free and not (check.by_hand or check.cases or check.measured):
                chosen = self._in_free_text(item, answer, verdict)
                verdict, origin = chosen.verdict, chosen.place
        except UnfitError as error:
            if not answer.lossy:
                raise
            verdict = error.verdict
        as_meant = partial(self._judged, item, item.subject, computed=False)
        verdict = by_hand.decide_unsure(verdict, answer, origin, as_meant)
        if answer.remarks or answer.notes:
            verdict = replace(verdict, remarks=answer.remarks, notes=(*verdict.notes, *answer.notes))
        if check.by_hand or isinstance(answer, NoAnswer) or verdict.outcome is Outcome.MANUAL:
            waits = NoAnswer(verdict=verdict) if verdict.outcome is Outcome.MANUAL and not check.by_hand else answer
            shown = by_hand.to_mark(waits, partial(self._passages, check.answer))
        if isinstance(answer, Answer) and isinstance(answer.value, str):
            basis = by_hand.text_digest(answer.written or answer.value)
        return Judged(verdict=verdict, origin=origin, basis=basis, to_mark=shown, plot=self._plot(item, answer))

    def _plot(self, item: Item, answer: Answered) -> Plot | None:
        """Return what pages draw of an answer; what can't be drawn is left out."""
        picture = item.check.picture
        if picture is None or not isinstance(answer, Answer):
            return None
        try:
            if picture.measured is None:
                return plots.of_value(picture, answer.value)
            if not isinstance(answer.value, Artifact):
                return None
            found = measured(self._grader, self.task, picture.measured, item.subject, answer.value)
            return plots.of_measured(picture, found)
        except (FaultError, UnfitError, ValueError, TypeError, OverflowError):
            return None

    def _in_free_text(self, item: Item, answer: Answered, verdict: Verdict) -> Choice:
        """Return the verdict, or a better one where the text holds what the spec's words did not find."""
        check, reader, (_, expect) = item.check, self._grader.reader, self._judging(item.check, item.subject)
        judged = partial(self._judged, item, item.subject, computed=False)
        text = FreeText(reader, self.task, self.submission, about(item.subject), check, judged, expect)
        chosen, grader = text.verdict(answer, verdict), self._grader
        return of_choice(chosen, item, grader.oracle, grader.course.quantities) if self._explains else chosen

    def _verdict(self, item: Item, answer: Answered) -> Verdict:
        check, grader = item.check, self._grader
        if check.by_hand and (isinstance(answer, Answer) or answer.verdict.outcome is Outcome.MANUAL):
            return by_hand.waiting(item, answer, partial(self._answer, live_only=False), self._right)
        if isinstance(answer, NoAnswer):
            return self._diagnoser.unanswered(answer, item) if self._explains else answer.verdict
        judging, expect = self._judging(check, item.subject)
        call = check.measured
        value = judged_value(grader, self.task, call, item.subject, answer) if call else answer.value
        seen = self._together.verdict(check, answer)
        verdict = seen or with_case(judge(check, value, judging, expect, computed=answer.computed), answer)
        if call and isinstance(value, Number | str | tuple):
            entry = grader.course.quantities.get(call.quantity)
            verdict = with_measured(verdict, call, entry.description or entry.name)
        verdict = self._on_fresh_input(verdict, item, answer)
        if answer.computed:
            later = self._after_another(verdict, item, answer)
            if later is not verdict:  # the cause is known: the function alone is right, or better
                return later
            verdict = self._uncontradicted(verdict, item)
        if self.task.variant:
            verdict = with_variant(verdict, value, item, self.task, grader.judging_of)
        if not self._explains:
            return verdict
        seen = self._diagnoser.explained(verdict, value, item) if answer.computed else None
        tool = partial(of_tool, verdict, value, item, grader.oracle, grader.course.quantities)
        if seen is not None:
            return with_number(seen, check, tool, partial(self._by_itself, value=value, item=item, computed=False))
        if verdict.credit < 1 and not (answer.computed and self._diagnoser.refutes(item)):
            verdict = tool()
        return self._by_itself(verdict, value, item, computed=answer.computed)

    def _by_itself(self, verdict: Verdict, value: Value, item: Item, *, computed: bool) -> Verdict:
        """Return the verdict with what the value alone tells, unless its function was seen to do something else."""
        diagnoser, quantities = self._diagnoser if computed else None, self._grader.course.quantities
        return by_itself(verdict, value, item, partial(self._means, item), quantities, diagnoser)

    def _means(self, item: Item) -> Means:
        (judging, expect), kind = self._judging(item.check, item.subject), self.task.answers[item.check.answer].type
        return Means(kind=kind, judging=judging, expect=expect, oracle=self._grader.oracle)

    def _uncontradicted(self, verdict: Verdict, item: Item) -> Verdict:
        """Return the verdict without the hint of a slip that the same function does not make elsewhere in the task.

        Elsewhere is where the same is asked of another subject, under the same conditions: other cases, the task's own.
        """
        if not verdict.hint:
            return self._told_apart(verdict, item)
        known = [each for each in item.check.misconceptions if each.says == verdict.hint]
        made = not known or any(all(self._made_on(each, slip) for each in self._alike(item)) for slip in known)
        return verdict if made else replace(verdict, hint="")

    def _told_apart(self, verdict: Verdict, item: Item) -> Verdict:
        """Return the verdict with the hint of the one fitting slip that the function makes elsewhere, too."""
        fitting = [each for each in item.check.misconceptions if each.says in verdict.fits]
        made = [each for each in fitting if all(self._made_on(other, each) for other in self._alike(item))]
        if len({each.says for each in made}) != 1:
            return verdict
        return apply_known_value(min(made, key=lambda each: each.credit), replace(verdict, fits=()), right=False)

    def _alike(self, item: Item) -> Iterator[Item]:
        """Return the items that ask the same of other subjects; of configs those that need this one, too."""
        own = {item.check.id} if item.subject and item.subject.is_config else set()  # a network may show two mistakes
        for other in self.items.values():
            check = other.check
            same = check.answer == item.check.answer and same_source(check.expected, item.check.expected)
            asks_more = set(check.needs) - {*own, *item.check.needs} or check.bonus > item.check.bonus
            if same and other is not item and not (asks_more or check.counterexample or check.measured):
                yield other

    def _made_on(self, item: Item, slip: Alternative) -> bool:
        """Return whether the function makes a slip on an item's subject, if that can be known."""
        check = item.check
        answer = self._answer(check.answer, item.subject if check.cases else None)
        if not isinstance(answer, Answer) or not answer.computed:
            return True
        judging, expect = self._judging(check, item.subject)
        expected = expect(check.expected) if check.expected is not None else None
        try:
            return follows(answer.value, slip.source, expected, judging, expect, where_absent=True)
        except FaultError:
            return True

    def _on_fresh_input(self, verdict: Verdict, item: Item, answer: Answer) -> Verdict:
        """Check a right verdict by calling the function on another input, where its tensors depend on one."""
        check = item.check
        subject = self._fresh(item) if verdict.credit else None
        if subject is None:
            return verdict
        self._keep(check.answer, self._together.with_cases(item, self.items.values(), answer, verdict, subject))
        other = self._answer(check.answer, subject)
        if isinstance(other, NoAnswer):
            # A file that was handed in beside the function: what is judged was not computed by a call.
            return verdict if other.verdict.outcome is Outcome.MISSING else with_fresh(verdict, other.verdict)
        if other.origin != answer.origin:
            return verdict
        return with_fresh(verdict, self._together.verdict(check, other) or self._judged(item, subject, other.value))

    def _after_another(self, verdict: Verdict, item: Item, answer: Answer) -> Verdict:
        """Check a right verdict by calling the function after another call, from which it may keep something."""
        before = call_before(self.items.values(), item) if verdict.credit else None
        if before is None or isinstance(self._answer(item.check.answer, before), NoAnswer):
            return verdict  # by itself the other call gave nothing: one endless call is waited for once
        return self._together.after(before, item, answer, verdict)

    def _call_together(self, item: Item) -> None:
        """Answer the cases of a check in one process, as far as they are right."""
        own = self._answers.get(_key(item.check.answer, None))
        self._keep(item.check.answer, self._together.right_ones(item, self.items.values(), own, self._verdicts))

    def _keep(self, name: str, right: Iterator[tuple[SubjectSpec | None, Answer]]) -> None:
        for subject, answer in right:
            self._answers.setdefault(_key(name, subject), answer)

    def _judged(self, item: Item, subject: SubjectSpec | None, value: Value, *, computed: bool = True) -> Verdict:
        """Judge a computed value on a subject."""
        return judge(item.check, value, *self._judging(item.check, subject), computed=computed)

    def _searched(self, check: Check) -> tuple[Verdict, str]:
        """Search the smallest network on which a function is wrong."""
        trials = Trials(self._grader, self.task, check, self.submission)
        plan = plan_of(self.task, cast("Counterexample", check.counterexample))
        known = {own.outcome for name, own in self._verdicts.items() if self.items[name].check.answer == check.answer}
        seen = self._diagnoser.foresight(trials)
        records = [memory(self.task, check, trials.content())]
        found = judged(trials, plan, records, at_once=known == {Outcome.CORRECT}, foresight=seen)
        return (self._diagnoser.searched(found, check) if self._explains else found.verdict), found.origin

    def _judging(self, check: Check, subject: SubjectSpec | None) -> tuple[Judging, Expect]:
        """Return what a check is judged with on a subject."""
        return self._grader.judging_of(self.task, check, subject, self.submission, self._compared)

    def _compared(self, name: str, subject: SubjectSpec | None) -> Answered:
        """Return the answer with which another is compared, on the same subject."""
        found = self._answer(name, None if subject == self.task.subject else subject)
        texts = any(isinstance(form, TextForm) for form in self.task.answers[name].forms)
        missing = isinstance(found, NoAnswer) and found.free and is_missing(name, self.items.values(), self._guarded)
        if isinstance(found, NoAnswer) and texts and found.free and not missing:
            return replace(found, verdict=replace(found.verdict, outcome=Outcome.MANUAL))
        return found

    def _right(self, source: Source, subject: SubjectSpec | None, name: str) -> Value:
        if isinstance(source, AnswerValue):
            return compared_with(source, self._compared(source.answer, self.task.subject), self.task.answers[name].type)
        plain = self._grader.value_of(source, subject=subject, submission=self.submission, limits=self.task.limits)
        return typed(plain, self.task.answers[name].type)

    def _passages(self, name: str) -> tuple[str, ...]:
        """Return the parts of the hand-in in which an answer is looked for."""
        asked = ask_passages("text", self.task.answers[name].forms)
        return tuple(self._grader.reader.ask(self.submission, asked))

    def _answer(self, name: str, case: SubjectSpec | None, *, live_only: bool = True) -> Answered:
        """Return the answer for the task's subject, or for a case, which only functions and programs can give."""
        key = _key(name, case, live_only=live_only)
        if key not in self._answers:
            question = self._question(name, case or self.task.subject, live_only=live_only and case is not None)
            self._answers[key] = obtain.obtain(question, self._grader)
        return self._answers[key]

    def _question(self, name: str, subject: SubjectSpec | None, *, live_only: bool) -> Question:
        wanted = self.task.answers[name]
        model, limits = files_given(self._grader.oracle, wanted, subject, self.submission), self.task.limits
        found = Question(wanted=wanted, submission=self.submission, subject=subject, model=model, limits=limits)
        return replace(found, live_only=live_only, taken=taken_by_others(self.task, name))


def _key(name: str, case: SubjectSpec | None, *, live_only: bool = True) -> tuple[str, str]:
    """Return a key for an answer, as a subject has no hash: its options are a mapping."""
    return name, f"{live_only} {case!r}"
