"""The checker for tensors that went through a converter or a quantiser: how far off each tensor may be as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from labgrade.verdict import Verdict, incorrect

from ._names import by_name
from ._wording import shown
from .close import close

if TYPE_CHECKING:
    from labgrade.values import Array, Value


def within(
    answer: Array | Mapping[str, Array],
    expected: Value,
    *,
    of_largest: Annotated[float, {"minimum": 0}] = 0.0,
    lsb: Annotated[float, {"minimum": 0}] = 0.0,
    steps: Annotated[float, {"minimum": 0}] = 1.0,
    others: Literal["wrong", "allowed"] = "wrong",
) -> Verdict:
    """Every element of a tensor within a distance that is the same for all of them.

    `of_largest`: a share of the largest absolute value that is expected in the tensor; `lsb`: the smallest step of a
    quantised value, of which `steps` are allowed. Both together add up; with neither, values are exact. A name that is
    not expected counts as a wrong one unless `others` are allowed.
    """
    match answer, expected:
        case np.ndarray(), np.ndarray():
            return _one(answer, expected, of_largest, lsb * steps)
        case Mapping(), Mapping():
            return by_name(answer, expected, lambda got, want: _one(got, want, of_largest, lsb * steps), others=others)
    return incorrect(f"got {shown(answer)}, which cannot be compared with what is expected")


def _one(answer: Array, expected: Array, of_largest: float, step: float) -> Verdict:
    finite = np.abs(expected[np.isfinite(expected)].astype(np.float64)) if expected.size else np.zeros(0)
    largest = float(finite.max()) if finite.size else 0.0
    # What a step of a grid is in binary is not exact: a little more than it is allowed.
    return close(answer, expected, rtol=0.0, atol=of_largest * largest + step * (1 + 1e-6))
