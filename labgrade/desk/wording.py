"""The prose of an answer, beside its tables, code and rows of numbers; how near two are, and what only one says."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PICTURE = re.compile(r"!\[|<img", re.IGNORECASE)
_FENCE = re.compile(r"\s*(```|~~~)")
_TABLE = re.compile(r"\s*\||[^|\n]*\s\|\s[^|\n]*\s\|\s|[^\t]*\t[^\t]*\t|[\s|:+=-]*$")
_ARRAY = re.compile(r"(?:tensor|array|Parameter)\(")
_ITEM = re.compile(r"\s*(?:(?:[-*+>]|#+|\d{1,3}[.)])\s+)*")
_MINUS, _DASHES = "\\-\N{MINUS SIGN}", "-\N{EN DASH}\N{EM DASH}"
_APART = re.compile(rf"(?<!\S)[{_MINUS}]\s+(?=[\d.])")  # a sign that stands before its number
_NUMBER = re.compile(rf"[{_MINUS}+]?[.,]*\d[\d.,]*(?:[eE][{_MINUS}+]?\d+)?%?")
_QUOTES = "\"'*_`\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}\N{DOUBLE LOW-9 QUOTATION MARK}"
_BEFORE, _BEHIND = f"([{{,;:!?#|{_QUOTES}", f")]}}.,;:!?|{_QUOTES}"
_ROW, _RUN = 3, 5  # numbers in a row of a table, and in a row within a sentence

_NEAR = 0.6  # of the pairs of words that either prose has
_SAME = 0.1  # of the words may differ where one mark does for both
_MOST_OTHER = 12  # words that may differ there
_FEWEST = 10  # words that say enough where tables or code beside them differ
_MOST_SHOWN = 60  # words
_MOST_WORK = 40_000  # pairs of equal words; more take a person's time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wording:
    """What an answer says. `words`: its prose in order, numbers whole; `data`: all the rest; equal only to itself."""

    words: tuple[str, ...]
    keys: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    data: tuple[str, ...]
    pictures: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What only one of two answers says. `why_not`: why a mark for one is none for the other; "" where it may be."""

    shown: str
    why_not: str


def wording(text: str) -> Wording:
    """The prose of an answer; lines of tables, fenced code, tensors and rows of numbers are data."""
    words: list[str] = []
    data: list[str] = []
    for line, prose in _lines(text):
        own = [word for word in map(_bare, _APART.sub("-", _ITEM.sub("", line, count=1)).split()) if word]
        numbers = sum(_NUMBER.fullmatch(word) is not None for word in own)
        if not prose or (numbers >= _ROW and numbers >= 2 * (len(own) - numbers)):
            data.extend(line.split())
            continue
        for is_number, run in itertools.groupby(own, key=lambda word: _NUMBER.fullmatch(word) is not None):
            part = list(run)
            (data if is_number and len(part) >= _RUN else words).extend(part)
    keys = tuple(word.casefold() for word in words)
    pairs = frozenset(itertools.pairwise(keys))
    pictures = PICTURE.search(text) is not None
    return Wording(words=tuple(words), keys=keys, pairs=pairs, data=tuple(data), pictures=pictures)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """The lines with whether each is prose."""
    fence, depth, array = "", 0, None
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence or mark:
            yield line, False
            fence = "" if mark and mark[1] == fence else fence or (mark[1] if mark else "")
        elif depth or (array := _ARRAY.search(line)):
            start = 0 if depth or not array else array.start()
            if line[:start].strip():
                yield line[:start], True
            yield line[start:], False
            depth = max(0, depth + line.count("(", start) - line.count(")", start))
            depth = depth if line.strip() else 0  # a bracket that is never closed
        else:
            yield line, _TABLE.match(line) is None


def _bare(word: str) -> str:
    """A word without the marks around it; a dash is none."""
    bare = word.lstrip(_BEFORE).rstrip(_BEHIND)
    return bare.strip(_DASHES) and bare


# ---- two of them -----------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=200_000)
def likeness(one: Wording, other: Wording) -> float:
    """The share of the pairs of neighbouring words that both have, of those that either has."""
    small, large = sorted((len(one.pairs), len(other.pairs)))
    if not small or small < _NEAR * large:
        return 0.0
    return len(one.pairs & other.pairs) / len(one.pairs | other.pairs)


def near(one: Wording, other: Wording) -> bool:
    """Whether two answers stand together."""
    return likeness(one, other) >= _NEAR


@functools.lru_cache(maxsize=20_000)
def difference(one: Wording, other: Wording) -> Difference:
    """What only `one` says, and what only `other` does."""
    steps = _steps(one.keys, other.keys)
    if steps is None:
        return Difference(shown="the two are too long to compare word by word", why_not="they can't be compared")
    here = [one.words[a:b] for kind, a, b, _, _ in steps if kind != "equal" and b > a]
    there = [other.words[a:b] for kind, _, _, a, b in steps if kind != "equal" and b > a]
    changed = [word for part in (*here, *there) for word in part]
    most = max(sum(map(len, here)), sum(map(len, there)))
    said = f"only here: {_shown(here)}; only there: {_shown(there)}" if changed else "the words are the same"
    beside = one.data != other.data
    return Difference(
        shown=said + ("; tables, code or rows of numbers beside them differ" if beside else ""),
        why_not=_why_not(one, other, changed, most),
    )


def _why_not(one: Wording, other: Wording, changed: Sequence[str], most: int) -> str:
    shortest = min(len(one.keys), len(other.keys))
    if one.pictures or other.pictures:
        return "pictures can't be compared"
    if most > min(_MOST_OTHER, _SAME * max(len(one.keys), len(other.keys))):
        return "too many words differ"
    if any(_figure(word) for word in changed):
        return "numbers or signs differ"
    return "there are too few words to compare" if one.data != other.data and shortest < _FEWEST else ""


def _figure(word: str) -> bool:
    """`16`, `int8`, `1e-5`, `<`: what no synonym stands for."""
    return any(sign.isdigit() for sign in word) or not any(sign.isalpha() for sign in word)


def _steps(one: tuple[str, ...], other: tuple[str, ...]) -> Sequence[tuple[str, int, int, int, int]] | None:
    counts = Counter(other)
    if sum(own * counts[word] for word, own in Counter(one).items()) > _MOST_WORK:
        return None
    return SequenceMatcher(None, one, other, autojunk=False).get_opcodes()


def _shown(parts: Sequence[Sequence[str]]) -> str:
    """The words in their order, with dots for those that both have."""
    left, shown = _MOST_SHOWN, []
    for part in parts:
        shown.append(" ".join(part[:left]))
        left -= len(part)
        if left <= 0:
            break
    more = f" and {-left} more" if left < 0 else ""
    return (" … ".join(shown) + more) if shown else "nothing"
