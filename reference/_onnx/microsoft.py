"""onnxruntime's own operators, com.microsoft: what those of quantised and optimised files put out.

ONNX knows nothing of them. An operator that has no rule here is named wherever its shape is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from .attributes import value_of
from .problems import ModelError, label
from .tensors import Tensor, checked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Shape = tuple[int, ...]
    Found = tuple[int, Shape]  # type and shape
DOMAIN = "com.microsoft"
_FLOAT, _UINT8, _INT32 = onnx.TensorProto.FLOAT, onnx.TensorProto.UINT8, onnx.TensorProto.INT32


class MissingError(Exception):
    """A shape or a value that is needed is not known. The message says why."""


class Call:
    """A node with what it reads, as the rules ask for it."""

    def __init__(self, node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> None:
        self.node = node
        self._inputs = inputs
        self._attributes = {each.name: each for each in node.attribute if not each.ref_attr_name}

    def has(self, at: int) -> bool:
        """Whether an input is given."""
        return at < len(self._inputs) and self._inputs[at] is not None

    def shape(self, at: int) -> Shape:
        """The shape of an input; the node is not valid without it."""
        tensor = self._inputs[at] if at < len(self._inputs) else None
        if tensor is None:
            message = f"its input {at} is left out"
            raise ValueError(message)
        if tensor.shape is None:
            raise MissingError(tensor.unknown or f"the shape of '{tensor.name[:80]}' is unknown")
        return tensor.shape

    def kind(self, at: int) -> int:
        """The element type of an input."""
        tensor = self._inputs[at] if at < len(self._inputs) else None
        return tensor.data_type if tensor is not None else 0

    def known(self, at: int) -> Any:
        """The value of an input."""
        tensor = self._inputs[at] if at < len(self._inputs) else None
        value = tensor.known() if tensor is not None else None
        if value is None:
            msg = f"the size of what {label(self.node)} puts out depends on data"
            raise MissingError(msg)
        return value

    def get(self, name: str, default: Any) -> Any:
        """An attribute."""
        found = self._attributes.get(name)
        return default if found is None else value_of(found)


def outputs(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> list[Tensor]:
    """What a node of com.microsoft puts out, for each of its outputs that has a name.

    Raises:
        ModelError: the node is not valid.
    """
    rule = _RULES.get(node.op_type)
    reason = f"there is no rule for what {label(node)} puts out"
    made: Sequence[Found] = ()
    if rule is not None:
        try:
            made = rule(Call(node, inputs))
        except MissingError as error:
            reason = str(error)
        except (IndexError, TypeError, ValueError, ZeroDivisionError) as error:
            message = f"{label(node)} is not valid: {error}"
            raise ModelError(message) from None
    tensors = []
    for at, name in enumerate(node.output):
        if name and at < len(made):
            tensors.append(Tensor(name=name, data_type=made[at][0], shape=checked(made[at][1], name)))
        elif name:
            tensors.append(Tensor(name=name, unknown=reason))
    return tensors


# ---- shapes ----------------------------------------------------------------------------------------------------


def _like(*places: int) -> Callable[[Call], list[Found]]:
    return lambda call: [(call.kind(at), call.shape(at)) for at in places]


def _broadcast(first: int, second: int, *more: int) -> Callable[[Call], list[Found]]:
    def rule(call: Call) -> list[Found]:
        shapes = [call.shape(at) for at in (first, second, *more)]
        return [(call.kind(second), tuple(map(int, np.broadcast_shapes(*shapes))))]

    return rule


def _skip_norm(call: Call) -> list[Found]:
    """The sum with the skipped input comes last; before it mean and deviation, one a row."""
    kind, shape = call.kind(0), call.shape(0)
    rows = (*shape[:-1], 1)
    return [(kind, shape), (_FLOAT, rows), (_FLOAT, rows), (kind, shape)]


def _embed(call: Call) -> list[Found]:
    batch, length = call.shape(0)
    kind = _FLOAT if call.node.op_type.startswith("Q") else call.kind(2)
    return [(kind, (batch, length, call.shape(2)[1])), (_INT32, (batch,)), (kind, (batch, length, call.shape(2)[1]))]


def contracted(call: Call, first: int = 0) -> int:
    """The size that a matrix product adds up over."""
    shape, turned = call.shape(first), bool(call.get("transA", 0))
    if turned and call.get("transBatchA", 0):
        return shape[0]
    return shape[-2] if turned and len(shape) > 1 else shape[-1]


def _product(first: Shape, second: Shape) -> Shape:
    """The shape of a matrix product, as numpy has it."""
    one, two = first or (1,), second or (1,)
    left, right = (1, *one) if len(one) == 1 else one, (*two, 1) if len(two) == 1 else two
    if left[-1] != right[-2]:
        message = f"{list(first)} and {list(second)} can't be multiplied"
        raise ValueError(message)
    batch = tuple(map(int, np.broadcast_shapes(left[:-2], right[:-2])))
    return (*batch, *([left[-2]] * (len(one) > 1)), *([right[-1]] * (len(two) > 1)))


def _turned(shape: Shape, *, turn: bool, batch: bool) -> Shape:
    if batch and len(shape) > 1:
        shape = (*shape[1:-1], shape[0], shape[-1])
    return (*shape[:-2], shape[-1], shape[-2]) if turn and len(shape) > 1 else shape


def _matmul(second: int = 1, *, floats: bool = False) -> Callable[[Call], list[Found]]:
    def rule(call: Call) -> list[Found]:
        one, two = (
            _turned(
                call.shape(at), turn=bool(call.get(f"trans{which}", 0)), batch=bool(call.get(f"transBatch{which}", 0))
            )
            for at, which in ((0, "A"), (second, "B"))
        )
        return [(_FLOAT if floats else call.kind(0), _product(one, two))]

    return rule


def _qgemm(call: Call) -> list[Found]:
    (found,) = _matmul(3)(call)
    return [(call.kind(8) if call.has(8) else _FLOAT, found[1])]


def _packed_matmul(call: Call) -> list[Found]:
    """The second matrix is packed; its sizes are attributes."""
    shape = call.shape(0)
    if shape[-1] != call.get("K", 0):
        message = f"{list(shape)} can't be multiplied by {call.get('K', 0)} rows"
        raise ValueError(message)
    return [(call.kind(0), (*shape[:-1], int(call.get("N", 0))))]


def _lstm(call: Call) -> list[Found]:
    """The weights stand the other way round than in ONNX's LSTM: [directions, inputs, gates * hidden]."""
    steps, batch, _ = call.shape(0)
    directions, _, rows = call.shape(1)
    hidden = rows // 4
    last = (directions, batch, hidden)
    return [(_FLOAT, (steps, directions, batch, hidden)), (_FLOAT, last), (_FLOAT, last)]


