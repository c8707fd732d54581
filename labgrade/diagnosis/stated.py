"""What a wrong number or table follows that no function is behind: one simple slip of the quantity's library.

It is said only where no other one gives the same, and a number has too many digits to be it by chance. Of a table that
no slip makes, what its wrong rows have in common is said, and no other row has: that is no guess.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from labgrade.core.errors import FaultError
from labgrade.diagnosis.bases import bases_of, slipped
from labgrade.diagnosis.explain import by_chance, unexplained, with_explanation
from labgrade.diagnosis.fitting import fits
from labgrade.diagnosis.probe import Trial
from labgrade.diagnosis.whole_rows import exchanged
from labgrade.judging.judge import joined_explanations
from labgrade.values import Number, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from labgrade.core.task import AnswerType, SubjectSpec
    from labgrade.diagnosis.bases import Base
    from labgrade.diagnosis.diagnose import Diagnoser
    from labgrade.judging.items import Item
    from labgrade.judging.judge import Expect, Judging
    from labgrade.spec.registry import Registry
    from labgrade.truth.oracle import Oracle
    from labgrade.values import Value
    from labgrade.verdict import ComparedRow, Verdict

    Unseen: TypeAlias = Callable[[Base, Sequence[str]], Sequence[str]]

_FEWEST_DIGITS = 4
_FEWEST_ROWS = 2
_MOST_PAIRS = 2  # that give the same, of which the student reads each
_MOST_WORDS, _MOST_TYPES = 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What an answer of one type is judged with, and where quantities come from."""

    kind: AnswerType
    judging: Judging
    expect: Expect
    oracle: Oracle


def by_itself(
    verdict: Verdict,
    value: Value,
    item: Item,
    means: Callable[[], Means],
    quantities: Registry,
    diagnoser: Diagnoser | None,
) -> Verdict:
    """Return the verdict with what a value is by itself, unless a function's calls showed something else.

    `diagnoser`: of the function that computed the value; None if the value was handed in.
    """
    if not unexplained(verdict) or item.check.measured:
        return verdict
    if isinstance(value, Table) and (said := _of_columns(value, item, means())):
        return replace(verdict, facts={**verdict.facts, "explained": said}, hint=said)
    refuted = diagnoser is not None and diagnoser.refutes(item)
    if refuted and isinstance(value, Number):
        return verdict
    made, bases = means(), bases_of(item.check, quantities)
    if diagnoser is not None and isinstance(value, Number) and diagnoser.called_nowhere(item):
        return with_explanation(verdict, value, item, made.oracle, quantities)
    if refuted or (diagnoser is not None and diagnoser.right_elsewhere(item)):
        unseen = partial(diagnoser.unseen, item) if diagnoser is not None and not refuted else _none
        verdict = with_slip(verdict, value, item, made, bases, unseen=unseen)
        return verdict if refuted else with_explanation(verdict, value, item, made.oracle, quantities)
    return with_cause(verdict, value, item, made, bases, quantities)


def _of_columns(value: Table, item: Item, means: Means) -> str:
    try:
        expected = means.expect(item.check.expected) if item.check.expected is not None else None
    except FaultError:
        return ""
    return exchanged(value, expected) if isinstance(expected, Table) else ""


def with_cause(
    verdict: Verdict, value: Value, item: Item, means: Means, bases: Sequence[Base], quantities: Registry
) -> Verdict:
    """Return the verdict with the cause of a value: a slip, a layer more or less, two likely slips, a factor besides.

    They are tried in this order, the likelier first.
    """
    verdict = with_slip(verdict, value, item, means, bases)
    if unexplained(verdict):
        verdict = with_explanation(verdict, value, item, means.oracle, quantities, scaled=False)
    if unexplained(verdict):
        verdict = _with_pair(verdict, value, item, means, bases)
    return with_explanation(verdict, value, item, means.oracle, quantities) if unexplained(verdict) else verdict


def _none(_base: Base, _names: Sequence[str]) -> list[str]:
    return []


