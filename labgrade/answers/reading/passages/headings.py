"""Headings of a text, with their numbers as in 2-1-4: with Markdown, or as they come off a rendered page."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from labgrade.answers.reading.code import is_code
from labgrade.answers.reading.numerals.numbers import as_ascii
from labgrade.answers.reading.numerals.units import unit_at
from labgrade.answers.reading.words.terms import SIGNS, TAG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.answers.reading.documents import Document

MOST_LINES, _MOST_NUMBERS = 100_000, 50
_REMEMBERED = 4
PREFIX = (
    r"(?:(?:hw|homework|lab|problem|prob|question|task|part|section|exercise|ex|q|p"
    r"|(?:my\ )?ans(?:wers?)?(?:\ (?:to|for|of))?|solution(?:\ (?:to|for|of))?|results?(?:\ (?:of|for))?"
    r"|hausaufgabe|aufgabe|teilaufgabe|übung|teil|frage|abschnitt|kapitel|lösung(?:\ (?:zu|für))?"
    r"|antwort(?:\ (?:zu|auf))?|zu|ejercicio|pregunta|tarea|parte|sección|apartado|respuesta|problema"
    r"|exercício|questão|exercice|partie|devoir|réponse|作業|作业|題目|题目|題|题|第|課題|问题|問題"
    r"|練習|练习|實驗|实验|解答|回答|答案|答|問|小題|과제|문제|답안?|실습|숙제|設問"
    r")[\ \t.:\uff1a#_-]{0,3}){0,3}"
)
JOINT = r"\\?[-.\u2010-\u2014\uff0d\uff0e_]"
_NUMBERING = rf"\d{{1,2}}(?:{JOINT}\d{{1,2}}){{0,5}}(?:[-.]\{{\d{{1,2}}(?:[,_\ ]{{1,2}}\d{{1,2}}){{0,5}}\}})?"
# A task's number that is nothing else: behind a word of any language it makes a heading.
_ALONE = r"(?=\d{1,2}-\d{1,2}-\d{1,2}[ \t*_]{0,3}(?:[:\uff1a)]|$))"
_WORD = r"(?!(?:see|siehe|vgl|voir|cf|ver|v[eé]ase|vedi|zie|as|like|wie|comme|como|in)\b|[見见參参同如])[^\W\d_]{1,20}"
_WITHIN = re.compile(
    r"(?<![\w.\u2013-])\d{1,2}(?:-\d{1,2}){1,4}(?![\w-]|\.\d)|(?<![\w.-])\d{1,2}(?:\.\d{1,2}){2,4}(?![\w-]|\.\d)"
)
# A task's number right behind one's own: `Q4 (2-1-4)`, `3. HW 2-4`.
_BEHIND = re.compile(rf"[\s./:|=,-]{{0,6}}{PREFIX}(?P<number>{_WITHIN.pattern})", re.IGNORECASE)
_STRUCTURE = re.compile(
    rf"""^[\ \t>]{{0,12}}+(?=\S)(?:
        (?P<fence>`{{3,}}|~{{3,}}) [^\n`]{{0,80}}$
      | (?P<atx>\#{{1,6}}) (?:[\ \t]+ | (?=[*_]{{0,3}}{PREFIX}\d{{1,2}}{JOINT}\d)) (?P<title>\S[^\n]{{0,200}})
      | (?P<bold>\*{{2,3}}|_{{2,3}}) (?P<strong>[^\n*_]{{1,160}}) (?P=bold) (?P<behind>[^\n]{{0,160}}) $
      | (?P<tags>(?:<(?:h[1-6]|summary|details|font|span|strong|b|u|div|p|center|big)\b[^<>\n]{{0,200}}>[\ \t]*){{1,4}})
        (?P<tagged>[^\n]{{1,200}})
      | \\(?P<sub>(?:sub){{0,2}})section\*?\{{ (?P<latex>[^\n{{}}]{{1,200}}) \}}
      | (?P<bracket>[\[\u3010]) (?P<marked>{PREFIX}{_NUMBERING}[^\n\]\u3011]{{0,40}}[\]\u3011][^\n]{{0,160}}) $
      | (?P<plain>(?:{PREFIX}\d{{1,2}}{JOINT}|{_WORD}[\ \t]{{1,2}}{_ALONE})[^\n]{{0,160}}) $
      | [-*+] [\ \t]+ (?P<item>[*_]{{0,3}}{PREFIX}{_NUMBERING}(?:[.:\uff1a\u3001)*_]|[\ \t]*$)[^\n]{{0,160}}) $
      | (?P<rule>={{3,}}|-{{3,}}) [\ \t]* $
    )""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
