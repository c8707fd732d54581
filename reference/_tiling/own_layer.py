"""A linear layer of the student's own: only its sizes are given, its weights are what the file holds or takes.

A linear layer has one W and one bias, whatever they are: every block of rows must share them. Where the file holds one
matrix of the layer's size from which tiles are taken, that is W, and every tile must come from its place in it. Where
it takes W as a second input, W stands for any matrix: it gets distinct random numbers, which a graph that only moves
and multiplies them can't tell from others. Otherwise W and the bias are those of the first block of rows.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .explain import place_in
from .layers import Layers
from .original import Original, OriginalError
from .tile_equal import exact_sum, exactly

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .layers import Layer
    from .read import Model
    from .values import Affine, Array, Bias


_BLOCK = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWeights:
    """The weight that is an input, if it is one: its name, its shape, and the symbols that stand for it."""

    name: str = ""
    symbols: Array | None = None

    def draw(self, generator: np.random.Generator) -> Mapping[str, Array]:
        """A weight to run the graph with."""
        if self.symbols is None:
            return {}
        return {self.name: generator.standard_normal(self.symbols.shape).astype(np.float32)}


def with_own_weights(original: Original, model: Model) -> tuple[Original, OwnWeights]:
    """The original with the submitted graph's weights, and the weight where it is an input.

    Raises:
        OriginalError: the original is not one linear layer.
    """
    if len(original.layers.named_once()) != 1 or len(original.inputs) != 1:
        message = "the original is not one linear layer, so weights of one's own mean nothing"
        raise OriginalError(message)
    (layer,) = original.layers.named_once()
    number = original.outputs[0][1]
    size = (layer.depth, layer.columns)
    second = model.inputs[1] if len(model.inputs) > 1 else None
    taken = OwnWeights()
    if second is not None and second.shape in (size, size[::-1]):
        symbols = _symbols(layer.depth * layer.columns).reshape([int(dim) for dim in second.shape])
        taken = OwnWeights(name=second.name, symbols=symbols)
        candidates = tuple(turned for turned in (symbols, symbols.T) if turned.shape == size)
    else:
        candidates = _candidates(list(_matrices(model, size)), size)
    own = Layers()
    is_input = taken.symbols is not None
    own.add(replace(layer, number=number, weight=None, bias=None, own=candidates, own_only=is_input))
    return replace(original, layers=own), taken


def filled(value: Affine, layer: Layer) -> list[Layer]:
    """The layer with the one bias of its first block of rows, and with each W that may be meant.

    Where no product stands W is taken to be one: what is left out is not a weight of zero.
    """
    first = [piece for piece in value.pieces if piece.r0 == 0]
    bias = np.zeros(layer.columns)
    weight = np.zeros((layer.depth, layer.columns))
    is_left_out = np.ones((layer.depth, layer.columns), bool)
    tiles: list[Array] = []
    for piece in first:
        bias[piece.c0 : piece.c1] = _first_row(piece.biases, piece.c1 - piece.c0)
        for term in piece.terms:
            rows = slice(term.k, min(term.k + term.weight.shape[0], layer.depth))
            weight[rows, piece.c0 : piece.c1] += exactly(term.weight, term.scale)[: rows.stop - rows.start]
            is_left_out[rows, piece.c0 : piece.c1] = False
            tiles.append(term.weight)
    weight[is_left_out] = 1.0
    sources = list(layer.own) if layer.own_only else sources_of(tiles, layer.own)
    meant = [meant_by(each, weight) if not layer.own_only else each for each in sources] or [weight]
    return [replace(layer, weight=narrow(each), bias=narrow(bias), own=()) for each in meant]


def sources_of(tiles: list[Array], matrices: tuple[Array, ...]) -> list[Array]:
    """The matrices of the file from which one of the tiles is taken."""
    return [matrix for matrix in matrices if any(_is_from(tile, matrix) for tile in tiles)]


def meant_by(source: Array, weight: Array) -> Array:
    """The W that tiles of a matrix of the file mean: that matrix, or the one put together where that is a multiple."""
    at = int(np.argmax(np.abs(source)))
    factor = float(weight.flat[at]) / float(source.flat[at]) if source.flat[at] else 0.0
    return weight if factor and np.array_equal(weight, exactly(source, factor)) else source


def has_all_tiles(weight: Array) -> bool:
    """Whether no block of a W, and no line through a whole one, is zero: W was put together from what is multiplied."""
    depth, columns = (range(0, size, _BLOCK) for size in weight.shape)
    return all(_is_multiplied(weight[k : k + _BLOCK, n : n + _BLOCK] != 0) for k in depth for n in columns)


def _is_multiplied(block: Array) -> bool:
    height, width = block.shape
    lines = [block.any(axis=axis).all() for axis, length in enumerate((height, width)) if length == _BLOCK]
    return bool(block.any()) and all(lines)


def is_finite(layer: Layer) -> bool:
    """Whether W and the bias are numbers throughout."""
    return all(values is None or bool(np.isfinite(values).all()) for values in (layer.weight, layer.bias))


def _first_row(biases: tuple[Bias, ...], width: int) -> Array:
    if not biases:
        return np.zeros(width)
    total, _ = exact_sum(exactly(bias.values[0], bias.scale) for bias in biases)
    return np.broadcast_to(total, (width,))


def _is_from(tile: Array, matrix: Array) -> bool:
    """Whether a tile occurs in a matrix at all; tiles of a row or column only where they are views of it."""
    return np.may_share_memory(tile, matrix) or (min(tile.shape) > 1 and place_in(tile, matrix) is not None)


def narrow(values: Array) -> Array:
    """The numbers as float32, where they are such."""
    narrow: Array = values.astype(np.float32)
    return narrow if np.array_equal(narrow, values) else values


def _matrices(model: Model, size: tuple[int, int]) -> Iterator[Array]:
    """The constants of the layer's size, as they are or transposed."""
    for name, tensor in model.initializers.items():
        if tuple(tensor.dims) in (size, size[::-1]):
            found = model.initializer(name)
            if found is not None:
                yield found
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and tuple(attribute.t.dims) in (size, size[::-1]):
                yield model.array(attribute.t)


def _candidates(matrices: list[Array], size: tuple[int, int]) -> tuple[Array, ...]:
    """The readings of each matrix that tiles may be taken from; one of a single number is no weight."""
    told = [matrix for matrix in matrices if matrix.dtype.kind == "f" and matrix.size and np.ptp(matrix)]
    return tuple(turned for matrix in told for turned in (matrix, matrix.T) if turned.shape == size)


def _symbols(count: int) -> Array:
    """Distinct float32 numbers in an order that no one can foresee; none is zero."""
    order = np.random.default_rng(secrets.randbits(64)).permutation(count)
    return (order + np.float32(1)).astype(np.float32)
