"""Tools that see the kernels that run, or a graph of the network: torch's own counters, ptflops' aten, fx graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn
from torch.nn.modules import pooling
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

from .functions import OF_VECTORS, layer_runs_at_once, runs_at_once
from .hooked import BY_OUTPUT, biases, products
from .net import (
    BIASES,
    POOLING,
    RECURRENT,
    SOFTMAX,
    Net,
    Piece,
    UnknownRuleError,
    affine,
    is_functional,
    is_shape,
    kind,
    name_of,
    name_of_function,
    product_name,
    size,
    x,
    y,
)
from .recurrent import biases as biases_of_steps
from .recurrent import is_one_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._counting.trace import Call, CountedOperation, Function

_SDPA = "scaled_dot_product_attention"
_QKV = 3  # queries, keys and values
_HEADS = 4  # dimensions of queries that are split into heads


def in_one_kernel(function: Function, operation: CountedOperation) -> bool:
    """Whether a CPU runs an attention's two products in a kernel of its own, of which these counters know nothing."""
    if operation.name != _SDPA:
        return False
    if function.name == "multi_head_attention_forward":
        return not function.options.get("need_weights", True)
    given = [each for each in function.args[:3] if isinstance(each, tuple)]
    masked = function.options.get("attn_mask") is not None or len(function.args) > 3  # noqa: PLR2004
    if masked or len(given) != 3 or len({each[-1] for each in given}) > 1:  # noqa: PLR2004
        raise UnknownRuleError(_SDPA)
    return len(given[0]) == _HEADS


def _counted(net: Net, *, at_once: bool) -> Iterator[tuple[Function, CountedOperation]]:
    """The products that kernels with a formula do. `at_once`: no gradient is asked for."""
    net.needs(nn.RNNBase)
    whole = tuple(f"{call.name}." for call in net.calls if at_once and layer_runs_at_once(call))
    for function in net.functions:
        own = function.call
        if is_one_kernel(own) or own.name.startswith(whole):
            continue
        if at_once and isinstance(own.module, nn.MultiheadAttention) and runs_at_once(own):
            continue
        for operation in function.operations:
            if not in_one_kernel(function, operation):
                yield function, operation


_WITHOUT_A_FORMULA = (*OF_VECTORS, "addbmm")


def _of_flop_counter(net: Net, *, at_once: bool) -> Iterator[Piece]:
    """torch.utils.flop_counter has no formula for a product with a vector on the right."""
    for function, operation in _counted(net, at_once=at_once):
        yield Piece(product_name(function, operation), 2 * operation.macs if _has_formula(function, operation) else 0)


def _has_formula(function: Function, operation: CountedOperation) -> bool:
    """Whether torch's counters have a formula for a product, and not for one with a vector on the right."""
    vector = function.name.strip("_") in ("matmul", "imatmul") and len(function.args[1]) == 1
    return operation.name not in _WITHOUT_A_FORMULA and not vector


def flop_counter(net: Net) -> Iterator[Piece]:
    """torch.utils.flop_counter on a CPU, under torch.no_grad()."""
    yield from _of_flop_counter(net, at_once=True)


def flop_counter_with_gradients(net: Net) -> Iterator[Piece]:
    """torch.utils.flop_counter on a CPU, where gradients are asked for."""
    yield from _of_flop_counter(net, at_once=False)


def flop_counter_with_backward(net: Net) -> Iterator[Piece]:
    """torch.utils.flop_counter on a CPU around a step of training: each gradient of a product is a product, too.

    Raises:
        UnknownRuleError: a part is frozen or recurrent, so that more gradients are left out.
    """
    if not all(each.requires_grad for each in net.root.parameters()):
        raise UnknownRuleError("frozen")  # noqa: EM101
    for function, operation in _counted(net, at_once=False):
        if isinstance(function.call.module, RECURRENT) or not _has_formula(function, operation):
            raise UnknownRuleError(function.name)
        macs = 2 * operation.macs * (1 + operation.gradients)
        yield Piece(product_name(function, operation), macs, "with the gradients of the backward pass")


def ptflops_aten(net: Net, *, at_once: bool = False) -> Iterator[Piece]:
    """By ptflops 0.7 with backend='aten': the products of kernels that it knows, and biases that are added in them."""
    if at_once and any(layer_runs_at_once(call) for call in net.calls):
        raise UnknownRuleError("TransformerEncoderLayer")  # noqa: EM101
    for function, operation in _counted(net, at_once=at_once):
        if operation.name in ("baddbmm", "addbmm"):
            raise UnknownRuleError(operation.name)
        if operation.name in OF_VECTORS:
            yield Piece(product_name(function, operation), 0)
            continue
        yield Piece(product_name(function, operation), operation.macs)
        if isinstance(function.call.module, RECURRENT):
            first = operation is function.operations[0]
            yield Piece(BIASES, biases_of_steps(function.call, contiguous=function.contiguous) if first else 0)
            continue
        # The bias of what does not lie in one piece is added afterwards, by a kernel that it does not know.
        apart = operation.name == "linear" and not function.contiguous and operation is not function.operations[-1]
        apart = apart or (function.name == "linear" and not function.contiguous)
        yield Piece(BIASES, 0 if apart else operation.bias)


