"""Where an entry stands in plain data: under its name, under one that says more (`2-1-1-parameters`), in a list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.files.yaml import Path

_NUMBERED = re.compile(r"(?P<lab>[a-z]+[ _.-]*)?(?P<number>\d{1,3}(?:-\d{1,3})+)")
_LAB = re.compile(r"lab", re.IGNORECASE)
_MOST_KEYS = 2_000
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SEPARATORS = re.compile(r"[\s_.:#-]+")


def find_entry(data: object, dotted: str) -> Path | None:
    """The path to a dotted name: as it is written, else where one key alone can mean each part of it.

    A list of mappings, as of `- total: 5`, is looked through as one mapping. Keys may themselves hold dots, so that the
    longest one that fits is taken first. None where nothing stands there.
    """
    exact = _find(data, dotted, alike=False)
    return exact if exact is not None else _find(data, dotted, alike=True)


def _find(data: Any, dotted: str, *, alike: bool) -> Path | None:
    if dotted == "":
        return ()
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        wanted = ".".join(parts[:length])
        rest = ".".join(parts[length:])
        places = [each for each in _places(data, wanted, alike=alike) if _at(data, each) is not None]
        found = [
            (*place, *inner) for place in places if (inner := _find(_at(data, place), rest, alike=alike)) is not None
        ]
        if len(found) == 1:
            return found[0]
    return None


def _places(data: Any, wanted: str, *, alike: bool) -> Iterator[Path]:
    """The paths to keys of a mapping, or of the mappings in a list, that are called so."""
    if isinstance(data, list):
        for place, each in enumerate(data[:_MOST_KEYS]):
            if isinstance(each, dict):
                yield from ((place, *path) for path in _places(each, wanted, alike=alike))
    elif isinstance(data, dict):
        if not alike:
            yield from [(wanted,)] if wanted in data else []
            return
        means = _meaning(wanted)
        yield from ((key,) for key in list(data)[:_MOST_KEYS] if means(key))


def _at(data: Any, path: Path) -> Any:
    for key in path:
        data = data[key]
    return data


def _meaning(wanted: str) -> Any:
    """Whether a key means `wanted`: in other case or with other separators; a task's number among words."""
    number = _NUMBERED.fullmatch(wanted)
    if number is None:
        plain = _plain(wanted)
        return lambda key: _plain(key) == plain
    digits = r"[-_. ]".join(number["number"].split("-"))
    pattern = re.compile(rf"(?<!\d)(?<!\d[-_.]){digits}(?![-_.]?\d)")
    of_lab = bool(_LAB.match(number["lab"] or ""))
    return lambda key: bool(pattern.search(key)) and bool(_LAB.search(key)) is of_lab


def _plain(key: str) -> str:
    return _SEPARATORS.sub("-", _CAMEL.sub("-", key)).strip("-").lower()
