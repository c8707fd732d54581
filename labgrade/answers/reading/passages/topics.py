"""What a report without numbers of tasks says of a model: its parts under headings of its own, but those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.answers.reading.doubts import names_model, other_model
from labgrade.answers.reading.passages.headings import document_headings
from labgrade.answers.reading.passages.mentions import names_tasks
from labgrade.answers.reading.passages.sections import Span
from labgrade.answers.reading.words.terms import SIGNS

if TYPE_CHECKING:
    from labgrade.answers.reading.documents import Document
    from labgrade.answers.reading.passages.headings import Heading


def of_model(document: Document, about: str, tasks: tuple[str, ...] = ()) -> tuple[Span, ...]:
    """Return the parts that are not under a heading of another model; none if a report has tasks' numbers.

    `tasks`: the name of the task in question, and those of others, whose headings' parts are left out, too.
    """
    if names_tasks(document):
        return ()
    headings = document_headings(document)
    spans = []
    start = 0
    around: list[Heading] = []
    for heading in headings:
        spans += _part(start, heading.start, around, about, tasks)
        around = [*(outer for outer in around if outer.level < heading.level), heading]
        start = heading.end
    spans += _part(start, len(document.text), around, about, tasks)
    return tuple(spans)


def _part(start: int, end: int, around: list[Heading], about: str, tasks: tuple[str, ...]) -> list[Span]:
    """Return a part, if the innermost heading above it that names a model or a task names the one in question."""
    named = next((heading.title for heading in reversed(around) if names_model(heading.title)), "")
    told = next((told for heading in reversed(around) if (told := _tasks_in(heading.title, tasks))), tasks)
    own = not tasks or tasks[0] in told
    return [] if end <= start or other_model(named, about) or not own else [Span(start=start, end=end)]


def _tasks_in(title: str, tasks: tuple[str, ...]) -> list[str]:
    """Return the tasks whose names are in a heading with all words but the first, which all tasks share."""
    there = {word.rstrip("s") for word in SIGNS.split(title.lower())}
    return [each for each in tasks if {word.rstrip("s") for word in each.split("-")[1:]} <= there]
