"""The value that follows some words in a text: `**Total MACs** (G) = 1.498`, `| Total MACs | 1.498 | GMac |`."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from labgrade.answers.reading.claims import Claim, Wanted, claims, stands_out
from labgrade.answers.reading.code import is_code, is_comment, starts_a_variable
from labgrade.answers.reading.doubts import REMARK, doubt_about, other_model
from labgrade.answers.reading.find_words import find_words
from labgrade.answers.reading.numerals.numbers import as_ascii, explain_number, find_numbers
from labgrade.answers.reading.numerals.units import divided_by, label_unit, noun_in
from labgrade.answers.reading.plain_values import read_shape, shapes_said
from labgrade.answers.reading.tabular.headers import OUR_ANSWER, unit_of_header

if TYPE_CHECKING:
    from labgrade.answers.reading.numerals.number_words import Found
    from labgrade.values import Value

MOST_PLACES = 1_000
_REACH = 400
_SCALED = frozenset({"count", "bytes", "number"})  # kinds that a power of ten or two may be divided out of
_DIGIT = re.compile(r"\d")
_MOST_ROWS = 200

_FULL_WIDTH = re.compile("[\uff10-\uff5a]")
_NEGATED = re.compile(r"(?:non|not|un)[\s_*-]{0,3}$|[不非無无未]$", re.IGNORECASE)

_FILLER = re.compile(
    r"""[\s*_`~$"'>\\]+ | </?\w[^<>\n]{0,80}> | (?P<joint>[-=:|,≈→⇒]+>?|<=>|\\approx|\\sim) | \.{2,}|…+|·{3,}
      | (?:is|are|was|were|be|equals?|equal\ to|to|about|approx(?:\.|imately)?|roughly|around|exactly|only|in\ total
          |total|count|number|value|result|comes?)(?![A-Za-z0-9])
      | 總共|總計|總和|总共|总计|总和|大約|大约|等於|等于|數量|数量|次數|次数|[是為为約约共數数量]""",
    re.VERBOSE | re.IGNORECASE,
)
_NAMES = re.compile(
    r"[\s:=]{0,6}(?:[\[{(]\s?(?:['\"]|[A-Z]\w{1,40},)[^\[\]{}()\n]{0,300}[\]})]\s{0,4}[(=:]{0,2}\s?(?=\d)"
    r"|[A-Z]\w{1,40}(?:(?:,|,?\sand)\s?[A-Z]\w{1,40}){2,40}\s{0,4}[(=:]\s?(?=\d{1,4}\W*$))"
)  # ['Add', 'Conv'] (2)
_CLOSES = re.compile(r"[ \t*_`]{0,4}[)\uff09]")  # (non-trainable parameters): none
_STATED = re.compile(r"(?:in\s|unit)[^\n:=|\uff1a]{1,20}(?=[:=|\uff1a]|\s(?:is|are)\s)", re.IGNORECASE)
_PAIRED = re.compile(
    r"\s*(?:/|&|and|和|與|与)\s*(?:total\s|the\s)?[A-Za-z][\w-]{1,20}\s*(?:\([^()\n]{0,20}\)\s*)?(?=[:=|])",
    re.IGNORECASE,
)
_COUNTS = re.compile(r"\d[\d.,]*\s?[kKMGT]?\s{0,20}$")  # the words are the unit of this number, and head nothing
_UNIT_OF = re.compile(r"[\s*_`$]*(?:are|is|were)?[\s*_`$]*")
_AS_IT_IS_CALLED = re.compile(r"[\s*_`$]{0,4}\([\s*_`]{0,4}")  # 5,000 multiply-accumulates (MACs)
_IN_ALL = re.compile(
    r"\b(?:total|in all|altogether|overall|sum|needs?|requires?|takes?|costs?)\b|總|总|共|需要|合計|合计", re.IGNORECASE
)
_EMPTY_LINE = re.compile(r"\s*+(?:(?:`{3,}|~{3,}|:::).*+|[-=*_+|─═:\s]*+|</?\w[^<>]*+>)\s*+$")
_QUOTED = re.compile(r"[ \t]*+(?>(?:>[ \t]?)+)")
_LIST_MARK = re.compile(r"\s*(?:[-*+•>]\s+)*\d{1,3}[.)]\s")
_RULE = re.compile(r"\s*+(?:[|+:├┼╞╪](?=[^-─═]*+[-─═])[\s|+:┼┤╡╪─═-]*+$|:?-{3,}+:?\s*+\|[\s|:-]*+$)")
# A line that goes on with `= 5`, or in the middle of a sentence.
GOES_ON = re.compile(
    r"\n[ \t>]*(?:[&|][ \t]*)?(?:(?==(?!=))|(?=≈|\\approx))"
    r"|(?<=[^\n|=;{}]{60}[a-z,])\n(?=[a-z]{1,20}[ ]|\d[\d,.]{4,20}[ ][A-Za-z])"
)
PIPES = str.maketrans(dict.fromkeys("\u2502\u2503\u2551\uff5c", "|"))
LEFT_OUT = re.compile(
    r"[\s|*`]*[\[(<]?(?:\.\.(?=[\s.]*$)[\s.]*$|\.\.\.|(?:\.[ \t]){2,9}\.|[.:\u00b7](?=\s*$)"
    r"|[\u2026\u22ee\u22ef]|(?<=[\[(<])(?:omitted|snip|\u7565|\u7701\u7565))(?:[^\n]{0,40}|[\s.\u2026\u22ee|*`]{0,400})$"
)
TOTAL = re.compile(
    r"[\s*_|]*(?:grand\s)?(?:total|sum|overall|\u03a3(?!\w)|\u2211|合計|總計|總和|总和|总计|合计)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A value behind the words at `position`, or the reason why it is none.

    `near`: nothing but signs lead to it. `doubt`: why it may not be meant. `unsummed`: there is no value, but a table
    whose column the words head, and no row of totals.
    """

    position: int
    value: Value | None = None
    problem: str = ""
    near: bool = True
    doubt: str = ""
    unsummed: int = 0


def candidates(text: str, start: int, end: int, words: str, kind: str, *, about: str = "") -> list[Candidate]:
    """Every value of the kind that the text says with the words; a caller prefers those that are `near`.

    `about`: the model in question. At most `MOST_PLACES` places are looked at; time is linear in the length of the
    text.
    """
    searched = _plain(text) if _FULL_WIDTH.search(text, start, end) else text
    noun = "" if kind == "bytes" else noun_in(words)
    found: list[Candidate] = []
    for match in islice(find_words(words, searched, start, end), MOST_PLACES):
        before = text[max(start, match.start() - _REACH) : match.start()].rpartition("\n")[2]
        rest = GOES_ON.sub(_blanks, text[match.end() : min(end, match.end() + _REACH)]).partition("\n")[0]
        line = before[-200:] + match[0] + rest
        weak = starts_a_variable(line)
        if _NEGATED.search(before) or (is_code(line) and not weak):
            continue
        asked = Wanted(kind=kind, unit=match["prefix"] or unit_of_header(words), noun=noun, about=about)
        behind = _behind(text, match, before, rest, end, asked)
        behind = _as_unit(match, before, rest, words, asked, behind)
        if is_comment(text, match.start() - len(before)):
            behind = [replace(each, doubt=each.doubt or "a comment in a program") for each in behind]
        elif example := said_of(examples(text), match.start()):
            behind = [replace(each, doubt=each.doubt or example) for each in behind]
        found += [replace(each, near=False) for each in behind] if weak else behind
    return found


def _blanks(found: re.Match[str]) -> str:
    return " " * len(found[0])


@functools.lru_cache(maxsize=1)
def _plain(text: str) -> str:
    """A whole document, of which many sections are looked at one after the other."""
    return as_ascii(text)


def _as_unit(
    match: re.Match[str], before: str, rest: str, words: str, asked: Wanted, behind: list[Candidate]
) -> list[Candidate]:
    """What stands behind the words, and the number that they are the unit of: `5,000 total MACs`.

    A single word is the unit of any number, so the line must say that it is the total: `5,000 MACs in total`.
    """
    numbers = list(find_numbers(as_ascii(before + match[0]), asked.kind)) if asked.kind in ("count", "bytes") else []
    last = numbers[-1] if numbers else None
    if last is None or last.number is None or not _leads_to_words(before, last, asked.noun):
        return behind
    near = [each for each in behind if each.near]
    specific = len(words.split()) > 1 or bool(_IN_ALL.search(before + rest))
    if not specific or (near and not stands_out(before + match[0], last)):
        return near
    doubt = doubt_about("", before[: last.start], rest, asked.about)
    return [Candidate(position=match.start(), value=last.number, doubt=doubt), *near]


def _leads_to_words(before: str, last: Found, noun: str) -> bool:
    """Whether nothing but signs stands between a number and the words, or only what they are called in full."""
    called = _AS_IT_IS_CALLED.fullmatch(before, last.end) if noun and last.noun == noun else None
    return last.end >= len(before) or bool(called or _UNIT_OF.fullmatch(before, last.end))


def _behind(text: str, match: re.Match[str], before: str, rest: str, end: int, asked: Wanted) -> list[Candidate]:
    """What stands behind the words: on their line, in the column below them, or on the next line."""
    label, plain = before.translate(PIPES), as_ascii(rest).translate(PIPES)
    line_end = match.end() + len(rest) + 1
    below = text[line_end : min(end, line_end + 5 * _REACH)]
    if "|" in label + plain:
        column = (
            _column_below(text, label, plain, line_end, end, asked) if _RULE.match(below.partition("\n")[0]) else []
        )
        if column:
            return column
        header = _header_above(text, match.start() - len(before))
        asked = replace(asked, unit=_unit_above(header, label + plain, label, asked) or asked.unit)
        plain = _of_model(header, label, plain, asked.about)
    paired = _PAIRED.match(plain)
    position, stated = _skipped(plain, asked.kind, paired.end() if paired else 0)
    asked = replace(asked, unit=stated or asked.unit)
    if position < len(plain):
        return _on_line(label, plain, position, asked, match.end(), paired=paired is not None)
    if _COUNTS.search(before):
        return []
    return _next_line(label, below, asked, line_end)


def _header_above(text: str, position: int) -> list[str]:
    """The cells of the header of the table that the row at `position` is in."""
    lines = text[max(0, position - 5 * _REACH) : position].split("\n")[-2::-1]
    for rule, header in pairwise(line.translate(PIPES) for line in lines):
        if "|" not in rule:
            return []
        if _RULE.match(rule):
            return header.split("|")
    return []


def _unit_above(header: list[str], row: str, label: str, asked: Wanted) -> str:
    """The unit of a row's first number: of its column's header, `| Quantity | MiB |`, or of a cell of its own."""
    number = _DIGIT.search(row, len(label))
    column = row.count("|", 0, number.start()) if number is not None else len(header)
    cell = header[column].strip(" *`_") if column < len(header) else ""
    cells = (each.strip(" *`_") for each in row.split("|")[label.count("|") + 1 :] if not _DIGIT.search(each))
    said = (unit_of_header(cell) or cell, *cells)
    return next((each for each in said if label_unit(each, asked.kind) is not None), "")


def _of_model(header: list[str], label: str, plain: str, about: str) -> str:
    """The rest of a row without the cells beneath another model's name, where a column is left.

    Of several columns with numbers that whose header says that it is the answer: `first run | our answer`.
    """
    first, cells = label.count("|"), plain.split("|")
    names = header[first : first + len(cells)] + [""] * len(cells)
    own = [cell for cell, name in zip(cells, names, strict=False) if not other_model(name, about)]
    meant = [bool(OUR_ANSWER.search(name)) for name in names[: len(cells)]]
    if meant.count(True) == 1:
        own = [cell for cell, is_meant in zip(cells, meant, strict=False) if is_meant or not _DIGIT.search(cell)]
    return "|".join(own) if any(map(_DIGIT.search, own[1:])) else plain


def _skipped(plain: str, kind: str, position: int = 0) -> tuple[int, str]:
    """Where the value may begin behind signs, markup, filler words and remarks; and a unit that is stated there."""
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
        remark = REMARK.match(plain, position)
        if remark is None or kind in ("shape", "text"):
            break
        if label_unit(remark[1], kind) is not None:
            unit = remark[1]
        elif _is_value(remark[1], kind) and not _says_number_later(plain, remark.end(), kind):
            return remark.start() + 1, unit
        position = remark.end()
    return position, unit


def _is_value(remark: str, kind: str) -> bool:
    found = explain_number(remark, kind)
    return found.number is not None and stands_out(remark, found)


def _says_number_later(plain: str, position: int, kind: str) -> bool:
    return any(found.number is not None for found in find_numbers(plain[position:], kind))


def _on_line(
    label: str, plain: str, position: int, asked: Wanted, offset: int, *, paired: bool = False
) -> list[Candidate]:
    rest = plain[position:]
    if asked.kind == "text":
        value = rest.strip().strip("*`|\"'").strip()
        return [Candidate(position=offset, value=value)] if value else []
    if asked.kind == "shape":
        said = shapes_said(rest)
        return [Candidate(position=offset, value=shape, near=near, doubt=doubt) for shape, near, doubt in said]
    return [_candidate(claim, offset) for claim in claims(label, plain, position, asked, paired=paired)]


def _candidate(claim: Claim, position: int) -> Candidate:
    found = claim.found
    return Candidate(position=position, value=found.number, problem=found.problem, near=claim.near, doubt=claim.doubt)


def _next_line(label: str, below: str, asked: Wanted, offset: int) -> list[Candidate]:
    """The first line with something on it, where that begins with the value."""
    for line in below.split("\n")[:6]:
        if not _EMPTY_LINE.match(line):
            quoted = _QUOTED.match(line)
            plain = as_ascii(line).translate(PIPES)[quoted.end() if quoted else 0 :][:_REACH]
            position, stated = _skipped(plain, asked.kind)
            if is_code(line) or _LIST_MARK.match(line) or position >= len(plain):
                return []
            return _on_line(label, plain, position, replace(asked, unit=stated or asked.unit), offset)
        offset += len(line) + 1
    return []


def _column_below(text: str, before: str, rest: str, line_end: int, end: int, asked: Wanted) -> list[Candidate]:
    """The cells under a header: of the only row, or of the row of totals. A row on another model is left out."""
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
    """Where the next line begins, if the line at `position` is of any sensible length."""
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


# ---- examples: of what is asked for, or of what another would print --------------------------------------------------

_REMEMBERED = 4
_MOST_EXAMPLES = 1_000
# Before a colon at the end of a line: what stands below is announced so.
_ANNOUNCED = re.compile(
    r"""(?P<said> \b(?:(?:should|must|shall|has\ to)\ (?:look\ like|be|print|say|read|show)
            | (?:expected|example|sample|intended|desired)\ (?:outputs?|results?|answers?|values?|runs?|prints?)
            | (?:outputs?|results?|answers?|print)\ (?:format|template|example)
            | (?:for\ example|e\.g\.|example|template)(?=[ *_]*[:\uff1a])
            | soll(?:te)?\b[^.:\n]{0,40}\b(?:aussehen|sein|ausgeben) | Beispielausgabe|(?:zum\ )?Beispiel(?=[:\uff1a])
            | deber[ií]a\ (?:ser|verse|imprimir|mostrar) | por\ ejemplo(?=[:\uff1a])
            | devrait\ (?:être|afficher|ressembler) | par\ exemple(?=\s?[:\uff1a]))
          | (?:範例|范例|預期|预期|期望|例如|應該|应该|格式)[^\n:\uff1a]{0,8})
        [^.\n:\uff1a]{0,40}[:\uff1a][ \t*_]*$""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_BLANK = re.compile(r"(?:[ \t>]*\n)*")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})[^\n]*(?:\n|$)")
