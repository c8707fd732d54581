"""Passages of a report that speak of a task by its number, where no heading does: in lists, on lines, in tables.

What is found is a document of its own, in which all that belongs to other tasks is blank; lines keep their numbers.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, zip_longest
from typing import TYPE_CHECKING

from labgrade.answers.reading.blocks import kinds
from labgrade.answers.reading.passages.around import of_several
from labgrade.answers.reading.passages.headings import BOLD, JOINT, PREFIX, canonical, document_headings
from labgrade.answers.reading.passages.sections import Span, sections
from labgrade.answers.reading.words.terms import LETTERS, PIPES, RULE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.answers.reading.documents import Document
    from labgrade.answers.reading.passages.headings import Heading

_REMEMBERED = 4
_MOST = 20_000
_LONGEST = 400  # of a line before a number
_LONGEST_ROW = 4_000
_HEAD_AND_ROW = 2
_RULED = "|---|"
_MOST_TABLES, _MOST_ROWS, _LONGEST_TABLE = 20, 200, 50_000
_TASK = re.compile(r"0?[1-9]\d?(?:-0?[1-9]\d?){2}")  # 1.0.0 is a version
_NUMBER = re.compile(
    rf"(?:(?<![A-Za-z0-9_./-])|(?<=\b[hH][wW])|(?<=\b[lL][aA][bB]))"
    rf"\d{{1,2}}(?P<joint>{JOINT})\d{{1,2}}(?:{JOINT})\d{{1,2}}(?![A-Za-z0-9])(?![-._/]\w)"
)
# What may stand before the number that a line begins with, and says nothing.
_DRESS = re.compile(
    rf"\[[^\[\]\n]{{0,20}}\]|<[^<>\n]{{0,200}}>|\\[a-z]{{2,20}}\*?|\b(?:TODO|DONE)\b|\b{PREFIX}(?![^\W\d_])",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"(?:\b(?:see|siehe|vgl|voir|cf|ver|v[eé]ase|vedi|zie|as|like|wie|comme|como|in|from|of|to|aus|zu|von|de|than|for|für)|"
    r"[見见參参同如在與和])[\W_]{0,4}(?:\b(?:task|question|section|exercise|part|aufgabe|hw|lab|q)\b[\W_]{0,3})?$",
    re.IGNORECASE,
)
_ALONE = re.compile(r"[*_`]{0,3}[.:\uff1a)\]\u3011][*_`]{0,3}|[*_`\s]{0,9}$")  # behind a number with a word before it
_LABELS = re.compile(r"[*_`)\]\u3011\s]{0,4}(?:[:\uff1a=]|->|\u2192|=>)|[*_`]{1,3}[.)\]]?\s|\]|\u3011")
_BOUNDARY = re.compile(r"[.;|&\t\u3002\uff1b](?=[\s*_`(\[]|$)")
_SAYS_VALUE = re.compile(r"(?<![\w.-])\d[\d,.'_ ]*\d|(?<![\w.-])\d(?![\w-])")
_CELLS = str.maketrans(PIPES | {ord("&"): "|", ord("\t"): "|"})
_PART = re.compile(r"(?<![\w.-])\d{1,2}-\d{1,2}(?![\w.-])")  # HW 2-1
# Behind a number, what it is, a value without commas, and a unit: `2-2-2,total traffic,119445.696,KB`.
_OF_CSV = re.compile(r",(?=\S)[^,\d\n]{1,80},[\d.eE+_]{1,40}(?:,[^,\d\n]{0,40})?")
_QUOTED = re.compile(r"^[ \t>]+", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mention:
    """A task's number at [start, end); what it `leads` is behind it.

    `begins`: where what it leads begins, with words before it that say nothing. `line`: counted from 1. `passing`: it
    refers to another place.
    """

    start: int
    end: int
    line: int
    number: str
    begins: int
    leads: bool
    passing: bool


def of_task(document: Document, path: tuple[str, ...]) -> tuple[Document, tuple[Span, ...]]:
    """Return the parts of a document under a path of headings; else what is behind the task's number.

    Else the parts under a heading of several tasks, `2-4` for `2-4-1`. The document is another one then: with the same
    lines, but those of other tasks are blank.
    """
    spans = sections(document, path)
    if spans or not path or not _TASK.fullmatch(path[-1]):
        return document, spans
    told = _text_led_by(document, path[-1])
    if told is not None:
        return told, (Span(start=0, end=len(told.text)),)
    return document, tuple(without_others(document, of_several(document, path[-1]), path[-1]))


def without_others(document: Document, spans: tuple[Span, ...], number: str) -> Iterator[Span]:
    """Yield parts without the text that is plainly behind the numbers of other tasks."""
    leading = [each for each in _mentions(document) if each.leads]
    for span in spans:
        start = span.start
        for each, later in zip_longest(leading, leading[1:]):
            if each.number != number and start <= each.begins < span.end:
                yield Span(start=start, end=each.begins)
                end = min(later.begins if later else span.end, span.end)
                start = max(each.end, _end_of_reach(document.text, each, end))
        yield Span(start=start, end=max(start, span.end))


def _end_of_reach(text: str, each: _Mention, end: int) -> int:
    """Return where the text that a number leads ends, `end` at most: with its paragraph if its line has a value."""
    line_end = text.find("\n", each.end, end)
    says = _SAYS_VALUE.search(text, each.end, end if line_end < 0 else line_end)
    return _paragraph_end(text, each.end, end) if says else end


def is_of_several(document: Document, path: tuple[str, ...]) -> bool:
    """Return whether a task has no section of its own, so that its text may be about several tasks."""
    return bool(path) and not sections(document, path) and _text_led_by(document, path[-1]) is None


def spoken_of(document: Document, path: tuple[str, ...]) -> Document | None:
    """Return the lines with a task's number that are no heading, and those that go on behind them; else None.

    A mention in passing, `see 2-1-1`, counts if there is no other. Without a path: the lines of any task, headings too;
    for a name without a number, those of tasks whose names begin alike, `llm-*`, or of one of them.
    """
    if path and (alike := any_like(path[-1])):
        return _named(document, path[-1]) if _named(document, alike) is not None else None
    every = _mentions(document)
    known = [each for each in every if not path or each.number == path[-1]]
    known = _not_in_headings(document, known) if path else known
    known = [each for each in known if not each.passing] or known
    tables = [each for table in _columns(document, path[-1]) for each in table] if path else []
    columns = {line for line, _ in tables}
    text = document.text
    ends = [each.begins if each.leads else _line(text, each) for each in every]
    found = list(tables)
    for each in known:
        if each.line not in columns:
            at = bisect_left(ends, each.end)
            end = ends[at] if at < len(ends) else len(text)
            said = text[_line(text, each) : _paragraph_end(text, each.end, end)]
            found += (
                [*_head(text, _line(text, each), each.line), (each.line, said)] if "|" in said else [(each.line, said)]
            )
    return _only(document, found, code=not path) if found else None


def any_like(name: str) -> str:
    """Return a pattern for all tasks that begin as a name without a number does: `llm-*` for `llm-lora`."""
    first, joint, _ = name.partition("-")
    return f"{first}-*" if joint and first.isalpha() else ""


def _named(document: Document, name: str) -> Document | None:
    """Return the lines with a task's name that are no heading; for `llm-*`, headings too."""
    text, every = document.text, name.endswith("*")
    begins = rf"^[^\w\n]{{0,12}}(?:\d{{1,2}}[.)]\s)?{re.escape(name[:-1])}[a-z][\w-]*" if every else re.escape(name)
    pattern = re.compile(rf"(?<![\w-]){begins}(?![\w-])", re.IGNORECASE | re.MULTILINE)
    headed = set() if every else {document.line(each.start) for each in document_headings(document)}
    lines = {document.line(match.end()): match.end() for match in islice(pattern.finditer(text), _MOST)}
    found = [
        (line, text[text.rfind("\n", 0, end) + 1 : _paragraph_end(text, end, len(text))])
        for line, end in lines.items()
        if line not in headed
    ]
    return _only(document, found) if found else None


