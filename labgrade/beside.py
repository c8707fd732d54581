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

    Obtain = Callable[[str, "SubjectSpec | None"], "Answer | NoAnswer"]
    Expect = Callable[[Source, "SubjectSpec | None", str], Value]

_TEXT_CHARS = 4000


def facts(item: Item, answer: Answer, obtain: Obtain, expect: Expect) -> dict[str, str]:
    """By their names, for staff. A number that was not handed in, or can't be computed, costs no other."""
    found = {"handed in": visible(answer.value, _TEXT_CHARS)} if isinstance(answer.value, str) else {}
    return found | dict(_rows(item, obtain, expect))


def _rows(item: Item, obtain: Obtain, expect: Expect) -> Iterator[tuple[str, str]]:
    for row in item.check.beside:
        subject = row.subject or item.subject
        yield row.says, f"{_got(row, obtain, subject)}; expected {_right(row, expect, subject)}"


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
