"""What judging one item finds out, and how its verdict is worded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labgrade.results import printable
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from labgrade.items import Item
    from labgrade.results import Answer, NoAnswer, ToMark
    from labgrade.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The fields of a `Graded` that judging finds out."""

    verdict: Verdict
    origin: str = ""
    basis: str = ""
    once_met: Verdict | None = None
    to_mark: ToMark | None = None


def fault(reason: str) -> Verdict:
    """A failure of ours; `reason` is for staff."""
    return without_value(
        Outcome.FAULT, "labgrade failed here, not you: no points are lost, and a person will look", fault=reason
    )


def with_remarks(verdict: Verdict, answer: Answer | NoAnswer) -> Verdict:
    """The verdict with what else is to be said of the answer: remarks for staff, notes for the student."""
    facts = {**verdict.facts, "remarks": "; ".join(answer.remarks)} if answer.remarks else verdict.facts
    return replace(verdict, facts=facts, notes=(*verdict.notes, *answer.notes))


def worded(item: Item, verdict: Verdict) -> Verdict:
    """The verdict as it may be printed."""
    if item.check.bonus and verdict.outcome is Outcome.MISSING:
        verdict = replace(verdict, reason=f"{verdict.reason} (a bonus: it costs nothing)")
    facts = {name: printable(fact) for name, fact in verdict.facts.items()}
    return replace(verdict, reason=printable(verdict.reason), hint=printable(verdict.hint), facts=facts)
