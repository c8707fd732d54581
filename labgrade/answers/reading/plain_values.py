"""What plain data is, short enough to print; shapes as people print them: `[1, 64]`, `torch.Size([1, 64])`, `1x64`."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, cast

from labgrade.answers.reading.numerals.numbers import as_ascii, explain_number, finest_of
from labgrade.answers.reading.numerals.units import label_unit
from labgrade.values import Number

LEFT_OPEN = frozenset({"", "-", "--", "---", "n/a", "na", "none", "null", "(recursive)", "recursive"})
NOT_FINITE = re.compile(r"[-+]?(?:nan|inf|infinity)\b", re.IGNORECASE)
_PRINTED_TENSOR = re.compile(
    r"(?:(?P<factor>[-+.\de]{1,20})\s{0,8}\*)?(?P<numbers>[-+.\de\s]{1,100000})\[ CPU\w{1,20}Type\{[\d,]{1,40}\} \]"
)


def what(plain: object) -> str:
    """Describe plain data, short enough to print."""
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


def not_finite(plain: object) -> str:
    """Return `nan`, `inf` or `-inf` if plain data is that, as a number or as text; else an empty text."""
    plain = without_numpy(plain)
    if isinstance(plain, str):
        plain = float(plain) if NOT_FINITE.fullmatch(plain.strip()) else 0.0
    return str(plain) if isinstance(plain, float) and not math.isfinite(plain) else ""


def cut(text: str) -> str:
    """Return at most 60 characters of a text, on one line."""
    line = " ".join(text[:200].split())
    return f"{line[:59]}…" if len(line) > 60 else line  # noqa: PLR2004 - as long as a message can bear


def read_tensor(text: str) -> list[float] | str:
    """Return the numbers of a tensor as C++ prints it, in a row; other texts as they are.

    C++ prints `0.5 -1` above `[ CPUFloatType{1,2} ]`. A common factor comes first: `0.01 *`.
    """
    found = _PRINTED_TENSOR.fullmatch(text.strip())
    if found is None:
        return text
    try:
        return [float(number) * float(found["factor"] or 1) for number in found["numbers"].split()]
    except ValueError:
        return text


def named(plain: object) -> list[tuple[str, object]]:
    """Return a mapping, or a list of pairs, as pairs of name and value; an empty list for other data."""
    pairs: list[Any] = list(plain.items()) if isinstance(plain, dict) else []
    pairs = list(plain) if isinstance(plain, list | tuple) else pairs
    whole = all(isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs)  # noqa: PLR2004
    return [(name, part) for name, part in pairs] if whole else []


def is_array(plain: object) -> bool:
    """Return whether it is a numpy array, without importing numpy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(plain, numpy.ndarray)


def without_numpy(plain: object) -> object:
    """Return a numpy scalar, or an array without dimensions, as a Python value."""
    numpy = None if type(plain) in _PLAIN else sys.modules.get("numpy")
    if numpy is not None and (
        isinstance(plain, numpy.generic) or (isinstance(plain, numpy.ndarray) and plain.ndim == 0)
    ):
        return cast("object", plain.item())
    return plain


_PLAIN = frozenset({int, str, float, list, tuple, dict})


_DIMENSION = r"(?:-1|\d{1,12}|None|\?|[NB](?![A-Za-z]))"
_TIMES = r"\s{0,3}(?:[xX\u00d7*]|\\times)\s{0,3}"
_COMMA = r"\s{0,3},\s{0,3}"
_BRACKETED = (
    rf"[\[(]\s{{0,3}}(?P<inside>{_DIMENSION}(?:(?:{_COMMA}|{_TIMES}){_DIMENSION}){{0,15}})\s{{0,3}},?\s{{0,3}}[\])]"
)
_SHAPE = re.compile(rf"{_BRACKETED}|(?<![\w.,-])(?P<bare>{_DIMENSION}(?:{_TIMES}{_DIMENSION}){{1,15}})(?![\w,]|\.\d)")
_LISTED = re.compile(rf"\s*{_DIMENSION}(?:{_COMMA}{_DIMENSION}){{0,15}}\s*,?\s*")
_PIECE = re.compile(_DIMENSION)
_SPACED = re.compile(rf"[\[(]?\s{{0,3}}{_DIMENSION}(?:[ \t;|]{{1,6}}{_DIMENSION}){{1,15}}\s{{0,3}}[\])]?")
_WRAPPING = re.compile(r"(?:torch\.)?Size|tuple|list|shape", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d),(?=0\d\d(?!\d))")  # [3, 1,000]
UNKNOWN = -1


