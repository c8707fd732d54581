"""Multiply-accumulate operations of one node, from the shapes that it reads and writes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from . import classical, microsoft
from .attributes import value_of
from .counted_nothing import NOTHING, WITHOUT_RULE
from .problems import ModelError, label

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .run import NodeRun

    Shapes = list[tuple[int, ...]]
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def macs(step: NodeRun) -> int:
    """How many a step takes; 0 for an operator that multiplies no matrices (`counted_nothing.py`).

    Raises:
        ModelError: a shape is unknown, or the operator multiplies in a way that has no rule here; names the node.
    """
    domain = "" if step.node.domain == "ai.onnx" else step.node.domain
    key = (domain, step.node.op_type)
    rule = RULES.get(key)
    if rule is None:
        if key in NOTHING:
            return 0
        why = WITHOUT_RULE.get(key)
        message = f"{label(step.node)}: there is no rule for how many multiplications this operator takes"
        raise ModelError(f"{message}: {why}" if why else message)
    try:
        return rule(step)
    except microsoft.MissingError as error:
        message = f"{label(step.node)}: {error}"
        raise ModelError(message) from None
    except (IndexError, AttributeError, ValueError, TypeError, ZeroDivisionError) as error:
        if isinstance(error, ModelError):
            raise
        message = f"{label(step.node)} is not valid: {error}"
        raise ModelError(message) from None


def _input(step: NodeRun, at: int) -> tuple[int, ...]:
    tensor = step.inputs[at]
    if tensor is None:
        message = f"{label(step.node)} is not valid: its input {at} is left out"
        raise ModelError(message)
    return tensor.shaped()


def _output(step: NodeRun) -> int:
    return math.prod(step.outputs[0].shaped())


def _attributes(step: NodeRun) -> Mapping[str, object]:
    return {each.name: value_of(each) for each in step.node.attribute if not each.ref_attr_name}


def _conv(step: NodeRun, weight: int = 1) -> int:
    """Output elements x (input channels / groups) x kernel elements: the weight is [out, in / groups, *kernel]."""
    return _output(step) * math.prod(_input(step, weight)[1:])


def _conv_transpose(step: NodeRun) -> int:
    """Input elements x (output channels / groups) x kernel elements: the weight is [in, out / groups, *kernel]."""
    return math.prod(_input(step, 0)) * math.prod(_input(step, 1)[1:])


def _gemm(step: NodeRun) -> int:
    shape = _input(step, 0)
    return _output(step) * shape[0 if _attributes(step).get("transA") else 1]


def _matmul(step: NodeRun) -> int:
    return _output(step) * _input(step, 0)[-1]


def _recurrent(step: NodeRun) -> int:
    """Steps x batch x directions x gates x hidden x (inputs + hidden): W is [directions, gates * hidden, inputs]."""
    sequence, weight = _input(step, 0), _input(step, 1)
    directions, rows, inputs = weight
    hidden = rows // _GATES[step.node.op_type]
    return sequence[0] * sequence[1] * directions * rows * (inputs + hidden)


def _einsum(step: NodeRun) -> int:
    """The product of all sizes that the equation names, for two operands; one operand is only moved or summed."""
    shapes: Shapes = [_input(step, at) for at in range(len(step.inputs))]
    equation = _attributes(step).get("equation", b"")
    text = equation.decode() if isinstance(equation, bytes) else ""
    terms = text.replace(" ", "").partition("->")[0].split(",")
    if len(shapes) == 1:
        return 0
    if len(shapes) != 2 or "..." in text or [len(term) for term in terms] != [len(shape) for shape in shapes]:  # noqa: PLR2004
        message = f"{label(step.node)}: how '{text[:80]}' is multiplied out is not laid down"
        raise ModelError(message)
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, size in zip(term, shape, strict=True):
            sizes[letter] = max(size, sizes.get(letter, 1))
    return math.prod(sizes.values())


def _causal_conv(step: NodeRun) -> int:
    """A convolution of each channel by itself: the weight is [channels, 1, kernel]."""
    return _conv(step)


def _linear_model(step: NodeRun) -> int:
    """Samples x coefficients: those of all classes or targets stand in one list."""
    given = _attributes(step).get("coefficients")
    return classical.rows(_input(step, 0)) * len(given if isinstance(given, list) else [])


def _contracted(step: NodeRun) -> int:
    return _output(step) * microsoft.contracted(microsoft.Call(step.node, step.inputs))


def _lstm_of_quantised(step: NodeRun) -> int:
    """As LSTM, with W the other way round: [directions, inputs, gates * hidden]."""
    sequence, weight = _input(step, 0), _input(step, 1)
    directions, inputs, rows = weight
    return sequence[0] * sequence[1] * directions * rows * (inputs + rows // _GATES["LSTM"])


def _packed_attention(step: NodeRun) -> int:
    """The projections, then queries by keys and the weighted sum of the values, over all that came before as well."""
    call = microsoft.Call(step.node, step.inputs)
    batch, length, hidden = call.shape(0)
    query, key, value = microsoft.widths(call)
    at = 8 if step.node.op_type == "QAttention" else 4
    past = call.shape(at)[3] if call.has(at) else 0
    return batch * length * (hidden * (query + key + value) + (past + length) * (query + value))


def _separate_attention(step: NodeRun) -> int:
    """Queries by keys and the weighted sum of the values; the projections are nodes of their own."""
    call = microsoft.Call(step.node, step.inputs)
    if call.has(8) or len(call.shape(0)) != 3 or not call.has(2):  # noqa: PLR2004 - batch, length, width
        message = f"{label(step.node)}: there is no rule for attention on packed inputs, or on a shared buffer"
        raise ModelError(message)
    batch, length, width = call.shape(0)
    key = call.shape(1)
    keys = key[1] if len(key) == 3 else key[2]  # noqa: PLR2004 - else by heads
    past = call.shape(6)[2] if call.has(6) else 0
    return batch * length * (keys + past) * (width + step.outputs[0].shaped()[2])


def _attention(step: NodeRun) -> int:
    """Queries by keys and the weighted sum of the values, for each head of the query; a mask leaves nothing out."""
    query, key, value = (_input(step, at) for at in range(3))
    length, heads = (query[2], 0) if len(query) == 4 else (query[1], _heads(step))  # noqa: PLR2004 - else 3
    keys = key[2] if len(key) == 4 else key[1]  # noqa: PLR2004
    past = _input(step, 4)[2] if len(step.inputs) > 4 and step.inputs[4] is not None else 0  # noqa: PLR2004
    width = query[1] * query[3] if not heads else query[2]
    values = query[1] * value[3] if not heads else step.outputs[0].shaped()[2]
    return query[0] * length * (keys + past) * (width + values)


def _heads(step: NodeRun) -> int:
    found = _attributes(step).get("q_num_heads")
    if not isinstance(found, int) or found < 1:
        message = "attention of three dimensions needs q_num_heads"
        raise ValueError(message)
    return found


def _affine_grid(step: NodeRun) -> int:
    """A product of each point's coordinates, one more than there are axes, with a matrix a sample."""
    return _output(step) * _input(step, 0)[2]


