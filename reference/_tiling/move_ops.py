"""Operators that only move: what they make of affine values. Nothing is computed, so nothing can round."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .constants import pads, sizes, slice_bounds, split_sizes, target_shape
from .geometry import between, constant_piece, joined
from .values import COLUMNS, PLAIN, ROWS, UNIT, Affine, OutsideError, Stack, Value, WrongError, as_affine, axis_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .budget import Budget
    from .constants import Attributes

Moved: TypeAlias = "Affine | Stack"
_FLOAT = 4  # bytes
_MOST_RUNS = 32


def split(value: Moved, operands: Sequence[Any], attributes: Attributes, parts: int, version: int) -> list[Value]:
    """Split: the parts of a tensor along a dimension."""
    axis = axis_of(attributes.get("axis", 0), len(value.shape))
    given = operands[1] if len(operands) > 1 else None
    cut = split_sizes(given, attributes, value.shape[axis], parts, version)
    bounds = np.cumsum([0, *cut]).tolist()
    return [part_of(value, axis, start, stop) for start, stop in pairwise(bounds)]


def slice_(value: Moved, operands: Sequence[Any], attributes: Attributes, _: Budget) -> Value:
    """Slice, with steps of one."""
    for axis, start, stop in slice_bounds(operands, attributes, value.shape):
        value = part_of(value, axis, start, stop)
    return value


def part_of(value: Moved, axis: int, start: int, stop: int) -> Moved:
    """The part [start, stop) along a dimension of the tensor.

    Raises:
        OutsideError: it is empty.
    """
    if isinstance(value, Affine):
        return between(value, axis, start, stop)
    if axis != value.axis:
        inner = axis - (axis > value.axis)
        return Stack(tuple(between(part, inner, start, stop) for part in value.parts), value.axis)
    return _stacked(value.parts[start:stop], value.axis)


def _stacked(parts: Sequence[Affine], axis: int) -> Moved:
    if not parts:
        message = "it takes an empty part"
        raise OutsideError(message)
    if len(parts) == 1:
        dims = parts[0].dims
        return parts[0].with_dims((*dims[:axis], UNIT, *dims[axis:]))
    return Stack(tuple(parts), axis)


def gather(value: Moved, operands: Sequence[Any], attributes: Attributes, budget: Budget) -> Value:
    """Gather with constant indices: one number takes a dimension away, a list keeps it."""
    axis = axis_of(attributes.get("axis", 0), len(value.shape))
    length = value.shape[axis]
    index = operands[1]
    places = [axis_of(place, length) for place in sizes(index, "indices")]
    if index.ndim > 1 or not places:
        message = f"it gathers with indices of shape {list(index.shape)}"
        raise OutsideError(message)
    if index.ndim == 0:
        return _without(part_of(value, axis, places[0], places[0] + 1), axis)
    starts = [0, *(i for i in range(1, len(places)) if places[i] != places[i - 1] + 1), len(places)]
    if len(starts) > _MOST_RUNS:
        message = f"it gathers {len(starts) - 1} parts"  # which are told better element by element
        raise OutsideError(message)
    runs = [part_of(value, axis, places[a], places[b - 1] + 1) for a, b in pairwise(starts)]
    return concat(runs, axis, budget) if len(runs) > 1 else runs[0]


def transpose(value: Moved, _: Sequence[Any], attributes: Attributes, __: Budget) -> Value:
    """Transpose: any order of the dimensions."""
    rank = len(value.shape)
    order = list(attributes.get("perm", range(rank - 1, -1, -1)))
    if sorted(order) != list(range(rank)):
        message = f"it puts {rank} dimensions into the order {order}"
        raise WrongError(message)
    if isinstance(value, Affine):
        return value.with_dims(tuple(value.dims[axis] for axis in order))
    inner = [axis - (axis > value.axis) for axis in order if axis != value.axis]
    parts = tuple(part.with_dims(tuple(part.dims[axis] for axis in inner)) for part in value.parts)
    return Stack(parts, order.index(value.axis))


def unsqueeze(value: Moved, operands: Sequence[Any], attributes: Attributes, _: Budget) -> Value:
    """Unsqueeze: new dimensions of size one."""
    given = sizes(operands[1] if len(operands) > 1 else attributes.get("axes"), "axes")
    rank = len(value.shape) + len(given)
    new = {axis_of(axis, rank) for axis in given}
    if len(new) != len(given):
        message = f"it makes the dimensions {given} twice"
        raise WrongError(message)
    for axis in sorted(new):
        value = _with_unit(value, axis)
    return value


def _with_unit(value: Moved, axis: int) -> Moved:
    if isinstance(value, Affine):
        return value.with_dims((*value.dims[:axis], UNIT, *value.dims[axis:]))
    inner = axis - (axis > value.axis)
    parts = tuple(p.with_dims((*p.dims[:inner], UNIT, *p.dims[inner:])) for p in value.parts)
    return Stack(parts, value.axis + (axis <= value.axis))


def squeeze(value: Moved, operands: Sequence[Any], attributes: Attributes, _: Budget) -> Value:
    """Squeeze: dimensions of size one are taken away, without axes all of them."""
    given = operands[1] if len(operands) > 1 else attributes.get("axes")
    rank = len(value.shape)
    axes = range(rank) if given is None else [axis_of(axis, rank) for axis in sizes(given, "axes")]
    gone = sorted({axis for axis in axes if given is not None or value.shape[axis] == 1}, reverse=True)
    for axis in gone:
        if value.shape[axis] != 1:
            message = f"it squeezes a dimension of size {value.shape[axis]}"
            raise WrongError(message)
        value = _without(value, axis)
    return value


def _without(value: Moved, axis: int) -> Moved:
    """The tensor without a dimension of size one."""
    if isinstance(value, Affine):
        return value.with_dims((*value.dims[:axis], *value.dims[axis + 1 :]))
    inner = axis - (axis > value.axis)
    parts = tuple(p.with_dims((*p.dims[:inner], *p.dims[inner + 1 :])) for p in value.parts)
    return Stack(parts, value.axis - (axis < value.axis))


def reshape(value: Moved, operands: Sequence[Any], attributes: Attributes, budget: Budget) -> Value:
    """Reshape that adds or drops dimensions of size one, cuts a dimension into equal blocks, or undoes that."""
    shape = target_shape(sizes(operands[1], "sizes"), value.shape, attributes)
    return reshaped(value, shape, budget)


def flatten(value: Moved, _: Sequence[Any], attributes: Attributes, budget: Budget) -> Value:
    """Flatten: all dimensions before the axis become one, and all from it on."""
    shape, axis = value.shape, attributes.get("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    return reshaped(value, (int(np.prod(shape[:axis])), int(np.prod(shape[axis:]))), budget)


def reshaped(value: Moved, shape: tuple[int, ...], budget: Budget) -> Value:
    """The tensor in another shape of as many elements.

    Raises:
        OutsideError: elements would move in a way that pieces can't follow.
    """
    if shape == value.shape:
        return value
    sized = [size for size in shape if size != 1]
    if isinstance(value, Affine) and sized == [size for size in value.shape if size != 1]:
        return value.with_dims(_with_units(value, shape))
    if isinstance(value, Affine) and value.dims == PLAIN and len(shape) == len(PLAIN):
        return _in_rows(value, shape, budget)
    if isinstance(value, Affine) and value.dims == PLAIN and len(shape) == len(PLAIN) + 1:
        return _in_blocks(value, shape, budget)
    if isinstance(value, Stack) and value.parts[0].dims == PLAIN and shape == _unstacked_shape(value):
        return joined(value.parts, COLUMNS if value.axis == 1 else ROWS, budget)
    message = f"it reshapes {list(value.shape)} to {list(shape)}"
    raise OutsideError(message)


def _with_units(value: Affine, shape: tuple[int, ...]) -> tuple[str, ...]:
    """The dims of the same sizes in the same order, with other dimensions of size one between them."""
    large = iter([dim for dim, size in zip(value.dims, value.shape, strict=True) if size != 1])
    return tuple(UNIT if size == 1 else next(large) for size in shape)


def _in_rows(value: Affine, shape: tuple[int, ...], budget: Budget) -> Value:
    """A matrix in rows of another length: all rows one behind the other, cut anew."""
    rows, columns = shape
    budget.spend(pieces=value.rows * len(value.pieces) + rows)
    flat = value
    if value.rows > 1:
        flat = joined([between(value, 0, row, row + 1) for row in range(value.rows)], COLUMNS, budget)
    budget.spend(pieces=rows * len(flat.pieces))
    return joined([between(flat, 1, columns * row, columns * (row + 1)) for row in range(rows)], ROWS, budget)


def _in_blocks(value: Affine, shape: tuple[int, ...], budget: Budget) -> Value:
    """(M, K) as (M, K/64, 64), or as (M/64, 64, K): equal parts of the matrix, stacked."""
    first, second, third = shape
    budget.spend(pieces=len(value.pieces) * second)
    if first == value.rows:
        blocks = [between(value, 1, third * i, third * (i + 1)) for i in range(second)]
        return Stack(tuple(blocks), 1)
    if third == value.columns:
        blocks = [between(value, 0, second * i, second * (i + 1)) for i in range(first)]
        return Stack(tuple(blocks), 0)
    message = f"it reshapes {list(value.shape)} to {list(shape)}"
    raise OutsideError(message)


def _unstacked_shape(value: Stack) -> tuple[int, ...]:
    rows, columns = value.parts[0].shape
    count = len(value.parts)
    return {0: (count * rows, columns), 1: (rows, count * columns)}.get(value.axis, ())


def concat(values: Sequence[Value], axis: int, budget: Budget) -> Value:
    """Concat of affine tensors and constants; along a dimension of size one it makes a stack.

    Raises:
        OutsideError: something else takes part.
        WrongError: the sizes do not fit.
    """
    first = next((value for value in map(as_affine, values) if isinstance(value, (Affine, Stack))), None)
    if first is None:
        message = "it joins what is no matrix"
        raise OutsideError(message)
    axis = axis_of(axis, len(first.shape))
    if isinstance(first, Stack) or first.dims[axis] == UNIT:
        return _longer_stack(values, axis)
    parts = [_like(value, first) for value in values]
    return joined(parts, first.dims[axis], budget)


def _like(value: Value, first: Affine) -> Affine:
    """A part of a Concat as an affine matrix arranged as the first one is."""
    value = as_affine(value)
    if isinstance(value, np.ndarray) and value.ndim == len(first.dims):
        sizes_of = dict(zip(first.dims, value.shape, strict=True))
        order = sorted(range(value.ndim), key=lambda axis: (ROWS, COLUMNS, UNIT).index(first.dims[axis]))
        matrix = value.transpose(order).reshape(sizes_of.get(ROWS, 1), sizes_of.get(COLUMNS, 1))
        rows, columns = matrix.shape
        return Affine(first.root, rows, columns, (constant_piece(matrix),), first.dims)
    if not isinstance(value, Affine):
        message = "it joins a part of a layer with something else"
        raise OutsideError(message)
    return value


def _longer_stack(values: Sequence[Value], axis: int) -> Value:
    parts: list[Affine] = []
    for value in map(as_affine, values):
        if isinstance(value, Affine) and value.dims[axis : axis + 1] == (UNIT,):
            parts.append(value.with_dims((*value.dims[:axis], *value.dims[axis + 1 :])))
        elif isinstance(value, Stack) and value.axis == axis:
            parts += value.parts
        else:
            message = "it stacks a part of a layer with something else"
            raise OutsideError(message)
    if len({(part.root, part.shape, part.dims) for part in parts}) > 1:
        message = "it stacks tensors of different shapes"
        raise OutsideError(message)
    return _stacked(parts, axis)


def pad(value: Moved, operands: Sequence[Any], attributes: Attributes, budget: Budget) -> Value:
    """Pad with zeros, of rows or columns."""
    if not isinstance(value, Affine):
        message = "it pads a stack"
        raise OutsideError(message)
    before, after = pads(operands, attributes, len(value.shape))
    for axis, (front, back) in enumerate(zip(before, after, strict=True)):
        dim = value.dims[axis]
        if (front or back) and dim == UNIT:
            message = "it pads a dimension of size one"
            raise OutsideError(message)
        budget.room(_FLOAT * (front + back) * (value.columns if dim == ROWS else value.rows))
        parts = [_zeros(value, dim, front), value, _zeros(value, dim, back)]
        value = joined([part for part in parts if part is not None], dim, budget) if front or back else value
    return value


def _zeros(value: Affine, dim: str, size: int) -> Affine | None:
    rows, columns = (size, value.columns) if dim == ROWS else (value.rows, size)
    if not size:
        return None
    zeros = np.broadcast_to(np.float32(0), (rows, columns))
    return Affine(value.root, rows, columns, (constant_piece(zeros),), value.dims)


MOVES: Mapping[str, Callable[[Moved, Sequence[Any], Attributes, Budget], Value]] = {
    "Slice": slice_,
    "Gather": gather,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
    "Squeeze": squeeze,
    "Reshape": reshape,
    "Flatten": flatten,
    "Pad": pad,
}
