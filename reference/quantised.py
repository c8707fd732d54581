"""Quantised weights that students show: in two files of tensors, or as tensors that are printed in a report.

Each tensor is judged by the one that it was before. What explains every element of it is what was done.
"""

from __future__ import annotations

import inspect
import re
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from . import _grid, fixed_point
from ._printed import Printed, printed_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import torch

_MOST_SAID, _HALF = 4, 0.5
_LEAST_ON_GRID = 2  # different values: one may be any number
_LEAST_SHOWN = 3  # numbers of a printed tensor: fewer agree with too much
_SLIPS: Mapping[str, Any] = {
    "unchanged": fixed_point.fixed_point_floats,
    "floored": fixed_point.fixed_point_floored,
    "truncated": fixed_point.fixed_point_truncated,
    "half_away": fixed_point.fixed_point_half_away,
    "unclamped": fixed_point.fixed_point_unclamped,
    "symmetric": fixed_point.fixed_point_symmetric,
    "one_bit_more": fixed_point.fixed_point_one_bit_more,
    "unsigned": fixed_point.fixed_point_unsigned,
    "steps": fixed_point.fixed_point_steps,
    "all_fraction": fixed_point.fixed_point_all_fraction,
}


def quantised_file_findings(
    artifact: dict[str, list[Path]], *, width: int = 8, fraction: int = 4
) -> list[dict[str, Any]]:
    """What is wrong with the weights of a quantised network, by those of the same network before; nothing where right.

    `artifact` has two groups, `before` and `after`, of one file of torch.save each: state dicts. Tensors of two
    dimensions and more whose names end in `weight` are compared, to the bit.

    Raises:
        ValueError: a file can't be read, or they have no such weight in common.
    """
    from .tensors import tensors

    before, after = (tensors(artifact[group][0]) for group in ("before", "after"))
    if not before.keys() & after.keys():  # `model.0.weight` after a wrapper
        before, after = _without_prefix(before), _without_prefix(after)
    weights = {name: each for name, each in before.items() if each.dim() > 1 and name.endswith("weight")}
    both = [name for name in weights if name in after]
    if not both:
        message = "the two files have no weight in common: save the state dicts of one network, before and after"
        raise ValueError(message)
    found = [(f"'{name}' is not in the file of afterwards", "") for name in weights if name not in after]
    for name in both:
        found += _wrong(name, weights[name].double(), after[name].double(), width, fraction)
    hints = [hint for _, hint in found]
    return [
        {"says": f"{fact}. {hint}" if hint and hint not in hints[:at] else fact}
        for at, (fact, hint) in enumerate(found[:_MOST_SAID])
    ]


