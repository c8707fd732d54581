"""What a JSON Schema refuses in plain data: the keywords of draft 2020-12 that labgrade's own schemas are made of.

The library `jsonschema` says the same of the same data (`tests/files/test_json_schema.py` compares them) and takes
half a second longer over labgrade's specs, which every command reads.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from labgrade.core.task import Schema
    from labgrade.files.yaml import Path

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A refused value with its place, the keyword that refuses it, and the schema around that."""

    keyword: str
    wanted: Any
    value: Any
    schema: dict[str, Any]
    path: Path

    @property
    def title(self) -> str:
        """Return the schema's title for the value, or the nearest key in quotes."""
        key = next((part for part in reversed(self.path) if isinstance(part, str)), "the file")
        return str(self.schema.get("title") or f"'{key}'")


_CONDITION = {"if", "then"}
# What `_switch` found, with the list that it was made of: as long as that is held, its id is no other list's.
_SWITCHES: dict[int, tuple[list[Any], str, dict[str | None, list[Any]]]] = {}
_MOST_SWITCHES = 64


def problems(schema: Schema, data: object) -> Iterator[Problem]:
    """Return everything in `data` that the schema refuses. For `required`, `wanted` is the missing name.

    Raises:
        KeyError: the schema has a keyword that is not known here.
    """
    return _problems(data, schema, (), schema)


def _problems(value: Any, schema: Any, path: Path, root: Any) -> Iterator[Problem]:
    for keyword, wanted in schema.items():
        if keyword in _REFUSES:
            if _REFUSES[keyword](value, wanted):
                yield Problem(keyword, wanted, value, schema, path)
        elif keyword not in _SAYS_NOTHING:
            yield from _LEADS_ON[keyword](value, schema, path, root)


def _is_other(value: Any, schema: Any) -> bool:
    """Return whether a word of the value differs from the only word that the schema allows there."""
    for name, each in schema.get("properties", {}).items() if isinstance(value, dict) else ():
        if "const" in each and name in value and not _equal(value[name], each["const"]):
            return True
    return False


def _holds(value: Any, schema: Any, root: Any) -> bool:
    return not _is_other(value, schema) and next(_problems(value, schema, (), root), None) is None


# ---- keywords that refuse a value ------------------------------------------------------------------------------


def _has_type(value: Any, name: str | list[str]) -> bool:
    """Return whether a value has a type, or one of several."""
    if isinstance(name, list):
        return any(_has_type(value, each) for each in name)
    if name == "integer":
        return _has_type(value, "number") and (isinstance(value, int) or value.is_integer())
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _equal(one: Any, other: Any) -> bool:
    """Compare as JSON does: 1 equals 1.0, but not true."""
    if isinstance(one, str) or isinstance(other, str):
        return bool(one == other)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    return bool(one == other)


def _is_among(value: Any, names: list[Any]) -> bool:
    return value in names if isinstance(value, str) else any(_equal(value, each) for each in names)


@functools.cache
def _as_editors_do(pattern: str) -> re.Pattern[str]:
    """Translate an ECMAScript pattern: its `$` is the very end, not also before a final newline."""
    return re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", pattern))


def _has_twice(value: Any) -> bool:
    return any(_equal(each, other) for index, each in enumerate(value) for other in value[:index])


_REFUSES: Mapping[str, Callable[[Any, Any], bool]] = {
    "type": lambda value, wanted: not _has_type(value, wanted),
    "enum": lambda value, wanted: not _is_among(value, wanted),
    "const": lambda value, wanted: not _equal(value, wanted),
    "pattern": lambda value, wanted: isinstance(value, str) and _as_editors_do(wanted).search(value) is None,
    "minLength": lambda value, wanted: isinstance(value, str) and len(value) < wanted,
    "minItems": lambda value, wanted: isinstance(value, list) and len(value) < wanted,
    "maxItems": lambda value, wanted: isinstance(value, list) and len(value) > wanted,
    "uniqueItems": lambda value, wanted: wanted and isinstance(value, list) and _has_twice(value),
    "minProperties": lambda value, wanted: isinstance(value, dict) and len(value) < wanted,
    "maxProperties": lambda value, wanted: isinstance(value, dict) and len(value) > wanted,
    "minimum": lambda value, wanted: _has_type(value, "number") and value < wanted,
    "exclusiveMinimum": lambda value, wanted: _has_type(value, "number") and value <= wanted,
    "maximum": lambda value, wanted: _has_type(value, "number") and value > wanted,
}
# `then` and `else` belong to `if`; editors show what is said of each name of an `enum`.
_SAYS_NOTHING = frozenset(
    {"$schema", "$defs", "title", "description", "default", "format", "then", "else", "markdownEnumDescriptions"}
)


