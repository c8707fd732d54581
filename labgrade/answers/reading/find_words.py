"""Where a text says the words that a spec leads to an answer with."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from labgrade.answers.reading.numerals.numbers import as_ascii
from labgrade.answers.reading.numerals.units import noun_in

if TYPE_CHECKING:
    from collections.abc import Iterator

_BETWEEN_WORDS = (
    r"""[ \t\u00a0\u3000*_`~\-()\[\]:\uff1a,./"']{0,6}(?:(?:the|number|amount|count|of|no\.?|\#)[ *_`]{1,4}){0,3}"""
)


def find_words(words: str, text: str, start: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
    """Yield where the text has the words: in any case, with any spacing and markup, with or without a final s.

    They must be whole words. The group `prefix` is a prefix of what is counted: the G of `Total GMACs`.
    """
    tokens = re.findall(r"[A-Za-z0-9]+|[^\W\dA-Za-z_]+", as_ascii(words)) or [words]
    if tokens[-1].isascii():
        tokens[-1] = tokens[-1].removesuffix("s") if len(tokens[-1]) > 3 else tokens[-1]  # noqa: PLR2004 - `s` of `GMACs`
    end = len(text) if end is None else end
    part = _folded(text[start:end])
    if all(token.casefold() in part for token in tokens):  # to make a pattern takes longer than to look for nothing
        yield from _pattern(tokens).finditer(text, start, end)


@lru_cache(maxsize=4)
def _folded(text: str) -> str:
    return text.casefold()


def _pattern(tokens: list[str]) -> re.Pattern[str]:
    escaped = [re.escape(token) for token in tokens]
    counted = next((place for place, token in enumerate(tokens) if noun_in(token) in ("MACs", "FLOPs")), None)
    if counted is not None:
        escaped[counted] = f"(?P<prefix>(?-i:[kKMGT]))?{escaped[counted]}"
    else:
        escaped[-1] += "(?P<prefix>(?!))?"
    left = r"(?<![A-Za-z0-9])(?<![A-Za-z0-9]_)(?<!sub-)" if tokens[0][0].isascii() else ""
    right = r"(?:s|\(s\))?(?!_?[A-Za-z0-9])" if tokens[-1].isascii() else ""
    return re.compile(left + _BETWEEN_WORDS.join(escaped) + right, re.IGNORECASE)