def _without_prefix(named: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors, by names without the first parts that all of them share."""
    parts = [name.split(".") for name in named]
    shared = takewhile(lambda each: len(set(each)) == 1, zip(*(each[:-1] for each in parts), strict=False))
    start = sum(1 for _ in shared)
    return {".".join(own[start:]): each for own, each in zip(parts, named.values(), strict=True)}


def _wrong(
    name: str, before: torch.Tensor, after: torch.Tensor, width: int, fraction: int
) -> Iterator[tuple[str, str]]:
    """What is wrong with one weight, if anything is, and the hint of the slip behind it."""
    if before.shape != after.shape:
        yield f"'{name}' has the shape {list(after.shape)}, and {list(before.shape)} before", ""
        return
    ways = list(_ways(before, after, width, fraction, (before * 0, after * 0)))
    if "nearest" in ways:
        return
    off = (_grid.nearest(before, width, fraction) - after).abs()
    place = int(off.argmax())
    worst = f"{before.flatten()[place]:.6g} became {after.flatten()[place]:.6g}"
    right = f"{_grid.nearest(before, width, fraction).flatten()[place] + 0.0:.6g}"  # no `-0`
    count = int((off > 0).sum())
    verb = "is not what it" if count == 1 else "are not what they"
    share = f"{count:,} of {off.numel():,} values of '{name}' {verb} should be"
    yield f"{share}: {worst}, not {right}", _hint(ways)


def printed_quantisation(artifact: Path, *, width: int = 8, fraction: int = 4) -> list[dict[str, Any]]:
    """What is wrong with the quantised tensors that a report prints, by those printed before; nothing where right.

    Lists of numbers in brackets are tensors, as torch, numpy and Python print them. Two of one shape are before and
    after where a way of quantising leads from one to the other, as precisely as they were printed. Where none are, a
    person has to look, unless nothing of the kind is printed.

    Raises:
        ValueError: the report is no text, or too long.
    """
    printed = printed_tensors(artifact)
    shown = [each for each in printed if each.values.numel() >= _LEAST_SHOWN]
    pairs = [(a, b) for place, a in enumerate(shown) for b in shown[place + 1 :] if a.shape == b.shape]
    if not pairs:
        says = "it prints no two tensors of one shape: print a weight before and after it was quantised"
        there = bool(printed) or _shows_grid(artifact, fraction)
        return [{"says": says, "certain": False} if there else {"says": says, "absent": True}]
    ways = {pair: list(_of_printed(*pair, width, fraction)) for pair in pairs}
    right = [after for (_, after), found in ways.items() if "nearest" in found]
    missed = [pair for pair, found in ways.items() if found and pair[1] not in right]
    told = [pair for pair in missed if ways[pair] != ["unchanged"]] or ([] if right else missed)
    if not (told or right):
        told = [pair for pair in pairs if _mostly(*pair, width, fraction)]
    if told or right:
        return [{"says": _said(*pair, ways[pair], width, fraction), "certain": not right} for pair in told[:_MOST_SAID]]
    says = "tensors of one shape are printed, but of none can it be seen that it is another one quantised"
    return [{"says": says, "certain": False}]


def _shows_grid(report: Path, fraction: int) -> bool:
    """Whether several values of the grid stand in a text with all their decimals, as in a table: 0.1875, -0.0625."""
    found = {float(each) for each in re.findall(rf"(?<![\d.])\d\.\d{{{fraction - 1},{fraction}}}(?!\d)", _text(report))}
    return sum(value > 0 and (value * float(2**fraction)).is_integer() for value in found) >= _LEAST_ON_GRID


def _text(report: Path) -> str:
    return report.read_text(encoding="utf-8-sig", errors="replace")


def _of_printed(before: Printed, after: Printed, width: int, fraction: int) -> Iterator[str]:
    """The ways that lead from one printed tensor to another; none where the first is on the grid already."""
    about = (before.half_units, after.half_units)
    grid = _grid.nearest(before.values, width, fraction)
    if bool(((before.values - grid).abs() <= before.half_units).all()):
        return
    yield from _ways(before.values, after.values, width, fraction, about)


def _ways(
    before: torch.Tensor, after: torch.Tensor, width: int, fraction: int, about: tuple[torch.Tensor, torch.Tensor]
) -> Iterator[str]:
    """The rules that explain every element of `after`; `about` is half of the last printed place of each."""
    ends = (before, before - about[0], before + about[0])
    for name in ("nearest", *_SLIPS):
        rule = getattr(_grid, name)
        off = [(rule(end, width, fraction) - after).abs() <= about[1] * (1 + 1e-6) for end in ends]
        if bool((off[0] | off[1] | off[2]).all()):
            yield name


def _mostly(before: Printed, after: Printed, width: int, fraction: int) -> bool:
    """Whether more than half of a tensor is the other one quantised, some of it other than zero."""
    grid = _grid.nearest(before.values, width, fraction)
    same = (grid - after.values).abs() <= after.half_units
    return bool(same.double().mean() > _HALF and (grid[same] != 0).any() and (before.values != after.values).any())


def _said(before: Printed, after: Printed, ways: list[str], width: int, fraction: int) -> str:
    right = _grid.nearest(before.values, width, fraction)
    place = int((right - after.values).abs().argmax())
    worst = f"{before.values[place]:.4f} became {after.values[place]:.4f}, not {right[place]:.4f}"
    said = f"the tensor in line {after.line} is not that of line {before.line} on the grid: {worst}. {_hint(ways)}"
    return said.strip()


def _hint(ways: list[str]) -> str:
    """The hint of the only slip that explains a tensor; nothing where several do, or none."""
    if len(ways) != 1:
        return ""
    text = inspect.getdoc(_SLIPS[ways[0]]) or ""
    found = re.search(r"Hint: (.*?)\nCredit:", text, re.DOTALL)
    return " ".join(found[1].split()) if found else ""
