"""Results as plain data and back, by the fields of their types: how they travel between processes and are kept.

Everything that keeps a result or hands it to another process uses this form: ledger, decisions, releases, workers. A
field that is added to a type needs nothing here. What an older labgrade wrote is read: it lacks the newer fields.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, TypeVar

from labgrade.core.results import Decision, Deduction, Graded, MarkingText
from labgrade.verdict import ComparedNumber, ComparedRow, Diagnosis, Suggestion, TileGrid, Verdict

T = TypeVar("T")

_PLAIN = frozenset({str, int, float, bool, type(None)})
_AS_LISTS = (ComparedRow, Decision, Deduction, MarkingText)  # of their fields' values in order; new fields come last
# Not kept: a Graded has of these what a student may see, and of the expected values no more.
_LEFT_OUT: Mapping[Any, set[str]] = {Verdict: {"rows", "grids"}}
# Written even where they are empty, as they always were: the digest of what was released covers this text.
_VERDICT = {"outcome", "credit", "reason", "hint", "facts", "agrees", "notes"}
# Left out where they are empty, so that what was released before there were such fields stays the same.
_NEWER = {"plot", "wrong"}
# What the modules of these types import for their annotations alone.
_NAMES = {
    each.__name__: each
    for each in (ComparedNumber, ComparedRow, Diagnosis, Fraction, Mapping, Suggestion, TileGrid, Verdict)
}


def plain(value: Any) -> Any:
    """A result, or part of one, as data that JSON can hold. Fractions are texts, so that nothing is rounded."""
    kind: Any = type(value)
    if kind in _PLAIN:
        return value
    if kind is Fraction:
        return str(value)
    if kind in (tuple, list):
        return [plain(each) for each in value]
    if isinstance(value, Enum):
        return value.value
    if kind is dict or isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    rare = isinstance(value, Verdict)
    parts = ((name, getattr(value, name)) for name in _kept_fields(kind))
    found = {name: plain(part) for name, part in parts if part or (name in _VERDICT if rare else name not in _NEWER)}
    return list(found.values()) if isinstance(value, _AS_LISTS) else found


def from_plain(data: Any, kind: type[T] = Graded) -> T:  # type: ignore[assignment]
    """The result that `plain` was called with. A number is taken for the Fraction that it was written as: 0.6 is 3/5.

    Raises:
        KeyError, TypeError, ValueError: it is no such result.
    """
    of_kind: Any = kind
    read: Callable[[Any], T] = _reader(of_kind)
    return read(data)


@functools.cache
def _kept_fields(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind) if each.name not in _LEFT_OUT.get(kind, ()))


@functools.cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """What makes a value of a type of its plain form."""
    if kind is Fraction:
        return lambda data: _fraction(data if isinstance(data, str) else repr(data))
    if is_dataclass(kind):
        return functools.partial(_structured, kind)
    origin, within = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        if within[1:] == (...,):
            each = _reader(within[0])
            return lambda data: tuple(map(each, data))
        parts = [_reader(part) for part in within]
        return lambda data: tuple(read(one) for read, one in zip(parts, data, strict=True))
    if origin in (types.UnionType, typing.Union):
        (some,) = (part for part in within if part is not type(None))  # no type here has more than one, or None
        read = _reader(some)
        return lambda data: None if data is None else read(data)
    return kind if isinstance(kind, type) and issubclass(kind, Enum) else _as_it_is


_fraction = functools.lru_cache(1024)(Fraction)  # most are points and credits of a spec's


def _as_it_is(data: Any) -> Any:
    return data


@functools.cache
def _readers(kind: Any) -> Mapping[str, Callable[[Any], Any]]:
    """What makes values of a structure's parts, but of those that are as they are."""
    types_of = typing.get_type_hints(kind, None, _NAMES)
    found = {name: _reader(types_of[name]) for name in _kept_fields(kind)}
    return {name: read for name, read in found.items() if read is not _as_it_is}


def _structured(kind: Any, data: Any) -> Any:
    known = _kept_fields(kind)
    if isinstance(data, list | tuple):
        if len(data) > len(known):
            message = f"a {kind.__name__} has {len(known)} values, not {len(data)}"
            raise ValueError(message)
        data = dict(zip(known, data, strict=False))
    parts = {name: data[name] for name in known if name in data}
    for name, read in _readers(kind).items():
        if name in parts:
            parts[name] = read(parts[name])
    return kind(**parts)
