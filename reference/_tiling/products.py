"""Products: MatMul, Gemm, and the operators that a course declares to mean MatMul. Each is counted with its sizes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .sums import add, scaled
from .values import (
    COLUMNS,
    PLAIN,
    UNIT,
    Affine,
    Array,
    OutsideError,
    Piece,
    Stack,
    Term,
    Value,
    WrongError,
    as_affine,
)

if TYPE_CHECKING:
    from .budget import Budget
    from .constants import Attributes

_WIDEST = 4  # bytes of a weight: two float32 multiply exactly in float64, on which the comparison rests


@dataclass(frozen=True, slots=True)
class Product:
    """A live product of two matrices and its sizes. A node that multiplies stacks of matrices does several."""

    node: str
    op: str
    m: int
    k: int
    n: int

    @property
    def largest(self) -> int:
        """The largest of its three sizes."""
        return max(self.m, self.k, self.n)


class Products:
    """The products that were met, in order, and what is made of their operands."""

    def __init__(self, budget: Budget, limit: int) -> None:
        self.all: list[Product] = []
        self.limit = limit
        self._budget = budget

    def matmul(self, left: Value, right: Value, node: str, op: str) -> Value:
        """`left @ right`, where one is a constant and the other a window of X.

        Raises:
            OutsideError: neither is a constant, or both, or the other is more than a part of X.
            WrongError: the sizes do not fit.
        """
        left, right = as_affine(left), as_affine(right)
        if isinstance(left, Stack) or isinstance(right, Stack):
            message = "it multiplies stacks of matrices"
            raise OutsideError(message)
        if isinstance(left, Affine) and isinstance(right, np.ndarray):
            return self._by_constant(left, right, node, op)
        if isinstance(left, np.ndarray) and isinstance(right, Affine) and left.ndim <= len(right.dims):
            flipped = self._by_constant(_flipped(right), _matrix(left).T, node, op, flip=True)
            return _flipped(flipped)
        if isinstance(left, Affine) and isinstance(right, Affine):
            message = "it multiplies two activations"
        else:
            message = "it multiplies two constants" if isinstance(left, np.ndarray) else "it multiplies what is unknown"
        raise OutsideError(message)

    def gemm(self, operands: list[Value], attributes: Attributes, node: str, op: str = "Gemm") -> Value:
        """`alpha * A' @ B' + beta * C`, where A' and B' may be transposed."""
        left, right, *rest = operands
        left = _turned(left) if attributes.get("transA") else left
        right = _turned(right) if attributes.get("transB") else right
        try:
            total = self.matmul(left, right, node, op)
        except WrongError as error:
            message = f"{error}{_turning(left, right, turned=bool(attributes.get('transB')))}"
            raise WrongError(message) from None
        alpha, beta = attributes.get("alpha", 1.0), attributes.get("beta", 1.0)
        total = scaled(total, alpha)
        bias = rest[0] if rest else None
        if bias is None or beta == 0.0:
            return total
        if beta != 1.0 and isinstance(bias, np.ndarray) and isinstance(total, Affine):
            return _with_scaled_bias(total, bias, beta, self._budget)
        return add([total, scaled(bias, beta)], self._budget)

    def _by_constant(self, left: Affine, right: Array, node: str, op: str, *, flip: bool = False) -> Affine:
        weight = _matrix(right)
        depth, columns = weight.shape
        if left.dims == (COLUMNS,) and right.ndim > len(PLAIN):
            message = "it multiplies a vector by a stack of matrices"
            raise OutsideError(message)
        if left.dims == (COLUMNS,) and not flip:
            left = left.with_dims(PLAIN)
            return self._by_constant(left, right, node, op).with_dims((COLUMNS,))
        if left.dims[-2:] != PLAIN or not set(left.dims[:-2]) <= {UNIT}:
            message = f"it multiplies a tensor of shape {list(left.shape)} that is turned"
            raise OutsideError(message)
        m, n = (columns, left.rows) if flip else (left.rows, columns)
        if left.columns != depth:
            message = (
                f"it multiplies {m}x{left.columns} by {depth}x{n}" if not flip else f"depths {left.columns}, {depth}"
            )
            raise WrongError(message)
        if weight.dtype.kind != "f" or weight.dtype.itemsize > _WIDEST:
            message = f"it multiplies with a weight of type {weight.dtype}"
            raise OutsideError(message)
        self._budget.spend(products=1)
        index = len(self.all)
        self.all.append(Product(node, op, m, depth, n))
        dims = left.dims if right.ndim <= len(left.dims) else (*(UNIT,) * (right.ndim - 2), *PLAIN)
        pieces = self._pieces(left, weight, index)
        return Affine(left.root, left.rows, columns, pieces, dims)

    def _pieces(self, left: Affine, weight: Array, index: int) -> tuple[Piece, ...]:
        only = left.only
        if only is not None and only.window is not None and only.is_window:
            row, k = only.window
            return (Piece(0, left.rows, 0, weight.shape[1], None, (Term(row, k, weight, 1.0, index),)),)
        bounds = sorted({bound for piece in left.pieces for bound in (piece.r0, piece.r1)})
        self._budget.spend(pieces=len(bounds) * len(left.pieces))
        return tuple(
            Piece(r0, r1, 0, weight.shape[1], None, tuple(_terms(left.pieces, r0, r1, weight, index)))
            for r0, r1 in pairwise(bounds)
        )


def _terms(pieces: tuple[Piece, ...], r0: int, r1: int, weight: Array, index: int) -> list[Term]:
    """The terms of the output rows [r0, r1): one for each part of X that stands in these rows of the left operand."""
    terms = []
    for piece in pieces:
        if piece.r1 <= r0 or piece.r0 >= r1:
            continue
        rows = weight[piece.c0 : piece.c1]
        if piece.terms or piece.biases or not np.isfinite(rows).all():
            message = "it multiplies something that is more than a part of a layer's input"
            raise OutsideError(message)
        if piece.window is not None:
            row, k = piece.window
            terms.append(Term(row + r0 - piece.r0, k, rows, 1.0, index))
    return terms


def _turning(left: Value, right: Value, *, turned: bool) -> str:
    """That the second matrix fits the other way round, where it does."""
    left, right = as_affine(left), as_affine(right)
    if not (isinstance(left, Affine) and isinstance(right, np.ndarray) and right.ndim == len(PLAIN)):
        return ""
    if right.shape[1] != left.columns:
        return ""
    how = "transB=1 turns the second one round, which fits as it is" if turned else "with transB=1 the second one fits"
    return f": {how}"


def _matrix(constant: Array) -> Array:
    """A constant operand as a matrix; dimensions of size one before it mean nothing."""
    if constant.ndim > len(PLAIN) and set(constant.shape[:-2]) == {1}:
        return constant.reshape(constant.shape[-2:])
    if constant.ndim != len(PLAIN):
        message = f"it multiplies with a constant of shape {list(constant.shape)}"
        raise OutsideError(message)
    return constant


def _flipped(value: Affine) -> Affine:
    """The transposed matrix: the last two dimensions change places."""
    if len(value.dims) < len(PLAIN):
        message = f"it multiplies a tensor of shape {list(value.shape)}"
        raise OutsideError(message)
    return value.with_dims((*value.dims[:-2], value.dims[-1], value.dims[-2]))


def _turned(value: Value) -> Value:
    value = as_affine(value)
    if isinstance(value, np.ndarray):
        return value.T
    if isinstance(value, Affine):
        return _flipped(value)
    message = "it transposes what is unknown"
    raise OutsideError(message)


def _with_scaled_bias(total: Affine, bias: Array, beta: float, budget: Budget) -> Affine:
    """`total + beta * bias`, the factor kept beside the values so that nothing is rounded."""
    with_bias = add([total, bias], budget)
    pieces = tuple(
        piece._replace(biases=(*piece.biases[:-1], piece.biases[-1]._replace(scale=beta))) for piece in with_bias.pieces
    )
    return Affine(total.root, total.rows, total.columns, pieces, total.dims)
