"""Sections of a report: which part of a text stands under `2-1-4`, with Markdown or as it comes off a rendered page."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from labgrade.answers.reading.code import is_code
from labgrade.answers.reading.numbers import as_ascii

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.answers.reading.documents import Document

_MOST_LINES, _MOST_NUMBERS = 100_000, 50
_REMEMBERED, _REMEMBERED_TEXTS = 32, 4
_PREFIX = (
    r"(?:(?:hw|homework|lab|problem|prob|question|task|part|section|exercise|ex|q|p"
    r"|(?:my\ )?ans(?:wers?)?(?:\ (?:to|for|of))?|solution(?:\ (?:to|for|of))?|results?(?:\ (?:of|for))?"
    r"|hausaufgabe|aufgabe|teilaufgabe|übung|teil|frage|abschnitt|kapitel|lösung(?:\ (?:zu|für))?"
    r"|antwort(?:\ (?:zu|auf))?|zu|ejercicio|pregunta|tarea|parte|sección|apartado|respuesta|problema"
    r"|exercício|questão|exercice|partie|devoir|réponse|作業|作业|題目|题目|題|题|第|課題|问题|問題"
    r"|練習|练习|實驗|实验|解答|回答|答案|答|問|小題|과제|문제|답안?|실습|숙제|設問"
    r")[\ \t.:\uff1a#_-]{0,3}){0,3}"
)
_JOINT = r"\\?[-.\u2010-\u2014\uff0d\uff0e_]"
_NUMBERING = rf"\d{{1,2}}(?:{_JOINT}\d{{1,2}}){{0,5}}(?:[-.]\{{\d{{1,2}}(?:[,_\ ]{{1,2}}\d{{1,2}}){{0,5}}\}})?"
# A task's number that is nothing else: behind a word of any language it makes a heading.
_ALONE = r"(?=\d{1,2}-\d{1,2}-\d{1,2}[ \t*_]{0,3}(?:[:\uff1a)]|$))"
_WORD = r"(?!(?:see|siehe|vgl|voir|cf|ver|v[eé]ase|vedi|zie|as|like|wie|comme|como|in)\b|[見见參参同如])[^\W\d_]{1,20}"
_WITHIN = re.compile(
    r"(?<![\w.\u2013-])\d{1,2}(?:-\d{1,2}){1,4}(?![\w-]|\.\d)|(?<![\w.-])\d{1,2}(?:\.\d{1,2}){2,4}(?![\w-]|\.\d)"
)
_BEHIND = re.compile(rf"[\s./:|=,-]{{0,6}}(?P<number>{_WITHIN.pattern})")  # a task's number right behind one's own
_STRUCTURE = re.compile(
    rf"""^[\ \t>]{{0,12}}+(?=\S)(?:
        (?P<fence>`{{3,}}|~{{3,}}) [^\n`]{{0,80}}$
      | (?P<atx>\#{{1,6}}) (?:[\ \t]+ | (?=[*_]{{0,3}}{_PREFIX}\d{{1,2}}{_JOINT}\d)) (?P<title>\S[^\n]{{0,200}})
      | (?P<bold>\*{{2,3}}|_{{2,3}}) (?P<strong>[^\n*_]{{1,160}}) (?P=bold) (?P<behind>[^\n]{{0,160}}) $
      | (?P<tags>(?:<(?:h[1-6]|summary|details|font|span|strong|b|u|div|p|center|big)\b[^<>\n]{{0,200}}>[\ \t]*){{1,4}})
        (?P<tagged>[^\n]{{1,200}})
      | \\(?P<sub>(?:sub){{0,2}})section\*?\{{ (?P<latex>[^\n{{}}]{{1,200}}) \}}
      | (?P<bracket>[\[\u3010]) (?P<marked>{_PREFIX}{_NUMBERING}[^\n\]\u3011]{{0,40}}[\]\u3011][^\n]{{0,160}}) $
      | (?P<plain>(?:{_PREFIX}\d{{1,2}}{_JOINT}|{_WORD}[\ \t]{{1,2}}{_ALONE})[^\n]{{0,160}}) $
      | [-*+] [\ \t]+ (?P<item>[*_]{{0,3}}{_PREFIX}{_NUMBERING}(?:[.:\uff1a\u3001)*_]|[\ \t]*$)[^\n]{{0,160}}) $
      | (?P<rule>={{3,}}|-{{3,}}) [\ \t]* $
    )""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_NUMBER = re.compile(rf"{_PREFIX}(?P<number>{_NUMBERING})(?![A-Za-z0-9])(?![-.]\d)", re.IGNORECASE)
