"""(check, answer, expected) -> Verdict. Pure: what is right, then what is known to be wrong, in the language's order.

Right is tried first, then `also_right`, then the misconceptions, then `partly`: recognising a value says more than a
range it lies in. Where misconceptions fit that say different things, none is claimed, and the least that one of them
earns is earned.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial as partial_of
from typing import TYPE_CHECKING, TypeAlias

from labgrade.answers.reading.numerals.prefixes import as_meant
from labgrade.core.errors import FaultError, NoSuchSlipError
from labgrade.core.task import AnswerValue, LiteralValue, QuantityCall
from labgrade.judging.other_answer import own_contradiction
from labgrade.judging.texts.row_names import left_in_order, named_in_order, with_types_named
from labgrade.spec.in_full.slips import BESIDES
from labgrade.truth.measure import UnfitError
from labgrade.values import Number, Row, Table
from labgrade.verdict import Outcome, Suggestion, Verdict, correct, partial, without_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labgrade.core.task import Alternative, Check, Plain, RangeCredit, Source
    from labgrade.values import Value

Judging: TypeAlias = "Callable[[Value, Value | None], Verdict]"
Expect: TypeAlias = "Callable[[Source], Value]"

_ONE_COMMA = re.compile(r"-?\d{1,3},\d{3}(?![\d,.])")
_ONE_POINT = re.compile(r"-?\d{1,3}\.\d{3}")
_BOTH_MARKS = re.compile(r"(\d{1,3}(?:[.,]\d{3}){2,10})(?: ?(?:[bB]ytes?|B))?")  # 4,392.864
_FLOAT_NOISE = Fraction(1, 10**6)  # between two ways of computing the same in floating point
_MOST_ALIKE = 3
_MILLIONS = "in millions of bytes"
_QUICK = "refuted"  # what a checker has that knows some wrong answers sooner than it can say what is wrong with them
_CLAIMABLE_DIGITS = 3  # a number printed with fewer agrees with too much to say which mistake it came from


def judge(check: Check, answer: Value, judging: Judging, expect: Expect, *, computed: bool = False) -> Verdict:
    """Judge one answer. `judging` is the checker with its parameters, `expect` computes a source's value.

    `computed`: the answer is what the student's code made of labgrade's own subject. What a spec's author wrote down of
    other files (another export, a paper) then is neither right nor a known mistake, unless all that is right is
    written down.

    What `judging` and `expect` raise is not caught: it is a fault of labgrade's, and the caller's to name.
    """
    expected = expect(check.expected) if check.expected is not None else None
    answer = as_meant(answer if computed else with_types_named(answer, expected), expected)
    elsewhere = computed and not isinstance(check.expected, LiteralValue)
    verdict = judging(answer, expected)
    if verdict.outcome is Outcome.CORRECT:
        return verdict
    verdict = _with_own(verdict, check.expected, expected, answer)
    conventions = _applicable(check.also_right, elsewhere=elsewhere)
    verdict, right = _by_convention(verdict, conventions, lambda source: judging(answer, expect(source)))
    if right or verdict.agrees:
        return verdict
    if other := _read_otherwise(check, answer, judging, expect):
        how, kind, meant, hint = other
        waits = without_value(Outcome.MANUAL, f"{verdict.reason}; {how}, as {meant}, it would be right", hint=hint)
        said = Suggestion(outcome=Outcome.CORRECT, credit=Fraction(1), why=f"{meant} is right", kind=kind)
        # A unit of French and a number of German: who wrote it knows, and a person may.
        return replace(waits, facts=verdict.facts, suggestion=said if kind != _MILLIONS else None)
    known = _applicable(check.misconceptions, elsewhere=elsewhere)
    fitting = [by_share(each, answer, expected) for each in known if _is_made(each, answer, expected, judging, expect)]
    fitting = _without_supersets(fitting)
    if fitting and len({each.says for each in fitting}) == 1:
        return apply_known_value(min(fitting, key=lambda each: each.credit), verdict, right=False)
    if fitting:
        verdict = _one_of(fitting, answer, replace(verdict, fits=tuple(known.says for known in fitting)))
        verdict = verdict if computed or verdict.hint else replace(verdict, hint=joined_explanations(verdict.fits))
    for bounds in check.partly:
        if isinstance(answer, Number) and _within(answer.written, bounds):
            return replace(partial(bounds.credit, bounds.says), facts=verdict.facts, fits=verdict.fits)
    named = None if computed else named_in_order(answer, expected)
    return verdict if named is None else left_in_order(verdict, judge(check, named, judging, expect))


def _by_convention(
    verdict: Verdict, conventions: Sequence[Alternative], judged: Callable[[Source], Verdict]
) -> tuple[Verdict, bool]:
    """Judge by the convention under which the answer earns most; say whether it is right under one."""
    best = verdict
    for convention in conventions:
        found = judged(convention.source)
        if found.outcome is Outcome.CORRECT:
            return apply_known_value(convention, replace(verdict, rows=found.rows), right=True), True
        if found.outcome is Outcome.PARTIAL and found.credit * convention.credit > best.credit:
            said = f"judged by another convention that is right: {convention.says}"
            best = replace(found, credit=found.credit * convention.credit, notes=(*found.notes, said))
    return (best if verdict.outcome is not Outcome.MANUAL else verdict), False


def _with_own(verdict: Verdict, source: Source | None, expected: Value | None, answer: Value) -> Verdict:
    """Add what the student's own other answer says, if that is the expected value."""
    if not isinstance(source, AnswerValue) or not isinstance(expected, Number | str) or verdict.hint:
        return verdict
    return replace(verdict, hint=own_contradiction(source, expected, answer))


