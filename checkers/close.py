"""The checker for values that are computed in floating point: numbers, tensors, one tensor for each name."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from labgrade.values import Number
from labgrade.verdict import FEW_DIGITS, Verdict, correct, incorrect

from ._names import by_name
from ._wording import of_all_parts, off_by, shown
from .equal import equal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labgrade.values import Array, Value


NUMERIC = "biufc"
_ROUNDED, _MOST_ROUNDED, _ZEROS = 3, 9, 6  # digits of a float that was rounded, zeros of a whole number
PASSES = "would pass with"  # for staff: a student who knows the tolerance can aim at it


def close(
    answer: Number | Array | Mapping[str, Array],
    expected: Value,
    *,
    rtol: Annotated[float, {"minimum": 0}] = 1e-5,
    atol: Annotated[float, {"minimum": 0}] = 1e-8,
    others: Literal["wrong", "allowed"] = "wrong",
) -> Verdict:
    """Every element within the tolerance: abs(got - expected) <= atol + rtol * abs(expected).

    Works for numbers, tensors and named tensors. Shapes must be equal, nothing is broadcast; the number type may
    differ. NaN is equal to nothing, an infinity to itself. Named tensors get the share of names that are right, a name
    that is not expected counting as a wrong one unless `others` are allowed. A number that was rounded to three digits
    or more is right, too, where the expected value rounds to it; of fewer digits `equal` says what they are worth.
    """
    match answer, expected:
        case Number(), Number():
            return _number(answer, expected, rtol, atol)
        case np.ndarray(), np.ndarray():
            return _tensor(answer, expected, rtol, atol)
        case Mapping(), Mapping():
            return by_name(answer, expected, lambda got, want: close(got, want, rtol=rtol, atol=atol), others=others)
    return incorrect(f"got {shown(answer)}, which cannot be compared with what is expected")


def _number(answer: Number, expected: Number, rtol: float, atol: float) -> Verdict:
    off, size = abs(answer.written - expected.written), abs(expected.written)
    allowed = Fraction(repr(atol)) + Fraction(repr(rtol)) * size
    facts = {"got": shown(answer), "expected": shown(expected), "off": shown(off), "allowed": shown(allowed)}
    if off <= allowed:
        return correct(**facts)
    if (rounded := equal(_as_rounded(answer), expected)).credit or rounded.agrees:
        return rounded
    few = {name: fact for name, fact in rounded.facts.items() if name == FEW_DIGITS}
    return incorrect(off_by(answer, expected), **facts, **few, **_passing(off, size, rtol, atol))


def _as_rounded(answer: Number) -> Number:
    """A number that was given in full, as precise as its digits: what `round(x, 2)` returns, 144000000000."""
    if answer.digits is not None or abs(answer.value) > sys.float_info.max:
        return answer
    plain = Decimal(repr(float(answer.value))).normalize().as_tuple()
    exponent, digits = int(plain.exponent), len(plain.digits)
    whole = 0 <= exponent < _ZEROS
    exact = whole or not _ROUNDED <= digits <= _MOST_ROUNDED
    value = answer.written
    return answer if exact else replace(answer, value=value, half_unit=Fraction(10) ** exponent / 2, digits=digits)


def _tensor(answer: Array, expected: Array, rtol: float, atol: float) -> Verdict:
    if answer.dtype.kind not in NUMERIC:
        return incorrect(f"got a tensor of {answer.dtype}, which holds no numbers")
    if answer.shape != expected.shape:
        hint = "the values agree, only the shape is wrong" if _same_in_order(answer, expected, rtol, atol) else ""
        reason = f"got shape {_size(answer)}, expected {_size(expected)}"
        return incorrect(reason, hint=hint or _transposed(answer, expected, rtol, atol))
    tolerance = f"atol {atol:g} + rtol {rtol:g} * abs(expected)"
    if np.array_equal(answer, expected):  # to the last bit, as of the same machine: takes a tenth of the time
        return correct(off="0", allowed=tolerance)
    off, allowed, wrong = _compared(answer, expected, rtol, atol)
    if not wrong.any():
        return correct(off=f"{off.max():.3g}", allowed=tolerance)
    worst = np.unravel_index(int(np.argmax(np.where(wrong, _excess(off, allowed), -np.inf))), off.shape)
    differ = of_all_parts(int(np.count_nonzero(wrong)), wrong.size, "elements", "differs", "differ")
    reason = f"{differ}; {_first(answer, wrong)}"
    facts = {"got": f"{answer[worst]}", "expected": f"{expected[worst]}", "off": f"{off[worst]:.6g}"}
    if np.isfinite(off).all():
        facts[PASSES] = _passing_all(off, expected, rtol, atol)
    hint = _transposed(answer, expected, rtol, atol)
    return incorrect(reason, hint=hint, **facts, allowed=f"{allowed[worst]:.6g}")


def _compared(
    answer: Array, expected: Array, rtol: float, atol: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """How far off each element is, how far it may be, and whether it is wrong."""
    got, wanted = _wide(answer), _wide(expected)
    with np.errstate(all="ignore"):  # infinities and NaN are answers too
        off = np.where(got == wanted, 0.0, np.abs(got - wanted))
        allowed = np.where(np.isfinite(wanted), atol + rtol * np.abs(wanted), 0.0)
        # Integers beyond 2**53 lose their last bits in float64: where nothing is allowed they are compared as they are.
        wrong = ~(off <= allowed) | ((allowed == 0) & (answer != expected))
    return off, allowed, wrong


def _wide(array: Array) -> NDArray[np.inexact]:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _excess(off: NDArray[np.float64], allowed: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each element is beyond what is allowed; NaN is farther than anything."""
    return np.where(np.isnan(off), np.inf, off - allowed)


