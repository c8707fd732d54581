"""What is dangerous in text, in one table, and text made safe for each place where a reader meets it.

Text comes from students: their names, files, messages and output. A character may act on a terminal, reorder what a
page shows, end an XML document, start markup or run as a formula of a spreadsheet. Each `for_...` function takes any
`str` and returns text that does none of this in its place. Text without such characters stays as it is.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from itertools import chain, repeat
from typing import Any, TypeVar, cast

T = TypeVar("T")

# Categories of characters without a picture: controls, format marks (direction, width), surrogates, private use,
# unassigned, line and paragraph ends. Terminals, browsers and XML parsers obey them, refuse them, or show nothing.
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Parts of these, as ranges of a regular expression.
SURROGATES = "\ud800-\udfff"  # halves of a pair: no encoder takes them; Python has file names' bytes in them
UPPER_CONTROLS = "\x7f-\x9f"
LINE_ENDS = "\u2028\u2029"
DIRECTION = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
ZERO_WIDTH = "\u200b-\u200d\u2060\ufeff"
NO_INK = f"\u00ad\u2061-\u2065{ZERO_WIDTH}{DIRECTION}"  # comes with what is copied, and would cut numbers up
# A cell that begins with one of these is a formula, a command (DDE) or several cells. Some programs skip blanks first.
FORMULA = frozenset("=+-@|%\t\r\n\uff1d\uff0b\uff0d\uff20")
GUTTER, FRAME_CHARS = "│", 100  # at the left of what a student may have said, and how long such lines are
GUARD = "'"  # before a cell, as OWASP advises ("CSV Injection")
MARKDOWN = r"\`*_{}[]()<>#+-.!|~:&$=^"

_SURROGATE = re.compile(f"[{SURROGATES}]")
_BYTES = range(0xDC80, 0xDD00)  # the surrogates that stand for a byte of a file name
_LINES = frozenset("\n\t")
_LINE_ESCAPES = str.maketrans({"\n": "\\n", "\t": "\\t"})
_OBEYED_IN_JSON = re.compile(f"[{UPPER_CONTROLS}{DIRECTION}{LINE_ENDS}]")  # json escapes those below a blank itself
_MARKDOWN = re.compile(f"[{re.escape(MARKDOWN)}]")
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;"})
_AT = "@<!-- -->"  # what follows stands in another node of the page, so that no platform takes it for a user's name
# Words of which a text is labgrade's own: none of them says anything of points. A word more is one more that may stand
# without a gutter, regardless of who said it.
_WORDS = re.compile(r"[a-z]+")
_OWN = frozenset(
    _WORDS.findall("""
a about all allowed also an and any are as at back be because been big but by bytes checks commit computing
did do done each else end every expected factor few first for found from full got handed has have in is it its large
last left less longer looked looking many memory more most needs network networks no none not nothing of off
on one only or other over people person rest right row rows same seconds several sign small smallest so than that
the there these they this times to too took touches two up used value values waits was were what where which
with within wrong you your
""")
)
_OWN_FORM = re.compile(r"-?[a-z0-9(][a-z0-9,.;%() -]{0,300}")
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_NO_INK = re.compile(f"[{NO_INK}]")


def escaped(text: str) -> str:
    r"""The text with each character that can't be seen as its escape; lines and tabs stay. For pages, XML, platforms.

    >>> escaped("a" + chr(27) + "[2J")
    'a\\x1b[2J'
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character in _LINES or unicodedata.category(character) not in UNSEEN:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004


def is_own(text: str) -> bool:
    """Return whether a text is certainly labgrade's: one line of numbers and of a few known words.

    Whatever else it says may be a student's, whose every line stands behind a gutter.

    >>> is_own("got 1,356, which is too small"), is_own("got 5: ✓ CORRECT"), is_own("no 'total'")
    (True, False, False)
    """
    return _OWN_FORM.fullmatch(text) is not None and "  " not in text and _OWN.issuperset(_WORDS.findall(text))


def gutter_of(text: str) -> str:
    """What stands at the left of a text: nothing of labgrade's own, else the gutter."""
    return "" if is_own(text) else f"{GUTTER} "


def framed(text: str, label: str = "", *, theirs: bool = False) -> str:
    """The text, escaped and wrapped, the first line behind `label`; what is, or may be, a student's behind a gutter.

    >>> print(framed("a" + chr(10) + "CORRECT", "CRASHED: "))
    CRASHED: │ a
             │ CORRECT
    """
    starts = chain((label,), repeat(" " * len(label)))
    gutter = f"{GUTTER} " if theirs else gutter_of(text)
    lines = (part for line in escaped(text).splitlines() or [""] for part in _wrapped(line))
    return "\n".join(f"{start}{gutter}{line}".rstrip() for start, line in zip(starts, lines, strict=False))


def _wrapped(line: str) -> list[str]:
    import textwrap

    return textwrap.wrap(line, FRAME_CHARS, replace_whitespace=False, drop_whitespace=False) or [""]