def _read_otherwise(check: Check, answer: Value, judging: Judging, expect: Expect) -> tuple[str, str, str, str] | None:
    """Find a reading under which a number is right: its kind, the number, and what to write; else None.

    `1,498 GMac` reads as 1498 GMac, and may be 1.498 GMac; `26,50 Mio` reads as French for MiB, and may be millions;
    `4,392.864` reads as a decimal point, and may be a separator; so does `1.045`.
    """
    if not isinstance(answer, Number):
        return None
    kind, hint, text, factor = "decimal comma", "write decimals with a point", "", Fraction(1, 1000)
    how = f"with a {kind}"
    if answer.text.endswith("Mio"):
        how = kind = _MILLIONS
        hint = "write MB or MiB"
        point = "." if _ONE_COMMA.match(answer.text) else ","
        text, factor = answer.text.replace("Mio", "MB").replace(",", point), Fraction(10**6, 2**20)
    elif marks := _BOTH_MARKS.fullmatch(answer.text):
        how, kind, hint = "with both marks between groups of three", "separators", "write no separators"
        text = f"{int(re.sub('[.,]', '', marks[1])):,}"
        factor = Fraction(text.replace(",", "")) / (answer.value or 1)
    elif _ONE_POINT.fullmatch(answer.text) and answer.digits is not None:
        how, kind, hint = "with a point between groups of three", "separators", "write no separators"
        text, factor = answer.text.replace(".", ","), Fraction(1000)
    elif _ONE_COMMA.match(answer.text):
        text = answer.text.replace(",", ".", 1)
    meant = replace(answer, value=answer.value * factor, half_unit=answer.half_unit * factor, text=text)
    sources = [check.expected, *(other.source for other in check.also_right)]
    right = text and any(
        judging(meant, None if each is None else expect(each)).outcome is Outcome.CORRECT for each in sources
    )
    return (how, kind, f"'{text}'", hint) if right else None


def _applicable(known: Sequence[Alternative], *, elsewhere: bool) -> list[Alternative]:
    """Return the alternatives that apply; literal values do not if another file was analysed."""
    return [each for each in known if not (elsewhere and isinstance(each.source, LiteralValue))]


def _is_made(known: Alternative, answer: Value, expected: Value | None, judging: Judging, expect: Expect) -> bool:
    """Return whether an answer is a known mistake. A library's slip that fails on the subject does not count."""
    try:
        return follows(answer, known.source, expected, judging, expect)
    except FaultError:
        if known.known:
            return False
        raise


