"""Tools that print a row for each module: torchinfo, torch-summary, flopco, flopth, flopsmeter, torchscan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn
from torch.nn.modules import pooling
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

from .hooked import BY_OUTPUT, ONCE, ONCE_A_SAMPLE, biases, by_output, products
from .net import (
    BIASES,
    DROPOUT,
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
    name_of,
    size,
    x,
    y,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._counting.trace import Call

_FEWEST = 2
_DEEPEST = 4  # torch-summary looks that deep by default
_RUN_ONCE = "once, however often they run"
_PARAMETERS = "by their parameters"
_OWN = "parameters of its own called weight or bias"
_BY_WEIGHT = "by their weights, with the first two sizes of the output"


def torchinfo(net: Net) -> Iterator[Piece]:
    """By torchinfo 1.8: of each module without modules inside, weights and biases, times what stands for positions."""
    for call in net.leaves():
        yield from torchinfo_of(call)


def torchinfo_of(call: Call) -> Iterator[Piece]:
    """What torchinfo counts for one call of a module; nothing for a module with others inside."""
    out = y(call)
    for name, parameter in call.module.named_parameters() if out and not any(call.module.children()) else ():
        if name in ("weight", "bias"):
            positions = out[:1] + out[2:] if "Conv" in call.type else out[:1]
        elif "weight" in name or "bias" in name:
            positions = out[:2]
        else:
            continue
        what, how = _of_parameter(call, name, ONCE_A_SAMPLE)
        yield Piece(what, parameter.numel() * size(positions), how)


def _of_parameter(call: Call, name: str, rows: str) -> tuple[str, str]:
    if isinstance(call.module, RECURRENT):
        return name_of(call), _BY_WEIGHT
    if isinstance(call.module, _ConvNd | nn.Linear):
        if name == "bias":
            return BIASES, ""
        how = BY_OUTPUT if isinstance(call.module, _ConvTransposeNd) else rows
        return name_of(call), "" if isinstance(call.module, _ConvNd) and how == rows else how
    if call.depth == 0:
        return _OWN, ""
    what = "the embedding" if isinstance(call.module, nn.Embedding) else name_of(call)
    return what, _PARAMETERS


def torch_summary(net: Net) -> Iterator[Piece]:
    """torch-summary 1.4: the weights of each module, of containers again, times the positions of one sample."""
    whole = not any(net.root.children())
    for call in net.calls:
        if call.name.count(".") >= _DEEPEST or (not call.depth and not whole):
            continue
        for name, parameter in call.module.named_parameters():
            if name == "weight":
                positions = y(call)[2:] if "Conv" in call.type else ()
                what, how = _of_parameter(call, name, ONCE)
                yield Piece(what, parameter.numel() * size(positions), how)
            elif "weight" in name:
                what = name_of(call) if isinstance(call.module, RECURRENT) else "the weights of containers"
                if isinstance(call.module, nn.MultiheadAttention):
                    what = PROJECTIONS
                yield Piece(what, parameter.numel(), ONCE if what != "the weights of containers" else "")


# ---- flopco, flopth, flopsmeter -----------------------------------------------------------------------------------


def flopco(net: Net, *, operations: bool = False) -> Iterator[Piece]:
    """By flopco 0.1: Conv2d and Linear alone, of one sample; of a convolution with groups one input channel."""
    for call in net.calls:
        module: Any = call.module
        if isinstance(module, nn.Conv2d):
            channels = 1 if module.groups > 1 else module.weight.shape[1]
            count = size(y(call)[1:]) * channels * size(module.weight.shape[2:])
            how = "with one input channel"
        elif isinstance(module, nn.Linear):
            count, how = module.weight.numel(), ONCE
        else:
            continue
        yield Piece(name_of(call), count * (2 if operations else 1), how)
        if operations and module.bias is not None:
            # Of a linear layer it takes the sizes of the weight the wrong way round.
            yield Piece(BIASES, module.in_features if isinstance(module, nn.Linear) else size(y(call)[1:]))


_FLOPTH_NORMS: tuple[type[nn.Module], ...] = (
    *(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm, nn.GroupNorm),
    *(nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d),
)
_FLOPTH_ACTIVATIONS: tuple[type[nn.Module], ...] = (
    *(nn.ReLU, nn.ReLU6, nn.PReLU, nn.ELU, nn.LeakyReLU, nn.GELU, nn.CELU, nn.SELU, nn.Hardswish),
    *(nn.Hardsigmoid, nn.Tanh),
)
_FLOPTH_POOLS = (nn.AvgPool2d, nn.MaxPool2d, nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d)


def flopth(net: Net) -> Iterator[Piece]:
    """By flopth 0.1.6: modules without others inside, by their last run; transposed by output, biases, norms, pools."""
    for call in net.last_calls:
        module: Any = call.module
        if call.type.startswith("Parametrized"):  # whose class it looks up
            raise UnknownRuleError(call.type)
        if any(module.children()):
            continue
        if isinstance(module, RECURRENT) or not call.inputs or len(call.outputs) != 1:
            raise UnknownRuleError(call.type)
        if isinstance(module, _ConvNd):
            count = by_output(call) if isinstance(module, _ConvTransposeNd) else products(call)
            yield Piece(name_of(call), count, BY_OUTPUT if isinstance(module, _ConvTransposeNd) else _RUN_ONCE)
            yield Piece(BIASES, biases(call))
        else:
            yield from _flopth_others(call)


def _flopth_others(call: Call) -> Iterator[Piece]:
    module: Any = call.module
    if isinstance(module, _FLOPTH_NORMS):
        yield Piece(name_of(call), size(x(call)) * (2 if getattr(module, "affine", False) else 1))
    elif isinstance(module, _FLOPTH_POOLS):
        yield Piece(POOLING, size(x(call)))
    elif isinstance(module, _FLOPTH_ACTIVATIONS):
        yield Piece(name_of(call), size(y(call)))
    elif isinstance(module, nn.Upsample):
        yield Piece(UPSAMPLING, y(call)[0] * size(y(call)[2:]))
    elif isinstance(module, nn.Linear):
        if len(x(call)) < _FEWEST:
            raise UnknownRuleError(call.type)
        count = x(call)[0] * x(call)[1] * y(call)[1]
        yield Piece(name_of(call), count, "by the second size of input and output, which is no width there")


_SMETER_ACTIVATIONS: tuple[type[nn.Module], ...] = (
    *(nn.ELU, nn.Hardshrink, nn.Hardsigmoid, nn.Hardtanh, nn.Hardswish, nn.LeakyReLU, nn.LogSigmoid, nn.PReLU, nn.ReLU),
    *(nn.ReLU6, nn.RReLU, nn.SELU, nn.GELU, nn.Sigmoid, nn.SiLU, nn.Mish, nn.Softplus, nn.Softshrink, nn.Softsign),
    *(nn.Tanh, nn.Tanhshrink, nn.Threshold, nn.GLU, nn.Softmin, nn.Softmax, nn.Softmax2d, nn.LogSoftmax),
)
_SMETER_UPSAMPLING = {"nearest": 0, "linear": 3, "bilinear": 7, "bicubic": 31, "trilinear": 15}


def flopsmeter(net: Net) -> Iterator[Piece]:
    """By flopsmeter 0.1, in operations, of one sample: transposed by output, linear layers once, norms six each."""
    for call in net.leaves():
        module: Any = call.module
        if not call.outputs or len(call.outputs) > 1:
            raise UnknownRuleError(call.type)
        out = size(y(call))
        if isinstance(module, _ConvNd):
            count = 2 * (by_output(call) if isinstance(module, _ConvTransposeNd) else products(call))
            yield Piece(name_of(call), count, BY_OUTPUT)
            yield Piece(BIASES, biases(call))
        elif isinstance(module, nn.Linear):
            yield Piece(name_of(call), 2 * module.weight.numel(), ONCE)
            yield Piece(BIASES, module.out_features if module.bias is not None else 0)
        elif isinstance(module, _NormBase | nn.GroupNorm | nn.LayerNorm):
            yield Piece(name_of(call), out * (6 if affine(call) else 4), "six for each element")
        else:
            yield from _flopsmeter_others(call, out)


def _flopsmeter_others(call: Call, out: int) -> Iterator[Piece]:
    module: Any = call.module
    if isinstance(module, nn.Dropout | nn.Dropout1d | nn.Dropout2d | nn.Dropout3d):
        yield Piece(DROPOUT, 2 * out)
    elif isinstance(module, _SMETER_ACTIVATIONS):
        yield Piece(name_of(call), 4 * out, "four for each element")
    elif isinstance(module, nn.Upsample):
        yield Piece(UPSAMPLING, _SMETER_UPSAMPLING[module.mode] * out)
    elif "Pool" in call.type:
        yield Piece(POOLING, _smeter_pool(call))
    elif isinstance(module, nn.Bilinear | nn.LocalResponseNorm):
        raise UnknownRuleError(call.type)


def _smeter_pool(call: Call) -> int:
    module: Any = call.module
    n = len(y(call)) - 2
    if isinstance(module, pooling._AdaptiveAvgPoolNd | pooling._AdaptiveMaxPoolNd):  # noqa: SLF001
        window = size([max(1, -(-i // o)) for i, o in zip(x(call)[2:], y(call)[2:], strict=True)])
    elif isinstance(module, pooling._AvgPoolNd | pooling._MaxPoolNd):  # noqa: SLF001
        kernel: Any = module.kernel_size
        window = kernel**n if isinstance(kernel, int) else size(kernel)
    else:
        raise UnknownRuleError(call.type)
    return size(y(call)) * (window - ("Max" in call.type))


# ---- torchscan ----------------------------------------------------------------------------------------------------


def torchscan(net: Net) -> Iterator[Piece]:
    """By torchscan 0.2's MACs: transposed by output and four for each dimension, batch norm, pools; no attention."""
    for call in net.leaves():
        module: Any = call.module
        if isinstance(module, _ConvTransposeNd):
            yield Piece(name_of(call), by_output(call) + 4 * len(module.kernel_size), BY_OUTPUT)
        elif isinstance(module, _ConvNd | nn.Linear):
            yield Piece(name_of(call), products(call))
        elif isinstance(module, _BatchNorm):
            yield Piece(name_of(call), size(x(call)) * (2 if module.affine else 1))
        else:
            yield from _torchscan_pool(call)