_ONNX: Mapping[str, Callable[[NodeRun], int]] = {
    "Conv": _conv,
    "ConvInteger": _conv,
    "QLinearConv": lambda step: _conv(step, 3),
    "ConvTranspose": _conv_transpose,
    "CausalConvWithState": _causal_conv,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "MatMulInteger": _matmul,
    "QLinearMatMul": _matmul,
    "Einsum": _einsum,
    "RNN": _recurrent,
    "GRU": _recurrent,
    "LSTM": _recurrent,
    "Attention": _attention,
    "AffineGrid": _affine_grid,
}
_MICROSOFT: Mapping[str, Callable[[NodeRun], int]] = {
    "FusedConv": _conv,
    "QLinearConv": lambda step: _conv(step, 3),
    "DynamicQuantizeMatMul": _matmul,
    "MatMulIntegerToFloat": _matmul,
    "MatMulNBits": _matmul,
    "MatMulBnb4": _matmul,
    "GemmFastGelu": _matmul,
    "FusedMatMul": _contracted,
    "TransposeMatMul": _contracted,
    "FusedMatMulActivation": _contracted,
    "FusedGemm": _contracted,
    "QGemm": _contracted,
    "DynamicQuantizeLSTM": _lstm_of_quantised,
    "Attention": _packed_attention,
    "QAttention": _packed_attention,
    "MultiHeadAttention": _separate_attention,
}
RULES: Mapping[tuple[str, str], Callable[[NodeRun], int]] = {
    **{("", name): rule for name, rule in _ONNX.items()},
    **{(microsoft.DOMAIN, name): rule for name, rule in _MICROSOFT.items()},
    (classical.DOMAIN, "LinearClassifier"): _linear_model,
    (classical.DOMAIN, "LinearRegressor"): _linear_model,
}
