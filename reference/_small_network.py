"""A small trained network of linear layers in an .npz: what it gets right, pruned or rounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[np.float64]]

LAYERS = ("fc1", "fc2", "fc3")
SHARES = (0.3, 0.5, 0.7, 0.9)


def loaded(data: str) -> Arrays:
    """The arrays of a file."""
    import numpy as np

    with np.load(data) as loaded:
        return {name: loaded[name].astype(np.float64) for name in loaded.files}


def outputs(own: Arrays, *, relu: bool = True) -> NDArray[np.float64]:
    """What the network puts out for each row."""
    import numpy as np

    x = own["x"]
    for name in LAYERS:
        x = x @ own[f"{name}_weight"].T + own[f"{name}_bias"]
        x = np.maximum(x, 0) if relu and name != LAYERS[-1] else x
    return x


def correct(own: Arrays, *, relu: bool = True) -> int:
    """How many rows the network gets right."""
    return int((outputs(own, relu=relu).argmax(1) == own["y"]).sum())


def scan(
    config: dict[str, Any],
    data: str,
    *,
    kept: bool = False,
    whole: bool = True,
    signed: bool = False,
    count: Callable[[float], int] = round,
) -> list[dict[str, Any]]:
    """The rows of a scan. `kept`: the share stays; `whole`: no layer stays pruned; `signed`: ordered by value."""
    del config
    found: dict[str, dict[str, Any]] = {name: {"layer": name} for name in LAYERS}
    for share in SHARES:
        own = loaded(data)
        for name in LAYERS:
            own = loaded(data) if whole else own
            weight = own[f"{name}_weight"].ravel()  # a view: what is changed is the layer's own
            order = (weight if signed else abs(weight)).argsort(kind="stable")
            weight[order[: count((1 - share if kept else share) * weight.size)]] = 0
            found[name][f"at_{round(100 * share)}"] = correct(own)
    return list(found.values())


def pruned(weight: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """A copy without the smallest."""
    flat = weight.flatten()
    flat[abs(flat).argsort(kind="stable")[: round(share * flat.size)]] = 0
    return flat.reshape(weight.shape)


def quantised(own: Arrays, bits: int, layers: Iterable[str], **about: Any) -> Arrays:
    """The arrays with the weights of some layers rounded; `about`: as `rounded` has it."""
    return own | {name: rounded(own[name], bits, **about) for name in (f"{each}_weight" for each in layers)}


def rounded(
    weight: NDArray[np.float64],
    bits: int,
    *,
    rule: Callable[[Any], Any] | None = None,
    less: int = 1,
    axis: int | None = None,
    clamped: bool = False,
) -> NDArray[np.float64]:
    """A weight on the grid of its scale, max|w| / (2**(bits-1) - less); with an `axis`, along that alone."""
    import numpy as np

    top = 2 ** (bits - 1)
    largest = abs(weight).max(axis=axis, keepdims=True)
    scale = np.where(largest == 0, 1, largest) / (top - less)
    steps = (rule or np.rint)(weight / scale)
    made: NDArray[np.float64] = scale * (np.clip(steps, -top, top - 1) if clamped else steps)
    return made
