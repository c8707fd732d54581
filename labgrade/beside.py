"""What a person who marks by hand is shown beside a check: the text handed in, and numbers next to what is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.errors import FaultError
from labgrade.handed_in import UnfitError
from labgrade.results import Answer
from labgrade.sandbox.visible import visible
from labgrade.values import Number, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from labgrade.items import Item
    from labgrade.model import Beside, Source, SubjectSpec
    from labgrade.results import NoAnswer
    from labgrade.values import Value
    from labgrade.verdict import Verdict

    Obtain = Callable[[str, "SubjectSpec | None"], "Answer | NoAnswer"]
    Expect = Callable[[Source, "SubjectSpec | None", str], Value]

_TEXT_CHARS = 4000
_TEXT = "handed in"
_EXPECTED = "; expected "


def facts(item: Item, answer: Answer | NoAnswer, obtain: Obtain, expect: Expect) -> dict[str, str]:
    """By their names, for staff. A number that was not handed in, or can't be computed, costs no other."""
    value = answer.value if isinstance(answer, Answer) else None
    found = {_TEXT: visible(value, _TEXT_CHARS)} if isinstance(value, str) else {}
    return found | dict(_rows(item, obtain, expect))


def numbers(verdict: Verdict) -> list[tuple[str, str]]:
    """The rows of numbers that `facts` put into a verdict: what it is about, what was found and what is right."""
    return [(name, fact) for name, fact in verdict.facts.items() if name != _TEXT and _EXPECTED in fact]


def _rows(item: Item, obtain: Obtain, expect: Expect) -> Iterator[tuple[str, str]]:
    for row in item.check.beside:
        subject = row.subject or item.subject
        yield row.says, f"{_got(row, obtain, subject)}{_EXPECTED}{_right(row, expect, subject)}"


def _got(row: Beside, obtain: Obtain, subject: SubjectSpec | None) -> str:
    try:
        answer = obtain(row.answer, subject)
    except (FaultError, UnfitError) as error:
        return f"got nothing: {error}"
    if not isinstance(answer, Answer):
        return f"got nothing ({answer.verdict.outcome})"
    return f"got {_shown(answer.value)} (from {answer.origin})"


def _right(row: Beside, expect: Expect, subject: SubjectSpec | None) -> str:
    try:
        return _shown(expect(row.expected, subject, row.answer))
    except (FaultError, UnfitError) as error:
        return f"unknown: {error}"


def _shown(value: Value) -> str:
    return show(value.value) if isinstance(value, Number) else visible(str(value), 200)
