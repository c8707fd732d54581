"""Slips in counting operations: which layers count, which factor is lost, which size is taken."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from .._counting.calls import chosen
from .._counting.wrong import traced
from .besides import BESIDES
from .common import UNITS, ratio, times
from .compose import Composition, Library, Part, Slip
from .left_out import LEFT_OUT
from .operations import (
    ACTIVATION,
    BIAS,
    BOTH,
    NORM,
    POOL_IN,
    POOL_OUT,
    WINDOWS,
    batch_of,
    depth,
    dilated,
    kernel,
    of_conv,
    of_linear,
    parts,
    squared,
    weights_alone,
)
from .sequences import SEQUENCES
from .sizes import OWN_SIZES, SIZES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import nn

    from .._counting.engine import CountedSubject
    from .._counting.trace import CountedOperation, Trace


def composition(  # noqa: PLR0913 - the conventions
    subject: CountedSubject,
    row: Callable[[Trace, CountedOperation], str],
    *,
    layers: Sequence[str] | None = None,
    bias: bool = False,
    others: bool = False,
    per_sample: bool = False,
    library: Library | None = None,
    each: int = 1,
) -> Composition:
    """The operations of a subject, and what slips make of them. `row` names the row of a table that one belongs to.

    `each`: what a multiply-accumulate counts. `others`: norms count two for each input element and pools one, where
    those are asked for instead of products.
    """
    known: dict[int, tuple[Trace, list[Part]]] = {}  # most products of sizes leave a trace as another one does

    def make(changes: Sequence[Callable[[nn.Module], None]]) -> list[Part]:
        trace = traced(subject, changes, batch=1 if per_sample else None)
        if id(trace) in known:
            return known[id(trace)][1]
        wanted = chosen(trace.root, layers)
        found = [
            _worth(part, each)
            for operation in trace.operations
            for part in parts(operation, row(trace, operation), wanted(operation.call.module), bias=bias, others=others)
        ]
        known[id(trace)] = (trace, found)
        return found

    return Composition(library=library or LIBRARY, make=make)


def _worth(part: Part, each: int) -> Part:
    """The part, where a multiply-accumulate, and what is asked for with them, counts so much."""
    return replace(part, count=part.count * each) if each > 1 and (part.counted or not part.kind) else part


def by_layer(trace: Trace, operation: CountedOperation) -> str:
    """The row of an operation in a table by layer."""
    return trace.layer(operation.call)


_USED = (
    "A kernel is used at each position of the output, a linear layer's weight for each row, both for each image of the "
    "batch: multiply by the output's size."
)


_CONTAINERS = (
    "What lies in a container is counted again for each container around it. Count modules without children only."
)
LIBRARY: Library = {
    **SIZES,
    # which factor is lost
    "groups": Slip(
        of="channels",
        change=of_conv(lambda o: o.groups),
        says="Groups are ignored. In a grouped convolution each output channel reads in_channels / groups inputs: "
        "divide by groups.",
    ),
    "groups_but_depthwise": Slip(
        of="channels",
        change=of_conv(lambda o: o.groups if o.weight_shape[1] > 1 else 1),
        says="Groups are ignored but for depthwise convolutions. Of any grouped convolution, each output channel reads "
        "in_channels / groups inputs: divide by groups.",
    ),
    "depthwise": Slip(
        of="channels",
        change=of_conv(lambda o: Fraction(1, o.weight_shape[1]) if o.groups > 1 else 1),
        says="Each grouped convolution is taken for a depthwise one. An output channel reads in_channels / groups "
        "inputs, which is one only where groups is in_channels.",
    ),
    "groups_twice": Slip(
        of="channels",
        change=of_conv(lambda o: Fraction(1, o.groups)),
        says="The groups are divided out twice. Only in_channels is divided by groups; all out_channels count.",
    ),
    "groups_twice_in_whole_numbers": Slip(
        of="channels",
        change=of_conv(lambda o: Fraction(o.weight_shape[1] // o.groups, o.weight_shape[1])),
        says="The groups are divided out twice. Only in_channels is divided by groups; all out_channels count.",
    ),
    "dilated_kernel": Slip(
        of="kernel",
        change=of_conv(dilated),
        says="The holes of a dilated kernel are counted. A kernel multiplies kernel_size numbers, however far apart: "
        "dilation changes the size of the output alone.",
    ),
    "kernel_height": Slip(
        of="kernel",
        change=of_conv(lambda o: squared(o, 0)),
        says="The kernel's height stands for its width, too. kernel_size has both, and they may differ.",
    ),
    "kernel_width": Slip(
        of="kernel",
        change=of_conv(lambda o: squared(o, -1)),
        says="The kernel's width stands for its height, too. kernel_size has both, and they may differ.",
    ),
    "kernel_side": Slip(
        of="kernel",
        change=of_conv(lambda o: ratio([1], kernel(o)[1:])),
        says="Only one side of the kernel is counted. Multiply by its height and by its width.",
    ),
    "kernel": Slip(
        of="kernel",
        change=of_conv(lambda o: ratio([1], kernel(o))),
        says="The kernel is left out. Each output element takes kernel height x kernel width products a channel.",
    ),
    "groups_multiplied": Slip(
        of="channels",
        change=of_conv(lambda o: o.groups**2),
        says="It is multiplied by groups, where in_channels is to be divided by it: each output channel reads "
        "in_channels / groups inputs.",
    ),
    "out_for_in": Slip(
        of="channels mixed up",
        change=of_conv(lambda o: Fraction(o.weight_shape[0], o.weight_shape[1] * o.groups)),
        says="out_channels stands where in_channels belongs. Each output element sums over in_channels / groups "
        "channels.",
    ),
    "in_for_out": Slip(
        of="channels mixed up",
        change=of_conv(lambda o: Fraction(o.weight_shape[1] * o.groups, o.weight_shape[0])),
        says="in_channels stands where out_channels belongs. There are as many outputs at each place as out_channels.",
    ),
    "in_channels": Slip(
        of="channels",
        change=of_conv(lambda o: Fraction(1, o.weight_shape[1])),
        says="The input channels are left out. Each output element sums over in_channels / groups channels.",
    ),
    "out_channels": Slip(
        of="channels mixed up",
        change=of_conv(lambda o: Fraction(1, o.weight_shape[0])),
        says="The output channels are left out. Every output channel is computed by a kernel of its own.",
    ),
    "positions": Slip(
        of="positions",
        change=of_conv(lambda o: Fraction(1, math.prod(o.output_shape[2:]))),
        says="The output's height and width are left out: the kernel is applied at each position of the output.",
    ),
    "height_twice": Slip(
        of="positions",
        change=of_conv(lambda o: ratio(o.output_shape[2:3], o.output_shape[3:4])),
        says="The output's height stands for its width, too. Outputs need not be square: use shape[2] and shape[3].",
    ),
    "width_twice": Slip(
        of="positions",
        change=of_conv(lambda o: ratio(o.output_shape[3:4], o.output_shape[2:3])),
        says="The output's width stands for its height, too. Outputs need not be square: use shape[2] and shape[3].",
    ),
    "channels_for_width": Slip(
        of="positions",
        change=of_conv(lambda o: ratio(o.output_shape[1:2], o.output_shape[3:4])),
        says="Channels x height stand where height x width belong. An output's shape is batch, channels, height, "
        "width: use shape[2] and shape[3].",
    ),
    "input_size": Slip(
        of="positions",
        change=of_conv(lambda o: ratio(o.input_shape[2:], o.output_shape[2:])),
        says="The height and width of a convolution's input are taken. It works at each position of its output.",
    ),
    **OWN_SIZES,
    "batch": Slip(
        of="batch",
        change=times(lambda o: Fraction(1, batch_of(o)), BOTH),
        says="Counted for one sample of the batch; the task asks for the whole input. Multiply by the batch size.",
    ),
    "batch_twice": Slip(
        of="batch",
        change=times(batch_of, BOTH),
        says="The batch is counted twice. The output's shape already has it.",
    ),
    "conv_batch": Slip(
        of="batch",
        change=of_conv(lambda o: Fraction(1, batch_of(o))),
        says="Convolutions are counted for one sample, linear layers for the whole batch. Multiply both by the batch "
        "size.",
    ),
    "linear_batch": Slip(
        of="batch",
        change=of_linear(lambda o: Fraction(1, batch_of(o))),
        says="Linear layers are counted for one sample, convolutions for the whole batch. Multiply both by the batch "
        "size.",
    ),
    "linear_once": Slip(
        of="rows of a linear layer",
        change=of_linear(lambda o: ratio([1], o.output_shape[:-1])),
        says="A linear layer counts in_features x out_features once. It is applied to each row that it is given, those "
        "of the batch and of all dimensions before the last: multiply by their number.",
    ),
    "linear_tokens": Slip(
        of="rows of a linear layer",
        change=of_linear(lambda o: ratio([1], o.output_shape[1:-1])),
        says="A linear layer counts once for each sample. It is applied to each row, those of all dimensions before "
        "the last: multiply by their number.",
    ),
    "linear_outputs": Slip(
        of="rows of a linear layer",
        change=of_linear(lambda o: Fraction(1, o.weight_shape[0])),
        says="The out_features of linear layers are left out. Each of their outputs takes in_features products.",
    ),
    "linear_as_image": Slip(
        of="rows of a linear layer",
        change=of_linear(lambda o: ratio(o.output_shape[-2:], o.output_shape[:-1])),
        says="A linear layer's weight is multiplied by the last two sizes of its output, as a convolution's is. Its "
        "last size is out_features, which the weight has already: each row takes the whole weight once.",
    ),
    "parameters": Slip(
        of="which",
        change=lambda parts: weights_alone(parts, once=False, bias=True),
        says=f"These are the parameters of the layers. {_USED}",
    ),
    "weights_each_call": Slip(
        of="which",
        change=lambda parts: weights_alone(parts, once=False),
        says=f"These are the weights of the layers, once for each call. {_USED}",
    ),
    "weights_alone": Slip(
        of="which",
        change=weights_alone,
        says=f"These are the weights of the layers, each counted once. {_USED}",
    ),
    "linear_inputs": Slip(
        of="rows of a linear layer",
        change=of_linear(lambda o: Fraction(1, o.weight_shape[1])),
        says="The in_features of linear layers are left out. Each output takes in_features products.",
    ),
    "linear_inputs_twice": Slip(
        of="rows of a linear layer",
        change=of_linear(lambda o: o.weight_shape[1]),
        says="The in_features of linear layers count twice: the weight has them already. Multiply it by the number of "
        "rows, or each output by in_features.",
    ),
    "containers": Slip(of="walk", change=times(depth, BOTH), says=_CONTAINERS),
    "containers_by_name": Slip(
        of="walk",
        change=times(lambda o: o.call.name.count(".") + 1, BOTH),
        says=_CONTAINERS,
    ),
    "containers_and_root": Slip(
        of="walk",
        change=times(lambda o: depth(o) + 1, BOTH),
        says="What lies in a container is counted again for each container around it, the model itself among them. "
        "Count modules without children only.",
    ),
    **LEFT_OUT,
    **SEQUENCES,
    **BESIDES,
    "layers": Slip(
        of="factor",
        change=times(lambda o: Fraction(1, o.macs) if o.macs else 1),
        says="Layers are counted, not what they multiply. Add up the products of each.",
    ),
    **UNITS,
    "products_twice": Slip(
        of="unit",
        change=times(lambda _: 2),
        says="Each product is counted as two operations: these are FLOPs, and the task asks for MACs. A "
        "multiply-accumulate is one.",
    ),
    "convolutions_twice": Slip(
        of="unit",
        change=of_conv(lambda _: 2),
        says="Convolutions are counted twice, linear layers once. A multiply-accumulate is one in both.",
    ),
    "linear_batch_twice": Slip(
        of="batch",
        change=of_linear(batch_of),
        says="Linear layers count the batch twice: the output's size already has it. Multiply by it once.",
    ),
    "linear_twice": Slip(
        of="unit",
        change=of_linear(lambda _: 2),
        says="Linear layers are counted twice, convolutions once. A multiply-accumulate is one in both.",
    ),
    "twice": Slip(
        of="unit",
        change=times(lambda _: 2, ("", BIAS, NORM, POOL_IN, POOL_OUT, WINDOWS, ACTIVATION)),
        says="This is twice the number: FLOPs, which count a multiply-accumulate as two operations, or every layer "
        "counted twice. The task asks for MACs.",
    ),
}
