"""What operators that only move do to an array, for the second opinion. Written anew: nothing of the proof is in it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Array = np.ndarray[tuple[int, ...], np.dtype[Any]]
    Move = Callable[[list[Any], Mapping[str, Any], int], list[Array]]

_MOST_ELEMENTS = 1 << 27


class NotCoveredError(Exception):
    """The run on integers met something for which it has none."""


def _numbers(values: list[Any], place: int, attributes: Mapping[str, Any], name: str) -> list[int] | None:
    """Whole numbers that are an operand or, in older opsets, an attribute."""
    given = values[place] if len(values) > place and values[place] is not None else attributes.get(name)
    return None if given is None else [int(number) for number in np.ravel(given)]


def _split(values: list[Any], attributes: Mapping[str, Any], parts: int) -> list[Array]:
    data, axis = values[0], attributes.get("axis", 0)
    cut = _numbers(values, 1, attributes, "split")
    if cut is None:
        each = math.ceil(data.shape[axis] / parts)
        cut = [each] * (parts - 1) + [data.shape[axis] - each * (parts - 1)]
    if sum(cut) != data.shape[axis] or len(cut) != parts:
        message = "a Split whose sizes do not add up"
        raise NotCoveredError(message)
    return np.split(data, np.cumsum(cut)[:-1].tolist(), axis)


def _slice(values: list[Any], attributes: Mapping[str, Any], _: int) -> list[Array]:
    data = values[0]
    starts, ends = _numbers(values, 1, attributes, "starts") or [], _numbers(values, 2, attributes, "ends") or []
    axes = _numbers(values, 3, attributes, "axes") or list(range(len(starts)))
    steps = _numbers(values, 4, attributes, "steps") or [1] * len(starts)
    index = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 1:
            message = "a Slice that runs backwards"
            raise NotCoveredError(message)
        index[axis] = slice(start, end, step)
    return [data[tuple(index)]]


def _gather(values: list[Any], attributes: Mapping[str, Any], _: int) -> list[Array]:
    data, index = values
    axis = attributes.get("axis", 0)
    if index.size * data.size // max(1, data.shape[axis]) > _MOST_ELEMENTS:
        message = "a Gather of very many elements"
        raise NotCoveredError(message)
    return [np.take(data, index, axis)]


def _transpose(values: list[Any], attributes: Mapping[str, Any], _: int) -> list[Array]:
    return [np.transpose(values[0], attributes.get("perm"))]


def _concat(values: list[Any], attributes: Mapping[str, Any], _: int) -> list[Array]:
    return [np.concatenate(values, attributes["axis"])]


def _reshape(values: list[Any], attributes: Mapping[str, Any], _: int) -> list[Array]:
    data, wanted = values
    if attributes.get("allowzero"):
        message = "a Reshape that takes zeros literally"
        raise NotCoveredError(message)
    sizes = [data.shape[place] if size == 0 else int(size) for place, size in enumerate(wanted.tolist())]
    return [data.reshape(sizes)]


def _flatten(values: list[Any], attributes: Mapping[str, Any], _: int) -> list[Array]:
    data = values[0]
    axis = attributes.get("axis", 1) % (data.ndim + 1)
    return [data.reshape(math.prod(data.shape[:axis]), math.prod(data.shape[axis:]))]


def _squeeze(values: list[Any], attributes: Mapping[str, Any], _: int) -> list[Array]:
    axes = _numbers(values, 1, attributes, "axes")
    return [np.squeeze(values[0], None if axes is None else tuple(axes))]


def _unsqueeze(values: list[Any], attributes: Mapping[str, Any], _: int) -> list[Array]:
    return [np.expand_dims(values[0], tuple(_numbers(values, 1, attributes, "axes") or []))]


def _pad(values: list[Any], attributes: Mapping[str, Any], _: int) -> list[Array]:
    data, amounts = values[0], _numbers(values, 1, attributes, "pads") or []
    with_zeros = len(values) < 3 or values[2] is None or not np.any(values[2])  # noqa: PLR2004 - data, pads, value
    if attributes.get("mode", b"constant") != b"constant" or not with_zeros or len(values) > 3:  # noqa: PLR2004
        message = "a Pad with something else than zeros"
        raise NotCoveredError(message)
    pairs = list(zip(amounts[: data.ndim], amounts[data.ndim :], strict=True))
    if math.prod(size + sum(pair) for size, pair in zip(data.shape, pairs, strict=True)) > _MOST_ELEMENTS:
        message = "a Pad to very many elements"
        raise NotCoveredError(message)
    return [np.pad(data, pairs)]


def _shape(values: list[Any], attributes: Mapping[str, Any], _: int) -> list[Array]:
    sizes = values[0].shape[attributes.get("start", 0) : attributes.get("end")]
    return [np.asarray(sizes, np.int64)]


MOVES: Mapping[str, Move] = {
    "Split": _split,
    "Slice": _slice,
    "Gather": _gather,
    "Transpose": _transpose,
    "Concat": _concat,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Pad": _pad,
    "Shape": _shape,
}
