"""The checker for values that only have to lie within bounds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.verdict import Verdict, correct, incorrect

from ._wording import shown

if TYPE_CHECKING:
    from labgrade.values import Number, Value


def between(answer: Number, expected: Value | None, *, low: float, high: float) -> Verdict:
    """A number from `low` to `high`, both included."""
    del expected  # the bounds say all there is to expect
    if low > high:
        message = f"no number is from {low:,} to {high:,}: 'low' is the smaller one"
        raise ValueError(message)
    facts = {"got": shown(answer), "allowed": f"{low:,} to {high:,}"}
    if answer.value < _exact(low):
        return incorrect(f"got {shown(answer)}, which is below {low:,}", **facts)
    if answer.value > _exact(high):
        return incorrect(f"got {shown(answer)}, which is above {high:,}", **facts)
    return correct(**facts)


def _exact(bound: float) -> Fraction | float:
    """The bound as its author wrote it: 0.3 is 3/10, not the binary fraction just below."""
    return Fraction(repr(bound)) if math.isfinite(bound) else bound