def names_tasks(document: Document, path: tuple[str, ...] = ()) -> bool:
    """Return whether a report names its tasks, by numbers or like a path: else words may be about any task."""
    if path and (alike := any_like(path[-1])) and _named(document, alike) is not None:
        return True
    headed = (number for heading in document_headings(document) for number in heading.known_as)
    return any(map(_TASK.fullmatch, headed)) or any(each.leads for each in _mentions(document))


@lru_cache(maxsize=32)
def _text_led_by(document: Document, number: str) -> Document | None:
    """Return the text plainly behind a task's number, or below it in a table."""
    all_of_them = [each for each in _mentions(document) if each.leads]
    starts = [each.start for each in document_headings(document) if _is_end(each)]
    tables = _columns(document, number)
    columns = {line for table in tables for line, _ in table}
    # Of several rows nothing tells which is meant.
    alone = [table for table in tables if sum(row != _RULED for _, row in table) == _HEAD_AND_ROW]
    found = [each for table in alone for each in table]
    for place, each in enumerate(all_of_them):
        if each.number != number or each.line in columns:
            continue
        later = all_of_them[place + 1].begins if place + 1 < len(all_of_them) else len(document.text)
        at = bisect_left(starts, each.end)
        end = min(later, starts[at] if at < len(starts) else later)
        found += _passage(document.text, each, end)
    return _only(document, found) if found else None


