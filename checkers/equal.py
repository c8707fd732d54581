"""The checker for values that are right or wrong: counts, bytes, numbers, texts, shapes, histograms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, TypeGuard

from labgrade.values import Number
from labgrade.verdict import FEW_DIGITS, Verdict, correct, incorrect, partial

from ._wording import of_all, off_by, shown, surely_off, tally

if TYPE_CHECKING:
    from labgrade.values import Scalar, Value

TOO_FEW_DIGITS = Fraction(1, 2)
FEWEST_DIGITS = 2  # a number printed with fewer agrees with almost anything
CUT_NOT_ROUNDED = Fraction(1, 2)
_NOTHING = Fraction(0)


def equal(
    answer: Scalar | Mapping[str, Number], expected: Value, *, digits: Annotated[int, {"minimum": 1}] = 3
) -> Verdict:
    """The expected value, as precisely as the answer was printed.

    Works for counts, bytes, numbers, texts, shapes and histograms. A number that was printed rounded is right where
    the expected value rounds to it; with fewer significant digits than `digits` it gets half the credit, with a single
    one none, and what was cut where it had to be rounded gets half. A histogram gets the share of its names that
    are right; a name with the number 0 is the same as no name. A text may list names with or without spaces, brackets
    and quotes.
    """
    match answer, expected:
        case Number(), Number():
            return _number(answer, expected, digits)
        case tuple(), tuple():
            return _shape(answer, expected)
        case str(), str():
            return _text(answer, expected)
    if isinstance(answer, str) and isinstance(expected, Number | tuple):
        return incorrect(f"got {shown(answer)}, which is no {'number' if isinstance(expected, Number) else 'shape'}")
    if _is_histogram(answer) and _is_histogram(expected):
        return _histogram(answer, expected, digits)
    return incorrect(f"got {shown(answer)}, which cannot be compared with what is expected")


def _number(answer: Number, expected: Number, digits: int) -> Verdict:
    got, wanted = answer.written, expected.written
    off = got - wanted if got != wanted else _NOTHING
    allowed = answer.half_unit + expected.half_unit if answer.half_unit or expected.half_unit else _NOTHING
    facts = {"got": shown(answer), "expected": shown(expected), "off": shown(off), "allowed": shown(allowed)}
    printed = digits if answer.digits is None else answer.digits if got else 0
    if not off or (abs(off) <= allowed and printed >= digits):
        return correct(**facts)
    if printed < digits and not surely_off(
        answer, expected
    ):  # students see neither what such an answer earns nor why, until all is released
        facts[FEW_DIGITS] = f"{printed} of {digits}"
    if abs(off) <= allowed:
        hint = f"print more digits: at least {digits} significant digits are needed"
        if printed < FEWEST_DIGITS:
            reason = f"got {shown(answer)}, which says too little to be judged"
            return replace(incorrect(reason, hint=hint, **facts), agrees=True)  # nor does it show a mistake
        reason = f"got {shown(answer)}, which agrees with the expected value as far as it was printed"
        return partial(TOO_FEW_DIGITS, reason, hint=hint, agrees=True, **facts)
    if printed >= digits and _is_cut(answer, expected):
        reason = f"got {shown(answer)}, which is the expected value with its last digits cut off"
        return partial(
            CUT_NOT_ROUNDED, reason, hint="rounded it would be right: round, don't cut", agrees=False, **facts
        )
    return incorrect(off_by(answer, expected), **facts)


def _is_cut(answer: Number, expected: Number) -> bool:
    """Whether the printed places are those of the expected value, with all later places dropped."""
    got, wanted = answer.written, expected.written
    return got * wanted >= 0 and 0 <= abs(wanted) - abs(got) < 2 * answer.half_unit


def _shape(answer: tuple[int, ...], expected: tuple[int, ...]) -> Verdict:
    facts = {"got": shown(answer), "expected": shown(expected)}
    if answer == expected:
        return correct(**facts)
    if len(answer) != len(expected):
        reason = f"got {shown(answer)}, which has {len(answer)} dimensions where {len(expected)} are expected"
        without_batch = answer in (expected[1:], expected[:-1])
        hint = "the rest agrees: one dimension is left out at an end, such as the batch" if without_batch else ""
        return incorrect(reason, hint=hint, **facts)
    if sorted(answer) == sorted(expected):
        return incorrect(f"got {shown(answer)}, the right sizes in the wrong order", **facts)
    return incorrect(f"got {shown(answer)}, which is not what is expected", **facts)  # each size alone would be tried


def _text(answer: str, expected: str) -> Verdict:
    facts = {"got": shown(answer), "expected": shown(expected)}
    got, wanted = " ".join(answer.split()), " ".join(expected.split())
    if got == wanted:
        return correct(**facts)
    if _names(got) == _names(wanted):
        return correct(**facts)
    if got.casefold() == wanted.casefold():
        return incorrect(f"got {shown(answer)}, which differs in upper and lower case only", **facts)
    return incorrect(f"got {shown(answer)}, which is not what is expected", **facts)


def _names(text: str) -> list[str]:
    """The names that a text lists, whatever joins, quotes or brackets them."""
    pieces = re.split(r"[,;]", text.strip("[](){} "))
    return [name for piece in pieces if (name := piece.strip(" '\"`"))]


def _is_histogram(value: Value) -> TypeGuard[Mapping[str, Number]]:
    return isinstance(value, Mapping) and all(isinstance(number, Number) for number in value.values())


def _histogram(answer: Mapping[str, Number], expected: Mapping[str, Number], digits: int) -> Verdict:
    got = {name: number for name, number in answer.items() if number.value or name in expected}
    wanted = {name: number for name, number in expected.items() if number.value or name in got}
    verdicts = {name: _number(got[name], wanted[name], digits) for name in wanted if name in got}
    missing = [name for name in wanted if name not in got]
    extra = [name for name in got if name not in wanted]
    wrong = [(name, verdict.reason) for name, verdict in verdicts.items() if verdict.credit < 1]
    reason = tally("names", len(wanted), wrong=wrong, missing=missing, extra=extra)
    facts = {"got": _counts(answer), "expected": _counts(expected)}
    if not (wrong or missing or extra):
        return correct(**facts)
    credit = sum((verdict.credit for verdict in verdicts.values()), Fraction(0)) / (len(wanted) + len(extra))
    agrees = not (missing or extra) and all(verdict.agrees for verdict in verdicts.values())
    hint = of_all(verdict.hint for verdict in verdicts.values() if verdict.credit < 1)
    return partial(credit, reason, hint=hint, agrees=agrees, **facts)


def _counts(histogram: Mapping[str, Number]) -> str:
    return ", ".join(f"{name} {shown(number)}" for name, number in histogram.items())
