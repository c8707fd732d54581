"""The lines of a text as typed pieces: words, numbers and shapes, and what labels each number."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING

from labgrade.answers.reading.blocks import Kind, kinds
from labgrade.answers.reading.doubts import corrections, other_model
from labgrade.answers.reading.labelling import chosen, in_brackets, labelled, led
from labgrade.answers.reading.numerals.number_words import Found, words_in
from labgrade.answers.reading.numerals.numbers import as_ascii, find_numbers
from labgrade.answers.reading.numerals.units import divided_by, is_unit, label_unit
from labgrade.answers.reading.pieces import OPEN, Above, Line, LinePiece
from labgrade.answers.reading.plain_values import find_shape
from labgrade.answers.reading.tabular.formats.series import apart, of_labels
from labgrade.answers.reading.tabular.headers import unit_of_header
from labgrade.answers.reading.words.terms import GOES_ON, LEFT_OUT, PIPES, RULE, is_term
from labgrade.answers.reading.words.vocabulary import concepts, pattern
from labgrade.values import Number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.answers.reading.documents import Document
    from labgrade.answers.reading.passages.sections import Span

__all__ = ["OPEN", "Line", "LinePiece", "read_lines"]
_NOTEBOOK = ".ipynb"  # whose cells of code stand in fences
_MOST_LINES = 4_000
_LONGEST_LINE = 4_000
_LONGEST_TITLE = 200
_MOST_PIECES = 800
_LARGE = 10_000
_LARGEST_SIZE = 100_000  # of a shape without brackets: 1 x 119445696 is a product
_UNFILLED = re.compile(r"[:=\uff1a]([\s*_`|\\?.\u2026\[\]-]*+)([A-Za-z]{0,6})[\s*`|]*+$")  # Total traffic: ___ MB
_BLANK = re.compile(r"\?|(?:\\?_){3}|\s(?:\\?_){2}|\.{3}|\u2026|\[\s*\]|-")
_WORD = re.compile(r"/?[^\W\d_][\w./:#-]*[\w]|[^\W\d_]|\?{2,}")
_SCALED = re.compile(r"\d[ \u00a0*_`]{0,3}$")  # what stands behind is a scale: 14.98 \u5104
_DEFINED = re.compile(  # 1 MB = 10^6 bytes
    r"(?<![\d.,])1\s?[kKMGT]i?(?:[Bo]|[bB]ytes?)\s?(?:=|is|are|ist|\u662f|\u70ba|\u4e3a)\s?"
    r"(?:[\d.,'^*x\u00d7\u2070\u00b9\u00b2\u00b3\u2074-\u2079 ]{2,24})(?:[kKMG]i?B|B|[bB]ytes?|octets?)(?![A-Za-z])"
)
_OCTETS = re.compile(r"\d[ \u00a0]?(?:[kMG]o|octets?)\b")
_QUOTED = re.compile(r"[ \t]*(?:>[ \t]+)+")  # of a quotation or a prompt, no sign
_LISTED = re.compile(r"(?<![\d,.'_/])\d[\d,.'_]*(?: ?/ ?(?!1024|1000|1e|2\^)\d[\d,.'_]*){2,20}(?![\d/])")
_RUN = re.compile(r"(?<![\w.,'-])(?!^\s*\d{1,2}[.)]\s)\d[\d.,'_ ]*(?![-\d.,'_ ])")
_JOINED = "\0"  # where a line goes on
_UNIT_SAID = re.compile(r"[(\[]([^()\[\]\n]{1,24})[)\]][ \t*_`]{0,4}(?:[:=]|\.{2})")
_BY = re.compile(r"[(\[]?(?:/|÷|\\div|\bdivided by|\bin(?= \d| (?:units?|multiples) of))")
_UNIT_BEHIND = re.compile(  # 119445696, in KB
    r"[\s*_`]{0,4}[,;(]?\s{0,2}(?:(?:all|given|measured|stated)\s)?"
    r"(?:(?:in|en)\s|(?:units?|einheit|unidad|unit\u00e9|\u55ae\u4f4d|\u5355\u4f4d)\s?(?:is|ist|\u662f|\u70ba|\u4e3a|:)?\s?)"
    r"[*_`]{0,2}([A-Za-z]{1,12})(?![\w-])",
    re.IGNORECASE,
)
_GROUPED = re.compile(r"\(\d{1,3}(?:,\d{3})+\)")
_PICTURE = re.compile(r"!\[[^\]\n]{0,500}\]|<img\b", re.IGNORECASE)
_RUNS = re.compile(r"(?:^|[\s\])>])(?:\$ |\./|python3? )")  # a command of a terminal


def read_lines(document: Document, spans: tuple[Span, ...], about: str = "") -> tuple[Line, ...]:
    """Return the lines that are not blank, at most 4,000 of them; `about`: the model in question."""
    found: list[Line] = []
    kind_of = kinds(document.text, notebook=document.path.endswith(_NOTEBOOK))
    for span in spans:
        number = document.line(span.start)
        heading = document.text[max(0, span.start - _LONGEST_TITLE) : span.start].rpartition("\n")[2]
        above = Above(title=concepts(heading))
        said = _line(heading, Above(), document.path, number, about)
        # A heading may say the answer itself.
        if said is not None and any(map(_says_much, said.pieces)):
            found.append(said)
        texts = GOES_ON.sub(_joined, document.text[span.start : span.end]).split("\n")
        for written, below in zip_longest(texts, texts[1:], fillvalue=""):
            above.alone = not below.strip("`~ \t")
            if len(found) == _MOST_LINES:
                return tuple(found)
            kind = kind_of[min(number, len(kind_of)) - 1]
            line = _line(written.replace(_JOINED, " ")[:_LONGEST_LINE], above, document.path, number, about, kind)
            above.model = _run_for(written, about, above.model)
            if line is not None:
                found.append(_doubted(line, kind.example or above.model))
            number += 1 + written.count(_JOINED)
        found += _pictures(document, span)
    return tuple(found)


def _pictures(document: Document, span: Span) -> Iterator[Line]:
    """Yield the first picture of a span, as a line without words: it is for people."""
    if not document.written:
        return
    first = document.line(span.start)
    below = first + document.text.count("\n", span.start, span.end)
    for number, line in enumerate(_split(document.written)[first - 1 : below], first):
        if _PICTURE.search(line):
            yield Line(place=f"{document.path}:{number}", number=number, pictured=True)
            return


@lru_cache(maxsize=4)
def _split(written: str) -> list[str]:
    return written.split("\n")


def _says_much(piece: LinePiece) -> bool:
    """Return whether it is a number of some size, or a list with one; any heading may have `224x224`."""
    if isinstance(piece.value, tuple):
        return max(piece.value) >= _LARGE
    return isinstance(piece.value, Number) and not piece.small


def _run_for(written: str, about: str, before: str) -> str:
    """Return the other model for which a command ran, as far down as its output goes; an empty text if none."""
    if not written.strip():
        return ""
    return other_model(written, about) if about and _RUNS.search(written[:_LONGEST_TITLE]) else before


def _is_unfilled(plain: str) -> bool:
    """Return whether a line ends with a label and a blank to fill in, or a unit alone."""
    found = _UNFILLED.search(plain)
    return found is not None and (_BLANK.search(found[1]) is not None or is_unit(found[2]))


def _joined(found: re.Match[str]) -> str:
    return _JOINED + " " * (len(found[0]) - 1)


def _doubted(line: Line, example: str) -> Line:
    """Return the line with all numbers doubted, if it shows an example."""
    pieces = tuple(replace(each, doubt=each.doubt or example) for each in line.pieces) if example else line.pieces
    return replace(line, pieces=pieces)


def _line(whole: str, above: Above, path: str, number: int, about: str, kind: Kind = Kind()) -> Line | None:  # noqa: B008 - frozen
    place = f"{path}:{number}"
    if not whole.strip():
        above.header, above.line, above.age = (), "", above.age + 1
        return None
    if LEFT_OUT.match(whole):
        return Line(place=place, number=number, dots=True)
    if RULE.match(whole.strip("`~ \t")):
        return None
    plain = _without_marks(apart(as_ascii(whole).translate(PIPES)))
    pieces = sorted(_pieces(plain, above, about), key=lambda each: each[0])[:_MOST_PIECES]
    values = [at for at, piece in pieces if not isinstance(piece.value, str)]
    if not values and pieces and pieces[-1][1].value != OPEN and _is_unfilled(plain):
        pieces.append((len(plain), LinePiece(value=OPEN)))
    if "|" in plain and not values:
        above.header = tuple(plain.split("|"))
    if not values:
        # What is quoted names more than what stands below it.
        above.words, above.age, above.line = (frozenset() if kind.quoted else concepts(plain)), 0, plain
        above.code = kind.code
    elif not kind.code:
        above.age += 1
        if above.code:  # code labels what it prints first
            above.words, above.code = frozenset(), False
    return Line(
        place=place,
        number=number,
        pieces=tuple(piece for _, piece in pieces),
        code=kind.code,
        quoted=kind.quoted,
        fenced=kind.fenced,
        row="|" in plain,
        corrects=not kind.code and any(at < min(values, default=len(plain)) for at in corrections(plain)),
        undecided=not (kind.code or kind.quoted) and bool(pattern("doubts", "undecided").search(plain)),
        terms=len(_RUN.findall(plain)) > len(values),
    )


def _pieces(plain: str, above: Above, about: str) -> Iterator[tuple[int, LinePiece]]:
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
    named = {each.start for each in ordered if in_brackets(plain, each)}
    numbers = [each for each in ordered if each.start in paired or not _covered(taken, each.start)]
    taken += [(each.start, each.end) for each in numbers]
    # 5 / 4 / 1 are three values, and 5 / 4 = 1.25 is one.
    listed = _LISTED.sub(lambda found: found[0].replace("/", ";"), plain) if "=" not in plain else plain
    claimed = [each for each in numbers if each.start in paired or each.start in named or not is_term(listed, each)]
    leads = led(plain, claimed)
    either = chosen(plain, claimed)
    for place, found in enumerate(claimed):
        start = claimed[place - 1].end if place else 0
        end = claimed[place + 1].start if place + 1 < len(claimed) else len(plain)
        piece = labelled(plain, found, (start, end), above, about, leads=leads[place])
        piece = replace(piece, doubt="or") if found.start in either else piece
        own = paired.get(found.start) or (in_brackets(plain, found) if found.start in named else None)
        yield found.start, replace(piece, said=tuple(sorted(own)), titled=False) if own else piece
    for match in _WORD.finditer(plain):
        if not _covered(taken, match.start()):
            yield match.start(), LinePiece(value=match[0][:80])


def _without_marks(plain: str) -> str:
    """Return a line with blanks for the marks of a quotation or a prompt."""
    marks = _QUOTED.match(plain)
    return plain if marks is None else " " * marks.end() + plain[marks.end() :]


def _covered(taken: list[tuple[int, int]], position: int) -> bool:
    return any(start <= position < end for start, end in taken)


def _numbers(plain: str, above: Above) -> Iterator[Found]:
    """Yield the numbers of a line; in a table's row, with the unit in the column's header."""
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
    """Yield the numbers of a line; the first behind `(MB):` or `(G):` gets that unit if it has none."""
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
    """Yield where a label with a unit ends, and the unit: `(MB):`, `/ 10^9:`."""
    for each in _UNIT_SAID.finditer(plain):
        if _is_unit(each[1], prefixes=True):
            yield each.end(), each[1]
    for sign in _BY.finditer(plain):
        if (divided := divided_by(plain, sign.start())) is not None:
            yield divided


def _in_octets(plain: str, found: Found) -> Found:
    """Return the number with `Mio` read as the mebioctet of French."""
    if found.number is None or not found.number.text.endswith("Mio"):
        return found
    return _moved(next(find_numbers(plain[found.start : found.end], "bytes"), found), found.start)


def _is_unit(label: str, *, prefixes: bool = False) -> bool:
    """Return whether a label names a unit of bytes, or one of the `prefixes`, which may also be a name: `K`."""
    unit = label_unit(label)
    return unit is not None and (unit.measures == "bytes" or (prefixes and unit.prefixed))


def _moved(found: Found, offset: int) -> Found:
    return replace(found, start=found.start + offset, end=found.end + offset)
