"""What tools print of a network where it is not what is asked for, and why: `<quantity>_tool_slips` stands beside it.

Each gives a list of numbers: `value`, the `tools` that print it, the sentence that it `says`, the same with `amounts`,
and how much of the work is right (`share`, from 0 to 1). None of the numbers is ever right.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from ._counting.engine import analyse
from ._counting.trace import is_scripted
from ._tools import net as nets
from ._tools import parameters as of_parameters
from ._tools.by_layer import right_by_layer, tables
from ._tools.found import Found, numbers
from ._tools.net import Net, UnknownRuleError
from ._tools.sentences import difference
from ._tools.table import FLOPS, MACS, TOOLS, counted

if TYPE_CHECKING:
    from ._counting.engine import CountedSubject

Names = list[str] | None
_TWO, _HALF, _ONE = Fraction(2), Fraction(1, 2), Fraction(1)
_MACS_FOR_FLOPS = (FLOPS, MACS, _ONE)
_UNITS = {
    (MACS, MACS, _ONE): "",
    (MACS, MACS, _TWO): "twice",
    (MACS, FLOPS, _ONE): "as FLOPs, of which a multiply-accumulate is two, and the task asks for MACs",
    (MACS, FLOPS, _HALF): "half",
    (FLOPS, FLOPS, _ONE): "",
    (FLOPS, MACS, _TWO): "twice",
    (FLOPS, MACS, _ONE): "and counts in MACs, of which each is two FLOPs",
}


def macs_tool_slips(
    subject: CountedSubject, *, layers: Names = None, bias: bool = False, per: Literal["batch", "sample"] = "batch"
) -> list[dict[str, Any]]:
    """What tools print for `macs` where it is something else."""
    return _products(subject, MACS, layers=layers, bias=bias, per=per)


def flops_tool_slips(
    subject: CountedSubject, *, layers: Names = None, bias: bool = False, per: Literal["batch", "sample"] = "batch"
) -> list[dict[str, Any]]:
    """What tools print for `flops` where it is something else."""
    return _products(subject, FLOPS, layers=layers, bias=bias, per=per)


def parameters_tool_slips(
    subject: CountedSubject, *, which: Literal["all", "trainable", "frozen"] = "all"
) -> list[dict[str, Any]]:
    """What tools print for `parameters` where it is something else."""
    return _parameters(subject, 1) if which == "all" else []


def weight_bytes_tool_slips(subject: CountedSubject) -> list[dict[str, Any]]:
    """What tools print for `weight_bytes`: four for each parameter that they see."""
    return _parameters(subject, 4)


def macs_by_layer_tool_slips(
    subject: CountedSubject, *, layers: Names = None, bias: bool = False
) -> list[dict[str, Any]]:
    """What tools print for `macs_by_layer`, in MACs or in FLOPs: a list of `rows`, and what is said of them."""
    whole = analyse(subject)
    if whole.unnamed or any(is_scripted(call.module) for call in whole.calls):
        return []
    found = [counted(tool, whole) for tool in TOOLS]
    right = right_by_layer(whole, layers=layers, bias=bias, each=1)
    return tables(whole, [each for each in found if each is not None], {MACS: _ONE, FLOPS: _HALF}, right)


def _products(subject: CountedSubject, asked: str, *, layers: Names, bias: bool, per: str) -> list[dict[str, Any]]:
    whole = analyse(subject)
    if per == "sample" and whole.batch > 1:
        return []
    if whole.unnamed or any(is_scripted(call.module) for call in whole.calls):
        return []  # what tools see of TorchScript, or of vmap, nobody here knows
    right = nets.right(Net(whole), layers=layers, bias=bias, each=2 if asked == FLOPS else 1)
    wanted = sum(each.count for each in right)
    found = []
    for tool in TOOLS:
        made = counted(tool, whole)
        for (of, unit, scale), how in _UNITS.items():
            if made is None or of != asked or unit != tool.unit:
                continue
            to_asked = _ONE if asked == tool.unit else _HALF if asked == MACS else _TWO
            differs = difference(made.parts(), right, scale=to_asked)
            value = made.total * scale
            if (differs or (asked, unit, scale) == _MACS_FOR_FLOPS) and value != wanted and value.denominator == 1:
                found.append(Found(tool=tool.name, how=how, value=int(value), differs=differs, note=made.note))
    return numbers(found, asked)


def _parameters(subject: CountedSubject, each: int) -> list[dict[str, Any]]:
    net = Net(analyse(subject))
    found = []
    for name, rule in of_parameters.TOOLS:
        try:
            made, right = of_parameters.differing(net, rule)
        except UnknownRuleError:
            continue
        value = sum(piece.count for piece in made)
        if value != sum(piece.count for piece in right):
            found.append(Found(tool=name, how="", value=value * each, differs=difference(made, right)))
    return numbers(found, "parameters")
