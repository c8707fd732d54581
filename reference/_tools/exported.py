"""Tools that look at a file exported to ONNX: onnx-opcounter, onnx_tool, qonnx; of few functions it is known how.

Of a function of which it is not known what becomes of it in a file, nothing is said; then the tools are not named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

from . import recurrent
from .hooked import BY_OUTPUT
from .net import (
    BIASES,
    POOLING,
    RECURRENT,
    UPSAMPLING,
    Net,
    Piece,
    UnknownRuleError,
    is_shape,
    name_of,
    name_of_function,
    product_name,
    size,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._counting.trace import CountedOperation, Function

_NOTHING = frozenset({"transpose", "permute", "reshape", "view", "unsqueeze", "squeeze", "dropout", "contiguous", "t"})
_DIVISION, _EXPONENTIAL = 4, 32  # what onnx_tool counts for one


def qonnx(net: Net) -> Iterator[Piece]:
    """By qonnx 1.0: Conv and MatMul; ConvTranspose, LSTM and Einsum are unsupported."""
    for function in net.functions:
        for operation in function.operations:
            known = not operation.name.startswith("conv_transpose") and function.name != "einsum"
            own = isinstance(operation.call.module, RECURRENT)
            yield Piece(product_name(function, operation), operation.macs if known and not own else 0)


def onnx_opcounter(net: Net) -> Iterator[Piece]:
    """By onnx-opcounter 0.0.4: transposed by output; one for each element that an unsupported operator puts out."""
    for function, folded in _nodes(net):
        name, out = function.name, _out(function)
        if folded:
            continue
        if function.macs:
            yield from _opcounter_products(function)
        elif name == "interpolate":
            yield Piece(UPSAMPLING, out * {"nearest": 0, "bilinear": 11}[function.options["mode"]])
        elif name == "group_norm":
            yield Piece(name_of_function(function), 3 * out)
        elif name in ("silu", "silu_"):
            yield Piece(name_of_function(function), 2 * out)
        elif name == "add":
            yield Piece(name_of_function(function), size(function.args[0]))
        else:
            yield Piece(name_of_function(function), out)


def _opcounter_products(function: Function) -> Iterator[Piece]:
    for each in function.operations:
        if each.name == "linear" and each.bias and len(each.output_shape) > 2:  # noqa: PLR2004 - MatMul and Add
            raise UnknownRuleError(each.name)
        if function.name == "einsum":
            yield Piece(product_name(function, each), _out(function), "by what it puts out")
        elif each.name.startswith("conv_transpose"):
            count = each.output_elements * (each.input_shape[1] // each.groups) * size(each.weight_shape[2:])
            yield Piece(product_name(function, each), count, BY_OUTPUT)
        else:
            yield Piece(product_name(function, each), each.macs)


def onnx_tool(net: Net) -> Iterator[Piece]:
    """By onnx_tool 1.0.1: transposed by output, biases, and what each element takes of a processor."""
    for call in net.calls:
        if isinstance(call.module, RECURRENT):
            yield Piece(name_of(call), recurrent.onnx_tool(call), recurrent.BY_FORMULA)
    for function, folded in _nodes(net, also=_OF_ONNX_TOOL):
        if folded or isinstance(function.call.module, RECURRENT):
            continue
        if function.macs:
            for each in function.operations:
                yield _onnx_tool_product(function, each)
                yield Piece(BIASES, each.bias or (each.output_elements if _has_folded(net, function) else 0))
        else:
            yield _onnx_tool_elements(function, function.name.rstrip("_"), _out(function))


def _onnx_tool_elements(function: Function, name: str, out: int) -> Piece:
    given = size(function.args[0]) if is_shape(function.args[0]) else 0
    if name.startswith("adaptive_avg_pool"):
        one = size(_shape(function)[2:]) == 1  # else it becomes an AveragePool
        return Piece(POOLING, given + (_DIVISION * out if one else 0))
    if name.startswith(("max_pool", "avg_pool")):
        kernel: Any = function.args[1]
        sizes = kernel if isinstance(kernel, tuple) else (kernel,) * int(name[-2])
        return Piece(POOLING, out * (size(sizes) if len(sizes) == _IMAGE else sizes[0]))
    if name == "interpolate":
        return Piece(UPSAMPLING, out * {"nearest": 0, "bilinear": 4}[function.options["mode"]])
    if name in ("add", "mul"):
        return Piece(name_of_function(function), out)
    if name == "layer_norm":
        return Piece(name_of_function(function), 7 * out + _ROW_OF_NORM * out // _shape(function)[-1])
    return Piece(name_of_function(function), given if name == "mean" else _OF_ELEMENTS.get(name, 0) * out)


def _onnx_tool_product(function: Function, each: CountedOperation) -> Piece:
    if each.name.startswith("conv_transpose"):
        return Piece(product_name(function, each), each.output_elements * size(each.weight_shape[1:]), BY_OUTPUT)
    return Piece(product_name(function, each), each.macs)


_OF_ELEMENTS = {
    "relu": 1,
    "relu6": 2,
    "hardtanh": 2,
    "leaky_relu": 2,
    "prelu": 2,
    "hardswish": 5,
    "sigmoid": _EXPONENTIAL,
    "silu": _EXPONENTIAL + 1,
    "group_norm": 9,
    "gelu": 7,
    "tanh": 76,
    "softmax": _EXPONENTIAL + _DIVISION,
    "batch_norm": 31,
}
_IMAGE = 2  # dimensions in which all of a window is counted, and not one row of it
_ROW_OF_NORM = 29  # a sum, a root and a division for each row that is normalised
_OF_ONNX_TOOL = frozenset(
    {"mean", "layer_norm", "gelu", "tanh", "softmax", "embedding", "relu6", "leaky_relu", "prelu"}
)
_OF_ONNX_TOOL |= {"cat", "pad", "__getitem", "hardtanh"}
_METHODS = frozenset({"mean", "mul", "softmax"})
_KNOWN = frozenset({"relu", "hardswish", "sigmoid", "silu", "interpolate", "pixel_shuffle", "group_norm", "add", "mul"})


def _nodes(net: Net, also: frozenset[str] = frozenset()) -> Iterator[tuple[Function, bool]]:
    """The functions that become operators, and whether one is folded into the convolution before it.

    `also`: those of which the tool alone knows what becomes of them; recurrent layers are among them then.

    Raises:
        UnknownRuleError: it is not known what becomes of one.
    """
    for function in net.functions:
        name = function.name.rstrip("_")
        if _is_unknown(function, name, also):
            raise UnknownRuleError(name)
        if name == "batch_norm":
            yield function, _folds(net, function, apart=bool(also))
        elif name == "flatten":
            if function.args[1:] in ((1,), (1, -1)):  # a Flatten, else a Reshape, which counts nothing
                yield function, False
        elif name not in _NOTHING:
            yield function, False


def _folds(net: Net, function: Function, *, apart: bool) -> bool:
    """Whether a batch norm is folded into a convolution; `apart`: it may stand behind another layer.

    Raises:
        UnknownRuleError: that is not known.
    """
    before = net.functions[net.functions.index(function) - 1]
    if apart and before.name.startswith(("conv_transpose", "linear")) and before.output == function.args[0]:
        return False
    convolution_before(net, function, often=apart)
    return True


def _is_unknown(function: Function, name: str, also: frozenset[str]) -> bool:
    module = function.call.module
    if also and isinstance(module, RECURRENT):
        return False
    if isinstance(module, (*RECURRENT, nn.MultiheadAttention)) or "scaled" in name:
        return True
    if function.method and not (name in _METHODS and (name in also or name == "mul")):
        return True
    if name == "layer_norm" and len(function.args[1] if len(function.args) > 1 else ()) > 1:
        return True
    if name == "gelu" and function.options.get("approximate", "none") != "none":
        return True
    if name == "interpolate":
        return function.options.get("mode") not in ("nearest", "bilinear")
    if name.startswith("adaptive_avg_pool"):
        one = size(_shape(function)[2:]) == 1  # it becomes a GlobalAveragePool
        given, made = function.args[0][2:], _shape(function)[2:]
        whole = all(n and not m % n for m, n in zip(given, made, strict=False))
        return not (one or (bool(also) and whole))
    plain = _KNOWN | _NOTHING | also | {"batch_norm", "flatten"}
    pools = ("max_pool", "avg_pool") if also else ("max_pool",)
    return not function.macs and name not in plain and not name.startswith(pools)


def convolution_before(net: Net, function: Function, *, often: bool = False) -> Any:
    """The convolution into which a batch norm is folded.

    Raises:
        UnknownRuleError: there is none, or it runs several times (`often`: more times than the norm).
    """
    before = net.functions[net.functions.index(function) - 1]
    times = [sum(call.module is each.call.module for call in net.calls) for each in (before, function)]
    plain = before.name.startswith("conv") and "transpose" not in before.name and before.output == function.args[0]
    if not plain or (times[0] != times[1] if often else times != [1, 1]):
        raise UnknownRuleError(function.name)
    return before.call.module


def _has_folded(net: Net, function: Function) -> bool:
    """Whether a batch norm is folded into a convolution, which then has a bias."""
    at = net.functions.index(function) + 1
    after = net.functions[at] if at < len(net.functions) else None
    return function.name.startswith("conv") and after is not None and after.name == "batch_norm"


def _shape(function: Function) -> tuple[int, ...]:
    return function.output if is_shape(function.output) else ()


def _out(function: Function) -> int:
    made: Any = _shape(function)
    return size(made) if made else 0
