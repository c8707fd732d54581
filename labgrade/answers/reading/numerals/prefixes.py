"""A number that was taken as it was printed, with the prefix of its unit: `144.1 GFLOP/s` is 144.1, or 144,100,000,000.

`85.1 %` is 85.1, or 0.851.

Of a type without a unit of its own only what is expected tells which of them is meant.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.answers.reading.numerals.numbers import read_number
from labgrade.values import Number

if TYPE_CHECKING:
    from fractions import Fraction

    from labgrade.values import Value

_TOO_LARGE = 10**300  # no float holds more


def as_meant(answer: Value, expected: Value | None) -> Value:
    """Return the answer; a number is multiplied by its unit's prefix if it is then nearer to what is expected."""
    if not isinstance(answer, Number) or not isinstance(expected, Number) or answer.text.isdecimal():
        return answer
    if answer.text.endswith("%"):
        share = replace(answer, value=answer.value / 100, half_unit=answer.half_unit / 100)
        return min(answer, share, key=lambda each: _apart(each.value, expected.value))
    printed, scaled = (read_number(answer.text, kind) for kind in ("number", "any"))
    if printed is None or scaled is None or printed.value != answer.value:
        return answer
    return min(answer, scaled, key=lambda each: _apart(each.value, expected.value))


def _apart(one: Fraction, other: Fraction) -> float:
    """Return the absolute logarithm of the ratio of two numbers; infinity if their signs differ."""
    ratio = one / other if other else 0
    return abs(math.log(ratio)) if 0 < ratio < _TOO_LARGE else math.inf
