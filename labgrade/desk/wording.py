"""The prose of an answer, beside its tables, code and rows of numbers: what is folded up, how near two answers are."""

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
_TABLE = re.compile(
    r"\s*[|\u2500-\u257f]|[^|\n]*\s\|\s[^|\n]*\s\|\s|[^\t]*\t[^\t]*\t|[\s|:+=-]*$"
    r"|\s*\S+(?: \S+)?(?:\s{2,}\S+(?: \S+)?){2,}\s*$"  # three columns or more, of a word or two each
)
_RULE = re.compile(r"\s*\|?[\s:|-]*-[\s:|-]*$")  # beneath the head of a table
_ARRAY = re.compile(r"(?:tensor|array|Parameter)\(")
_ITEM = re.compile(r"\s*(?:(?:[-*+>]|#+|\d{1,3}[.)])\s+)*")
_MINUS, _DASHES = "\\-\N{MINUS SIGN}", "-\N{EN DASH}\N{EM DASH}"
_APART = re.compile(rf"(?<!\S)[{_MINUS}]\s+(?=[\d.])")  # a sign that stands before its number
_NUMBER = re.compile(rf"[{_MINUS}+]?[.,]*\d[\d.,]*(?:[eE][{_MINUS}+]?\d+)?%?")
_QUOTES = "\"'*_`\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}\N{DOUBLE LOW-9 QUOTATION MARK}"
_BEFORE, _BEHIND = f"([{{,;:!?#|{_QUOTES}", f")]}}.,;:!?|{_QUOTES}"
_ROW, _RUN = 3, 5  # numbers in a row of a table, and in a row within a sentence

_AROUND, _WORDS = 2, 24  # lines shown on each side of the line that was read, and the words after which no more are
_LITTLE = 4  # fewer lines are not folded up
_LONG = 10  # lines of a table, code or numbers

_NEAR = 0.6  # of the pairs of words that either prose has
_SAME = 0.1  # of the words may differ where one mark does for both
_MOST_OTHER = 12  # words that may differ there
_FEWEST = 10  # words that say enough where tables or code beside them differ
_MOST_SHOWN = 60  # words
_UNFILLED = {"todo", "tbd", "tba", "fixme"}
_SENTENCE = 4  # words in a row, or signs where a language sets no spaces
_MOST_WORK = 40_000  # pairs of equal words; more take a person's time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wording:
    """What an answer says. `words`: its prose in order with whole numbers; `data`: all the rest.

    `is_wordless`: nothing is said; there is no prose, no picture, and no sentence within the tables and the code.
    """

    words: tuple[str, ...]
    keys: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    data: tuple[str, ...]
    pictures: bool
    is_wordless: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What only one of two answers says. `why_not`: why their marks may differ, or ""."""

    shown: str
    why_not: str


def wording(text: str) -> Wording:
    """Split an answer into prose and data: tables, fenced code, tensors and rows of numbers."""
    words: list[str] = []
    data: list[str] = []
    for _, line, prose in _lines(text.splitlines()):
        own = _words(line)
        if not prose or _is_row(own):
            data.extend(line.split())
            continue
        for is_number, run in itertools.groupby(own, key=lambda word: _NUMBER.fullmatch(word) is not None):
            part = list(run)
            (data if is_number and len(part) >= _RUN else words).extend(part)
    keys = tuple(word.casefold() for word in words)
    pairs = frozenset(itertools.pairwise(keys))
    pictures = PICTURE.search(text) is not None
    return Wording(
        words=tuple(words),
        keys=keys,
        pairs=pairs,
        data=tuple(data),
        pictures=pictures,
        is_wordless=not (pictures or set(keys) - _UNFILLED or _has_sentence(data)),
    )


def _has_sentence(data: Sequence[str]) -> bool:
    """Return whether data holds a sentence: several words in a row, or a long one without spaces."""
    runs = itertools.groupby(data, key=lambda word: len(word) > 1 and word.isalpha())
    long = any(len(word) >= _SENTENCE and word.isalpha() and not word.isascii() for word in data)
    return long or any(len(list(run)) >= _SENTENCE for is_words, run in runs if is_words)


def _lines(lines: Sequence[str]) -> Iterator[tuple[int, str, bool]]:
    """Yield the lines by number with whether each is prose; a line in which an array begins is split."""
    fence, depth, array = "", 0, None
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence or (mark and mark[1] in "".join(lines[at + 1 :])):  # what is never closed may be anything
            yield at, line, False
            fence = "" if mark and mark[1] == fence else fence or (mark[1] if mark else "")
        elif depth or (array := _ARRAY.search(line)):
            start = 0 if depth or not array else array.start()
            if line[:start].strip():
                yield at, line[:start], True
            yield at, line[start:], False
            depth = max(0, depth + line.count("(", start) - line.count(")", start))
            depth = depth if line.strip() else 0  # a bracket that is never closed
        else:
            yield at, line, _TABLE.match(line) is None


def _words(line: str) -> list[str]:
    return [word for word in map(_bare, _APART.sub("-", _ITEM.sub("", line, count=1)).split()) if word]


def _is_row(words: Sequence[str]) -> bool:
    """Return whether these words are a row of numbers."""
    numbers = sum(_NUMBER.fullmatch(word) is not None for word in words)
    return numbers >= _ROW and numbers >= 2 * (len(words) - numbers)


def _bare(word: str) -> str:
    """Strip punctuation from a word; a dash becomes empty."""
    bare = word.lstrip(_BEFORE).rstrip(_BEHIND)
    return bare.strip(_DASHES) and bare


# ---- what is folded up -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some lines of an answer. `line`: which of them was read, from 1, or 0; `fold`: its title if folded."""

    lines: tuple[str, ...]
    line: int = 0
    fold: str = ""


