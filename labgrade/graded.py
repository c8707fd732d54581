"""How a verdict becomes a line of the report, and who may remember it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from labgrade import by_hand, policy
from labgrade.results import Graded, printable
from labgrade.verdict import Outcome, Verdict, without_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from labgrade.items import Item
    from labgrade.results import Answer, NoAnswer, ToMark


class Book(Protocol):
    """Remembers what came of the checks of one task of one submission."""

    def graded(self, item: Item, grade: Callable[[Item], Graded]) -> Graded:
        """What is remembered of an item, else what `grade` comes to."""

    def enter(self, item: Item, graded: Graded, place: int) -> None:
        """Keep how an item, the `place`th of its task, stands in the report, before the next is begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What judging one item finds out. `basis`: a digest of what was judged; `to_mark`: what a person is shown."""

    verdict: Verdict
    origin: str = ""
    basis: str = ""
    to_mark: ToMark | None = None


def graded_so_far(item: Item, judged: Judged) -> Graded:
    """An item with its verdict; `settled` says what that is worth, and what of it may be seen."""
    return Graded(
        id=item.id,
        points=item.points,
        earned=Fraction(0),
        verdict=_printable(judged.verdict),
        answer_from=printable(judged.origin),
        rows=judged.verdict.rows,
        grids=judged.verdict.grids,
        basis=judged.basis,
        to_mark=judged.to_mark,
    )


def waiting(graded: Graded, first: Verdict) -> Graded:
    """An item that waits for a person's look at another check: `once_met` is the verdict that will count then."""
    return replace(graded, verdict=first, answer_from="", once_met=graded.verdict, rows=(), grids=(), printed="")


def settled(graded: Graded, item: Item) -> Graded:
    """An item with what the spec says of it by now: its name, its points, who may see it."""
    verdict = graded.verdict
    if item.check.bonus and verdict.outcome is Outcome.MISSING:
        verdict = replace(verdict, reason=f"{verdict.reason} (a bonus: it costs nothing)")
    return replace(
        graded,
        id=item.id,
        points=item.points,
        earned=policy.earned(item.points, verdict.credit),
        verdict=verdict,
        hidden=item.check.hidden,
        bonus=item.check.bonus,
        rows=graded.rows if item.check.reveal else (),
        revealed=item.check.reveal,
        needs=item.check.needs,
        to_mark=by_hand.with_rubric(graded.to_mark, item.check),
    )


def fault(reason: str) -> Verdict:
    """A failure of ours, in words for the student; the reason is for staff."""
    return without_value(
        Outcome.FAULT, "labgrade failed here, not you: no points are lost, and a person will look", fault=reason
    )


def with_remarks(verdict: Verdict, answer: Answer | NoAnswer) -> Verdict:
    """The verdict with what is to be said of the answer beside it."""
    facts = {**verdict.facts, "remarks": "; ".join(answer.remarks)} if answer.remarks else verdict.facts
    return replace(verdict, facts=facts, notes=(*verdict.notes, *answer.notes))


def _printable(verdict: Verdict) -> Verdict:
    facts = {name: printable(fact) for name, fact in verdict.facts.items()}
    said = replace(verdict, reason=printable(verdict.reason), hint=printable(verdict.hint), facts=facts)
    return replace(said, rows=(), grids=())  # a report has them beside the verdict, where it may show them
