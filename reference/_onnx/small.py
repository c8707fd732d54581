"""Values of operators that compute shapes in most files: to start ONNX's reference takes longer than to read a file.

The rules say what ONNX defines. Where one has no answer (another type, an old form, an odd attribute), ONNX's own
reference implementation is asked (`nodes.py`); a test holds both against each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from .tensors import of_proto

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .tensors import Value

    Attributes = Mapping[str, Any]
    Rule = Callable[[Sequence[Value], Attributes], Value | None]

_PLAIN = {
    onnx.TensorProto.FLOAT: "float32",
    onnx.TensorProto.DOUBLE: "float64",
    onnx.TensorProto.INT32: "int32",
    onnx.TensorProto.INT64: "int64",
    onnx.TensorProto.BOOL: "bool",
}
_NAMES = frozenset(_PLAIN.values())


def value_of(node: onnx.NodeProto, inputs: Sequence[Value | None]) -> Value | None:
    """The value of a node's only output; None where no rule here has it."""
    rule = _RULES.get(node.op_type)
    if rule is None or len(node.output) != 1 or any(each is None or each.dtype.name not in _NAMES for each in inputs):
        return None
    attributes: dict[str, Any] = {}
    for each in node.attribute:
        if each.type == onnx.AttributeProto.INT:
            attributes[each.name] = each.i
        elif each.type == onnx.AttributeProto.INTS:
            attributes[each.name] = tuple(each.ints)
        elif each.type == onnx.AttributeProto.TENSOR:
            attributes[each.name] = of_proto(each.t, "constant").known()
        else:
            return None
    try:
        with np.errstate(all="ignore"):
            return rule([each for each in inputs if each is not None], attributes)
    except (IndexError, OverflowError, TypeError, ValueError):  # the reference says what is wrong, or knows better
        return None


def _of_two(function: Callable[[Any, Any], Any]) -> Rule:
    """An operator on two tensors of one type, of opset 7 on: before, attributes said how they broadcast."""

    def rule(inputs: Sequence[Value], attributes: Attributes) -> Value | None:
        left, right = inputs
        return None if attributes or left.dtype != right.dtype else np.asarray(function(left, right))

    return rule


def _divided(left: Value, right: Value) -> Value:
    """Whole numbers are divided toward zero, as in C."""
    if left.dtype.kind != "i":
        return np.asarray(left / right)
    quotient = np.asarray(left // right)
    return np.asarray(quotient + ((left % right != 0) & ((left < 0) ^ (right < 0))).astype(quotient.dtype))


def _mod(inputs: Sequence[Value], attributes: Attributes) -> Value | None:
    whole = all(each.dtype.kind == "i" for each in inputs)
    return _of_two(np.mod)(inputs, {}) if whole and not attributes.get("fmod") else None


def _gather(inputs: Sequence[Value], attributes: Attributes) -> Value:
    return np.asarray(np.take(inputs[0], inputs[1], axis=attributes.get("axis", 0)))


def _concat(inputs: Sequence[Value], attributes: Attributes) -> Value | None:
    one_type = len({each.dtype for each in inputs}) == 1
    return np.concatenate(inputs, axis=attributes["axis"]) if one_type and "axis" in attributes else None


def _axes(inputs: Sequence[Value], attributes: Attributes) -> tuple[int, ...] | None:
    """An attribute before opset 13, an input since."""
    axes = attributes.get("axes") or None if len(inputs) == 1 else inputs[1].reshape(-1).tolist()
    return None if axes is None else tuple(axes)


def _unsqueeze(inputs: Sequence[Value], attributes: Attributes) -> Value | None:
    axes = _axes(inputs, attributes)
    return None if axes is None else np.expand_dims(inputs[0], axes)


def _squeeze(inputs: Sequence[Value], attributes: Attributes) -> Value:
    return np.squeeze(inputs[0], _axes(inputs, attributes))


def _slice(inputs: Sequence[Value], attributes: Attributes) -> Value | None:
    given: list[Any] = [each.reshape(-1).tolist() for each in inputs[1:]] or [
        attributes.get(name) for name in ("starts", "ends", "axes")
    ]
    starts, ends, axes, steps = (*given, *[None] * 4)[:4]
    if starts is None or ends is None or len(starts) != len(ends):
        return None
    data, parts = inputs[0], [slice(None)] * inputs[0].ndim
    for at, (start, end) in enumerate(zip(starts, ends, strict=True)):
        parts[at if axes is None else axes[at]] = slice(start, end, None if steps is None else steps[at])
    return data[tuple(parts)]


def _cast(inputs: Sequence[Value], attributes: Attributes) -> Value | None:
    kind = _PLAIN.get(attributes.get("to", 0))
    lost = kind in {"int32", "int64"} and inputs[0].dtype.kind == "f"  # of what is too large machines differ
    return None if kind is None or (lost and not np.all(np.abs(inputs[0]) < 1 << 31)) else inputs[0].astype(kind)


def _reshape(inputs: Sequence[Value], attributes: Attributes) -> Value | None:
    data, wanted = inputs
    kept = not attributes.get("allowzero")
    sizes = [data.shape[at] if kept and size == 0 else size for at, size in enumerate(wanted.reshape(-1).tolist())]
    return data.reshape(sizes)


def _expand(inputs: Sequence[Value], _: Attributes) -> Value:
    data, wanted = inputs
    shape = np.broadcast_shapes(data.shape, tuple(wanted.reshape(-1).tolist()))
    return np.broadcast_to(data, shape).copy()


def _transpose(inputs: Sequence[Value], attributes: Attributes) -> Value:
    return np.transpose(inputs[0], attributes.get("perm"))


def _where(inputs: Sequence[Value], _: Attributes) -> Value | None:
    condition, left, right = inputs
    return np.where(condition, left, right) if condition.dtype == bool and left.dtype == right.dtype else None


def _constant_of_shape(inputs: Sequence[Value], attributes: Attributes) -> Value | None:
    value = attributes.get("value", np.zeros(1, np.float32))
    return None if value is None else np.full(inputs[0].tolist(), value.item(), value.dtype)


def _unary(function: Callable[[Any], Any], kinds: str) -> Rule:
    return lambda inputs, attributes: (
        None if attributes or inputs[0].dtype.kind not in kinds else np.asarray(function(inputs[0]))
    )


_RULES: Mapping[str, Rule] = {
    "Add": _of_two(np.add),
    "Sub": _of_two(np.subtract),
    "Mul": _of_two(np.multiply),
    "Div": _of_two(_divided),
    "Equal": _of_two(np.equal),
    "Less": _of_two(np.less),
    "Greater": _of_two(np.greater),
    "And": _of_two(np.logical_and),
    "Or": _of_two(np.logical_or),
    "Mod": _mod,
    "Gather": _gather,
    "Concat": _concat,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Slice": _slice,
    "Cast": _cast,
    "Reshape": _reshape,
    "Expand": _expand,
    "Transpose": _transpose,
    "Where": _where,
    "ConstantOfShape": _constant_of_shape,
    "Identity": _unary(np.copy, "fib"),
    "Sqrt": _unary(np.sqrt, "f"),
    "Floor": _unary(np.floor, "f"),
    "Ceil": _unary(np.ceil, "f"),
    "Neg": _unary(np.negative, "fi"),
    "Not": _unary(np.logical_not, "b"),
}
