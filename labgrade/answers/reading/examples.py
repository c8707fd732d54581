"""What a text shows as an example, of what is asked for or of what another would print, and not as its own result."""

from __future__ import annotations

import re
from functools import lru_cache

_REMEMBERED = 4
_MOST = 1_000
# Before a colon at the end of a line: what stands below is announced so.
_ANNOUNCED = re.compile(
    r"""(?P<said> \b(?:(?:should|must|shall|has\ to)\ (?:look\ like|be|print|say|read|show)
            | (?:expected|example|sample|intended|desired)\ (?:outputs?|results?|answers?|values?|runs?|prints?)
            | (?:outputs?|results?|answers?|print)\ (?:format|template|example)
            | (?:for\ example|e\.g\.|example|template)(?=[ *_]*[:\uff1a])
            | soll(?:te)?\b[^.:\n]{0,40}\b(?:aussehen|sein|ausgeben) | Beispielausgabe|(?:zum\ )?Beispiel(?=[:\uff1a])
            | deber[ií]a\ (?:ser|verse|imprimir|mostrar) | por\ ejemplo(?=[:\uff1a])
            | devrait\ (?:être|afficher|ressembler) | par\ exemple(?=\s?[:\uff1a]))
          | (?:範例|范例|預期|预期|期望|例如|應該|应该|格式)[^\n:\uff1a]{0,8})
        [^.\n:\uff1a]{0,40}[:\uff1a][ \t*_]*$""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_BLANK = re.compile(r"(?:[ \t>]*\n)*")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})[^\n]*(?:\n|$)")
_INDENTED = re.compile(r"(?:(?:[ ]{4}|\t|[ ]{0,3}>)[^\n]*(?:\n|$)|[ \t]*\n)+")
_PARAGRAPH = re.compile(r"(?:[ \t]*[^\s][^\n]*(?:\n|$))+")


@lru_cache(maxsize=_REMEMBERED)
def examples(text: str) -> tuple[tuple[int, int, str], ...]:
    """Where each example stands, [start, end), and what announces it: the fence, quotation or paragraph below it.

    At most a thousand are looked for.
    """
    found: list[tuple[int, int, str]] = []
    position = 0
    while len(found) < _MOST and (match := _ANNOUNCED.search(text, position)) is not None:
        start = _BLANK.match(text, min(match.end() + 1, len(text))).end()  # type: ignore[union-attr]
        fence = _FENCE.match(text, start)
        if fence is not None:
            closing = text.find(f"\n{fence[1]}", fence.end() - 1)
            position = len(text) if closing < 0 else closing + 1
        else:
            block = _INDENTED.match(text, start) or _PARAGRAPH.match(text, start)
            position = block.end() if block else max(start, match.end())
        found.append((start, position, match["said"].strip()))
    return tuple(found)


def said_of(shown: tuple[tuple[int, int, str], ...], position: int) -> str:
    """What announces the example that stands at `position`; "" where none does."""
    return next((said for start, end, said in shown if start <= position < end), "")
