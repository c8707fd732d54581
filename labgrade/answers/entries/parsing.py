"""A file of entries as plain data: YAML or JSON, in whatever encoding an editor saved it."""

from __future__ import annotations

import contextlib
import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from labgrade.answers.reading.documents import Unreadable, decoded_text, read_bytes
from labgrade.answers.reading.numerals.numbers import read_number
from labgrade.core.errors import SpecError
from labgrade.core.text import without_invisible
from labgrade.files import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.core.results import Submission
    from labgrade.files.yaml import Loaded, Path
    from labgrade.values import Number

_LARGEST = 4 << 20
_REMEMBERED = 2
_TABS = (2, 4, 8)
_MOST_MENDED = 30  # lines of one file; each has it parsed once more
_COMMENT = re.compile(r"^\s*//[^\n]*|/\*[^*]{0,2000}\*/", re.MULTILINE)
_BRACKET = re.compile(r"\"(?>(?:[^\"\\\n]|\\.)*)\"|([\[\]{}])")
_CLOSES = {"{": "}", "[": "]"}
_MOST_BRACKETS = 10_000
_AROUND = re.compile(r"(?:---|\.\.\.|```\s*\w{0,12}|~~~)\s*")
_BARE = re.compile(r"\s*[^\W_][\w.-]{0,40}(?: [\w.-]{1,40}){0,4}\s*")
_FULL = re.compile(r"\s*[^\W_][\w .-]{0,80}: +[\w'\"][^:]*")  # a key with its value, which has none below it
_ENTRY = re.compile(r"(?P<key>\s*(?:- )?[^\W_][\w .-]{0,80}):\s*(?P<value>[^\s\[{#].*?)\s*(?:\s#.*)?")
_NAMED = re.compile(r"\s*(?P<key>[^\W\d][\w.-]{0,80})(?:\s*=\s*|\s+)(?P<value>\d[^'\n]{0,200})")
_BLANK = re.compile(r"(?:^|(?<=[:,-]))[^\S\n\t]+", re.MULTILINE)  # that sets in or apart, also those of web pages
_LONGEST_NUMBER = 400  # characters; longer ones stay text, so that no million-digit integer is ever built


def is_json(file: str) -> bool:
    """Return whether a file is read as JSON."""
    return file.lower().endswith(".json")


def text_of(submission: Submission, file: str) -> tuple[str, tuple[str, ...]]:
    """Return the text of a file of entries, and a remark on its encoding for staff.

    Raises:
        ValueError: it can't be read; the message is for the student.
    """
    data = read_bytes(submission, file, _LARGEST)
    if isinstance(data, Unreadable):
        raise ValueError(data.reason.removeprefix(f"'{file}' "))  # noqa: TRY004 - a file, and no type
    decoded = decoded_text(data)
    if decoded is None:
        message = "it holds binary data; save it as plain text (UTF-8)"
        raise ValueError(message)
    text, encoding = decoded
    text = _BLANK.sub(lambda blank: " " * len(blank[0]), without_invisible(text))
    return text, ((f"'{file}' is not UTF-8: read as {encoding}",) if encoding else ())


def parsed_json(text: str, *, in_digits: bool) -> tuple[Any, list[Path]]:
    """Return the data, and the paths of keys that occur twice with different values.

    Raises:
        ValueError: it is no JSON.
    """
    found = _remembered_json(text, in_digits)
    if isinstance(found, ValueError):
        raise found
    return found


def without_comments(text: str) -> str:
    """Return JSON without JavaScript comments, and with missing brackets at its end."""
    plain = _COMMENT.sub("", text)
    opened = [bracket for bracket in _BRACKET.findall(plain) if bracket]
    waiting: list[str] = []
    for bracket in opened[:_MOST_BRACKETS]:
        if bracket in _CLOSES:
            waiting.append(_CLOSES[bracket])
        elif waiting and waiting[-1] == bracket:
            waiting.pop()
    whole = plain.rstrip()[-1:] in ("}", "]", '"')  # of a number some digits may be missing, too
    return plain + "".join(reversed(waiting)) if whole else plain


@lru_cache(maxsize=_REMEMBERED)
def _remembered_json(text: str, in_digits: bool) -> tuple[Any, list[Path]] | ValueError:  # noqa: FBT001 - a part of the key
    """Return what `parsed_json` does, or its error; remembered, because entries of one file are read in turn."""
    broken = _broken_number if in_digits else float
    try:
        # Not `strict`: a tab within a text is a tab.
        data = json.loads(
            text, parse_int=_whole_number, parse_float=broken, object_pairs_hook=_JsonObject, strict=False
        )
        return data, list(_doubles(data))
    except RecursionError:
        return ValueError("it is nested too deeply")
    except ValueError as error:
        return error