def profiler(net: Net) -> Iterator[Piece]:
    """torch.profiler with with_flops=True: conv2d, products of matrices, sums and products of elements."""
    for function in net.functions:
        name = function.name.strip("_")
        first = function.args[0] if function.args and is_shape(function.args[0]) else ()
        if isinstance(function.call.module, RECURRENT):
            continue
        if name == "instance_norm":
            raise UnknownRuleError(name)
        if function.operations:
            for each in function.operations:
                known = _has_formula(function, each) and not (each.name.startswith("conv") and each.name != "conv2d")
                attention = isinstance(function.call.module, nn.MultiheadAttention)
                alone = (attention and runs_at_once(function.call)) or not in_one_kernel(function, each)
                yield Piece(product_name(function, each), 2 * each.macs if known and alone else 0)
        elif name in ("add", "mul", "iadd", "imul"):
            yield Piece(name_of_function(function), size(first))
        if name == "multi_head_attention_forward" and not runs_at_once(function.call):
            yield Piece("the scaling of queries", size(first) if function.options.get("need_weights", True) else 0)
    for call in net.calls:
        if isinstance(call.module, RECURRENT):
            yield from _profiled_recurrent(call)


def _profiled_recurrent(call: Call) -> Iterator[Piece]:
    """What has a formula of what a recurrent layer does step by step; of one kernel the sums of biases alone."""
    module: Any = call.module
    if not isinstance(module, nn.RNNBase) or len(x(call)) != _QKV:  # a cell; a sequence without a batch
        raise UnknownRuleError(call.type)
    cells = module.num_layers * (2 if module.bidirectional else 1)
    rows = size(x(call)[:2])
    if is_one_kernel(call):
        yield Piece("the sums of an LSTM's biases", 4 * module.hidden_size * cells if module.bias else 0)
        return
    weights = sum(each.numel() for name, each in module.named_parameters() if name.startswith("weight"))
    yield Piece(name_of(call), 2 * rows * weights)
    if isinstance(module, nn.GRU):  # of its sums the one that is not in place
        yield Piece("sums in a GRU's cells", rows * module.hidden_size * cells)
    elif isinstance(module, nn.LSTM):
        yield Piece("products of elements in an LSTM's cells", 3 * rows * module.hidden_size * cells)


# ---- graphs of torch.fx -------------------------------------------------------------------------------------------


def _in_graph(net: Net) -> Iterator[tuple[Call | None, Function | None]]:
    """The calls of torch's own modules, and of functions outside of them: what a symbolic trace holds."""
    seen: set[int] = set()
    order: list[tuple[int, Call | None, Function | None]] = []
    for call in net.calls:
        around = net.around[id(call)]
        if _whole(call) and not any(map(_whole, around)):
            order.append((len(order), call, None))
            seen.add(id(call))
    for function in net.functions:
        if not any(map(_whole, (*net.around[id(function.call)], function.call))):
            order.append((len(order), None, function))
    return ((call, function) for _, call, function in order)


def _whole(call: Call) -> bool:
    return bool(kind(call)) and not isinstance(call.module, nn.Sequential | nn.ModuleList | nn.ModuleDict)


def torch_flops(net: Net) -> Iterator[Piece]:
    """By torch_flops 0.4: one addition less for each output, biases, norms, pools; no transposed convolution."""
    for call, function in _in_graph(net):
        if call is not None:
            yield from _torch_flops_module(call)
        elif function is not None:
            yield from _torch_flops_function(function)


_LESS = "with one addition less for each output"