def with_slip(
    verdict: Verdict, value: Value, item: Item, means: Means, bases: Iterable[Base], *, unseen: Unseen | None = None
) -> Verdict:
    """Return the verdict with the sentence of the slip that gives its value, or with those of a few that do.

    `unseen`: for a function that was called elsewhere, the slips that are still possible. The credit stays.
    """
    subject = item.subject
    if subject is None or subject.handed_in or not isinstance(value, Number | Table):
        return verdict
    made = list(_answers(bases, subject, means.oracle))
    answers = [answer for _, answer in made]
    expected = means.expect(item.check.expected) if item.check.expected is not None else None
    trial = Trial(verdict=verdict, value=value, judging=means.judging, expect=means.expect, expected=expected)
    if unseen is None:
        said = _said(trial, answers, means.kind)
    else:
        left = [_left(answer, partial(unseen, base), trial, means.kind) for base, answer in made]
        said = _said(trial, left, means.kind, others=_different(answers))
    hint = joined_explanations(said) or in_common(
        verdict.rows, answers[0].get("kinds", {}) if answers and not said else {}
    )
    if not hint:
        return replace(verdict, fits=tuple(said)) if said else verdict
    return replace(verdict, hint=hint)


def _with_pair(verdict: Verdict, value: Value, item: Item, means: Means, bases: Iterable[Base]) -> Verdict:
    """Return the verdict with the sentences of two likely slips that give its value together."""
    subject = item.subject
    if subject is None or subject.handed_in or not isinstance(value, Number | Table):
        return verdict
    expected = means.expect(item.check.expected) if item.check.expected is not None else None
    trial = Trial(verdict=verdict, value=value, judging=means.judging, expect=means.expect, expected=expected)
    answers, others = [], 0
    for base in bases:
        try:
            single = slipped(base, subject, {"most": 1}, means.oracle.value)
            if pairs := single.get("pairs"):
                others += _different([single])
                found = slipped(base, subject, {"among": list(pairs)}, means.oracle.value)
                answers.append({**found, "likely": single.get("likely", ())})
        except FaultError:  # then there is one explanation less
            continue
    said = _said(trial, answers, means.kind, others=others)
    if len(said) > _MOST_PAIRS:  # of which one may be a slip that few make
        likely = [{**each, "values": [pair for pair in each["values"] if _both(pair[0], each)]} for each in answers]
        said = _said(trial, likely, means.kind, others=others) or said
    hint = joined_explanations(said) if len(said) <= _MOST_PAIRS else ""
    if not hint:
        return replace(verdict, fits=tuple(said)) if said else verdict
    return replace(verdict, hint=hint)


def _left(
    answer: Mapping[str, Any], unseen: Callable[[Sequence[str]], Sequence[str]], trial: Trial, kind: AnswerType
) -> dict[str, Any]:
    """Return the slips whose value fits here, and that nothing speaks against elsewhere."""
    fitting = {name: plain for name, plain in answer["values"] if name and plain and fits(kind, trial, plain)}
    return {**answer, "values": [(name, fitting[name]) for name in unseen(list(fitting))] if fitting else []}


def _answers(bases: Iterable[Base], subject: SubjectSpec, oracle: Oracle) -> Iterator[tuple[Base, dict[str, Any]]]:
    for base in bases:
        try:
            yield base, slipped(base, subject, {"most": 1}, oracle.value)
        except FaultError:  # then there is one explanation less
            continue


def _said(trial: Trial, answers: Sequence[Mapping[str, Any]], kind: AnswerType, *, others: int = 0) -> list[str]:
    """Return the sentences of the slips that give a value, each once; for a small number, of likely slips alone.

    `others`: how many slips were tried besides.
    """
    value, likely = trial.value, False
    if isinstance(value, Number):
        likely = by_chance(value, others + _different(answers))
        few = value.digits is not None and value.digits < _FEWEST_DIGITS
        if few or (likely and (others or by_chance(value, sum(len(each.get("likely", ())) for each in answers)))):
            return []
    found: dict[str, None] = {}
    for answer in answers:
        chance = answer.get("by_chance", ()) if isinstance(value, Number) else ()
        for name, plain in answer["values"]:
            wanted = name and plain and name not in chance and not (likely and name not in answer.get("likely", ()))
            if wanted and fits(kind, trial, plain):
                found[_together([answer["says"][each] for each in name.split("+")])] = None
    return list(found)


def _both(pair: str, answer: Mapping[str, Any]) -> bool:
    return all(name in answer["likely"] for name in pair.split("+"))


def _different(answers: Sequence[Mapping[str, Any]]) -> int:
    """Return how many different values slips have; most of them change nothing, or the same as others."""
    return sum(len({plain for _, plain in each["values"] if isinstance(plain, int | float)}) for each in answers)


def _together(says: Sequence[str]) -> str:
    return " And at the same time: ".join(says)


def in_common(rows: Sequence[ComparedRow], kinds: Mapping[str, Sequence[str]]) -> str:
    """Return what all wrong rows of a table have in common, and no right one; an empty text if there is nothing."""
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
