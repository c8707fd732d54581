"""Operators that compute with constants alone: shapes, indices, masks, and weights that are made while the graph runs.

Integers have their width and its overflow, as a runtime has them. Of floating point only what IEEE 754 rounds in one
way: one operation an element. A sum of many has as many results as orders, and is left alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .constants import FOLDS, sizes
from .move_arrays import MOVES
from .values import OutsideError, WrongError, axis_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .budget import Budget
    from .constants import Attributes
    from .values import Array

Compute: TypeAlias = "Callable[[list[Any], Attributes, Budget], Array]"
_MOST_NUMBERS = 1 << 20
_EXACT = 2.0**53  # runtimes may compute powers of whole numbers in float64


def folded(
    op: str, operands: list[Any], attributes: Attributes, version: int, budget: Budget, outputs: int
) -> list[Array] | None:
    """What an operator makes of constants; None for an operator that has no words here.

    Raises:
        OutsideError: it does something for which there are no words, or something too large.
        WrongError: it can't run.
    """
    if op in MOVES:
        return [np.asarray(made) for made in MOVES[op](operands, attributes, version, budget, outputs)]
    if op in FOLDS:
        return [FOLDS[op](operands, attributes, version, budget)]
    if op in _COMPUTED:
        if budget.has_symbols and any(each is not None and each.dtype.kind == "f" for each in operands):
            message = "it computes with a weight that may be any"
            raise OutsideError(message)
        return [np.asarray(_COMPUTED[op](operands, attributes, budget))]
    return None


def _elementwise(compute: Callable[..., Any], kinds: str = "iuf") -> Compute:
    def evaluate(operands: list[Any], _: Attributes, budget: Budget) -> Array:
        types = {operand.dtype for operand in operands}
        if len(types) != 1 or any(each.kind not in kinds or (each.kind == "f" and each.itemsize < 4) for each in types):  # noqa: PLR2004 - not float16
            message = f"it computes with {', '.join(sorted(map(str, types)))}"
            raise OutsideError(message)
        try:
            shape = np.broadcast_shapes(*(operand.shape for operand in operands))
        except ValueError:
            message = "the shapes of its operands do not fit"
            raise WrongError(message) from None
        budget.room(8 * math.prod(shape))
        result: Array = np.asarray(compute(*operands))
        (kind,) = types
        return result if result.dtype.kind == "b" else result.astype(kind)

    return evaluate


def _divide(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.divide(a, b)
    lowest = np.iinfo(a.dtype).min
    if not np.all(b) or bool(np.any((b == -1) & (a == lowest) & (lowest < 0)) if lowest else False):
        message = "it divides by zero, or has no result in its type"
        raise WrongError(message)
    down = np.floor_divide(a, b)
    uneven = (down * b != a) & ((a < 0) != (b < 0))  # ONNX rounds integers towards zero
    return np.where(uneven, down + 1, down)


def _modulo(operands: list[Any], attributes: Attributes, budget: Budget) -> Array:
    if operands[0].dtype.kind == "f" or not np.all(operands[1]):
        message = "a remainder of this kind"
        raise OutsideError(message)
    return _elementwise(np.fmod if attributes.get("fmod", 0) else np.mod)(operands, attributes, budget)


def _power(operands: list[Any], attributes: Attributes, budget: Budget) -> Array:
    base, exponent = operands
    is_whole = base.dtype.kind in "iu" and exponent.dtype.kind in "iu" and int(np.min(exponent, initial=0)) >= 0
    largest = np.max(np.abs(base.astype(np.float64)), initial=1.0)
    if not is_whole or not np.power(largest, float(np.max(exponent, initial=0))) < min(
        _EXACT, np.iinfo(base.dtype).max
    ):
        message = "a power of this kind"
        raise OutsideError(message)
    return _elementwise(np.power)(operands, attributes, budget)


def _shifted(operands: list[Any], attributes: Attributes, budget: Budget) -> Array:
    if np.max(operands[1], initial=0) >= 8 * operands[0].itemsize:
        message = "it shifts by all bits and more"
        raise OutsideError(message)
    shift = np.left_shift if attributes.get("direction") == b"LEFT" else np.right_shift
    return _elementwise(shift, "u")(operands, attributes, budget)


def _place_of(largest: Callable[..., Any]) -> Compute:
    def evaluate(operands: list[Any], attributes: Attributes, _: Budget) -> Array:
        data: Array = operands[0]
        axis = axis_of(attributes.get("axis", 0), data.ndim)
        if not data.size or data.dtype.kind not in "iuf" or np.isnan(data).any():
            message = "it looks for the place of what has none"
            raise OutsideError(message)
        is_last = bool(attributes.get("select_last_index", 0))
        place = np.asarray(largest(np.flip(data, axis) if is_last else data, axis=axis, keepdims=True))
        place = data.shape[axis] - 1 - place if is_last else place
        return (place if attributes.get("keepdims", 1) else np.squeeze(place, axis)).astype(np.int64)

    return evaluate


def _many(compute: Callable[..., Any]) -> Compute:
    """An operator of any number of operands; of floating point only two, as the order is not fixed."""

    def evaluate(operands: list[Any], attributes: Attributes, budget: Budget) -> Array:
        result = operands[0]
        if compute is np.add and len(operands) > 2 and result.dtype.kind == "f":  # noqa: PLR2004 - one rounding
            message = "it adds up constants in an order of its own"
            raise OutsideError(message)
        for operand in operands[1:]:
            result = _elementwise(compute)([result, operand], attributes, budget)
        return np.asarray(result)

    return evaluate


def _clip(operands: list[Any], attributes: Attributes, _: Budget) -> Array:
    data, low, high = [*operands, None, None][:3]
    low = attributes.get("min") if low is None else low
    high = attributes.get("max") if high is None else high
    data = data if low is None else np.maximum(data, np.asarray(low, data.dtype))
    return np.asarray(data) if high is None else np.minimum(data, np.asarray(high, data.dtype))


def _range(operands: list[Any], _: Attributes, __: Budget) -> Array:
    start, limit, delta = (np.asarray(operand).reshape(-1)[0] for operand in operands)
    if operands[0].dtype.kind not in "iu" or not int(delta):
        message = "it makes a range of something else than whole numbers"
        raise OutsideError(message)
    if abs((int(limit) - int(start)) // int(delta)) > _MOST_NUMBERS:
        message = "it makes a long range"
        raise OutsideError(message)
    return np.arange(int(start), int(limit), int(delta), dtype=operands[0].dtype)


def _reduce(compute: Callable[..., Any]) -> Compute:
    def evaluate(operands: list[Any], attributes: Attributes, _: Budget) -> Array:
        data: Array = operands[0]
        given = operands[1] if len(operands) > 1 else attributes.get("axes")
        if data.dtype.kind == "f" and compute in (np.sum, np.prod):
            message = "it adds up constants in an order of its own"
            raise OutsideError(message)
        axes = None if given is None else tuple(axis_of(axis, data.ndim) for axis in sizes(given, "axes"))
        if attributes.get("noop_with_empty_axes") and not axes:
            return np.asarray(data)
        kept = bool(attributes.get("keepdims", 1))
        return np.asarray(compute(data, axis=axes or None, keepdims=kept)).astype(data.dtype)

    return evaluate


def _non_zero(operands: list[Any], _: Attributes, __: Budget) -> Array:
    data: Array = operands[0]
    if data.dtype.kind not in "biu":
        message = "it looks at the values of weights"
        raise OutsideError(message)
    return np.stack(np.nonzero(np.atleast_1d(data))).astype(np.int64)


def _one_hot(operands: list[Any], attributes: Attributes, budget: Budget) -> Array:
    index, depth, pair = operands
    count = int(np.asarray(depth).reshape(-1)[0])
    budget.room(8 * index.size * max(count, 0))
    if index.dtype.kind not in "iu":
        message = "its indices are no whole numbers"
        raise OutsideError(message)
    axis = attributes.get("axis", -1)
    hot = np.where(index < 0, index + count, index)[..., None] == np.arange(count)
    return np.moveaxis(np.where(hot, pair[1], pair[0]).astype(pair.dtype), -1, axis)


def _eye_like(operands: list[Any], attributes: Attributes, budget: Budget) -> Array:
    from onnx.helper import tensor_dtype_to_np_dtype

    data: Array = operands[0]
    dtype = tensor_dtype_to_np_dtype(attributes["dtype"]) if "dtype" in attributes else data.dtype
    budget.room(8 * data.size)
    rows, columns = data.shape
    made: Array = np.eye(rows, columns, k=attributes.get("k", 0)).astype(dtype)
    return made


def _cumulated(operands: list[Any], attributes: Attributes, _: Budget) -> Array:
    data, axis = operands
    if data.dtype.kind not in "iu" or attributes.get("exclusive") or attributes.get("reverse"):
        message = "running sums of this kind"
        raise OutsideError(message)
    return np.cumsum(data, axis=int(np.asarray(axis).reshape(-1)[0]), dtype=data.dtype)


def _dequantized(operands: list[Any], attributes: Attributes, budget: Budget) -> Array:
    """(data - zero) * scale: one rounding an element."""
    data, scale, zero = [*operands, None][:3]
    if data.dtype.kind not in "iu" or scale.dtype != np.float32 or attributes.get("block_size"):
        message = f"it dequantizes {data.dtype} by {scale.dtype}, or in blocks"
        raise OutsideError(message)
    budget.room(8 * data.size)
    shift = 0 if zero is None else _along(zero, data, attributes).astype(np.int64)
    return np.asarray((data.astype(np.int64) - shift).astype(np.float32) * _along(scale, data, attributes))


def _quantized(operands: list[Any], attributes: Attributes, budget: Budget) -> Array:
    """Divide by the scale, rounded to even, plus zero, kept within the type."""
    data, scale, zero = [*operands, None][:3]
    if zero is None or zero.dtype.kind not in "iu" or data.dtype != np.float32 or attributes.get("block_size"):
        message = "it quantizes to a type that no zero point says, or in blocks"
        raise OutsideError(message)
    budget.room(8 * data.size)
    limits = np.iinfo(zero.dtype)
    steps = np.rint(data / _along(scale, data, attributes)).astype(np.float64)
    made: Array = np.clip(steps + _along(zero, data, attributes), limits.min, limits.max).astype(zero.dtype)
    return made


def _along(given: Array, data: Array, attributes: Attributes) -> Array:
    """One number for all, or one for each place of a dimension."""
    if given.size == 1:
        return given.reshape(())
    axis = axis_of(attributes.get("axis", 1), data.ndim)
    if given.shape != (data.shape[axis],):
        message = f"it has {given.size} scales for a dimension of {data.shape[axis]}"
        raise WrongError(message)
    return given.reshape([-1 if place == axis else 1 for place in range(data.ndim)])


def _size(operands: list[Any], _: Attributes, __: Budget) -> Array:
    return np.asarray(operands[0].size, np.int64)


_COMPUTED: Mapping[str, Compute] = {
    "Add": _elementwise(np.add),
    "Sub": _elementwise(np.subtract),
    "Mul": _elementwise(np.multiply),
    "Div": _elementwise(_divide),
    "Mod": _modulo,
    "Sum": _many(np.add),
    "Min": _many(np.minimum),
    "Max": _many(np.maximum),
    "Neg": _elementwise(np.negative),
    "Abs": _elementwise(np.abs),
    "Sign": _elementwise(np.sign),
    "Floor": _elementwise(np.floor, "f"),
    "Ceil": _elementwise(np.ceil, "f"),
    "Round": _elementwise(np.rint, "f"),
    "Pow": _power,
    "BitShift": _shifted,
    "BitwiseAnd": _elementwise(np.bitwise_and, "iu"),
    "BitwiseOr": _elementwise(np.bitwise_or, "iu"),
    "BitwiseXor": _elementwise(np.bitwise_xor, "iu"),
    "BitwiseNot": _elementwise(np.bitwise_not, "iu"),
    "ArgMax": _place_of(np.argmax),
    "ArgMin": _place_of(np.argmin),
    "Sqrt": _elementwise(np.sqrt, "f"),
    "Reciprocal": _elementwise(lambda values: values.dtype.type(1) / values, "f"),
    "Relu": _elementwise(lambda values: np.maximum(values, values.dtype.type(0))),
    "Clip": _clip,
    "Equal": _elementwise(np.equal, "biuf"),
    "Less": _elementwise(np.less),
    "LessOrEqual": _elementwise(np.less_equal),
    "Greater": _elementwise(np.greater),
    "GreaterOrEqual": _elementwise(np.greater_equal),
    "And": _elementwise(np.logical_and, "b"),
    "Or": _elementwise(np.logical_or, "b"),
    "Xor": _elementwise(np.logical_xor, "b"),
    "Not": _elementwise(np.logical_not, "b"),
    "ReduceSum": _reduce(np.sum),
    "ReduceProd": _reduce(np.prod),
    "ReduceMax": _reduce(np.max),
    "ReduceMin": _reduce(np.min),
    "Range": _range,
    "NonZero": _non_zero,
    "OneHot": _one_hot,
    "EyeLike": _eye_like,
    "CumSum": _cumulated,
    "DequantizeLinear": _dequantized,
    "QuantizeLinear": _quantized,
    "Size": _size,
}
