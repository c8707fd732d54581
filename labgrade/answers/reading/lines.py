"""The lines of a text as typed pieces: words, numbers and shapes, and what labels each number."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from labgrade.answers.reading.blocks import Kind, kinds
from labgrade.answers.reading.doubts import corrections, doubt_about, other_model, taken_back
from labgrade.answers.reading.numerals.number_words import Found, words_in
from labgrade.answers.reading.numerals.numbers import as_ascii, find_numbers
from labgrade.answers.reading.numerals.units import divided_by, label_unit
from labgrade.answers.reading.plain_values import find_shape
from labgrade.answers.reading.tabular.headers import answer_column, unit_of_header
from labgrade.answers.reading.tabular.series import apart, of_labels
from labgrade.answers.reading.terms import GOES_ON, JOINED, LEFT_OUT, PIPES, agree, is_term, stands_out
from labgrade.answers.reading.vocabulary import concepts, pattern
from labgrade.values import Number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.answers.reading.documents import Document
    from labgrade.answers.reading.passages.sections import Span

_NOTEBOOK = ".ipynb"  # whose cells of code stand in fences
_MOST_LINES = 4_000
_LONGEST_LINE = 4_000
_LONGEST_TITLE = 200
_MOST_PIECES = 800
_LARGEST_IN_PASSING = 1_000
_LARGEST_SIZE = 100_000  # of a shape without brackets: 1 x 119445696 is a product
OPEN = "???"
_UNFILLED = re.compile(r"[:=\uff1a]([\s*_`|\\?.\u2026\[\]-]*+)([A-Za-z]{0,6})[\s*`|]*+$")  # Total traffic: ___ MB
_BLANK = re.compile(r"\?|(?:\\?_){3}|\s(?:\\?_){2}|\.{3}|\u2026|\[\s*\]|-")
_UNIT_ALONE = re.compile(r"[kKMGT]i?B|bytes|B|[GM]?MACs?|[GM]?FLOPs?")
_WORD = re.compile(r"/?[^\W\d_][\w./:#-]*[\w]|[^\W\d_]|\?{2,}")
_SCALED = re.compile(r"\d[ \u00a0*_`]{0,3}$")  # what stands behind is a scale: 14.98 \u5104
_DEFINED = re.compile(  # 1 MB = 10^6 bytes
    r"(?<![\d.,])1\s?[kKMGT]i?(?:[Bo]|[bB]ytes?)\s?(?:=|is|are|ist|\u662f|\u70ba|\u4e3a)\s?"
    r"(?:[\d.,'^*x\u00d7\u2070\u00b9\u00b2\u00b3\u2074-\u2079 ]{2,24})(?:[kKMG]i?B|B|[bB]ytes?|octets?)(?![A-Za-z])"
)
_BINARY = frozenset({2**10, 2**20, 2**30})  # by which bytes are divided
_OCTETS = re.compile(r"\d[ \u00a0]?(?:[kMG]o|octets?)\b")
_RUN = re.compile(r"(?<![\w.,'-])(?!^\s*\d{1,2}[.)]\s)\d[\d.,'_ ]*(?![-\d.,'_ ])")
_MAGNITUDE = 10
_ONE_OF_SEVERAL = frozenset({"trainable", "frozen", "types"})  # of a heading that speaks of several answers
_LETTERS = re.compile(r"[^\W\d_]+")
_JOINED = "\0"  # where a line goes on
_UNIT_SAID = re.compile(r"[(\[]([^()\[\]\n]{1,24})[)\]][ \t*_`]{0,4}(?:[:=]|\.{2})")
_BY = re.compile(r"[(\[]?(?:/|÷|\\div|\bdivided by|\bin(?= \d| (?:units?|multiples) of))")
_UNIT_BEHIND = re.compile(  # 119445696, in KB
    r"[\s*_`]{0,4}[,;(]?\s{0,2}(?:(?:all|given|measured|stated)\s)?"
    r"(?:(?:in|en)\s|(?:units?|einheit|unidad|unit\u00e9|\u55ae\u4f4d|\u5355\u4f4d)\s?(?:is|ist|\u662f|\u70ba|\u4e3a|:)?\s?)"
    r"[*_`]{0,2}([A-Za-z]{1,12})(?![\w-])",
    re.IGNORECASE,
)
_RULE = re.compile(r"[\s|+:=\-_*`~\u2500-\u257f]+$")
_CLAUSE_END = re.compile(r"\((?=[^()\d]*[:=][\s*`]*(?:\d|$))|[;|,\uff0c\u3002\uff1b\u3001]|[.!?](?=\s|$)")
_GROUPED = re.compile(r"\(\d{1,3}(?:,\d{3})+\)")
_CLAUSE_START = re.compile(r"\((?=[^()]*\w[^()]*$)|[{};|\u3001\u3002\uff1b,]|[.!?](?=\s)")
_IN_BRACKETS = re.compile(r"[\s*_`$]{0,4}\(([^()\d\n]{2,40})\)")  # 5 (all) = 4 (learned) + 1 (fixed)
_NOUNS = {"MACs": "macs", "FLOPs": "flops", "parameters": "parameters", "modules": "modules", "calls": "calls"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePiece:
    """A word, a number or a shape. `said` are the concepts that label a number, `measures` what its unit measures.

    `doubt`: what makes one doubt that a number is claimed. `small`: it may stand there in passing. `titled`: nothing
    but the section's heading labels it. `led`: a sign leads from its label to it, and it counts no items.
    """

    value: str | Number | tuple[int, ...]
    said: tuple[str, ...] = ()
    measures: str = ""
    doubt: str = ""
    small: bool = False
    titled: bool = False
    led: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line with its pieces in order. `dots`: it stands for what was left out.

    `fenced`: it stands in a fence. `shared`: under a heading of several tasks. `corrects`: it says before its first
    value that this puts something right. `unread`: why nothing of the text could be read. `terms`: it has numbers that
    are no pieces, as those of a sum or a product.
    """

    place: str
    number: int
    pieces: tuple[LinePiece, ...] = ()
    code: bool = False
    quoted: bool = False
    fenced: bool = False
    shared: bool = False
    corrects: bool = False
    dots: bool = False
    terms: bool = False
    unread: str = ""


