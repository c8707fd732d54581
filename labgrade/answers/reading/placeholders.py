"""What stands where an answer is still to come: `TODO`, `???`, `<your answer>`, `keine Ahnung`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from labgrade.answers.reading.words.terms import letters_of
from labgrade.answers.reading.words.vocabulary import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_WORDS = 20  # of a line that says that nothing is there yet
_SHORT = 8  # words
_MARKS = re.compile(r"[\s!-/:-@\[-`{-~\u2013\u2014\u2026\uff1f]*")


def is_to_come(words: str, *, asked: bool = False) -> bool:
    """Return whether words in a row say that no answer is there yet, and nothing else; `asked`: beside `??`."""
    if words.count(" ") >= _MOST_WORDS:
        return False
    return asked or words == "略" or any(found.search(words) for found in _said(words))


def _said(words: str) -> Iterator[re.Pattern[str]]:
    yield pattern("to_come", "anywhere")
    if words.count(" ") < _SHORT:
        yield pattern("to_come", "in_few_words")


def is_placeholder(entry: object) -> bool:
    """Return whether a text in place of an answer holds none: no digit, only marks or words that say so."""
    if isinstance(entry, dict | list):
        return bool(entry) and all(map(is_placeholder, entry.values() if isinstance(entry, dict) else entry))
    if not isinstance(entry, str) or any(map(str.isdigit, entry)):
        return entry is None
    return bool(_MARKS.fullmatch(entry)) or is_to_come(letters_of(entry))


def says_todo(text: str) -> str:
    """Return the word of a text by which it is still to come: `TODO`; an empty text if there is none."""
    found = pattern("to_come", "marks").search(text)
    return found[0] if found else ""
