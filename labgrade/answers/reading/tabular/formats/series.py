"""Values that stand in the order of their labels: `total / trainable / frozen: 5 / 4 / 1`, and rows below a header."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from labgrade.answers.reading.words.terms import DIGIT, LETTERS
from labgrade.answers.reading.words.vocabulary import concepts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labgrade.answers.reading.numerals.number_words import Found

_LONGEST_LABEL = 40
_MOST_VALUES = 12
_APART = re.compile(r"[\s*_`$)]*([/|,;\u00b7\u2022\u3001])[\s*_`$(]*|(\t|[ ]{2})\s*")
_ANY = re.compile(r"[/|,;\u00b7\u2022\u3001]|\band\b|&|\bund\b|\bet\b|\by\b|[\u548c\u4e0e\u8207]")
_COLUMNS = re.compile(r"\t+|[ ]{2,}")
_LED = re.compile(r"[\s*_`$:=|(\[>?\uff1a\u2192-]+$")
_LISTED = re.compile(  # and not 5 bytes / 8
    r"[ ][/\u00b7\u2022][ ](?!(?:2|4|8|16|32|64|1000|1024)(?:[ ]?$|[ ]?[(,;]|[ ](?:bits?|bytes?|with|for|per)\b))"
)


def of_labels(plain: str, above: str, found: Sequence[Found]) -> dict[int, frozenset[str]]:
    """Return the concepts of each number's label by its place; empty unless there are as many labels as values.

    The labels are before the values, or on the line `above`, which has no value.
    """
    series = _longest(plain, found)
    if len(series) < 2:  # noqa: PLR2004 - one value has no order
        return {}
    apart = _APART.fullmatch(plain, series[0].end, series[1].start)
    sign = apart[1] if apart is not None else None
    for said in (_LED.sub("", plain[: series[0].start]), above):
        for parts in ((said.split(sign) if sign else _COLUMNS.split(said)), _ANY.split(said)):
            said_each = [each for each in map(str.strip, parts) if each]
            if len(said_each) != len(series) or any(len(each) > _LONGEST_LABEL for each in parts):
                continue
            labels = list(map(concepts, said_each))
            if all(labels) and len(set(labels)) == len(labels):
                return {each.start: label for each, label in zip(series, labels, strict=True)}
    return {}


def _longest(plain: str, found: Sequence[Found]) -> list[Found]:
    """Return the first numbers of a line that are parted by one and the same sign."""
    series: list[Found] = []
    for one, other in pairwise(found[: _MOST_VALUES + 1]):
        if _APART.fullmatch(plain, one.end, other.start):
            series = [*(series or [one]), other]
        elif series:
            break
    return series


def apart(plain: str) -> str:
    """Return a line with semicolons in place of the dots or slashes between parts with a number and a word each."""
    parts = _LISTED.split(plain)
    each_says = all(DIGIT.search(part) and any(len(word) > 2 for word in LETTERS.findall(part)) for part in parts)  # noqa: PLR2004 - a word
    return _LISTED.sub(" ; ", plain) if len(parts) > 1 and "=" not in plain and each_says else plain
