"""The checker for masks: which elements stay, where some of equal size may be chosen freely."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from labgrade.verdict import Verdict, correct, incorrect, partial

from ._names import without_prefix
from ._wording import LONGEST_LIST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labgrade.values import Array


def keeps(
    answer: Mapping[str, Array], expected: Mapping[str, Array], *, scope: Literal["layer", "all"] = "layer"
) -> Verdict:
    """Masks that keep the right elements: other than zero where one is kept.

    In the expected masks 1 is kept, 0 is not, and of the elements between as many are kept as these add up to, in each
    `layer` or in `all`, whichever: they are equal. The credit is the share of names that are right.
    """
    given = dict(zip(without_prefix(list(answer), expected), answer.values(), strict=True))
    if given.keys() >= expected.keys() and all(np.array_equal(given[name], want) for name, want in expected.items()):
        return correct()  # of equal ones the shares themselves, as a known mistake has them
    off = {name: _off(given.get(name), want) for name, want in expected.items()}
    if scope == "all" and not any(off.values()) and (said := _of_equal(expected, given)):
        return incorrect(said)
    if scope == "layer":
        off = {name: said or _of_equal({name: expected[name]}, given) for name, said in off.items()}
    wrong = [f"'{name}': {said}" for name, said in off.items() if said]
    if not wrong:
        return correct()
    right, said = Fraction(len(off) - len(wrong), len(off)), "; ".join(wrong[:LONGEST_LIST])
    return partial(right, said, agrees=False) if right else incorrect(said)


def _of_equal(expected: Mapping[str, Array], given: Mapping[str, Array]) -> str:
    """What is wrong with how many of equal elements are kept."""
    between = {name: (want != 0) & (want != 1) for name, want in expected.items()}
    kept = sum(np.count_nonzero(given[name][there]) for name, there in between.items())
    free = round(sum(float(expected[name][there].sum()) for name, there in between.items()))
    return f"of equal weights at the threshold {kept:,} are kept, and {free:,} should be" if kept != free else ""


def _off(got: Array | None, want: Array) -> str:
    """What is wrong with one mask, the choice among equal ones aside."""
    if got is None:
        return "nothing was handed in under this name"
    if got.shape != want.shape:
        return f"the shape is {list(got.shape)}, not {list(want.shape)}"
    kept = got != 0
    lost, left = int((~kept & (want == 1)).sum()), int((kept & (want == 0)).sum())
    return f"{lost:,} are removed that should stay, and {left:,} stay that should be removed" if lost or left else ""
