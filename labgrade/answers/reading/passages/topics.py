"""What a report without numbers of tasks says of a model: its parts under headings of its own, but those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.answers.reading.doubts import names_model, other_model
from labgrade.answers.reading.passages.headings import document_headings
from labgrade.answers.reading.passages.mentions import names_tasks
from labgrade.answers.reading.passages.sections import Span

if TYPE_CHECKING:
    from labgrade.answers.reading.documents import Document
    from labgrade.answers.reading.passages.headings import Heading


def of_model(document: Document, about: str) -> tuple[Span, ...]:
    """The parts that are not under a heading of another model than `about`; none where a report has tasks' numbers."""
    if names_tasks(document):
        return ()
    headings = document_headings(document)
    spans = []
    start = 0
    around: list[Heading] = []
    for heading in headings:
        spans += _part(start, heading.start, around, about)
        around = [*(outer for outer in around if outer.level < heading.level), heading]
        start = heading.end
    spans += _part(start, len(document.text), around, about)
    return tuple(spans)


def _part(start: int, end: int, around: list[Heading], about: str) -> list[Span]:
    """What stands below headings, if the innermost of them that names a model names the one in question."""
    named = next((heading.title for heading in reversed(around) if names_model(heading.title)), "")
    return [] if end <= start or other_model(named, about) else [Span(start=start, end=end)]