def parts(text: str, line: int = 0) -> list[Part]:
    """Split a text: fold what is far from the `line` that was read, or else long parts that are no prose."""
    lines = text.split("\n")
    if 0 < line <= len(lines):
        first, last = _window(lines, line - 1)
        first, last = first if first >= _LITTLE else 0, last if len(lines) - last >= _LITTLE else len(lines)
        runs = [(0, first, "before"), (first, last, ""), (last, len(lines), "behind")]
    else:
        runs, line = list(_runs(lines)), 0
    return [
        _part(lines, first, last, line if first < line <= last else 0, f"{last - first} lines {what}" if what else "")
        for first, last, what in runs
        if last > first
    ]


def _window(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Return the range of lines around one, fewer where they are long."""
    left, first, last = _WORDS - len(lines[at].split()), at, at + 1
    for step in range(1, _AROUND + 1):
        for near in (at - step, at + step):
            if 0 <= near < len(lines) and left > 0:
                first, last = min(first, near), max(last, near + 1)
                left -= len(lines[near].split())
    return first, last


def _runs(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Neighbouring lines that are shown, or else that are folded up."""
    data = {at for at, line, prose in _lines(lines) if not prose or _is_row(_words(line))}
    start = 0
    for is_data, run in itertools.groupby(range(len(lines)), key=data.__contains__):
        own = list(run)
        while is_data and own and not lines[own[-1]].strip():
            own.pop()
        while is_data and own and not lines[own[0]].strip():
            del own[0]
        if is_data and len(own) >= _LONG:
            yield start, own[0], ""
            yield own[0], own[-1] + 1, "of a table, code or numbers"
            start = own[-1] + 1
    yield start, len(lines), ""


def _part(lines: Sequence[str], first: int, last: int, line: int, fold: str) -> Part:
    """Return a part with its table's head, or with the fences of its code."""
    opened = ""
    for each in lines[:first]:
        mark = _FENCE.match(each)
        opened = "" if mark and opened and mark[1] in opened else opened or (each if mark else "")
    own, head = list(lines[first:last]), [opened] if opened else _head(lines, first)
    fences = [mark[1] for each in (*head, *own) if (mark := _FENCE.match(each))]
    end = [fences[-1]] if len(fences) % 2 else []
    return Part(lines=(*head, *own, *end), line=line - first + len(head) if line else 0, fold=fold)


def _head(lines: Sequence[str], first: int) -> list[str]:
    """The head of the table of which a row stands at `first`."""
    at = first
    while at > 0 and "|" in lines[at - 1] and "|" in lines[first]:
        at -= 1
        if _RULE.match(lines[at]):
            return list(lines[max(0, at - 1) : at + 1])
    return []


# ---- two of them -----------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=200_000)
def likeness(one: Wording, other: Wording) -> float:
    """Return the share of adjacent word pairs that both answers have (Jaccard index)."""
    small, large = sorted((len(one.pairs), len(other.pairs)))
    if not small or small < _NEAR * large:
        return 0.0
    return len(one.pairs & other.pairs) / len(one.pairs | other.pairs)


def are_near(one: Wording, other: Wording) -> bool:
    """Return whether two answers are near enough to stand together."""
    return likeness(one, other) >= _NEAR


@functools.lru_cache(maxsize=20_000)
def difference(one: Wording, other: Wording) -> Difference:
    """Return what only `one` says and what only `other` says."""
    steps = _steps(one.keys, other.keys)
    if steps is None:
        return Difference(shown="the two are too long to compare word by word", why_not="they can't be compared")
    here = [one.words[a:b] for kind, a, b, _, _ in steps if kind != "equal" and b > a]
    there = [other.words[a:b] for kind, _, _, a, b in steps if kind != "equal" and b > a]
    changed = [word for part in (*here, *there) for word in part]
    most = max(sum(map(len, here)), sum(map(len, there)))
    said = f"only here: {_joined(here)}; only there: {_joined(there)}" if changed else "the words are the same"
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
    """Return whether a word has no synonym: `16`, `int8`, `1e-5`, `<`."""
    return any(sign.isdigit() for sign in word) or not any(sign.isalpha() for sign in word)


def _steps(one: tuple[str, ...], other: tuple[str, ...]) -> Sequence[tuple[str, int, int, int, int]] | None:
    counts = Counter(other)
    if sum(own * counts[word] for word, own in Counter(one).items()) > _MOST_WORK:
        return None
    return SequenceMatcher(None, one, other, autojunk=False).get_opcodes()


def _joined(parts: Sequence[Sequence[str]]) -> str:
    """Join the words in order, with dots for those that both have."""
    left, shown = _MOST_SHOWN, []
    for part in parts:
        shown.append(" ".join(part[:left]))
        left -= len(part)
        if left <= 0:
            break
    more = f" and {-left} more" if left < 0 else ""
    return (" … ".join(shown) + more) if shown else "nothing"
