"""Sentences for wrong tiles: where a tile belongs, what it holds instead, and where that belongs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .layers import Layer, Layers
    from .products import Product
    from .tile_equal import Deviation
    from .values import Array

_FACTOR_SPREAD = 1e-5
_NARROW_TYPE = 2e-2  # relative errors of a narrower type stay below this
_MOST_PLACES = 2000


def sentence(deviation: Deviation, layer: Layer, limit: int, products: Sequence[Product], layers: Layers | None) -> str:
    """One deviation in words. `layers`: where to look for what a wrong tile holds; None saves the search."""
    d = deviation
    if d.kind == "bias":
        return f"{layer.name}: outputs {d.n0}:{d.n1}: {_bias(deviation, layer)}"
    if d.kind == "not finite":
        return f"{layer.name}: its weights or its bias hold NaN or infinity, so that its outputs are no numbers"
    tile = f"tile (m={d.m0 // limit}, k={d.k0 // limit}, n={d.n0 // limit})"
    span = f"k {d.k0}:{d.k1} for outputs {d.n0}:{d.n1}"
    where = f"{layer.name}: {tile}"
    if d.term is not None:
        where += f", node '{products[d.term.product].node}'"
    match d.kind:
        case "missing":
            rows = "" if layer.rows <= limit else f", rows {d.m0}:{d.m1}"
            return f"{where} is missing: no product covers {span}{rows}"
        case "no product":
            return f"{where}: the outputs are the layer's input itself, not a product"
        case "twice":
            return f"{where} is summed twice: {span} are covered already"
        case "overlap":
            return f"{where} overlaps the tile before it: it covers {span}"
        case "undecided":
            return f"{where}: several products cover {span}, and their sum can't be determined exactly"
        case "rows" if d.term is not None:
            taken = f"{d.term.row}:{d.term.row + d.m1 - d.m0}"
            return f"{where} multiplies rows {taken} of the input, instead of {d.m0}:{d.m1}"
    return f"{where}: {_weights(deviation, layer, layers)}"


def _weights(d: Deviation, layer: Layer, layers: Layers | None) -> str:
    if d.term is None or layer.weight is None:
        return "its weights differ"
    held, wanted = d.term.weight, layer.weight[d.k0 : d.k1, d.n0 : d.n1]
    here = f"W[{d.k0}:{d.k1},{d.n0}:{d.n1}]"
    if d.term.scale != 1.0:
        if d.term.scale == -1.0:
            return "its product is subtracted instead of added"
        return f"its product is multiplied by {d.term.scale:.9g}"
    if not held.any():
        return f"the tile is all zeros instead of {here}"
    if held.shape == wanted.T.shape and np.array_equal(held, wanted.T):
        return f"the tile is transposed: it holds {here} with rows and columns exchanged"
    differ = held != wanted
    if differ.sum() > wanted.size // 2:
        factor = _factor(held, wanted)
        if factor:
            return factor
        found = _found_elsewhere(held, layer, layers)
        if found:
            return f"the tile holds {found}, instead of {here}"
        if layers is None:
            return f"the tile does not hold {here}"
    return _counted(differ, held, wanted, d, here, of_any=layer.own_only)


def _counted(differ: Array, held: Array, wanted: Array, d: Deviation, here: str, *, of_any: bool) -> str:
    if of_any:
        return f"the tile does not hold {here} of the weight that the graph is given"
    row, column = (int(index) for index in np.argwhere(differ)[0])
    first = f"first W[{d.k0 + row},{d.n0 + column}]: {held[row, column]!s} instead of {wanted[row, column]!s}"
    where = "" if differ.sum() <= wanted.size // 2 else f", and what it holds occurs nowhere in W: it should be {here}"
    count = int(differ.sum())
    return f"{count} of {wanted.size} weights differ{'s' * (count == 1)}, {first}{where}"


def _factor(held: Array, wanted: Array) -> str:
    """Whether the tile is the right one times a number, or rounded to a narrower type."""
    with np.errstate(all="ignore"):
        ratios = held.astype(np.float64) / wanted
    ratios = ratios[np.isfinite(ratios)]
    if not ratios.size:
        return ""
    middle = float(np.median(ratios))
    if float(np.ptp(ratios)) < _FACTOR_SPREAD * abs(middle):
        return "the tile is negated" if middle == -1.0 else f"the tile is multiplied by {middle:.7g}"
    if float(np.max(np.abs(ratios - 1))) < _NARROW_TYPE:
        worst = float(np.max(np.abs(ratios - 1)))
        return f"its weights are rounded (off by up to {worst:.1e}): were they stored in a narrower type?"
    return ""


def _found_elsewhere(held: Array, layer: Layer, layers: Layers | None) -> str:
    """The part of a weight that the tile holds: of this layer first, then of the others."""
    if layers is None or min(held.shape) < 2:  # noqa: PLR2004 - fewer than 2x2 weights may stand anywhere
        return ""
    for other in sorted(layers.named_once(), key=lambda each: each.weight is not layer.weight):
        of_other = "" if other.weight is layer.weight else f" of {other.name}"
        for turned, block in (("", held), (", transposed", held.T)):
            place = place_in(block, other.weight)
            if place is not None:
                k, n = place
                rows, columns = block.shape
                return f"W[{k}:{k + rows},{n}:{n + columns}]{of_other}{turned}"
    return ""


def place_in(block: Array, weight: Array | None) -> tuple[int, int] | None:
    """Where the block stands in a weight, found by its first elements."""
    rows, columns = block.shape
    if weight is None or rows > weight.shape[0] or columns > weight.shape[1]:
        return None
    starts = np.argwhere(weight[: weight.shape[0] - rows + 1, : weight.shape[1] - columns + 1] == block[0, 0])
    for k, n in _likely(starts, block, weight):
        if np.array_equal(weight[k : k + rows, n : n + columns], block):
            return k, n
    return None


def _likely(starts: Iterable[Array], block: Array, weight: Array) -> Iterator[tuple[int, int]]:
    for tried, (row, column) in enumerate(starts):
        if tried >= _MOST_PLACES:
            return
        if weight[row, column + 1] == block[0, 1] and weight[row + 1, column] == block[1, 0]:
            yield int(row), int(column)


def _bias(d: Deviation, layer: Layer) -> str:
    wanted = np.zeros(1, np.float32) if layer.bias is None else layer.bias[d.n0 : d.n1]
    added = [bias for bias in d.biases if bias.values.any()]
    if layer.bias is None:
        return "a bias is added where the original has none"
    if not added:
        return "the bias is missing"
    if len(added) > 1 and all(np.array_equal(bias.values[0], wanted) for bias in added):
        return f"the bias is added {len(added)} times"
    if len(added) > 1:
        return f"{len(added)} different constants are added where the bias is added once"
    only = added[0]
    if only.scale != 1.0:
        return f"the bias is multiplied by {only.scale:.9g}"
    differ = np.broadcast_to(only.values[0] != wanted, (d.n1 - d.n0,))
    if not differ.any():
        return "the bias differs from row to row"
    first, count = int(np.flatnonzero(differ)[0]), int(differ.sum())
    return (
        f"{count} of {d.n1 - d.n0} bias values differ{'s' * (count == 1)}, first output {d.n0 + first}: "
        f"{only.values[0][first]!s} instead of {np.broadcast_to(wanted, differ.shape)[first]!s}"
    )
