"""The value that stands behind some words in a text: `**Total MACs** (G) = 1.498`, `| Total MACs | 1.498 | GMac |`.

What is read here is what a text plainly says, without knowing what is right. The judge weighs the whole section
(`judging/texts`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from labgrade.answers.reading.blocks import Kind, kinds
from labgrade.answers.reading.code import is_code, starts_a_variable
from labgrade.answers.reading.doubts import doubt_about, other_model, taken_back
from labgrade.answers.reading.find_words import find_words
from labgrade.answers.reading.numerals.number_words import Found, in_words
from labgrade.answers.reading.numerals.numbers import MEASURED, as_ascii, explain_number, find_numbers, with_point
from labgrade.answers.reading.numerals.units import divided_by, is_unit, label_unit, noun_in
from labgrade.answers.reading.plain_values import NOT_FINITE, read_shape, shapes_said
from labgrade.answers.reading.tabular.headers import OUR_ANSWER, unit_of_header
from labgrade.answers.reading.words.terms import (
    DIGIT,
    GOES_ON,
    JOINED,
    LETTERS,
    PIPES,
    TOTAL,
    agree,
    is_term,
    misprinted,
    stands_out,
)
from labgrade.answers.reading.words.vocabulary import pattern
from labgrade.values import Number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.values import Value

MOST_PLACES = 1_000
_REACH = 400
_MOST_ROWS = 200
_SCALED = frozenset({"count", "bytes", "number"})  # kinds that a power of ten or two may be divided out of
_NEGATED = re.compile(r"(?:non|not|un)[\s_*-]{0,3}$|[不非無无未]$", re.IGNORECASE)
_FILLER = re.compile(
    r"""[\s*_`~$"'>\\]+ | </?\w[^<>\n]{0,80}> | [-=:|,≈→⇒]+>? | <=> | \\approx | \\sim | \.{2,}|…+|·{3,}
      | (?:is|are|was|were|be|equals?|equal\ to|to|about|approx(?:\.|imately)?|roughly|around|exactly|only|in\ total
          |total|count|number|value|result|comes?)(?![A-Za-z0-9])
      | 總共|總計|總和|总共|总计|总和|大約|大约|等於|等于|數量|数量|次數|次数|[是為为約约共數数量]""",
    re.VERBOSE | re.IGNORECASE,
)
_REMARK = re.compile(r"[(\[]([^()\[\]\n]{0,80})[)\]]")
_CLOSES = re.compile(r"[ \t*_`]{0,4}[)\uff09]")  # (non-trainable parameters): none
_STATED = re.compile(r"(?:in\s|unit)[^\n:=|\uff1a]{1,20}(?=[:=|\uff1a]|\s(?:is|are)\s)", re.IGNORECASE)
_IN_ALL = re.compile(r"\b(?:in all|altogether|overall|needs?|requires?|takes?)\b|需要", re.IGNORECASE)
_NAMES = re.compile(  # ['Add', 'Conv'] (2), and Add, Conv = 2
    r"[\s:=]{0,6}(?:[\[{(]\s?(?:['\"]|[A-Z]\w{1,40},)[^\[\]{}()\n]{0,300}[\]})]\s{0,4}[(=:]{0,2}\s?(?=\d)"
    r"|[A-Z]\w{1,40}(?:(?:,|,?\sand)\s?[A-Z]\w{1,40}){2,40}\s{0,4}[(=:]\s?(?=\d{1,4}\W*$))"
)
_COUNTS = re.compile(r"\d[\d.,]*\s?[kKMGT]?\s{0,20}$")  # the words are the unit of this number, and head nothing
_NUMBERED = re.compile(r"[\s>*+-]*\d{1,3}[.)]?\s*")  # 1. Total MACs
_UNIT_OF = re.compile(r"[\s*_`$]*(?:are|is|were)?[\s*_`$]*")
_EMPTY_LINE = re.compile(r"\s*+(?:(?:`{3,}|~{3,}|:::).*+|[-=*_+|─═:\s]*+|</?\w[^<>]*+>)\s*+$")
_LIST_MARK = re.compile(r"\s*(?:[-*+•>]\s+)*\d{1,3}[.)]\s")
_RULE = re.compile(r"\s*+(?:[|+:├┼╞╪](?=[^-─═]*+[-─═])[\s|+:┼┤╡╪─═-]*+$|:?-{3,}+:?\s*+\|[\s|:-]*+$)")
_SENTENCE_END = re.compile(r"(?<!approx)(?<!\bca)(?<!\bno)[.!?]\s+(?=[A-Z0-9])|[\u3002\uff1b;]")
_PERCENT_ZERO = re.compile(r"0(?:[.,]0{1,6})?[ \u00a0]?%(?:\s(?:of|von|der|de|des|del)\b[^\n.;|]{0,60})?")
_ENDS = re.compile(r"[\s*_`|]*(?:[.,;)\u3002\uff0c\uff1b]|\([^()]{0,60}\)|$)")
_UNIT_BESIDE = re.compile(r"[\s*_`$]{0,9}(?:\|\s*([^|\s][^|\n]{0,15}?)\s*\||[(\[]\s*([^()\[\]\n]{1,20}?)\s*[)\]])")
_TITLES = re.compile(r"\s*(?:/|&|and|和|與|与)\s*(?:total\s|the\s)?[A-Za-z][\w-]{1,20}\s*(?=[:=|])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A value behind the words at `position`, or the reason why there is none.

    `near`: only signs lead to it. `doubt`: why it may not be meant. `unsummed`: there is no value, but a table without
    a row of totals whose column the words head.
    """

    position: int
    value: Value | None = None
    problem: str = ""
    near: bool = True
    doubt: str = ""
    unsummed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What is asked for: the kind of value, the unit in the words, what they count, of which model."""

    kind: str
    unit: str = ""
    noun: str = ""
    about: str = ""


@lru_cache(maxsize=4)
def _whole(text: str) -> tuple[str, list[int]]:
    """Return a text as ASCII, and where its lines end; remembered for all of its sections."""
    return as_ascii(text), [each.start() for each in re.finditer("\n", text)]


def candidates(text: str, start: int, end: int, words: str, kind: str, *, about: str = "") -> list[Candidate]:
    """Return every value of the kind that the text gives behind the words; a caller prefers those that are `near`.

    `about`: the model in question. At most `MOST_PLACES` places are looked at; time is linear in the length of the
    text.
    """
    noun = "" if kind == "bytes" else noun_in(words)
    found: list[Candidate] = []
    of_lines: tuple[Kind, ...] = ()
    plain, ends_of_lines = _whole(text)
    for match in islice(find_words(words, plain, start, end), MOST_PLACES):
        of_lines = of_lines or kinds(text)
        line = bisect_left(ends_of_lines, match.start())
        before = text[max(start, match.start() - _REACH) : match.start()].rpartition("\n")[2]
        rest = GOES_ON.sub(lambda gap: " " * len(gap[0]), text[match.end() : min(end, match.end() + _REACH)]).partition(
            "\n"
        )[0]
        weak = starts_a_variable(before[-200:] + match[0] + rest)
        ends = of_lines[line].quoted and not of_lines[min(line + 1, len(of_lines) - 1)].quoted
        if ends and not rest.strip(" \t*_`:.?\uff1a\uff1f"):
            continue  # the words of a statement that is quoted head nothing below it
        if _NEGATED.search(before) or (of_lines[line].code and not (weak and not of_lines[line].fenced)):
            continue
        asked = _Wanted(kind=kind, unit=match["prefix"] or unit_of_header(words), noun=noun, about=about)
        counted_here = _COUNTS.search(before) and "|" not in rest and not _NUMBERED.fullmatch(before)
        behind = [] if counted_here else _text_behind(text, match, before, rest, end, asked)
        behind = _as_unit(match, before, rest, words, asked, behind)
        if of_lines[line].example:
            behind = [replace(each, doubt=each.doubt or of_lines[line].example) for each in behind]
        found += [replace(each, near=False) for each in behind] if weak else behind
    return found


def _as_unit(
    match: re.Match[str], before: str, rest: str, words: str, asked: _Wanted, behind: list[Candidate]
) -> list[Candidate]:
    """Return what is behind the words, and the number in front that has them as its unit: `5,000 total MACs`.

    A single word is the unit of any number, so the line must call it the total: `5,000 MACs in total`.
    """
    numbers = list(find_numbers(as_ascii(before + match[0]), asked.kind)) if asked.kind in ("count", "bytes") else []
    last = numbers[-1] if numbers else None
    if last is None or last.number is None or not (last.end >= len(before) or _UNIT_OF.fullmatch(before, last.end)):
        return behind
    near = [each for each in behind if each.near]
    specific = (
        len(words.split()) > 1 or _IN_ALL.search(before + rest) or pattern("labels", "total").search(before + rest)
    )
    if not specific or (near and not stands_out(before + match[0], last)):
        return near
    return [
        Candidate(
            position=match.start(), value=last.number, doubt=doubt_about(before[: last.start], rest, asked.about)
        ),
        *near,
    ]


def _text_behind(text: str, match: re.Match[str], before: str, rest: str, end: int, asked: _Wanted) -> list[Candidate]:
    """Return what is behind the words: on their line, in the column below them, or on the next line."""
    label, plain = before.translate(PIPES), as_ascii(rest).translate(PIPES)
    line_end = match.end() + len(rest) + 1
    below = text[line_end : min(end, line_end + 5 * _REACH)]
    if "|" in label + plain:
        if _RULE.match(below.partition("\n")[0]) and (
            column := _column_below(text, label, plain, line_end, end, asked)
        ):
            return column
        header = _header_above(text, match.start() - len(before))
        asked = replace(asked, unit=_unit_above(header, label + plain, label, asked) or asked.unit)
        plain = _of_model(header, label, plain, asked.about)
    titles = _TITLES.match(plain)
    position, stated = _skip_to_value(plain, asked.kind, titles.end() if titles else 0)
    asked = replace(asked, unit=stated or asked.unit)
    if position < len(plain):
        found = _on_line(label + match[0], plain, position, asked, match.end())
        return found[:1] if titles else found
    return _next_line(label + match[0], below, asked, line_end)


def _skip_to_value(plain: str, kind: str, position: int = 0) -> tuple[int, str]:
    """Return where the value may begin, behind signs, markup, filler words and remarks; and a unit that these state."""
    unit = ""
    if position == 0 and (closes := _CLOSES.match(plain)):
        position = closes.end()
    if kind == "count" and (listed := _NAMES.match(plain, position)):
        return listed.end(), unit
    while position < len(plain):
        if (divided := divided_by(plain, position) if kind in _SCALED else None) is not None:
            position, unit = divided
            continue
        stated = _STATED.match(plain, position)
        if stated is not None and label_unit(stated[0], kind) is not None:
            position, unit = stated.end(), stated[0]
            continue
        filler = _FILLER.match(plain, position)
        if filler is not None and not re.match(r"-\d", plain[position:]):
            position = filler.end()
            continue
        remark = _REMARK.match(plain, position)
        if remark is None or kind in ("shape", "text"):
            break
        if label_unit(remark[1], kind) is not None:
            unit = remark[1]
        elif _is_value(remark[1], kind) and not any(each.number for each in find_numbers(plain[remark.end() :], kind)):
            return remark.start() + 1, unit
        position = remark.end()
    return position, unit


def _is_value(remark: str, kind: str) -> bool:
    found = explain_number(remark, kind)
    return found.number is not None and stands_out(remark, found)


def _on_line(label: str, plain: str, position: int, asked: _Wanted, offset: int) -> list[Candidate]:
    rest = plain[position:]
    if asked.kind == "text":
        value = rest.strip().strip("*`|\"'").strip()
        led = re.search(r"[:=|\u2192>]|\s[-\u2013]\s", plain[:position]) or len(value.split()) == 1
        return [Candidate(position=offset, value=value, doubt="" if led else label.strip()[-40:])] if value else []
    if asked.kind == "shape":
        said = shapes_said(rest)
        return [Candidate(position=offset, value=shape, near=near, doubt=doubt) for shape, near, doubt in said]
    return list(_numbers(label + plain[:position], rest, asked, offset))


def _numbers(before: str, rest: str, asked: _Wanted, offset: int) -> Iterator[Candidate]:
    """Yield the numbers of the rest of a line, first the number that is meant, and a different number beside it."""
    rest = with_point(rest) if asked.kind in MEASURED else rest
    stop = _SENTENCE_END.search(rest)
    part = rest[: stop.start()] if stop else rest
    said = not_counted(part, asked.kind)
    if said is not None:
        yield Candidate(position=offset, value=said.number, problem=said.problem)
        return
    all_found = list(find_numbers(part, asked.kind, unit=_unit_beside(part, asked.kind) or asked.unit))
    good = [each for each in all_found if each.number is not None]
    found = [each for each in good if not is_term(part, each)] or ([] if "=" in part else good)
    others = [each for each in found if asked.noun and each.noun and each.noun != asked.noun and stands_out(part, each)]
    found = [each for each in found if not (asked.noun and each.noun and each.noun != asked.noun)]
    if asked.kind == "bytes" and any(each.measures == "bytes" and stands_out(part, each) for each in found):
        found = [each for each in found if each.measures or not pattern("items").match(part[each.end :].lstrip(" *_`"))]
    joined = (each for each in found if each.start == 0 or JOINED.search(part[: each.start]))
    first = next((each for each in joined if each.start == 0 or stands_out(part, each)), None)
    near = first is not None
    first = first or next((each for each in found if stands_out(part, each)), None)
    if first is None and all_found and all_found[0].start == 0 and all_found[0].problem:
        yield Candidate(position=offset, problem=all_found[0].problem)
        return
    if first is None:
        yield from (Candidate(position=offset, value=each.number, doubt=each.noun) for each in others[:1])
        return
    doubt = doubt_about(before + part[: first.start], rest[first.end :], asked.about) or taken_back(rest, first)
    yield Candidate(position=offset, value=first.number, near=near, doubt=doubt)
    for each in _numbers_beside(part, first, found, asked.kind):
        yield Candidate(position=offset, value=each, near=near, doubt=doubt)


def _numbers_beside(part: str, first: Found, found: list[Found], kind: str) -> Iterator[Number]:
    """Yield numbers right beside the first number that differ from it: `5 or 6`, `5 (6)`."""
    last = first
    for each in found:
        between = part[last.end : each.start]
        if each.start <= first.start or not stands_out(part, each) or first.number is None or each.number is None:
            continue
        words = [word for word in LETTERS.findall(between) if len(word) > 1 and not is_unit(word)]
        if any(not pattern("doubts", "choice").fullmatch(word) for word in words):
            return
        if kind == "number" and between.strip() == "(":  # 10e-2 (0.98): another measurement
            return
        if not agree(first.number, each.number) and not (kind == "bytes" and misprinted(first.number, each.number)):
            yield each.number
        last = each


def not_counted(rest: str, kind: str) -> Found | None:
    """Return a number that is written without digits, `none` or `zero`, or the problem with `nan`."""
    if kind in ("count", "bytes"):
        none = pattern("nothing").match(rest) or _PERCENT_ZERO.match(rest)
        if none is not None and _ENDS.match(rest, none.end()):
            return Found(start=0, end=none.end(), number=Number(value=Fraction(0), text=none[0]))
        if (words := in_words(rest, 0)) is not None:
            end, value = words
            return Found(start=0, end=end, number=Number(value=Fraction(value), text=rest[:end].strip()))
    no_number = NOT_FINITE.match(rest)
    if no_number is None:
        return None
    return Found(start=0, end=no_number.end(), problem=f"'{no_number[0]}' is not a number that can be judged")


def _unit_beside(rest: str, kind: str) -> str:
    """Return the unit in a table's next cell, the `GMac` of `| 1.498 | GMac |`, or in brackets: `1.498 (GMac)`."""
    number = next(find_numbers(rest, "number"), None)
    beside = _UNIT_BESIDE.match(rest, number.end) if number is not None else None
    unit = (beside[1] or beside[2]) if beside is not None else ""
    return unit if unit and (label_unit(unit) or label_unit(unit, kind)) is not None else ""


def _next_line(label: str, below: str, asked: _Wanted, offset: int) -> list[Candidate]:
    """Return the first line that is not blank, if it begins with the value."""
    for line in below.split("\n")[:6]:
        if not _EMPTY_LINE.match(line):
            plain = as_ascii(line).translate(PIPES)[len(line) - len(line.lstrip(" \t>")) :][:_REACH]
            position, stated = _skip_to_value(plain, asked.kind)
            if is_code(line) or _LIST_MARK.match(line) or position >= len(plain):
                return []
            return _on_line(label, plain, position, replace(asked, unit=stated or asked.unit), offset)
        offset += len(line) + 1
    return []


# ---- tables --------------------------------------------------------------------------------------------------------


def _header_above(text: str, position: int) -> list[str]:
    """Return the cells of the header of the table that the row at `position` belongs to."""
    lines = text[max(0, position - 5 * _REACH) : position].split("\n")[-2::-1]
    for rule, header in pairwise(line.translate(PIPES) for line in lines):
        if "|" not in rule:
            return []
        if _RULE.match(rule):
            return header.split("|")
    return []


def _unit_above(header: list[str], row: str, label: str, asked: _Wanted) -> str:
    """Return the unit of a row's first number, from its header, `| Quantity | MiB |`, or from a cell of its own."""
    number = DIGIT.search(row, len(label))
    column = row.count("|", 0, number.start()) if number is not None else len(header)
    cell = header[column].strip(" *`_") if column < len(header) else ""
    cells = (each.strip(" *`_") for each in row.split("|")[label.count("|") + 1 :] if not DIGIT.search(each))
    said = (unit_of_header(cell) or cell, *cells)
    return next((each for each in said if label_unit(each, asked.kind) is not None), "")


def _of_model(header: list[str], label: str, plain: str, about: str) -> str:
    """Return the rest of a row without the cells below another model's name, if a column is left.

    Of several columns with numbers, the one whose header calls it the answer: `first run | our answer`.
    """
    first, cells = label.count("|"), plain.split("|")
    names = header[first : first + len(cells)] + [""] * len(cells)
    own = [cell for cell, name in zip(cells, names, strict=False) if not other_model(name, about)]
    meant = [bool(OUR_ANSWER.search(name)) for name in names[: len(cells)]]
    if meant.count(True) == 1:
        own = [cell for cell, is_meant in zip(cells, meant, strict=False) if is_meant or not DIGIT.search(cell)]
    return "|".join(own) if any(map(DIGIT.search, own[1:])) else plain


def _column_below(text: str, before: str, rest: str, line_end: int, end: int, asked: _Wanted) -> list[Candidate]:
    """Return the cells below a header: of the only row about this model, or of the row of totals."""
    column = before.count("|")
    header = (before.rpartition("|")[2] + rest).partition("|")[0]
    asked = replace(asked, unit=unit_of_header(header) or asked.unit)
    rows: list[tuple[str, Candidate]] = []
    position = _line_behind(text, line_end, end)
    for _ in range(_MOST_ROWS):
        line = text[position : min(end, position + 5 * _REACH)].partition("\n")[0]
        plain = as_ascii(line).translate(PIPES)
        cells = plain.split("|")
        if position >= end or "|" not in plain or column >= len(cells):
            break
        candidate = _cell(cells[column], asked.kind, asked.unit, position)
        if candidate is not None:
            rows.append((plain, replace(candidate, doubt=other_model(plain, asked.about))))
        position += len(line) + 1
    own = [row for row in rows if not row[1].doubt] or rows
    totals = [candidate for plain, candidate in own if TOTAL.match(plain)]
    if totals or len(own) <= 1 or asked.kind in ("text", "shape"):
        return totals or [candidate for _, candidate in own]
    return [Candidate(position=own[0][1].position, unsummed=len(own))]


def _line_behind(text: str, position: int, end: int) -> int:
    """Return where the next line begins, if the line at `position` is not too long."""
    line_end = text.find("\n", position, min(end, position + 5 * _REACH))
    return end if line_end == -1 else line_end + 1


def _cell(cell: str, kind: str, unit: str, position: int) -> Candidate | None:
    written = cell.strip().strip("*`").strip()
    if kind == "text":
        return Candidate(position=position, value=written) if written else None
    if kind == "shape":
        shape = read_shape(written)
        return Candidate(position=position, value=shape) if shape is not None else None
    found = next(find_numbers(written, kind, unit=unit), None)
    return Candidate(position=position, value=found.number, problem=found.problem) if found is not None else None
