"""The grid of a fixed-point format, and the ways of missing it: functions of a tensor, the width and the fraction."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    Rule: TypeAlias = Callable[[torch.Tensor, int, int], torch.Tensor]


def nearest(x: torch.Tensor, width: int, fraction: int) -> torch.Tensor:
    """The nearest value of the grid of `width` bits, `fraction` of them behind the point; ties go to even."""
    return _clamped((x * 2.0**fraction).round(), width) / 2.0**fraction


def unchanged(x: torch.Tensor, width: int, fraction: int) -> torch.Tensor:
    """The floats themselves."""
    del width, fraction
    return x


def floored(x: torch.Tensor, width: int, fraction: int) -> torch.Tensor:
    """Rounded down."""
    return _clamped((x * 2.0**fraction).floor(), width) / 2.0**fraction


def truncated(x: torch.Tensor, width: int, fraction: int) -> torch.Tensor:
    """Rounded towards zero."""
    return _clamped((x * 2.0**fraction).trunc(), width) / 2.0**fraction


def half_away(x: torch.Tensor, width: int, fraction: int) -> torch.Tensor:
    """Rounded to the nearest, ties away from zero."""
    steps = x * 2.0**fraction
    return _clamped(steps.sign() * (steps.abs() + 0.5).floor(), width) / 2.0**fraction


def half_up(x: torch.Tensor, width: int, fraction: int) -> torch.Tensor:
    """Rounded to the nearest, ties up."""
    return _clamped((x * 2.0**fraction + 0.5).floor(), width) / 2.0**fraction


def unclamped(x: torch.Tensor, width: int, fraction: int) -> torch.Tensor:
    """Without an end of the grid."""
    del width
    return (x * 2.0**fraction).round() / 2.0**fraction


def symmetric(x: torch.Tensor, width: int, fraction: int) -> torch.Tensor:
    """The grid without its smallest value."""
    most = 2 ** (width - 1) - 1
    return (x * 2.0**fraction).round().clamp(-most, most) / 2.0**fraction


def one_bit_more(x: torch.Tensor, width: int, fraction: int) -> torch.Tensor:
    """The grid of a format whose sign has a bit of its own."""
    return nearest(x, width + 1, fraction)


def unsigned(x: torch.Tensor, width: int, fraction: int) -> torch.Tensor:
    """The grid of a format without a sign."""
    return (x * 2.0**fraction).round().clamp(0, 2**width - 1) / 2.0**fraction


def steps(x: torch.Tensor, width: int, fraction: int) -> torch.Tensor:
    """Whole numbers of steps of the grid."""
    return _clamped((x * 2.0**fraction).round(), width)


def all_fraction(x: torch.Tensor, width: int, fraction: int) -> torch.Tensor:
    """The grid of a format with all of its bits behind the point."""
    del fraction
    return nearest(x, width, width)


def _clamped(whole: torch.Tensor, width: int) -> torch.Tensor:
    return whole.clamp(-(2 ** (width - 1)), 2 ** (width - 1) - 1)
