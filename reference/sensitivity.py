"""What pruning and quantising cost a small trained network: how many rows of its data it still gets right."""

from __future__ import annotations

from typing import Any

from ._small_network import LAYERS, SHARES, correct, loaded, pruned, quantised, scan


def pruning_scan(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """By layer, how many rows are right after that layer alone is pruned to 30, 50, 70 and 90 %.

    `data` is an .npz with x, y and the weights and biases of three linear layers with ReLUs between them, fc1_weight
    (outputs x inputs), fc1_bias, ... Of n weights of the layer round(share * n) are set to zero, the smallest in
    magnitude; biases stay. The class is that of the largest output.
    """
    return scan(config, data)


def pruning_scan_of_wrong_rows(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """How many are wrong.

    Slip of: pruning_scan
    Hint: These are the rows that the network gets wrong. Those that it gets right are asked for.
    Credit: 0.5
    """
    count = len(loaded(data)["y"])
    return [
        {name: value if name == "layer" else count - value for name, value in row.items()} for row in scan(config, data)
    ]


def pruning_scan_in_percent(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """As a share of the rows, in percent.

    Slip of: pruning_scan
    Hint: This is the share of the rows that are right, in percent. How many there are is asked for.
    Credit: 0.5
    """
    count = len(loaded(data)["y"])
    return [
        {name: value if name == "layer" else 100 * value / count for name, value in row.items()}
        for row in scan(config, data)
    ]


def pruning_scan_of_the_kept_share(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """With the share as that which is kept.

    Slip of: pruning_scan
    Hint: The share is taken for what is kept. It is what is removed.
    Credit: 0.4
    """
    return scan(config, data, kept=True)


def pruning_scan_one_upon_another(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """With the layers before still pruned.

    Slip of: pruning_scan
    Hint: Layers that were pruned before stay pruned. A scan prunes one layer at a time: begin with the whole network
    again, from a copy.
    Credit: 0.4
    """
    return scan(config, data, whole=False)


def pruning_scan_of_layers_leftpruned(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """Layer after layer, each of which stays pruned at the last share.

    Slip of: pruning_scan
    Hint: Layers that were scanned before stay pruned. A scan prunes one layer at a time: begin with the whole network
    again, from a copy.
    Credit: 0.4
    """
    del config
    own, rows = loaded(data), []
    for name in LAYERS:
        whole, row = own[f"{name}_weight"], dict[str, Any](layer=name)
        for share in SHARES:
            own[f"{name}_weight"] = pruned(whole, share)
            row[f"at_{round(100 * share)}"] = correct(own)
        rows.append(row)
    return rows


def pruning_scan_signed(config: dict[str, Any], *, data: str) -> list[dict[str, Any]]:
    """With the smallest values removed.

    Slip of: pruning_scan
    Hint: Weights are ordered by value, so that the most negative ones go. Order them by magnitude.
    Credit: 0.4
    """
    return scan(config, data, signed=True)


def correct_after_quantisation(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """How many rows are right with the weights of all three layers rounded to `bits`.

    Symmetric, one scale a layer: scale = max|w| / (2**(bits-1) - 1), w becomes scale * round(w / scale). Biases and
    activations stay as they are. `data` as for `pruning_scan`.
    """
    del config
    return correct(quantised(loaded(data), bits, LAYERS))


def correct_after_quantisation_of_no_layer(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """How many are right with the weights as they are.

    Slip of: correct_after_quantisation
    Hint: The network is still the float one. The rounded weights have to be put into it.
    Credit: 0.2
    """
    del config, bits
    return correct(loaded(data))


def correct_after_quantisation_floored(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """With weights rounded down.

    Slip of: correct_after_quantisation
    Hint: Weights are rounded down, as floor() does. The nearest is asked for.
    Credit: 0.5
    """
    import numpy as np

    del config
    return correct(quantised(loaded(data), bits, LAYERS, rule=np.floor))


def correct_after_quantisation_of_the_first(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """With the first layer rounded alone.

    Slip of: correct_after_quantisation
    Hint: Only the first layer is rounded. The weights of all three are.
    Credit: 0.3
    """
    del config
    return correct(quantised(loaded(data), bits, LAYERS[:1]))


def correct_after_quantisation_but_the_last(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """With the last layer as it is.

    Slip of: correct_after_quantisation
    Hint: The last layer is not rounded. The weights of all three are.
    Credit: 0.4
    """
    del config
    return correct(quantised(loaded(data), bits, LAYERS[:-1]))


def correct_after_quantisation_as_share(config: dict[str, Any], *, data: str, bits: int = 8) -> float:
    """The share of the rows.

    Slip of: correct_after_quantisation
    Hint: This is the share of rows that are right. How many there are is asked for.
    Credit: 0.7
    """
    return correct_after_quantisation(config, data=data, bits=bits) / len(loaded(data)["y"])


def correct_after_quantisation_wrong_rows(config: dict[str, Any], *, data: str, bits: int = 8) -> int:
    """How many are wrong.

    Slip of: correct_after_quantisation
    Hint: These are the rows that the network gets wrong. Those that it gets right are asked for.
    Credit: 0.5
    """
    own = loaded(data)
    return len(own["y"]) - correct_after_quantisation(config, data=data, bits=bits)