_INDENTED = re.compile(r"(?:(?:[ ]{4}|\t|[ ]{0,3}>)[^\n]*(?:\n|$)|[ \t]*\n)+")
_PARAGRAPH = re.compile(r"(?:[ \t]*[^\s][^\n]*(?:\n|$))+")


@lru_cache(maxsize=_REMEMBERED)
def examples(text: str) -> tuple[tuple[int, int, str], ...]:
    """Where each example stands, [start, end), and what announces it: the fence, quotation or paragraph below it.

    At most a thousand are looked for.
    """
    found: list[tuple[int, int, str]] = []
    position = 0
    while len(found) < _MOST_EXAMPLES and (match := _ANNOUNCED.search(text, position)) is not None:
        start = _BLANK.match(text, min(match.end() + 1, len(text))).end()  # type: ignore[union-attr]
        fence = _FENCE.match(text, start)
        if fence is not None:
            closing = text.find(f"\n{fence[1]}", fence.end() - 1)
            position = len(text) if closing < 0 else closing + 1
        else:
            block = _INDENTED.match(text, start) or _PARAGRAPH.match(text, start)
            position = block.end() if block else max(start, match.end())
        found.append((start, position, match["said"].strip()))
    return tuple(found)


def said_of(shown: tuple[tuple[int, int, str], ...], position: int) -> str:
    """What announces the example that stands at `position`; "" where none does."""
    return next((said for start, end, said in shown if start <= position < end), "")
