"""Wrong values on purpose of what layers put out, and of TorchScript models. None of these is ever right.

A TorchScript model is made of a network, so that one goes wrong with it in the same ways: its slips are those of the
network, where both count the same.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from torch import nn

from ._counting.engine import analyse
from ._slips import counts, held, outputs
from ._slips.compose import WantedProducts
from ._slips.kept import kept
from ._slips.likely import with_pairs
from .layers import activation_bytes
from .torchscript import torchscript_activation_bytes, torchscript_macs, torchscript_weight_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._counting.engine import CountedSubject
    from ._counting.trace import Trace
    from ._slips.compose import Composition

Names = list[str] | None
_MIB, _MB = 2**20, 10**6
_ONCE = "Add up what every layer puts out, once."


def activation_bytes_slips(
    subject: CountedSubject,
    *,
    modules: Literal["leaf"] = "leaf",
    in_place: bool = True,
    most: int = 1,
    among: Names = None,
    between: Names = None,
) -> dict[str, Any]:
    """What slips make of `activation_bytes`."""
    wanted = WantedProducts(most=most, among=among, between=between)

    def make() -> Composition:
        return outputs.composition(
            subject, lambda call: outputs.is_leaf(call) and (in_place or not getattr(call.module, "inplace", False))
        )

    return with_pairs(kept(wanted, make, subject, "outputs", modules, in_place), wanted)


def torchscript_activation_bytes_slips(
    subject: CountedSubject,
    *,
    of: str = "leaf_modules",
    dropout: bool = True,
    most: int = 1,
    among: Names = None,
    between: Names = None,
) -> dict[str, Any]:
    """What slips make of `torchscript_activation_bytes`, of modules."""
    wanted = WantedProducts(most=most, among=among, between=between)

    def make() -> Composition:
        found = outputs.composition(
            subject, lambda call: outputs.is_leaf(call) and (dropout or not outputs.drops(call))
        )
        return _same(found, torchscript_activation_bytes(subject, dropout=dropout))

    if of != "leaf_modules":
        message = "slips are known of what modules put out"
        raise ValueError(message)
    return with_pairs(kept(wanted, make, subject, "script outputs", dropout), wanted)


def torchscript_macs_slips(
    subject: CountedSubject, *, bias: bool = False, most: int = 1, among: Names = None, between: Names = None
) -> dict[str, Any]:
    """What slips make of `torchscript_macs`."""
    wanted = WantedProducts(most=most, among=among, between=between)

    def make() -> Composition:
        found = counts.composition(subject, counts.by_layer, bias=bias)
        return _same(found, torchscript_macs(subject, bias=bias))

    return with_pairs(kept(wanted, make, subject, "script macs", bias), wanted)


def torchscript_weight_bytes_slips(
    subject: CountedSubject, *, most: int = 1, among: Names = None, between: Names = None
) -> dict[str, Any]:
    """What slips make of `torchscript_weight_bytes`."""
    wanted = WantedProducts(most=most, among=among, between=between)

    def make() -> Composition:
        return _same(held.composition(subject, as_bytes=True), torchscript_weight_bytes(subject))

    return with_pairs(kept(wanted, make, subject, "script bytes"), wanted)


def _same(found: Composition, right: int) -> Composition:
    """The slips of a network, where they start from what is right of the TorchScript model.

    Raises:
        ValueError: they don't.
    """
    if sum(found.rows(()).values()) != right:
        message = "the TorchScript model and the network it was made of differ"
        raise ValueError(message)
    return found


# ---- summaries ---------------------------------------------------------------------------------------------------


def activation_bytes_tool_slips(
    subject: CountedSubject, *, modules: Literal["leaf"] = "leaf", in_place: bool = True
) -> list[dict[str, Any]]:
    """What summaries print as the forward/backward pass size, where it is something else than `activation_bytes`."""
    trace = analyse(subject, counting=False)
    right = activation_bytes(subject, modules=modules, in_place=in_place)
    if trace.unnamed or any(call.hidden for call in trace.calls):
        return []
    found = [*_torchinfo(trace), *_torchsummary(trace)]
    return [
        {
            "value": value,
            "tools": [tool],
            "says": says,
            "amounts": says,
            "share": min(value, right) / max(value, right, 1),
        }
        for tool, value, says in found
        if value not in (0, right)
    ]


def _torchinfo(trace: Trace) -> Iterator[tuple[str, int, str]]:
    """By torchinfo 1.8: the first output of each module with parameters and no modules inside, twice."""
    held = [call for call in trace.calls if outputs.is_leaf(call) and any(True for _ in call.module.parameters())]
    says = (
        "torchinfo gives this number as its forward/backward pass size. It counts layers with parameters alone, and "
        f"what each puts out twice, for the backward pass, too. {_ONCE}"
    )
    yield "torchinfo", sum(2 * 4 * math.prod(call.outputs[0]) for call in held if call.outputs), says


def _torchsummary(trace: Trace) -> Iterator[tuple[str, int, str]]:
    """By torchsummary 1.5: what each module but the root and nn.Sequential puts out for one sample, twice, in MiB."""
    plain = (nn.Sequential, nn.ModuleList)
    hooked = [call for call in trace.calls if call.depth and not isinstance(call.module, plain)]
    # Of several outputs it multiplies up all sizes, and at None it fails.
    if any(len(call.outputs) != 1 or isinstance(call.module, nn.MultiheadAttention) for call in hooked):
        return
    size = sum(2 * 4 * math.prod(call.outputs[0][1:]) for call in hooked)
    inside = " Blocks are counted beside the layers in them." if not all(map(outputs.is_leaf, hooked)) else ""
    one = " It is of one sample, not of the whole batch." if trace.batch > 1 else ""
    head = "torchsummary gives this number as its forward/backward pass size. It counts what each layer puts out twice"
    says = f"{head}, for the backward pass, too.{inside}{one} {_ONCE}"
    units = "The figure is in MiB (divided by 1,048,576), though it writes MB."
    yield "torchsummary", round(Fraction(size * _MB, _MIB)), f"{says} {units}"
    yield "torchsummary", size, says
