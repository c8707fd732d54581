"""Weights on the grid of a fixed-point format: what a quantiser makes of them, and how it goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _grid

if TYPE_CHECKING:
    import torch

    from ._counting.engine import CountedSubject

    Weights = dict[str, torch.Tensor]


def fixed_point_weights(subject: CountedSubject, *, width: int = 8, fraction: int = 4) -> Weights:
    """The weight of each convolution and linear layer on the grid of `width` bits, `fraction` of them behind the point.

    clamp(round(x * 2**fraction), -2**(width-1), 2**(width-1) - 1) / 2**fraction, rounded to the nearest, ties to even,
    as torch.round does. Biases and what a norm holds are left out.
    """
    return _each(subject, _grid.nearest, width, fraction)


def fixed_point_floats(subject: CountedSubject, *, width: int = 8, fraction: int = 4) -> Weights:
    """The weights as they are.

    Slip of: fixed_point_weights
    Hint: These are the float weights, unchanged. A layer that quantises in its forward keeps them as they are:
    apply the quantiser to the weight itself.
    Credit: 0
    """
    return _each(subject, _grid.unchanged, width, fraction)


def fixed_point_floored(subject: CountedSubject, *, width: int = 8, fraction: int = 4) -> Weights:
    """Rounded down.

    Slip of: fixed_point_weights
    Hint: Values are rounded down. The nearest value of the grid is asked for: torch.round in place of floor.
    Credit: 0.5
    """
    return _each(subject, _grid.floored, width, fraction)


def fixed_point_truncated(subject: CountedSubject, *, width: int = 8, fraction: int = 4) -> Weights:
    """Rounded towards zero.

    Slip of: fixed_point_weights
    Hint: Values are rounded towards zero, as int() does. The nearest value of the grid is asked for: torch.round.
    Credit: 0.5
    """
    return _each(subject, _grid.truncated, width, fraction)


def fixed_point_half_away(subject: CountedSubject, *, width: int = 8, fraction: int = 4) -> Weights:
    """Ties rounded away from zero.

    Slip of: fixed_point_weights
    Hint: Values half-way between two of the grid are rounded away from zero. They go to the even one, as
    torch.round does.
    Credit: 0.8
    """
    return _each(subject, _grid.half_away, width, fraction)


def fixed_point_half_up(subject: CountedSubject, *, width: int = 8, fraction: int = 4) -> Weights:
    """Ties rounded up.

    Slip of: fixed_point_weights
    Hint: Values half-way between two of the grid are rounded up, as floor(x + 0.5) does. They go to the even one, as
    torch.round does.
    Credit: 0.8
    """
    return _each(subject, _grid.half_up, width, fraction)


def fixed_point_unclamped(subject: CountedSubject, *, width: int = 8, fraction: int = 4) -> Weights:
    """Values too large for the format as they are.

    Slip of: fixed_point_weights
    Hint: What is too large for the format is not clamped: its ends are -2**(width-1) and 2**(width-1) - 1 steps.
    Credit: 0.6
    """
    return _each(subject, _grid.unclamped, width, fraction)


def fixed_point_symmetric(subject: CountedSubject, *, width: int = 8, fraction: int = 4) -> Weights:
    """Without the smallest value of the format.

    Slip of: fixed_point_weights
    Hint: The smallest value of the format is left out: it is -2**(width-1) steps, one more than the largest.
    Credit: 0.8
    """
    return _each(subject, _grid.symmetric, width, fraction)


def fixed_point_one_bit_more(subject: CountedSubject, *, width: int = 8, fraction: int = 4) -> Weights:
    """The sign counted beside the width.

    Slip of: fixed_point_weights
    Hint: The sign has a bit of its own here. The width includes it: the largest value is 2**(width-1) - 1 steps.
    Credit: 0.6
    """
    return _each(subject, _grid.one_bit_more, width, fraction)


def fixed_point_unsigned(subject: CountedSubject, *, width: int = 8, fraction: int = 4) -> Weights:
    """Without negative values.

    Slip of: fixed_point_weights
    Hint: Negative values became 0, as in a format without a sign: the grid begins at -2**(width-1) steps.
    Credit: 0.3
    """
    return _each(subject, _grid.unsigned, width, fraction)


def fixed_point_steps(subject: CountedSubject, *, width: int = 8, fraction: int = 4) -> Weights:
    """Whole numbers of steps.

    Slip of: fixed_point_weights
    Hint: These are whole numbers of steps. Divide by 2**fraction to have them on the scale of the weights.
    Credit: 0.6
    """
    return _each(subject, _grid.steps, width, fraction)


def fixed_point_all_fraction(subject: CountedSubject, *, width: int = 8, fraction: int = 4) -> Weights:
    """A fraction as wide as the format.

    Slip of: fixed_point_weights
    Hint: The fraction is as wide as the whole format here. Only `fraction` of its bits stand behind the point.
    Credit: 0.4
    """
    return _each(subject, _grid.all_fraction, width, fraction)


def _each(subject: CountedSubject, rule: _grid.Rule, width: int, fraction: int) -> Weights:
    from torch import nn

    module, _ = subject.with_weights()
    kinds = (nn.Linear, nn.modules.conv._ConvNd)  # noqa: SLF001 - the common base of all convolutions
    layers = {name: layer for name, layer in module.named_modules() if isinstance(layer, kinds)}
    return {name: rule(layer.weight.detach(), width, fraction) for name, layer in layers.items()}
