"""What each line of a text is: heading, prose, table, quotation, source code, output, or an example of what is asked.

Source code says nothing but what it prints. A fence is source code by what stands in it, whatever it calls itself:
students put results into fences of Python, and code into fences of nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from labgrade.answers.reading.code import is_code
from labgrade.answers.reading.words.vocabulary import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = re.compile(r"[ \t>]*(?P<marks>`{3,}|~{3,})[ \t]*\{?\.?(?P<language>[\w+#-]*)")
_LANGUAGES = frozenset(
    {
        *("py", "python", "python3", "ipython", "c", "cc", "cpp", "c++", "cxx", "cuda", "cu", "java"),
        *("js", "javascript", "rust", "matlab", "cmake", "make", "makefile"),
    }
)
_QUOTE = re.compile(r"[ \t]*>(?![ \t]*(?:python3?|tree|ls|cd|cat|\./))")
_BOX = re.compile(r"[ \t]*>[ \t]*\[!")
_COMMENT = re.compile(r"[ \t]*(?:#|//|/\*|\*[ /])")
_OF_CODE = re.compile(  # a line that is no statement by itself, between others that are
    r"[ \t]*(?:#|//|/\*|\*[ /]|[)\]}])|[^\n]*(?:[{;\\(]|,)[ \t]*$"
    r"|[ \t]*[\w.]+(?:\[[^\]\n]{0,60}\])*[ \t]*[-+*/]?=[ \t]?[^=\n]"
    r"|[ \t]{4,}[^\n]*$"
)
_NAMES_CODE = re.compile(r"`[^`\n]{1,120}`|\b\w+(?:\.\w+)*\([^()\n]{0,60}\)")
_WORDS = re.compile(r"(?:\b[^\W\d_]+,?[ ]+){4}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{4}")
_TRIPLE = ('"""', "'''")
_LONGEST = 400
_LEAST, _LEAST_NAMED = 0.34, 0.15  # shares of the lines of a fence that are plainly code


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The kind of a line. `code`: of a program; `quoted`: not the writer's; `fenced`: in a fence; `example`: why."""

    code: bool = False
    quoted: bool = False
    fenced: bool = False
    example: str = ""


_TEXT = Kind()


@lru_cache(maxsize=4)
def kinds(text: str, *, notebook: bool = False) -> tuple[Kind, ...]:
    """Return the kind of each line, in linear time. `notebook`: fences that name a language are cells of code."""
    lines = text.split("\n")
    found: list[Kind] = []
    printed = False  # whether a quotation would be what source code printed
    while len(found) < len(lines):
        fence = _FENCE.match(lines[len(found)])
        if fence is None:
            line = lines[len(found)]
            printed = printed and (not line.strip() or bool(_QUOTE.match(line)))
            found += (replace(kind, quoted=False) if printed else kind for kind in _unfenced(lines, len(found)))
            continue
        first = len(found)
        last = _closing(lines, first, fence["marks"])
        example = _announced(lines, first)
        named = fence["language"].lower() in _LANGUAGES
        inner = list(_of_fence(lines[first + 1 : last], named=named, sure=named and notebook, example=example))
        if fence["language"].lower() == "diff":
            inner = list(_of_diff(lines[first + 1 : last], example))
        printed = any(kind.code for kind in inner)
        found += [_TEXT, *inner, *([_TEXT] if last < len(lines) else [])]
    return tuple(found[: len(lines)])


def _closing(lines: list[str], first: int, marks: str) -> int:
    """Return the line that closes the fence opened at `first`; the end of the text if none does."""
    for at in range(first + 1, len(lines)):
        plain = lines[at].strip(" \t>")
        if plain.startswith(marks) and not plain.strip(marks[0]):
            return at
    return len(lines)


def _of_fence(lines: list[str], *, named: bool, sure: bool, example: str) -> Iterator[Kind]:
    plainly = [is_code(line[:_LONGEST]) for line in lines]
    written = sum(bool(line.strip()) for line in lines) or 1
    share = sum(plainly) / written
    source = sure or share >= _LEAST or (named and share >= _LEAST_NAMED)
    last = max((at for at, each in enumerate(plainly) if each), default=-1)
    quoted = False
    for at, line in enumerate(lines):
        inside = quoted
        quoted ^= source and sum(map(line[:_LONGEST].count, _TRIPLE)) % 2 == 1
        of_code = sure or inside or (at < last and bool(_OF_CODE.match(line[:_LONGEST]))) or bool(_COMMENT.match(line))
        comment = named and bool(_COMMENT.match(line))
        yield Kind(code=plainly[at] or comment or (source and of_code), fenced=True, example=example)


def _of_diff(lines: list[str], example: str) -> Iterator[Kind]:
    """Yield the lines of a diff; removed lines say nothing."""
    kept = _of_fence([line[1:] for line in lines], named=False, sure=False, example=example)
    for line, kind in zip(lines, kept, strict=True):
        yield replace(kind, code=kind.code or line.startswith("-"))


def _unfenced(lines: list[str], at: int) -> Iterator[Kind]:
    """Yield the kinds of lines outside of fences; a comment is code if a statement is next to it."""
    line = lines[at]
    code = is_code(line) and not _is_sentence(line)
    if not code and _COMMENT.match(line):
        beside = [*lines[max(0, at - 2) : at], *lines[at + 1 : at + 3]]
        code = any(map(is_code, beside)) and not re.match(r"#{2,6} ", line)
    quoted = bool(_QUOTE.match(line)) and not _in_box(lines, at)
    example = _announced(lines, at) if line.strip() else ""
    yield Kind(code=code, quoted=quoted, example=example)


def _is_sentence(line: str) -> bool:
    """Return whether a line is prose that names code: `I added up numel() of model.parameters() and got ...`."""
    plain = _NAMES_CODE.sub(" x ", line[:_LONGEST])
    return bool(_WORDS.search(plain)) and not is_code(plain)


def _in_box(lines: list[str], at: int) -> bool:
    """Return whether a quotation is a box with a title, whose words are the writer's own: `> [!note]`."""
    while at and _QUOTE.match(lines[at - 1]):
        at -= 1
        if _BOX.match(lines[at]):
            return True
    return bool(_BOX.match(lines[at]))


def _announced(lines: list[str], at: int) -> str:
    """Return the words that announce the paragraph or fence of a line as an example; empty if there are none."""
    own = at
    while (
        own > max(0, at - 30) and lines[own - 1].strip() and not lines[own - 1].rstrip(" *_").endswith((":", "\uff1a"))
    ):
        own -= 1
    above = own - 1
    while above > 0 and not lines[above].strip():
        above -= 1
    said = lines[above].rstrip(" *_\t") if above >= 0 else ""
    if not said.endswith((":", "\uff1a")) or any(map(str.isdigit, said[-40:])):
        return ""
    found = pattern("doubts", "announced").search(said[-120:])
    return found[0] if found else ""
