"""The value that follows some words in a text: `**Total MACs** (G) = 1.498`, `| Total MACs | 1.498 | GMac |`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from labgrade.answers.code import is_code
from labgrade.answers.headers import unit_of_header
from labgrade.answers.numbers import Found, as_ascii, explain_number, find_numbers
from labgrade.answers.shapes import find_shape, read_shape
from labgrade.answers.units import label_unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.values import Number, Value

MOST_PLACES = 1_000
_REACH = 400
_MOST_ROWS = 200
_LEAST_DIGITS = 4

_BETWEEN_WORDS = (
    r"""[ \t\u00a0\u3000*_`~\-()\[\]:\uff1a,./"']{0,6}(?:(?:the|number|amount|count|of|no\.?|\#)[ *_`]{1,4}){0,3}"""
)
_FULL_WIDTH = re.compile("[\uff10-\uff5a]")
_NEGATED = re.compile(r"(?:non|not|un)[\s_*-]{0,3}$|[不非無无未]$", re.IGNORECASE)

_FILLER = re.compile(
    r"""[\s*_`~$"'>\\]+ | </?\w[^<>\n]{0,80}> | (?P<joint>[-=:|,≈→⇒]+>?|<=>|\\approx|\\sim)
      | (?:is|are|was|were|be|equals?|equal\ to|to|about|approx(?:\.|imately)?|roughly|around|exactly|only|in\ total
          |total|count|number|value|result|comes?)(?![A-Za-z0-9])
      | 總共|總計|總和|大約|等於|等于|數量|数量|次數|次数|[是為为約约共數数量]""",
    re.VERBOSE | re.IGNORECASE,
)
_REMARK = re.compile(r"[(\[]([^()\[\]\n]{0,80})[)\]]")
JOINED = re.compile(
    r"(?:[=:|≈→⇒]|->|\b(?:is|are|was|were|equals?|about|approximately|around)|[是為为約约共])[\s*_`$~]*$", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?]\s+(?=[A-Z])|[\u3002\uff1b;]")
