"""Operators that look at the sign of a tensor, in words of the tensor and its positive part, which is its Relu.

|x| is 2 Relu(x) - x, Min(x, 0) is x - Relu(x), and what Where takes by `x > 0`, or what is multiplied by it, is one of
these. Whether zero itself counts as above does not matter: it is chosen, or multiplied, as zero either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .rewrites import is_all
from .values import OutsideError, Sign, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ABOVE = {"Greater": True, "GreaterOrEqual": True, "Less": False, "LessOrEqual": False}
BY_SIGN = frozenset({*_ABOVE, "Abs", "Min"})  # these take any tensor; others what these make


class Parts(NamedTuple):
    """`own * value + positive * Relu(value)`."""

    value: Value
    own: int
    positive: int


def compared(op: str, operands: Sequence[Value]) -> Sign | None:
    """A comparison with zero, the contrary of one, or one and zero by one; None for any other operator."""
    first = operands[0]
    if op == "Not" and isinstance(first, Sign):
        return Sign(first.of, above=not first.above)
    if op == "Where" and isinstance(first, Sign):
        for is_above, (one, other) in ((True, operands[1:]), (False, operands[:0:-1])):
            if is_all(one, 1, first.of) and is_all(other, 0, first.of):
                return Sign(first.of, above=first.above is is_above)
    if op not in _ABOVE or len(operands) != 2 or any(isinstance(each, Sign) for each in operands):  # noqa: PLR2004
        return None
    one, other = operands
    if is_all(other, 0, one) and not isinstance(one, np.ndarray):
        return Sign(one, above=_ABOVE[op])
    if is_all(one, 0, other) and not isinstance(other, np.ndarray):
        return Sign(other, above=not _ABOVE[op])
    return None


def parts_of(op: str, operands: Sequence[Value], same: Callable[[Value, Value], Any]) -> Parts | None:
    """What an operator makes by the sign of a tensor; None for any other operator.

    Raises:
        OutsideError: it takes a sign, and for something else.
    """
    if op == "Abs" and not isinstance(operands[0], Sign):
        return Parts(operands[0], -1, 2)
    if op == "Min" and len(operands) == 2:  # noqa: PLR2004
        value = next((each for each in operands if not isinstance(each, (np.ndarray, Sign))), None)
        beside = next((each for each in operands if each is not value), None)
        return Parts(value, 1, -1) if is_all(beside, 0, value) else None
    sign = next((each for each in operands if isinstance(each, Sign)), None)
    if sign is None:
        return None
    if op == "Mul":
        other = next((each for each in operands if each is not sign), None)
        if same(other, sign.of):
            return Parts(sign.of, 0, 1) if sign.above else Parts(sign.of, 1, -1)
    if op == "Where" and operands[0] is sign:
        taken, left = (operands[1], operands[2]) if sign.above else (operands[2], operands[1])
        if is_all(left, 0, sign.of) and same(taken, sign.of):
            return Parts(sign.of, 0, 1)
        if is_all(taken, 0, sign.of) and same(left, sign.of):
            return Parts(sign.of, 1, -1)
    message = "it uses where a tensor is above zero for something else than its positive or its negative part"
    raise OutsideError(message)
