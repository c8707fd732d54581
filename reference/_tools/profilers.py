"""Profilers that patch functions: calflops, deepspeed's, and flops-profiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

from . import recurrent
from .functions import called, printed_by_numpy, weighs
from .net import (
    BIASES,
    PRODUCTS,
    PROJECTIONS,
    SOFTMAX,
    UPSAMPLING,
    Net,
    Piece,
    UnknownRuleError,
    is_functional,
    is_kept,
    is_shape,
    name_of,
    name_of_function,
    product_name,
    size,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._counting.trace import CountedOperation, Function

_ACTIVATIONS = frozenset({"relu", "prelu", "elu", "leaky_relu", "relu6", "silu", "gelu"})
_NORMS = frozenset({"layer_norm", "group_norm", "instance_norm"})
_LINEAR = "linear"


def calflops(net: Net, *, at_once: bool = False) -> Iterator[Piece]:
    """By calflops' MACs: convolutions, linear layers, torch.matmul; no `@`, no einsum, none of attention's products."""
    for function in called(net, at_once=at_once):
        yield from _profiled_macs(function)


def deepspeed(net: Net, *, at_once: bool = False) -> Iterator[Piece]:
    """By deepspeed 0.19's MACs: those of calflops, transposed convolutions, `@`, bmm, and attention's functions."""
    net.needs()
    for function in called(net, at_once=at_once):
        yield from _deepspeed(function)


def _deepspeed(function: Function) -> Iterator[Piece]:
    name = function.name
    if name in ("mv", "dot", "addmv", "addbmm", "baddbmm", "bilinear"):
        raise UnknownRuleError(name)
    if name == "multi_head_attention_forward":
        if function.options.get("need_weights", True) and function.options.get("attn_mask") is not None:
            raise UnknownRuleError(name)
        for each in function.operations:
            yield Piece(PROJECTIONS if each.name == _LINEAR else PRODUCTS, each.macs)
    elif name != "einsum":
        yield from (Piece(product_name(function, each), each.macs) for each in function.operations)


def deepspeed_operations(net: Net, *, at_once: bool = False) -> Iterator[Piece]:
    """By deepspeed 0.19's FLOPs: two for each of its MACs, and what else calflops counts."""
    net.needs()
    for function in called(net, at_once=at_once):
        name = function.name
        first = function.args[0] if function.args and is_shape(function.args[0]) else ()
        if name == "multi_head_attention_forward" or function.macs == 0 or name == "einsum":
            yield from _deepspeed_others(function, name)
        else:
            yield from (Piece(each.what, 2 * each.count) for each in _deepspeed(function))
            biased = name.startswith("conv")
            yield Piece(BIASES, sum(each.bias for each in function.operations) if biased else 0)
            yield Piece(BIASES, size(first) if name == "addmm" else 0)


def _deepspeed_others(function: Function, name: str) -> Iterator[Piece]:
    if name == "interpolate":
        wanted = function.options.get("size")
        whole = size(wanted) if isinstance(wanted, tuple) else wanted
        yield Piece(UPSAMPLING, size(function.output) if wanted is None else int(whole or 0))
    elif name == "multi_head_attention_forward" and not function.options.get("need_weights", True):
        yield from (Piece(each.what, 2 * each.count) for each in _deepspeed(function))
    else:
        yield from _profiled(function, bmm=True)


def flops_profiler(net: Net) -> Iterator[Piece]:
    """flops-profiler's MACs: those of calflops, and products of torch.bmm."""
    _no_transposed(net)
    for function in net.functions:
        yield from _profiled_macs(function, bmm=True)


def get_model_profile(net: Net) -> Iterator[Piece]:
    """flops-profiler's MACs by get_model_profile: but for what the root itself computes."""
    _no_transposed(net)
    for function in net.functions:
        if function.call.depth:
            yield from _profiled_macs(function, bmm=True)


def _no_transposed(net: Net) -> None:
    """Nothing, where there is no transposed convolution and no nn.Upsample, at which flops-profiler fails."""
    if any(operation.name.startswith("conv_transpose") for operation in net.trace.operations):
        raise UnknownRuleError("conv_transpose")  # noqa: EM101
    # It takes what is given by name alone, as nn.Upsample does not.
    if any(isinstance(call.module, nn.Upsample) for call in net.calls):
        raise UnknownRuleError("interpolate")  # noqa: EM101


def _profiled_macs(function: Function, *, bmm: bool = False) -> Iterator[Piece]:
    name = function.name
    if name == "multi_head_attention_forward":
        yield from (Piece(PROJECTIONS, each.macs) for each in function.operations if each.name == _LINEAR)
        if bmm and function.options.get("need_weights", True):
            yield from (Piece(PRODUCTS, each.macs) for each in function.operations if each.name != _LINEAR)
    elif name == _LINEAR or name in ("conv1d", "conv2d", "conv3d"):
        yield from (Piece(product_name(function, each), each.macs) for each in function.operations)
    elif name.startswith("conv_transpose"):
        yield from (_transposed(function, each, 1) for each in function.operations)
    elif (name in ("matmul", "addmm") and _of_torch(function)) or (bmm and name in ("mm", "bmm")):
        yield Piece("products with @ or matmul" if name == "matmul" else name, function.macs)


