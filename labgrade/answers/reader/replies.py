"""Asks and replies as bytes: tagged lists in JSON, arrays beside them. Only classes of the list below are ever made."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from labgrade.answers.near_miss import Note
from labgrade.answers.reader.asks import Ask
from labgrade.answers.reading.lines import Line, LinePiece
from labgrade.answers.rendering import CodeFile
from labgrade.answers.text import Seen
from labgrade.core.results import Answer, NoAnswer
from labgrade.core.task import BuildForm, CallForm, EntryForm, FileForm, RunForm, TableOfType, TableType, TextForm
from labgrade.values import Artifact, Number, Row, Table
from labgrade.verdict import Outcome, Suggestion, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from labgrade.values import Array

_FORMS = (BuildForm, CallForm, EntryForm, FileForm, RunForm, TextForm)
_CLASSES: dict[str, Any] = {
    each.__name__: each
    for each in (
        *(
            Answer,
            Ask,
            CodeFile,
            Line,
            NoAnswer,
            Note,
            Number,
            LinePiece,
            Row,
            Seen,
            Suggestion,
            Table,
            TableOfType,
            TableType,
            Verdict,
        ),
        *_FORMS,
    )
}
_FIELDS = {made: tuple(each.name for each in fields(made)) for made in _CLASSES.values()}
_LEAVES = frozenset({type(None), str, bool, int, float})
_TUPLE, _LIST, _MAP, _FRACTION, _OUTCOME, _ARRAY, _ARTIFACT = "()", "[]", "{}", "/", "Outcome", "#", "Artifact"
_NUMBERS = "biufc"
MOST_BYTES = 32 << 20  # of a reply without its arrays


class GarbledReplyError(Exception):
    """It is no reply: the process that sent it no longer ran what was started."""


def encode(value: object) -> tuple[bytes, list[Array]]:
    """Return the bytes of a value, and the arrays in it."""
    arrays: list[Array] = []
    return json.dumps(_plain(value, arrays), separators=(",", ":")).encode(), arrays


def _plain(value: Any, arrays: list[Array]) -> object:
    kind = type(value)
    if kind in _LEAVES:
        return value
    if kind in _FIELDS:
        return [kind.__name__, *_all_plain([getattr(value, name) for name in _FIELDS[kind]], arrays)]
    if isinstance(value, Outcome):
        return [_OUTCOME, value.value]
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple | list):
        return [_TUPLE if isinstance(value, tuple) else _LIST, *_all_plain(value, arrays)]
    if isinstance(value, Fraction):
        return [_FRACTION, f"{value.numerator:x}", f"{value.denominator:x}"]  # digits without a limit
    if isinstance(value, Artifact):
        return [_ARTIFACT, value.name]
    if hasattr(value, "items"):
        return [_MAP, *([key, _plain(each, arrays)] for key, each in value.items())]
    arrays.append(value)
    return [_ARRAY, len(arrays) - 1]


def _all_plain(values: Iterable[Any], arrays: list[Array]) -> list[object]:
    return [each if type(each) in _LEAVES else _plain(each, arrays) for each in values]


def decode(data: bytes, arrays: Sequence[Array] = (), folder: Path | None = None, files: Collection[str] = ()) -> Any:
    """Return a value from its bytes. `folder` and `files` are the hand-in's, one of which an artifact is.

    Raises:
        GarbledReplyError: it is no such value.
    """
    if len(data) > MOST_BYTES:
        raise GarbledReplyError(str(len(data)))
    try:
        return _Decoder(arrays, folder, files).value(json.loads(data))
    except (ValueError, TypeError, IndexError, RecursionError, ZeroDivisionError) as error:
        raise GarbledReplyError(str(error)[:200]) from None


class _Decoder:
    """Rebuilds a value from plain data."""

    def __init__(self, arrays: Sequence[Array], folder: Path | None, files: Collection[str]) -> None:
        self._arrays, self._folder, self._files = arrays, folder, files

    def value(self, plain: Any) -> Any:
        if not isinstance(plain, list):
            return _leaf(plain)
        tag, *parts = plain
        if tag in _CLASSES:
            made = _CLASSES[tag]
            return made(**dict(zip(_FIELDS[made], self._values(parts), strict=True)))
        match tag, parts:
            case "()", _:
                return tuple(self._values(parts))
            case "[]", _:
                return self._values(parts)
            case "{}", _:
                return {str(key): self.value(each) for key, each in parts}
            case "/", [str(over), str(under)]:
                return Fraction(int(over, 16), int(under, 16))
            case "Outcome", [name]:
                return Outcome(name)
            case "#", [int(place)] if place >= 0:
                return self._arrays[place]
            case "Artifact", [str(name)] if self._folder is not None and name in self._files:
                return Artifact(path=self._folder / name, name=name)
        raise ValueError(tag)

    def _values(self, parts: list[Any]) -> list[Any]:
        return [each if type(each) in _LEAVES else self.value(each) for each in parts]


def _leaf(plain: object) -> object:
    if isinstance(plain, dict):
        message = "a map"
        raise TypeError(message)
    return plain


def array(dtype: str, shape: Sequence[int], data: Array) -> Array:
    """Return an array of numbers from its parts. `data`: its bytes.

    Raises:
        GarbledReplyError: they don't fit one another.
    """
    import numpy as np

    try:
        kind = np.dtype(dtype)
        if kind.kind not in _NUMBERS or math.prod(shape) * kind.itemsize != data.nbytes:
            raise GarbledReplyError(dtype)
        return data.view(kind).reshape(tuple(shape))
    except (TypeError, ValueError) as error:
        raise GarbledReplyError(str(error)[:200]) from None
