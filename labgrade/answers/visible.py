"""What a reader of the rendered page sees: comments, withdrawn text and addresses are no answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARKS = ("<!--", "~~", "](", "][", "://", "www.", "<del", "<s", "<DEL", "<S")
# Every branch begins with a plain letter: only then does the search skip quickly over what matters not.
_OPENS = re.compile(
    r"""
      ``` `*+ [^\n`]*+ $
    | ~~~ ~*+ [^\n]*+ $
    | ~~ (?![\s~]) [^~\n]*+ (?> (?: (?: ~(?!~) | \n(?![ \t]*+$) ) [^~\n]*+ ){0,5000} ) ~~
    | <!--
    | < (?P<tag>[dD][eE][lL]|[sS][tT][rR][iI][kK][eE]|[sS]) \b [^<>\n]{0,200} >
    | !\[ [^\[\]\n]{0,500} \] (?: \( [^()\n]{0,2000} \) | \[ [^\[\]\n]{0,200} \] )
    | \( (?<=\]\() (?=[^()\s]{0,500}?[/\#:.]) [^()\s]{1,1000}+ (?> (?: \s++ ["'(] [^\n()]{0,200}+ )? ) \)
    | https?:// [^\s<>|()\[\]`]{1,2000}
    | www\. [^\s<>|()\[\]`]{1,2000}
    """,
    re.VERBOSE | re.MULTILINE,
)
_ZERO_WIDTH = re.compile("[\u200b-\u200d\u2060\ufeff]")
_INDENT = 13
_INK = re.compile(r"[^\n]")


def visible(text: str) -> str:
    """The text with what a rendered page does not show, or shows struck out, turned to blanks; as long as it was.

    HTML comments, `~~...~~`, `<del>`, `<s>`, images, the targets of links and bare addresses; not inside of code
    fences, where all of this is meant as it is written.
    """
    text = _ZERO_WIDTH.sub(" ", text)
    if not any(mark in text for mark in _MARKS):
        return text
    pieces: list[str] = []
    position = 0
    for start, end in _hidden(text):
        pieces += (text[position:start], _INK.sub(" ", text[start:end]))
        position = end
    return "".join(pieces) + text[position:]


def _hidden(text: str) -> Iterator[tuple[int, int]]:
    """The places, in order. Each kind of end is looked for in vain at most once, so that time stays linear."""
    position = 0
    endless: set[str] = set()
    while (match := _OPENS.search(text, position)) is not None:
        start, position = match.span()
        written = match[0]
        if written.startswith(("```", "~~~")):
            length = len(written) - len(written.lstrip(written[0]))
            position = start + length
            if _begins_line(text, start):
                position = _behind(text, position, rf"^[ \t>]{{0,12}}+{written[0]}{{{length},}}[ \t]*+$") or len(text)
            continue
        if written == "<!--" or match["tag"]:
            closing = rf"</{match['tag']}\s{{0,9}}>".lower() if match["tag"] else "-->"
            end = None if closing in endless else _behind(text, position, closing)
            if end is None and written == "<!--" and _begins_line(text, start):
                end = len(text)  # as a browser takes it
            if end is None:
                endless.add(closing)
                continue
            position = end
        yield start, position


def _behind(text: str, position: int, pattern: str) -> int | None:
    """Where the next match ends."""
    match = re.compile(pattern, re.MULTILINE | re.IGNORECASE).search(text, position)
    return match.end() if match else None


def _begins_line(text: str, position: int) -> bool:
    """Whether nothing but a few blanks and marks of a quotation stand between the start of the line and `position`."""
    above = f"\n{text[:position]}" if position < _INDENT else text[position - _INDENT : position]
    return "\n" in above and not above.rpartition("\n")[2].strip(" \t>")