NUMBER = re.compile(rf"{PREFIX}(?P<number>{_NUMBERING})(?![A-Za-z0-9])(?![-.]\d)", re.IGNORECASE)
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
_POINTED, _GAP = re.compile(r"\d+\.\d+"), re.compile(r"[ \u00a0*_`]{0,4}")
_DECIMAL = re.compile(r"\d+\.\d+(?![-.\d])")
_RULE_BELOW = re.compile(r"\n[ \t]*([=-])(?:\1){2,}[ \t]*$", re.MULTILINE)
_FRAME_BELOW = re.compile(r"\n[^\n]{3,400}\n[ \t]*([=-])\1{9,}[ \t]*(?:\n|\Z)")
BOLD, UNMARKED, _SETEXT = 7, 8, {"=": 1, "-": 2}
MARKUP = re.compile(r"(?:[#*`~\[\]\u3010\u3011()\uff08\uff09<>\u300c\u300d$\\\s]|(?<!\d)_|_(?!\d))+")
_SENTENCE_ENDS = (".", ",", ";", "\u3002", "\uff0c")
_VALUE_BEHIND = re.compile(r"[^\W\d_][^\n:=\uff1a]{0,60}[:=\uff1a]\s{0,4}[*_`~\u2248]{0,4}\s{0,4}\d[\d,._]{3,}")
_SAYS_NUMBERS = re.compile(  # `2-2-1  Total operators 100, Different types 6`; no `224x224 image`
    r"[^\W\d_]{2,40}[ \t]{1,4}[*_`~\u2248]{0,4}\d(?:[\d,._]{2,40}|\d{0,3}(?=[,/;|]))"
    r"(?![\w-]|[ \t]?(?i:[x\u00d7]|points?|pts?|pkt|punkte?|marks?|%|\u5206))"
)
# `2-2-1: 100 / 6`, `**2-2-1** 100 nodes`, `Q 2-2-1 / A 20 operators`; no `(3 points)`, no `224x224 image`
_VALUE_FIRST = re.compile(
    r"[\s:.\])*_`=/|>\uff1a\u2013\u2014-]{0,8}(?:[Aa][.:]?[ \t])?[*_`~\u2248]{0,4}\d[\d.,_']{0,40}"
    r"(?![\w-]|[ \t]?(?i:[x\u00d7]|points?|pts?|pkt|punkte?|marks?|%|\u5206))"
)
_SAYS_A_VALUE = re.compile(r"of\s|[^\n]{1,80}[:=\uff1a]\s*[*_`~\u2248]{0,4}\s*\d[\d,._]{3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading-like line at [start, end), with its `numbers` as in 2-1-4.

    `level` is 1 to 6, 7 if it is only bold (or in a list), 8 if it has no markup at all. `nested` is the number that it
    has with those of the headings around it.
    """

    start: int
    end: int
    level: int
    title: str
    numbers: tuple[str, ...] = ()
    nested: str = ""

    @property
    def known_as(self) -> tuple[str, ...]:
        """Return its numbers, whole."""
        return (self.nested,) if self.nested else self.numbers


@lru_cache(maxsize=_REMEMBERED)
def document_headings(document: Document) -> list[Heading]:
    """Return the headings of a document, in order."""
    return _nested(list(_headings(document.text)))


def _nested(headings: list[Heading]) -> list[Heading]:
    """Return the headings; `#### 4. MACs` below `### 2-1` gets the number 2-1-4, too, unless another has it."""
    said = {number for heading in headings for number in heading.numbers}
    around: list[Heading] = []
    found = []
    for heading in headings:
        if heading.level < BOLD:
            around = [outer for outer in around if outer.level < heading.level]
            outer = next((outer for outer in reversed(around) if outer.numbers), None)
            whole = _within(outer.known_as[0], heading.numbers[0]) if outer and heading.numbers else ""
            if outer and is_numbering(outer.known_as) and whole and whole not in said:
                heading = replace(heading, nested=whole)  # noqa: PLW2901 - the same, with its whole number
            around.append(heading)
        found.append(heading)
    return found


def _within(outer: str, own: str) -> str:
    """Return the whole number of a heading below another one: `4` below `2-1`, and `1-4`; "" if it is another's."""
    last = outer.rpartition("-")[2]
    if own.count("-") == 1 and own.startswith(f"{last}-") and "-" in outer:
        return f"{outer}-{own.partition('-')[2]}"
    return "" if "-" in own else f"{outer}-{own}"


def _headings(text: str) -> Iterator[Heading]:
    fence = ""
    for match in islice(_STRUCTURE.finditer(text), MOST_LINES):
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
    behind = level >= BOLD and is_numbering(numbers) and NUMBER.search(title)
    says_numbers = (level == UNMARKED and _SAYS_NUMBERS.search(title)) or (
        behind and _VALUE_FIRST.match(title, behind.end())
    )
    if numbers and (_VALUE_BEHIND.search(title) or says_numbers):
        end = start  # what the line says belongs to the section that it opens
    if level < BOLD:
        is_none = _SAYS_A_VALUE.match(title) or (match["atx"] == "#" and _is_comment(text, match))
        if is_none and not numbers:
            return None
        return Heading(start=start, end=end, level=level, title=title, numbers=numbers)
    all_bold = match["strong"] is not None and not match["behind"].strip(" \t:\uff1a")
    if not all_bold and (not is_numbering(numbers) or _is_prose(title)):
        return None
    rule = _RULE_BELOW.match(text, match.end()) if match["plain"] else None
    if rule is not None:
        end, level = max(end, rule.end() if end > start else start), _SETEXT[rule[1]]
    return Heading(start=start, end=end, level=level, title=title, numbers=numbers)


def _is_prose(title: str) -> bool:
    """Return whether a numbered line is a sentence or begins with a decimal: `2-1-4 is hard.`, `1.5 GMACs`."""
    ends = title.endswith(_SENTENCE_ENDS) and not NUMBER.fullmatch(title[:-1])
    return bool(ends or _DECIMAL.match(title)) or _is_value(title)


def _is_value(title: str) -> bool:
    """Return whether the number of a line is a value: `Result: 26.5 MB`, `Answer = 1.498`."""
    found = NUMBER.search(title)
    if found is None or not _POINTED.fullmatch(found["number"]):
        return False
    gap = _GAP.match(title, found.end())
    leads = title[: found.start("number")].rstrip(" \t*_`").endswith((":", "=", "\uff1a"))
    return leads or unit_at(title, gap.end() if gap else found.end(), attached=False) is not None


def _dressed(match: re.Match[str]) -> tuple[int, str]:
    """Return the level of a heading and its text."""
    if match["atx"]:
        return len(match["atx"]), match["title"].strip()
    if match["latex"]:
        return 1 + match["sub"].lower().count("sub"), match["latex"].strip()
    if match["tags"]:
        high = re.search(r"<h([1-6])", match["tags"], re.IGNORECASE)
        return int(high[1]) if high else BOLD, TAG.sub(" ", match["tagged"]).strip()
    if match["strong"]:
        return BOLD, f"{match['strong'].strip()} {match['behind'].strip()}".strip()
    if match["item"]:
        return BOLD, match["item"].strip().strip("*_")
    return UNMARKED, (match["marked"] or match["plain"]).strip()


def _setext(text: str, match: re.Match[str]) -> Iterator[Heading]:
    """Yield the line above a rule that has a blank line above it: rules inside of printed tables have none."""
    above = text[max(0, match.start() - 400) : match.start()].split("\n")
    if len(above) < 2 or not above[-2].strip() or (len(above) > 2 and above[-3].strip()):  # noqa: PLR2004 - two lines
        return
    title = above[-2].strip()
    frames = _FRAME_BELOW.match(text, match.end())  # of a table that a tool printed
    if not frames and not re.match(r"[#>|`~]|:::|[-*+] ", title) and not is_numbering(_numbers(title)):
        start = match.start() - len(above[-2]) - 1
        level = _SETEXT[match["rule"][0]]
        yield Heading(start=start, end=match.end(), level=level, title=title, numbers=_numbers(title))


def _is_comment(text: str, match: re.Match[str]) -> bool:
    """Return whether `# ...` is a comment of a program without a fence: code is directly above or below."""
    above = text[max(0, match.start() - 400) : max(0, match.start() - 1)].rpartition("\n")[2]
    below = text[match.end() + 1 : match.end() + 400].partition("\n")[0]
    return any(is_code(line) or re.match(r"#(?!#)|\w[\w., ]*\s=\s", line.strip()) for line in (above, below))


def _numbers(title: str) -> tuple[str, ...]:
    """Return the numbers of a heading: `2-1-4` of `2-1-4. Computation`; both of `2-2-{2,3}`."""
    plain = MARKUP.sub(" ", TAG.sub(" ", as_ascii(title).replace("\\", "")))
    begin = SIGNS.match(plain)
    of_a_lab = _OF_A_LAB.match(plain, begin.end() if begin else 0)
    if of_a_lab:
        return (f"{of_a_lab[1]}-{of_a_lab[2]}",)
    match = NUMBER.match(plain, begin.end() if begin else 0)
    within = [canonical(found) for found in _WITHIN.findall(plain)]
    if match is None:
        most = max((number.count("-") for number in within), default=0)
        return tuple(dict.fromkeys(number for number in within if number.count("-") == most))
    behind = _BEHIND.match(plain, match.end())
    if behind and canonical(match["number"]).isdecimal():  # Q4 (2-1-4)
        return (canonical(behind["number"]),)
    longer = [number for number in within if number.startswith(f"{canonical(match['number'])}-")]
    if longer and "{" not in match["number"]:
        return tuple(longer[:1])
    stem, brace, last = match["number"].partition("{")
    if not brace:
        return _up_to(canonical(stem), title)
    return tuple(canonical(stem + each) for each in re.findall(r"\d+", last))


def _up_to(first: str, title: str) -> tuple[str, ...]:
    """Return `2-1-1`, or all numbers if the title goes on as in `2-1-1 ~ 2-1-5`, or `2-1-1 and 2-1-2`."""
    number = NUMBER.search(title)
    match = _RANGE.match(title, number.end()) if number else None
    if number and match is None and _ALSO.match(title, number.end()):
        named, end = [first], number.end()
        while (also := _ALSO.match(title, end)) and len(named) < _MOST_NUMBERS:
            named.append(canonical(also["other"]))
            end = also.end()
        return tuple(each for each in named if each.count("-") == first.count("-") > 1) or (first,)
    stem, _, begin = first.rpartition("-")
    other, _, last = canonical(match["last"]).rpartition("-") if match else ("", "", "")
    if not stem or other != stem or not int(begin) < int(last):
        return (first,)
    return tuple(f"{stem}-{each}" for each in range(int(begin), int(last) + 1))


def canonical(number: str) -> str:
    """Return a number as `2-1-4`, however it was written."""
    return re.sub(r"\D+", "-", number)


def is_numbering(numbers: tuple[str, ...]) -> bool:
    """Return whether a number has several parts: without markup, only such a line is a heading."""
    return bool(numbers) and "-" in numbers[0]
