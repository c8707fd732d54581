"""k-means on numbers, from values that are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.float64]
    Codebook: TypeAlias = dict[str, Numbers]

_ENDLESS = 10_000


def even(numbers: Numbers, count: int) -> Numbers:
    """So many values at equal distances from the smallest number to the largest."""
    import numpy as np

    return np.linspace(numbers.min(), numbers.max(), count)


def kmeans(
    data: str,
    count: int,
    *,
    start: Callable[[Numbers, int], Numbers] = even,
    turns: int = _ENDLESS,
    middle: Literal["mean", "median"] = "mean",
    empty: Callable[[float], float] = float,
) -> Codebook:
    """The values after so many turns, in rising order. `empty`: what a value without numbers becomes."""
    import numpy as np

    numbers = np.load(data).astype(np.float64).ravel()
    values = start(numbers, count)
    before = None
    for _ in range(turns):
        nearest = np.abs(numbers[:, None] - values).argmin(1)
        if before is not None and (nearest == before).all():
            break
        groups = [numbers[nearest == place] for place in range(count)]
        values = np.array(
            [getattr(np, middle)(own) if own.size else empty(value) for own, value in zip(groups, values, strict=True)]
        )
        before = nearest
    return {"values": np.sort(values)}
