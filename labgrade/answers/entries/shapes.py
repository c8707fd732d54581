"""The shapes that an entry may mean which is none as it stands: `[3 1000]`, `3 x [1, 1000] -> [3, 1000]`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from labgrade.answers.reading.numerals.numbers import as_ascii, find_numbers, read_number
from labgrade.answers.reading.plain_values import ARROW, factor_of, find_shapes, read_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labgrade.values import Number

Shape: TypeAlias = "tuple[int, ...]"

_LONGEST, _MOST_DIMENSIONS = 1_000, 16
_OTHER = re.compile(
    r"[\d+\u2260?]|\b(?:not?|or|but|instead|except|should|each|per|nicht|oder|sondern|statt|je)\b|\u4e0d|\u6216",
    re.IGNORECASE,
)


def shapes_meant(plain: object) -> tuple[list[Shape], bool] | None:
    """The shapes that may be meant, the likeliest first, and whether that one is beyond doubt; None where none is."""
    if isinstance(plain, int) and not isinstance(plain, bool):
        return [(plain,)], True
    if isinstance(plain, str):
        return _of_text(as_ascii(plain)) if len(plain) <= _LONGEST else None
    if isinstance(plain, dict):
        values = list(plain.values())
        if len(values) == 1 and values[0] is not None:
            return _of_list(values[0]) if isinstance(values[0], list | tuple) else shapes_meant(values[0])
        sizes = _sizes([*plain] if is_in_braces(plain) else values)
        return ([sizes], False) if sizes else None
    return _of_list(plain) if isinstance(plain, list | tuple) else None


def is_in_braces(plain: object) -> bool:
    """Whether it is `{3, 1000}`: to YAML names without values, of which two that are the same are one."""
    return isinstance(plain, dict) and all(each is None for each in plain.values()) and _sizes([*plain]) is not None


def _of_list(plain: Sequence[object]) -> tuple[list[Shape], bool] | None:
    """Sizes that are texts, or stand in one; several shapes, of which any may be meant."""
    if (sizes := _sizes(plain)) is not None:
        return [sizes], True
    if len(plain) == 1:
        return shapes_meant(plain[0])
    inner = [_sizes(each) for each in plain if isinstance(each, list | tuple)]
    shapes = [each for each in inner if each is not None]
    return ([*dict.fromkeys(shapes)], False) if len(shapes) == len(plain) > 0 else None


def _sizes(plain: Sequence[object]) -> Shape | None:
    """Whole numbers, each by itself or as a text."""
    found = [_size(each) for each in plain[: _MOST_DIMENSIONS + 1]]
    sizes = [each for each in found if each is not None]
    return tuple(sizes) if 0 < len(sizes) == len(plain) <= _MOST_DIMENSIONS else None


def _size(plain: object) -> int | None:
    if isinstance(plain, int) and not isinstance(plain, bool):
        return plain
    number = read_number(plain, "count") if isinstance(plain, str) and len(plain) <= _LONGEST else None
    return int(number.value) if number is not None and number.value.denominator == 1 else None


def _of_text(text: str) -> tuple[list[Shape], bool] | None:
    """The shapes of a text, that behind its last arrow first; else its numbers, one a dimension."""
    if (whole := read_shape(text)) is not None:
        return [whole], True
    found = list(find_shapes(text))
    if not found:
        numbers: list[Number | None] = [each.number for each in find_numbers(text, "count")]
        sizes = tuple(int(each.value) for each in numbers if each is not None and each.value.denominator == 1)
        return ([sizes], False) if 1 < len(sizes) == len(numbers) <= _MOST_DIMENSIONS else None
    arrows = [arrow.end() for arrow in ARROW.finditer(text)]
    behind = [shape for shape, start, _ in found if arrows and start >= arrows[-1]]
    factors = [(shape, factor_of(text, start, end)) for shape, start, end in found]
    several = [(factor * shape[0], *shape[1:]) for shape, factor in factors if factor > 1]
    rest = text
    for _, start, end in reversed(found):
        rest = rest[:start] + rest[end:]
    distinct = [*dict.fromkeys([*behind, *(shape for shape, _, _ in found), *several])]
    return distinct, len(distinct) == 1 and not _OTHER.search(rest)
