"""Tools that see calls of functions: calflops and flops-profiler, fvcore and mmengine, torchprofile, torchlens."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from torch import nn

from . import recurrent
from .hooked import BY_OUTPUT
from .net import (
    BIASES,
    DROPOUT,
    PRODUCTS,
    PROJECTIONS,
    RECURRENT,
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
OF_VECTORS = ("mv", "dot", "vdot", "outer", "addmv")  # kernels of products with a vector, which few tools know


def weighs(function: Function, at: int) -> bool:
    """Whether a normalisation has a weight, which stands at this place where it has no name."""
    given = function.options.get("weight", function.args[at] if len(function.args) > at else None)
    return given is not None


# ---- calflops and flops-profiler ----------------------------------------------------------------------------------


def _called(net: Net, *, at_once: bool) -> Iterator[Function]:
    """The functions that are called; `at_once`: without gradients, where an attention may be one kernel."""
    for function in net.functions:
        own = function.call
        if not (at_once and isinstance(own.module, nn.MultiheadAttention) and runs_at_once(own)):
            yield function


def calflops(net: Net, *, at_once: bool = False) -> Iterator[Piece]:
    """By calflops' MACs: convolutions, linear layers, torch.matmul; no `@`, no einsum, none of attention's products."""
    for function in _called(net, at_once=at_once):
        yield from _profiled_macs(function)


def deepspeed(net: Net, *, at_once: bool = False) -> Iterator[Piece]:
    """By deepspeed 0.19's MACs: those of calflops, transposed convolutions, `@`, bmm, and attention's functions."""
    net.needs()
    for function in _called(net, at_once=at_once):
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
    for function in _called(net, at_once=at_once):
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
    for function in _called(net, at_once=at_once):
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
        yield Piece("torch.einsum", _numpys(2 * function.macs, 1), "in the four digits in which numpy prints its cost")
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


def _numpys(operations: int, share: int) -> int:
    """The cost of a product as numpy prints it, in four digits."""
    return math.floor(float(f"{operations + 1:.3e}") / share)


# ---- fvcore, mmengine, torchprofile -------------------------------------------------------------------------------


def fvcore(net: Net, *, at_once: bool = False) -> Iterator[Piece]:
    """By fvcore 0.1.5, which calls it flops: products, norms, some pools and upsampling; no attention, no LSTM."""
    for function in _called(net, at_once=at_once):
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
            yield Piece("torch.einsum", _fvcore_einsum(function, each), "in the four digits in which numpy prints it")
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
    return operation.macs if plain in ("abc,abd->acd", "abc,adc->adb") else _numpys(2 * operation.macs, 2)


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
