"""Slips in counting operations: which layers count, which factor is lost, which size is taken."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from .._counting import wrong
from .._counting.calls import chosen
from .._counting.wrong import traced
from .compose import (
    UNITS,
    Composition,
    Factors,
    Library,
    Part,
    Slip,
    also,
    first_left_out,
    last_left_out,
    ratio,
    times,
    without,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import nn

    from .._counting.engine import CountedSubject
    from .._counting.trace import CountedOperation, Trace

MULTIPLYING = (*(f"Conv{kind}{n}d" for kind in ("", "Transpose") for n in (1, 2, 3)), "Linear")
_NORM, _POOL_IN, _POOL_OUT, _WINDOWS = "norm", "pool in", "pool out", "windows"
_ACTIVATION, _BIAS = "activation", "bias"


def composition(
    subject: CountedSubject,
    row: Callable[[Trace, CountedOperation], str],
    *,
    layers: Sequence[str] | None = None,
    bias: bool = False,
    others: bool = False,
    per_sample: bool = False,
) -> Composition:
    """The operations of a subject, and what slips make of them. `row` names the row of a table that one belongs to.

    `others`: norms count two for each input element and pools one, where those are asked for instead of products.
    """

    def make(changes: Sequence[Callable[[nn.Module], None]]) -> list[Part]:
        trace = traced(subject, changes, batch=1 if per_sample else None)
        wanted = chosen(trace.root, layers)
        return [
            part
            for operation in trace.operations
            for part in _parts(
                operation, row(trace, operation), wanted(operation.call.module), bias=bias, others=others
            )
        ]

    return Composition(library=LIBRARY, make=make)


def _parts(operation: CountedOperation, row: str, wanted: bool, *, bias: bool, others: bool) -> Iterator[Part]:  # noqa: FBT001
    window = operation.call.module
    size = getattr(window, "kernel_size", 0)
    elements = math.prod(size) if isinstance(size, tuple) else size**2
    windows = operation.pooling_outputs * elements if elements else operation.pooling_inputs
    for kind, count, counted in (
        ("", operation.macs, wanted),
        (_BIAS, operation.bias, wanted and bias),
        (_NORM, 2 * operation.norm_inputs, wanted and others),
        (_POOL_IN, operation.pooling_inputs, wanted and others),
        (_POOL_OUT, operation.pooling_outputs, False),
        (_WINDOWS, windows, False),
        (_ACTIVATION, operation.activation_outputs, False),
    ):
        if count and (wanted or kind):
            yield Part(row=row, count=count, source=operation, kind=kind, counted=counted)


def by_layer(trace: Trace, operation: CountedOperation) -> str:
    """The row of an operation in a table by layer."""
    return trace.layer(operation.call)


# ---- what an operation is -------------------------------------------------------------------------------------------


def _is_conv(o: CountedOperation) -> bool:
    return len(o.weight_shape) > 2 and bool(o.input_shape)  # noqa: PLR2004 - a matrix has two


def _of_conv(factor: Callable[[CountedOperation], int | Fraction]) -> Callable[[Sequence[Part]], Factors]:
    return times(lambda o: factor(o) if _is_conv(o) else 1)


def _is_linear(o: CountedOperation) -> bool:
    return o.call.type == "Linear"


def _of_linear(factor: Callable[[CountedOperation], int | Fraction]) -> Callable[[Sequence[Part]], Factors]:
    return times(lambda o: factor(o) if _is_linear(o) else 1)


def _kernel(o: CountedOperation) -> tuple[int, ...]:
    return o.weight_shape[2:]


def _squared(o: CountedOperation, at: int) -> Fraction:
    sizes = _kernel(o)
    return ratio([sizes[at]] * len(sizes), sizes)


def _batch(o: CountedOperation) -> int:
    return o.output_shape[0] if o.output_shape else 1


def _again(parts: Sequence[Part]) -> list[int]:
    first: dict[str, int] = {}
    calls = [part.source.call for part in parts]
    return [int(first.setdefault(call.name, id(call)) == id(call)) for call in calls]


def _depth(o: CountedOperation) -> int:
    return o.call.depth


_READ = "read the size from a forward hook"
LIBRARY: Library = {
    # which size is taken
    "ceil_mode": Slip(
        of="size",
        change=wrong.without_ceil_mode,
        says=f"Sizes are rounded down behind every pool, where ceil_mode=True rounds up. Take the rounding from each "
        f"pool's ceil_mode, or {_READ}.",
    ),
    "dilation": Slip(
        of="size",
        change=wrong.without_dilation,
        says=f"Dilation is ignored. A dilated kernel covers dilation * (kernel_size - 1) + 1 pixels: put that into the "
        f"size of the output, or {_READ}.",
    ),
    "same_padding": Slip(
        of="size",
        change=wrong.same_as_zero,
        says="padding='same' is taken for no padding. It keeps the size of the input.",
    ),
    "padding": Slip(
        of="size",
        change=wrong.without_padding,
        says=f"Padding is ignored. It adds 2 * padding to the size before the kernel is subtracted; or {_READ}.",
    ),
    "padding_once": Slip(
        of="size",
        change=wrong.padding_once,
        says=f"Padding is added once. It lies on both sides: the size grows by 2 * padding; or {_READ}.",
    ),
    "stride": Slip(
        of="size",
        change=wrong.without_stride,
        says=f"The stride of convolutions is ignored. Divide by it when you compute the size of the output, or "
        f"{_READ}.",
    ),
    "pools": Slip(
        of="size",
        change=wrong.without_pools,
        says=f"Pools leave the size as it is here, but they make it smaller. Follow the size through each pool, or "
        f"{_READ}.",
    ),
    "square": Slip(
        of="size",
        change=wrong.square,
        says="Kernel, stride and padding are taken to be square. Each has a height and a width, and they may differ.",
    ),
    # which factor is lost
    "groups": Slip(
        of="channels",
        change=_of_conv(lambda o: o.groups),
        says="Groups are ignored. In a grouped convolution each output channel reads in_channels / groups inputs: "
        "divide by groups.",
    ),
    "groups_twice": Slip(
        of="channels",
        change=_of_conv(lambda o: Fraction(1, o.groups)),
        says="The groups are divided out twice. Only in_channels is divided by groups; all out_channels count.",
    ),
    "kernel_height": Slip(
        of="kernel",
        change=_of_conv(lambda o: _squared(o, 0)),
        says="The kernel's height stands for its width, too. kernel_size has both, and they may differ.",
    ),
    "kernel_width": Slip(
        of="kernel",
        change=_of_conv(lambda o: _squared(o, -1)),
        says="The kernel's width stands for its height, too. kernel_size has both, and they may differ.",
    ),
    "kernel_side": Slip(
        of="kernel",
        change=_of_conv(lambda o: ratio([1], _kernel(o)[1:])),
        says="Only one side of the kernel is counted. Multiply by its height and by its width.",
    ),
    "kernel": Slip(
        of="kernel",
        change=_of_conv(lambda o: ratio([1], _kernel(o))),
        says="The kernel is left out. Each output element takes kernel height x kernel width products a channel.",
    ),
    "in_channels": Slip(
        of="channels",
        change=_of_conv(lambda o: Fraction(1, o.weight_shape[1])),
        says="The input channels are left out. Each output element sums over in_channels / groups channels.",
    ),
    "out_channels": Slip(
        of="channels",
        change=_of_conv(lambda o: Fraction(1, o.weight_shape[0])),
        says="The output channels are left out. Every output channel is computed by a kernel of its own.",
    ),
    "positions": Slip(
        of="positions",
        change=_of_conv(lambda o: Fraction(1, math.prod(o.output_shape[2:]))),
        says="The output's height and width are left out: the kernel is applied at each position of the output.",
    ),
    "height_twice": Slip(
        of="positions",
        change=_of_conv(lambda o: ratio(o.output_shape[2:3], o.output_shape[3:4])),
        says="The output's height stands for its width, too. Outputs need not be square: use shape[2] and shape[3].",
    ),
    "width_twice": Slip(
        of="positions",
        change=_of_conv(lambda o: ratio(o.output_shape[3:4], o.output_shape[2:3])),
        says="The output's width stands for its height, too. Outputs need not be square: use shape[2] and shape[3].",
    ),
    "input_size": Slip(
        of="positions",
        change=_of_conv(lambda o: ratio(o.input_shape[2:], o.output_shape[2:])),
        says="The height and width of a convolution's input are taken. It works at each position of its output.",
    ),
    "batch": Slip(
        of="batch",
        change=times(lambda o: Fraction(1, _batch(o)), ("", _BIAS)),
        says="Counted for one sample of the batch; the task asks for the whole input. Multiply by the batch size.",
    ),
    "batch_twice": Slip(
        of="batch",
        change=times(_batch, ("", _BIAS)),
        says="The batch is counted twice. The output's shape already has it.",
    ),
    "conv_batch": Slip(
        of="batch",
        change=_of_conv(lambda o: Fraction(1, _batch(o))),
        says="Convolutions are counted for one sample, linear layers for the whole batch. Multiply both by the batch "
        "size.",
    ),
    "linear_once": Slip(
        of="rows of a linear layer",
        change=_of_linear(lambda o: ratio([1], o.output_shape[:-1])),
        says="A linear layer counts in_features x out_features once. It is applied to each row that it is given, "
        "those of "
        "the batch and of all dimensions before the last: multiply by their number.",
    ),
    "linear_tokens": Slip(
        of="rows of a linear layer",
        change=_of_linear(lambda o: ratio([1], o.output_shape[1:-1])),
        says="A linear layer counts once for each sample. It is applied to each row, those of all dimensions before "
        "the "
        "last: multiply by their number.",
    ),
    "linear_inputs": Slip(
        of="rows of a linear layer",
        change=_of_linear(lambda o: Fraction(1, o.weight_shape[1])),
        says="The in_features of linear layers are left out. Each output takes in_features products.",
    ),
    "containers": Slip(
        of="walk",
        change=times(_depth, ("", _BIAS)),
        says="What lies in a container is counted again for each container around it. Count modules without children "
        "only.",
    ),
    "containers_and_root": Slip(
        of="walk",
        change=times(lambda o: _depth(o) + 1, ("", _BIAS)),
        says="What lies in a container is counted again for each container around it, the model itself among them. "
        "Count "
        "modules without children only.",
    ),
    # which layers are left out
    "linear": Slip(
        of="left out",
        change=without(_is_linear, ("", _BIAS)),
        says="Linear layers are left out. Each takes in_features products for each of its outputs.",
    ),
    "convolutions": Slip(
        of="left out",
        change=without(_is_conv, ("", _BIAS)),
        says="Convolutions are left out. Each output element takes in_channels / groups x kernel products.",
    ),
    "grouped": Slip(
        of="left out",
        change=without(lambda o: o.groups > 1, ("", _BIAS)),
        says="Convolutions with groups are left out. They multiply, too: in_channels / groups x kernel an output "
        "element.",
    ),
    "pointwise": Slip(
        of="left out",
        change=without(lambda o: _is_conv(o) and math.prod(_kernel(o)) == 1, ("", _BIAS)),
        says="Convolutions with a 1x1 kernel are left out. They multiply, too.",
    ),
    "last_layer": Slip(
        of="left out",
        change=last_left_out,
        says="The last layer that multiplies is left out. Look at where your loop ends.",
    ),
    "first_layer": Slip(
        of="left out",
        change=first_left_out,
        says="The first layer that multiplies is left out. Look at where your loop begins.",
    ),
    "repeats": Slip(
        of="left out",
        change=_again,
        says="A module that is called several times is counted once. Count each call: add up in the hook.",
    ),
    "products": Slip(
        of="left out",
        change=without(lambda o: o.call.type not in MULTIPLYING),
        says="Products of tensors and what an attention module multiplies are missing: they are in no convolution "
        "and no "
        "linear layer that is called, so that a hook on these never sees them. Count queries by keys and weights by "
        "values "
        "in every head, and the four projections of nn.MultiheadAttention.",
    ),
    # what is counted besides
    "bias": Slip(
        of="extra",
        change=also(_BIAS),
        says="The addition of the bias is counted as an operation. Count the products only.",
    ),
    "norm_once": Slip(
        of="extra",
        change=also(_NORM, Fraction(1, 2)),
        says="Batch norm is counted, one for each input element. Count convolutions and linear layers only.",
    ),
    "norm_twice": Slip(
        of="extra",
        change=also(_NORM),
        says="Batch norm is counted, two for each input element. Count convolutions and linear layers only.",
    ),
    "norm_four": Slip(
        of="extra",
        change=also(_NORM, 2),
        says="Batch norm is counted, four for each input element. Count convolutions and linear layers only.",
    ),
    "pool_inputs": Slip(
        of="extra",
        change=also(_POOL_IN),
        says="Pools are counted, one for each input element. Count convolutions and linear layers only.",
    ),
    "pool_outputs": Slip(
        of="extra",
        change=also(_POOL_OUT),
        says="Pools are counted, one for each output element. Count convolutions and linear layers only.",
    ),
    "pool_windows": Slip(
        of="extra",
        change=also(_WINDOWS),
        says="Pools are counted, a window for each output element. Count convolutions and linear layers only.",
    ),
    "conv_bias": Slip(
        of="extra",
        change=lambda parts: [int(part.kind == _BIAS and not part.counted and _is_conv(part.source)) for part in parts],
        says="The addition of a convolution's bias is counted as an operation. Count the products only.",
    ),
    "relu": Slip(
        of="extra",
        change=lambda parts: [int(part.kind == _ACTIVATION and part.source.name.startswith("relu")) for part in parts],
        says="ReLU is counted, one for each element. Count convolutions and linear layers only.",
    ),
    "activations": Slip(
        of="extra",
        change=also(_ACTIVATION),
        says="Activation functions are counted, one for each element. Count convolutions and linear layers only.",
    ),
    **UNITS,
    "twice": Slip(
        of="unit",
        change=times(lambda _: 2, ("", _BIAS, _NORM, _POOL_IN, _POOL_OUT, _WINDOWS, _ACTIVATION)),
        says="This is twice the number: FLOPs, which count a multiply-accumulate as two operations, or every layer "
        "counted twice. The task asks for MACs.",
    ),
}