def _torch_flops_module(call: Call) -> Iterator[Piece]:
    module: Any = call.module
    out = size(y(call))
    if isinstance(module, _ConvTransposeNd) or call.type.startswith("Parametrized"):
        yield Piece(name_of(call), 0)
    elif isinstance(module, _ConvNd | nn.Linear):
        yield Piece(name_of(call), 2 * products(call) - out, _LESS)
        yield Piece(BIASES, biases(call))
    elif isinstance(module, _NormBase | nn.LayerNorm | nn.GroupNorm):
        if not affine(call) and not isinstance(module, nn.LayerNorm):
            raise UnknownRuleError(call.type)  # it fails there
        yield Piece(name_of(call), 4 * size(x(call)), "four for each element")
    elif isinstance(module, nn.ReLU | nn.GELU | nn.LeakyReLU):
        yield Piece(name_of(call), out * (4 if isinstance(module, nn.LeakyReLU) else 1))
    elif isinstance(module, pooling._AvgPoolNd | pooling._MaxPoolNd):  # noqa: SLF001
        kernel: Any = module.kernel_size
        window = kernel if isinstance(kernel, int) else size(kernel)
        yield Piece(POOLING, out * (window - isinstance(module, pooling._MaxPoolNd)))  # noqa: SLF001
    elif isinstance(module, pooling._AdaptiveAvgPoolNd | pooling._AdaptiveMaxPoolNd):  # noqa: SLF001
        each = zip(x(call)[2:], y(call)[2:], strict=True)
        window = size([i // o if i % o == 0 else i - o * (i // o) + 1 for i, o in each])
        yield Piece(POOLING, out * (window - isinstance(module, pooling._AdaptiveMaxPoolNd)))  # noqa: SLF001


def _torch_flops_function(function: Function) -> Iterator[Piece]:
    name, out = function.name, function.output if is_shape(function.output) else ()
    if name in ("conv1d", "conv2d", "conv3d"):
        biased = function.options.get("bias") is not None
        weight = function.args[1]
        count = 2 * size(weight[2:]) * weight[1] - (0 if biased else function.options.get("groups", 1))
        yield Piece(f"F.{name}", count * size(out), _LESS)
    elif name in ("linear", "matmul") and not function.method:
        for each in function.operations:
            yield Piece(product_name(function, each), 2 * each.macs - size(out), _LESS)
            yield Piece(BIASES, each.bias)
    elif name == _SDPA:
        yield from _torch_flops_attention(function)
    elif name in ("add", "mul", "sub", "div") and len(function.args) > 1:
        yield Piece(name_of_function(function), size(out))
    elif name == "leaky_relu":
        yield Piece("F.leaky_relu", 4 * size(out))
    elif name in ("interpolate", "sum", "exp") or (name == "softmax" and not is_functional(function)):
        raise UnknownRuleError(name)


def _torch_flops_attention(function: Function) -> Iterator[Piece]:
    query, key, value = function.args[:3]
    rows, source = size(query[:-1]), key[-2]
    (each,) = (one for one in function.operations if one.macs)
    dots = (2 * query[-1] - 1) * rows * source + (2 * source - 1) * rows * value[-1]
    yield Piece(product_name(function, each), dots, _LESS)
    masked = len(function.args) > _QKV or any(function.options.get(word) for word in ("attn_mask", "is_causal"))
    yield Piece(SOFTMAX, rows * (4 * source - 1) + (rows * source if masked else 0))


def pthflops(net: Net) -> Iterator[Piece]:
    """By pthflops 0.4: MACs with biases, batch norm, ReLU twice, pools; transposed by output; of functions `@`."""
    for call, function in _in_graph(net):
        if call is not None:
            yield from _pthflops_module(call)
        elif function is not None and function.name in ("add", "mul"):
            yield Piece(name_of_function(function), size(function.output) * len(function.args), "once for each operand")
        elif function is not None and function.name == "matmul" and not function.method:
            each = function.operations[0]
            yield Piece(product_name(function, each), size(function.args[0]) * function.output[-1])


def _pthflops_module(call: Call) -> Iterator[Piece]:
    module: Any = call.module
    out = size(y(call))
    if isinstance(module, _ConvNd):
        positions = y(call)[0] * size(y(call)[2:])
        count = size(module.kernel_size) * module.in_channels * (module.out_channels // module.groups) * positions
        yield Piece(name_of(call), count, BY_OUTPUT)
        yield Piece(BIASES, biases(call))
    elif isinstance(module, nn.ReLU):
        yield Piece("ReLU", 2 * out)
    elif isinstance(module, _BatchNorm):
        yield Piece(name_of(call), 2 * out)
    elif isinstance(module, pooling._MaxPoolNd | pooling._AvgPoolNd):  # noqa: SLF001
        kernel: Any = module.kernel_size
        window = kernel ** (len(y(call)) - 2) if isinstance(kernel, int) else size(kernel)
        yield Piece(POOLING, out * (window - isinstance(module, pooling._MaxPoolNd)))  # noqa: SLF001
    elif isinstance(module, pooling._AdaptiveAvgPoolNd):  # noqa: SLF001
        yield Piece(POOLING, size(x(call)[-2:]) * out)
    elif isinstance(module, nn.Linear):
        yield Piece(name_of(call), size(x(call)) * y(call)[-1])
        yield Piece(BIASES, y(call)[-1] if module.bias is not None else 0)
