"""Tools that see calls of functions: fvcore and mmengine, torchprofile, torchlens; and what such tools share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from torch import nn

from . import recurrent
from .hooked import BY_OUTPUT
from .net import (
    BIASES,
    DROPOUT,
    RECURRENT,
    SOFTMAX,
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

OF_VECTORS = ("mv", "dot", "vdot", "outer", "addmv")  # kernels of products with a vector, which few tools know


def weighs(function: Function, at: int) -> bool:
    """Whether a normalisation has a weight, which stands at this place where it has no name."""
    given = function.options.get("weight", function.args[at] if len(function.args) > at else None)
    return given is not None


def called(net: Net, *, at_once: bool) -> Iterator[Function]:
    """The functions that are called; `at_once`: without gradients, where an attention may be one kernel."""
    for function in net.functions:
        own = function.call
        if not (at_once and isinstance(own.module, nn.MultiheadAttention) and runs_at_once(own)):
            yield function


def printed_by_numpy(operations: int, share: int) -> int:
    """The cost of a product as numpy prints it, in four digits."""
    return math.floor(float(f"{operations + 1:.3e}") / share)


# ---- fvcore, mmengine, torchprofile -------------------------------------------------------------------------------


def fvcore(net: Net, *, at_once: bool = False) -> Iterator[Piece]:
    """By fvcore 0.1.5, which calls it flops: products, norms, some pools and upsampling; no attention, no LSTM."""
    for function in called(net, at_once=at_once):
        first = function.args[0] if function.args and is_shape(function.args[0]) else ()
        name = function.name
        if isinstance(function.call.module, RECURRENT):
            continue
        if name == "batch_norm":
            yield Piece(name_of_function(function), size(first) * (2 if weighs(function, 3) else 1))
        elif name in ("layer_norm", "group_norm", "instance_norm"):
            at = {"layer_norm": 2, "group_norm": 2, "instance_norm": 3}[name]
            yield Piece(name_of_function(function), size(first) * (5 if weighs(function, at) else 4))
        elif name == "adaptive_avg_pool2d":
            yield Piece(name_of_function(function), size(first))
        elif name == "interpolate":
            each = {"nearest": 1, "bilinear": 4}.get(str(function.options.get("mode", "nearest")), 0)
            yield Piece(UPSAMPLING, each * size(function.output) if len(first) == 4 else 0)  # noqa: PLR2004 - images
        else:
            yield from _fvcore_products(function)


def _fvcore_products(function: Function) -> Iterator[Piece]:
    weights = bool(function.options.get("need_weights", True))
    for each in function.operations:
        if function.name == "einsum":
            yield Piece("torch.einsum", _fvcore_einsum(function, each), "in the four digits that numpy prints")
        elif each.name == "scaled_dot_product_attention":
            masked = function.options.get("attn_mask") is not None
            bmm = function.name == "multi_head_attention_forward" and weights
            if bmm and masked:
                raise UnknownRuleError(function.name)
            yield Piece(product_name(function, each), each.macs if bmm else 0)
        elif each.name not in ("baddbmm", "addbmm", *OF_VECTORS):
            yield Piece(product_name(function, each), each.macs)


def _fvcore_einsum(function: Function, operation: CountedOperation) -> int:
    letters = dict.fromkeys(letter for letter in str(function.args[0]) if letter.isalpha())
    plain = str(function.args[0]).replace(" ", "")
    plain = plain.translate({ord(letter): 97 + at for at, letter in enumerate(letters)})
    return operation.macs if plain in ("abc,abd->acd", "abc,adc->adb") else printed_by_numpy(2 * operation.macs, 2)


_MEANS = frozenset({"mean", "leaky_relu"})


def torchprofile(net: Net) -> Iterator[Piece]:
    """By torchprofile 0.1: transposed by output; one for each element of a norm, a mean, an average pool, a product."""
    net.needs(nn.LSTM)
    for function in net.functions:
        name = function.name
        if isinstance(function.call.module, nn.LSTM):
            continue
        if name.startswith("conv_transpose"):
            for each in function.operations:
                # The weight's sizes are told apart by the output's channels; the groups are not looked at.
                first, second, *kernel = each.weight_shape
                channels = second if each.output_shape[1] == first else first
                yield Piece(product_name(function, each), each.output_elements * channels * size(kernel), BY_OUTPUT)
        elif function.macs:
            unknown = name in OF_VECTORS and name != "addmv"
            yield from (Piece(product_name(function, each), each.macs * (not unknown)) for each in function.operations)
            if name == "multi_head_attention_forward":
                yield _torchprofile_sizes(function)
        else:
            yield _torchprofile_elements(function)
    for call in net.calls:
        if isinstance(call.module, nn.LSTM):
            yield Piece(name_of(call), recurrent.torchprofile(call), "with the size of its output for its hidden size")


def _torchprofile_elements(function: Function) -> Piece:
    name = function.name
    out = size(function.output) if is_shape(function.output) else 0
    if name in ("batch_norm", "instance_norm", "layer_norm", "group_norm"):
        at = {"batch_norm": 3, "instance_norm": 3}.get(name, 2)
        return Piece(name_of_function(function), out if weighs(function, at) else 0)
    if name in ("mul", "mul_", "__mul__", "__imul__"):
        return Piece("products of elements", out)
    if name == "interpolate":
        return Piece(UPSAMPLING, 4 * out if function.options.get("mode") == "bilinear" else 0)
    return Piece(name_of_function(function), out if "avg_pool" in name or name in _MEANS else 0)


def _torchprofile_sizes(function: Function) -> Piece:
    """What is multiplied of sizes inside an attention, which its trace shows as products of tensors."""
    more = _SIZES_PACKED if function.call.paired and not function.call.alike else 0  # its weights are cut in two
    if function.options.get("need_weights", True):
        return Piece("the scaling of queries", size(function.args[0]) + _SIZES + more)
    return Piece("products of sizes in nn.MultiheadAttention", _SIZES + more)


_SIZES, _SIZES_PACKED = 4, 2


# ---- torchlens ----------------------------------------------------------------------------------------------------

_LENS_ONCE = ("add", "sub", "mul", "div", "rsub", "neg", "abs", "clamp", "relu", "relu6", "hardtanh", "leaky_relu")
_LENS = {
    **dict.fromkeys(_LENS_ONCE, 1),
    **dict.fromkeys(("pow", "sqrt", "rsqrt"), 2),
    **dict.fromkeys(("exp", "log", "sin", "cos", "mish"), 8),
    "tanh": 6, "sigmoid": 4, "hardsigmoid": 3, "hardswish": 4, "silu": 5, "gelu": 14, "celu": 9, "elu": 9, "selu": 10,
    "softplus": 9, "interpolate": 4, "batch_norm": 5, "layer_norm": 5, "group_norm": 5, "instance_norm": 5,
    "softmax": 5, "prelu": 1, "threshold": 1, "log_softmax": 6, "dropout": 2,
}  # fmt: skip


def torchlens(net: Net) -> Iterator[Piece]:
    """By torchlens 2.36's MACs: products of layers, of matmul and of einsum; no attention module, no LSTM."""
    _lens_knows(net)
    for function in net.functions:
        for each in function.operations if _lens_counts(function) else ():
            yield Piece(product_name(function, each), each.macs)


