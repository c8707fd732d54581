"""Shapes that ONNX's own inference does not find, or finds wrong."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import defs, helper

from . import classical
from .problems import ModelError, label
from .tensors import Tensor, checked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .tensors import Value

    Inputs = Sequence[Tensor | None]
    Found = tuple[int, tuple[int, ...]] | None  # type and shape
# Below opset 22, inference keeps a window of a pool that rounds up though it starts in the padding behind the data.
# Runtimes leave it out at every opset, as inference does from 22 on.
_POOLS = frozenset({"AveragePool", "MaxPool", "LpPool"})
_POOLS_RIGHT = 22
# Before opset 6, ONNX has no rule for these: their output is like their first input.
_LIKE_FIRST = frozenset(
    (
        *("Abs", "Add", "BatchNormalization", "Ceil", "Clip", "Div", "Dropout", "Elu", "Exp", "Floor", "HardSigmoid"),
        *("InstanceNormalization", "LeakyRelu", "Log", "Mul", "Neg", "PRelu", "Reciprocal", "Relu", "Selu", "Sigmoid"),
        *("Sqrt", "Sub", "Tanh", "Max", "Mean", "Min", "Sum"),
    )
)
_HAS_RULES = 6
# Their outputs are no larger than their inputs, so that computing them takes little where the inputs are small.
_SIZED_BY_VALUE = frozenset({"NonZero", "Unique", "StringSplit", "StringNormalizer", "NonMaxSuppression"})


def believed(schema: defs.OpSchema, node: onnx.NodeProto) -> tuple[defs.OpSchema, onnx.NodeProto]:
    """What ONNX's inference is asked, so that its answer is right."""
    if node.op_type in _POOLS and schema.since_version < _POOLS_RIGHT and _attribute(node, "ceil_mode"):
        return defs.get_schema(node.op_type, _POOLS_RIGHT, schema.domain), node
    if node.op_type == "STFT" and not any(each.name == "onesided" for each in node.attribute):
        said = onnx.NodeProto()
        said.CopyFrom(node)
        said.attribute.append(helper.make_attribute("onesided", 1))  # the default, which inference takes for 0
        return schema, said
    return schema, node


def _attribute(node: onnx.NodeProto, name: str, default: int = 0) -> int:
    return next((each.i for each in node.attribute if each.name == name), default)


def settle(
    tensor: Tensor, at: int, node: onnx.NodeProto, inputs: Inputs, version: int, value: Callable[[], Value | None]
) -> None:
    """Give output `at` of a node, whose shape ONNX's inference did not find, its shape, or say why there is none.

    `value` computes it where all inputs are known.
    """
    first = inputs[0] if inputs else None
    if (
        node.op_type in _LIKE_FIRST
        and node.domain in ("", "ai.onnx")
        and version < _HAS_RULES
        and first is not None
        and not at
    ):
        tensor.data_type, tensor.shape, tensor.unknown = first.data_type, first.shape, first.unknown
        return
    try:
        found = _found(at, node, inputs)
    except (IndexError, TypeError, ValueError, OverflowError) as error:
        message = f"{label(node)} is not valid: {error}"
        raise ModelError(message) from None
    if found is None and node.op_type in _SIZED_BY_VALUE and (own := value()) is not None:
        found = (helper.np_dtype_to_tensor_dtype(own.dtype), own.shape)
    if found is not None:
        tensor.data_type, tensor.shape = found[0] or tensor.data_type, checked(found[1], tensor.name)
        return
    causes = [each.unknown for each in inputs if each is not None and each.unknown]
    tensor.unknown = causes[0] if causes else _why(node, inputs)


def disputed(node: onnx.NodeProto) -> bool:
    """Whether runtimes differ on the size: onnxruntime leaves out windows that ONNX's definition has."""
    if node.op_type not in _POOLS:
        return False
    padding = next((each.s for each in node.attribute if each.name == "auto_pad"), b"")
    dilated = any(each != 1 for own in node.attribute if own.name == "dilations" for each in own.ints)
    return padding.startswith(b"SAME") and dilated


def _why(node: onnx.NodeProto, inputs: Inputs) -> str:
    """Why there is no shape, where all that the node reads has one."""
    if disputed(node):
        return f"{label(node)} has dilations and SAME padding, of whose size runtimes differ"
    if node.op_type == "ZipMap":
        return f"{label(node)} puts out a sequence of maps, whose bytes are not agreed upon"
    if node.domain == classical.DOMAIN:
        return f"there is no rule for what {label(node)} puts out"
    deciding = inputs[1:2] if node.op_type == "Compress" else inputs
    unread = [each for each in deciding if each is not None and each.known() is None]
    if unread and all(each.kind in ("weight", "constant") for each in unread):
        return (
            f"the size of what {label(node)} puts out depends on '{unread[0].name[:80]}', which is too large to be read"
        )
    return f"the size of what {label(node)} puts out depends on data"


