"""Sums of affine values and constants: the terms of all of them, side by side."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from .budget import OverBudgetError
from .geometry import aligned, broadcast, cut_columns, cut_rows
from .values import Affine, Array, Bias, OutsideError, Piece, Stack, Value, WrongError, as_affine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .budget import Budget

_MOST_ADDENDS = 1 << 16  # in one place; the largest layer that is taught has 25,088 inputs, in tiles of one
_TOO_MANY = "addends in one place"


def add(values: Sequence[Value], budget: Budget) -> Affine:
    """The sum of affine tensors of one root, one shape and one arrangement, and of constants.

    Raises:
        OutsideError: they belong to different tensors, or a constant would make the sum larger.
        WrongError: their shapes do not fit.
    """
    matrices: list[Affine] = []
    constants: list[Array] = []
    for value in map(as_affine, values):
        if isinstance(value, np.ndarray):
            constants.append(value)
        elif isinstance(value, Affine):
            matrices.append(value)
        else:
            message = "it adds something else to a part of a layer"
            raise OutsideError(message)
    total = _of_matrices(matrices, budget)
    for constant in constants:
        total = _with_constant(total, constant, budget)
    return total


def _of_matrices(matrices: Sequence[Affine], budget: Budget) -> Affine:
    first = matrices[0]
    if len(matrices) == 1:
        return first
    for other in matrices[1:]:
        if other.root != first.root:
            message = "it adds parts of two layers"
            raise OutsideError(message)
        if other.shape != first.shape:
            _must_broadcast(first, other)
            message = f"it adds shapes {list(first.shape)} and {list(other.shape)}"
            raise OutsideError(message)
        if other.dims != first.dims:
            message = "it adds a tensor and a transposed one"
            raise OutsideError(message)
    if all(len(matrix.pieces) == 1 for matrix in matrices):
        pieces = [_joined([matrix.pieces[0] for matrix in matrices], budget)]
    else:
        grids = aligned(matrices, budget)
        pieces = [_joined([grid[bounds] for grid in grids], budget) for bounds in grids[0]]
    return Affine(first.root, first.rows, first.columns, tuple(pieces), first.dims)


def _joined(same: Sequence[Piece], budget: Budget) -> Piece:
    """The sum of pieces with the same bounds."""
    if any(piece.window is not None for piece in same):
        message = "it adds the input of a layer to its products"
        raise OutsideError(message)
    terms = tuple(itertools.chain.from_iterable(piece.terms for piece in same))
    biases = tuple(itertools.chain.from_iterable(piece.biases for piece in same))
    budget.spend(terms=len(terms) + len(biases))
    if len(terms) + len(biases) > _MOST_ADDENDS:
        raise OverBudgetError(_TOO_MANY)
    return same[0]._replace(terms=terms, biases=biases)


def _must_broadcast(first: Affine, other: Affine) -> None:
    try:
        np.broadcast_shapes(first.shape, other.shape)
    except ValueError:
        message = f"it adds shapes {list(first.shape)} and {list(other.shape)}, which do not fit"
        raise WrongError(message) from None


def _with_constant(value: Affine, constant: Array, budget: Budget) -> Affine:
    if constant.dtype.kind != "f" or constant.dtype.itemsize > 4:  # noqa: PLR2004 - float32, as in products
        message = f"it adds a constant of type {constant.dtype}"
        raise OutsideError(message)
    matrix = broadcast(constant, value)
    budget.spend(pieces=len(value.pieces))
    whole = Piece(0, value.rows, 0, value.columns, None, (), (Bias(matrix, 1.0),))
    pieces = []
    for piece in value.pieces:
        part = cut_columns(cut_rows(whole, piece.r0, piece.r1, 0), piece.c0, piece.c1, 0)
        pieces.append(piece._replace(biases=piece.biases + part.biases))
    return Affine(value.root, value.rows, value.columns, tuple(pieces), value.dims)


def scaled(value: Value, factor: float) -> Value:
    """An affine tensor times a number; a constant times one only where that is one or minus one.

    Raises:
        OutsideError: the factor would have to be rounded, or X itself would be scaled.
    """
    value = as_affine(value)
    if factor == 1.0:
        return value
    if factor == 0.0:
        message = "it multiplies by zero"
        raise OutsideError(message)
    if isinstance(value, np.ndarray) and factor == -1.0 and value.dtype.kind == "f":
        return -value
    if not isinstance(value, Affine):
        message = f"it scales something by {factor:.9g}"
        raise OutsideError(message)
    return Affine(value.root, value.rows, value.columns, tuple(_scaled(p, factor) for p in value.pieces), value.dims)


def _scaled(piece: Piece, factor: float) -> Piece:
    for scale in (*(term.scale for term in piece.terms), *(bias.scale for bias in piece.biases)):
        if abs(scale) != 1.0 and abs(factor) != 1.0:
            message = "it scales a product twice"
            raise OutsideError(message)
    if piece.window is not None:
        message = f"it scales the input of a layer by {factor:.9g}"
        raise OutsideError(message)
    terms = tuple(term._replace(scale=term.scale * factor) for term in piece.terms)
    biases = tuple(Bias(bias.values, bias.scale * factor) for bias in piece.biases)
    return piece._replace(terms=terms, biases=biases)


def subtract(values: Sequence[Value], budget: Budget) -> Affine:
    """The first value less the second."""
    return add([values[0], scaled(values[1], -1.0)], budget)


def reduce_sum(value: Value, axes: list[int] | None, keep: bool, budget: Budget) -> Value:  # noqa: FBT001 - as ONNX says it
    """ReduceSum over the dimension along which tiles were stacked.

    Raises:
        OutsideError: it sums over rows or columns.
    """
    if not isinstance(value, Stack) or axes not in ([value.axis], [value.axis - len(value.shape)]):
        message = "it sums over rows or columns"
        raise OutsideError(message)
    total = add(value.parts, budget)
    dims = total.dims
    return total.with_dims((*dims[: value.axis], "1", *dims[value.axis :])) if keep else total


def times(values: Sequence[Value]) -> Value:
    """A part of a layer times one number.

    Raises:
        OutsideError: it is not one constant number.
    """
    constants = [value for value in values if isinstance(value, np.ndarray)]
    numbers = [constant for constant in constants if _is_number(constant)]
    others = [value for value in values if not isinstance(value, np.ndarray)]
    if len(numbers) != 1 or len(others) != 1:
        message = "it multiplies elementwise"
        raise OutsideError(message)
    return scaled(others[0], float(numbers[0].reshape(-1)[0]))


def _is_number(value: Array) -> bool:
    """One float32: its product with a float32 weight is exact in float64."""
    return value.size == 1 and value.ndim <= 1 and value.dtype == np.float32
