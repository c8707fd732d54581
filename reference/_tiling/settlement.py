"""Where tiles become a layer again: finds the layer that an affine value is, or says what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .explain import sentence
from .findings import Finding
from .settle import Deviation, deviations
from .values import PLAIN, UNKNOWN, Affine, Opaque, Stack, Value, whole

if TYPE_CHECKING:
    from .budget import Budget
    from .layers import Layer
    from .original import Original
    from .products import Products


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A value (kept, so that its id stays its own), the layer's tensor if it is one, and else what it is nearest to."""

    value: Affine
    tensor: Opaque | None
    nearest: tuple[Layer, list[Deviation]] | None


class Settlement:
    """Compares affine values with the original's layers, each once, and remembers what came of it."""

    def __init__(self, original: Original, products: Products, budget: Budget) -> None:
        self._original = original
        self._products = products
        self._budget = budget
        self._compared: dict[int, _Comparison] = {}
        self.wrong: dict[int, tuple[Layer, list[Deviation]]] = {}

    def settled(self, value: Value) -> Value:
        """The layer's tensor where an affine value looks complete and is one; otherwise the value as it is."""
        if not isinstance(value, Affine):
            return value
        likely = self._original.layers.of(value.root, value.rows, value.columns)
        if not likely or value.dims != PLAIN or not value.pieces[0].terms:
            return value
        depth = sum(term.weight.shape[0] for term in value.pieces[0].terms)
        for layer in likely:
            biased = layer.bias is None or layer.any_bias or all(piece.biases for piece in value.pieces)
            if depth >= layer.depth and biased:
                return self._compare(value).tensor or value
        return value

    def plain(self, value: Value) -> Value:
        """The tensor itself, where an affine value is all of it and nothing else; otherwise the value as it is."""
        if isinstance(value, Affine) and value.dims == PLAIN and value.is_window:
            (piece,) = value.pieces
            known = Opaque(value.root, self._original.numbers.shape(value.root))
            if piece.window == (0, 0) and known.shape == value.shape:
                return known
        return value

    def number(self, value: Value) -> int:
        """The value number of a constant, an opaque tensor, or an operand that is left out."""
        if isinstance(value, np.ndarray):
            return self._original.numbers.of_constant(value)
        return value.number if isinstance(value, Opaque) else -1

    def demanded(self, value: Value, user: str) -> tuple[Value, list[Finding]]:
        """The value as a tensor of the original, which something other than tiles needs; or what is wrong with it."""
        value = self.plain(value)
        if isinstance(value, Affine) and value.dims == PLAIN:
            found = self._compare(value)
            if found.tensor is not None:
                return found.tensor, []
            if found.nearest is not None:
                self.wrong[id(value)] = found.nearest
            return UNKNOWN, [self._unfinished(value, user)] if found.nearest is None else []
        if isinstance(value, (Affine, Stack)):
            return UNKNOWN, [self._unfinished(value, user)]
        return value, []

    def _compare(self, value: Affine) -> _Comparison:
        known = self._compared.get(id(value))
        if known is not None:
            return known
        tensor: Opaque | None = None
        nearest: tuple[Layer, list[Deviation]] | None = None
        for layer in self._original.layers.of(value.root, value.rows, value.columns):
            self._budget.spend(comparisons=1)
            here = deviations(value, layer)
            if not here:
                tensor = Opaque(layer.number, (layer.rows, layer.columns))
                break
            nearest = (layer, here) if nearest is None or len(here) < len(nearest[1]) else nearest
        self._compared[id(value)] = _Comparison(value, tensor, nearest)
        return self._compared[id(value)]

    def _unfinished(self, value: Affine | Stack, user: str) -> Finding:
        """A part of a layer, or products of another input, where a whole layer is needed."""
        parts = value.parts if isinstance(value, Stack) else (value,)
        root = parts[0].root
        names = self._original.numbers
        stranger = self._fed_otherwise(parts[0]) if len(parts) == 1 else None
        if stranger is not None:
            says = (
                f"{stranger.name}: its tiles are fed by '{names.name(root)}' where the original feeds the layer with "
                f"'{names.name(stranger.root)}', node '{user}'"
            )
            return Finding(kind="rest", says=says, layer=stranger.name, node=user)
        shape = "x".join(map(str, value.shape))
        says = (
            f"'{user}' uses a tensor of {shape} made of parts of the layer fed by '{names.name(root)}', which is no "
            "whole layer of the original: that is outside what can be proved"
        )
        return Finding(kind="outside", says=says, certain=False, node=user)

    def _fed_otherwise(self, value: Affine) -> Layer | None:
        """The layer that the value would be if its input were that layer's."""
        for layer in self._original.layers:
            alike = (layer.rows, layer.columns) == (value.rows, value.columns) and layer.root != value.root
            known = whole(Opaque(value.root, self._original.numbers.shape(value.root)))
            if alike and known is not None and known.columns == layer.depth and not deviations(value, layer):
                return layer
        return None

    def findings(self, limit: int) -> list[Finding]:
        """What is wrong with the values that should have been layers: the first in full, others by their place."""
        found = []
        for layer, here in self.wrong.values():
            index = self._original.layers.all.index(layer)
            for place, deviation in enumerate(here):
                explained = place < _EXPLAINED
                says = sentence(
                    deviation, layer, limit, self._products.all, self._original.layers if explained else None
                )
                found.append(_finding(deviation, layer, limit, index, says, self._node(deviation)))
        return found

    def _node(self, deviation: Deviation) -> str:
        return "" if deviation.term is None else self._products.all[deviation.term.product].node


_EXPLAINED = 5


def _finding(deviation: Deviation, layer: Layer, limit: int, index: int, says: str, node: str) -> Finding:
    undecided = deviation.kind == "undecided"
    return Finding(
        kind="outside" if undecided else "tile",
        says=says,
        certain=not undecided,
        layer=layer.name,
        node=node,
        tile=None
        if deviation.kind == "bias"
        else (deviation.m0 // limit, deviation.k0 // limit, deviation.n0 // limit),
        place=(index, *deviation.order),
    )
