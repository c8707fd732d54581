"""Does an affine value equal a linear layer of the original? Decided exactly, tile by tile.

The terms of each piece must cover the layer's depth [0, K) once, each with its own part of the weight, and the biases
must add up to the layer's bias. Where they don't do so one by one (a zero tile too many, a weight given as a sum of
two), the piece is added up in float64 with every rounding error caught: it is right, wrong, or left undecided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from .exact_sums import come_to

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .layers import Layer
    from .values import Affine, Array, Bias, Piece, Term

Kind = Literal["missing", "twice", "overlap", "weights", "rows", "no product", "bias", "undecided", "not finite"]
_MOST_SUMS = 256  # pieces added up for one layer; beyond them a deviation is reported as it looks


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """Where a value differs from a layer: rows [m0, m1), depth [k0, k1), columns [n0, n1), and the term or biases."""

    kind: Kind
    m0: int
    m1: int
    k0: int
    k1: int
    n0: int
    n1: int
    term: Term | None = None
    biases: tuple[Bias, ...] = ()

    @property
    def order(self) -> tuple[int, int, int]:
        """First by m, then n, then k."""
        return (self.m0, self.n0, self.k0)


def deviations(value: Affine, layer: Layer) -> list[Deviation]:
    """Where the value differs from the layer; empty where it equals the layer for every X. Sorted by (m, n, k)."""
    found: list[Deviation] = []
    sums = 0
    for piece in value.pieces:
        here = list(_of_piece(piece, layer))
        if here and sums < _MOST_SUMS and len(piece.terms) < _MOST_SUMS + layer.depth:
            sums += 1
            here = _decided(piece, layer, here)
        found += here
    return sorted(found, key=lambda deviation: deviation.order)


def _of_piece(piece: Piece, layer: Layer) -> Iterator[Deviation]:
    if piece.window is not None:
        yield _deviation("no product", piece, 0, layer.depth)
        return
    at = 0
    for term in sorted(piece.terms, key=_by_depth):
        end = term.k + term.weight.shape[0]
        if term.row != piece.r0:
            yield _deviation("rows", piece, term.k, end, term)
            continue
        if term.k > at:
            yield _deviation("missing", piece, at, term.k)
        elif term.k < at:
            yield _deviation("twice" if end <= at else "overlap", piece, term.k, end, term)
        at = max(at, end)
        if layer.weight is not None and not _equal(term, layer.weight[term.k : end, piece.c0 : piece.c1]):
            yield _deviation("weights", piece, term.k, end, term)
    if at < layer.depth:
        yield _deviation("missing", piece, at, layer.depth)
    if not _bias_fits(piece, layer):
        yield _deviation("bias", piece, 0, 0, biases=piece.biases)


def _by_depth(term: Term) -> int:
    return term.k


def _deviation(
    kind: Kind, piece: Piece, k0: int, k1: int, term: Term | None = None, biases: tuple[Bias, ...] = ()
) -> Deviation:
    return Deviation(
        kind=kind, m0=piece.r0, m1=piece.r1, k0=k0, k1=k1, n0=piece.c0, n1=piece.c1, term=term, biases=biases
    )


def _equal(term: Term, wanted: Array) -> bool:
    if term.scale == 1.0:
        return np.array_equal(term.weight, wanted)
    return bool(come_to(exactly(term.weight, term.scale), wanted, is_computed=True).all())


def exactly(values: Array, scale: float) -> Array:
    """Values times a scale. A float32 times a float32 fits into a float64, and scales are such, too."""
    return values.astype(np.float64) * scale


def _bias_fits(piece: Piece, layer: Layer) -> bool:
    wanted = np.zeros(1, np.float32) if layer.bias is None else layer.bias[piece.c0 : piece.c1]
    wanted = np.broadcast_to(wanted, (piece.r1 - piece.r0, piece.c1 - piece.c0))
    if len(piece.biases) == 1 and piece.biases[0].scale == 1.0:
        return np.array_equal(piece.biases[0].values, wanted)
    if not piece.biases:
        return not wanted.any()
    added = [bias for bias in piece.biases if bias.values.any()]
    total, exact = exact_sum(exactly(bias.values, bias.scale) for bias in added)
    is_computed = len(added) > 1 or any(bias.scale != 1.0 for bias in added)
    return exact and bool(come_to(np.broadcast_to(total, wanted.shape), wanted, is_computed=is_computed).all())


def exact_sum(addends: Iterable[Array]) -> tuple[Array, bool]:
    """The sum in float64, and whether nothing was rounded (Knuth's TwoSum: the error of each addition is zero)."""
    total: Array = np.zeros(())
    exact = True
    for addend in addends:
        both = total + addend
        part = both - total
        error = (total - (both - part)) + (addend - part)
        exact = exact and not error.any()
        total = both
    return total, exact


def _decided(piece: Piece, layer: Layer, looks: list[Deviation]) -> list[Deviation]:
    """The deviations that remain when the piece's terms are added up: none, the same, or one that is undecided."""
    if piece.window is not None or layer.weight is None or any(deviation.kind == "bias" for deviation in looks):
        return looks
    verdicts = {_sum_up(piece, layer, row) for row in {piece.r0, *(term.row for term in piece.terms)}}
    if verdicts == {"right"}:
        return []
    if "wrong" in verdicts:
        return looks
    first = looks[0]
    return [_deviation("undecided", piece, first.k0, first.k1, first.term)]


def _sum_up(piece: Piece, layer: Layer, row: int) -> Literal["right", "wrong", "undecided"]:
    """The total weight with which these rows of X come in, against what the layer has: its weight, or nothing."""
    last = max((term.k + term.weight.shape[0] for term in piece.terms), default=0)
    width = piece.c1 - piece.c0
    total = np.zeros((max(layer.depth, last), width))
    error, is_computed = np.zeros_like(total), np.zeros(total.shape, bool)
    for term in piece.terms:
        if term.row == row and np.isfinite(term.weight).all():
            part = slice(term.k, term.k + term.weight.shape[0])
            addend = exactly(term.weight, term.scale)
            both = total[part] + addend
            taken = both - total[part]
            error[part] += np.abs((total[part] - (both - taken)) + (addend - taken))
            is_computed[part] |= (total[part] != 0) | (term.scale != 1.0)
            total[part] = both
        elif term.row == row:
            return "wrong"
    wanted = np.zeros_like(total)
    if row == piece.r0 and layer.weight is not None:
        wanted[: layer.depth] = layer.weight[:, piece.c0 : piece.c1]
    off = np.where(come_to(total, wanted, is_computed=is_computed), 0.0, np.abs(total - wanted))
    if (off > 2 * error).any() or not np.isfinite(off).all():
        return "wrong"
    return "right" if not error.any() and not off.any() else "undecided"
