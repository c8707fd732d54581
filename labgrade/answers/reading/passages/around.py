"""Where a task may be answered that has no section of its own: under a heading of several tasks, or in no task's.

What stands under another task's number is never of this one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from labgrade.answers.reading.passages.headings import Heading, document_headings
from labgrade.answers.reading.passages.sections import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.answers.reading.documents import Document

_NUMBER = re.compile(r"\d{1,2}(?:-\d{1,2}){1,3}")
_ITEM = re.compile(r"^[ \t]*(?:[*_]{0,2})\(?(\d{1,2})[.)][*_]{0,2}[ \t]+(?=\S)", re.MULTILINE)


def of_several(document: Document, number: str) -> tuple[Span, ...]:
    """Return the parts under a heading of several tasks, `2-4` for `2-4-1`: all, or the item of a numbered list."""
    parents, _ = _outside(document, number)
    items = [item for span in parents for item in _item(document.text, span, number)]
    return tuple(items or parents)


def of_none(document: Document, number: str) -> tuple[Span, ...]:
    """Return the parts under no heading with a number."""
    return tuple(_outside(document, number)[1])


def _outside(document: Document, number: str) -> tuple[list[Span], list[Span]]:
    """Return the parts of no other task than a number's: under a heading of several tasks, and under none."""
    parents: list[Span] = []
    rest: list[Span] = []
    if not _NUMBER.fullmatch(number):
        return parents, rest
    for span, stack in _parts(document):
        numbers = next((known for each in reversed(stack) if (known := _numbers(each))), ())
        if any(len(each) >= len(number) and each.count("-") >= number.count("-") for each in numbers):
            continue
        if not numbers:
            rest.append(span)
        elif any(number.startswith(f"{each}-") for each in numbers):
            parents.append(span)
    return parents, rest


def _numbers(heading: Heading) -> tuple[str, ...]:
    """Return a heading's numbers of several parts."""
    return tuple(each for each in heading.known_as if "-" in each)


def _parts(document: Document) -> Iterator[tuple[Span, list[Heading]]]:
    """Yield the text between one heading and the next, with the headings above it."""
    stack: list[Heading] = []
    start = 0
    for heading in document_headings(document):
        if heading.start > start:
            yield Span(start=start, end=heading.start), stack
        stack = [*(each for each in stack if each.level < heading.level), heading]
        start = max(start, heading.end)
    yield Span(start=start, end=len(document.text)), stack


def _item(text: str, span: Span, number: str) -> Iterator[Span]:
    """Yield the item of a numbered list that has a task's last number, if the only list begins with 1."""
    items = list(_ITEM.finditer(text, span.start, span.end))
    if [int(each[1]) for each in items] != [*range(1, len(items) + 1)] or len(items) < 2:  # noqa: PLR2004 - a list
        return
    at = int(number.rpartition("-")[2]) - 1
    if at < len(items):
        yield Span(start=items[at].end(), end=items[at + 1].start() if at + 1 < len(items) else span.end)
