"""Ways of saying the same operator, said in one way. For the original and for what is handed in alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from onnx import TensorProto, helper

from .values import Sign, Value, shape_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Said: TypeAlias = "tuple[str, list[Value], Mapping[str, Any]]"
_LARGEST_FLOAT = 3.4028234e38
_BOOL = 9
_OF_MANY = frozenset({"Sum", "Min", "Max", "Mean"})
_FLOATS = frozenset({1, 11})  # FLOAT and DOUBLE: float32 loses nothing in either


def rewritten(op: str, operands: list[Value], attributes: Mapping[str, Any]) -> Said:
    """The operator as the other modules know it."""
    if _is_relu(op, operands, attributes):
        return "Relu", [next(operand for operand in operands if not isinstance(operand, np.ndarray))], {}
    if op == "CastLike" and len(operands) == 2:  # noqa: PLR2004 - the tensor, and one of the type
        op, operands, attributes = _cast_like(operands, attributes)
    if op == "Cast" and operands and _keeps_all(operands[0], attributes.get("to")):
        return "Identity", operands, {}
    if _changes_nothing(op, operands, attributes):
        return "Identity", operands[:1], {}
    if op == "Clip" and _is_above_zero_cut(operands, attributes):
        return "Min", [operands[0], np.zeros((), np.float32)], {}
    if op == "Sum" and len(operands) == 2:  # noqa: PLR2004 - an Add by another name
        return "Add", operands, attributes
    if op == "Einsum" and len(operands) == 2:  # noqa: PLR2004 - of two matrices it is a product
        return _einsum(operands, attributes)
    if op == "Einsum" and len(operands) == 1:
        return _einsum_of_one(operands, attributes)
    if op in ("Conv", "MaxPool", "AveragePool"):
        return op, operands, _windows(op, operands, attributes)
    return op, operands, attributes


def _cast_like(operands: list[Value], attributes: Mapping[str, Any]) -> Said:
    """As Cast, where the type is known or any floating one comes to the same: a tensor of the network has one."""
    value, like = operands
    if isinstance(like, np.ndarray):
        return "Cast", [value], {"to": helper.np_dtype_to_tensor_dtype(like.dtype)}
    if isinstance(value, np.ndarray) and not np.array_equal(value.astype(np.float32), value):
        return "CastLike", operands, attributes
    return "Cast", [value], {"to": TensorProto.FLOAT}


def _keeps_all(value: Value, to: object) -> bool:
    """Whether a type holds all of a tensor's values. Where it is above zero is a truth already."""
    if isinstance(value, np.ndarray):
        return False
    return to in _FLOATS or (to == _BOOL and isinstance(value, Sign))


def _is_above_zero_cut(operands: Sequence[Value], attributes: Mapping[str, Any]) -> bool:
    """Whether a Clip has zero as its upper bound and no lower one."""
    if not operands or isinstance(operands[0], np.ndarray):
        return False
    low, high = [*operands[1:], None, None][:2]
    low, high = attributes.get("min", low), attributes.get("max", high)
    is_bound = low is not None and not bool(np.all(np.asarray(low) <= -_LARGEST_FLOAT))
    return not is_bound and isinstance(high, (float, np.ndarray)) and not np.any(high)


def _changes_nothing(op: str, operands: Sequence[Value], attributes: Mapping[str, Any]) -> bool:
    """Whether it is a Clip without bounds, a power of one, or a most, least, mean or sum of one element each."""
    if not operands or isinstance(operands[0], np.ndarray):
        return False
    if op in _OF_MANY and len(operands) == 1:
        return True
    if op == "Clip":
        return not {"min", "max"} & set(attributes) and all(bound is None for bound in operands[1:])
    if op == "AveragePool":
        return _is_of_one(attributes)
    if op in ("Max", "Min"):
        return len(operands) == 2 and is_all(operands[1], -np.inf if op == "Max" else np.inf, operands[0])  # noqa: PLR2004
    return op == "Pow" and len(operands) == 2 and is_all(operands[1], 1, operands[0])  # noqa: PLR2004 - its exponent


def _is_of_one(attributes: Mapping[str, Any]) -> bool:
    """Whether windows are of one element each, every element has one, and nothing is padded."""
    said = [*attributes["kernel_shape"], *attributes.get("strides", ())]
    return all(size == 1 for size in said) and not any(attributes.get("pads", ()))