def _of_torch(function: Function) -> bool:
    """Whether it was called as torch's function or as a method, and not as an operator."""
    return getattr(function.function, "__module__", "") == "torch"


def _transposed(function: Function, operation: CountedOperation, each: int) -> Piece:
    # The weight's second size is out_channels / groups already, and is divided by the groups again.
    count = operation.macs // operation.weight_shape[1] * (operation.weight_shape[1] // operation.groups)
    return Piece(product_name(function, operation), each * count, "with the groups divided out twice")


def calflops_operations(net: Net, *, at_once: bool = False) -> Iterator[Piece]:
    """By calflops' FLOPs: two for each MAC, biases of convolutions, norms, activations, pools, sums of torch.add."""
    for function in called(net, at_once=at_once):
        yield from _profiled(function)
    for call in net.calls:
        if type(call.module) in (nn.LSTM, nn.GRU, nn.RNN, nn.LSTMCell, nn.GRUCell, nn.RNNCell):
            yield Piece(name_of(call), recurrent.ptflops(call, operations=True), recurrent.BY_FORMULA)


def flops_profiler_operations(net: Net) -> Iterator[Piece]:
    """flops-profiler's FLOPs: those of calflops, and of torch.bmm."""
    _no_transposed(net)
    net.needs()
    for function in net.functions:
        yield from _profiled(function, bmm=True)


def get_model_profile_operations(net: Net) -> Iterator[Piece]:
    """flops-profiler's FLOPs by get_model_profile: but for what the root itself computes."""
    _no_transposed(net)
    net.needs()
    for function in net.functions:
        if function.call.depth:
            yield from _profiled(function, bmm=True)


def _profiled(function: Function, *, bmm: bool = False) -> Iterator[Piece]:
    name = function.name
    first = function.args[0] if function.args and is_shape(function.args[0]) else ()
    if name == "multi_head_attention_forward":
        yield from _profiled_attention(function, bmm=bmm)
    elif name == _LINEAR or name in ("conv1d", "conv2d", "conv3d"):
        for each in function.operations:
            yield Piece(product_name(function, each), 2 * each.macs)
            yield Piece(BIASES, each.bias if name != _LINEAR else 0)
    elif name.startswith("conv_transpose"):
        for each in function.operations:
            yield _transposed(function, each, 2)
            yield Piece(BIASES, _profiled_transposed_bias(function) if each.bias else 0)
    elif (name in ("matmul", "addmm") and _of_torch(function)) or (bmm and name in ("mm", "bmm")):
        yield Piece("products with @ or matmul" if name == "matmul" else name, 2 * function.macs)
        yield Piece(BIASES, size(first) if name == "addmm" else 0)
    elif name in ("mul", "add") and _of_torch(function):
        yield Piece(name_of_function(function), size(function.output))
    elif name == "einsum":
        yield Piece("torch.einsum", printed_by_numpy(2 * function.macs, 1), "in the four digits that numpy prints")
    else:
        yield from _profiled_others(function, first)


def _profiled_others(function: Function, first: tuple[int, ...]) -> Iterator[Piece]:
    name = function.name
    if is_functional(function) and name in _ACTIVATIONS | {"softmax"} and not is_kept(function):
        yield Piece(name_of_function(function), size(first))
    elif name == "batch_norm":
        yield Piece(name_of_function(function), size(first) * (2 if weighs(function, 3) else 1))
    elif name in _NORMS:
        at = {"layer_norm": 2, "group_norm": 2, "instance_norm": 3}[name]
        yield Piece(name_of_function(function), size(first) * (5 if weighs(function, at) else 4))
    elif "_pool" in name and "lp_" not in name:
        yield Piece(name_of_function(function), size(first))
    elif name == "interpolate":
        wanted = function.options.get("size")
        whole = size(wanted) if isinstance(wanted, tuple) else wanted
        yield Piece(UPSAMPLING, size(first) if wanted is None else int(whole or 0))


def _profiled_transposed_bias(function: Function) -> int:
    """The bias of a transposed convolution by calflops, which takes the output for that of a convolution."""
    given, weight = function.args[0], function.args[1]
    n = len(weight) - 2
    rest = [*function.args[3:], *[None] * 5]
    stride, padding, dilation = (
        _each(value, n, default) for value, default in ((rest[0], 1), (rest[1], 0), (rest[4], 1))
    )
    sizes = [
        (length + 2 * p - (d * (k - 1) + 1)) // s + 1
        for length, p, d, k, s in zip(given[2:], padding, dilation, weight[2:], stride, strict=True)
    ]
    return int(weight[1] * given[0] * size(sizes))


def _each(value: Any, n: int, default: int) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (default if value is None else value,) * n


def _profiled_attention(function: Function, *, bmm: bool) -> Iterator[Piece]:
    for each in function.operations:
        if each.name == _LINEAR:
            yield Piece(PROJECTIONS, 2 * each.macs)
        elif function.options.get("need_weights", True):
            if each.name == "attention_softmax":
                yield Piece(SOFTMAX, size(each.output_shape))
            elif bmm:
                yield Piece(PRODUCTS, 2 * each.macs)