def _is_end(heading: Heading) -> bool:
    """Return whether a heading ends the text behind a number: a heading of words, or of another task."""
    return heading.level < BOLD or any(map(_TASK.fullmatch, heading.known_as))


def _passage(text: str, each: _Mention, end: int) -> Iterator[tuple[int, str]]:
    """Yield the lines that a number leads: a row with its table's head, a line with a value, or all up to `end`."""
    line_end = text.find("\n", each.end, end)
    line_end = end if line_end < 0 else line_end
    start = text.rfind("\n", 0, each.start) + 1
    row = text[start : min(line_end, start + _LONGEST_ROW)]
    if row.translate(_CELLS).count("|") > 0 and "|" in text[each.end : line_end].translate(_CELLS):
        yield from _head(text, start, each.line)
        yield each.line, row[: each.start - start] + row[each.end - start :]
        return
    if _OF_CSV.fullmatch(text, each.end, line_end):
        yield each.line, text[each.end + 1 : line_end].replace(",", ": ", 1).replace(",", " ")
        return
    said = text[each.end : _end_of_reach(text, each, end)]
    yield each.line, _QUOTED.sub("", said) if row.lstrip().startswith(">") else said  # a box, not another's words


def _head(text: str, start: int, line: int) -> Iterator[tuple[int, str]]:
    """Yield the first line of the table whose row begins at `start`, with its number, if that has no value."""
    first, walked = start, 0
    while first > 0 and walked < _MOST_ROWS:
        above = text.rfind("\n", 0, first - 1) + 1
        row = text[above : first - 1]
        if "|" not in row.translate(_CELLS) or row.lstrip().startswith("\\begin"):
            break
        first, walked = above, walked + 1
    head = _PART.sub("", text[first : text.find("\n", first)])
    if walked and not any(letter.isdigit() for letter in head):
        yield line - walked, head
        yield from ((between, _RULED) for between in range(line - walked + 1, line))


def _paragraph_end(text: str, position: int, last: int) -> int:
    end = text.find("\n\n", position, last)
    return last if end < 0 else end


def _line(text: str, each: _Mention) -> int:
    return text.rfind("\n", 0, each.start) + 1


def _not_in_headings(document: Document, known: list[_Mention]) -> list[_Mention]:
    """Return the mentions without those in headings, whose sections are read by themselves."""
    lines = {document.text.rfind("\n", 0, each.start) + 1: each.known_as for each in document_headings(document)}
    return [each for each in known if each.number not in lines.get(_line(document.text, each), ())]


def _only(document: Document, found: list[tuple[int, str]], *, code: bool = False) -> Document:
    """Return a document with only these texts, each from its line on; source code only if that is asked for."""
    of_lines = () if code else kinds(document.text)
    lines: dict[int, str] = {}
    for first, text in found:
        for number, line in enumerate(text.split("\n"), start=first):
            if number <= len(of_lines) and of_lines[number - 1].code:
                continue
            said = lines.get(number, "")
            told = said.strip() not in ("", _RULED)
            lines[number] = said if told and (line in said or line == _RULED) else f"{said} ; {line}" if told else line
    numbers = range(1, max(lines, default=0) + 1)
    text = "\n".join(lines.get(number, "") for number in numbers)
    known = document.written.split("\n")[: len(numbers)]
    written = "\n".join(line if number in lines else "" for number, line in enumerate(known, start=1))
    return replace(document, text=text, written=written.rstrip("\n"))


# ---- the numbers -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=_REMEMBERED)
def _mentions(document: Document) -> tuple[_Mention, ...]:
    """Return the tasks' numbers of a text, in order; those with points only at the beginning of a line."""
    text = document.text
    found: list[_Mention] = []
    line, position = 1, 0
    for match in islice(_NUMBER.finditer(text), _MOST):
        line, position = line + text.count("\n", position, match.start()), match.start()
        mention = _mention(text, match, line)
        pointed = "." in match[0]
        if not _TASK.fullmatch(mention.number):
            continue
        if not pointed or (mention.leads and mention.begins == _line(text, mention)):
            found.append(mention)
    return tuple(found)