def _torchscan_pool(call: Call) -> Iterator[Piece]:
    module: Any = call.module
    out = size(y(call))
    if isinstance(module, pooling._MaxPoolNd | pooling._AvgPoolNd):  # noqa: SLF001 - the bases that the tool asks for
        kernel: Any = module.kernel_size
        window = kernel if isinstance(kernel, int) else size(kernel)
        more = len(x(call)) - 2 if isinstance(module, pooling._AvgPoolNd) else 0  # noqa: SLF001
        yield Piece(POOLING, out * (window - 1 + more))
    elif isinstance(module, pooling._AdaptiveMaxPoolNd | pooling._AdaptiveAvgPoolNd):  # noqa: SLF001
        sizes = zip(x(call)[2:], y(call)[2:], strict=False)
        window = size([i // o if i % o == 0 else i % o + 1 for i, o in sizes])
        more = len(y(call)) - 2 if isinstance(module, pooling._AdaptiveAvgPoolNd) else 0  # noqa: SLF001
        yield Piece(POOLING, out * (window - 1 + more))


_SCAN_ACTIVATIONS = {nn.ReLU: 1, nn.ELU: 6, nn.LeakyReLU: 4, nn.ReLU6: 2, nn.Tanh: 6, nn.Sigmoid: 4}
_LESS = "with one addition less for each output"


def torchscan_operations(net: Net) -> Iterator[Piece]:
    """By torchscan 0.2's FLOPs: one addition less for each output, biases, norms, activations, pools, attention."""
    for call in net.calls:
        module: Any = call.module
        if isinstance(module, nn.Transformer):
            raise UnknownRuleError(call.type)
        if isinstance(module, nn.MultiheadAttention):
            yield from _torchscan_attention(call)
        elif any(module.children()):
            continue
        elif isinstance(module, _ConvNd | nn.Linear):
            count = by_output(call) if isinstance(module, _ConvTransposeNd) else products(call)
            more = 8 * len(module.kernel_size) if isinstance(module, _ConvTransposeNd) else 0
            how = BY_OUTPUT if isinstance(module, _ConvTransposeNd) else _LESS
            yield Piece(name_of(call), 2 * count - size(y(call)) + more, how)
            yield Piece(BIASES, biases(call))
        elif isinstance(module, _BatchNorm):
            yield Piece(name_of(call), module.num_features * 2 + size(x(call)) * (4 if module.affine else 2))
        elif isinstance(module, nn.LayerNorm):
            rows = size(x(call)) // size(module.normalized_shape)
            own = (module.weight is not None) + (module.bias is not None)
            yield Piece(name_of(call), (6 + own) * size(x(call)) + 2 * rows)
        elif isinstance(module, nn.Dropout):
            yield Piece(DROPOUT, size(x(call)) if module.p > 0 else 0)
        elif each := next((n for of, n in _SCAN_ACTIVATIONS.items() if isinstance(module, of)), 0):
            yield Piece(name_of(call), each * size(x(call)))
        else:
            yield from _torchscan_pool(call)


def _torchscan_attention(call: Call) -> Iterator[Piece]:
    module: Any = call.module
    given = call.inputs[:3]
    if len(given) < 3 or any(len(each) != 3 for each in given) or module.bias_k is not None:  # noqa: PLR2004
        raise UnknownRuleError(call.type)
    if module.add_zero_attn or len(call.inputs) > 3:  # noqa: PLR2004 - masks
        raise UnknownRuleError(call.type)
    at = 1 if module.batch_first else 0
    batch, length, source = given[0][1 - at], given[0][at], given[1][at]
    heads, width = module.num_heads, module.head_dim
    own = int(module.in_proj_bias is not None)
    into = sum(size(each[:-1]) * module.embed_dim * (2 * each[-1] - 1 + own) for each in given)
    out = size(given[0][:-1]) * module.embed_dim * (2 * module.embed_dim - 1 + (module.out_proj.bias is not None))
    rows = batch * heads * length
    yield Piece(PROJECTIONS, into + out, _LESS)
    yield Piece(PRODUCTS, rows * source * (2 * width - 1) + rows * width * (2 * source - 1), _LESS)
    yield Piece(SOFTMAX, rows * (3 * source - 1))
    yield Piece("the scaling of queries", 1 + rows * width)
    if len(call.outputs) > 1 and len(call.outputs[1]) == 3:  # noqa: PLR2004 - the weights are averaged over the heads
        yield Piece("the mean of attention's weights", rows * source)
