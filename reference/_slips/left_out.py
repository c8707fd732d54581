"""Slips in counting operations: which layers are left out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from torch import nn

from .common import first_left_out, last_left_out, without
from .compose import Library, Slip
from .operations import BOTH, MULTIPLYING, equal_once, first_calls, is_conv, is_layer, is_linear, kernel, last_of_types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._counting.trace import CountedOperation
    from .compose import Factors, Part


def is_pointwise(o: CountedOperation) -> bool:
    return is_conv(o) and math.prod(kernel(o)) == 1


def _other_layers(parts: Sequence[Part]) -> Factors:
    """Leave out what is not of the two classes that everybody knows, where some of it is a layer all the same."""
    known = (nn.Conv2d, nn.Linear)
    others = set(MULTIPLYING) - {each.__name__ for each in known}
    if not any(part.counted and part.source.call.type in others for part in parts):
        message = "what is not of these classes is no layer"
        raise ValueError(message)
    return without(lambda o: not isinstance(o.call.module, known), BOTH)(parts)


def _derived(parts: Sequence[Part]) -> Factors:
    """Leave out layers of classes that are not torch's own, where there are some."""
    if not any(part.counted and is_layer(part.source) and _is_derived(part.source) for part in parts):
        message = "all layers are of torch's own classes"
        raise ValueError(message)
    return without(lambda o: is_layer(o) and _is_derived(o), BOTH)(parts)


def _is_derived(o: CountedOperation) -> bool:
    classes = {each.__name__ for each in type(o.call.module).__mro__}
    return o.call.type not in MULTIPLYING and not classes.isdisjoint(MULTIPLYING)


LEFT_OUT: Library = {
    "linear": Slip(
        of="left out",
        change=without(is_linear, BOTH),
        says="Linear layers are left out. Each takes in_features products for each of its outputs.",
    ),
    "convolutions": Slip(
        of="left out",
        change=without(is_conv, BOTH),
        says="Convolutions are left out. Each output element takes in_channels / groups x kernel products.",
    ),
    "derived": Slip(
        of="left out",
        change=_derived,
        says="Layers of classes derived from torch's are left out. Ask isinstance(module, nn.Conv2d), not for the very "
        "class (type(module) == nn.Conv2d) or its name.",
    ),
    "grouped": Slip(
        of="left out",
        change=without(lambda o: o.groups > 1, BOTH),
        says="Convolutions with groups are left out. They multiply, too: in_channels / groups x kernel an output "
        "element.",
    ),
    "pointwise": Slip(
        of="left out",
        change=without(is_pointwise, BOTH),
        says="Convolutions with a 1x1 kernel are left out. They multiply, too.",
    ),
    "unbiased": Slip(
        of="left out",
        change=without(lambda o: is_layer(o) and not o.bias, BOTH),
        says="Layers without a bias (bias=False) are left out. They multiply, too.",
    ),
    "unbiased_linear": Slip(
        of="left out",
        change=without(lambda o: is_linear(o) and not o.bias, BOTH),
        says="Linear layers without a bias (bias=False) are left out. They multiply, too.",
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
        change=first_calls,
        says="A module that is called several times is counted once. Count each call: add up in the hook.",
    ),
    "products": Slip(
        of="left out",
        change=without(lambda o: o.call.type not in MULTIPLYING and not _is_derived(o), BOTH),
        says="Only what convolutions and linear layers do when they are called is counted. What functions and other "
        "modules multiply is missing, for a hook on these layers never sees it: products of tensors, attention with "
        "its projections, recurrent layers.",
    ),
    "other_layers": Slip(
        of="left out",
        change=_other_layers,
        says="Only nn.Conv2d and nn.Linear modules are counted. What modules of other classes and functions multiply "
        "is missing: Conv1d, Conv3d and ConvTranspose2d are classes of their own.",
    ),
    "transposed": Slip(
        of="left out",
        change=without(lambda o: o.name.startswith("conv_transpose"), BOTH),
        says="Transposed convolutions are left out. nn.ConvTranspose2d is no nn.Conv2d, and multiplies, too.",
    ),
    "depthwise_left_out": Slip(
        of="left out",
        change=without(lambda o: is_conv(o) and o.groups > 1 and o.weight_shape[1] == 1, BOTH),
        says="Depthwise convolutions are left out. They multiply, too: one kernel for each channel.",
    ),
    "last_of_type": Slip(
        of="left out",
        change=last_of_types,
        says="Of the layers of one class only the last is counted, as in a dict by the class's name. Add up: += in "
        "place of =.",
    ),
    "direct": Slip(
        of="left out",
        change=without(lambda o: "." in o.call.name, BOTH),
        says="Only the model's own children are looked at; layers that lie deeper are left out. Use modules(), not "
        "children().",
    ),
    "equal_once": Slip(
        of="left out",
        change=equal_once,
        says="Layers that multiply equally often are counted once. A set, or a dict by the number, keeps one of them: "
        "add up a list.",
    ),
    "flat_kernels": Slip(
        of="left out",
        change=without(lambda o: is_conv(o) and kernel(o)[0] == 1, BOTH),
        says="Convolutions with a kernel_size[0] of 1 are left out, 1x1 ones among them. They multiply, too.",
    ),
}
