"""Sequences of tensors, and optionals: what the nodes that make them and take them apart put out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper

from .problems import ModelError, label
from .tensors import Tensor, checked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    Inputs = Sequence[Tensor | None]
_MOST_ITEMS = 10_000


class _UnsettledError(Exception):
    """What comes out can't be said. The message says why."""


def handled(node: onnx.NodeProto, inputs: Inputs) -> bool:
    """Whether a node makes or reads a sequence or an optional, and is none of the control flow."""
    if node.domain not in ("", "ai.onnx"):
        return False
    if node.op_type == "Identity":
        return any(each is not None and (each.items is not None or each.absent) for each in inputs)
    return node.op_type in _RULES


def outputs(node: onnx.NodeProto, inputs: Inputs) -> list[Tensor]:
    """What such a node puts out.

    Raises:
        ModelError: the node is not valid.
    """
    attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute if not each.ref_attr_name}
    rule = _RULES.get(node.op_type, _identity)
    name = node.output[0] if node.output else ""
    try:
        made = rule(node, inputs, attributes)
    except _UnsettledError as error:
        made = Tensor(name=name, unknown=str(error))
    except (IndexError, ValueError, TypeError, ZeroDivisionError) as error:
        message = f"{label(node)} is not valid: {error}"
        raise ModelError(message) from None
    if any(node.output[1:]):
        message = f"{label(node)} is not valid: it has {len(node.output)} outputs and puts out one"
        raise ModelError(message)
    made.name = name
    return [made] if name else []


def _there(inputs: Inputs, at: int = 0) -> Tensor:
    tensor = inputs[at] if at < len(inputs) else None
    if tensor is None:
        message = f"its input {at} is left out"
        raise ValueError(message)
    return tensor


def _items(inputs: Inputs) -> tuple[Tensor, ...]:
    sequence = _there(inputs)
    if sequence.items is None:
        if sequence.unknown:
            raise _UnsettledError(sequence.unknown)
        message = f"'{sequence.name[:80]}' is no sequence"
        raise ValueError(message)
    return sequence.items


def _placed(
    node: onnx.NodeProto, inputs: Inputs, at: int, last: int, items: Sequence[Tensor]
) -> tuple[list[Tensor], int]:
    """The tensors, and the position among them that an input says.

    Where it is unknown and all are alike it is any, and no value is known.
    """
    position = inputs[at] if at < len(inputs) else None
    if position is None:
        return list(items), last
    value = position.known()
    if value is None or value.size != 1:
        if items and len({(each.data_type, each.shape) for each in items}) == 1 and items[0].shape is not None:
            return [Tensor(name=each.name, data_type=each.data_type, shape=each.shape) for each in items], 0
        reason = f"which place {label(node)} means depends on data, on '{position.name[:80]}'"
        raise _UnsettledError(reason)
    return list(items), int(value.reshape(-1)[0])


def _sequence(items: Sequence[Tensor], data_type: int = 0) -> Tensor:
    if len(items) > _MOST_ITEMS:
        message = f"a sequence of {len(items):,} tensors is longer than labgrade follows"
        raise ValueError(message)
    kind = items[0].data_type if items else data_type
    return Tensor(name="", data_type=kind, items=tuple(items))


def _identity(_node: onnx.NodeProto, inputs: Inputs, _attributes: Mapping[str, Any]) -> Tensor:
    return _there(inputs).like("")


def _construct(_node: onnx.NodeProto, inputs: Inputs, _attributes: Mapping[str, Any]) -> Tensor:
    return _sequence([_there(inputs, at) for at in range(len(inputs))])


def _empty(_node: onnx.NodeProto, _inputs: Inputs, attributes: Mapping[str, Any]) -> Tensor:
    return _sequence([], attributes.get("dtype", onnx.TensorProto.FLOAT))


def _at(node: onnx.NodeProto, inputs: Inputs, _attributes: Mapping[str, Any]) -> Tensor:
    items, place = _placed(node, inputs, 1, 0, _items(inputs))
    return items[place].like("")


def _insert(node: onnx.NodeProto, inputs: Inputs, _attributes: Mapping[str, Any]) -> Tensor:
    held = _items(inputs)
    (*items, new), place = _placed(node, inputs, 2, len(held), [*held, _there(inputs, 1)])
    if not -len(items) <= place <= len(items):
        message = f"{place} is no place in a sequence of {len(items)}"
        raise ValueError(message)
    items.insert(place, new)
    return _sequence(items)


def _erase(node: onnx.NodeProto, inputs: Inputs, _attributes: Mapping[str, Any]) -> Tensor:
    items, place = _placed(node, inputs, 1, -1, _items(inputs))
    kind = items[0].data_type if items else 0
    items.pop(place)
    return _sequence(items, kind)


