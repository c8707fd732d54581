"""Where an entry stands in plain data: under its name, under one that says more (`2-1-1-parameters`), in a list."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from labgrade.answers.reading.numerals.numbers import as_ascii
from labgrade.answers.reading.numerals.units import label_unit
from labgrade.answers.reading.words.vocabulary import CAMEL, concepts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from labgrade.files.yaml import Path

_NUMBERED = re.compile(r"(?P<lab>[a-z]+[ _.-]*)?(?P<number>\d{1,3}(?:-\d{1,3})+)")
_MOST_KEYS = 2_000
_DEEPEST = 3  # mappings around the tasks: `answers`, `hw2`
_SEPARATORS = re.compile(r"[\s_.:#-]+")
_AROUND = frozenset({"answer", "answers", "results", "solution", "solutions", "values"})
_ALIKE = 0.85  # of two words
_SPECIAL = frozenset({"frozen", "trainable", "types", "auxiliary", "buffers", "peak", "calls", "input"})
_OF_ANY = frozenset({"total", "memory"})
_IN_FULL = {
    **dict.fromkeys(("param", "params", "parameter", "nparams"), "parameters"),
    **dict.fromkeys(("mac", "madds", "mults"), "macs"),
    "out": "output",
    "outputs": "output",
    "shapes": "shape",
    "size": "shape",
    "mem": "memory",
}
_NOT = frozenset({"non", "not", "no", "un", "without"})


def find_entry(data: object, dotted: str) -> Path | None:
    """Return the path to a dotted name: as written, else the only place that can be meant; None if there is none.

    A list of mappings, as of `- total: 5`, is searched as one mapping, and a mapping around all tasks, or around the
    answers of one, is entered. Keys may hold dots, so that the longest key that fits is taken first.
    """
    head, _, rest = dotted.partition(".")
    ways = [(dotted, _same), (dotted, _meaning), (dotted, _wording)]
    if (number := _NUMBERED.fullmatch(head)) is not None and rest:
        parts = number["number"].split("-")
        split = (".".join(parts), f"{parts[0]}.{'-'.join(parts[1:])}", f"{'-'.join(parts[:-1])}.{parts[-1]}")
        ways += [(f"{number['lab'] or ''}{each}.{rest}", _same) for each in split if not number["lab"]]
    for name, means in ways:
        if (path := _find(data, name, means)) is not None:
            return path
    return _deeper(data, head, rest) if number is not None and rest else None


def find_alone(data: object, dotted: str) -> Path | None:
    """Return the path to the value of the first part of a name if nothing has the rest of it: `2-1-1: 6624904`.

    It may be within mappings around the tasks, in one place alone.
    """
    head, _, rest = dotted.partition(".")
    if not rest:
        return None
    within: list[Path] = [()]
    for _ in range(_DEEPEST):
        found: list[Path] = []
        for path in within:
            own = _find(_at(data, path), head, _same) or _find(_at(data, path), head, _meaning)
            if own is not None and not isinstance(_at(data, (*path, *own)), dict):
                found.append((*path, *own))
        if found:
            return found[0] if len(found) == 1 else None
        there = ((path, _at(data, path)) for path in within)
        within = [
            (*path, key)
            for path, each in there
            if isinstance(each, dict)
            for key in list(each)[:_MOST_KEYS]
            if isinstance(each[key], dict)
        ]
    return None


def find_stray(data: object, dotted: str) -> Path | None:
    """Return the path to what a missing name likely means: its end at the top, a misspelt or a similar entry."""
    _, _, rest = dotted.partition(".")
    around = [key for key in data if _plain(str(key)) in _AROUND] if isinstance(data, dict) else []
    within = [((), data), *(((key,), _at(data, (key,))) for key in around)]
    for name, means in ((rest, _meaning), (dotted, _misspelt)):
        found = [(*path, *inner) for path, each in within if name and (inner := _find(each, name, means)) is not None]
        if found:
            return found[0] if len(found) == 1 else None
    return _find_about(data, dotted)


def _find_about(data: Any, dotted: str) -> Path | None:
    """Return the path to the task's only entry about the same quantity as a name: `weights` for `weight_bytes`."""
    head, _, rest = dotted.partition(".")
    own = _find(data, head, _same) or _find(data, head, _meaning)
    within = _at(data, own) if own else None
    if not own or not rest or not isinstance(within, dict):
        return None
    there = [key for key in list(within)[:_MOST_KEYS] if within[key] is not None]
    keys = [key for key in there if _speak_alike(concepts(rest), str(key))]
    return (*own, keys[0]) if len(keys) == 1 else None


def _speak_alike(asked: frozenset[str], key: str) -> bool:
    """Return whether a key may name what is `asked`: `total` alone may be the total of anything."""
    said = concepts(key)
    if said == {"total"} != asked and not key.isalpha():
        return False
    if said & _SPECIAL != asked & _SPECIAL or not said:
        return False
    if asked <= {"total"} or said == {"total"}:
        return bool(asked)
    return said - _OF_ANY == asked - _OF_ANY and bool(asked - _OF_ANY) and "memory" not in said - asked


