"""What tools print: which tool gives a wrong number on this subject, and which part of the number differs.

Beside a quantity stands `<quantity>_tool_slips` where it is known what tools print for it. That a tool gives a number
is so for any student; what the tool does otherwise follows from the subject.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import FaultError
from labgrade.core.task import QuantityCall
from labgrade.values import Number
from labgrade.verdict import Outcome, partial

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from labgrade.core.task import Check
    from labgrade.judging.items import Item
    from labgrade.spec.registry import Registry
    from labgrade.truth.oracle import Oracle
    from labgrade.values import Value
    from labgrade.verdict import Verdict

TOOL_SLIPS = "_tool_slips"
_FEWEST_DIGITS = 3
_WRONG = frozenset({Outcome.INCORRECT, Outcome.PARTIAL})


def of_tool(verdict: Verdict, value: Value, item: Item, oracle: Oracle, quantities: Registry) -> Verdict:
    """The verdict on a number that a tool gives, with the tools and with what they do otherwise as its hint.

    It earns what the spec gives for a tool's number, by its share of the work. Students see amounts only where they see
    the right value, too.
    """
    if verdict.outcome not in _WRONG or verdict.agrees or not isinstance(value, Number):
        return verdict
    call = _asked(item.check, quantities)
    if call is None or item.subject is None or item.subject.handed_in or item.check.measured:
        return verdict
    try:
        found = [each for each in _given(call, item, oracle) if _fits(value, each["value"])]
    except FaultError:  # then there is one explanation less
        return verdict
    return _said(verdict, found[0], item.check) if len(found) == 1 else verdict


def _asked(check: Check, quantities: Registry) -> QuantityCall | None:
    source = check.expected
    if not isinstance(source, QuantityCall):
        return None
    entry = quantities.entries.get(source.quantity + TOOL_SLIPS)
    if entry is None or set(source.parameters) - set(entry.parameters):
        return None
    return replace(source, quantity=entry.name, published=None)


def _given(call: QuantityCall, item: Item, oracle: Oracle) -> Iterator[Mapping[str, Any]]:
    found: Any = oracle.value(call, item.subject) if item.subject is not None else ()
    yield from found if isinstance(found, list) else ()


def _fits(value: Number, given: int) -> bool:
    if not given:
        return not value.value and not value.half_unit
    if (value.digits is not None and value.digits < _FEWEST_DIGITS) or given < 10 ** (_FEWEST_DIGITS - 1):
        return False
    return abs(value.value - given) <= value.half_unit


def _said(verdict: Verdict, given: Mapping[str, Any], check: Check) -> Verdict:
    recognised = verdict.hint or verdict.fits  # by a slip of the spec, with what it earns
    known = [] if recognised else [each.credit for each in check.misconceptions if each.by_share]
    share = Fraction(round(10 * given["share"]), 10)
    made = partial(max(verdict.credit, max(known, default=Fraction(0)) * share), verdict.reason)
    facts = {**verdict.facts, "explained": given["amounts"]}
    hint = "" if check.hidden else given["amounts" if check.reveal else "says"]
    return replace(
        verdict, outcome=made.outcome, credit=made.credit, agrees=made.agrees, fits=(), hint=hint, facts=facts
    )