def _sizes(call: Call, spatial: Shape, kernel: Sequence[int]) -> Shape:
    """How many windows fit on each axis."""
    count = len(spatial)
    strides, dilations = call.get("strides", [1] * count), call.get("dilations", [1] * count)
    pads = call.get("pads", [0] * 2 * count)
    auto, up = call.get("auto_pad", b"NOTSET").decode(), bool(call.get("ceil_mode", 0))
    found = []
    for axis, size in enumerate(spatial):
        stride, reach = strides[axis], dilations[axis] * (kernel[axis] - 1) + 1
        if auto.startswith("SAME"):
            found.append(-(-size // stride))
            continue
        before, behind = (0, 0) if auto == "VALID" else (pads[axis], pads[axis + count])
        room = size + before + behind - reach
        windows = (-(-room // stride) if up else room // stride) + 1
        found.append(windows - (up and (windows - 1) * stride >= size + before))
    return tuple(found)


def _conv(weight: int, kind: int) -> Callable[[Call], list[Found]]:
    def rule(call: Call) -> list[Found]:
        last, filters = bool(call.get("channels_last", 0)), call.shape(weight)
        batch, spatial = _taken_apart(call.shape(0), last=last)[::2]
        sizes = _sizes(call, spatial, filters[2:])
        return [(call.kind(kind), (batch, *sizes, filters[0]) if last else (batch, filters[0], *sizes))]

    return rule


def _taken_apart(shape: Shape, *, last: bool) -> tuple[int, int, Shape]:
    return (shape[0], shape[-1], shape[1:-1]) if last else (shape[0], shape[1], shape[2:])


def _pool(call: Call) -> list[Found]:
    last = bool(call.get("channels_last", call.node.op_type.startswith("Nhwc")))
    batch, channels, spatial = _taken_apart(call.shape(0), last=last)
    everywhere = "Global" in call.node.op_type
    sizes = (1,) * len(spatial) if everywhere else _sizes(call, spatial, call.get("kernel_shape", []))
    return [(call.kind(0), (batch, *sizes, channels) if last else (batch, channels, *sizes))]


def _concat(call: Call) -> list[Found]:
    shapes = [call.shape(at) for at in range(2, len(call.node.input), 3)]
    axis = call.get("axis", 0) % len(shapes[0])
    if len({(*each[:axis], *each[axis + 1 :]) for each in shapes}) != 1:
        message = "it joins tensors that differ in another axis"
        raise ValueError(message)
    joined = sum(each[axis] for each in shapes)
    return [(call.kind(1), (*shapes[0][:axis], joined, *shapes[0][axis + 1 :]))]


def _reduce(call: Call) -> list[Found]:
    shape = call.shape(0)
    axes = {axis % len(shape) for axis in call.get("axes", range(len(shape)))}
    keep = bool(call.get("keepdims", 1))
    return [(call.kind(0), tuple(1 if at in axes else size for at, size in enumerate(shape) if keep or at not in axes))]


def _attention(call: Call) -> list[Found]:
    """Packed weights of query, key and value behind each other; the past comes before what is new."""
    batch, length, _ = call.shape(0)
    hidden = widths(call)[2]
    heads = int(call.get("num_heads", 1))
    quantised = call.node.op_type.startswith("Q")
    kind = _FLOAT if quantised else call.kind(0)
    past = call.shape(8 if quantised else 4)[3] if call.has(8 if quantised else 4) else 0
    return [(kind, (batch, length, hidden)), (kind, (2, batch, heads, past + length, hidden // heads))]


def widths(call: Call) -> tuple[int, int, int]:
    """The widths of query, key and value of an Attention."""
    given = call.get("qkv_hidden_sizes", None)
    if given:
        return given[0], given[1], given[2]
    third = call.shape(1)[1] // 3
    return third, third, third


def _multi_head(call: Call) -> list[Found]:
    shape = call.shape(0)
    if len(shape) != 3 or not call.has(2):  # noqa: PLR2004 - batch, length, width
        msg = f"{label(call.node)} is given query, key and value packed, for which there is no rule"
        raise MissingError(msg)
    value = call.shape(2)
    width = value[2] if len(value) == 3 else value[1] * value[3]  # noqa: PLR2004
    return [(call.kind(0), (shape[0], shape[1], width))]


def _of_type(at: int) -> Callable[[Call], list[Found]]:
    """Shaped like the first input, of another one's type."""
    return lambda call: [(call.kind(at) if call.has(at) else _UINT8, call.shape(0))]


_RULES: Mapping[str, Callable[[Call], Sequence[Found]]] = {
    **dict.fromkeys(
        (
            *("Gelu", "FastGelu", "QuickGelu", "BiasGelu", "BiasAdd", "BiasSoftmax", "GroupNorm", "Inverse", "Trilu"),
            *("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "RotaryEmbedding", "ComplexMul"),
        ),
        _like(0),
    ),
    "SkipLayerNormalization": _skip_norm,
    "SkipSimplifiedLayerNormalization": _skip_norm,
    "EmbedLayerNormalization": _embed,
    "QEmbedLayerNormalization": _embed,
    "QuantizeLinear": _of_type(2),
    "DequantizeLinear": _of_type(1),
    "QLinearAdd": _broadcast(0, 3),
    "QLinearMul": _broadcast(0, 3),
    "QLinearWhere": _broadcast(0, 1, 4),
    "QLinearConcat": _concat,
    "QLinearReduceMean": _reduce,
    "QLinearAveragePool": _pool,
    "QLinearGlobalAveragePool": _pool,
    "NhwcMaxPool": _pool,
    "QLinearConv": _conv(3, 7),
    "FusedConv": _conv(1, 0),
    "QGemm": _qgemm,
    "FusedGemm": _matmul(),
    "GemmFastGelu": _matmul(),
    "FusedMatMul": _matmul(),
    "TransposeMatMul": _matmul(),
    "FusedMatMulActivation": _matmul(),
    "DynamicQuantizeMatMul": _matmul(floats=True),
    "MatMulIntegerToFloat": _matmul(floats=True),
    "MatMulNBits": _packed_matmul,
    "MatMulBnb4": _packed_matmul,
    "DynamicQuantizeLSTM": _lstm,
    "QAttention": _attention,
    "Attention": _attention,
    "MultiHeadAttention": _multi_head,
}
SHAPED = frozenset(_RULES)
