"""Text files of a submission, read in bounded memory, whatever wrote them."""

from __future__ import annotations

import itertools
import os
import re
import stat
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from labgrade.answers.reading.markup import LOSSY, converted, plain_latex, plain_markup
from labgrade.answers.reading.numerals.units import in_stated_units
from labgrade.answers.reading.words.terms import INK
from labgrade.core.text import ZERO_WIDTH, without_colours, without_invisible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.core.results import Submission

_ADDRESSES = ("![", "(", "http", "www.")  # what begins with these is blank to who looks for values, and seen by people
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
    | \( (?<=\]\() [^()\s]{1,1000}+ [\ \t]++ (?: "[^"\n]{0,200}+" | '[^'\n]{0,200}+' ) [\ \t]*+ \)
    | https?:// [^\s<>|()\[\]`]{1,2000}
    | www\. [^\s<>|()\[\]`]{1,2000}
    """,
    re.VERBOSE | re.MULTILINE,
)
_ZERO_WIDTH = re.compile(f"[{ZERO_WIDTH}]")
_TIME = r"\[?(?:\d{4}-\d\d-\d\d[T\ ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?Z?\]?"
_LEVEL = r"\[?\b(?:DEBUG|INFO|WARN|WARNING|ERROR)\b\]?"
# What Python's logging, loguru and their like put before a message: a time, a level, or both, and who says it.
_LOG = re.compile(
    rf"^[ \t]{{0,8}}(?:{_TIME}[ \t|-]{{1,8}}(?:[\w.]{{1,40}}[ \t|-]{{1,8}})?{_LEVEL}"
    rf"|{_LEVEL}(?:[ \t]{{1,4}}{_TIME})?|{_TIME})"
    r"(?::[\w.]{1,40}:|[ \t]{0,8}[|:-])?(?:[ \t]{0,8}[\w.]{1,40}:[\w<>]{1,40}:\d{1,6}[ \t]{1,4}-)?[ \t]{0,2}(?=\S)",
    re.MULTILINE,
)
_LEAST_LOGGED = 2
_INDENT = 13
_LINE_END = re.compile(r"\r+\n|\r")  # `\r\r\n` is one: Python's csv writes it on Windows without newline=""


def visible(text: str, *, addresses: bool = False) -> str:
    """Return the text with blanks for what a rendered page hides or strikes out; its length stays.

    HTML comments, `~~...~~`, `<del>`, `<s>`, images, the targets of links and bare addresses; not inside of code
    fences, where all of this is literal. With `addresses` the last three stay.
    """
    text = _ZERO_WIDTH.sub(" ", text)
    if not any(mark in text for mark in _MARKS):
        return text
    pieces: list[str] = []
    position = 0
    for start, end in _hidden(text):
        if addresses and text.startswith(_ADDRESSES, start):
            continue
        pieces += (text[position:start], INK.sub(" ", text[start:end]))
        position = end
    return "".join(pieces) + text[position:]


def without_log_marks(text: str) -> str:
    """Return the text without times and levels of log messages, if several lines have them: `[INFO] Conv: 52`."""
    plain, logged = _LOG.subn("", text)
    return plain if logged >= _LEAST_LOGGED else text


def _hidden(text: str) -> Iterator[tuple[int, int]]:
    """Yield the hidden places, in order. Each kind of end is searched in vain at most once: time stays linear."""
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
    """Return where the next match ends."""
    match = re.compile(pattern, re.MULTILINE | re.IGNORECASE).search(text, position)
    return match.end() if match else None


def _begins_line(text: str, position: int) -> bool:
    """Return whether only blanks and marks of a quotation are between the start of the line and `position`."""
    above = f"\n{text[:position]}" if position < _INDENT else text[position - _INDENT : position]
    return "\n" in above and not above.rpartition("\n")[2].strip(" \t>")


LARGEST = 64_000_000
_BOMS = (
    (b"\xef\xbb\xbf", "utf-8-sig", ""),
    (b"\xff\xfe\0\0", "utf-32", "UTF-32"),
    (b"\0\0\xfe\xff", "utf-32", "UTF-32"),
    (b"\xff\xfe", "utf-16", "UTF-16"),
    (b"\xfe\xff", "utf-16", "UTF-16"),
)
_LEGACY = (("cp950", "Big5"), ("gb18030", "GB 18030"), ("latin-1", "Latin-1"))
_AS_THEY_ARE = (".csv", ".tsv")
_REMEMBERED = 4
_MOST_NAMED = 4
_SAMPLE = 2_000
_LEAST_PAIRS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text with the path it was read from, as its reader sees it (`visible`); a .csv or .tsv as it is.

    Lines end in a line feed; a terminal's colours are removed. `lossy`: a part may be lost by its format, or is by
    `problem`; what is not right in it is for a person to see. `written`: the same lines with addresses and images,
    which are for people alone; "" if there are none.
    """

    path: str
    text: str
    remarks: tuple[str, ...] = ()
    lossy: bool = False
    problem: str = ""
    written: str = ""

    def line(self, position: int) -> int:
        """Return the line, counted from 1, that holds the character at `position`."""
        return self.text.count("\n", 0, position) + 1

    def as_written(self, start: int, end: int) -> str:
        """Return a part of the text with its addresses and images."""
        if not self.written:
            return self.text[start:end]
        first, begin = self.line(start), self.text.rfind("\n", 0, start) + 1
        stop = self.text.find("\n", end)
        lines = self.text[begin : stop if stop >= 0 else len(self.text)].split("\n")
        written = self.written.split("\n", first + len(lines) - 1)[first - 1 :]
        known = [_as_written(*both) for both in itertools.zip_longest(lines, written[: len(lines)], fillvalue="")]
        behind = end - begin - sum(len(line) + 1 for line in lines[:-1])
        known[-1] = known[-1][:behind] if len(known[-1]) == len(lines[-1]) else known[-1]
        known[0] = known[0][start - begin :] if len(known[0]) == len(lines[0]) else known[0]
        return "\n".join(known)


def _as_written(shown: str, written: str) -> str:
    """Return a line as it was written; `shown` if it comes from no such line."""
    letters = iter(written)
    return written if all(letter in letters for letter in shown if not letter.isspace()) else shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A file that can't be read, and why, for the student."""

    path: str
    reason: str


def read_document(submission: Submission, relative: str) -> Document | Unreadable | None:
    """Return the text of a file; None if the submission has no such file.

    A file of that name in other case or in another folder is taken, too, with a remark; two such are Unreadable, as are
    binary data and more than `LARGEST` bytes.
    """
    found = locate(submission, relative)
    if not isinstance(found, str):
        return found
    data = read_bytes(submission, found, LARGEST)
    if isinstance(data, Unreadable):
        return data
    known = _document(data, found)
    if isinstance(known, Unreadable) or found == relative:
        return known
    return replace(known, remarks=(f"read '{found}' for '{relative}'", *known.remarks))


@lru_cache(maxsize=_REMEMBERED)
def _document(data: bytes, path: str) -> Document | Unreadable:
    """Return the document in a file's bytes; remembered, because several forms ask for the same one in turn."""
    other = converted(data, path)
    if other is not None:
        text, written = _shown(without_invisible(other.text))
        return Document(
            path=path,
            text=text,
            written=written,
            remarks=(f"lines of '{path}' are counted in its text as Markdown",),
            lossy=bool(other.problem) or path.lower().endswith(LOSSY),
            problem=other.problem,
        )
    decoded = decoded_text(data)
    if decoded is None:
        return Unreadable(path=path, reason=f"'{path}' holds binary data; hand in plain text (UTF-8)")
    text, encoding = decoded
    text = _LINE_END.sub("\n", without_invisible(without_colours(text)))
    latex = path.lower().endswith(".tex") or "\\begin{document}" in text
    text = plain_latex(text) if latex else text
    remarks = (f"'{path}' is not UTF-8: read as {encoding}",) if encoding else ()
    text, written = (text, "") if path.lower().endswith(_AS_THEY_ARE) else _shown(without_log_marks(text))
    return Document(path=path, text=text, remarks=remarks, written=written)


def _shown(text: str) -> tuple[str, str]:
    """Return the text in which values are looked for, and the text for people if that has more, line by line."""
    blank = visible(text)
    whole = visible(text, addresses=True) if blank != text else blank
    found = in_stated_units(plain_markup(blank))
    written = in_stated_units(plain_markup(whole)) if whole != blank else ""
    return found, written if written.count("\n") == found.count("\n") else ""


def locate(submission: Submission, relative: str) -> str | Unreadable | None:
    """Return the file that is meant: of that very path, or else the only one of that name in other case or deeper.

    Else the only one, no code, whose name has other marks between its words: `batch_size.csv` for `batch-size.csv`.
    """
    if relative in submission.files:
        return relative
    wanted = relative.lower()
    close = [file for file in submission.files if file.lower() == wanted]
    close = close or [file for file in submission.files if file.lower().endswith(f"/{wanted}")]
    if not close and not wanted.endswith(".py"):
        plain = f"/{_without_marks(relative)}"
        spelt = [file for file in submission.files if f"/{_without_marks(file)}".endswith(plain)]
        return spelt[0] if len(spelt) == 1 else None
    if len(close) > 1:
        named = ", ".join(f"'{file}'" for file in close[:_MOST_NAMED]) + (", ..." if len(close) > _MOST_NAMED else "")
        return Unreadable(
            path=relative, reason=f"{len(close)} files could be '{relative}': {named}; keep one, at the top"
        )
    return close[0] if close else None


@lru_cache(maxsize=1 << 12)
def _without_marks(path: str) -> str:
    """Return a path without case and without marks between words; marks between digits stay: `2-1` is not `21`."""
    return re.sub(r"(?<!\d)-|-(?!\d)", "", re.sub(r"[\s_-]+", "-", path.lower()))


def read_bytes(submission: Submission, relative: str, largest: int) -> bytes | Unreadable:
    """Return at most `largest` bytes of a regular file; Unreadable if there are more. No link is followed."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(submission.folder / relative, flags)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return Unreadable(path=relative, reason=f"'{relative}' is not a regular file")
            data = file.read(min(status.st_size, largest) + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "its name is not valid"
        return Unreadable(path=relative, reason=f"'{relative}' can't be read: {why.lower()}")
    if len(data) > largest:
        return Unreadable(path=relative, reason=f"'{relative}' is larger than {largest / 1e6:,.0f} MB; hand in less")
    return data


def decoded_text(data: bytes) -> tuple[str, str] | None:
    """Return the text, and the encoding if it is unusual; None for binary data."""
    for mark, encoding, name in _BOMS:
        if data.startswith(mark):
            try:
                return data.decode(encoding), name
            except UnicodeDecodeError:
                break
    if b"\0" in data:
        return _without_mark(data)
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        pass
    for encoding, name in _LEGACY[1:] if _is_simplified(data) else _LEGACY:
        try:
            return data.decode(encoding), name
        except UnicodeDecodeError:
            continue
    return None


def _without_mark(data: bytes) -> tuple[str, str] | None:
    """Return a text in UTF-16 without a byte order mark, in which every second byte is mostly 0; else None."""
    for place, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        high, low = data[place::2], data[1 - place :: 2]
        if len(data) % 2 == 0 and high.count(0) * 2 > len(high) and not low.count(0):
            try:
                return data.decode(encoding), "UTF-16"
            except UnicodeDecodeError:
                break
    return None


def _is_simplified(data: bytes) -> bool:
    """Return whether text that may be Big5 is GB 2312: no second byte is below 0xA1, in Big5 4 of 10 are."""
    try:
        wide = [letter.encode("cp950") for letter in data.decode("cp950")[:_SAMPLE] if not letter.isascii()]
    except UnicodeError:
        return False
    return len(wide) >= _LEAST_PAIRS and all(len(pair) == 2 and pair[1] >= 0xA1 for pair in wide)  # noqa: PLR2004 - bytes
