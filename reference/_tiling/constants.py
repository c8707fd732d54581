"""Operators whose operands are constants, evaluated exactly: weights are moved, never computed with.

Values are only moved, widened and narrowed here; `constant_ops.py` computes. Views are returned wherever numpy can.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .values import OutsideError, WrongError, axis_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .budget import Budget
    from .values import Array

Attributes: TypeAlias = "Mapping[str, Any]"
_EXACT = 54  # bits of whole numbers from which float64 has gaps
_NARROW_FLOATS = {"bfloat16": "f"}  # of a kind that numpy has no letter for


def sizes(value: object, what: str) -> list[int]:
    """A constant list of whole numbers.

    Raises:
        OutsideError: it is computed while the graph runs.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.size <= 1 << 20:
        return [int(size) for size in value.reshape(-1)]
    if isinstance(value, (list, tuple)):
        return [int(size) for size in value]
    message = f"its {what} are not constant"
    raise OutsideError(message)


def split_sizes(given: object, attributes: Attributes, length: int, parts: int, version: int) -> list[int]:
    """How a Split cuts a dimension of this length.

    Raises:
        WrongError: the sizes do not add up.
        OutsideError: they are computed while the graph runs.
    """
    if given is None:
        given = attributes.get("split")
    if given is None:
        wanted = attributes.get("num_outputs", parts)
        even = -(-length // parts)
        cut = [even] * (parts - 1) + [length - even * (parts - 1)]
        if wanted != parts or cut[-1] < 0 or (version < 18 and length % parts):  # noqa: PLR2004 - uneven since opset 18
            message = f"it splits {length} into {parts} equal parts"
            raise WrongError(message)
        return cut
    cut = sizes(given, "sizes")
    if len(cut) != parts or sum(cut) != length or min(cut, default=0) < 0:
        shown = ", ".join(map(str, cut[:4])) + (", ..." if len(cut) > 4 else "")  # noqa: PLR2004 - enough to see them
        message = f"it splits {length} into {len(cut)} parts of {shown} (sum {sum(cut)}) for {parts} outputs"
        raise WrongError(message)
    return cut


def slice_bounds(operands: Sequence[Any], attributes: Attributes, shape: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """What a Slice takes: (axis, start, stop) a dimension; steps are one. Before opset 10 the bounds are attributes.

    Raises:
        WrongError: it names an axis that is not there, or one twice.
        OutsideError: the bounds are not constant, or a step is not one.
    """
    if len(operands) == 1:
        operands = [operands[0], attributes.get("starts"), attributes.get("ends"), attributes.get("axes")]
    starts, ends = sizes(operands[1], "starts"), sizes(operands[2], "ends")
    given = [*operands[3:], None, None][:2]
    axes = sizes(given[0], "axes") if given[0] is not None else list(range(len(starts)))
    steps = sizes(given[1], "steps") if given[1] is not None else [1] * len(starts)
    if any(step != 1 for step in steps):
        message = "it has a step other than 1"
        raise OutsideError(message)
    axes = [axis_of(axis, len(shape)) for axis in axes]
    if not len(starts) == len(ends) == len(axes) == len(steps) or len(set(axes)) != len(axes):
        message = "its starts, ends and axes do not belong together"
        raise WrongError(message)
    bounds = []
    for axis, start, end in zip(axes, starts, ends, strict=True):
        low, high, _ = slice(start, end).indices(shape[axis])
        bounds.append((axis, low, max(low, high)))
    return bounds


def target_shape(wanted: list[int], shape: tuple[int, ...], attributes: Attributes) -> tuple[int, ...]:
    """The shape that a Reshape makes of this one.

    Raises:
        WrongError: the numbers of elements differ.
        OutsideError: zeros are taken literally.
    """
    if attributes.get("allowzero") and 0 in wanted:
        message = "it makes a tensor without elements"
        raise OutsideError(message)
    elements = math.prod(shape)
    filled = [shape[i] if size == 0 and i < len(shape) else size for i, size in enumerate(wanted)]
    if filled.count(-1) == 1:
        others = -math.prod(filled)
        filled[filled.index(-1)] = elements // others if others else 0
    if min(filled, default=1) < 0 or math.prod(filled) != elements:
        message = f"it reshapes {list(shape)} to {wanted}"
        raise WrongError(message)
    return tuple(filled)


def _identity(operands: list[Any], _: Attributes, __: int, ___: Budget) -> Array:
    result: Array = operands[0]
    return result


def _transpose(operands: list[Any], attributes: Attributes, _: int, __: Budget) -> Array:
    result: Array = operands[0].transpose(attributes.get("perm"))
    return result


def _reshape(operands: list[Any], attributes: Attributes, _: int, budget: Budget) -> Array:
    data: Array = operands[0]
    shape = target_shape(sizes(operands[1], "sizes"), data.shape, attributes)
    budget.spend(bytes=0 if data.flags.c_contiguous else data.nbytes)
    return data.reshape(shape)


def _flatten(operands: list[Any], attributes: Attributes, _: int, budget: Budget) -> Array:
    data: Array = operands[0]
    axis = attributes.get("axis", 1)
    axis = axis + data.ndim if axis < 0 else axis
    budget.spend(bytes=0 if data.flags.c_contiguous else data.nbytes)
    return data.reshape(math.prod(data.shape[:axis]), -1)


def _axes(operands: list[Any], attributes: Attributes) -> list[int] | None:
    given = operands[1] if len(operands) > 1 else attributes.get("axes")
    return None if given is None else sizes(given, "axes")


def _unsqueeze(operands: list[Any], attributes: Attributes, _: int, __: Budget) -> Array:
    axes = _axes(operands, attributes) or []
    return np.expand_dims(operands[0], tuple(axes))


def _squeeze(operands: list[Any], attributes: Attributes, _: int, __: Budget) -> Array:
    axes = _axes(operands, attributes)
    result: Array = np.squeeze(operands[0], None if axes is None else tuple(axes))
    return result


def _concat(operands: list[Any], attributes: Attributes, _: int, budget: Budget) -> Array:
    budget.spend(bytes=sum(operand.nbytes for operand in operands))
    return np.concatenate(operands, axis=attributes["axis"])


def _gather(operands: list[Any], attributes: Attributes, _: int, budget: Budget) -> Array:
    data: Array = operands[0]
    axis = axis_of(attributes.get("axis", 0), data.ndim)
    index = operands[1]
    if index.ndim == 0:
        picked: Array = data[(slice(None),) * axis + (int(index),)]
        return picked
    budget.spend(bytes=data.itemsize * index.size * math.prod(data.shape) // max(data.shape[axis], 1))
    taken: Array = np.take(data, index, axis=axis)
    return taken


def pads(operands: Sequence[Any], attributes: Attributes, rank: int) -> tuple[list[int], list[int]]:
    """How many zeros a Pad puts before and after each dimension.

    Raises:
        OutsideError: it pads with something else than zeros, or cuts.
    """
    amounts = sizes(operands[1] if len(operands) > 1 else attributes.get("pads"), "pads")
    value = operands[2] if len(operands) > 2 else None  # noqa: PLR2004 - data, pads, value, axes
    axes = operands[3] if len(operands) > 3 else None  # noqa: PLR2004
    zero = value is None or (isinstance(value, np.ndarray) and value.size == 1 and float(value.reshape(-1)[0]) == 0.0)
    mode = attributes.get("mode", b"constant")
    if mode != b"constant" or not zero or min(amounts, default=0) < 0 or attributes.get("value", 0.0):
        message = "it pads with something else than zeros"
        raise OutsideError(message)
    where = [axis_of(axis, rank) for axis in sizes(axes, "axes")] if axes is not None else list(range(rank))
    if len(amounts) != 2 * len(where):
        message = f"it has {len(amounts)} pads for {len(where)} dimensions"
        raise WrongError(message)
    before, after = [0] * rank, [0] * rank
    for place, axis in enumerate(where):
        before[axis], after[axis] = amounts[place], amounts[place + len(where)]
    return before, after


def _cast(operands: list[Any], attributes: Attributes, _: int, budget: Budget) -> Array:
    from onnx.helper import tensor_dtype_to_np_dtype

    data: Array = operands[0]
    target = tensor_dtype_to_np_dtype(attributes["to"])
    before, after = (_NARROW_FLOATS.get(each.name, each.kind) for each in (data.dtype, target))
    if before not in "biuf" or after not in "biuf" or not _has_room(data, before, target, after, budget):
        message = f"it casts {data.dtype} to {target}"
        raise OutsideError(message)
    budget.spend(bytes=data.size * target.itemsize)
    return data.astype(target)


def _has_room(data: Array, before: str, target: Any, after: str, budget: Budget) -> bool:
    """Whether numbers become whole ones of a type in the one way that all runtimes have: what it holds is cut off."""
    if before != "f" or after == "f":
        return True
    if budget.has_symbols:  # a weight that may be any would let a graph look at its numbers
        return False
    values = data.astype(np.float64)
    if after == "b":
        return bool(np.isfinite(values).all())
    limits = np.iinfo(target)
    return bool(np.all((values > float(limits.min) - 1) & (values < float(limits.max) + (limits.bits < _EXACT))))


def _cast_like(operands: list[Any], _: Attributes, __: int, budget: Budget) -> Array:
    from onnx.helper import np_dtype_to_tensor_dtype

    return _cast(operands[:1], {"to": np_dtype_to_tensor_dtype(operands[1].dtype)}, 0, budget)


def _constant_of_shape(operands: list[Any], attributes: Attributes, _: int, budget: Budget) -> Array:
    from onnx.numpy_helper import to_array

    shape = sizes(operands[0], "sizes")
    value = to_array(attributes["value"]) if "value" in attributes else np.zeros(1, np.float32)
    budget.room(math.prod(shape) * value.itemsize)
    return np.full(shape, value.reshape(-1)[0])


def _expand(operands: list[Any], _: Attributes, __: int, budget: Budget) -> Array:
    shape = np.broadcast_shapes(operands[0].shape, tuple(sizes(operands[1], "sizes")))
    budget.room(math.prod(shape) * operands[0].itemsize)  # a view, which others would read in full
    return np.broadcast_to(operands[0], shape)


FOLDS: Mapping[str, Callable[[list[Any], Attributes, int, Budget], Array]] = {
    "Identity": _identity,
    "Transpose": _transpose,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Concat": _concat,
    "Gather": _gather,
    "Cast": _cast,
    "CastLike": _cast_like,
    "ConstantOfShape": _constant_of_shape,
    "Expand": _expand,
}