def unit_of(path: Path, dotted: str) -> str:
    """Return the unit that a key states and the name does not: the `GB` of `cache_GB`."""
    words = {word for word in _SEPARATORS.split(str(path[-1])) if _base(word)} if path else set()
    return words.pop() if len(words) == 1 and not words & set(_SEPARATORS.split(dotted)) else ""


def _base(word: str) -> str:
    """Return the base of a unit with a prefix: `bytes` of GB, `flops` of TFLOPs; an empty text for other words."""
    unit = label_unit(word) if word[:1].isupper() else None
    return (unit.noun or unit.measures).lower() if unit is not None and unit.prefixed and len(word) > 1 else ""


def _find(data: Any, dotted: str, meaning: Callable[[str], Callable[[str], bool]]) -> Path | None:
    if dotted == "":
        return ()
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        rest = ".".join(parts[length:])
        places = [each for each in _places(data, meaning(".".join(parts[:length]))) if _at(data, each) is not None]
        found = [(*place, *inner) for place in places if (inner := _find(_at(data, place), rest, meaning)) is not None]
        if len(found) == 1:
            return found[0]
    return None


def _deeper(data: Any, head: str, rest: str) -> Path | None:
    """Return the only place of an entry within mappings around all tasks, or around the answers of its task."""
    waiting: list[tuple[Path, Any]] = [((), data)]
    found: list[Path] = []
    for _ in range(_DEEPEST):
        waiting = [
            ((*path, key), each)
            for path, value in waiting
            if isinstance(value, dict)
            for key, each in list(value.items())[:_MOST_KEYS]
            if isinstance(each, dict | list)
        ]
        for path, each in waiting:
            own = any(_meaning(head)(str(key)) for key in path)
            inner = _find(each, rest if own else f"{head}.{rest}", _meaning)
            found += [] if inner is None else [(*path, *inner)]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _places(data: Any, means: Callable[[str], bool]) -> Iterator[Path]:
    """Yield the paths to keys of this name in a mapping or a list of mappings, and to a mapping that has the name."""
    if isinstance(data, list):
        for place, each in enumerate(data[:_MOST_KEYS]):
            if isinstance(each, dict):
                yield from ((place, *path) for path in _places(each, means))
                if len(each) > 1 and any(isinstance(value, str) and means(value) for value in each.values()):
                    yield (place,)
    elif isinstance(data, dict):
        yield from ((key,) for key in list(data)[:_MOST_KEYS] if means(key))


def _at(data: Any, path: Path) -> Any:
    for key in path:
        data = data[key]
    return data


def _same(wanted: str) -> Callable[[str], bool]:
    return lambda key: key == wanted


def _meaning(wanted: str) -> Callable[[str], bool]:
    """Return a test whether a key means `wanted`, in any case and spelling; a task's number may be among words."""
    number = _NUMBERED.fullmatch(wanted)
    if number is None:
        plain = _plain(wanted)
        return lambda key: _plain(key) == plain
    digits = r"[-_. ]".join(number["number"].split("-"))
    pattern = re.compile(rf"(?<!\d)(?<!\d[-_.]){digits}(?![-_.]?\d)")
    of_lab = (number["lab"] or "").lower().startswith("lab")
    return lambda key: bool(pattern.search(as_ascii(key[:80]))) and ("lab" in key.lower()) is of_lab


def _wording(wanted: str) -> Callable[[str], bool]:
    """Return a test whether a key means `wanted`, perhaps in more or fewer words (`total_params`), none a negation."""
    if "." in wanted or _NUMBERED.fullmatch(wanted) is not None:
        return _meaning(wanted)
    words = {_in_full(word) for word in _plain(wanted).split("-")}

    def means(key: str) -> bool:
        own = {_base(word) or _in_full(_plain(word)) for word in _SEPARATORS.split(CAMEL.sub("-", key[:80])) if word}
        return own & _NOT == words & _NOT and (words <= own or own <= words)

    return means


def _in_full(word: str) -> str:
    return _IN_FULL.get(word, word)


def _misspelt(wanted: str) -> Callable[[str], bool]:
    """Return a test whether a key means `wanted`, but for a letter missing or wrong in words; digits must be right."""
    words = _plain(wanted).split("-")

    def means(key: str) -> bool:
        own = _plain(key).split("-")
        return len(own) == len(words) and all(map(_nearly, own, words))

    return means


def _nearly(one: str, other: str) -> bool:
    if one == other:
        return True
    letters = one.isalpha() and other.isalpha() and one[:1] == other[:1]
    return letters and SequenceMatcher(None, one, other).ratio() >= _ALIKE


def _plain(key: str) -> str:
    return _SEPARATORS.sub("-", CAMEL.sub("-", as_ascii(key[:80]))).strip("-").lower()
