"""What stands where an answer is still to come: `TODO`, `???`, `<your answer>`, `keine Ahnung`."""

from __future__ import annotations

import re

_MOST_WORDS = 20  # of a line that says that nothing is there yet
_NOT_YET = re.compile(
    r"\b(?:todo|tb[ad]|n a|missing|unknown|skipped|open|not (?:done|yet|finish\w*|attempted|solved)|no time|"
    r"offen|fehlt|nicht (?:gemacht|fertig|bearbeitet|gelöst)|pendiente|falta|manque|à faire|не сделано)\b"
    r"|待補|待补|未完成|[没沒](?:做|寫|写)|^略$|미완성",
    re.IGNORECASE,
)
_NOTHING = re.compile(  # of a short line: a template that was left as it is, or that there is no answer
    r"\b(?:don t know|dont know|dunno|no (?:idea|clue|answer)|not (?:computed|calculated|measured|answered|sure)|to do"
    r"|fill (?:\w+ )?in|your (?:answer|value|number|result)|(?:answer|value|number|result) (?:goes )?here"
    r"|insert (?:\w+ ){0,2}(?:here|value|number|answer)|x{3,}|placeholder"
    r"|wei\u00df (?:ich |es )?nicht|keine ahnung|no (?:lo )?s\u00e9|(?:sais|sait) pas)\b|不知道|不會寫|不会写",
    re.IGNORECASE,
)
_SHORT = 8  # words
_WORD = re.compile(r"[^\W\d_]+")
_MARKS = re.compile(r"[\s!-/:-@\[-`{-~\u2013\u2014\u2026\uff1f]*")
_TODO = re.compile(r"\b(?:todo|tb[ad]|fixme)\b", re.IGNORECASE)


def is_to_come(words: str, *, asked: bool = False) -> bool:
    """Whether words in a row, without anything else, say that no answer is there yet; `asked`: beside `??`."""
    if words.count(" ") >= _MOST_WORDS:
        return False
    return asked or bool(_NOT_YET.search(words) or (words.count(" ") < _SHORT and _NOTHING.search(words)))


def is_placeholder(entry: object) -> bool:
    """Whether what stands for an answer holds none of it: no digit, and marks alone or words that say so."""
    if isinstance(entry, dict | list):
        return bool(entry) and all(map(is_placeholder, entry.values() if isinstance(entry, dict) else entry))
    if not isinstance(entry, str) or any(map(str.isdigit, entry)):
        return entry is None
    return bool(_MARKS.fullmatch(entry)) or is_to_come(" ".join(_WORD.findall(entry.lower())))


def says_todo(text: str) -> str:
    """The word of a text by which it is still to come: `TODO`; "" where none is."""
    found = _TODO.search(text)
    return found[0] if found else ""
