"""How pruning and rounding a small network go wrong, beside what stands in `sensitivity`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ._small_network import LAYERS, SHARES, correct, loaded, pruned, quantised, rounded, scan

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from ._small_network import Arrays

_WEIGHTS = tuple(f"{each}_weight" for each in LAYERS)


def pruning_scan_rounded_down(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """With the number that goes rounded down.

    Slip of: pruning_scan
    Hint: How many weights go is rounded down, as int() does. round(share * n) go.
    Credit: 0.7
    """
    return scan(config, data, count=math.floor)


def pruning_scan_rounded_up(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """With the number that goes rounded up.

    Slip of: pruning_scan
    Hint: How many weights go is rounded up. round(share * n) go.
    Credit: 0.7
    """
    return scan(config, data, count=math.ceil)


def pruning_scan_of_all_layers(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """With all layers pruned at once.

    Slip of: pruning_scan
    Hint: All layers are pruned at once, so that each row says the same. A scan prunes one layer at a time.
    Credit: 0.3
    """
    return _scanned(config, data, _all_pruned)


def pruning_scan_of_neurons(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """With whole rows of the weight removed.

    Slip of: pruning_scan
    Hint: Whole outputs of a layer are removed, by the sum of their magnitudes. Single weights are asked for.
    Credit: 0.3
    """
    return _scanned(config, data, lambda own, name, share: {name: _rows_pruned(own[name], share)})


def pruning_scan_with_the_bias(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """With the layer's bias pruned, too.

    Slip of: pruning_scan
    Hint: The layer's bias is pruned, too. Only its weights are.
    Credit: 0.5
    """
    return _scanned(config, data, _with_its_bias)


def correct_after_quantisation_truncated(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """With weights rounded towards zero.

    Slip of: correct_after_quantisation
    Hint: Weights are rounded towards zero, as int() and astype(int) do. The nearest is asked for.
    Credit: 0.5
    """
    del config
    import numpy as np

    return correct(quantised(loaded(data), bits, LAYERS, rule=np.trunc))


def correct_after_quantisation_with_biases(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """With biases rounded, too.

    Slip of: correct_after_quantisation
    Hint: The biases are rounded, too. Only weights are.
    Credit: 0.6
    """
    del config
    own = quantised(loaded(data), bits, LAYERS)
    return correct(own | {name: rounded(own[name], bits) for name in (f"{each}_bias" for each in LAYERS)})


def correct_after_quantisation_by_channel(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """With a scale for each output.

    Slip of: correct_after_quantisation
    Hint: Each output channel has a scale of its own here. One for the whole layer is asked for.
    Credit: 0.5
    """
    del config
    return correct(quantised(loaded(data), bits, LAYERS, axis=1))


def correct_after_quantisation_by_input(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """With a scale for each input.

    Slip of: correct_after_quantisation
    Hint: Each input has a scale of its own here. One for the whole layer is asked for.
    Credit: 0.5
    """
    del config
    return correct(quantised(loaded(data), bits, LAYERS, axis=0))


def correct_after_quantisation_of_full_range(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """With the largest magnitude over 2**(bits-1).

    Slip of: correct_after_quantisation
    Hint: The largest magnitude is divided by 2**(bits - 1). The scale is max|w| / (2**(bits - 1) - 1).
    Credit: 0.6
    """
    del config
    return correct(quantised(loaded(data), bits, LAYERS, less=0))


def correct_after_quantisation_of_full_range_clamped(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """With the largest magnitude over 2**(bits-1), and its end cut off.

    Slip of: correct_after_quantisation
    Hint: The largest magnitude is divided by 2**(bits - 1). The scale is max|w| / (2**(bits - 1) - 1).
    Credit: 0.6
    """
    del config
    return correct(quantised(loaded(data), bits, LAYERS, less=0, clamped=True))


def correct_after_quantisation_of_all_values(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """With the largest magnitude over 2**bits - 1.

    Slip of: correct_after_quantisation
    Hint: The largest magnitude is divided by 2**bits - 1: the sign is one of the bits, 2**(bits - 1) - 1.
    Credit: 0.6
    """
    del config
    return correct(quantised(loaded(data), bits + 1, LAYERS))


def correct_after_quantisation_by_one_scale(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """With one scale for all layers.

    Slip of: correct_after_quantisation
    Hint: All layers share one scale here. Each layer has its own.
    Credit: 0.5
    """
    del config
    own = loaded(data)
    largest = max(abs(own[f"{each}_weight"]).max() for each in LAYERS)
    scale = largest / (2 ** (bits - 1) - 1)
    changed = {name: scale * (own[name] / scale).round() for name in (f"{each}_weight" for each in LAYERS)}
    return correct(own | changed)


def correct_after_quantisation_asymmetric(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """With a range from the least weight to the largest.

    Slip of: correct_after_quantisation
    Hint: The range goes from the least weight to the largest, with a zero point. A symmetric one is asked for: scale =
    max|w| / (2**(bits - 1) - 1).
    Credit: 0.4
    """
    del config
    own = loaded(data)
    return correct(own | {name: _asymmetric(own[name], bits) for name in (f"{each}_weight" for each in LAYERS)})


def correct_after_quantisation_not_scaled_back(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """With whole numbers as weights.

    Slip of: correct_after_quantisation
    Hint: The weights are the whole numbers, which are not multiplied by the scale again.
    Credit: 0.4
    """
    del config
    own, made = loaded(data), quantised(loaded(data), bits, LAYERS)
    for name in (f"{each}_weight" for each in LAYERS):
        made[name] /= abs(own[name]).max() / (2 ** (bits - 1) - 1)
    return correct(made)


def correct_after_quantisation_without_relu(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """Without ReLUs.

    Slip of: correct_after_quantisation
    Hint: The ReLUs between the layers are missing.
    Credit: 0.3
    """
    del config
    own = quantised(loaded(data), bits, LAYERS)
    return correct(own, relu=False)


# ---- how ------------------------------------------------------------------------------------------------------------


def _scanned(
    config: dict[str, Any], data: str, changed: Callable[[Arrays, str, float], Arrays]
) -> list[dict[str, Any]]:
    """The rows of a scan in which other arrays change."""
    del config
    own = loaded(data)
    return [
        {
            "layer": layer,
            **{f"at_{round(100 * share)}": correct(own | changed(own, f"{layer}_weight", share)) for share in SHARES},
        }
        for layer in LAYERS
    ]


def _all_pruned(own: Arrays, _: str, share: float) -> Arrays:
    return {each: pruned(own[each], share) for each in _WEIGHTS}


def _with_its_bias(own: Arrays, name: str, share: float) -> Arrays:
    bias = name.replace("weight", "bias")
    return {name: pruned(own[name], share), bias: pruned(own[bias], share)}


def _rows_pruned(weight: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    kept = weight.copy()
    kept[abs(weight).sum(1).argsort(kind="stable")[: round(share * len(weight))]] = 0
    return kept


def _asymmetric(weight: NDArray[np.float64], bits: int) -> NDArray[np.float64]:
    lowest, highest = min(weight.min(), 0.0), max(weight.max(), 0.0)
    scale = (highest - lowest) / (2**bits - 1)
    zero = round(-lowest / scale)
    made: NDArray[np.float64] = scale * ((weight / scale).round() + zero).clip(0, 2**bits - 1) - scale * zero
    return made
