"""What pruning and quantising cost a small trained network: how many rows of its data it still gets right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[np.float64]]

LAYERS = ("fc1", "fc2", "fc3")
_SHARES = (0.3, 0.5, 0.7, 0.9)


def pruning_scan(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """By layer, how many rows are right after that layer alone is pruned to 30, 50, 70 and 90 %.

    `data` is an .npz with x, y and the weights and biases of three linear layers with ReLUs between them, fc1_weight
    (outputs x inputs), fc1_bias, ... Of n weights of the layer round(share * n) are set to zero, the smallest in
    magnitude; biases stay. The class is that of the largest output.
    """
    return _scan(config, data)


def pruning_scan_of_wrong_rows(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """How many are wrong.

    Slip of: pruning_scan
    Hint: These are the rows that the network gets wrong. Those that it gets right are asked for.
    Credit: 0.5
    """
    count = len(_loaded(data)["y"])
    return [
        {name: value if name == "layer" else count - value for name, value in row.items()}
        for row in _scan(config, data)
    ]


def pruning_scan_of_the_kept_share(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """With the share as that which is kept.

    Slip of: pruning_scan
    Hint: The share is taken for what is kept. It is what is removed.
    Credit: 0.4
    """
    return _scan(config, data, kept=True)


def pruning_scan_one_upon_another(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """With the layers before still pruned.

    Slip of: pruning_scan
    Hint: Layers that were pruned before stay pruned. A scan prunes one layer at a time: begin with the whole network
    again, from a copy.
    Credit: 0.4
    """
    return _scan(config, data, whole=False)


def pruning_scan_of_layers_left_pruned(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """Layer after layer, each of which stays pruned at the last share.

    Slip of: pruning_scan
    Hint: Layers that were scanned before stay pruned. A scan prunes one layer at a time: begin with the whole network
    again, from a copy.
    Credit: 0.4
    """
    del config
    own, rows = _loaded(data), []
    for name in LAYERS:
        whole, row = own[f"{name}_weight"], dict[str, Any](layer=name)
        for share in _SHARES:
            own[f"{name}_weight"] = _pruned(whole, share)
            row[f"at_{round(100 * share)}"] = _correct(own)
        rows.append(row)
    return rows


def pruning_scan_signed(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """With the smallest values removed.

    Slip of: pruning_scan
    Hint: Weights are ordered by value, so that the most negative ones go. Order them by magnitude.
    Credit: 0.4
    """
    return _scan(config, data, signed=True)


def correct_after_quantisation(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """How many rows are right with the weights of all three layers rounded to `bits`.

    Symmetric, one scale a layer: scale = max|w| / (2**(bits-1) - 1), w becomes scale * round(w / scale). Biases and
    activations stay as they are. `data` as for `pruning_scan`.
    """
    del config
    return _correct(_quantised(_loaded(data), bits, LAYERS))


def correct_after_quantisation_of_no_layer(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """How many are right with the weights as they are.

    Slip of: correct_after_quantisation
    Hint: The network is still the float one. The rounded weights have to be put into it.
    Credit: 0.2
    """
    del config, bits
    return _correct(_loaded(data))


def correct_after_quantisation_floored(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """With weights rounded down.

    Slip of: correct_after_quantisation
    Hint: Weights are rounded down, as floor() does. The nearest is asked for.
    Credit: 0.5
    """
    del config
    return _correct(_quantised(_loaded(data), bits, LAYERS, down=True))


def correct_after_quantisation_of_the_first(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """With the first layer rounded alone.

    Slip of: correct_after_quantisation
    Hint: Only the first layer is rounded. The weights of all three are.
    Credit: 0.3
    """
    del config
    return _correct(_quantised(_loaded(data), bits, LAYERS[:1]))


def correct_after_quantisation_but_the_last(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """With the last layer as it is.

    Slip of: correct_after_quantisation
    Hint: The last layer is not rounded. The weights of all three are.
    Credit: 0.4
    """
    del config
    return _correct(_quantised(_loaded(data), bits, LAYERS[:-1]))


def correct_after_quantisation_as_share(config: dict[str, Any], *, data: str, bits: int = 8) -> float:
    """The share of the rows.

    Slip of: correct_after_quantisation
    Hint: This is the share of rows that are right. How many there are is asked for.
    Credit: 0.7
    """
    return correct_after_quantisation(config, data=data, bits=bits) / len(_loaded(data)["y"])


def correct_after_quantisation_wrong_rows(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """How many are wrong.

    Slip of: correct_after_quantisation
    Hint: These are the rows that the network gets wrong. Those that it gets right are asked for.
    Credit: 0.5
    """
    own = _loaded(data)
    return len(own["y"]) - correct_after_quantisation(config, data=data, bits=bits)


# ---- how ------------------------------------------------------------------------------------------------------------


def _loaded(data: str) -> Arrays:
    import numpy as np

    with np.load(data) as loaded:
        return {name: loaded[name].astype(np.float64) for name in loaded.files}


def _outputs(own: Arrays) -> NDArray[np.float64]:
    """What the network puts out for each row."""
    import numpy as np

    x = own["x"]
    for name in LAYERS:
        x = x @ own[f"{name}_weight"].T + own[f"{name}_bias"]
        x = np.maximum(x, 0) if name != LAYERS[-1] else x
    return x


def _correct(own: Arrays) -> int:
    return int((_outputs(own).argmax(1) == own["y"]).sum())


def _scan(
    config: dict[str, Any], data: str, *, kept: bool = False, whole: bool = True, signed: bool = False
) -> list[dict[str, Any]]:
    del config
    found: dict[str, dict[str, Any]] = {name: {"layer": name} for name in LAYERS}
    for share in _SHARES:
        own = _loaded(data)
        for name in LAYERS:
            own = _loaded(data) if whole else own
            weight = own[f"{name}_weight"].ravel()  # a view: what is changed is the layer's own
            order = (weight if signed else abs(weight)).argsort(kind="stable")
            weight[order[: round((1 - share if kept else share) * weight.size)]] = 0
            found[name][f"at_{round(100 * share)}"] = _correct(own)
    return list(found.values())


def _pruned(weight: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """A copy without the smallest."""
    flat = weight.flatten()
    flat[abs(flat).argsort(kind="stable")[: round(share * flat.size)]] = 0
    return flat.reshape(weight.shape)


def _quantised(own: Arrays, bits: int, layers: Iterable[str], *, down: bool = False) -> Arrays:
    import numpy as np

    rule = np.floor if down else np.rint
    for name in layers:
        weight = own[f"{name}_weight"]
        scale = abs(weight).max() / (2 ** (bits - 1) - 1)
        own[f"{name}_weight"] = scale * rule(weight / scale)
    return own