def parsed_yaml(text: str, file: str) -> Loaded:
    """Return the data of YAML, with the lines of its values.

    Raises:
        SpecError: it is no YAML.
    """
    found = _remembered_yaml(text, file)
    if isinstance(found, SpecError):
        raise found
    return found


@lru_cache(maxsize=_REMEMBERED)
def _remembered_yaml(text: str, file: str) -> Loaded | SpecError:
    try:
        found = yaml.load_untrusted(text, file)
        return (_without_colons(text, file) or found) if isinstance(found.data, str) else found
    except SpecError as error:
        return (_without_tabs(text, file) if "\t" in text else None) or _with_mended_lines(text, file, error) or error


def _without_colons(text: str, file: str) -> Loaded | None:
    """Return the data of lines with a name and a number, `parameters 1729218560`, `cache_bytes = 2654208000`."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    found = [_NAMED.fullmatch(line) for line in lines]
    if not found or not all(found):
        return None
    return yaml.load_untrusted("\n".join(f"{each['key']}: '{each['value']}'" for each in found if each), file)


def _without_tabs(text: str, file: str) -> Loaded | None:
    """Return the data of lines that are indented by tabs, if their width makes no difference."""
    found: list[Loaded] = []
    for width in _TABS:
        with contextlib.suppress(SpecError):
            found.append(yaml.load_untrusted(text.expandtabs(width), file))
    return found[0] if found and all(each.data == found[0].data for each in found) else None


def _with_mended_lines(text: str, file: str, error: SpecError) -> Loaded | None:
    """Return the data if single lines are no YAML and can mean only one thing; else None.

    A value such as `Conv: 52, Clip: 35` gets quotes, a key its colon, and a line with a strange indentation joins the
    line above. Separators of documents and Markdown's fences are left out.
    """
    lines = [line for line in text.splitlines() if not _AROUND.fullmatch(line)]
    mended: set[int] = set()
    if len(lines) < len(text.splitlines()):
        try:
            return yaml.load_untrusted("\n".join(lines), file)
        except SpecError as next_error:
            error = next_error
    while len(mended) < _MOST_MENDED:
        at = error.findings[0].mark.line - 1
        line = _mended_line(lines, at) if at < len(lines) and at not in mended else None
        if line is None:
            return None
        mended.add(at)
        lines[at] = line
        try:
            return yaml.load_untrusted("\n".join(lines), file)
        except SpecError as next_error:
            error = next_error
    return None


def _mended_line(lines: list[str], at: int) -> str | None:
    """Return a line that is no YAML in the only form that it can mean; None if that is not known."""
    line, above, below = lines[at], lines[at - 1] if at else "", lines[at + 1] if at + 1 < len(lines) else ""
    if _BARE.fullmatch(line):
        return f"{line.rstrip()}:" if _depth(below) > _depth(line) else None
    entry = _ENTRY.fullmatch(line)
    if entry is None:
        return None
    if _FULL.fullmatch(line) and _FULL.fullmatch(above) and _depth(line) != _depth(above):
        return above[: _depth(above)] + line.lstrip()
    value = entry["value"].replace("'", "''")
    return f"{entry['key']}: '{value}'"


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _whole_number(written: str) -> int | str:
    return int(written) if len(written) <= _LONGEST_NUMBER else written


def _broken_number(written: str) -> float | Number:
    number = read_number(written, "number")
    return float(written) if number is None else number


class _JsonObject(dict[str, object]):
    """An object of JSON with the first value of each key; `twice` has the keys with another value, too."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__()
        self.twice: list[str] = []
        for key, value in pairs:
            self._add(key, value)

    def _add(self, key: str, value: object) -> None:
        """Add one more value of a key. Two objects of one name are merged."""
        first = self.setdefault(key, value)
        if first is value:
            return
        if isinstance(first, _JsonObject) and isinstance(value, _JsonObject):
            for inner, each in value.items():
                first._add(inner, each)  # noqa: SLF001 - of its own class
        elif first != value:
            self.twice.append(key)


def _doubles(data: object) -> Iterator[Path]:
    """Yield the path of each key that occurs twice."""
    waiting: list[tuple[Path, object]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, _JsonObject):
            yield from ((*path, key) for key in value.twice)
            waiting += (((*path, key), inner) for key, inner in value.items())
        elif isinstance(value, list):
            waiting += (((*path, place), inner) for place, inner in enumerate(value))
