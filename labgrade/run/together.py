"""The cases of a check, called in one process: what comes out right there needs no process of its own.

To start a process and put it into its jail takes longer than most calls. What is not right, whatever the reason, is
called by itself, and only that counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.answers.call import obtain_each
from labgrade.answers.obtain import is_live
from labgrade.core.errors import FaultError
from labgrade.core.results import Answer
from labgrade.core.task import CallForm
from labgrade.judging.items import called_together, is_small, with_later
from labgrade.truth.measure import UnfitError
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from labgrade.answers.question import Question, Running
    from labgrade.core.results import Answered
    from labgrade.core.task import Check, SubjectSpec
    from labgrade.judging.items import Item
    from labgrade.values import Value
    from labgrade.verdict import Verdict

_MOST_SECONDS = 5.0  # of CPU for all of them: most take a tenth of it


class Together:
    """What one submission's functions came to where several calls shared a process.

    `ask` makes the question for an answer and a subject, `fresh` an item's subject with another input where there is
    one; `judged` tells what a value is worth for an item on a subject.
    """

    def __init__(
        self,
        running: Running,
        ask: Callable[[str, SubjectSpec | None], Question],
        fresh: Callable[[Item], SubjectSpec | None],
        judged: Callable[[Item, SubjectSpec | None, Value], Verdict],
    ) -> None:
        self._running, self._ask, self._fresh, self._judged = running, ask, fresh, judged
        self._tried: set[str] = set()
        self._verdicts: dict[tuple[str, int], tuple[Answer, Verdict]] = {}  # by check and answer
        self._later: dict[str, Answer] = {}  # by item

    def right_ones(
        self,
        item: Item,
        items: Collection[Item],
        own: Answered | None,
        verdicts: Mapping[str, Verdict],
        more: Sequence[tuple[Item, SubjectSpec]] = (),
    ) -> Iterator[tuple[SubjectSpec | None, Answer]]:
        """The answers of the cases of an item's check, then of `more`, up to the first that is not right, once a check.

        `own` is the answer for the task's own subject: only a function that was right there, as the `verdicts` of items
        tell, and said nothing beside its value is called.
        """
        check = item.check
        if check.id in self._tried or not isinstance(own, Answer) or not _is_plain(own):
            return
        of_own = [each.id for each in items if each.check.answer == check.answer and not each.check.cases]
        if not any(id_ in verdicts and verdicts[id_].outcome is Outcome.CORRECT for id_ in of_own):
            return
        cases = called_together(items, item)
        self._tried |= {check.id, *(each.check.id for each in cases if each.check.bonus)}
        small = [each for each in cases if is_small(each.subject)]
        fresh = [(each, subject) for each in small if (subject := self._fresh(each)) is not None]
        asked = [*((each, each.subject) for each in cases), *fresh, *(more if cases else ())]
        for place, value in enumerate(self._values([self._ask(check.answer, subject) for _, subject in asked], own)):
            each, subject = asked[place]
            verdict = self._worth(each, subject, value)
            if verdict is None or verdict.outcome is not Outcome.CORRECT:
                return  # what comes behind it may owe to it
            answer = replace(own, value=value)
            self._verdicts[each.check.id, id(answer)] = answer, verdict
            if place and subject == each.subject:
                self._later[each.id] = answer
            yield subject, answer

    def with_cases(
        self, own: Item, items: Collection[Item], answer: Answer, verdict: Verdict, fresh: SubjectSpec
    ) -> Iterator[tuple[SubjectSpec | None, Answer]]:
        """As `right_ones`, of the first cases that need no more than an item; behind them it is called for, `fresh`."""
        for item in items if not own.check.cases else ():
            check = item.check
            if check.cases and check.answer == own.check.answer and {*check.needs} <= {own.check.id}:
                yield from self.right_ones(item, items, answer, {own.id: verdict}, [(own, fresh)])
                return

    def _worth(self, item: Item, subject: SubjectSpec | None, value: Value) -> Verdict | None:
        try:
            return self._judged(item, subject, value)
        except (FaultError, UnfitError):
            return None

    def _values(self, questions: list[Question], own: Answer) -> list[Value]:
        """What the function that gave its `own` answer returns for each, where nothing else gives one."""
        if not questions:
            return []
        form, *others = [form for form in questions[0].wanted.forms if is_live(form)]
        if others or not isinstance(form, CallForm):
            return []
        limits = replace(questions[0].limits, seconds=min(questions[0].limits.seconds, _MOST_SECONDS))
        first = replace(questions[0], limits=limits)
        origin, values = obtain_each([first, *questions[1:]], form, self._running, attempt=True)
        return values if origin == own.origin else []

    def after(self, before: SubjectSpec, item: Item, answer: Answer, verdict: Verdict) -> Verdict:
        """The verdict on an answer, with the function called once more, right behind a call for another subject."""
        form = next(
            (each for each in self._ask(item.check.answer, before).wanted.forms if isinstance(each, CallForm)), None
        )
        if form is None or self._later.get(item.id) is answer:
            return verdict
        questions = [self._ask(item.check.answer, subject) for subject in (before, item.subject)]
        origin, values = obtain_each(questions, form, self._running)
        if len(values) < len(questions) or origin != answer.origin:
            return verdict
        return with_later(verdict, self._judged(item, item.subject, values[-1]))

    def verdict(self, check: Check, answer: Answered) -> Verdict | None:
        """What an answer of these is worth for a check, if it is one."""
        return self._verdicts.get((check.id, id(answer)), (None, None))[1]


def _is_plain(answer: Answer) -> bool:
    """Whether there is nothing to tell of a function's answer but its value."""
    return answer.computed and not (answer.remarks or answer.notes or answer.printed)
