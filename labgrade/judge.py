"""(check, answer, expected) -> Verdict. Pure: what is right, then what is known to be wrong, in the language's order.

Right is tried first, then `also_right`, then the misconceptions, then `partly`: recognising a value says more than a
range it lies in. Where two misconceptions fit, neither is claimed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from labgrade.values import Number
from labgrade.verdict import Outcome, Verdict, correct, partial, without_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from labgrade.model import Alternative, Check, Partly, Plain, Source
    from labgrade.values import Value

Judging: TypeAlias = "Callable[[Value, Value | None], Verdict]"
Expect: TypeAlias = "Callable[[Source], Value]"

_ONE_COMMA = re.compile(r"-?\d{1,3},\d{3}(?![\d,.])")
_CLAIMABLE_DIGITS = 3  # a number printed with fewer agrees with too much to say which mistake it came from


def judge(check: Check, answer: Value, judging: Judging, expect: Expect) -> Verdict:
    """Judge one answer. `judging` is the checker with its parameters, `expect` computes a source's value.

    What `judging` and `expect` raise is not caught: it is a fault of ours, and the caller's to name.
    """
    expected = expect(check.expected) if check.expected is not None else None
    verdict = judging(answer, expected)
    if verdict.outcome is Outcome.CORRECT:
        return verdict
    for convention in check.also_right:
        found = judging(answer, expect(convention.source))
        if found.outcome is Outcome.CORRECT:
            return _speak(convention, replace(verdict, rows=found.rows), right=True)
    if verdict.agrees:
        return verdict
    if meant := _with_decimal_comma(check, answer, judging, expect):
        reason = f"{verdict.reason}; with a decimal comma, as {meant}, it would be right"
        return replace(without_value(Outcome.MANUAL, reason, hint="write decimals with a point"), facts=verdict.facts)
    fitting = _misconceptions(check, answer, judging, expect)
    if len(fitting) == 1:
        return _speak(fitting[0], verdict, right=False)
    if fitting:
        said = " / ".join(known.says for known in fitting)
        verdict = replace(verdict, facts={**verdict.facts, "fits several misconceptions": said})
    for bounds in check.partly:
        if isinstance(answer, Number) and _within(answer.value, bounds):
            return replace(partial(bounds.credit, bounds.says), facts=verdict.facts)
    return verdict


def _with_decimal_comma(check: Check, answer: Value, judging: Judging, expect: Expect) -> str:
    """`1,498 GMac` reads as 1498 GMac; the number in other words, where 1.498 GMac would be right, else nothing."""
    if not isinstance(answer, Number) or not _ONE_COMMA.match(answer.text):
        return ""
    text = answer.text.replace(",", ".", 1)
    meant = replace(answer, value=answer.value / 1000, half_unit=answer.half_unit / 1000, text=text)
    sources = [check.expected, *(other.source for other in check.also_right)]
    right = any(judging(meant, expect(each)).outcome is Outcome.CORRECT for each in sources if each is not None)
    return f"'{text}'" if right else ""


def _misconceptions(check: Check, answer: Value, judging: Judging, expect: Expect) -> list[Alternative]:
    """Those whose value this is, as far as it was printed."""
    return [known for known in check.misconceptions if _fits(answer, judging(answer, expect(known.source)))]


def _fits(answer: Value, verdict: Verdict) -> bool:
    """Whether an answer is a known one, told precisely enough. The cells of a table must all be."""
    if isinstance(answer, Number):
        return verdict.agrees and (answer.digits is None or answer.digits >= _CLAIMABLE_DIGITS)
    return verdict.outcome is Outcome.CORRECT


def _speak(known: Alternative, verdict: Verdict, *, right: bool) -> Verdict:
    """The verdict of a recognised value. A misconception never earns less than the bare verdict did."""
    if right and known.credit == 1:
        return replace(correct(f"right: {known.says}", **verdict.facts), rows=verdict.rows)
    credit = max(known.credit, verdict.credit)
    return replace(partial(credit, verdict.reason, hint=known.says), facts=verdict.facts, rows=verdict.rows)


def _within(value: Fraction, bounds: Partly) -> bool:
    return (
        (bounds.above is None or value > bounds.above)
        and (bounds.below is None or value < bounds.below)
        and (bounds.at_least is None or value >= bounds.at_least)
        and (bounds.at_most is None or value <= bounds.at_most)
    )


def with_parameters(
    checker: Callable[..., Verdict], accepted: Mapping[str, object], parameters: Mapping[str, Plain], kind: object
) -> Judging:
    """The checker as the engine calls it: with the spec's parameters, and four digits wanted of a count."""
    wanted = {"digits": 4} if "digits" in accepted and kind == "count" else {}
    chosen = {**wanted, **parameters}

    def judging(answer: Value, expected: Value | None) -> Verdict:
        return checker(answer, expected, **chosen)

    return judging
