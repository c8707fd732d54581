"""The checker for values that must not be larger than a limit."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.values import Number
from labgrade.verdict import Verdict, correct, incorrect

from ._wording import shown

if TYPE_CHECKING:
    from labgrade.values import Findings, Value


def at_most(answer: Number | Findings, expected: Value | None, *, limit: float) -> Verdict:
    """A number that is not above `limit`."""
    del expected  # the limit says all there is to expect
    if not isinstance(answer, Number):
        return incorrect(f"got {shown(answer)}, expected a number of at most {limit:,}")
    facts = {"got": shown(answer), "allowed": f"at most {limit:,}"}
    if answer.written > (Fraction(repr(limit)) if math.isfinite(limit) else limit):
        return incorrect(f"got {shown(answer)}, which is above {limit:,}", **facts)
    return correct(f"{shown(answer)} is not above {limit:,}", **facts)
