"""The questions as one person goes through them: what is left of each, the next answer without another marker."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from labgrade.desk import queue
from labgrade.desk.form_decisions import place_of
from labgrade.desk.queue import QuestionId
from labgrade.review import markers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from labgrade.desk.queue import AnswerGroup, QuestionAnswers, SuggestedShares
    from labgrade.desk.snapshot import LiveResults, Snapshot
    from labgrade.review.decisions import Place
    from labgrade.review.markers import SecondMark, SecondMarking
    from labgrade.review.marking import ToDecide

TOP = "/"


class NotHereError(Exception):
    """There is no such page; the message is the address of the one to go to."""


def question_of(query: Mapping[str, str]) -> QuestionId:
    """Return the question that a link or a form is about."""
    return QuestionId(query.get("lab", ""), query.get("task", ""), query.get("check", ""))


def link(path: str, question: QuestionId, **more: str) -> str:
    """The address of a page about a question."""
    query = {"lab": question.lab, "task": question.task, "check": question.check, **more}
    return f"{path}?{urlencode(query)}"


def waits(group: AnswerGroup, now: Snapshot) -> bool:
    """Return whether any of these answers waits for a mark."""
    return any(each.place in now.waiting for each in group.answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionWalk:
    """The order in which one person goes through a question; `held` is what others look at."""

    question: QuestionAnswers
    now: Snapshot
    by: str
    held: frozenset[Place]

    def coming(self, place: Place) -> list[AnswerGroup]:
        """Return the groups that wait after an answer, in their order of display."""
        groups = self.question.groups
        at = self._position(place)
        later = [group for group in (*groups[at + 1 :], *groups[: max(at, 0)]) if self.is_free(group)]
        return sorted(later, key=lambda group: at < 0 or group.cluster != groups[at].cluster)

    def before(self, place: Place) -> str:
        """Return the address of the answer that this person marked before, or else of the one before it in order."""
        own = sorted(
            (ruling.number, each.place)
            for group in self.question.groups
            for each in group.answers
            if (ruling := self.now.in_force(each.place)) is not None and ruling.by == self.by
        )
        ruling = self.now.in_force(place)
        earlier = [place for number, place in own if ruling is None or number < ruling.number]
        if earlier:
            return self.to_place(earlier[-1])
        at = self._position(place)
        return self.to(self.question.groups[at - 1]) if at > 0 else ""

    def to(self, group: AnswerGroup) -> str:
        """Return the address of a group's page, at an answer that waits if any does."""
        each = next((each for each in group.answers if each.place in self.now.waiting), group.first)
        return self.to_place(each.place)

    def to_place(self, place: Place) -> str:
        """The page of an answer."""
        return link("/answer", self.question.id, who=self.now.names.of(place.submission))

    def _position(self, place: Place) -> int:
        groups = enumerate(self.question.groups)
        return next((n for n, group in groups if any(each.place == place for each in group.answers)), -1)

    def is_free(self, group: AnswerGroup) -> bool:
        """Return whether one of these answers waits and nobody else looks at any."""
        return waits(group, self.now) and not any(each.place in self.held for each in group.answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRow:
    """A question in the queue. `minutes`: how long what is left takes at the pace so far; None before it is known."""

    question: QuestionAnswers
    left: int
    of: int
    suggested: int
    wordless: int
    minutes: float | None
    href: str
    twice: SecondMarking
    second_href: str

    @property
    def to_think_about(self) -> int:
        """How many of those left have no suggestion."""
        return self.left - self.suggested


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestions:
    """All questions at one moment for one person. `held`: what others look at; `seconds`: second marks."""

    now: Snapshot
    questions: Mapping[QuestionId, QuestionAnswers]
    by: str
    held: frozenset[Place]
    seconds: tuple[SecondMark, ...]

    def found(self, query: Mapping[str, str]) -> tuple[QuestionAnswers, AnswerGroup, Place]:
        """Find the question, the group of answers and the place that a link names.

        Raises:
            NotHereError: it is not to be marked here.
        """
        name = question_of(query)
        question = self.questions.get(name)
        if question is None:
            raise NotHereError(TOP)
        place = place_of(self.now, name, query.get("who", ""))
        group = question.group_of(place)
        if group is None:
            raise NotHereError(link("/question", name))
        open_ones = tuple(each for each in group.answers if each.place in self.now.waiting)
        own = tuple(each for each in group.answers if each.place == place)
        chosen = open_ones if place in self.now.waiting else own  # what was marked is marked anew alone
        return question, replace(group, answers=(*own, *(e for e in chosen if e not in own))), place

    def walk(self, question: QuestionAnswers) -> QuestionWalk:
        """The ways through a question."""
        return QuestionWalk(question=question, now=self.now, by=self.by, held=self.held)

    def twice(self, question: QuestionAnswers) -> SecondMarking:
        """Return the state of a question's second marks."""
        answers = (each for group in question.groups for each in group.answers)
        rulings = (ruling for each in answers if (ruling := self.now.in_force(each.place)) is not None)
        return markers.second_marking(rulings, self.seconds, self.by)

    def rows(self) -> list[QuestionRow]:
        """Return all questions, those with the most suggestions first and finished ones last."""
        found = [self.row(each) for each in self.questions.values()]
        return sorted(found, key=lambda row: (row.left == 0, -row.suggested, -row.left, row.question.id))

    def row(self, question: QuestionAnswers) -> QuestionRow:
        """One of them."""
        now, walk = self.now, self.walk(question)
        places = [each.place for group in question.groups for each in group.answers]
        left = sum(place in now.waiting for place in places)
        marked = [ruling for place in places if (ruling := now.in_force(place)) is not None]
        pace = queue.seconds_each(marked)
        waiting = sum(waits(group, now) for group in question.groups)
        return QuestionRow(
            question=question,
            left=left,
            of=len(places),
            suggested=sum(len(group.answers) for group, _ in self.suggested(question)),
            wordless=sum(len(group.answers) for group, _ in self.suggested(question, wordless=True)),
            twice=(twice := self.twice(question)),
            second_href="" if self.held.issuperset(twice.open) else link("/question", question.id, second="1"),
            minutes=pace * waiting / 60 if pace is not None else None,
            href=link("/question", question.id) if left else walk.to(question.groups[0]),
        )

    def suggested(
        self, question: QuestionAnswers, *, wordless: bool = False
    ) -> list[tuple[AnswerGroup, SuggestedShares]]:
        """Return the waiting answers with their suggestions, or those in which nothing is written."""
        found = []
        for group in question.groups:
            own = replace(group, answers=tuple(each for each in group.answers if each.place in self.now.waiting))
            if not own.answers:
                continue
            made = queue.nothing_written(own, self.now) if wordless else queue.suggestion(question, group, self.now)
            if made is not None:
                found.append((own, made))
        return found

    def near(self, question: QuestionAnswers, group: AnswerGroup) -> int:
        """Count the waiting answers that say nearly the same."""
        return sum(
            len(other.answers)
            for other in question.clusters[group.cluster]
            if other.first.place != group.first.place and waits(other, self.now)
        )

    def open_second(self, question: QuestionAnswers) -> list[Place]:
        """What this person can mark a second time and nobody else looks at."""
        return [place for place in self.twice(question).open if place not in self.held]

    def coming(
        self, question: QuestionAnswers | None, place: Place | None
    ) -> Iterator[tuple[QuestionWalk, AnswerGroup]]:
        """Yield what comes after an answer: the rest of its question, then the first answers of other questions."""
        if question is not None and place is not None:
            yield from ((self.walk(question), group) for group in self.walk(question).coming(place))
        for row in self.rows():
            walk = self.walk(row.question)
            first = next(filter(walk.is_free, row.question.groups), None)
            if row.question is not question and first is not None:
                yield walk, first


class MarkerQueue:
    """The questions for one person, at any moment."""

    def __init__(self, live: LiveResults, by: str) -> None:
        self._live, self._by = live, by
        self._lock = threading.Lock()
        self._known: tuple[dict[Place, ToDecide], dict[QuestionId, QuestionAnswers]] | None = None

    def now(self) -> OpenQuestions:
        """The questions as they are now.

        Raises:
            UsageError: they can't be read.
        """
        now = self._live.snapshot()
        with self._lock:  # sorted once for the answers that there are: deciding changes neither order nor what is equal
            if self._known is None or self._known[0] != now.checks:
                self._known = (now.checks, queue.questions(now))
            questions = self._known[1]
        return OpenQuestions(
            now=now,
            questions=questions,
            by=self._by,
            held=markers.held_by_others(self._live.folder, self._by),
            seconds=markers.seconds(self._live.folder),
        )
