"""What plain data is, said short enough to print; numpy's wrappers taken off."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any, cast

from labgrade.values import Number


def what(plain: object) -> str:
    """What plain data is, short enough to print."""
    plain = without_numpy(plain)
    if plain is None or isinstance(plain, bool):
        return f"{plain}"
    if isinstance(plain, str):
        return f"the text '{cut(plain)}'"
    if isinstance(plain, int | float | Fraction | Number):
        return "a number"
    if is_array(plain):
        return f"an array of shape {list(cast('Any', plain).shape)}"
    if isinstance(plain, list | tuple | dict):
        return f"a {'mapping' if isinstance(plain, dict) else type(plain).__name__} of {len(plain)}"
    return f"a {type(plain).__name__}"


def cut(text: str) -> str:
    """At most 60 characters of a text, on one line."""
    line = " ".join(text[:200].split())
    return f"{line[:59]}…" if len(line) > 60 else line  # noqa: PLR2004 - as long as a message can bear


def is_array(plain: object) -> bool:
    """Whether it is a numpy array; numpy is not imported for the question."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(plain, numpy.ndarray)


def without_numpy(plain: object) -> object:
    """A numpy scalar, or an array of no dimensions, as the Python value that it holds."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and (
        isinstance(plain, numpy.generic) or (isinstance(plain, numpy.ndarray) and plain.ndim == 0)
    ):
        return cast("object", plain.item())
    return plain