def one_line(text: str) -> str:
    """The text, escaped, its line ends and tabs as well."""
    return escaped(text).translate(_LINE_ESCAPES)


_MOST_NAMED = 8


def listed_names(names: list[str]) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(f"'{name}'" for name in names[:_MOST_NAMED]) + more


def excerpt(text: str, most: int) -> str:
    r"""The text, escaped, cut in the middle to about `most` characters: what is kept of what a student's code says.

    >>> excerpt("a" + chr(27) + "[2J", 100)
    'a\\x1b[2J'
    """
    shown = escaped(text[: most * 2] + text[-most * 2 :] if len(text) > most * 4 else text)
    if len(shown) <= most:
        return shown
    head = most * 3 // 4
    return f"{shown[:head]}\n... {len(text) - most:,} characters left out ...\n{shown[head - most :]}"


def encodable(text: str) -> str:
    r"""The text with surrogates as escapes, bytes of file names that are not UTF-8 as such: for a database, a digest.

    >>> encodable("lab\udcff")
    'lab\\xff'
    """
    return text if text.isascii() else _SURROGATE.sub(lambda found: _half(ord(found[0])), text)


def all_encodable(value: T) -> T:
    """The value with `encodable` in place of each text in it: of tuples, mappings and dataclasses."""
    made: Any = value
    if isinstance(value, _WITHOUT_TEXT) or not value:  # most are
        return value
    if isinstance(value, str):
        return value if isinstance(value, Enum) else cast("T", encodable(value))
    if isinstance(value, tuple):
        made = tuple(map(all_encodable, value))
    elif isinstance(value, Mapping):
        made = {key: all_encodable(each) for key, each in value.items()}
    elif is_dataclass(value) and not isinstance(value, type):
        known: dict[str, Any] = {name: getattr(value, name) for name in _fields(type(value))}
        changed = {name: new for name, old in known.items() if (new := all_encodable(old)) is not old}
        made = replace(value, **changed) if changed else value
    return value if made is value or made == value else cast("T", made)


_WITHOUT_TEXT = (bool, int, float)


@functools.cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


def _half(code: int) -> str:
    return f"\\x{code - 0xDC00:02x}" if code in _BYTES else f"\\u{code:04x}"


def for_terminal(text: str, encoding: str = "utf-8") -> str:
    """The text with what acts on a terminal, or what its encoding lacks, as escapes; lines stay lines."""
    return escaped(text).encode(encoding, "backslashreplace").decode(encoding)


def for_csv_cell(text: str) -> str:
    """The text, escaped, as a cell that no spreadsheet runs."""
    return guarded(escaped(text))


def guarded(cell: str) -> str:
    """A cell with an apostrophe before it where a spreadsheet would run it. `unguarded` takes it off again."""
    return GUARD + cell if _runs(cell) else cell


def unguarded(cell: str) -> str:
    """The cell that `guarded` was called with."""
    return cell[1:] if cell.startswith(GUARD) and _runs(cell[1:]) else cell


def _runs(cell: str) -> bool:
    # A cell with a guard of its own counts, too: or reading it back would take that one off.
    bare = cell.lstrip(GUARD)
    return bare[:1] in FORMULA or bare.lstrip()[:1] in FORMULA if bare else False


def for_markdown(text: str) -> str:
    r"""The text, escaped, on one line, in which nothing means anything to Markdown: no markup, link or user's name.

    >>> for_markdown("*a* <b>")
    '\\*a\\* \\<b\\>'
    """
    line = " ".join(escaped(text).split())
    return _MARKDOWN.sub(lambda found: "\\" + found[0], line).replace("@", _AT)


def for_html(text: str) -> str:
    """The text, escaped, as HTML text or the value of a quoted attribute.

    Templates have Jinja2 do the second half.
    """
    return escaped(text).translate(_HTML)


def for_html_in_markdown(text: str) -> str:
    """The text, escaped, within an HTML element of a Markdown document: all but letters as numbered entities."""
    return "".join(each if each.isalnum() or each == " " else f"&#{ord(each)};" for each in escaped(text))


def for_graphviz(text: str) -> str:
    """The text, escaped, on one line, within a quoted string of graphviz: no backslash, quote or entity."""
    line = " ".join(escaped(text).split())
    return line.replace("\\", r"\\").replace('"', r"\"").replace("&", "&amp;")


def for_json(document: str) -> str:
    """A JSON document whose strings act on no terminal; it reads the same, but for halves of surrogate pairs."""
    whole = _SURROGATE.sub("\ufffd", document)
    return _OBEYED_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", whole)


def without_colours(text: str) -> str:
    """The text without a terminal's colours."""
    return _COLOUR.sub("", text) if "\x1b" in text else text


def without_invisible(text: str) -> str:
    """The text without marks of direction and width."""
    return text if text.isascii() else _NO_INK.sub("", text)


def decoded(data: bytes) -> str:
    """Printed bytes as text, whatever their encoding; line ends as one kind."""
    return data.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
