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
from labgrade.values import Number, Table
from labgrade.verdict import FEW_DIGITS, OF_TOOL, Outcome, partial

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from labgrade.core.task import Check
    from labgrade.judging.items import Item
    from labgrade.judging.texts.choice import Choice
    from labgrade.spec.registry import Registry
    from labgrade.truth.oracle import Oracle
    from labgrade.values import Row, Value
    from labgrade.verdict import Verdict

TOOL_SLIPS = "_tool_slips"
_FEWEST_DIGITS = 3
_FEWEST_ROWS = 2  # that are wrong, so that no single one is taken for a tool's
_WRONG = frozenset({Outcome.INCORRECT, Outcome.PARTIAL})


def of_tool(verdict: Verdict, value: Value, item: Item, oracle: Oracle, quantities: Registry) -> Verdict:
    """Return the verdict on a number that a tool gives; its hint has the tools and what they do otherwise.

    It earns what the spec gives for a tool's number, by its share of the work. Students see amounts only where they see
    the right value, too.
    """
    if verdict.outcome not in _WRONG or verdict.agrees or not isinstance(value, Number | Table):
        return verdict
    call = _quantity_asked(item.check, quantities)
    if call is None or item.subject is None or item.subject.handed_in or item.check.measured:
        return verdict
    try:
        given = list(_tool_values(call, item, oracle))
        if isinstance(value, Table):
            return _with_table(verdict, value, given)
        found = [each for each in given if _fits(value, each["value"])]
        # Of few digits the number may be another tool's, too: the one that a misconception names is meant.
        found = [each for each in found if any(tool in verdict.hint for tool in each["tools"])] or found
    except FaultError:  # then there is one explanation less
        return verdict
    return _with_tool_hint(verdict, found[0], item.check) if len(found) == 1 else verdict


def of_choice(chosen: Choice, item: Item, oracle: Oracle, quantities: Registry) -> Choice:
    """Return the choice of a number in a text, with the tool that gives it, if one does."""
    if chosen.number is None:
        return chosen
    return replace(chosen, verdict=of_tool(chosen.verdict, chosen.number, item, oracle, quantities))


def _with_table(verdict: Verdict, value: Table, given: list[Mapping[str, Any]]) -> Verdict:
    """Return the verdict on a table whose rows are all a tool's; its hint has the tools and what they do otherwise."""
    if verdict.hint:
        return verdict
    right = {row.name for row in verdict.rows if row.right}
    for each in given:
        known = {name: row["value"] for row in each["rows"] for name in row["names"]}
        cells = [(row.name, _only(row)) for row in value.rows]
        if all(name in known and cell is not None and _equal_values(cell, known[name]) for name, cell in cells):
            wrong = {row.name for row in verdict.rows if not row.right and row.got is not None} - right
            others = wrong - {row.name for row in verdict.rows if row.expected is not None}
            says = each["all" if others else "layers"]
            return replace(verdict, hint=says, fits=()) if len(wrong) >= _FEWEST_ROWS and says else verdict
    return verdict


def _only(row: Row) -> Number | None:
    """Return the only number of a row."""
    numbers = [cell for cell in row.cells.values() if isinstance(cell, Number)]
    return numbers[0] if len(numbers) == 1 else None


def _equal_values(cell: Number, given: int) -> bool:
    return abs(cell.value - given) <= cell.half_unit


def _quantity_asked(check: Check, quantities: Registry) -> QuantityCall | None:
    source = check.expected
    if not isinstance(source, QuantityCall):
        return None
    entry = quantities.entries.get(source.quantity + TOOL_SLIPS)
    if entry is None or set(source.parameters) - set(entry.parameters):
        return None
    return replace(source, quantity=entry.name, published=None)


def _tool_values(call: QuantityCall, item: Item, oracle: Oracle) -> Iterator[Mapping[str, Any]]:
    found: Any = oracle.value(call, item.subject) if item.subject is not None else ()
    yield from found if isinstance(found, list) else ()


def _fits(value: Number, given: float) -> bool:
    if not given:
        return not value.value and not value.half_unit
    if (value.digits is not None and value.digits < _FEWEST_DIGITS) or given < 10 ** (_FEWEST_DIGITS - 1):
        return False
    return abs(value.value - Fraction(repr(given))) <= value.half_unit


def _with_tool_hint(verdict: Verdict, given: Mapping[str, Any], check: Check) -> Verdict:
    recognised = verdict.hint or verdict.fits  # by a slip of the spec, with what it earns
    known = [] if recognised else [each.credit for each in check.misconceptions if each.by_share]
    share = Fraction(round(10 * given["share"]), 10)
    made = partial(max(verdict.credit, max(known, default=Fraction(0)) * share), verdict.reason)
    facts = {**verdict.facts, "explained": given["amounts"]}
    if FEW_DIGITS in facts:
        facts[OF_TOOL] = given["says"]
    hint = given["amounts" if check.reveal or check.hidden else "says"]
    return replace(
        verdict, outcome=made.outcome, credit=made.credit, agrees=made.agrees, fits=(), hint=hint, facts=facts
    )
