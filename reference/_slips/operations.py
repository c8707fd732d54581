"""The parts of a count of operations, and what slips look at in them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from torch import nn
from torch.nn.modules.conv import _ConvNd

from .common import ratio, times
from .compose import Factors, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .._counting.trace import CountedOperation

MULTIPLYING = (*(f"Conv{kind}{n}d" for kind in ("", "Transpose") for n in (1, 2, 3)), "Linear")
NORM, POOL_IN, POOL_OUT, WINDOWS = "norm", "pool in", "pool out", "windows"
NORM_AS_CONV = "norm as a convolution"
ACTIVATION, BIAS, NO_BIAS = "activation", "bias", "no bias"
BOTH = ("", BIAS, NO_BIAS)  # what a layer that multiplies does


def parts(operation: CountedOperation, row: str, wanted: bool, *, bias: bool, others: bool) -> Iterator[Part]:  # noqa: FBT001
    window = operation.call.module
    size = getattr(window, "kernel_size", 0)
    elements = math.prod(size) if isinstance(size, tuple) else size**2
    windows = operation.pooling_outputs * elements if elements else operation.pooling_inputs
    for kind, count, counted in (
        ("", operation.macs, wanted),
        (BIAS, operation.bias, wanted and bias),
        (NO_BIAS, operation.output_elements if wanted and is_layer(operation) and not operation.bias else 0, False),
        (NORM, 2 * operation.norm_inputs, wanted and others),
        (NORM_AS_CONV, 2 * operation.norm_inputs, False),
        (POOL_IN, operation.pooling_inputs, wanted and others),
        (POOL_OUT, operation.pooling_outputs, False),
        (WINDOWS, windows, False),
        (ACTIVATION, operation.activation_outputs, False),
    ):
        if count and (wanted or kind):
            yield Part(
                row="Conv2d" if kind == NORM_AS_CONV else row, count=count, source=operation, kind=kind, counted=counted
            )


# ---- what an operation is -------------------------------------------------------------------------------------------


def is_conv(o: CountedOperation) -> bool:
    return o.name.startswith("conv") and len(o.weight_shape) > 2 and bool(o.input_shape)  # noqa: PLR2004


def is_layer(o: CountedOperation) -> bool:
    """Whether it multiplies by a weight, and not one tensor that was computed by another."""
    return bool(o.weight_shape) and (o.name == "linear" or o.name.startswith("conv"))


def of_conv(factor: Callable[[CountedOperation], int | Fraction]) -> Callable[[Sequence[Part]], Factors]:
    return times(lambda o: factor(o) if is_conv(o) else 1)


def is_linear(o: CountedOperation) -> bool:
    return o.call.type == "Linear" or isinstance(o.call.module, nn.Linear)


def of_linear(factor: Callable[[CountedOperation], int | Fraction]) -> Callable[[Sequence[Part]], Factors]:
    return times(lambda o: factor(o) if is_linear(o) else 1)


def kernel(o: CountedOperation) -> tuple[int, ...]:
    return o.weight_shape[2:]


def squared(o: CountedOperation, at: int) -> Fraction:
    sizes = kernel(o)
    return ratio([sizes[at]] * len(sizes), sizes)


def dilated(o: CountedOperation) -> Fraction:
    """How much larger a kernel is with its holes."""
    spread = getattr(o.call.module, "dilation", (1,))
    sizes = kernel(o)
    spread = spread if isinstance(spread, tuple) and len(spread) == len(sizes) else (1,) * len(sizes)
    return ratio([d * (k - 1) + 1 for d, k in zip(spread, sizes, strict=True)], sizes)


def summed(o: CountedOperation) -> int:
    """How many products make one output."""
    return max(o.macs // o.output_elements, 1) if o.output_elements else 1


def batch_of(o: CountedOperation) -> int:
    return o.output_shape[0] if o.output_shape else 1


def computed(size: Callable[[int, int, int, int, int], int]) -> Callable[[Sequence[Part]], Factors]:
    """Take the size of each convolution's output from that of its true input, kernel, pad, stride and dilation.

    Nobody takes padding='same' for a number.
    """

    def factor(o: CountedOperation) -> int | Fraction:
        module = o.call.module
        if not isinstance(module, _ConvNd) or module.transposed or isinstance(module.padding, str):
            return 1
        each = zip(o.input_shape[2:], module.kernel_size, module.padding, module.stride, module.dilation, strict=True)
        return ratio([max(size(*one), 0) for one in each], o.output_shape[2:])

    return of_conv(factor)


def of_image(parts: Sequence[Part]) -> Factors:
    """Take the size of what the first convolution gets for that of each one's output."""
    image = next((part.source.input_shape[2:] for part in parts if is_conv(part.source)), ())
    return of_conv(lambda o: ratio(image, o.output_shape[2:]) if len(image) == len(o.output_shape) - 2 else 1)(parts)


