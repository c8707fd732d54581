"""A hint for a wrong number where nothing that the spec knows fits: what the number is, by `explain`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.by_layer import companion, layers_of
from labgrade.errors import FaultError
from labgrade.explain import Truth, explain
from labgrade.model import QuantityCall
from labgrade.values import Number, show
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.items import Item
    from labgrade.model import Source, SubjectSpec
    from labgrade.oracle import Oracle
    from labgrade.registry import Registry
    from labgrade.values import Value
    from labgrade.verdict import Verdict

_WRONG = frozenset({Outcome.INCORRECT, Outcome.PARTIAL})


def with_explanation(verdict: Verdict, value: Value, item: Item, oracle: Oracle, quantities: Registry) -> Verdict:
    """The verdict, with what the number is as its hint; as a fact for staff alone where the check is hidden.

    It changes no credit. A verdict that already says something, or agrees as far as was printed, stays as it is.
    """
    known = verdict.hint or verdict.agrees or "fits several misconceptions" in verdict.facts
    check, subject = item.check, item.subject
    if verdict.outcome not in _WRONG or known or not isinstance(value, Number) or subject is None or check.measured:
        return verdict
    said = explain(value, list(_truths(item, oracle, quantities)), next(iter(subject.input.shape), 1))
    if not said:
        return verdict
    if check.hidden:
        return replace(verdict, facts={**verdict.facts, "explained": said})
    return replace(verdict, hint=f"{show(value.value)} is {said}")


def companions(item: Item, quantities: Registry) -> Iterator[tuple[QuantityCall, SubjectSpec]]:
    """The by-layer quantities that an explanation would need, to be taken in with the expected values."""
    subject = item.subject
    if subject is not None and not subject.handed_in:
        for source, _ in _conventions(item):
            if call := companion(source, quantities):
                yield call, subject


def _conventions(item: Item) -> Iterator[tuple[Source, str]]:
    check = item.check
    if check.expected is not None:
        yield check.expected, ""
    for other in check.also_right:
        yield other.source, f"({other.says})"


def _truths(item: Item, oracle: Oracle, quantities: Registry) -> Iterator[Truth]:
    subject = item.subject
    if subject is None or subject.handed_in:
        return
    for source, says in _conventions(item):
        if not isinstance(source, QuantityCall):
            continue
        try:
            total = oracle.value(source, subject)
            by_layer = companion(source, quantities)
            rows = oracle.value(by_layer, subject) if by_layer else []
        except FaultError:  # then there is one explanation less, and the verdict is what it was
            continue
        if type(total) is int and total > 0:
            yield Truth(total=total, layers=layers_of(rows), says=says)
