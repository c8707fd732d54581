"""Text of students as a reader may see it: whatever acts on a terminal, a page or an XML parser, as an escape."""

from __future__ import annotations

import unicodedata

# control, format, surrogate, private use, unassigned, line ends
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_LINES = frozenset("\n\t")


def seen(text: str) -> str:
    r"""The text with each character that can't be seen as its escape; lines stay lines.

    >>> seen("a" + chr(27) + "[2J")
    'a\\x1b[2J'
    """
    return "".join(character if character in _LINES else escaped(character) for character in text)


def escaped(character: str) -> str:
    """The character, or its escape where it is one that can't be seen."""
    if unicodedata.category(character) not in UNSEEN:
        return character
    return character.encode("unicode_escape").decode("ascii")
