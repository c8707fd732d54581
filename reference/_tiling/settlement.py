"""Where tiles become a layer again: finds the layer that an affine value is, or says what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from .budget import OverBudgetError
from .element_layers import ElementLayers
from .elements import Addend, Pool, Root
from .explain import sentence
from .findings import ProofFinding
from .own_layer import filled, is_finite
from .tile_equal import Deviation, deviations
from .values import (
    PLAIN,
    UNKNOWN,
    Affine,
    Array,
    Elements,
    Opaque,
    OutsideError,
    Piece,
    Shape,
    Sign,
    Stack,
    Value,
    whole,
)

if TYPE_CHECKING:
    from .budget import Budget
    from .layers import Layer
    from .original import Original
    from .products import Products

_ADDEND = 16_000  # what adding one of several biases costs, where adding two numbers costs one


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
        self.pool = Pool(budget, original.numbers)
        self.layers = ElementLayers(original, self.pool, budget)
        self._matrices: dict[int, set[int]] = {}  # of a tensor, in which shapes layers take it
        for layer in original.layers:
            self._matrices.setdefault(original.base(layer.root), set()).add(layer.root)
        self._made = {original.base(layer.number) for layer in original.layers}
        self._kept: list[Value] = []  # so that the id of a value stays its own
        self.wrong: dict[int, tuple[Layer, list[Deviation]]] = {}
        self._own: Layer | None = None

    @property
    def own(self) -> Layer | None:
        """The layer of the file's own weights, once a value was found to be it."""
        return self._own or self.layers.own

    def is_of_layer(self, number: int) -> bool:
        """Whether a linear layer of the original takes or makes this tensor, in whatever shape."""
        base = self._original.base(number)
        return base in self._matrices or base in self._made

    def compact(self, value: Value) -> Value:
        """Elements as the opaque tensor or the window of one that they are, where they are that."""
        if not isinstance(value, Elements) or not value.ids.size:
            return value
        block, start = self.pool.block(int(value.ids.reshape(-1)[0]))
        if not isinstance(block, Root):
            return value
        places = value.ids - start
        if value.ids.size == block.size and np.array_equal(places.reshape(-1), np.arange(block.size)):
            return self._in_shape(block.number, value.shape)
        if value.ids.ndim != len(PLAIN):
            return value
        for number in self._matrices.get(block.number, ()):
            height, width = self._original.numbers.shape(number) or (0, 0)
            (rows, columns), (row, column) = value.shape, divmod(int(places[0, 0]), width)
            window = width * np.arange(row, row + rows)[:, None] + np.arange(column, column + columns)
            if row + rows <= height and column + columns <= width and np.array_equal(places, window):
                return Affine(number, rows, columns, (Piece(0, rows, 0, columns, (row, column)),))
        return value

    def _in_shape(self, base: int, shape: Shape) -> Opaque:
        """A tensor of the original in a shape, by its number."""
        numbers = self._original.numbers
        if numbers.shape(base) == shape:
            return Opaque(base, shape)
        name = f"{numbers.name(base)} as {'x'.join(map(str, shape))}"
        return Opaque(numbers.of(("shape", base, shape), name, shape), shape)

    def settled(self, value: Value) -> Value:
        """The layer's tensor where an affine value looks complete and is one; otherwise the value as it is."""
        if not isinstance(value, Affine):
            return value
        likely = self._original.layers.of(value.root, value.rows, value.columns)
        if not likely or value.dims != PLAIN or not value.pieces[0].terms:
            return value
        if any(layer.weight is None for layer in likely):
            return value  # without its bias a layer of the file's own is one, too: only the output says which is meant
        depth = sum(term.weight.shape[0] for term in value.pieces[0].terms)
        for layer in likely:
            biased = layer.bias is None or all(piece.biases for piece in value.pieces)
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

    def demanded(self, value: Value, user: str) -> tuple[Value, list[ProofFinding]]:
        """The value as a tensor of the original, which something other than tiles needs; or what is wrong with it."""
        value = self.plain(value)
        if isinstance(value, Sign):
            says = f"'{user}' uses where a tensor is above zero: outside what can be proved"
            return UNKNOWN, [ProofFinding(kind="outside", says=says, certain=False, node=user)]
        if not isinstance(value, (Affine, Stack, Elements)):
            return value, []
        compared = self._compare(value) if isinstance(value, Affine) and value.dims == PLAIN else None
        if compared is not None and compared.tensor is not None:
            return compared.tensor, []
        nearest = compared.nearest if compared is not None else None
        ids = self.resolved(value)
        tensor = self.compact(Elements(ids)) if ids is not None else value
        if isinstance(tensor, Opaque):
            return tensor, []
        is_whole = ids is not None and ids.all() and all(root is not None for _, root, _ in self.pool.roots(ids))
        nearest = nearest if nearest is not None or is_whole else self._nearest(value)
        if nearest is not None:
            self.wrong[id(value)] = nearest
            self._kept.append(value)
            return UNKNOWN, []
        return UNKNOWN, [self._unfinished(value, user)]

    def resolved(self, value: Value) -> Array | None:
        """The elements of a value, where each is an element of a tensor of the original; else None."""
        try:
            return self.layers.resolved(self.pool.of(value))
        except OverBudgetError:
            raise
        except OutsideError:
            return None

    def multiple(self, value: Value) -> tuple[Array, Fraction] | None:
        """The elements of the original's tensors that a value is a multiple of, and the factor; None where it is none.

        The factor is one that stands in the value: a scale by which it was multiplied, or minus one.
        """
        try:
            ids = self.pool.of(value)
            for factor in (self.pool.factor_in(ids), Fraction(-1)):
                found = self.resolved(Elements(self.pool.total([Addend(1 / factor, None, ids)], ids.shape)))
                if found is not None:
                    return found, factor
        except OverBudgetError:
            raise
        except OutsideError:
            pass
        return None

    def _nearest(self, value: Affine | Stack | Elements) -> tuple[Layer, list[Deviation]] | None:
        """The layer of this shape that the elements should have been, and where they differ."""
        try:
            return self._differing(self.pool.of(value))
        except OverBudgetError:
            raise
        except OutsideError:
            return None

    def _differing(self, ids: Array) -> tuple[Layer, list[Deviation]] | None:
        found: list[tuple[Layer, list[Deviation]]] = []
        for layer in self.layers.layers_of(list(self.pool.leaves(np.unique(ids)))):
            known = layer if layer.weight is not None else self.layers.nearest
            if known is not None and ids.shape == (layer.rows, layer.columns):
                found.append((known, self.layers.deviations(ids, known)))
        return min((each for each in found if each[1]), key=lambda each: len(each[1]), default=None)

    def _compare(self, value: Affine) -> _Comparison:
        known = self._compared.get(id(value))
        if known is not None:
            return known
        tensor: Opaque | None = None
        nearest: tuple[Layer, list[Deviation]] | None = None
        for layer in self._original.layers.of(value.root, value.rows, value.columns):
            self._budget.spend(comparisons=1, work=_ADDEND * sum(len(p.biases) for p in value.pieces if p.biases[1:]))
            here, layer = self._deviations(value, layer)  # noqa: PLW2901 - one of the file's own gets its weights
            if not here:
                tensor = Opaque(layer.number, (layer.rows, layer.columns))
                break
            nearest = (layer, here) if nearest is None or len(here) < len(nearest[1]) else nearest
        self._compared[id(value)] = _Comparison(value, tensor, nearest)
        return self._compared[id(value)]

    def _deviations(self, value: Affine, layer: Layer) -> tuple[list[Deviation], Layer]:
        """Where the value differs from the layer, and the layer; one of the file's own has its weights by then."""
        if layer.weight is not None:
            return deviations(value, layer), layer
        tried = [(self._of_own(value, own), own) for own in filled(value, layer)]
        found, nearest = min(tried, key=lambda pair: len(pair[0]))
        if not found:
            self._own = nearest
        return found, nearest

    def _of_own(self, value: Affine, own: Layer) -> list[Deviation]:
        if not is_finite(own):
            return [Deviation(kind="not finite", m0=0, m1=0, k0=0, k1=0, n0=0, n1=0)]
        return deviations(value, own)

    def _unfinished(self, value: Affine | Stack | Elements, user: str) -> ProofFinding:
        """A part of a layer, or products of another input, where a whole layer is needed."""
        shape = "x".join(map(str, value.shape))
        if isinstance(value, Elements):
            says = f"'{user}' uses a tensor of {shape} that the original does not have: outside what can be proved"
            return ProofFinding(kind="outside", says=says, certain=False, node=user)
        parts = value.parts if isinstance(value, Stack) else (value,)
        root = parts[0].root
        names = self._original.numbers
        stranger = self._fed_otherwise(parts[0]) if len(parts) == 1 else None
        if stranger is not None:
            says = (
                f"{stranger.name}: its tiles are fed by '{names.name(root)}' where the original feeds the layer with "
                f"'{names.name(stranger.root)}', node '{user}'"
            )
            return ProofFinding(kind="rest", says=says, layer=stranger.name, node=user)
        says = (
            f"'{user}' uses a tensor of {shape} made of parts of the layer fed by '{names.name(root)}', which is no "
            "whole layer of the original: that is outside what can be proved"
        )
        return ProofFinding(kind="outside", says=says, certain=False, node=user)

    def _fed_otherwise(self, value: Affine) -> Layer | None:
        """The layer that the value would be if its input were that layer's."""
        for layer in self._original.layers:
            alike = (layer.rows, layer.columns) == (value.rows, value.columns) and layer.root != value.root
            known = whole(Opaque(value.root, self._original.numbers.shape(value.root)))
            if alike and known is not None and known.columns == layer.depth and not deviations(value, layer):
                return layer
        return None

    def findings(self, limit: int) -> list[ProofFinding]:
        """What is wrong with the values that should have been layers: the first in full, others by their place."""
        found = []
        for layer, here in self.wrong.values():
            index = next((i for i, each in enumerate(self._original.layers) if each.name == layer.name), 0)
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


def _finding(deviation: Deviation, layer: Layer, limit: int, index: int, says: str, node: str) -> ProofFinding:
    undecided = deviation.kind == "undecided"
    return ProofFinding(
        kind="outside" if undecided else "tile",
        says=says,
        certain=not undecided,
        layer=layer.name,
        node=node,
        tile=None
        if deviation.kind in ("bias", "not finite")
        else (deviation.m0 // limit, deviation.k0 // limit, deviation.n0 // limit),
        place=(index, *deviation.order),
    )