def over_stride(up: int) -> Callable[[Sequence[Part]], Factors]:
    """Take the size of each convolution's input over its stride, rounded up or down."""
    return computed(lambda n, _kernel, _pad, s, _dilation: (n + up * (s - 1)) // s)


def inside(o: CountedOperation) -> list[int]:
    """By dimension, how often a number of a convolution's kernel meets one of the image, and not of the padding."""
    module: Any = o.call.module
    if not isinstance(module, _ConvNd) or module.transposed or module.padding_mode != "zeros":
        return [*o.weight_shape[2:], *o.output_shape[2:]]
    pads = module._reversed_padding_repeated_twice[::-2]  # noqa: SLF001 - of 'same', too
    each = zip(o.input_shape[2:], module.kernel_size, pads, module.stride, module.dilation, strict=True)
    return [
        sum(0 <= at * s + tap * d - pad < n for at in range(out) for tap in range(k))
        for out, (n, k, pad, s, d) in zip(o.output_shape[2:], each, strict=True)
    ]


def places(n: int, k: int, pads: int, s: int, d: int) -> int:
    return (n + pads - d * (k - 1) - 1) // s + 1


def weights_alone(parts: Sequence[Part], *, once: bool = True, bias: bool = False) -> Factors:
    """What makes each weight count, `once` or for each call, and nothing else; with `bias` all parameters of layers."""
    calls = first_calls(parts) if once else [1] * len(parts)
    return [
        Fraction(_held(part.source, bias=bias), part.count) * one - 1 if part.counted and not part.kind else 0
        for part, one in zip(parts, calls, strict=True)
    ]


def _held(o: CountedOperation, *, bias: bool) -> int:
    own = o.call.module.parameters(recurse=False) if bias else ()
    weight = math.prod(o.weight_shape) if is_layer(o) else 0
    return sum(each.numel() for each in own) if bias else weight


def equal_once(parts: Sequence[Part]) -> Factors:
    """Leave out what does as many products as something before it."""
    first: dict[tuple[str, int | Fraction], int] = {}
    return [int(first.setdefault((part.kind, part.count), at) == at) for at, part in enumerate(parts)]


def last_of_rows(parts: Sequence[Part]) -> Factors:
    """Leave out all but what the last operation of each row does."""
    last = {part.row: id(part.source) for part in parts if part.counted}
    return [int(last.get(part.row) == id(part.source)) for part in parts]


def last_of_types(parts: Sequence[Part]) -> Factors:
    """Leave out all but what the last operation of each class of modules does."""
    last = {part.source.call.type: id(part.source) for part in parts if part.counted}
    return [int(last.get(part.source.call.type) == id(part.source)) for part in parts]


def first_calls(parts: Sequence[Part]) -> list[int]:
    first: dict[str, int] = {}
    calls = [part.source.call for part in parts]
    return [int(first.setdefault(call.name, id(call)) == id(call)) for call in calls]


def depth(o: CountedOperation) -> int:
    return o.call.depth
