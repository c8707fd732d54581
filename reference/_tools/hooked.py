"""Tools that hook modules: thop, ptflops, torch-pruning, flopth, flopco, flopsmeter, torchscan and the summaries."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from torch import nn
from torch.nn.modules import pooling
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

from . import recurrent
from .net import (
    BIASES,
    POOLING,
    PRODUCTS,
    PROJECTIONS,
    RECURRENT,
    SOFTMAX,
    UPSAMPLING,
    Net,
    Piece,
    UnknownRuleError,
    affine,
    is_functional,
    is_kept,
    is_shape,
    kind,
    name_of,
    name_of_function,
    product_name,
    size,
    x,
    y,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._counting.trace import Call, Function

BY_OUTPUT = "by their output, where the input says how often the kernel is used"
ONCE = "once, however many rows they are given"
ONCE_A_SAMPLE = "once for each sample, however many rows it has"
_DIMENSIONS = (1, 2, 3)
CONV = {f"Conv{n}d" for n in _DIMENSIONS}
TRANSPOSED = {f"ConvTranspose{n}d" for n in _DIMENSIONS}
NORMS = {f"{name}Norm{n}d" for name in ("Batch", "Instance") for n in _DIMENSIONS}
_POOLS = {f"{name}Pool{n}d" for name in ("Max", "Avg", "AdaptiveMax", "AdaptiveAvg") for n in _DIMENSIONS}
_ACTIVATIONS = {"ReLU", "PReLU", "ELU", "LeakyReLU", "ReLU6", "GELU"}
_ELEMENT = "{} for each element"
_TWO, _FOUR = _ELEMENT.format("two"), _ELEMENT.format("four")
_UPSAMPLING = {"linear": 5, "bilinear": 11, "bicubic": 259}


def products(call: Call) -> int:
    """What a convolution, transposed or not, or a linear layer multiplies."""
    module: Any = call.module
    if isinstance(module, nn.Linear):
        return size(y(call)) * int(module.in_features)
    if isinstance(module, _ConvTransposeNd):
        return size(x(call)) * size(module.weight.shape[1:])
    return size(y(call)) * size(module.weight.shape[1:])


def by_output(call: Call) -> int:
    """What a transposed convolution would multiply, were it a convolution of the same output."""
    module: Any = call.module
    return size(y(call)) * int(module.in_channels // module.groups) * size(module.kernel_size)


def biases(call: Call) -> int:
    """The elements to which a convolution or a linear layer adds its bias."""
    return size(y(call)) if getattr(call.module, "bias", None) is not None else 0


def on_layers(net: Net) -> Iterator[Piece]:
    """What convolution and linear modules multiply when they are called, as hooks on them see it."""
    for function in net.functions:
        if isinstance(function.call.module, _ConvNd | nn.Linear):
            yield from (Piece(product_name(function, each), each.macs) for each in function.operations)


# ---- thop ---------------------------------------------------------------------------------------------------------


def thop(net: Net) -> Iterator[Piece]:
    """By thop 0.1.1: of modules whose class is exactly torch's; transposed convolutions by their output."""
    for call in net.calls:
        own = kind(call)
        if own in CONV or own == "Linear":
            yield Piece(name_of(call), products(call))
        elif own in TRANSPOSED:
            yield Piece(name_of(call), by_output(call), BY_OUTPUT)
        elif own in NORMS or own == "LayerNorm":
            yield Piece(name_of(call), size(x(call)) * (4 if affine(call) else 2), _FOUR if affine(call) else _TWO)
        else:
            yield from _thop_others(call, own)


def _thop_others(call: Call, own: str) -> Iterator[Piece]:
    module: Any = call.module
    if own == "PReLU":
        yield Piece(own, size(x(call)))
    elif own == "Softmax":
        yield Piece(SOFTMAX, _softmax(x(call), module.dim))
    elif own.startswith("AvgPool"):
        yield Piece(POOLING, size(y(call)))
    elif own.startswith("AdaptiveAvgPool"):
        share = math.prod(Fraction(one, other) for one, other in zip(x(call)[2:], y(call)[2:], strict=True))
        yield Piece(POOLING, int((share + 1) * size(y(call))))
    elif own in ("Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"):
        yield Piece(UPSAMPLING, size(y(call)) * {**_UPSAMPLING, "nearest": 1}.get(module.mode, 0))
    elif own and isinstance(module, RECURRENT):
        yield Piece(name_of(call), recurrent.thop(call), recurrent.how_of_thop(call))


def _softmax(shape: tuple[int, ...], dim: int | None) -> int:
    if dim is None:
        raise UnknownRuleError(SOFTMAX)
    width = shape[dim]
    return size(shape) // width * (3 * width - 1)


def ultralytics_thop(net: Net) -> Iterator[Piece]:
    """ultralytics-thop 2.2.3: of derived classes, too; and products of tensors outside of modules that have a rule."""
    for call in net.calls:
        yield from _ultralytics(call)
    counted = (*RECURRENT, _ConvNd, nn.Linear, nn.MultiheadAttention, nn.Bilinear)
    for function in net.functions:
        around = (*net.around[id(function.call)], function.call)
        if any(isinstance(each.module, counted) for each in around):
            continue
        for operation in function.operations:
            known = ("linear", "@", "matmul", "bmm", "einsum", "scaled_dot_product_attention")
            if operation.name in known or function.name in known:
                yield Piece(product_name(function, operation), operation.macs)


