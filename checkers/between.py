"""The checker for values that only have to lie within bounds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.values import Number
from labgrade.verdict import Verdict, correct, incorrect

from ._wording import off_by, shown

if TYPE_CHECKING:
    from labgrade.values import Value


def between(answer: Number, expected: Value | None, *, low: float, high: float) -> Verdict:
    """A number from `low` to `high`, both included."""
    del expected  # the bounds say all there is to expect
    if low > high:
        message = f"no number is from {low:,} to {high:,}: 'low' is the smaller one"
        raise ValueError(message)
    facts = {"got": shown(answer), "allowed": f"{low:,} to {high:,}"}
    bounds = _exact(low), _exact(high)
    if bounds[0] <= answer.written <= bounds[1]:
        return correct(**facts)
    nearest = bounds[answer.written > bounds[1]]  # the one that is not kept is finite
    return incorrect(off_by(answer, Number(value=Fraction(nearest))), **facts)


def _exact(bound: float) -> Fraction | float:
    """The bound as its author wrote it: 0.3 is 3/10, not the binary fraction just below."""
    return Fraction(repr(bound)) if math.isfinite(bound) else bound
