"""Multiply-accumulate operations of one node, from the shapes that it reads and writes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from onnx import helper

from .nodes import label
from .problems import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .run import NodeRun

    Shapes = list[tuple[int, ...]]
# An operator that is made of products in a way that no rule here knows: better named than counted as nothing.
WITHOUT_RULE = frozenset({"Attention", "DeformConv", "LinearAttention"})
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def macs(step: NodeRun) -> int:
    """How many a step takes; 0 for an operator that multiplies no matrices.

    Raises:
        ModelError: a shape is unknown, or the operator multiplies in a way that has no rule here; names the node.
    """
    kind = step.node.op_type
    if step.node.domain not in ("", "ai.onnx"):
        return 0
    if kind in WITHOUT_RULE:
        message = f"{label(step.node)}: there is no rule for how many multiplications this operator takes"
        raise ModelError(message)
    rule = _RULES.get(kind)
    try:
        return rule(step) if rule is not None else 0
    except (IndexError, AttributeError) as error:
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
    return {each.name: helper.get_attribute_value(each) for each in step.node.attribute if not each.ref_attr_name}


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


_RULES: Mapping[str, Callable[[NodeRun], int]] = {
    "Conv": _conv,
    "ConvInteger": _conv,
    "QLinearConv": lambda step: _conv(step, 3),
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "MatMulInteger": _matmul,
    "QLinearMatMul": _matmul,
    "Einsum": _einsum,
    "RNN": _recurrent,
    "GRU": _recurrent,
    "LSTM": _recurrent,
}