def _first(answer: Array, wrong: NDArray[np.bool_]) -> str:
    """The first wrong element: the worst one would tell which of two is nearer to what is expected."""
    first = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    place = f" at [{', '.join(map(str, first))}]" if first else ""
    return f"the first{place} is {answer[first]:.6g}"


def _passing_all(off: NDArray[np.float64], expected: Array, rtol: float, atol: float) -> str:
    """The smallest tolerances that let every element pass: one of the two raised, the other as it is."""
    size = np.abs(_wide(expected))
    with np.errstate(all="ignore"):
        needed = np.where(off <= atol, 0.0, (off - atol) / size)
    return _either(float(needed.max()), float((off - rtol * size).max()), rtol, atol)


def _passing(off: Fraction, size: Fraction, rtol: float, atol: float) -> dict[str, str]:
    if max(off, size) > sys.float_info.max:
        return {}
    needed_rtol = (float(off) - atol) / float(size) if size else math.inf
    return {PASSES: _either(needed_rtol, float(off) - rtol * float(size), rtol, atol)}


def _either(needed_rtol: float, needed_atol: float, rtol: float, atol: float) -> str:
    options = [] if math.isinf(needed_rtol) else [f"rtol={_up(needed_rtol)} in place of {rtol:g}"]
    return " or ".join([*options, f"atol={_up(needed_atol)} in place of {atol:g}"])


def _up(value: float) -> str:
    """Rounded up to two digits, so that what is printed is enough."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1) if value > 0 else 1.0
    return f"{math.ceil(value / step) * step:.2g}"


def _transposed(answer: Array, expected: Array, rtol: float, atol: float) -> str:
    if answer.ndim > 1 and answer.T.shape == expected.shape and _agree(answer.T, expected, rtol, atol):
        return "the values agree once the dimensions are reversed: the tensor is transposed"
    return ""


def _same_in_order(answer: Array, expected: Array, rtol: float, atol: float) -> bool:
    return answer.size == expected.size and _agree(answer.ravel(), expected.ravel(), rtol, atol)


def _agree(answer: Array, expected: Array, rtol: float, atol: float) -> bool:
    return not _compared(answer, expected, rtol, atol)[2].any()


def _size(array: Array) -> str:
    return "x".join(str(size) for size in array.shape) or "of a single number"