def read_shape(text: str) -> tuple[int, ...] | None:
    """Return the shape that the text is, or None. Unknown sizes (`None`, `?`, `N`, -1) become -1."""
    plain = as_ascii(text).strip().strip("`*_$ ")
    if _LISTED.fullmatch(plain):
        return _dimensions(plain)
    inner = _WRAPPING.sub("", plain).strip()
    if _SPACED.fullmatch(inner):  # as numpy prints it, and as a CSV without quotes holds it
        return _dimensions(inner)
    while inner.startswith(("([", "((", "[[", "[(")) and inner.endswith((")", "]")):
        inner = inner[1:-1].strip()
    match = _SHAPE.fullmatch(inner)
    return _dimensions(match[0]) if match else None


def find_shape(text: str, position: int = 0) -> tuple[tuple[int, ...], int, int] | None:
    """Return the first shape from `position` on, with its start and end; None if there is none."""
    match = _SHAPE.search(as_ascii(text), position)
    return (_dimensions(match[0]), match.start(), match.end()) if match else None


def find_shapes(text: str, position: int = 0) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Yield all shapes, in order."""
    while (found := find_shape(text, position)) is not None:
        yield found
        position = found[2]


ARROW = re.compile(r"->|=>|[=\u2192\u21d2]")
_OTHERS = re.compile(
    r"[|;]|\.\s|input|weight|kernel|eingabe|entr(?:\u00e9e|ada)|\u8f38\u5165|\u8f93\u5165", re.IGNORECASE
)
_FACTOR = re.compile(r"(\d{1,6})\s?[x\u00d7*]\s?$", re.IGNORECASE)
_FOLLOWED = re.compile(r"\s?[x\u00d7*]\s?(\d{1,6})(?![\d.])", re.IGNORECASE)


def factor_of(text: str, start: int, end: int) -> int:
    """Return the factor before the shape at [start, end), `3 x [1, 1000]`; 1 if there is none."""
    found = _FACTOR.search(text[max(0, start - 10) : start]) or _FOLLOWED.match(text, end)
    return int(found[1]) if found else 1


def shapes_said(text: str) -> list[tuple[tuple[int, ...], bool, str]]:
    """Return the shapes behind a label on a line: each, whether it is near, and why it is in doubt.

    Only shapes with as many dimensions as the one behind the last arrow, `[1, 3, 64, 64] -> [3, 1000]`, or else as the
    first one. What follows a word for something else is left out.
    """
    found = list(find_shapes(text))
    if not found:
        return []
    near, begins = found[0][1] <= 1, found[0][2]
    until = _OTHERS.search(text, begins)
    own = [each for each in found if until is None or each[2] <= until.start()]
    arrows = [arrow.end() for arrow in ARROW.finditer(text, begins, own[-1][1])]
    last = next((each for each in own if arrows and each[1] >= arrows[-1]), own[0])
    alike = [each for each in own if len(each[0]) == len(last[0])]
    return [(shape, near, "\u00d7" if factor_of(text, start, end) > 1 else "") for shape, start, end in alike]


def _dimensions(text: str) -> tuple[int, ...]:
    pieces = _PIECE.findall(_THOUSANDS.sub("", text))
    return tuple(int(piece) if piece.lstrip("-").isdigit() else UNKNOWN for piece in pieces)


def _with_unit(plain: object) -> tuple[object, str] | None:
    """Return a number and its unit that were handed in apart: `{value: 26.5, unit: MB}`, `[26.5, MB]`; else None."""
    if isinstance(plain, Mapping):
        named = {str(key).lower(): each for key, each in plain.items()}
        parts: tuple[object, ...] = (named.get("value"), named.get("unit")) if set(named) == {"value", "unit"} else ()
    else:
        parts = tuple(plain) if isinstance(plain, list | tuple) else ()
    match parts:
        case (int() | float() | str() | Number() as value, str() as unit) if not isinstance(value, bool):
            return (value.text if isinstance(value, Number) else value), unit
    return None


def in_units(plain: object, kind: str) -> Number | str | None:
    """Return a number handed in beside its unit, as a text, or in units that agree, `{GB: 2.654, GiB: 2.472}`."""
    if (parts := _with_unit(plain)) is not None:
        return f"{parts[0]} {parts[1]}"
    if not isinstance(plain, Mapping) or not plain:
        return None
    units = [label_unit(str(key), kind) for key in plain]
    if any(unit is None or not (unit.prefixed or unit.measures == kind) for unit in units):
        return None
    numbers = [explain_number(f"{value} {key}", kind).number for key, value in plain.items()]
    return finest_of([each for each in numbers if each is not None]) if None not in numbers else None