def _mention(text: str, match: re.Match[str], line: int) -> _Mention:
    start = text.rfind("\n", 0, match.start()) + 1
    before = text[max(start, match.start() - _LONGEST) : match.start()]
    begins, leads = start, _says_nothing(before) or _is_one_word(before, text, match.end())
    inner = list(_BOUNDARY.finditer(before))[-1:]
    if not leads and inner and (_LABELS.match(text, match.end()) or inner[0][0] in "|&\t"):
        begins = match.start() - len(before) + inner[0].end()
        leads = _says_nothing(before[inner[0].end() :])
    return _Mention(
        start=match.start(),
        end=match.end(),
        line=line,
        number=canonical(match[0]),
        begins=begins,
        leads=leads,
        passing=not leads and bool(_PASSING.search(before)),
    )


def _says_nothing(before: str) -> bool:
    """Return whether only marks, dates, `(f)`, `Task` and the like are before a number."""
    return all(len(word) == 1 and word.isascii() for word in LETTERS.findall(_DRESS.sub(" ", before)))


def _is_one_word(before: str, text: str, end: int) -> bool:
    """Return whether a single word of any language is before a number by itself, as `Zadanie` is."""
    words = LETTERS.findall(_DRESS.sub(" ", before))
    alone = len(words) == 1 and not any(letter.isdigit() for letter in before)
    return alone and not _PASSING.search(before) and bool(_ALONE.match(text, end))


# ---- columns -----------------------------------------------------------------------------------------------------


def _columns(document: Document, number: str) -> list[list[tuple[int, str]]]:
    """Return the columns of tables whose heads have a task's number, each row with its name and its line's number."""
    text = document.text
    lines: dict[int, list[_Mention]] = {}
    for each in _mentions(document):
        lines.setdefault(each.line, []).append(each)
    several = [found for found in lines.values() if len(found) > 1 and any(each.number == number for each in found)]
    tables = []
    for first, *_ in several[:_MOST_TABLES]:
        start = _line(text, first)
        rows = text[start : start + _LONGEST_TABLE].split("\n")[:_MOST_ROWS]
        tables.append(list(_column(rows, first.line, number)))
    return [table for table in tables if table]


def _column(rows: list[str], line: int, number: str) -> Iterator[tuple[int, str]]:
    """Yield the columns of the table whose head is the first of `rows`; none if that has fewer than two tasks."""
    head = _cells(rows[0])
    of_cells = [[canonical(match[0]) for match in _NUMBER.finditer(cell)] for cell in head]
    named = {numbers[0] for numbers in of_cells if numbers}
    if len(named) < 2 and sum(map(bool, of_cells)) < 2:  # noqa: PLR2004 - one number in a row is the row's
        return
    mine = [place for place, numbers in enumerate(of_cells) if number in numbers]
    name = next((place for place, numbers in enumerate(of_cells) if not numbers), None)
    table = list(_rows_below(rows, line, len(head)))
    units = next((cells for _, cells in table if _says_units(cells)), None)
    titles = [_NUMBER.sub("", head[place]).strip() for place in mine]
    titles = [
        f"{title} ({units[place].strip()})" if units else title for title, place in zip(titles, mine, strict=True)
    ]
    first = head[name].strip() if name is not None else ""
    yield line, f"| {' | '.join([first, *titles])} |"
    for at, cells in table:
        own = cells[name].strip() if name is not None else ""
        row = f"| {' | '.join([own, *(cells[place].strip() for place in mine)])} |"
        yield at, _RULED if cells is units or RULE.match(row) else row


def _rows_below(rows: list[str], line: int, width: int) -> Iterator[tuple[int, list[str]]]:
    for at, row in enumerate(rows[1:], start=line + 1):
        if "|" not in row.translate(_CELLS):
            return
        cells = _cells(row)
        if len(cells) == width:
            yield at, cells


def _says_units(cells: list[str]) -> bool:
    said = "".join(cells)
    return not RULE.match(said) and not any(letter.isdigit() for letter in said)


def _cells(row: str) -> list[str]:
    return row.translate(_CELLS).strip().removeprefix("|").removesuffix("|").split("|")
