"""How numbers stand in a line: as terms of a sum, in passing, behind a sign; and the marks that lines are made of."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labgrade.answers.reading.numerals.number_words import Found
    from labgrade.values import Number

_LEAST_DIGITS = 4
_WIDEST = 8
_SIGNS = r"(?:[*/x\u00d7·÷+-]|\\times|\\cdot|\\div|\\ast)"
_ADDED_NEXT = re.compile(
    rf"\s*{_SIGNS}\s*[\d(]|\s*(?:\([^()\n]{{0,60}}\)|\w{{1,20}})?\s*\+\s*\S"
    r"|(?:[ ][A-Za-z]\w{0,19}){1,3}\s*(?:[*\u00d7·]|\\times|\\cdot)\s*\d"  # 5 float32 values * 4
)
_ADDED_BEFORE = re.compile(
    r"(?:(?:[\d)]|\d\s?[kMG]?i?[bB](?:ytes?)?)\s*(?:[*/x\u00d7·÷-]|\\times|\\cdot|\\div|\\ast)|(?<![+A-Za-z])\+(?!\+)(?:\s?[^\W\d_]\w{0,19}){0,2})\s*$"
    # + written 6, and no C++
)
_ONE_TIMES = re.compile(r"(?<![\w.,])1\s*[*x\u00d7·]\s*$")
DIGIT, LETTERS, SIGNS = re.compile(r"\d"), re.compile(r"[^\W\d_]+"), re.compile(r"[\W_]+")
INK, BRACKETS = re.compile(r"[^\n]"), re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
TAG = re.compile(r"</?[a-z][^<>\n]{0,200}>", re.IGNORECASE)
RULE = re.compile(r"[\s|+:=\-_*\u2500-\u257f]*$")  # a line that only parts others
JOINED = re.compile(
    r"(?:[=:|≈→⇒]|->|\b(?:is|are|was|were|equals?|about|approximately|around)|[是為为約约共])[\s*_`$~]*$", re.IGNORECASE
)
# A line that goes on with `= 5`, or in the middle of a sentence.
GOES_ON = re.compile(
    r"\n[ \t>]*(?:[&|][ \t]*)?(?:(?==(?![=>]))|(?=≈|\\approx))"
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


def letters_of(text: str) -> str:
    """Return the words of a text in lower case, separated by single blanks, and nothing else."""
    return " ".join(LETTERS.findall(text.lower()))


def is_term(line: str, found: Found) -> bool:
    """Return whether a number is an operand of a sum or a product, and not the result."""
    before = line[: found.start]
    return bool(_ADDED_NEXT.match(line, found.end) or (_ADDED_BEFORE.search(before) and not _ONE_TIMES.search(before)))


def stands_out(text: str, found: Found) -> bool:
    """Return whether a number is hardly mentioned in passing: it has four digits, a unit or a decimal point.

    A number of at most eight bytes is the width of an element: `4 bytes per parameter`, `32 bit`.
    """
    if found.measures == "bytes" and found.number is not None and abs(found.number.value) <= _WIDEST:
        return False
    written = text[found.start : found.end]
    return sum(letter.isdigit() for letter in written) >= _LEAST_DIGITS or not written.isdigit()


def agree(one: Number, other: Number) -> bool:
    """Return whether two numbers may be the same, to their printed precision."""
    return abs(one.value - other.value) <= one.half_unit + other.half_unit


def misprinted(exact: Number, other: Number) -> bool:
    """Return whether a number of bytes is repeated with MB for MiB: `26,499,616 bytes (25.27 MB)`."""
    if exact.digits is not None or other.digits is None:
        return False
    scales = [Fraction(1024, 1000) ** power for power in (1, 2, 3)]
    return any(abs(exact.value - other.value * scale) <= other.half_unit * scale for scale in scales)
