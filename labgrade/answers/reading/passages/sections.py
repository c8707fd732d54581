"""Sections of a report: which part of a text stands under `2-1-4`."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from labgrade.answers.reading.passages.headings import (
    BOLD,
    MARKUP,
    MOST_LINES,
    NUMBER,
    UNMARKED,
    Heading,
    canonical,
    document_headings,
    is_numbering,
)

if TYPE_CHECKING:
    from labgrade.answers.reading.documents import Document

_REMEMBERED = 32
_IDENTIFIER = re.compile(r"[a-z]\w{0,40}(?:-\w{1,40}){1,8}")  # of a task, which nobody writes by chance: `eff-sizes`
_VALUE = re.compile(r"(?<![\w.-])\d[\d,]*(?:\.\d+)?(?!\w*[-.]\d)")
_BETWEEN = re.compile(r"[ ]*[:\uff1a\u2013\u2014(\uff08][ ]*| +- +")
_CLOSING = re.compile(
    r"(?:final |overall |short )?(?:summary|conclusions?|results?|overview|zusammenfassung|fazit|ergebnisse?|resumen"
    r"|résumé|conclusi[oó]n|總結|总结|結論|结论|結果|结果|まとめ|요약)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A part of a text, [start, end)."""

    start: int
    end: int


@lru_cache(maxsize=_REMEMBERED)
def sections(document: Document, path: tuple[str, ...]) -> tuple[Span, ...]:
    """Return the parts of the document under a path of headings, matched by whole tokens: `2-1` is not `2-1-4`.

    An empty path is the whole document. A heading may occur more than once (the task, and a script's output under the
    same label): every part counts, and parts that touch are one. If no headings lie within one another so, a heading
    with both counts: `## Lab 2-3-3: Linear` for `[Lab 2-3-3, Linear]`.
    """
    found = _nested_below(document, path)
    joined = (*path[:-2], " ".join(path[-2:])) if path[1:] and not found else ()
    return sections(document, joined) if joined else found


def _nested_below(document: Document, path: tuple[str, ...]) -> tuple[Span, ...]:
    spans = [Span(start=0, end=len(document.text))]
    headings = document_headings(document)
    for token in path:
        known = headings if NUMBER.fullmatch(token.strip()) else _with_lines(document.text, token, headings)
        starts = [heading.start for heading in known]
        spans = [each for span in spans for each in _under(token, span, _inside(span, known, starts))]
    return tuple(spans)


def from_heading(text: str, start: int) -> int:
    """Return where a section begins for people: at its heading if that has a value (`2-4-3: 714M`); else `start`."""
    heading = text.rfind("\n", 0, start) + 1
    return heading if _VALUE.search(text, heading, start) else start


def closing(document: Document) -> tuple[Span, ...]:
    """Return the parts under headings without a number that sum up: `## Summary`."""
    headings, end = document_headings(document), len(document.text)
    return tuple(
        Span(start=each.end, end=next((one.start for one in headings[place:] if one.level <= each.level), end))
        for place, each in enumerate(headings, start=1)
        if not each.numbers and _CLOSING.match(each.title.strip("*_ "))
    )


def _inside(span: Span, headings: list[Heading], starts: list[int]) -> list[Heading]:
    """Return the headings that begin in a span; `starts` are their positions, in order."""
    return headings[bisect_left(starts, span.start) : bisect_left(starts, span.end)]


def _with_lines(text: str, token: str, headings: list[Heading]) -> list[Heading]:
    """Return the headings, and lines that consist of the words of `token`, as on a rendered page."""
    alone = re.compile(rf"^[ \t>]{{0,12}}+{re.escape(token)}[ \t]*[:\uff1a.]?[ \t]*$", re.IGNORECASE | re.MULTILINE)
    lines = [
        Heading(start=match.start(), end=match.end(), level=UNMARKED, title=match[0].strip())
        for match in islice(alone.finditer(text), MOST_LINES)
    ]
    return sorted([*headings, *lines], key=lambda heading: heading.start)


def _under(token: str, outer: Span, inside: list[Heading]) -> list[Span]:
    spans: list[Span] = []
    for place, heading in enumerate(inside):
        if not _begins_with(heading, token) or (spans and heading.start < spans[-1].end):
            continue
        behind = (inside[later] for later in range(place + 1, len(inside)))  # a slice would copy them each time
        end = next((later.start for later in behind if _ends(heading, later, token)), outer.end)
        if spans and spans[-1].end == heading.start:
            spans[-1] = Span(start=spans[-1].start, end=end)
        else:
            spans.append(Span(start=heading.end, end=end))
    return spans


def _begins_with(heading: Heading, token: str) -> bool:
    number = NUMBER.fullmatch(token.strip())
    if number is not None and heading.numbers:
        return canonical(number["number"]) in (*heading.numbers, heading.nested)
    title, words = _words(heading.title), _words(token)
    if not title.startswith(words):
        return bool(_IDENTIFIER.fullmatch(words)) and re.search(rf"(?<![\w-]){words}(?![\w-])", title) is not None
    rest = title[len(words) :]
    if heading.level == UNMARKED and not heading.numbers:
        return not rest.strip(": \uff1a.")
    return not re.match(r"[A-Za-z0-9]|[-.]\d", rest)


def _ends(own: Heading, later: Heading, token: str) -> bool:
    """Return whether `later` ends the section of `own`.

    Its level is as high, or its number is a sibling's (2-1-5 after 2-1-4). A deeper heading with a number of another
    kind does not end it: `2.1 Method` below `### 2-1-4`.
    """
    if _begins_with(later, token):
        return False
    mine, others = own.known_as if NUMBER.fullmatch(token.strip()) else (), later.known_as
    if not mine and is_numbering(own.known_as) and is_numbering(others):  # `2-2-own-model`, and then `2-2-2`
        return not (own.level < later.level < UNMARKED)
    if is_numbering(mine) and is_numbering(others):
        if own.level < later.level < UNMARKED and mine[0].count("-") != others[0].count("-"):
            return False
        return not any(number.startswith(f"{one}-") for number in others for one in mine)
    if own.level >= BOLD:
        return is_numbering(later.numbers) or (not own.numbers and later.level < BOLD)
    return later.level <= own.level


def _words(text: str) -> str:
    return _BETWEEN.sub(" ", MARKUP.sub(" ", text)).strip().lower()