_RANGE = re.compile(
    rf"\s?(?:~|\u301c|\uff5e|\s[-\u2013\u2014]|to|through|\u81f3|\u5230)\s?(?P<last>{_NUMBERING})(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_ALSO = re.compile(
    rf"\s?(?:,|/|&|\+|,?\s(?:and|und|y|et|e)\s|\u548c|\u8207|\u4e0e|\u3001|\s(?=\d{{1,2}}-\d{{1,2}}-\d))\s?(?P<other>{_NUMBERING})(?![A-Za-z0-9])",
    re.IGNORECASE,
)
# `Lab 1, 2` and `Lab 1, Task 2` are 1-2; `Lab 1, 2 and 3` are labs.
_OF_LAB = r"(?:q|question|task|part|exercise|problem|aufgabe)[ .#]{0,2}"
_OF_A_LAB = re.compile(
    rf"(?:lab|hw|homework|hausaufgabe|實驗|实验|作業|作业)[ .#:_-]{{0,3}}(\d{{1,2}})"
    rf"(?:\s?[,/\u3001\uff0c]\s?(?:{_OF_LAB})?|\s{_OF_LAB})(\d{{1,2}})"
    r"(?![A-Za-z0-9]|[-./]\d|\s?(?:,|/|&|and|und|to|-)\s?\d)",
    re.IGNORECASE,
)
_TASK = re.compile(r"\d{1,2}-\d{1,2}-\d{1,2}")
_NUMBERED_LINE = re.compile(
    rf"^[^\w\n]{{0,12}}+{_PREFIX}\d{{1,2}}(?:{_JOINT}\d{{1,2}}){{2}}(?![A-Za-z0-9])(?![-.]\d)",
    re.IGNORECASE | re.MULTILINE,
)
_ITEM = re.compile(r"\s*[-*+]\s")
_SENTENCE = re.compile(r"[*_]{0,3}[.:)\uff1a][*_]{0,3}\s[^|\n]{1,2000}[.\u3002:\uff1a][*_\s]{0,4}")
_DECIMAL = re.compile(r"\d+\.\d+(?![-.\d])")
_RULE_BELOW = re.compile(r"\n[ \t]*([=-])(?:\1){2,}[ \t]*$", re.MULTILINE)
_BOLD, _UNMARKED, _SETEXT = 7, 8, {"=": 1, "-": 2}
_TAG = re.compile(r"</?[a-z][^<>\n]{0,200}>", re.IGNORECASE)
_MARKUP = re.compile(r"(?:[#*`~\[\]\u3010\u3011()\uff08\uff09<>\u300c\u300d$\\\s]|(?<!\d)_|_(?!\d))+")
_SENTENCE_ENDS = (".", ",", ";", "\u3002", "\uff0c")
_NOT_A_WORD = re.compile(r"[\W_]+")
_VALUE_BEHIND = re.compile(r"[^\W\d_][^\n:=\uff1a]{0,60}[:=\uff1a]\s{0,4}[*_`~\u2248]{0,4}\s{0,4}\d[\d,._]{3,}")
_SAYS_NUMBERS = re.compile(  # `2-2-1  Total operators 100, Different types 6`; no `224x224 image`
    r"[^\W\d_]{2,40}[ \t]{1,4}[*_`~\u2248]{0,4}\d(?:[\d,._]{2,40}|\d{0,3}(?=[,/;|]))"
    r"(?![\w-]|[ \t]?(?i:[x\u00d7]|points?|pts?|pkt|punkte?|marks?|%|\u5206))"
)
_SAYS_A_VALUE = re.compile(r"of\s|[^\n]{1,80}[:=\uff1a]\s*[*_`~\u2248]{0,4}\s*\d[\d,._]{3,}")
_VALUE = re.compile(r"(?<![\w.-])\d[\d,]*(?:\.\d+)?(?!\w*[-.]\d)")
_CLOSING = re.compile(
    r"(?:final |overall |short )?(?:summary|conclusions?|results?|overview|zusammenfassung|fazit|ergebnisse?|resumen"
    r"|résumé|conclusi[oó]n|總結|总结|結論|结论|結果|结果|まとめ|요약)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading-like line at [start, end), with its `numbers` as in 2-1-4.

    `level` is 1 to 6, 7 where it is only bold (or in a list), 8 where it has no markup at all. `nested` is the number
    that it has with those of the headings around it.
    """

    start: int
    end: int
    level: int
    title: str
    numbers: tuple[str, ...] = ()
    nested: str = ""

    @property
    def known_as(self) -> tuple[str, ...]:
        """Its numbers, whole."""
        return (self.nested,) if self.nested else self.numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A part of a text, [start, end)."""

    start: int
    end: int


@lru_cache(maxsize=_REMEMBERED)
def sections(document: Document, path: tuple[str, ...]) -> tuple[Span, ...]:
    """The parts of the document under a path of headings, each matched by whole token: `2-1` is not `2-1-4`.

    An empty path is the whole document. A heading may stand more than once (the task, and what a script printed
    under the same label): every part counts, and parts that touch are one.
    """
    spans = [Span(start=0, end=len(document.text))]
    if not path:
        return tuple(spans)
    headings = _document_headings(document)
    for token in path:
        known = headings if _NUMBER.fullmatch(token.strip()) else _with_lines(document.text, token, headings)
        starts = [heading.start for heading in known]
        found = [each for span in spans for each in _under(token, span, _inside(span, known, starts))]
        spans = found or [each for span in spans for each in _lines_of(document.text, token, span)]
    return tuple(spans)


def from_heading(text: str, start: int) -> int:
    """Where a section begins for a person: with its heading, where that holds a value (`2-4-3: 714M`); else `start`."""
    heading = text.rfind("\n", 0, start) + 1
    return heading if _VALUE.search(text, heading, start) else start


def names_tasks(document: Document) -> bool:
    """Whether any heading has a task's number: where none has, words may speak of any task."""
    return any(_TASK.fullmatch(number) for heading in _document_headings(document) for number in heading.known_as)


def closing(document: Document) -> tuple[Span, ...]:
    """The parts under headings without a number that sum up what was found: `## Summary`."""
    headings, end = _document_headings(document), len(document.text)
    return tuple(
        Span(start=each.end, end=next((one.start for one in headings[place:] if one.level <= each.level), end))
        for place, each in enumerate(headings, start=1)
        if not each.numbers and _CLOSING.match(each.title.strip("*_ "))
    )


def _lines_of(text: str, token: str, span: Span) -> Iterator[Span]:
    """What stands behind a task's number at the beginning of lines that are no headings, as in a table of answers.

    Behind a sentence that is numbered, `2-1-4. I count ...`, all up to the next numbered line or heading.
    """
    if not _TASK.fullmatch(token):
        return
    number = _JOINT.join(re.findall(r"\d+", token))
    line = re.compile(rf"^[^\w\n]{{0,12}}+{_PREFIX}{number}(?![A-Za-z0-9])(?![-.]\d)", re.IGNORECASE | re.MULTILINE)
    for match in islice(line.finditer(text, span.start, span.end), _MOST_LINES):
        end = text.find("\n", match.end(), span.end)
        end = span.end if end < 0 else end
        if not _ITEM.match(match[0]) and _SENTENCE.fullmatch(text, match.end(), end):
            later = _NUMBERED_LINE.search(text, end)
            headings = (each.start for each in _headings(text) if each.start > end)
            end = min(span.end, later.start() if later else span.end, next(headings, span.end))
        yield Span(start=match.end(), end=end)


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def _document_headings(document: Document) -> list[Heading]:
    return _nested(list(_headings(document.text)))


def _inside(span: Span, headings: list[Heading], starts: list[int]) -> list[Heading]:
    """The headings that begin in a span; `starts` are theirs, in order."""
    return headings[bisect_left(starts, span.start) : bisect_left(starts, span.end)]


def _nested(headings: list[Heading]) -> list[Heading]:
    """The headings; `#### 4. MACs` below `### 2-1` is 2-1-4 as well, where no other heading says that it is."""
    said = {number for heading in headings for number in heading.numbers}
    around: list[Heading] = []
    found = []
    for heading in headings:
        if heading.level < _BOLD:
            around = [outer for outer in around if outer.level < heading.level]
            outer = next((outer for outer in reversed(around) if outer.numbers), None)
            if outer and _is_numbering(outer.known_as) and heading.numbers and not _is_numbering(heading.numbers):
                whole = f"{outer.known_as[0]}-{heading.numbers[0]}"
                if whole not in said:
                    heading = replace(heading, nested=whole)  # noqa: PLW2901 - the same, with its whole number
            around.append(heading)
        found.append(heading)
    return found


def _with_lines(text: str, token: str, headings: list[Heading]) -> list[Heading]:
    """The headings, and the lines that are nothing but the words of `token`, as on a rendered page."""
    alone = re.compile(rf"^[ \t>]{{0,12}}+{re.escape(token)}[ \t]*[:\uff1a.]?[ \t]*$", re.IGNORECASE | re.MULTILINE)
    lines = [
        Heading(start=match.start(), end=match.end(), level=_UNMARKED, title=match[0].strip())
        for match in islice(alone.finditer(text), _MOST_LINES)
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
    number = _NUMBER.fullmatch(token.strip())
    if number is not None and heading.numbers:
        return _canonical(number["number"]) in (*heading.numbers, heading.nested)
    title, words = _words(heading.title), _words(token)
    if not title.startswith(words):
        return False
    rest = title[len(words) :]
    if heading.level == _UNMARKED and not heading.numbers:
        return not rest.strip(": \uff1a.")
    return not re.match(r"[A-Za-z0-9]|[-.]\d", rest)


def _ends(own: Heading, later: Heading, token: str) -> bool:
    """Whether `later` ends the section of `own`: a level as high, or a sibling's number (2-1-5 after 2-1-4).

    A deeper heading with a number of its own kind does not: `2.1 Method` below `### 2-1-4`.
    """
    if _begins_with(later, token):
        return False
    mine, others = own.known_as if _NUMBER.fullmatch(token.strip()) else (), later.known_as
    if not mine and _is_numbering(own.known_as) and _is_numbering(others):  # `2-2-own-model`, and then `2-2-2`
        return not (own.level < later.level < _UNMARKED)
    if _is_numbering(mine) and _is_numbering(others):
        if own.level < later.level < _UNMARKED and mine[0].count("-") != others[0].count("-"):
            return False
        return not any(number.startswith(f"{one}-") for number in others for one in mine)
    if own.level >= _BOLD:
        return _is_numbering(later.numbers) or (not own.numbers and later.level < _BOLD)
    return later.level <= own.level


def _headings(text: str) -> Iterator[Heading]:
    fence = ""
    for match in islice(_STRUCTURE.finditer(text), _MOST_LINES):
        if match["fence"]:
            if not fence:
                fence = match["fence"]
            elif match["fence"].startswith(fence) and match[0].strip(" \t>") == match["fence"]:
                fence = ""
        elif fence and not match["bracket"]:
            continue
        elif match["rule"]:
            yield from _setext(text, match)
        else:
            heading = _heading(text, match)
            if heading is not None:
                yield heading


def _heading(text: str, match: re.Match[str]) -> Heading | None:
    level, title = _dressed(match)
    numbers = _numbers(title)
    start, end = match.start(), match.end()
    if numbers and (_VALUE_BEHIND.search(title) or (level == _UNMARKED and _SAYS_NUMBERS.search(title))):
        end = start  # what the line says belongs to the section that it opens
    if level < _BOLD:
        is_none = _SAYS_A_VALUE.match(title) or (match["atx"] == "#" and _is_comment(text, match))
        if is_none and not numbers:
            return None
        return Heading(start=start, end=end, level=level, title=title, numbers=numbers)
    all_bold = match["strong"] is not None and not match["behind"].strip(" \t:\uff1a")
    if not all_bold and (not _is_numbering(numbers) or _is_prose(title)):
        return None
    rule = _RULE_BELOW.match(text, match.end()) if match["plain"] else None
    if rule is not None:
        end, level = rule.end(), _SETEXT[rule[1]]
    return Heading(start=start, end=end, level=level, title=title, numbers=numbers)


def _is_prose(title: str) -> bool:
    """Whether a numbered line is a sentence or begins with a decimal number: `2-1-4 is hard.`, `1.5 GMACs`."""
    return bool(title.endswith(_SENTENCE_ENDS) and not _NUMBER.fullmatch(title[:-1])) or bool(_DECIMAL.match(title))


def _dressed(match: re.Match[str]) -> tuple[int, str]:
    """How high a heading stands, and what it says."""
    if match["atx"]:
        return len(match["atx"]), match["title"].strip()
    if match["latex"]:
        return 1 + match["sub"].lower().count("sub"), match["latex"].strip()
    if match["tags"]:
        high = re.search(r"<h([1-6])", match["tags"], re.IGNORECASE)
        return int(high[1]) if high else _BOLD, _TAG.sub(" ", match["tagged"]).strip()
    if match["strong"]:
        return _BOLD, f"{match['strong'].strip()} {match['behind'].strip()}".strip()
    if match["item"]:
        return _BOLD, match["item"].strip().strip("*_")
    return _UNMARKED, (match["marked"] or match["plain"]).strip()


def _setext(text: str, match: re.Match[str]) -> Iterator[Heading]:
    """The line above a rule, where a blank line stands above it: rules inside of printed tables are none."""
    above = text[max(0, match.start() - 400) : match.start()].split("\n")
    if len(above) < 2 or not above[-2].strip() or (len(above) > 2 and above[-3].strip()):  # noqa: PLR2004 - two lines
        return
    title = above[-2].strip()
    if not re.match(r"[#>|`~]|[-*+] ", title) and not _is_numbering(_numbers(title)):
        start = match.start() - len(above[-2]) - 1
        level = _SETEXT[match["rule"][0]]
        yield Heading(start=start, end=match.end(), level=level, title=title, numbers=_numbers(title))


def _is_comment(text: str, match: re.Match[str]) -> bool:
    """Whether `# ...` is a comment of a program that lost its fence: code stands directly above or below."""
    above = text[max(0, match.start() - 400) : max(0, match.start() - 1)].rpartition("\n")[2]
    below = text[match.end() + 1 : match.end() + 400].partition("\n")[0]
    return any(is_code(line) or re.match(r"#(?!#)|\w[\w., ]*\s=\s", line.strip()) for line in (above, below))


def _numbers(title: str) -> tuple[str, ...]:
    """`2-1-4` of `2-1-4. Computation`; both numbers of `2-2-{2,3}`."""
    plain = _MARKUP.sub(" ", _TAG.sub(" ", as_ascii(title).replace("\\", "")))
    begin = _NOT_A_WORD.match(plain)
    of_a_lab = _OF_A_LAB.match(plain, begin.end() if begin else 0)
    if of_a_lab:
        return (f"{of_a_lab[1]}-{of_a_lab[2]}",)
    match = _NUMBER.match(plain, begin.end() if begin else 0)
    within = [_canonical(found) for found in _WITHIN.findall(plain)]
    if match is None:
        return (max(within, key=lambda number: number.count("-")),) if within else ()
    behind = _BEHIND.match(plain, match.end())
    if behind and _canonical(match["number"]).isdecimal():  # Q4 (2-1-4)
        return (_canonical(behind["number"]),)
    longer = [number for number in within if number.startswith(f"{_canonical(match['number'])}-")]
    if longer and "{" not in match["number"]:
        return tuple(longer[:1])
    stem, brace, last = match["number"].partition("{")
    if not brace:
        return _up_to(_canonical(stem), title)
    return tuple(_canonical(stem + each) for each in re.findall(r"\d+", last))


def _up_to(first: str, title: str) -> tuple[str, ...]:
    """`2-1-1`, or all of them where the title goes on as in `2-1-1 ~ 2-1-5`, or `2-1-1 and 2-1-2`."""
    number = _NUMBER.search(title)
    match = _RANGE.match(title, number.end()) if number else None
    if number and match is None and _ALSO.match(title, number.end()):
        named, end = [first], number.end()
        while (also := _ALSO.match(title, end)) and len(named) < _MOST_NUMBERS:
            named.append(_canonical(also["other"]))
            end = also.end()
        return tuple(each for each in named if each.count("-") == first.count("-") > 1) or (first,)
    stem, _, begin = first.rpartition("-")
    other, _, last = _canonical(match["last"]).rpartition("-") if match else ("", "", "")
    if not stem or other != stem or not int(begin) < int(last):
        return (first,)
    return tuple(f"{stem}-{each}" for each in range(int(begin), int(last) + 1))


def _canonical(number: str) -> str:
    return re.sub(r"\D+", "-", number)


def _is_numbering(numbers: tuple[str, ...]) -> bool:
    """Of lines without markup only a number of several parts makes a heading."""
    return bool(numbers) and "-" in numbers[0]


def _words(text: str) -> str:
    return _MARKUP.sub(" ", text).strip().lower()
