"""Slips of many quantities: other units, a row left out, a kind that counts, too."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .compose import Library, Slip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .compose import Factors, Parts


def times(factor: Callable[[Any], int | Fraction], kinds: Sequence[str] = ("",)) -> Callable[[Parts], Factors]:
    """Multiply the parts of these kinds by what `factor` says of their source."""
    return lambda parts: [factor(part.source) if part.kind in kinds else 1 for part in parts]


def without(test: Callable[[Any], bool], kinds: Sequence[str] = ("",)) -> Callable[[Parts], Factors]:
    """Leave out the parts of these kinds whose source passes the test."""
    return lambda parts: [int(part.kind not in kinds or not test(part.source)) for part in parts]


def also(kind: str, factor: int | Fraction = 1) -> Callable[[Parts], Factors]:
    """Count the parts of a kind, too, where they are not."""
    return lambda parts: [factor if part.kind == kind and not part.counted else 0 for part in parts]


def first_left_out(parts: Parts) -> Factors:
    """Leave out the first row."""
    return _without_row(parts, 0)


def last_left_out(parts: Parts) -> Factors:
    """Leave out the last row."""
    return _without_row(parts, -1)


def _without_row(parts: Parts, at: int) -> Factors:
    rows = list(dict.fromkeys(part.row for part in parts if part.counted and part.count))
    if not rows:
        message = "there is nothing to leave out"
        raise ValueError(message)
    return [int(part.row != rows[at]) for part in parts]


def _unit(factor: Fraction | int, says: str) -> Slip:
    return Slip(of="unit", says=says, change=lambda parts: [Fraction(factor)] * len(parts))


_WHOLE = "Give the whole number."
UNITS: Library = {
    "twice": _unit(
        2, "Everything is counted twice. Look for a factor of 2, or for a walk that meets each thing twice."
    ),
    "half": _unit(
        Fraction(1, 2),
        "This is half of the value. Look for a division by 2, or for two bytes an element in place of four.",
    ),
    "in_thousands": _unit(Fraction(1, 10**3), f"The value is divided by 1,000. {_WHOLE}"),
    "in_millions": _unit(Fraction(1, 10**6), f"The value is divided by 1,000,000. {_WHOLE}"),
    "in_billions": _unit(Fraction(1, 10**9), f"The value is divided by 1,000,000,000. {_WHOLE}"),
    "in_kibi": _unit(Fraction(1, 2**10), f"The value is divided by 1,024. {_WHOLE}"),
    "in_mebi": _unit(Fraction(1, 2**20), f"The value is divided by 1,048,576. {_WHOLE}"),
    "in_gibi": _unit(Fraction(1, 2**30), f"The value is divided by 2^30. {_WHOLE}"),
}
BYTE_UNITS: Library = {
    **UNITS,
    "bits": _unit(8, "This is the size in bits. A byte has eight."),
    "mib_as_mb": _unit(
        Fraction(10**6, 2**20),
        "The figure is in MiB (divided by 1,048,576), but MB is written behind it. Write MiB, or divide by 1,000,000.",
    ),
    "mb_as_mib": _unit(
        Fraction(2**20, 10**6),
        "The figure is in MB (divided by 1,000,000), but MiB is written behind it. Write MB, or divide by 1,048,576.",
    ),
    "kib_as_kb": _unit(
        Fraction(10**3, 2**10),
        "The figure is in KiB (divided by 1,024), but KB is written behind it. Write KiB, or divide by 1,000.",
    ),
    "kb_as_kib": _unit(
        Fraction(2**10, 10**3),
        "The figure is in KB (divided by 1,000), but KiB is written behind it. Write KB, or divide by 1,024.",
    ),
}


def ratio(above: Iterable[int], below: Iterable[int]) -> Fraction:
    """The quotient of two products."""
    return Fraction(math.prod(above), math.prod(below))
