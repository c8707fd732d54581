"""The tenth of a question's answers that another person marks once more, and how often the two differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labgrade.review.markers import sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labgrade.desk.queue import QuestionAnswers
    from labgrade.desk.snapshot import Snapshot
    from labgrade.review.decisions import Place, Ruling
    from labgrade.review.markers import SecondMark


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
