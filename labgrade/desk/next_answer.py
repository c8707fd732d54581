"""Where to go from an answer: the next one without another marker, the one before, one to be marked a second time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from labgrade.desk.queue import QuestionId
from labgrade.review.markers import sampled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labgrade.desk.queue import AnswerGroup, QuestionAnswers
    from labgrade.desk.snapshot import Snapshot
    from labgrade.review.decisions import Place, Ruling
    from labgrade.review.markers import SecondMark

TOP = "/"


class NotHereError(Exception):
    """There is no such page; the message is the address of the one to go to."""


def question_of(query: Mapping[str, str]) -> QuestionId:
    """The question that a link or a form is about."""
    return QuestionId(query.get("lab", ""), query.get("task", ""), query.get("check", ""))


def link(path: str, question: QuestionId, **more: str) -> str:
    """The address of a page about a question."""
    query = {"lab": question.lab, "task": question.task, "check": question.check, **more}
    return f"{path}?{urlencode(query)}"


def waits(group: AnswerGroup, now: Snapshot) -> bool:
    """Whether any of these answers waits for a mark."""
    return any(each.place in now.waiting for each in group.answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The ways through a question for one person, at one moment; `held` is what others look at."""

    question: QuestionAnswers
    now: Snapshot
    by: str
    held: frozenset[Place]

    def first(self) -> str:
        """The first answer that waits; the top where there is none."""
        group = next(filter(self._is_free, self.question.groups), None)
        return self.to(group) if group is not None else TOP

    def after(self, place: Place) -> str:
        """The next answer that waits: near ones first, then in order, round to the first; "" where there is none."""
        groups = self.question.groups
        at = self._position(place)
        later = [group for group in (*groups[at + 1 :], *groups[: max(at, 0)]) if self._is_free(group)]
        if not later:
            return ""
        near = [group for group in later if at >= 0 and group.cluster == groups[at].cluster]
        return self.to((near or later)[0])

    def before(self, place: Place) -> str:
        """The answer that this person marked last before this one, or else the answer that stands before it."""
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
        """The page of answers: of an answer that waits, if any does."""
        each = next((each for each in group.answers if each.place in self.now.waiting), group.first)
        return self.to_place(each.place)

    def to_place(self, place: Place, **more: str) -> str:
        """The page of an answer."""
        return link("/answer", self.question.id, who=self.now.names.of(place.submission), **more)

    def _position(self, place: Place) -> int:
        groups = enumerate(self.question.groups)
        return next((n for n, group in groups if any(each.place == place for each in group.answers)), -1)

    def _is_free(self, group: AnswerGroup) -> bool:
        return waits(group, self.now) and not any(each.place in self.held for each in group.answers)


# ---- the tenth that another person marks once more --------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondMarking:
    """How far a question's sample is. `open`: what this person can mark a second time; `differ`: with both marks."""

    open: tuple[Place, ...]
    done: int
    differ: tuple[tuple[Ruling, SecondMark], ...]

    @property
    def rate(self) -> float:
        """The share of those marked twice in which the two gave other points."""
        return len(self.differ) / self.done if self.done else 0.0


def second_marking(question: QuestionAnswers, now: Snapshot, marks: Sequence[SecondMark], by: str) -> SecondMarking:
    """The state of a question's sample. A decision that was taken back, or decided anew, counts no more."""
    rulings = {
        ruling.number: ruling
        for group in question.groups
        for each in group.answers
        if (ruling := now.in_force(each.place)) is not None and ruling.kind == "mark"
    }
    counted = [each for each in marks if each.decision in rulings]
    twice = {each.decision for each in counted}
    return SecondMarking(
        open=tuple(
            ruling.place
            for number, ruling in rulings.items()
            if sampled(ruling.place) and ruling.by != by and number not in twice
        ),
        done=len(twice),
        differ=tuple(
            (rulings[each.decision], each) for each in counted if rulings[each.decision].credit != each.credit
        ),
    )
