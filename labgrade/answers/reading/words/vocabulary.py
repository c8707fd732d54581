"""What words say of a number, in several languages: what it counts, and what makes one doubt that it is the answer.

The words are data (`languages.py`).
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from labgrade.answers.reading.numerals.numbers import as_ascii
from labgrade.answers.reading.words.languages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Sequence

# The order counts: what was taken for one concept is no word of a later one (non-trainable is not trainable).
CONCEPTS = (
    *("frozen", "trainable", "pass", "buffers", "auxiliary", "traffic", "flops", "macs", "activations", "types"),
    *("operators", "parameters", "peak", "input", "memory", "modules", "calls", "total"),
)
_LONGEST = 400
_JOINT = r"[\s_-]{0,3}"
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LETTERS = "A-Za-z\u00c0-\u024f\u0400-\u04ff"
# What is left out is none of what a label speaks of: `GoogLeNet (without auxiliary classifiers)`.
_WITHOUT = re.compile(
    r"[(\[](?:without|w/o|excluding|excl\.|ohne|sans|sin|senza|\u4e0d\u542b|\u6c92\u6709|\u6ca1\u6709)(?![A-Za-z])[^()\[\]\n]{0,120}[)\]]",
    re.IGNORECASE,
)
_SPLIT = re.compile(r"[\s-]+")


def _spelt(word: str) -> str:
    """Return a pattern for a word of the files: blanks are joints, a star is any ending, `$` is the end of a label."""
    parts = [re.escape(part).replace(r"\*", r"[^\W\d_]*").replace("'", "['\u2019]") for part in _SPLIT.split(word)]
    return _JOINT.join(parts).replace(r"\$", r"(?=[\W_]*$)")


def _any_of(words: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern for any of some words: whole words of letters, signs anywhere."""
    ordered = sorted({str(word).lower() for word in words}, key=lambda word: (-len(word), word))
    signs = [_spelt(word) for word in ordered if _WIDE.search(word)]
    whole = "|".join(_spelt(word) for word in ordered if not _WIDE.search(word))
    each = [*signs, *([rf"(?<![{_LETTERS}])(?:{whole})(?![{_LETTERS}])"] if whole else [])]
    return re.compile("|".join(each) or "(?!)", re.IGNORECASE)


@cache
def known_words(*path: str) -> tuple[Any, ...]:
    """Return all languages' words under a path of the files: `doubts`, `before`."""
    found: list[Any] = []
    for language in LANGUAGES.values():
        words: Any = language
        for key in path:
            words = words.get(key, {})
        found += list(words)
    return tuple(found)


@cache
def pattern(*path: str) -> re.Pattern[str]:
    """Return a pattern for any of the words under a path."""
    return _any_of(known_words(*path))


@lru_cache(maxsize=4096)
def concepts(words: str) -> frozenset[str]:
    """Return the concepts that words (their first 400 characters) express."""
    left = pattern("labels", "nothing").sub(" ; ", CAMEL.sub(" ", _WITHOUT.sub(" ", as_ascii(words[:_LONGEST]))))
    found = set()
    for name in CONCEPTS:
        rest = pattern("labels", name).sub(" ; ", left)
        if rest != left:
            found.add(name)
            left = rest
    return frozenset(found)


def prepare() -> None:
    """Make all patterns. A server does so once, before it forks for each hand-in."""
    for name in ("nothing", *CONCEPTS):
        pattern("labels", name)
    for name in LANGUAGES["en"]["doubts"]:
        pattern("doubts", name)
    for name in ("nothing", "everything", "exceptions", "items"):
        pattern(name)
    for name in ("anywhere", "in_few_words", "marks"):
        pattern("to_come", name)


# What a number of one answer is not labelled with, unless the answer's own words say it.
_OTHER = frozenset(CONCEPTS) - {"total", "memory", "modules", "calls"}


def foreign(asked: frozenset[str], said: frozenset[str]) -> frozenset[str]:
    """Return the concepts of a label that belong to another quantity than what is asked for."""
    return said & _OTHER - asked - (frozenset({"operators"}) if "types" in asked else frozenset())


def special(wanted: frozenset[str]) -> frozenset[str]:
    """Return the concepts that a label must have to mean these words, whatever else it leaves out."""
    asked = wanted - {"total"}
    return asked - {"parameters", "memory"} or asked & {"memory"} or asked


def labels(wanted: frozenset[str], said: frozenset[str]) -> bool:
    """Return whether a label with the concepts `said` may be that of a value asked for by the words of `wanted`."""
    asked = wanted - {"total"}
    if foreign(asked, said):
        return False
    return special(wanted) <= said or (said - {"memory"} == {"total"} and not asked & {"trainable", "frozen", "types"})