@dataclass(slots=True)
class _Above:
    """What stands above a line: the heading, the last line of words alone, the header of the table that it is in."""

    title: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    age: int = 0
    line: str = ""
    header: tuple[str, ...] = ()


def read_lines(document: Document, spans: tuple[Span, ...], about: str = "") -> tuple[Line, ...]:
    """The lines that are not blank, at most 4,000 of them; `about`: the model in question."""
    found: list[Line] = []
    kind_of = kinds(document.text, notebook=document.path.endswith(_NOTEBOOK))
    for span in spans:
        number = document.line(span.start)
        heading = document.text[max(0, span.start - _LONGEST_TITLE) : span.start].rpartition("\n")[2]
        above = _Above(title=concepts(heading))
        said = _line(heading, _Above(), document.path, number, about)
        # A heading may say the answer itself.
        if said is not None and any(isinstance(each.value, Number) and not each.small for each in said.pieces):
            found.append(said)
        for written in GOES_ON.sub(_joined, document.text[span.start : span.end]).split("\n"):
            if len(found) == _MOST_LINES:
                return tuple(found)
            kind = kind_of[min(number, len(kind_of)) - 1]
            line = _line(written.replace(_JOINED, " ")[:_LONGEST_LINE], above, document.path, number, about, kind)
            if line is not None:
                found.append(_doubted(line, kind.example))
            number += 1 + written.count(_JOINED)
    return tuple(found)


def _is_unfilled(plain: str) -> bool:
    """Whether a line ends with a label and a blank to fill in, or a unit alone."""
    found = _UNFILLED.search(plain)
    return found is not None and bool(_BLANK.search(found[1]) or _UNIT_ALONE.fullmatch(found[2]))


def _joined(found: re.Match[str]) -> str:
    return _JOINED + " " * (len(found[0]) - 1)


def _doubted(line: Line, example: str) -> Line:
    """The line; no number in it is claimed where it shows an example."""
    pieces = tuple(replace(each, doubt=each.doubt or example) for each in line.pieces) if example else line.pieces
    return replace(line, pieces=pieces)


def _line(whole: str, above: _Above, path: str, number: int, about: str, kind: Kind = Kind()) -> Line | None:  # noqa: B008 - frozen
    place = f"{path}:{number}"
    if not whole.strip():
        above.header, above.line, above.age = (), "", above.age + 1
        return None
    if LEFT_OUT.match(whole):
        return Line(place=place, number=number, dots=True)
    if _RULE.match(whole):
        return None
    plain = apart(as_ascii(whole).translate(PIPES))
    pieces = sorted(_pieces(plain, above, about), key=lambda each: each[0])[:_MOST_PIECES]
    values = [at for at, piece in pieces if not isinstance(piece.value, str)]
    if not values and pieces and pieces[-1][1].value != OPEN and _is_unfilled(plain):
        pieces.append((len(plain), LinePiece(value=OPEN)))
    if "|" in plain and not values:
        above.header = tuple(plain.split("|"))
    if not values:
        # What is quoted names more than what stands below it.
        above.words, above.age, above.line = (frozenset() if kind.quoted else concepts(plain)), 0, plain
    elif not kind.code:
        above.age += 1
    return Line(
        place=place,
        number=number,
        pieces=tuple(piece for _, piece in pieces),
        code=kind.code,
        quoted=kind.quoted,
        fenced=kind.fenced,
        corrects=not kind.code and any(at < min(values, default=len(plain)) for at in corrections(plain)),
        terms=len(_RUN.findall(plain)) > len(values),
    )