def torchlens_operations(net: Net) -> Iterator[Piece]:
    """By torchlens 2.36's FLOPs: two for each MAC, biases, five for an element of a norm, activations."""
    _lens_knows(net)
    for function in net.functions:
        name = function.name.rstrip("_")
        first = function.args[0] if function.args and is_shape(function.args[0]) else ()
        out = function.output if is_shape(function.output) else ()
        if isinstance(function.call.module, nn.MultiheadAttention | nn.RNNBase | nn.RNNCellBase):
            continue
        if function.macs:
            for each in function.operations:
                yield Piece(product_name(function, each), 2 * each.macs)
                yield Piece(BIASES, each.bias)
            if name == "scaled_dot_product_attention":
                scores = size(function.args[0][:-1]) * function.args[1][-2]
                yield Piece(SOFTMAX, 6 * scores, "six for each element")
        elif name in _LENS:
            what = DROPOUT if name == "dropout" else name_of_function(function)
            yield Piece(what, _LENS[name] * size(out))
        elif name in ("sum", "mean", "max", "min", "amax", "amin") or name.startswith("adaptive"):
            yield Piece(name_of_function(function), size(first))
        elif "_pool" in name:
            kernel = function.args[1] if len(function.args) > 1 else 1
            yield Piece(name_of_function(function), size(out) * (size(kernel) if isinstance(kernel, tuple) else kernel))


def _lens_counts(function: Function) -> bool:
    return not isinstance(function.call.module, nn.MultiheadAttention | nn.RNNBase | nn.RNNCellBase)


def _lens_knows(net: Net) -> None:
    for call in net.calls:
        if isinstance(call.module, nn.MultiheadAttention) and not runs_at_once(call):
            raise UnknownRuleError(call.type)
        other = isinstance(call.module, RECURRENT) and not isinstance(call.module, nn.LSTM)
        if other or call.type.startswith("Parametrized"):
            raise UnknownRuleError(call.type)


def runs_at_once(call: Any) -> bool:
    """Whether an attention is one native kernel on a CPU when no gradient is asked for, which no tool looks into."""
    module = call.module
    same = call.alike and len(call.inputs) == 3 and len(call.inputs[0]) == 3  # noqa: PLR2004 - x, x, x of a batch
    plain = module.in_proj_weight is not None and module.bias_k is None and not module.add_zero_attn
    return bool(same and plain and module.batch_first and module.num_heads % 2 == 0 and module.in_proj_bias is not None)


def layer_runs_at_once(call: Any) -> bool:
    """Whether a transformer's encoder layer is one native kernel on a CPU when no gradient is asked for."""
    module = call.module
    if not isinstance(module, nn.TransformerEncoderLayer) or len(call.inputs[0]) != 3:  # noqa: PLR2004 - of a batch
        return False
    attention = module.self_attn
    plain = attention.batch_first and attention.in_proj_weight is not None and attention.in_proj_bias is not None
    known = bool(module.activation_relu_or_gelu) and module.norm1.eps == module.norm2.eps
    return bool(plain and known and attention.num_heads % 2 == 0 and not module.training)
