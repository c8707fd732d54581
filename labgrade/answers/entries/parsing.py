"""A file of entries as plain data: YAML or JSON, in whatever encoding an editor saved it."""

from __future__ import annotations

import contextlib
import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from labgrade.answers.reading.documents import Unreadable, decoded_text, read_bytes
from labgrade.answers.reading.numbers import read_number
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
_ENTRY = re.compile(r"(?P<key>\s*(?:- )?[^\W_][\w .-]{0,80}):\s*(?P<value>[^\s\[{#].*?)\s*(?:\s#.*)?")
_LONGEST_NUMBER = 400  # characters; longer ones stay text, so that no million-digit integer is ever built


def is_json(file: str) -> bool:
    """Whether a file is read as JSON."""
    return file.lower().endswith(".json")


def text_of(submission: Submission, file: str) -> tuple[str, tuple[str, ...]]:
    """The text of a file of entries, and what staff should know of its encoding.

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
    return without_invisible(text), ((f"'{file}' is not UTF-8: read as {encoding}",) if encoding else ())


def parsed_json(text: str, *, in_digits: bool) -> tuple[Any, list[Path]]:
    """The data, and the paths of the keys that are given twice, with different values.

    Raises:
        ValueError: it is no JSON.
    """
    found = _remembered_json(text, in_digits)
    if isinstance(found, ValueError):
        raise found
    return found


@lru_cache(maxsize=_REMEMBERED)
def _remembered_json(text: str, in_digits: bool) -> tuple[Any, list[Path]] | ValueError:  # noqa: FBT001 - a part of the key
    """As `parsed_json`, or what is wrong with the text: many entries of one file are read in turn."""
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
    """The data of YAML, with the places of its values.

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
        return yaml.load_untrusted(text, file)
    except SpecError as error:
        return (_without_tabs(text, file) if "\t" in text else None) or _in_quotes(text, file, error) or error


def _without_tabs(text: str, file: str) -> Loaded | None:
    """The data, where lines are set in by tabs, and their width makes no difference to what it is."""
    found: list[Loaded] = []
    for width in _TABS:
        with contextlib.suppress(SpecError):
            found.append(yaml.load_untrusted(text.expandtabs(width), file))
    return found[0] if found and all(each.data == found[0].data for each in found) else None


def _in_quotes(text: str, file: str, error: SpecError) -> Loaded | None:
    """The data, where lines have a value that is no YAML, as `total: Conv: 52, Clip: 35`, and is text in quotes."""
    lines = text.splitlines()
    mended: set[int] = set()
    while len(mended) < _MOST_MENDED:
        at = error.findings[0].mark.line - 1
        entry = _ENTRY.fullmatch(lines[at]) if at < len(lines) and at not in mended else None
        if entry is None:
            return None
        mended.add(at)
        value = entry["value"].replace("'", "''")
        lines[at] = f"{entry['key']}: '{value}'"
        try:
            return yaml.load_untrusted("\n".join(lines), file)
        except SpecError as next_error:
            error = next_error
    return None


def _whole_number(written: str) -> int | str:
    return int(written) if len(written) <= _LONGEST_NUMBER else written


def _broken_number(written: str) -> float | Number:
    number = read_number(written, "number")
    return float(written) if number is None else number


class _JsonObject(dict[str, object]):
    """An object of JSON, with the first value of each key; `twice`: the keys that have another one, too."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__()
        self.twice: list[str] = []
        for key, value in pairs:
            self._add(key, value)

    def _add(self, key: str, value: object) -> None:
        """One more value of a key: of two objects with one name each says its part."""
        first = self.setdefault(key, value)
        if first is value:
            return
        if isinstance(first, _JsonObject) and isinstance(value, _JsonObject):
            for inner, each in value.items():
                first._add(inner, each)  # noqa: SLF001 - of its own class
        elif first != value:
            self.twice.append(key)


def _doubles(data: object) -> Iterator[Path]:
    """The path of each key that is given twice."""
    waiting: list[tuple[Path, object]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, _JsonObject):
            yield from ((*path, key) for key in value.twice)
            waiting += (((*path, key), inner) for key, inner in value.items())
        elif isinstance(value, list):
            waiting += (((*path, place), inner) for place, inner in enumerate(value))