def _pieces(plain: str, above: _Above, about: str) -> Iterator[tuple[int, LinePiece]]:
    ordered = sorted(_numbers(plain, above), key=lambda each: each.start)
    paired = of_labels(plain, above.line, ordered)
    taken = [(each.start, each.end) for each in ordered if each.start in paired]
    position = max((end for _, end in taken), default=0)
    taken += [defined.span() for defined in _DEFINED.finditer(plain)]
    divided = ((sign.start(), divided_by(plain, sign.start())) for sign in _BY.finditer(plain))
    taken += [(start, found[0]) for start, found in divided if found is not None]
    while (shape := find_shape(plain, position)) is not None:
        position = shape[2]
        sizes, written = shape[0], plain[shape[1] : shape[2]]
        several = len(sizes) > 1 or written[0] == "[" or "," in written  # (1024) is a number, and so is (1,024)
        several = several and not _GROUPED.fullmatch(written)
        if several and (written[0] in "[(" or max(sizes) < _LARGEST_SIZE):
            taken.append((shape[1], shape[2]))
            yield shape[1], LinePiece(value=sizes)
    named = {each.start for each in ordered if _in_brackets(plain, each)}
    numbers = [each for each in ordered if each.start in paired or not _covered(taken, each.start)]
    taken += [(each.start, each.end) for each in numbers]
    claimed = [each for each in numbers if each.start in paired or each.start in named or not is_term(plain, each)]
    first = concepts(plain[: claimed[0].start]) if claimed else frozenset()
    leads = bool(first - {"total"} or (first and JOINED.search(plain[: claimed[0].start])))
    either = _chosen(plain, claimed)
    for place, found in enumerate(claimed):
        start = claimed[place - 1].end if place else 0
        end = claimed[place + 1].start if place + 1 < len(claimed) else len(plain)
        piece = _number(plain, found, (start, end), above, about, leads=leads)
        piece = replace(piece, doubt="or") if found.start in either else piece
        own = paired.get(found.start) or (_in_brackets(plain, found) if found.start in named else None)
        yield found.start, replace(piece, said=tuple(sorted(own)), titled=False) if own else piece
    for match in _WORD.finditer(plain):
        if not _covered(taken, match.start()):
            yield match.start(), LinePiece(value=match[0][:80])


def _is_passing(found: Found) -> bool:
    """Whether it is a small number in words, or one by which bytes are divided."""
    number = found.number
    in_words = number is not None and not any(map(str.isdigit, number.text)) and number.value < _LARGEST_IN_PASSING
    return in_words or (number is not None and number.value in _BINARY and not found.measures)


def _in_brackets(plain: str, found: Found) -> frozenset[str]:
    """What stands in brackets right behind a number speaks of."""
    match = _IN_BRACKETS.match(plain, found.end)
    return concepts(match[1]) if match else frozenset()


def _covered(taken: list[tuple[int, int]], position: int) -> bool:
    return any(start <= position < end for start, end in taken)


def _numbers(plain: str, above: _Above) -> Iterator[Found]:
    """The numbers of a line; in a row of a table, with the unit that its column's header says."""
    for match in pattern("nothing").finditer(plain):
        if plain[match.end() : match.end() + 1] == "(":
            continue
        yield Found(start=match.start(), end=match.end(), number=Number(value=Fraction(0), text=match[0]))
    for start, end, value in words_in(plain) if "|" not in plain else ():
        if not pattern("nothing").match(plain, start) and not _SCALED.search(plain, 0, start):
            yield Found(start=start, end=end, number=Number(value=Fraction(value), text=plain[start:end].strip()))
    if "|" not in plain or not (above.header or any(map(_is_unit, plain.split("|")))):
        yield from _in_their_units(plain)
        return
    offset, cells = 0, plain.split("|")
    own = next((unit_of_header(cell.strip(" *`_")) for cell in cells if cell.strip()), "") or next(
        (cell.strip() for cell in cells if _is_unit(cell)), ""
    )
    for place, cell in enumerate(cells):
        header = above.header[place] if place < len(above.header) else ""
        for each in find_numbers(cell, "any", unit=unit_of_header(header.strip()) or own):
            if each.number is not None:
                yield _moved(each, offset)
        offset += len(cell) + 1


