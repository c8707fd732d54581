"""Operators whose meaning needs no tiles: constants, names for the same tensor, shapes. For both models alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .constant_ops import folded
from .constants import sizes, target_shape
from .values import PLAIN, Opaque, OutsideError, Shape, Value, WrongError, axis_of, shape_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import onnx

    from .budget import Budget
    from .numbers import Numbers
    from .read import Model

_SAME = frozenset({"Identity", "Optional", "OptionalGetElement"})
_RESHAPES = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
_INFERENCE_ONLY_BEFORE = 12  # from this opset on a Dropout may be told to train


def constant_of(protos: Mapping[str, onnx.AttributeProto], attributes: Mapping[str, Any], model: Model) -> Value:
    """What a Constant node holds.

    Raises:
        OutsideError: a string, or a sparse tensor that is too large.
    """
    ((name, value),) = attributes.items() if len(attributes) == 1 else (("", None),)
    if name == "value":
        return model.array(protos["value"].t)
    if name == "sparse_value":
        return model.dense(protos["sparse_value"].sparse_tensor)
    if name in ("value_float", "value_floats"):
        return np.asarray(value, np.float32)
    if name in ("value_int", "value_ints"):
        return np.asarray(value, np.int64)
    message = f"it holds a {name or 'value that is not given'}"
    raise OutsideError(message)


def simple(
    op: str,
    operands: list[Value],
    attributes: Mapping[str, Any],
    version: int,
    outputs: int,
    numbers: Numbers,
    budget: Budget,
) -> list[Value] | None:
    """The outputs of an operator on constants, or that renames, or tells or changes a known shape; None for others.

    A matrix that takes a shape which nothing has yet is left to `move_ops.py`.

    Raises:
        OutsideError, WrongError: as the operators of `constants.py` do.
    """
    first = operands[0] if operands else None
    if op in _SAME or (op == "Dropout" and _is_neutral(operands, version)):
        return [first]
    if op == "Shape":
        shape = shape_of(first)
        kept = slice(attributes.get("start", 0), attributes.get("end"))
        return None if shape is None else [np.array(shape[kept], np.int64)]
    if op == "Size":
        shape = shape_of(first)
        return None if shape is None else [np.array(math.prod(shape), np.int64)]
    if first is not None and all(isinstance(operand, np.ndarray) for operand in operands if operand is not None):
        made = folded(op, operands, attributes, version, budget, outputs)
        return None if made is None else list(made)
    if op in _RESHAPES and isinstance(first, Opaque) and first.shape is not None:
        shaped = _reshaped(op, first, first.shape, operands, attributes, numbers)
        return None if shaped is None else [shaped]
    return None


def _is_neutral(operands: list[Value], version: int) -> bool:
    training = operands[2] if len(operands) > 2 else None  # noqa: PLR2004 - data, ratio, training_mode
    told = training is not None and not _is_zero(training)
    return version < _INFERENCE_ONLY_BEFORE or not told or (len(operands) > 1 and _is_zero(operands[1]))


def _is_zero(value: Value) -> bool:
    return isinstance(value, np.ndarray) and not value.any()


def _reshaped(
    op: str, value: Opaque, shape: Shape, operands: list[Value], attributes: Mapping[str, Any], numbers: Numbers
) -> Value:
    """Another shape of the same elements: numbered by what it is the shape of, whichever operators led there."""
    target = _target(op, shape, operands, attributes)
    if target is None:
        return None
    if math.prod(target) != math.prod(shape):
        message = f"it makes {list(shape)} into {list(target)}"
        raise WrongError(message)
    root, original_shape = numbers.unshaped(value.number, shape)
    if target == original_shape:
        return Opaque(root, original_shape)
    key = ("shape", root, target)
    if len(shape) == len(PLAIN) and numbers.closed and numbers.known(key) is None:
        return None
    name = f"{numbers.name(root)} as {'x'.join(map(str, target))}"
    return Opaque(numbers.of(key, name, target), target)


def _target(op: str, shape: Shape, operands: list[Value], attributes: Mapping[str, Any]) -> Shape | None:
    if op == "Reshape":
        given = operands[1]
        return target_shape(sizes(given, "sizes"), shape, attributes) if isinstance(given, np.ndarray) else None
    if op == "Flatten":
        axis = attributes.get("axis", 1)
        axis = axis + len(shape) if axis < 0 else axis
        return (int(np.prod(shape[:axis])), int(np.prod(shape[axis:])))
    given = operands[1] if len(operands) > 1 else attributes.get("axes")
    if op == "Squeeze":
        gone = _axes(given, len(shape)) if given is not None else {axis for axis, size in enumerate(shape) if size == 1}
        return tuple(size for axis, size in enumerate(shape) if axis not in gone)
    new = _axes(given, len(shape) + len(sizes(given, "axes")))
    rest = iter(shape)
    return tuple(1 if axis in new else next(rest) for axis in range(len(shape) + len(new)))


def _axes(given: object, rank: int) -> set[int]:
    return {axis_of(axis, rank) for axis in sizes(given, "axes")}
