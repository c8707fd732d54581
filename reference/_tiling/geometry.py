"""Cutting, placing and aligning the pieces of affine matrices. Rows and columns are those of the matrix, not dims."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .values import COLUMNS, ROWS, UNIT, Affine, Array, Bias, OutsideError, Piece, WrongError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .budget import Budget


def cut_rows(piece: Piece, start: int, stop: int, shift: int) -> Piece:
    """The rows [start, stop) of a piece, as far as it has them, moved up by `shift`."""
    r0, r1 = max(start, piece.r0), min(stop, piece.r1)
    if (r0, r1) == (piece.r0, piece.r1):
        return piece if not shift else piece._replace(r0=r0 - shift, r1=r1 - shift)
    down, up = r0 - piece.r0, r1 - piece.r0
    window = piece.window and (piece.window[0] + down, piece.window[1])
    terms = tuple(term._replace(row=term.row + down) for term in piece.terms)
    biases = tuple(Bias(bias.values[down:up], bias.scale) for bias in piece.biases)
    return Piece(r0 - shift, r1 - shift, piece.c0, piece.c1, window, terms, biases)


def cut_columns(piece: Piece, start: int, stop: int, shift: int) -> Piece:
    """The columns [start, stop) of a piece, as far as it has them, moved left by `shift`."""
    c0, c1 = max(start, piece.c0), min(stop, piece.c1)
    if (c0, c1) == (piece.c0, piece.c1):
        return piece if not shift else piece._replace(c0=c0 - shift, c1=c1 - shift)
    left, right = c0 - piece.c0, c1 - piece.c0
    window = piece.window and (piece.window[0], piece.window[1] + left)
    terms = tuple(term._replace(weight=term.weight[:, left:right]) for term in piece.terms)
    biases = tuple(Bias(bias.values[:, left:right], bias.scale) for bias in piece.biases)
    return Piece(piece.r0, piece.r1, c0 - shift, c1 - shift, window, terms, biases)


def rows_between(value: Affine, start: int, stop: int) -> Affine:
    """The rows [start, stop) of an affine matrix."""
    pieces = tuple(cut_rows(p, start, stop, start) for p in value.pieces if p.r1 > start and p.r0 < stop)
    return Affine(value.root, stop - start, value.columns, pieces, value.dims)


def columns_between(value: Affine, start: int, stop: int) -> Affine:
    """The columns [start, stop) of an affine matrix."""
    pieces = tuple(cut_columns(p, start, stop, start) for p in value.pieces if p.c1 > start and p.c0 < stop)
    return Affine(value.root, value.rows, stop - start, pieces, value.dims)


def between(value: Affine, axis: int, start: int, stop: int) -> Affine:
    """The part [start, stop) of an affine tensor along one of its dimensions.

    Raises:
        OutsideError: a dimension of size one is cut to nothing.
    """
    if (start, stop) == (0, value.shape[axis]):
        return value
    if stop <= start:
        message = "it takes an empty part"
        raise OutsideError(message)
    return rows_between(value, start, stop) if value.dims[axis] == ROWS else columns_between(value, start, stop)


def joined(values: Sequence[Affine], dim: str, budget: Budget) -> Affine:
    """Affine matrices side by side (COLUMNS) or one below the other (ROWS).

    Raises:
        OutsideError: they belong to different tensors.
        WrongError: their sizes do not fit.
    """
    first = values[0]
    pieces: list[Piece] = []
    at = 0
    for value in values:
        if value.root != first.root or value.dims != first.dims:
            message = "it joins values of two different tensors"
            raise OutsideError(message)
        across, across_first = (value.columns, first.columns) if dim == ROWS else (value.rows, first.rows)
        if across != across_first:
            message = f"it joins sizes {across_first} and {across}"
            raise WrongError(message)
        if dim == ROWS:
            pieces += [p._replace(r0=p.r0 + at, r1=p.r1 + at) for p in value.pieces]
            at += value.rows
        else:
            pieces += [p._replace(c0=p.c0 + at, c1=p.c1 + at) for p in value.pieces]
            at += value.columns
    budget.spend(pieces=len(pieces))
    if all(piece.is_window for piece in pieces):
        pieces = _merged(pieces)
    rows, columns = (at, first.columns) if dim == ROWS else (first.rows, at)
    return Affine(first.root, rows, columns, tuple(pieces), first.dims)


def constant_piece(values: Array) -> Piece:
    """A constant matrix as a piece; zeros that only pad hold nothing at all."""
    rows, columns = values.shape
    return Piece(0, rows, 0, columns, None, (), (Bias(values, 1.0),) if values.any() else ())


def _merged(pieces: list[Piece]) -> list[Piece]:
    """Windows of X that lie side by side in X as they do here are one window."""
    for key, try_merge in ((lambda p: (p.r0, p.c0), _with_right), (lambda p: (p.c0, p.r0), _with_below)):
        merged: list[Piece] = []
        for piece in sorted(pieces, key=key):
            both = try_merge(merged[-1], piece) if merged else None
            if both is None:
                merged.append(piece)
            else:
                merged[-1] = both
        pieces = merged
    return pieces


def _with_right(left: Piece, right: Piece) -> Piece | None:
    (row, column), (other_row, other_column) = left.window or (0, 0), right.window or (0, 0)
    beside = left.c1 == right.c0 and (left.r0, left.r1) == (right.r0, right.r1)
    fits = other_row == row and other_column - column == right.c0 - left.c0
    return left._replace(c1=right.c1) if beside and fits else None


def _with_below(top: Piece, below: Piece) -> Piece | None:
    (row, column), (other_row, other_column) = top.window or (0, 0), below.window or (0, 0)
    beneath = top.r1 == below.r0 and (top.c0, top.c1) == (below.c0, below.c1)
    fits = other_column == column and other_row - row == below.r0 - top.r0
    return top._replace(r1=below.r1) if beneath and fits else None


def aligned(values: Sequence[Affine], budget: Budget) -> list[dict[tuple[int, int, int, int], Piece]]:
    """The pieces of several matrices of one size, cut so that all have the same bounds; by bounds."""
    if all(value.only for value in values) or _same_bounds(values):
        return [{piece[:4]: piece for piece in value.pieces} for value in values]
    rows = sorted({bound for value in values for piece in value.pieces for bound in (piece.r0, piece.r1)})
    columns = sorted({bound for value in values for piece in value.pieces for bound in (piece.c0, piece.c1)})
    budget.spend(pieces=(len(rows) - 1) * (len(columns) - 1) * len(values))
    return [{piece[:4]: piece for piece in refined(value.pieces, rows, columns)} for value in values]


def _same_bounds(values: Sequence[Affine]) -> bool:
    first = {piece[:4] for piece in values[0].pieces}
    return all(len(value.pieces) == len(first) and {p[:4] for p in value.pieces} == first for value in values[1:])


def refined(pieces: Iterable[Piece], rows: list[int], columns: list[int]) -> list[Piece]:
    """The pieces cut at all of the given sorted bounds."""
    bands = [cut_rows(p, start, stop, 0) for p in pieces for start, stop in pairwise(_within(rows, p.r0, p.r1))]
    return [cut_columns(p, start, stop, 0) for p in bands for start, stop in pairwise(_within(columns, p.c0, p.c1))]


def _within(bounds: list[int], low: int, high: int) -> list[int]:
    return bounds[bisect_left(bounds, low) : bisect_right(bounds, high)]


def broadcast(constant: Array, value: Affine) -> Array:
    """A constant that is added to an affine tensor, as a matrix of the value's rows and columns.

    Raises:
        OutsideError: adding it would make the tensor larger.
    """
    try:
        full = np.broadcast_to(constant, value.shape)
    except ValueError:
        message = f"it adds a constant of shape {list(constant.shape)} to a tensor of shape {list(value.shape)}"
        raise OutsideError(message) from None
    order = sorted(range(full.ndim), key=lambda axis: (ROWS, COLUMNS, UNIT).index(value.dims[axis]))
    return full.transpose(order).reshape(value.rows, value.columns)