def follows(
    answer: Value,
    source: Source,
    expected: Value | None,
    judging: Judging,
    expect: Expect,
    *,
    where_absent: bool = False,
) -> bool:
    """Return whether an answer is a slip's value and the slip explains all that is wrong with it.

    A slip that can't be made on the subject explains nothing there (`where_absent`).
    """
    try:
        known = _named_as(expect(source), expected)
    except (NoSuchSlipError, UnfitError):
        return where_absent
    if isinstance(source, QuantityCall) and _leaves_nothing(known):
        return False
    chosen = isinstance(source, AnswerValue)
    return _fits(answer, known, judging, chosen=chosen) and explains_all(answer, known, expected, judging)


def _leaves_nothing(known: Value) -> bool:
    """Return whether a slip comes to 0 on this subject, or to a table of zeros: other mistakes give the same."""
    cells = [cell for row in known.rows for cell in row.cells.values()] if isinstance(known, Table) else [known]
    numbers = [cell.value for cell in cells if isinstance(cell, Number)]
    return bool(numbers) and len(numbers) == len(cells) and not any(numbers)


def _without_supersets(fitting: list[Alternative]) -> list[Alternative]:
    """Drop explanations that are another fitting one with something added."""
    said = {f"{each.says} {BESIDES}" for each in fitting}
    return [each for each in fitting if not any(each.says.startswith(other) for other in said)]


def by_share(known: Alternative, answer: Value, expected: Value | None) -> Alternative:
    """Scale the credit of a recognised value that counts by how much of the work is right."""
    if not known.by_share:
        return known
    return replace(known, credit=known.credit * share_of(answer, expected))


def share_of(answer: Value, expected: Value | None) -> Fraction:
    """Return how much of the work a number has, in tenths; twice too much counts as half."""
    if not isinstance(answer, Number) or not isinstance(expected, Number) or answer.value * expected.value <= 0:
        return Fraction(0)
    less, more = sorted((answer.value, expected.value))
    return Fraction(math.floor(10 * less / more + Fraction(1, 2)), 10)


def _named_as(known: Value, expected: Value | None) -> Value:
    """Give a slip's rows the other names that the expected rows may have."""
    if not isinstance(known, Table) or not isinstance(expected, Table):
        return known
    names = {row.name: row.also_named for row in expected.rows if row.also_named}
    if not names:
        return known
    return Table(rows=tuple(replace(row, also_named=(*row.also_named, *names.get(row.name, ()))) for row in known.rows))


def explains_all(answer: Value, known: Value, expected: Value | None, judging: Judging) -> bool:
    """Return whether the cells that a slip does not explain are right or left open."""
    if not isinstance(known, Table) or not isinstance(expected, Table):
        return True
    right = {row.name: row for row in expected.rows}
    rows = tuple(_with_cells_of(row, right[row.name]) if row.name in right else row for row in known.rows)
    if rows == known.rows:
        return True
    found = judging(answer, Table(rows=rows))
    return found.credit == 1 or not any(cell.got_text and not cell.right for cell in found.rows)


def _with_cells_of(row: Row, right: Row) -> Row:
    """Fill a row's missing cells with the right ones."""
    silent = [column for column, cell in right.cells.items() if cell is not None and row.cells.get(column) is None]
    cells = {**row.cells, **{column: right.cells[column] for column in silent}}
    also_right = {**row.also_right, **{column: right.also_right.get(column, ()) for column in silent}}
    return replace(row, cells=cells, also_right=also_right) if silent else row


def _fits(answer: Value, known: Value, judging: Judging, *, chosen: bool) -> bool:
    """Return whether an answer is a known wrong value, printed precisely enough in every cell.

    A checker's tolerance is for right values: within a wide one lies what nobody would call the known mistake.
    `chosen`: of values that the student handed in, so that few digits are enough where it is this very one.
    """
    if isinstance(answer, Number) and isinstance(known, Number):
        off, allowed = abs(answer.value - known.value), answer.half_unit + known.half_unit
        precise = answer.digits is None or answer.digits >= _CLAIMABLE_DIGITS or (chosen and not off)
        whole = answer.value.denominator == known.value.denominator == 1
        return precise and off <= allowed + (0 if whole else _FLOAT_NOISE * abs(known.value))
    return judging(answer, known).outcome is Outcome.CORRECT


_OF_ANOTHER = frozenset({"expected", "off", "allowed"})  # facts of the value that was meant otherwise