def _found(at: int, node: onnx.NodeProto, inputs: Inputs) -> Found:
    if node.domain == classical.DOMAIN:
        return classical.found(at, node, inputs)
    rule = _RULES.get(node.op_type)
    return rule(at, node, inputs) if rule is not None else None


def _known(inputs: Inputs, at: int) -> Value | None:
    tensor = inputs[at] if at < len(inputs) else None
    return tensor.known() if tensor is not None else None


def _shape(inputs: Inputs, at: int) -> tuple[int, ...] | None:
    tensor = inputs[at] if at < len(inputs) else None
    return tensor.shape if tensor is not None else None


def _type(inputs: Inputs, at: int) -> int:
    tensor = inputs[at] if at < len(inputs) else None
    return tensor.data_type if tensor is not None else 0


def _dropout(at: int, _node: onnx.NodeProto, inputs: Inputs) -> Found:
    """The mask of opsets 1 to 9, which has the type of the data there."""
    shape = _shape(inputs, 0)
    return (_type(inputs, 0), shape) if at <= 1 and shape is not None else None


def _batch_norm(at: int, _node: onnx.NodeProto, inputs: Inputs) -> Found:
    """Behind the data, opsets 1 to 9 put out mean and variance, each like the mean that comes in."""
    shape = _shape(inputs, 3 if at else 0)
    return (_type(inputs, 3 if at else 0), shape) if shape is not None else None


def _compress(_at: int, node: onnx.NodeProto, inputs: Inputs) -> Found:
    shape, condition = _shape(inputs, 0), _known(inputs, 1)
    if shape is None or condition is None:
        return None
    axis = next((each.i for each in node.attribute if each.name == "axis"), None)
    length = math.prod(shape) if axis is None else shape[axis]
    kept = int(np.count_nonzero(condition.reshape(-1)[:length]))
    if axis is None:
        return _type(inputs, 0), (kept,)
    axis %= len(shape)
    return _type(inputs, 0), (*shape[:axis], kept, *shape[axis + 1 :])


def _one_hot(_at: int, node: onnx.NodeProto, inputs: Inputs) -> Found:
    shape, depth = _shape(inputs, 0), _known(inputs, 1)
    if shape is None or depth is None or depth.size != 1:
        return None
    axis = _attribute(node, "axis", -1) % (len(shape) + 1)
    return _type(inputs, 2), (*shape[:axis], int(depth.reshape(-1)[0]), *shape[axis:])


def _range(_at: int, _node: onnx.NodeProto, inputs: Inputs) -> Found:
    values = [_known(inputs, at) for at in range(3)]
    start, limit, delta = (None if each is None or each.size != 1 else each.reshape(-1)[0].item() for each in values)
    if start is None or limit is None or not delta:
        return None
    if all(isinstance(each, int) for each in (start, limit, delta)):
        return _type(inputs, 0), (max(-((start - limit) // delta), 0),)
    return _type(inputs, 0), (max(math.ceil((limit - start) / delta), 0),)


def _max_unpool(_at: int, _node: onnx.NodeProto, inputs: Inputs) -> Found:
    wanted = _known(inputs, 2)
    return (_type(inputs, 0), tuple(int(each) for each in wanted)) if wanted is not None else None


def _mel(_at: int, node: onnx.NodeProto, inputs: Inputs) -> Found:
    bins, length = _known(inputs, 0), _known(inputs, 1)
    if bins is None or length is None:
        return None
    data_type = _attribute(node, "output_datatype", onnx.TensorProto.FLOAT)
    return data_type, (int(length.reshape(-1)[0]) // 2 + 1, int(bins.reshape(-1)[0]))


def _gradient(at: int, _node: onnx.NodeProto, inputs: Inputs) -> Found:
    """Of each tensor that comes in, up to those that are only needed, one of its shape."""
    shape = _shape(inputs, at)
    return (_type(inputs, at), shape) if shape is not None else None


_RULES: Mapping[str, Callable[[int, onnx.NodeProto, Inputs], Found]] = {
    "Dropout": _dropout,
    "BatchNormalization": _batch_norm,
    "Compress": _compress,
    "OneHot": _one_hot,
    "Range": _range,
    "MaxUnpool": _max_unpool,
    "MelWeightMatrix": _mel,
    "Gradient": _gradient,
}