# ---- keywords that lead on to other schemas --------------------------------------------------------------------


def _reference(value: Any, schema: Any, path: Path, root: Any) -> Iterator[Problem]:
    return _problems(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], path, root)


def _either(value: Any, schema: Any, path: Path, root: Any) -> Iterator[Problem]:
    chosen = "then" if _holds(value, schema["if"], root) else "else"
    return _problems(value, schema.get(chosen, {}), path, root)


def _any(value: Any, schema: Any, path: Path, root: Any) -> Iterator[Problem]:
    if not any(_holds(value, each, root) for each in schema["anyOf"]):
        yield Problem("anyOf", schema["anyOf"], value, schema, path)


def _all(value: Any, schema: Any, path: Path, root: Any) -> Iterator[Problem]:
    for each in _may_hold(schema["allOf"], value):
        yield from _problems(value, each, path, root)


def _may_hold(alternatives: list[Any], value: Any) -> Iterable[Any]:
    """Return only the alternatives for the word that stands there: of a hundred quantities, one."""
    made_of, name, others = _SWITCHES.get(id(alternatives), (None, "", {}))
    if made_of is not alternatives:
        name, others = _switch(alternatives)
        if len(_SWITCHES) >= _MOST_SWITCHES:
            _SWITCHES.clear()
        _SWITCHES[id(alternatives)] = alternatives, name, others
    word = value.get(name) if isinstance(value, dict) else None
    return others.get(word, others[None]) if isinstance(word, str) else alternatives


def _switch(alternatives: list[Any]) -> tuple[str, dict[str | None, list[Any]]]:
    """The key whose text is asked for by `{if: {properties: {KEY: {const: TEXT}}}}`, and what each text leaves.

    Below None is what every other text leaves.
    """
    words = [_word(each) for each in alternatives]
    name = next((key for key, word in words if word is not None), "")
    others: list[tuple[int, Any]] = []
    of_word: dict[str | None, list[tuple[int, Any]]] = {None: []}
    for place, (each, (key, word)) in enumerate(zip(alternatives, words, strict=True)):
        found = of_word.setdefault(word, []) if key == name else others
        found.append((place, each))
    in_order = {word: sorted((*others, *own), key=itemgetter(0)) for word, own in of_word.items()}
    return name, {word: [each for _, each in found] for word, found in in_order.items()}


def _word(alternative: Any) -> tuple[str, str | None]:
    """Return the key and text that an `if` asks for; None if it asks for anything else."""
    if alternative.keys() == _CONDITION:
        for key, each in alternative["if"].get("properties", {}).items():
            if isinstance(each.get("const"), str):
                return key, each["const"]
    return "", None


def _items(value: Any, schema: Any, path: Path, root: Any) -> Iterator[Problem]:
    for index, item in enumerate(value if isinstance(value, list) else ()):
        yield from _problems(item, schema["items"], (*path, index), root)


def _required(value: Any, schema: Any, path: Path, _: Any) -> Iterator[Problem]:
    for name in schema["required"] if isinstance(value, dict) else ():
        if name not in value:
            yield Problem("required", name, value, schema, path)


def _properties(value: Any, schema: Any, path: Path, root: Any) -> Iterator[Problem]:
    for name, each in schema["properties"].items() if isinstance(value, dict) else ():
        if name in value:
            yield from _problems(value[name], each, (*path, name), root)


def _names(value: Any, schema: Any, path: Path, root: Any) -> Iterator[Problem]:
    for name in value if isinstance(value, dict) else ():
        yield from _problems(name, schema["propertyNames"], path, root)


def _additional(value: Any, schema: Any, path: Path, root: Any) -> Iterator[Problem]:
    """Check keys without a property of their own by `additionalProperties`."""
    others = [name for name in value if name not in schema.get("properties", {})] if isinstance(value, dict) else []
    allowed = schema["additionalProperties"]
    if others and allowed is False:
        yield Problem("additionalProperties", allowed, value, schema, path)
        return
    for name in others:
        yield from _problems(value[name], allowed, (*path, name), root)


_LEADS_ON: Mapping[str, Callable[[Any, Any, Path, Any], Iterator[Problem]]] = {
    "$ref": _reference,
    "if": _either,
    "anyOf": _any,
    "allOf": _all,
    "items": _items,
    "required": _required,
    "properties": _properties,
    "propertyNames": _names,
    "additionalProperties": _additional,
}
