"""Operators that only move, on arrays: constants, or the numbers of elements. numpy does the moving.

`MOVES[op](operands, attributes, version, budget, outputs)` is the list of outputs. Whatever is made larger is counted
before it is made.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .constants import FOLDS, sizes, split_sizes
from .values import OutsideError, WrongError, axis_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .budget import Budget
    from .constants import Attributes
    from .values import Array

Move: TypeAlias = "Callable[[list[Any], Attributes, int, Budget, int], list[Array]]"
# Which operands are the data; None: all. The others are sizes, indices and masks, and must be constant.
DATA_OPERANDS: Mapping[str, tuple[int, ...] | None] = {
    "Concat": None, "ScatterND": (0, 2), "ScatterElements": (0, 2), "Where": (1, 2), "Pad": (0, 2),
}  # fmt: skip


def _slice(operands: list[Any], attributes: Attributes, _: int, __: Budget, ___: int) -> list[Array]:
    if len(operands) == 1:
        operands = [operands[0], attributes.get("starts"), attributes.get("ends"), attributes.get("axes")]
    data: Array = operands[0]
    starts, ends = sizes(operands[1], "starts"), sizes(operands[2], "ends")
    axes_, steps_ = [*operands[3:], None, None][:2]
    axes = sizes(axes_, "axes") if axes_ is not None else list(range(len(starts)))
    steps = sizes(steps_, "steps") if steps_ is not None else [1] * len(starts)
    axes = [axis_of(axis, data.ndim) for axis in axes]
    if not len(starts) == len(ends) == len(axes) == len(steps) or len(set(axes)) != len(axes) or 0 in steps:
        message = "its starts, ends and axes do not belong together"
        raise WrongError(message)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        data = np.take(data, _places(start, end, step, data.shape[axis]), axis) if step != 1 else data[
            (slice(None),) * axis + (slice(*_places_of_one(start, end, data.shape[axis])),)
        ]  # fmt: skip
    return [data]


def _places_of_one(start: int, end: int, length: int) -> tuple[int, int]:
    low, high, _ = slice(start, end).indices(length)
    return low, max(low, high)


def _places(start: int, end: int, step: int, length: int) -> Array:
    """The places that a Slice takes. Backwards, an end before the front means the front is taken, too."""
    start = start + length if start < 0 else start
    end = end + length if end < 0 else end
    if step > 0:
        return np.arange(min(max(start, 0), length), min(max(end, 0), length), step)
    return np.arange(min(max(start, 0), length - 1), min(max(end, -1), length - 1), step)


def _split(operands: list[Any], attributes: Attributes, version: int, _: Budget, outputs: int) -> list[Array]:
    data: Array = operands[0]
    axis = axis_of(attributes.get("axis", 0), data.ndim)
    given = operands[1] if len(operands) > 1 else None
    bounds = np.cumsum([0, *split_sizes(given, attributes, data.shape[axis], outputs, version)]).tolist()
    return [data[(slice(None),) * axis + (slice(start, stop),)] for start, stop in pairwise(bounds)]


def _pad(operands: list[Any], attributes: Attributes, _: int, budget: Budget, __: int) -> list[Array]:
    data, given, fill, axes = [*operands, None, None, None][:4]
    amounts = sizes(given if given is not None else attributes.get("pads"), "pads")
    where = [axis_of(axis, data.ndim) for axis in sizes(axes, "axes")] if axes is not None else list(range(data.ndim))
    mode = attributes.get("mode", b"constant").decode()
    if len(amounts) != 2 * len(where) or len(set(where)) != len(where):
        message = f"it has {len(amounts)} pads for {len(where)} dimensions"
        raise WrongError(message)
    if mode not in ("constant", "edge") or attributes.get("value", 0.0):
        message = f"it pads by the mode {mode}" if mode != "constant" else "it pads with something else than zeros"
        raise OutsideError(message)
    pairs = [(0, 0)] * data.ndim
    for place, axis in enumerate(where):
        pairs[axis] = (amounts[place], amounts[place + len(where)])
    for axis, (front, back) in enumerate(pairs):
        cut = slice(max(0, -front), data.shape[axis] - max(0, -back))
        data = data[(slice(None),) * axis + (cut,)]
    pairs = [(max(0, front), max(0, back)) for front, back in pairs]
    budget.room(math.prod(size + sum(pair) for size, pair in zip(data.shape, pairs, strict=True)) * data.itemsize)
    if mode == "edge":
        return [np.pad(data, pairs, mode="edge")]
    value = 0 if fill is None else np.asarray(fill).reshape(-1)[0]
    return [np.pad(data, pairs, constant_values=value)]


def _gather_elements(operands: list[Any], attributes: Attributes, _: int, __: Budget, ___: int) -> list[Array]:
    data, index = operands
    axis = axis_of(attributes.get("axis", 0), data.ndim)
    length = data.shape[axis]
    data = data[_beside(index, data, axis)]
    return [np.take_along_axis(data, _counted(index, length), axis)]


def _beside(index: Array, data: Array, axis: int) -> tuple[slice, ...]:
    """The part of the data that an index of fewer elements is about: the first ones of every other dimension."""
    fits = index.ndim == data.ndim and all(
        size <= most for at, (size, most) in enumerate(zip(index.shape, data.shape, strict=True)) if at != axis
    )
    if not fits:
        message = f"its indices have the shape {list(index.shape)}, its data {list(data.shape)}"
        raise WrongError(message)
    return tuple(slice(None) if at == axis else slice(size) for at, size in enumerate(index.shape))


def _counted(index: Array, length: int) -> Array:
    """Indices counted from the front."""
    if index.dtype.kind not in "iu":
        message = "its indices are no whole numbers"
        raise WrongError(message)
    if index.size and not (-length <= int(index.min()) and int(index.max()) < length):
        message = f"an index is outside 0 to {length - 1}"
        raise WrongError(message)
    return np.where(index < 0, index + length, index)


def _gather_nd(operands: list[Any], attributes: Attributes, _: int, budget: Budget, __: int) -> list[Array]:
    data, index = operands
    if attributes.get("batch_dims", 0):
        message = "it gathers in batches"
        raise OutsideError(message)
    place = tuple(_counted(index[..., axis], data.shape[axis]) for axis in range(index.shape[-1]))
    rest = math.prod(data.shape[index.shape[-1] :])
    budget.room(data.itemsize * rest * math.prod(index.shape[:-1]))
    return [data[place]]


def _scatter_nd(operands: list[Any], attributes: Attributes, _: int, budget: Budget, __: int) -> list[Array]:
    data, index, updates = operands
    _plain_scatter(attributes)
    place = tuple(_counted(index[..., axis], data.shape[axis]) for axis in range(index.shape[-1]))
    budget.room(data.nbytes)
    made = data.copy()
    if updates.shape != (*index.shape[:-1], *data.shape[index.shape[-1] :]):
        message = f"its updates have the shape {list(updates.shape)}"
        raise WrongError(message)
    _once(np.stack([each.reshape(-1) for each in place], axis=1) if place else np.zeros((1, 0)))
    made[place] = updates
    return [made]


def _scatter_elements(operands: list[Any], attributes: Attributes, _: int, budget: Budget, __: int) -> list[Array]:
    data, index, updates = operands
    _plain_scatter(attributes)
    axis = axis_of(attributes.get("axis", 0), data.ndim)
    _beside(index, data, axis)
    if updates.shape != index.shape:
        message = f"its updates have the shape {list(updates.shape)}, its indices {list(index.shape)}"
        raise WrongError(message)
    place = list(np.indices(index.shape))
    place[axis] = _counted(index, data.shape[axis])
    budget.room(data.nbytes)
    _once(np.stack([each.reshape(-1) for each in place], axis=1))
    made = data.copy()
    made[tuple(place)] = updates
    return [made]


def _plain_scatter(attributes: Attributes) -> None:
    if attributes.get("reduction", b"none") != b"none":
        message = f"it reduces by {attributes['reduction'].decode()}"
        raise OutsideError(message)


def _once(places: Array) -> None:
    if np.unique(places, axis=0).shape[0] != places.shape[0]:
        message = "it writes one place several times, in an order that is not fixed"
        raise OutsideError(message)


def _where(operands: list[Any], _: Attributes, __: int, budget: Budget, ___: int) -> list[Array]:
    mask, one, other = operands
    shape = np.broadcast_shapes(mask.shape, one.shape, other.shape)
    budget.room(8 * math.prod(shape))
    if mask.dtype.kind != "b":
        message = "its condition is not boolean"
        raise WrongError(message)
    return [np.where(mask, one, other)]


def _tile(operands: list[Any], _: Attributes, __: int, budget: Budget, ___: int) -> list[Array]:
    data, times = operands
    repeats = sizes(times, "repeats")
    budget.room(data.nbytes * math.prod(repeats))
    if len(repeats) != data.ndim or min(repeats, default=0) < 0:
        message = f"it repeats {data.ndim} dimensions {len(repeats)} times"
        raise WrongError(message)
    return [np.tile(data, repeats)]


def _trilu(operands: list[Any], attributes: Attributes, _: int, __: Budget, ___: int) -> list[Array]:
    data: Array = operands[0]
    shift = sizes(operands[1], "k")[0] if len(operands) > 1 and operands[1] is not None else 0
    return [np.triu(data, shift) if attributes.get("upper", 1) else np.tril(data, shift)]


def _compress(operands: list[Any], attributes: Attributes, _: int, __: Budget, ___: int) -> list[Array]:
    data, mask = operands
    axis = attributes.get("axis")
    length = data.size if axis is None else data.shape[axis_of(axis, data.ndim)]
    if mask.dtype.kind != "b" or mask.size > length:
        message = "its condition does not fit"
        raise WrongError(message)
    return [np.compress(mask, data, axis)]


def _depth_to_space(operands: list[Any], attributes: Attributes, _: int, __: Budget, ___: int) -> list[Array]:
    data: Array = operands[0]
    size = attributes["blocksize"]
    batch, channels, height, width = data.shape
    if attributes.get("mode", b"DCR") == b"DCR":
        order = data.reshape(batch, size, size, channels // size**2, height, width).transpose(0, 3, 4, 1, 5, 2)
    else:
        order = data.reshape(batch, channels // size**2, size, size, height, width).transpose(0, 1, 4, 2, 5, 3)
    return [order.reshape(batch, channels // size**2, height * size, width * size)]


def _space_to_depth(operands: list[Any], attributes: Attributes, _: int, __: Budget, ___: int) -> list[Array]:
    data: Array = operands[0]
    size = attributes["blocksize"]
    batch, channels, height, width = data.shape
    parts = data.reshape(batch, channels, height // size, size, width // size, size).transpose(0, 3, 5, 1, 2, 4)
    return [parts.reshape(batch, channels * size**2, height // size, width // size)]


def _folded(op: str) -> Move:
    def move(operands: list[Any], attributes: Attributes, version: int, budget: Budget, _: int) -> list[Array]:
        return [FOLDS[op](operands, attributes, version, budget)]

    return move


MOVES: Mapping[str, Move] = {
    **{op: _folded(op) for op in ("Identity", "Transpose", "Reshape", "Flatten", "Unsqueeze", "Squeeze", "Concat",
                                  "Gather", "Expand")},
    "Slice": _slice,
    "Split": _split,
    "Pad": _pad,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "ScatterND": _scatter_nd,
    "ScatterElements": _scatter_elements,
    "Scatter": _scatter_elements,
    "Where": _where,
    "Tile": _tile,
    "Trilu": _trilu,
    "Compress": _compress,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
}  # fmt: skip
