"""What other counters print, regenerated from our own trace, so that their figures are recognised and explained."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch

from ._counting.calls import call_names
from ._counting.engine import analyse
from ._counting.naming import torchinfo_rows

if TYPE_CHECKING:
    from ._counting.engine import CountedSubject
    from ._counting.trace import Call, CountedOperation, Trace

_DIMENSIONS = (1, 2, 3)
_CONV = {f"Conv{n}d" for n in _DIMENSIONS}
_TRANSPOSED = {f"ConvTranspose{n}d" for n in _DIMENSIONS}
_POOLS = {f"{kind}Pool{n}d" for kind in ("Max", "Avg", "AdaptiveMax", "AdaptiveAvg") for n in _DIMENSIONS}
_POOL_FUNCTIONS = {f"{kind}_pool{n}d" for kind in ("max", "avg", "adaptive_max", "adaptive_avg") for n in _DIMENSIONS}
_BATCH_NORMS = {f"{kind}Norm{n}d" for kind in ("Batch", "Instance") for n in _DIMENSIONS}
_ACTIVATIONS = {"ReLU", "PReLU", "ELU", "LeakyReLU", "ReLU6", "GELU"}
_PATCHED = {"relu", "prelu", "elu", "relu6", "gelu", "silu", "softmax"}


def macs_ptflops_default(subject: CountedSubject) -> int:
    """The MACs that ptflops 0.7 prints by default.

    Those of `macs_ptflops_modules_only`, and once more what its patched functions see: the input of each relu, gelu,
    silu, softmax and pool, though the module that calls the function was counted already; and torch.matmul, but not
    `@`. Only the modules' share is divided by the batch size.

    Slip of: macs
    Hint: This is what ptflops prints by default. It adds biases, batch norm, pooling and ReLU to the MACs, and
    counts pooling twice. Count convolutions and linear layers only.
    Credit: 0.7
    """
    # To torch, `x @ y` and `x.matmul(y)` are the same function; ptflops replaces the method and misses the operator.
    with mock.patch.object(torch.Tensor, "matmul", _method):
        trace = analyse(subject)
    extra = 0
    for operation in trace.operations:
        if operation.name in _PATCHED or operation.name in _POOL_FUNCTIONS:
            extra += operation.input_elements
        elif operation.name in ("matmul", "mm", "bmm", "addmm", "baddbmm"):
            extra += operation.macs + operation.bias
    return _ptflops_modules(trace) // trace.batch + extra


def macs_ptflops_modules_only(subject: CountedSubject) -> int:
    """The MACs that ptflops 0.7 prints with `count_functional=False`.

    Convolutions and linear layers with their bias, two for each input element of a BatchNorm and one for each of a
    LayerNorm, one for each input element of a pool and each output element of an activation, attention with softmax
    and scaling; of modules whose class is exactly torch's; divided by the batch size.

    Slip of: macs
    Hint: This is ptflops with count_functional=False. It adds biases, batch norm and pooling to the MACs. Count
    convolutions and linear layers only.
    Credit: 0.7
    """
    trace = analyse(subject)
    return _ptflops_modules(trace) // trace.batch


def macs_torchinfo(subject: CountedSubject) -> int:
    """The mult-adds that torchinfo 1.8 prints.

    Of each leaf module, each parameter called weight or bias: a convolution's size times the positions of its output,
    any other's times the first dimension of the output. So BatchNorm costs its parameters, a linear layer on a
    sequence is counted once, and an attention not at all.

    Slip of: macs
    Hint: This is torchinfo's "mult-adds". It counts the parameters of batch norm and the bias of the linear layer
    as multiplications. Count convolutions and linear layers only.
    Credit: 0.8
    """
    return sum(_torchinfo(call) for call in analyse(subject).calls)


def macs_by_layer_torchinfo(subject: CountedSubject) -> list[dict[str, Any]]:
    """The mult-adds that torchinfo 1.8 prints, a row a leaf module; see `macs_torchinfo`."""
    trace = analyse(subject)
    names = call_names(trace)
    return [
        {
            "layer": names[id(row.call)],
            "type": row.call.type,
            "macs": _torchinfo(row.call),
            "also_named": list(row.names),
        }
        for row in torchinfo_rows(trace)
        if row.call and _torchinfo(row.call)
    ]


def macs_thop(subject: CountedSubject) -> int:
    """The MACs that thop 0.1.1 prints.

    Convolutions and linear layers without bias, four for each input element of a normalisation (two without a scale of
    its own), one for each output element of an average pool, kernel + 1 of an adaptive one; of modules whose class is
    exactly torch's. Attention is not counted.

    Slip of: macs
    Hint: This is what thop counts. It adds batch norm and pooling. Count convolutions and linear layers only.
    Credit: 0.8
    """
    return sum(_thop(operation) for operation in analyse(subject).operations)


def macs_fvcore(subject: CountedSubject) -> int:
    """The "flops" (which are MACs) that fvcore 0.1.5 prints.

    Convolutions, linear layers, matrix products and einsum, two for each input element of a BatchNorm (one without a
    scale), five of another normalisation (four without), one of an adaptive average pool over images. An attention's
    two products are unsupported and left out, as is an LSTM; einsum is rounded to the four digits in which numpy prints
    its cost.

    Slip of: macs
    Hint: This is what fvcore counts. It adds batch norm and pooling. Count convolutions and linear layers only.
    Credit: 0.8
    """
    return sum(_fvcore(operation) for operation in analyse(subject).operations)


def _method(x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return torch.matmul(x, other)


def _of_torch(call: Call) -> str:
    """The class of a module where it is torch's own; tools that look up the class miss those derived from it."""
    return call.type if type(call.module).__module__.startswith("torch.nn.") else ""


