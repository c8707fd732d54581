"""What operators of TorchScript do: which multiply, which are layers, which only look at a tensor in another way."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from .walk import TracedTensor

if TYPE_CHECKING:
    from .walk import Operator

CONVOLUTIONS = frozenset(
    {
        "aten::_convolution",
        "aten::convolution",
        "aten::_convolution_mode",
        "aten::conv1d",
        "aten::conv2d",
        "aten::conv3d",
    }
)
PRODUCTS = frozenset({"aten::linear", "aten::addmm", "aten::mm", "aten::matmul", "aten::bmm"})
_LAYERS = frozenset(
    [
        "batch_norm",
        "layer_norm",
        "group_norm",
        "instance_norm",
        "dropout",
        "feature_dropout",
        "relu",
        "hardtanh",
        "relu6",
        "gelu",
        "silu",
        "hardswish",
        "hardsigmoid",
        "sigmoid",
        "tanh",
        "leaky_relu",
        "elu",
        "softmax",
        "log_softmax",
        "max_pool1d",
        "max_pool2d",
        "max_pool3d",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool3d",
        "adaptive_avg_pool1d",
        "adaptive_avg_pool2d",
        "adaptive_max_pool2d",
    ]
)
_JOINS = frozenset(["add", "sub", "mul", "div", "cat", "stack", "mean", "sum"])
_VIEWS = frozenset(
    [
        "flatten",
        "view",
        "reshape",
        "transpose",
        "t",
        "permute",
        "contiguous",
        "slice",
        "select",
        "split",
        "split_with_sizes",
        "chunk",
        "narrow",
        "expand",
        "squeeze",
        "unsqueeze",
        "size",
        "Int",
        "floor_divide",
        "detach",
        "alias",
        "unflatten",
        "ScalarImplicit",
        "NumToTensor",
        "to",
    ]
)
_TRANSPOSED = 6  # which input of aten::_convolution says so


def is_layer(operator: Operator) -> bool:
    """Whether a layer does it: a convolution, a product, a normalisation, an activation, pooling, dropout."""
    return operator.kind in CONVOLUTIONS | PRODUCTS or _name(operator) in _LAYERS


def computes(operator: Operator) -> bool:
    """Whether it puts out a tensor of its own, and not another view of an existing one.

    Raises:
        ValueError: it is not known.
    """
    if is_layer(operator) or _name(operator) in _JOINS:
        return True
    if _name(operator) in _VIEWS:
        return False
    message = f"what the operator '{operator.kind}' of '{operator.where}' puts out has no rule here"
    raise ValueError(message)


def in_place(operator: Operator) -> bool:
    """Whether it writes over what it reads."""
    return operator.kind.endswith("_")


def kernel(operator: Operator) -> tuple[int, ...] | None:
    """The weight's shape of a convolution that is not transposed: outputs, inputs of a group, kernel; else None."""
    if operator.kind not in CONVOLUTIONS or _is_transposed(operator):
        return None
    weight = operator.inputs[1]
    return weight.shape if isinstance(weight, TracedTensor) else None


def macs(operator: Operator) -> int:
    """The multiply-accumulate operations of one operator.

    Raises:
        ValueError: it may multiply, and has no rule here.
    """
    tensors = [each for each in operator.inputs if isinstance(each, TracedTensor)]
    if operator.kind in CONVOLUTIONS:
        source, weight = tensors[:2]
        counted = source if _is_transposed(operator) else operator.outputs[0]
        return counted.elements * prod(weight.shape[1:])
    if operator.kind == "aten::linear":
        return operator.outputs[0].elements * tensors[0].shape[-1]
    if operator.kind in PRODUCTS:
        first = tensors[1] if operator.kind == "aten::addmm" else tensors[0]
        return operator.outputs[0].elements * first.shape[-1]
    computes(operator)
    return 0


def biases(operator: Operator) -> int:
    """How many elements a bias is added to."""
    if operator.kind == "aten::addmm":
        return operator.outputs[0].elements
    biased = operator.kind in CONVOLUTIONS or operator.kind == "aten::linear"
    return operator.outputs[0].elements if biased and isinstance(operator.inputs[2], TracedTensor) else 0


def _name(operator: Operator) -> str:
    return operator.kind.removeprefix("aten::").rstrip("_")


def _is_transposed(operator: Operator) -> bool:
    return len(operator.inputs) > _TRANSPOSED + 1 and operator.inputs[_TRANSPOSED] is True
