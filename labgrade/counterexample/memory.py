"""Failing examples, remembered on disk: the next search for the same begins with them.

What is read is only ever a subject to try again, so a damaged or forged record costs a trial and changes no verdict.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from labgrade.model import InputSpec, SubjectSpec
from labgrade.zoo_networks import GENERATED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_LARGEST = 1 << 20
_MOST = 1 << 12
_MOST_SUBJECTS = 64


class Remembered:
    """The example under some words: what was searched, and the content or the place of the function's file."""

    def __init__(self, folder: Path, words: Sequence[str]) -> None:
        name = hashlib.sha256(json.dumps(list(words)).encode()).hexdigest()
        self._path = folder / "counterexamples" / name[:2] / f"{name}.json"

    def read(self) -> list[SubjectSpec]:
        """The smallest subject and others that were tried; nothing where nothing can be read."""
        try:
            if self._path.stat().st_size > _LARGEST:
                return []
            return [_subject(each) for each in json.loads(self._path.read_bytes())[:_MOST_SUBJECTS]]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return []

    def write(self, subjects: Sequence[SubjectSpec]) -> None:
        """Keep these in place of what was there, the smallest first; a full disk only costs time."""
        plain = [
            {"model": each.model, "shape": list(each.input.shape), "options": dict(each.options)} for each in subjects
        ]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps(plain), encoding="utf-8")
        except OSError:
            return


def _subject(plain: Any) -> SubjectSpec:
    """The subject that was written.

    Raises:
        TypeError: it is none that a search comes upon.
    """
    model, shape, options = plain["model"], plain["shape"], plain["options"]
    ours = model in (GENERATED, f"{GENERATED}.onnx", "linear/layer.onnx", "linear/mlp.onnx")
    sizes = isinstance(shape, list) and shape and all(type(size) is int and 0 < size <= _MOST for size in shape)
    if not ours or not sizes or not isinstance(options, dict):
        message = "this is no subject"
        raise TypeError(message)
    return SubjectSpec(model=model, input=InputSpec(shape=tuple(shape)), options=options, passing=True)