def _length(_node: onnx.NodeProto, inputs: Inputs, _attributes: Mapping[str, Any]) -> Tensor:
    count = np.array(len(_items(inputs)), dtype=np.int64)
    return Tensor(name="", data_type=onnx.TensorProto.INT64, shape=(), source=lambda: count)


def _concat(node: onnx.NodeProto, inputs: Inputs, attributes: Mapping[str, Any]) -> Tensor:
    items = _items(inputs)
    unknown = next((each.unknown for each in items if each.shape is None), "")
    if unknown or not items:
        raise _UnsettledError(unknown or f"{label(node)} joins a sequence of no tensors")
    shapes = [each.shape or () for each in items]
    axis, first = attributes.get("axis", 0), shapes[0]
    if attributes.get("new_axis"):
        if len(set(shapes)) != 1:
            message = f"it stacks tensors of {len(set(shapes))} shapes"
            raise ValueError(message)
        axis %= len(first) + 1
        shape: tuple[int, ...] = (*first[:axis], len(items), *first[axis:])
    else:
        axis %= len(first)
        if len({(*each[:axis], *each[axis + 1 :]) for each in shapes}) != 1:
            message = "it joins tensors that differ in another axis"
            raise ValueError(message)
        shape = (*first[:axis], sum(each[axis] for each in shapes), *first[axis + 1 :])
    return Tensor(name="", data_type=items[0].data_type, shape=checked(shape, node.output[0]))


def _split(node: onnx.NodeProto, inputs: Inputs, attributes: Mapping[str, Any]) -> Tensor:
    whole = _there(inputs)
    if whole.shape is None:
        raise _UnsettledError(whole.unknown)
    axis = attributes.get("axis", 0) % len(whole.shape)
    sizes = _pieces(node, inputs, whole.shape[axis])
    before, behind = whole.shape[:axis], whole.shape[axis + 1 :]
    if (len(inputs) > 1 and inputs[1] is not None) or attributes.get("keepdims", 1):
        shapes = [(*before, size, *behind) for size in sizes]
    else:
        shapes = [(*before, *behind)] * len(sizes)
    items = [Tensor(name=node.output[0], data_type=whole.data_type, shape=shape) for shape in shapes]
    return _sequence(items, whole.data_type)


def _pieces(node: onnx.NodeProto, inputs: Inputs, size: int) -> list[int]:
    if len(inputs) < 2 or inputs[1] is None:  # noqa: PLR2004 - the second input
        if size > _MOST_ITEMS:
            message = f"it makes {size:,} tensors, more than labgrade follows"
            raise ValueError(message)
        return [1] * size
    value = inputs[1].known()
    if value is None:
        reason = inputs[1].unknown or f"into what {label(node)} splits depends on data, on '{inputs[1].name[:80]}'"
        raise _UnsettledError(reason)
    if value.ndim:
        pieces = [int(each) for each in value]
        if sum(pieces) != size or min(pieces, default=0) < 0:
            message = f"it splits {size} into {pieces[:8]}"
            raise ValueError(message)
        return pieces
    piece = int(value)
    if piece < 1 or size / piece > _MOST_ITEMS:
        message = f"it splits {size} into pieces of {piece}"
        raise ValueError(message)
    return [piece] * (size // piece) + [size % piece] * (size % piece > 0)


def _optional(_node: onnx.NodeProto, inputs: Inputs, _attributes: Mapping[str, Any]) -> Tensor:
    held = inputs[0] if inputs else None
    return Tensor(name="", absent=True) if held is None else held.like("")


def _element(_node: onnx.NodeProto, inputs: Inputs, _attributes: Mapping[str, Any]) -> Tensor:
    held = _there(inputs)
    if held.absent:
        message = f"'{held.name[:80]}' holds nothing"
        raise ValueError(message)
    return held.like("")


def _has(_node: onnx.NodeProto, inputs: Inputs, _attributes: Mapping[str, Any]) -> Tensor:
    held = inputs[0] if inputs else None
    there = np.array(held is not None and not held.absent)
    unknown = held is not None and not held.is_known
    return Tensor(name="", data_type=onnx.TensorProto.BOOL, shape=(), source=lambda: None if unknown else there)


_RULES: Mapping[str, Callable[[onnx.NodeProto, Inputs, Mapping[str, Any]], Tensor]] = {
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceAt": _at,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceLength": _length,
    "ConcatFromSequence": _concat,
    "SplitToSequence": _split,
    "Optional": _optional,
    "OptionalGetElement": _element,
    "OptionalHasElement": _has,
}