def _in_their_units(plain: str) -> Iterator[Found]:
    """The numbers of a line; the first behind `(MB):` or `(G):` in that unit, where it has none of its own."""
    found = [each for each in find_numbers(plain, "any") if each.number is not None]
    if _OCTETS.search(plain):
        found = [_in_octets(plain, each) for each in found]
    said = next(_units_said(plain), None)
    for each in found:
        bare = each.number is not None and not any(map(str.isalpha, each.number.text))
        behind = _UNIT_BEHIND.match(plain, each.end) if bare else None
        if behind is not None and _is_unit(behind[1], prefixes=True):
            with_unit = next(find_numbers(plain[each.start : each.end], "any", unit=behind[1]), each)
            yield _moved(with_unit, each.start)
        elif said is not None and each.start >= said[0]:
            with_unit = next(find_numbers(plain[each.start :], "any", unit=said[1]), each)
            said = None
            yield _moved(with_unit, each.start) if with_unit.number is not None else each
        else:
            yield each


def _units_said(plain: str) -> Iterator[tuple[int, str]]:
    """Where a label ends that says a unit, and the unit: `(MB):`, `/ 10^9:`."""
    for each in _UNIT_SAID.finditer(plain):
        if _is_unit(each[1], prefixes=True):
            yield each.end(), each[1]
    for sign in _BY.finditer(plain):
        if (divided := divided_by(plain, sign.start())) is not None:
            yield divided


def _in_octets(plain: str, found: Found) -> Found:
    """The number, whose `Mio` is the mebioctet of French."""
    if found.number is None or not found.number.text.endswith("Mio"):
        return found
    return _moved(next(find_numbers(plain[found.start : found.end], "bytes"), found), found.start)


def _is_unit(label: str, *, prefixes: bool = False) -> bool:
    """Whether a label names a unit of bytes, or one of the `prefixes`, which may as well be a name: `K`."""
    unit = label_unit(label)
    return unit is not None and (unit.measures == "bytes" or (prefixes and unit.prefixed))


def _moved(found: Found, offset: int) -> Found:
    return replace(found, start=found.start + offset, end=found.end + offset)


def _passed_over(header: tuple[str, ...], column: int) -> str:
    """What says that a column is not the answer: the one header that calls another column so; "" where none does."""
    meant = answer_column(header)
    return header[meant].strip() if meant is not None and meant != column else ""


def _number(plain: str, found: Found, around: tuple[int, int], above: _Above, about: str, *, leads: bool) -> LinePiece:
    """A number and what labels it: words before it, or behind it where the line begins with a number."""
    before, after = plain[around[0] : found.start], plain[found.end : around[1]]
    ahead = concepts(_CLAUSE_START.split(before)[-1] if "|" not in before else before)
    behind = concepts(_CLAUSE_END.split(after)[0])
    own = ahead if leads else behind | (ahead & {"total"})
    if not own - {"total"}:
        clause = around[0] == 0 or _CLAUSE_START.search(before)  # its own words, and none behind the number before
        own |= behind if leads else (ahead if clause else frozenset())
    doubt = doubt_about(plain[: found.start], plain[found.end :], about) or taken_back(plain, found)
    if "|" in plain and above.header:
        column = plain.count("|", 0, found.start)
        header = above.header[column] if column < len(above.header) else ""
        own |= concepts(header)
        doubt = doubt or other_model(header, about) or _passed_over(above.header, column)
        own |= concepts(next((cell for cell in plain.split("|") if cell.strip()), ""))
    if found.noun:
        own = (own - frozenset(_NOUNS.values())) | {_NOUNS[found.noun]}
    elif found.measures == "count":
        own |= concepts(found.number.text if found.number else "")  # 100 ops
    if "calls" in own and not found.noun:
        own -= {"modules"}  # the calls of modules
    if found.measures == "bytes":
        own |= {"memory"}
    titled = not own
    if not own - {"total", "memory"}:
        near = above.words if above.age <= 1 and "|" not in plain else frozenset()
        title = above.title - _ONE_OF_SEVERAL if own else above.title
        own, titled = own | (near or title), titled and not near
    return LinePiece(
        value=found.number or "",
        said=tuple(sorted(own)),
        measures=found.measures,
        doubt=doubt,
        small=not stands_out(plain, found) or _is_passing(found),
        titled=titled,
        led=bool(JOINED.search(before)) and not pattern("items").match(after.lstrip(" *_`")),
    )


def _chosen(plain: str, found: list[Found]) -> frozenset[int]:
    """Where numbers stand of which the text says that it is one or the other: `5,200 bytes or 10,500 bytes`."""
    either: set[int] = set()
    for one, other in pairwise(found):
        words = [word for word in _LETTERS.findall(plain[one.end : other.start]) if not _UNIT_ALONE.fullmatch(word)]
        if words and all(map(pattern("doubts", "choice").fullmatch, words)) and one.number and other.number:
            near = other.number.value < _MAGNITUDE * one.number.value < _MAGNITUDE**2 * other.number.value
            either |= {one.start, other.start} if near and not agree(one.number, other.number) else set()
    return frozenset(either)