def apply_known_value(known: Alternative, verdict: Verdict, *, right: bool) -> Verdict:
    """Apply a recognised value to the verdict. A misconception never earns less than the bare verdict."""
    if right and known.credit == 1:
        facts = {name: said for name, said in verdict.facts.items() if name not in _OF_ANOTHER}
        return replace(correct(f"right: {known.says}", **facts), rows=verdict.rows)
    made = partial(max(known.credit, verdict.credit), verdict.reason)
    notes = verdict.notes
    if verdict.rows and verdict.credit < known.credit / 2:  # few rows are right, and yet most points are earned
        notes = (*notes, f"this mistake earns {float(100 * known.credit):g} %, however many rows it spoils")
    return replace(verdict, outcome=made.outcome, credit=made.credit, agrees=made.agrees, hint=known.says, notes=notes)


def with_measured(verdict: Verdict, call: QuantityCall, what: str) -> Verdict:
    """Note on a wrong number, text or shape which property of the file it is."""
    if verdict.outcome is Outcome.CORRECT:
        return verdict
    plain = {key: value for key, value in call.parameters.items() if isinstance(value, str | int | float)}
    chosen = "".join(f", {key} {value}" for key, value in plain.items())
    return replace(verdict, notes=(*verdict.notes, f"measured of the file{chosen}: {what}"))


def joined_explanations(says: Sequence[str]) -> str:
    """Join the explanations of mistakes that give the same value; "" if there are too many to read."""
    different = list(dict.fromkeys(says))
    if len(different) > _MOST_ALIKE:
        return ""
    numbered = (f"({at}) {each}" for at, each in enumerate(different, 1))
    return f"One of these, which give the same here: {' '.join(numbered)}" if len(different) > 1 else "".join(different)


def _one_of(fitting: Sequence[Alternative], answer: Value, verdict: Verdict) -> Verdict:
    """Judge an answer that several mistakes fit: the least credit of them; with few digits, all their hints."""
    made = partial(max(verdict.credit, min(each.credit for each in fitting)), verdict.reason)
    if not isinstance(answer, Number) or answer.digits is None or len(fitting) > _MOST_ALIKE:
        return replace(verdict, outcome=made.outcome, credit=made.credit, agrees=made.agrees)
    either = " Or: ".join(dict.fromkeys(each.says for each in fitting))
    hint = f"Print all digits: so few of them don't tell which of these it is. {either}"
    return replace(verdict, outcome=made.outcome, credit=made.credit, agrees=made.agrees, hint=hint)


def _within(value: Fraction, bounds: RangeCredit) -> bool:
    return (
        (bounds.above is None or value > bounds.above)
        and (bounds.below is None or value < bounds.below)
        and (bounds.at_least is None or value >= bounds.at_least)
        and (bounds.at_most is None or value <= bounds.at_most)
    )


def with_parameters(
    checker: Callable[..., Verdict], accepted: Mapping[str, object], parameters: Mapping[str, Plain], kind: object
) -> Judging:
    """Bind the spec's parameters to a checker; a count needs four digits."""
    wanted = {"digits": 4} if "digits" in accepted and kind == "count" else {}
    chosen = {**wanted, **parameters}

    def judging(answer: Value, expected: Value | None) -> Verdict:
        return checker(answer, expected, **chosen)

    if (quick := getattr(checker, _QUICK, None)) is not None:
        vars(judging)[_QUICK] = partial_of(quick, **chosen)
    return judging


def refuted(judging: Judging, answer: Value, expected: Value | None) -> bool:
    """Return whether a checker's quick test refutes an answer; it need not find every wrong one."""
    quick = getattr(judging, _QUICK, None)
    return quick is not None and bool(quick(answer, expected))


def of_tables(judging: Judging) -> Judging:
    """Return the same, for what was measured: names with numbers are rows of one column."""

    def as_tables(answer: Value, expected: Value | None) -> Verdict:
        return judging(_as_table(answer), _as_table(expected) if expected is not None else None)

    return as_tables


def _as_table(value: Value) -> Value:
    if not isinstance(value, Mapping):
        return value
    return Table(
        rows=tuple(Row(name=name, cells={"count": each}) for name, each in value.items() if isinstance(each, Number))
    )