def _ultralytics(call: Call) -> Iterator[Piece]:
    module: Any = call.module
    if isinstance(module, _ConvNd | nn.Linear):
        yield Piece(name_of(call), products(call))
    elif isinstance(module, _NormBase | nn.LayerNorm | nn.GroupNorm | nn.RMSNorm):
        yield Piece(name_of(call), size(x(call)) * (4 if affine(call) else 2), _FOUR if affine(call) else _TWO)
    elif isinstance(module, nn.PReLU):
        yield Piece("PReLU", size(x(call)))
    elif isinstance(module, nn.Softmax):
        yield Piece(SOFTMAX, _softmax(x(call), module.dim))
    elif isinstance(module, nn.LogSoftmax | nn.Softmin | nn.Softmax2d | nn.Bilinear):
        raise UnknownRuleError(call.type)
    else:
        yield from _ultralytics_others(call)


def _ultralytics_others(call: Call) -> Iterator[Piece]:
    module: Any = call.module
    if isinstance(module, pooling._AvgPoolNd):  # noqa: SLF001 - the base that the tool asks for
        yield Piece(POOLING, _windows(call) + size(y(call)))
    elif isinstance(module, pooling._AdaptiveAvgPoolNd):  # noqa: SLF001
        each = zip(x(call), y(call), strict=True)
        spans = [i if i == o else sum(-(-(j + 1) * i // o) - j * i // o for j in range(o)) for i, o in each]
        yield Piece(POOLING, size(spans) + size(y(call)))
    elif isinstance(module, nn.Upsample):
        yield Piece(UPSAMPLING, size(y(call)) * {**_UPSAMPLING, "trilinear": 31}.get(module.mode, 0))
    elif isinstance(module, RECURRENT):
        yield Piece(name_of(call), recurrent.ultralytics_thop(call), recurrent.BY_FORMULA)
    elif isinstance(module, nn.MultiheadAttention):
        yield from _ultralytics_attention(call)


def _windows(call: Call) -> int:
    """The elements that an average pool adds up, at the edges those inside alone."""
    module: Any = call.module
    n = len(y(call)) - 2
    each = [value if isinstance(value, tuple) else (value,) * n for value in _of_window(module)]
    found = size(x(call)[:-n])
    for length, out, k, s, p in zip(x(call)[-n:], y(call)[-n:], *each, strict=True):
        low, high = (-p, length + p) if module.count_include_pad else (0, length)
        found *= sum(max(min(i * s - p + k, high) - max(i * s - p, low), 0) for i in range(out))
    return found


def _of_window(module: Any) -> tuple[Any, Any, Any]:
    return module.kernel_size, module.stride, module.padding


def _ultralytics_attention(call: Call) -> Iterator[Piece]:
    module: Any = call.module
    query, key = x(call), call.inputs[1]
    if len(query) != 3 or module.bias_k is not None or module.add_zero_attn:  # noqa: PLR2004 - batch, length, width
        raise UnknownRuleError(call.type)
    batch, length = (query[0], query[1]) if module.batch_first else (query[1], query[0])
    source = key[1] if module.batch_first else key[0]
    width = module.embed_dim
    yield Piece(PROJECTIONS, batch * width * (2 * length * width + source * (module.kdim + module.vdim)))
    yield Piece(PRODUCTS, batch * 2 * length * source * width)
    yield Piece(SOFTMAX, batch * module.num_heads * length * (3 * source - 1))


# ---- ptflops and its family ---------------------------------------------------------------------------------------


def ptflops(net: Net) -> Iterator[Piece]:
    """By ptflops 0.7 by modules: of classes that are exactly torch's, with biases, norms, pools and activations."""
    for call in net.calls:
        if kind(call) in CONV | TRANSPOSED or kind(call) == "Linear":
            yield Piece(name_of(call), products(call))
            yield Piece(BIASES, biases(call))
        elif kind(call) in NORMS or kind(call) in ("GroupNorm", "LayerNorm"):
            # It asks for `affine`, which a LayerNorm calls elementwise_affine.
            two = getattr(call.module, "affine", False)
            yield Piece(name_of(call), size(x(call)) * (2 if two else 1), _TWO if two else "")
        else:
            yield from _ptflops_others(call)


def _ptflops_others(call: Call) -> Iterator[Piece]:
    if kind(call) in _POOLS:
        yield Piece(POOLING, size(x(call)))
    elif kind(call) in _ACTIVATIONS:
        yield Piece(name_of(call), size(y(call)))
    elif kind(call) == "Upsample":  # of the first sample alone
        yield Piece(UPSAMPLING, size(y(call)[1:]))
    elif kind(call) and isinstance(call.module, RECURRENT):
        yield Piece(name_of(call), recurrent.ptflops(call), recurrent.BY_FORMULA)
    elif kind(call) == "MultiheadAttention":
        yield from _ptflops_attention(call)


def _ptflops_attention(call: Call) -> Iterator[Piece]:
    module: Any = call.module
    if len(call.inputs) < 3 or len(x(call)) != 3:  # noqa: PLR2004 - it takes queries, keys and values of a batch
        raise UnknownRuleError(call.type)
    at = 1 if module.batch_first else 0
    batch = x(call)[1 - at]
    lengths, widths = ([shape[index] for shape in call.inputs[:3]] for index in (at, 2))
    (queries, keys, _), (width, _, value_width) = lengths, widths
    heads = module.num_heads
    yield Piece(PROJECTIONS, batch * sum(n * d * d for n, d in zip(lengths, widths, strict=True)))
    yield Piece(PROJECTIONS, batch * queries * value_width * value_width)
    added = sum(lengths) * width if module.in_proj_bias is not None else 0
    yield Piece(BIASES, batch * (added + queries * value_width))
    yield Piece(PRODUCTS, batch * queries * keys * heads * (width // heads + value_width // heads))
    yield Piece(SOFTMAX, batch * heads * queries * keys)
    yield Piece("the scaling of queries", batch * queries * width)


_PATCHED = frozenset({"relu", "prelu", "elu", "relu6", "gelu", "silu", "softmax"})


def ptflops_functions(net: Net) -> Iterator[Piece]:
    """What ptflops counts by default besides: functions that it replaces, also those that a module calls."""
    for function in net.functions:
        first = function.args[0] if function.args and is_shape(function.args[0]) else ()
        name = function.name
        if is_functional(function) and name in _PATCHED and not is_kept(function):
            yield Piece(name_of_function(function), size(first), _twice(function))
        elif "_pool" in name and not name.startswith(("lp_", "fractional")) and "un" not in name:
            yield Piece(POOLING, size(first), _twice(function))
        elif name == "interpolate":
            yield Piece(UPSAMPLING, _upsampled(function), _twice(function))
        elif name == "multi_head_attention_forward" and function.options.get("need_weights", True):
            yield from _ptflops_patched_attention(function)
        elif getattr(function.function, "__module__", "") == "torch":
            yield from _ptflops_patched_products(function)


def _ptflops_patched_products(function: Function) -> Iterator[Piece]:
    name = function.name
    if name in ("matmul", "mm", "bmm", "addmm", "baddbmm"):
        yield Piece(_product(function), function.macs)
        yield Piece(BIASES, size(function.args[0]) if name.startswith(("add", "badd")) else 0)
    elif name in ("mul", "add"):
        yield Piece(name_of_function(function), size(function.output))


def _ptflops_patched_attention(function: Function) -> Iterator[Piece]:
    if function.options.get("attn_mask") is not None:
        raise UnknownRuleError(function.name)
    for each in function.operations:
        if each.name != "linear":
            what = PRODUCTS if each.macs else SOFTMAX
            yield Piece(what, each.macs or size(each.output_shape), "twice, as layer and as function")


def _twice(function: Function) -> str:
    own = kind(function.call)
    return "twice, as layer and as function" if own in _POOLS | _ACTIVATIONS | {"Upsample"} else ""


def _product(function: Function) -> str:
    return "products with @ or matmul" if function.name == "matmul" else str(function.name)


def _upsampled(function: Function) -> int:
    given, options = function.args[0], function.options
    wanted: Any = options.get("size")
    factor: Any = options.get("scale_factor")
    if wanted is not None:
        return size(given[:2]) * (size(wanted) if isinstance(wanted, tuple) else int(wanted) ** (len(given) - 2))
    if isinstance(factor, tuple):
        return size(given) * int(math.prod(factor))
    return int(size(given) * factor ** (len(given) - 2))


def torch_pruning(net: Net) -> Iterator[Piece]:
    """torch-pruning 1.6: as ptflops' modules once did; transposed by output, a linear layer's bias once for a call."""
    for call in net.calls:
        module: Any = call.module
        if kind(call) in CONV:
            yield Piece(name_of(call), products(call))
            yield Piece(BIASES, biases(call))
        elif kind(call) in TRANSPOSED:
            yield Piece(name_of(call), by_output(call), BY_OUTPUT)
            yield Piece(BIASES, biases(call))
        elif kind(call) == "Linear":
            yield Piece(name_of(call), products(call))
            yield Piece(BIASES, y(call)[-1] if module.bias is not None else 0)
        elif kind(call) in NORMS or kind(call) in ("GroupNorm", "LayerNorm"):
            yield Piece(name_of(call), size(x(call)) * (2 if affine(call) else 1), _TWO if affine(call) else "")
        elif kind(call) and isinstance(module, nn.RNNBase):
            # It takes the first sample of the batch for the input: its length for the batch, its width for the length.
            scaled = Fraction(recurrent.ptflops(call), size(x(call)[:2])) * size(x(call)[1:3])
            yield Piece(name_of(call), int(scaled), "by a formula of its own, with the sizes of the input mixed up")
        else:
            yield from _ptflops_others(call)
