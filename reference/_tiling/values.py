"""Abstract values: what is known of a tensor without running anything.

A value is a constant (a numpy array), an `Opaque` tensor that only has a number, an `Affine` function of one opaque
matrix X, a `Stack` of those, `Elements` (anything that moves and adds, element by element), a `Sequence`, or `Unknown`.
The matrix of an affine value is a grid of pieces, each

    out[r0:r1, c0:c1] = X[window] + sum over terms of scale * X[row:row+rows, k:k+depth] @ weight + sum of biases

A `Term` is one product of the graph; a weight is a view of a constant, never a copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[Any]]"
Shape: TypeAlias = tuple[int, ...]

ROWS, COLUMNS, UNIT = "r", "c", "1"
PLAIN = (ROWS, COLUMNS)


class Term(NamedTuple):
    """`scale * X[row:row+rows, k:k+depth] @ weight`, made by the product with this index; weight: [depth, columns]."""

    row: int
    k: int
    weight: Array
    scale: float
    product: int


class Bias(NamedTuple):
    """A constant that is added: `scale * values`; values: as large as the piece."""

    values: Array
    scale: float


class Piece(NamedTuple):
    """A rectangle of the output, its bounds, and what stands in it."""

    r0: int
    r1: int
    c0: int
    c1: int
    window: tuple[int, int] | None  # the row and column of X that stand in its corner; None where X itself is not in it
    terms: tuple[Term, ...] = ()
    biases: tuple[Bias, ...] = ()

    @property
    def is_window(self) -> bool:
        """Whether the piece is a part of X and nothing else."""
        return self.window is not None and not self.terms and not self.biases


@dataclass(frozen=True, slots=True)
class Opaque:
    """A tensor known by its value number alone; `shape` is None where it is not known."""

    number: int
    shape: Shape | None


@dataclass(frozen=True, slots=True)
class Affine:
    """An affine function of the opaque matrix numbered `root`.

    `rows` x `columns` is the matrix that the pieces tile. `dims` says what each dimension of the tensor is: ROWS,
    COLUMNS, or UNIT for a dimension of size one; a transposed matrix is (COLUMNS, ROWS). A dimension that is left out
    has size one.
    """

    root: int
    rows: int
    columns: int
    pieces: tuple[Piece, ...]
    dims: tuple[str, ...] = PLAIN

    @property
    def shape(self) -> Shape:
        """The shape of the tensor."""
        return tuple(self.rows if dim == ROWS else self.columns if dim == COLUMNS else 1 for dim in self.dims)

    @property
    def only(self) -> Piece | None:
        """The one piece that is the whole matrix, or None where there are several."""
        return self.pieces[0] if len(self.pieces) == 1 else None

    @property
    def is_window(self) -> bool:
        """Whether it is a rectangle of X and nothing else."""
        piece = self.only
        return piece is not None and piece.is_window

    def with_dims(self, dims: tuple[str, ...]) -> Affine:
        """The same matrix, its dimensions arranged otherwise."""
        return self if dims == self.dims else replace(self, dims=_arranged(dims, self.rows, self.columns))


def _arranged(dims: tuple[str, ...], rows: int, columns: int) -> tuple[str, ...]:
    """One name for arrangements that are the same, as a dimension of size one may stand anywhere.

    A single row stands before the columns if it can, a single column behind the rows.
    """
    named = [UNIT if {ROWS: rows, COLUMNS: columns}.get(dim, 1) == 1 else dim for dim in dims]
    if rows == columns == 1:
        named[-2:] = PLAIN[-len(named) :] if named else []
    elif rows == 1 and COLUMNS in named:
        _name_beside(named, named.index(COLUMNS), ROWS, first=-1)
    elif columns == 1 and ROWS in named:
        _name_beside(named, named.index(ROWS), COLUMNS, first=1)
    return tuple(named)


def _name_beside(named: list[str], place: int, dim: str, first: int) -> None:
    for beside in (place + first, place - first):
        if 0 <= beside < len(named) and named[beside] == UNIT:
            named[beside] = dim
            return


@dataclass(frozen=True, slots=True)
class Stack:
    """Several affine tensors of one shape and one root, stacked along a new dimension `axis`."""

    parts: tuple[Affine, ...]
    axis: int

    @property
    def shape(self) -> Shape:
        """The shape of the tensor."""
        inner = self.parts[0].shape
        return (*inner[: self.axis], len(self.parts), *inner[self.axis :])


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """A tensor known element by element: each has a number in the pool (`elements.py`); 0 is zero."""

    ids: Array

    @property
    def shape(self) -> Shape:
        """The shape of the tensor."""
        return self.ids.shape


@dataclass(frozen=True, slots=True, eq=False)
class Sign:
    """Where a tensor is above zero (or, not `above`, below), as truth or as ones and zeros."""

    of: Value
    above: bool


@dataclass(frozen=True, slots=True)
class Sequence:
    """ONNX's list of tensors."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value of which nothing is known: what it was made of is outside the proof, or was found wrong before."""


UNKNOWN = Unknown()
Value: TypeAlias = "Array | Opaque | Affine | Stack | Elements | Sign | Sequence | Unknown | None"


class OutsideError(Exception):
    """A step that the proof does not cover. It may be right: a person has to look."""


class WrongError(Exception):
    """A step that cannot be right: sizes that do not fit, a graph that cannot run."""


def whole(value: Opaque) -> Affine | None:
    """An opaque matrix as an affine function of itself; None where it is not a matrix of known size."""
    shape = value.shape
    if shape is None or len(shape) != len(PLAIN) or min(shape) < 1:
        return None
    rows, columns = shape
    return Affine(value.number, rows, columns, (Piece(0, rows, 0, columns, (0, 0)),))


def as_affine(value: Value) -> Value:
    """The value, with an opaque matrix seen as an affine function of itself."""
    if isinstance(value, Opaque):
        return whole(value) or value
    return value


def shape_of(value: Value) -> Shape | None:
    """The shape, where it is known."""
    if isinstance(value, np.ndarray):
        return value.shape
    if isinstance(value, (Opaque, Affine, Stack, Elements)):
        return value.shape
    return shape_of(value.of) if isinstance(value, Sign) else None


def axis_of(axis: int, rank: int) -> int:
    """A dimension counted from the front.

    Raises:
        WrongError: there is no such dimension.
    """
    if not -rank <= axis < rank:
        message = f"there is no axis {axis} in a tensor of {rank} dimensions"
        raise WrongError(message)
    return axis % rank