def _ptflops_modules(trace: Trace) -> int:
    return sum(_ptflops(operation, _of_torch(operation.call)) for operation in trace.operations)


def _ptflops(operation: CountedOperation, kind: str) -> int:
    if kind in _CONV or kind in _TRANSPOSED or kind == "Linear":
        return operation.macs + operation.bias
    if kind in _BATCH_NORMS or kind in ("GroupNorm", "LayerNorm"):
        # It asks for `affine`, which a LayerNorm calls elementwise_affine.
        return operation.norm_inputs * (2 if operation.affine and kind != "LayerNorm" else 1)
    if kind in _POOLS:
        return operation.pooling_inputs
    if kind in _ACTIVATIONS:
        return operation.activation_outputs
    if kind == "MultiheadAttention":
        scaling = operation.input_elements if operation.name == "scaled_dot_product_attention" else 0
        return operation.macs + operation.bias + operation.activation_outputs + scaling
    return 0


def _torchinfo(call: Call) -> int:
    if any(call.module.children()) or not call.outputs:
        return 0
    out, total = call.outputs[0], 0
    for name, parameter in call.module.named_parameters():
        if name in ("weight", "bias"):
            positions = out[:1] + out[2:] if "Conv" in call.type else out[:1]
        elif "weight" in name or "bias" in name:
            positions = out[:2]
        else:
            continue
        total += parameter.numel() * math.prod(positions)
    return total


def _thop(operation: CountedOperation) -> int:
    kind = _of_torch(operation.call)
    if kind in _CONV or kind == "Linear":
        return operation.macs
    if kind in _TRANSPOSED:
        channels = operation.input_shape[1] // operation.groups
        return operation.output_elements * channels * math.prod(operation.weight_shape[2:])
    if kind in _BATCH_NORMS or kind == "LayerNorm":
        return operation.norm_inputs * (4 if operation.affine else 2)
    if kind.startswith("AvgPool"):
        return operation.pooling_outputs
    if kind.startswith("AdaptiveAvgPool"):
        return operation.pooling_inputs + operation.pooling_outputs
    return 0


def _fvcore(operation: CountedOperation) -> int:
    match operation.name:
        case "batch_norm":
            return operation.norm_inputs * (2 if operation.affine else 1)
        case "layer_norm" | "group_norm" | "instance_norm":
            return operation.norm_inputs * (5 if operation.affine else 4)
        case "adaptive_avg_pool2d":
            return operation.pooling_inputs
        case "einsum":
            return math.floor(float(f"{2 * operation.macs:.3e}") / 2)
        case "scaled_dot_product_attention":
            return 0
    return operation.macs
