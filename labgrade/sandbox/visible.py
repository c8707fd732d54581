"""Text of a student's process made fit to be shown: bounded, and with nothing in it that a terminal obeys."""

from __future__ import annotations

import unicodedata

_OBEYED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str, most: int) -> str:
    r"""The text with each control character as its escape, cut in the middle to about `most` characters.

    >>> visible("a" + chr(27) + "[2J", 100)
    'a\\x1b[2J'
    """
    shown = "".join(map(_shown, text[: most * 2] + text[-most * 2 :] if len(text) > most * 4 else text))
    if len(shown) <= most:
        return shown
    head = most * 3 // 4
    return f"{shown[:head]}\n... {len(text) - most:,} characters left out ...\n{shown[head - most :]}"


def decoded(data: bytes) -> str:
    """Printed bytes as text, whatever their encoding; line ends as one kind."""
    return data.decode("utf-8", "backslashreplace").replace("\r\n", "\n")


def _shown(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in _OBEYED:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004