def _is_relu(op: str, operands: Sequence[Value], attributes: Mapping[str, Any]) -> bool:
    others = [operand for operand in operands if not isinstance(operand, np.ndarray) and operand is not None]
    if len(others) != 1:
        return False
    if op == "Max":
        return len(operands) == 2 and is_all(_constant_beside(operands), 0, others[0])  # noqa: PLR2004
    if op == "Clip":
        low, high = [*operands[1:], None, None][:2]
        low = attributes.get("min", low)
        high = attributes.get("max", high)
        return (
            low is not None and not np.any(low) and (high is None or bool(np.all(np.asarray(high) >= _LARGEST_FLOAT)))
        )
    if op == "PRelu":
        return len(operands) == 2 and is_all(operands[1], 0, others[0])  # noqa: PLR2004
    defaults = {"LeakyRelu": 0.01, "Elu": 1.0, "ThresholdedRelu": 1.0}
    return op in defaults and attributes.get("alpha", defaults[op]) == 0.0


def _einsum(operands: list[Value], attributes: Mapping[str, Any]) -> Said:
    """An Einsum of two matrices over one label of each, as Gemm; any other stays as it is."""
    taken, _, out = attributes["equation"].decode().replace(" ", "").partition("->")
    one, _, other = taken.partition(",")
    same = set(one) & set(other)
    if len(set(one)) == len(one) == len(set(other)) == len(other) == 2 and len(same) == 1:  # noqa: PLR2004 - matrices
        (label,) = same
        if out == one.replace(label, "") + other.replace(label, ""):
            return "Gemm", operands, {"transA": int(one[0] == label), "transB": int(other[1] == label)}
    return "Einsum", operands, attributes


def _einsum_of_one(operands: list[Value], attributes: Mapping[str, Any]) -> Said:
    """An Einsum that sums one tensor over some of its dimensions, as ReduceSum; any other stays as it is."""
    taken, arrow, out = attributes["equation"].decode().replace(" ", "").partition("->")
    left = [label for label in taken if label in out]
    shape = shape_of(operands[0])
    if not arrow or "." in taken or len(set(taken)) != len(taken) or "".join(left) != out or out == taken:
        return "Einsum", operands, attributes
    if shape is None or len(shape) != len(taken) or not out:
        return "Einsum", operands, attributes
    axes = [axis for axis, label in enumerate(taken) if label not in out]
    return "ReduceSum", operands, {"axes": axes, "keepdims": 0}


def _constant_beside(operands: Sequence[Value]) -> Value:
    return next((operand for operand in operands if isinstance(operand, np.ndarray)), None)


def is_all(value: Value, number: float, beside: Value) -> bool:
    """Whether a constant is this number throughout and makes nothing larger."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "if" or (value != number).any():
        return False
    shape = shape_of(beside)
    if shape is None:
        return value.ndim == 0
    try:
        return np.broadcast_shapes(value.shape, shape) == shape
    except ValueError:
        return False


def _windows(op: str, operands: Sequence[Value], attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes with the kernel's size left out where the weight says it, and padding as numbers."""
    said = dict(attributes)
    shape = shape_of(operands[0])
    weight = shape_of(operands[1]) if op == "Conv" and len(operands) > 1 else None
    kernel = list(weight[2:]) if weight is not None else said.get("kernel_shape")
    if weight is not None and said.get("kernel_shape", kernel) == kernel:
        said.pop("kernel_shape", None)
    named = said.get("auto_pad", b"NOTSET")
    if kernel is None or shape is None or len(shape) != len(kernel) + 2:
        return said
    if named == b"VALID":
        said.pop("auto_pad")
    elif named in (b"SAME_UPPER", b"SAME_LOWER") and not said.get("ceil_mode"):
        said.pop("auto_pad")
        ones = [1] * len(kernel)
        said["pads"] = _same(shape[2:], kernel, said.get("strides", ones), said.get("dilations", ones), named)
    return said


def _same(
    shape: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], named: bytes
) -> list[int]:
    """The padding for outputs of ceil(size / stride), the odd one behind (UPPER) or in front (LOWER)."""
    front, back = [], []
    for size, width, stride, dilation in zip(shape, kernel, strides, dilations, strict=True):
        total = max(0, (-(-size // stride) - 1) * stride + dilation * (width - 1) + 1 - size)
        less, more = total // 2, total - total // 2
        front.append(less if named == b"SAME_UPPER" else more)
        back.append(more if named == b"SAME_UPPER" else less)
    return front + back
