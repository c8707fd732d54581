"""What a wrong number or table follows that no function is behind: one simple slip of the quantity's library.

It is said only where no other one gives the same, and a number has too many digits to be it by chance. Of a table that
no slip makes, what its wrong rows have in common is said, and no other row has: that is no guess.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import FaultError
from labgrade.diagnosis.bases import slipped
from labgrade.diagnosis.explain import by_chance
from labgrade.diagnosis.fitting import fits
from labgrade.diagnosis.probe import Trial
from labgrade.values import Number, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from labgrade.core.task import AnswerType, SubjectSpec
    from labgrade.diagnosis.bases import Base
    from labgrade.judging.items import Item
    from labgrade.judging.judge import Expect, Judging
    from labgrade.truth.oracle import Oracle
    from labgrade.values import Value
    from labgrade.verdict import ComparedRow, Verdict

_FEWEST_DIGITS = 4
_FEWEST_ROWS = 2
_MOST_WORDS, _MOST_TYPES = 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """With what an answer of one type is judged, and where quantities come from."""

    kind: AnswerType
    judging: Judging
    expect: Expect
    oracle: Oracle


def with_slip(
    verdict: Verdict, value: Value, item: Item, means: Means, bases: Iterable[Base], *, rows_alone: bool = False
) -> Verdict:
    """The verdict with the sentence of the one slip that gives its value; where several do, staff see which.

    With `rows_alone` they are known not to hold elsewhere. Where a check is hidden, staff alone see it. It changes no
    credit.
    """
    subject = item.subject
    if subject is None or subject.handed_in or not isinstance(value, Number | Table):
        return verdict
    answers = list(_answers(bases, subject, means.oracle))
    trial = Trial(verdict=verdict, value=value, judging=means.judging, expect=means.expect)
    expected = means.expect(item.check.expected) if item.check.expected is not None else None
    said = [] if rows_alone else _said(replace(trial, expected=expected), answers, means.kind)
    if len(said) > 1:
        return replace(verdict, fits=tuple(said))
    hint = said[0] if said else in_common(verdict.rows, answers[0].get("kinds", {}) if answers else {})
    if not hint:
        return verdict
    if item.check.hidden:
        return replace(verdict, facts={**verdict.facts, "explained": hint})
    return replace(verdict, hint=hint)


def _answers(bases: Iterable[Base], subject: SubjectSpec, oracle: Oracle) -> Iterator[dict[str, Any]]:
    for base in bases:
        try:
            yield slipped(base, subject, {"most": 1}, oracle.value)
        except FaultError:  # then there is one explanation less
            continue


def _said(trial: Trial, answers: Sequence[Mapping[str, Any]], kind: AnswerType) -> list[str]:
    """The sentences of the slips that give a value, each once."""
    value = trial.value
    if isinstance(value, Number):
        few = value.digits is not None and value.digits < _FEWEST_DIGITS
        if few or by_chance(value, sum(len(each["values"]) for each in answers)):
            return []
    found: dict[str, None] = {}
    for answer in answers:
        for name, plain in answer["values"]:
            if name and fits(kind, trial, plain):
                found[answer["says"][name]] = None
    return list(found)


def in_common(rows: Sequence[ComparedRow], kinds: Mapping[str, Sequence[str]]) -> str:
    """What all wrong rows of a table have in common, and no right one has; nothing where there is no such thing."""
    wrong = {row.name for row in rows if not row.right}
    right = {row.name for row in rows} - wrong
    if len(wrong) < _FEWEST_ROWS or not right or not wrong <= set(kinds):
        return ""
    words = dict.fromkeys(word for name in sorted(wrong) for word in kinds[name])
    wrong_alone = [word for word in words if not any(word in kinds.get(name, ()) for name in right)]
    common = [word for word in wrong_alone if all(word in kinds[name] for name in wrong)]
    # Types stand first; where each wrong row is of one that no right row is of, all of these are what they have.
    types = list(dict.fromkeys(next(iter(kinds[name]), "") for name in sorted(wrong)))
    remedy = "look at what your code does with these"
    if common:
        what = common[0] + (f" (here the same as {common[1]})" if len(common) == _MOST_WORDS else "")
    elif set(types) <= set(wrong_alone) and len(types) <= _MOST_TYPES:
        what = f"{', '.join(types[:-1])} and {types[-1]}"
        remedy += ", and whether you choose by a list of types, which is never complete"
    else:
        return ""
    missing = all(row.got is None and not row.got_text for row in rows if not row.right)
    return f"All rows are right but those of {what}, which {'are missing' if missing else 'are wrong'}: {remedy}."