_ADDED_NEXT = re.compile(r"\s*[*/x\u00d7·÷+-]\s*[\d(]|\s*(?:\([^()\n]{0,60}\)|\w{1,20})?\s*\+\s*\S")
_ADDED_BEFORE = re.compile(r"(?:[\d)]\s*[*/x\u00d7·÷-]|\+)\s*$")
_NOT_FINITE = re.compile(r"[-+]?(?:nan|inf|infinity)\b", re.IGNORECASE)
_AGAIN = re.compile(r"\s*(?:[=≈~(,|/]|or|i\.e\.|即)+\s*(?:[=≈~]|about)?\s*$")
_CELL_UNIT = re.compile(r"\s*\|\s*([^|\s][^|\n]{0,15}?)\s*\|")
_EMPTY_LINE = re.compile(r"\s*(?:(?:`{3,}|~{3,}|:::).*|[-=*_+|─═:\s]*|</?\w[^<>]*>)\s*$")
_LIST_MARK = re.compile(r"\s*(?:[-*+•>]\s+)*\d{1,3}[.)]\s")
_RULE = re.compile(r"\s*[|+:├┼╞╪][\s|+:┼┤╡╪─═-]*[-─═][\s|+:┼┤╡╪─═-]*$|\s*:?-{3,}:?\s*\|[\s|:-]*$")
PIPES = str.maketrans(dict.fromkeys("\u2502\u2503\u2551\uff5c", "|"))
TOTAL = re.compile(r"[\s*_|]*(?:grand\s)?(?:total|sum|overall|合計|總計|總和|总计|合计)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A value behind the words at `position`, or the reason why it is none. `near`: nothing but signs in between."""

    position: int
    value: Value | None = None
    problem: str = ""
    near: bool = True


def candidates(text: str, start: int, end: int, words: str, kind: str) -> list[Candidate]:
    """Every value of the kind that the text says behind the words; a caller prefers those that are `near`.

    At most `MOST_PLACES` places are looked at; time is linear in the length of the text.
    """
    searched = as_ascii(text) if _FULL_WIDTH.search(text, start, end) else text
    found: list[Candidate] = []
    for match in islice(words_pattern(words).finditer(searched, start, end), MOST_PLACES):
        before = text[max(start, match.start() - _REACH) : match.start()].rpartition("\n")[2]
        rest = text[match.end() : min(end, match.end() + _REACH)].partition("\n")[0]
        if not _NEGATED.search(before) and not is_code(before[-200:] + match[0] + rest):
            found += _behind(text, match, before, rest, end, kind, unit_of_header(words))
    return found


def words_pattern(words: str) -> re.Pattern[str]:
    """The words in any case, with any spacing and markup between them, with or without a final s, and whole."""
    tokens = re.findall(r"[A-Za-z0-9]+|[^\W\dA-Za-z_]+", as_ascii(words)) or [words]
    if tokens[-1].isascii():
        tokens[-1] = tokens[-1].removesuffix("s") if len(tokens[-1]) > 3 else tokens[-1]  # noqa: PLR2004 - `s` of `GMACs`
    escaped = [re.escape(token) for token in tokens]
    left = r"(?<![A-Za-z0-9])(?<![A-Za-z0-9]_)(?<!sub-)" if tokens[0][0].isascii() else ""
    right = r"(?:s|\(s\))?(?!_?[A-Za-z0-9])" if tokens[-1].isascii() else ""
    return re.compile(left + _BETWEEN_WORDS.join(escaped) + right, re.IGNORECASE)


def _behind(text: str, match: re.Match[str], before: str, rest: str, end: int, kind: str, unit: str) -> list[Candidate]:
    """What stands behind the words: on their line, in the column below them, or on the next line."""
    plain = as_ascii(rest).translate(PIPES)
    line_end = match.end() + len(rest) + 1
    below = text[line_end : min(end, line_end + 5 * _REACH)]
    if "|" in before.translate(PIPES) + plain and _RULE.match(below.partition("\n")[0]):
        return _column_below(text, before.translate(PIPES), plain, line_end, end, kind)
    position, stated = _skipped(plain, kind)
    if position < len(plain):
        return _on_line(plain, position, kind, stated or unit, match.end())
    return _next_line(below, kind, stated or unit, line_end)


def _skipped(plain: str, kind: str) -> tuple[int, str]:
    """Where the value may begin behind signs, markup, filler words and remarks; and a unit that a remark states."""
    position, stated = 0, ""
    while position < len(plain):
        filler = _FILLER.match(plain, position)
        if filler is not None and not re.match(r"-\d", plain[position:]):
            position = filler.end()
            continue
        remark = _REMARK.match(plain, position)
        if remark is None or kind in ("shape", "text"):
            break
        if label_unit(remark[1]) is not None:
            stated = remark[1]
        elif _is_value(remark[1], kind) and not _says_number_later(plain, remark.end(), kind):
            return remark.start() + 1, stated
        position = remark.end()
    return position, stated


def _is_value(remark: str, kind: str) -> bool:
    found = explain_number(remark, kind)
    return found.number is not None and _stands_out(remark, found)


def _says_number_later(plain: str, position: int, kind: str) -> bool:
    return any(found.number is not None for found in find_numbers(plain[position:], kind))


def _on_line(plain: str, position: int, kind: str, unit: str, offset: int) -> list[Candidate]:
    rest = plain[position:]
    if kind == "text":
        value = rest.strip().strip("*`|\"'").strip()
        return [Candidate(position=offset, value=value)] if value else []
    stop = _SENTENCE_END.search(rest)
    rest = rest[: stop.start()] if stop else rest
    if kind == "shape":
        shape = find_shape(rest)
        return [Candidate(position=offset, value=shape[0], near=shape[1] <= 1)] if shape else []
    found = _picked(rest, kind, unit)
    return [Candidate(position=offset, value=each.number, problem=each.problem, near=near) for each, near in found]


def _picked(rest: str, kind: str, unit: str) -> Iterator[tuple[Found, bool]]:
    """The number meant on a line, and what says it again: never a term of a sum, nor a small number in passing."""
    found = [each for each in find_numbers(rest, kind, unit=_unit_of_cell(rest) or unit) if not _is_term(rest, each)]
    good = [each for each in found if each.number is not None]
    first = next((each for each in good if each.start == 0 or JOINED.search(rest[: each.start])), None)
    no_number = _NOT_FINITE.match(rest)
    if no_number is not None:
        yield Found(start=0, end=no_number.end(), problem=f"'{no_number[0]}' is not a number that can be judged"), True
    elif first is None and found and found[0].start == 0 and found[0].problem:
        yield found[0], True
    elif first is None:
        yield from ((each, False) for each in good[:1] if _stands_out(rest, each))
    else:
        yield first, True
        yield from ((again, True) for again in _said_again(rest, first, good, kind))


def _said_again(rest: str, first: Found, good: list[Found], kind: str) -> Iterator[Found]:
    """`1.498 G (1,498,376,192)`: a finer print of the same number; behind an equals sign, whatever it is."""
    last = first
    for each in good:
        if each.start <= first.start or not _AGAIN.match(rest[last.end : each.start]):
            continue
        own = next(find_numbers(rest[each.start : each.end], kind), each)
        if own.number is None or first.number is None:
            continue
        if "=" in rest[last.end : each.start] or _agree(first.number, own.number):
            yield own
            last = each


def _agree(one: Number, other: Number) -> bool:
    return abs(one.value - other.value) <= one.half_unit + other.half_unit


def _is_term(rest: str, found: Found) -> bool:
    return bool(_ADDED_NEXT.match(rest, found.end) or _ADDED_BEFORE.search(rest[: found.start]))


def _stands_out(rest: str, found: Found) -> bool:
    written = rest[found.start : found.end]
    return sum(letter.isdigit() for letter in written) >= _LEAST_DIGITS or not written.isdigit()


def _unit_of_cell(rest: str) -> str:
    """The unit in a table's next cell: the `GMac` of `| 1.498 | GMac |`."""
    number = next(find_numbers(rest, "number"), None)
    cell = _CELL_UNIT.match(rest, number.end) if number is not None else None
    return cell[1] if cell is not None and label_unit(cell[1]) is not None else ""


def _next_line(below: str, kind: str, unit: str, offset: int) -> list[Candidate]:
    """The first line with something on it, where that begins with the value."""
    for line in below.split("\n")[:6]:
        if not _EMPTY_LINE.match(line):
            plain = as_ascii(line).translate(PIPES)
            position, stated = _skipped(plain, kind)
            if is_code(line) or _LIST_MARK.match(line) or position >= len(plain):
                return []
            return _on_line(plain, position, kind, stated or unit, offset)
        offset += len(line) + 1
    return []


def _column_below(text: str, before: str, rest: str, line_end: int, end: int, kind: str) -> list[Candidate]:
    """The cells under a header: of the only row, of the row of totals, or else all of them."""
    column = before.count("|")
    header = (before.rpartition("|")[2] + rest).partition("|")[0]
    rows: list[tuple[str, Candidate]] = []
    position = _line_behind(text, line_end, end)
    for _ in range(_MOST_ROWS):
        line = text[position : min(end, position + 5 * _REACH)].partition("\n")[0]
        plain = as_ascii(line).translate(PIPES)
        cells = plain.split("|")
        if position >= end or "|" not in plain or column >= len(cells):
            break
        candidate = _cell(cells[column], kind, unit_of_header(header), position)
        if candidate is not None:
            rows.append((plain, candidate))
        position += len(line) + 1
    totals = [candidate for plain, candidate in rows if TOTAL.match(plain)]
    return totals or [candidate for _, candidate in rows]


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
