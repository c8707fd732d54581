"""How linear quantisation goes wrong, beside what stands in `integers`. None of these values is ever right."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from ._integers import bounds, by_weight, half_away, half_up, parameters, row, whole
from ._weights import weights_of

if TYPE_CHECKING:
    import torch

    from ._counting.engine import CountedSubject
    from ._integers import Weights

Scheme = Literal["symmetric", "asymmetric"]
Per = Literal["tensor", "channel"]


def quantised_integers_per_input(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights | None:
    """With a scale for each input channel.

    Slip of: quantised_integers
    Hint: Each input channel has a scale here, along the second dimension. The first dimension of a weight
    are the output channels.
    Credit: 0.5
    """
    if per == "tensor":
        return None
    return by_weight(subject, per, lambda weight: whole(weight, bits, scheme), along=1)


def quantised_integers_half_up(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights:
    """Ties rounded up.

    Slip of: quantised_integers
    Hint: Values half-way between two whole numbers are rounded up, as floor(x + 0.5) does. They go to the even one,
    as torch.round does.
    Credit: 0.8
    """
    return by_weight(subject, per, lambda weight: whole(weight, bits, scheme, rule=half_up))


def quantised_integers_half_away(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights:
    """Ties rounded away from zero.

    Slip of: quantised_integers
    Hint: Values half-way between two whole numbers are rounded away from zero. They go to the even one, as
    torch.round does.
    Credit: 0.8
    """
    return by_weight(subject, per, lambda weight: whole(weight, bits, scheme, rule=half_away))


def quantised_integers_rounded_behind_the_zero_point(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights | None:
    """Rounded after the zero point is added.

    Slip of: quantised_integers
    Hint: The zero point is added before the rounding, so that half-way values go another way where it is odd. Round
    w / scale, then add it.
    Credit: 0.8
    """
    if scheme == "symmetric":
        return None
    return by_weight(subject, per, lambda weight: _rounded_behind(weight, bits))


def quantised_integers_of_a_range_without_zero(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights | None:
    """With the range from the least weight to the largest.

    Slip of: quantised_integers
    Hint: The range does not take in 0: where all weights of a channel have one sign, it has to reach from 0 on, or
    up to 0. lowest = min(w, 0), highest = max(w, 0).
    Credit: 0.6
    """
    if scheme == "symmetric":
        return None
    return by_weight(subject, per, lambda weight: _of_a_range_without_zero(weight, bits))


def quantised_integers_signed(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights | None:
    """Moved to -2**(bits-1) and above.

    Slip of: quantised_integers
    Hint: The numbers are moved to -2**(bits - 1) ... 2**(bits - 1) - 1. The asymmetric ones go from 0 to 2**bits - 1.
    Credit: 0.6
    """
    if scheme == "symmetric":
        return None
    return by_weight(subject, per, lambda weight: whole(weight, bits, scheme) - 2 ** (bits - 1))


def quantised_integers_of_full_range_unclamped(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights | None:
    """With the range divided by 2**(bits-1), and its end kept.

    Slip of: quantised_integers
    Hint: The largest magnitude is divided by 2**(bits - 1), so that it becomes 2**(bits - 1) itself. The symmetric
    scheme divides it by 2**(bits - 1) - 1.
    Credit: 0.6
    """
    if scheme == "asymmetric":
        return None
    return by_weight(subject, per, lambda weight: whole(weight, bits, scheme, less=0, clamped=False))


def quantised_integers_with_a_floored_zero_point(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights | None:
    """With zero points rounded down.

    Slip of: quantised_integers
    Hint: The zero point is rounded down, as int() does. It is rounded to the nearest: round(-lowest / scale).
    Credit: 0.6
    """
    if scheme == "symmetric":
        return None
    return by_weight(subject, per, lambda weight: whole(weight, bits, scheme, zero=math.floor))


def quantised_integers_with_an_exact_zero_point(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights | None:
    """With zero points that are not rounded.

    Slip of: quantised_integers
    Hint: The zero point is not rounded by itself: round((w - lowest) / scale) is not
    round(w / scale) + zero_point.
    Credit: 0.6
    """
    if scheme == "symmetric":
        return None
    return by_weight(subject, per, lambda weight: _of_the_distance(weight, bits))


def quantised_integers_unclamped(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights | None:
    """Without an end of the range.

    Slip of: quantised_integers
    Hint: The numbers are not clamped: rounding twice leads beyond 0 or 2**bits - 1.
    Credit: 0.7
    """
    if scheme == "symmetric":
        return None
    return by_weight(subject, per, lambda weight: whole(weight, bits, scheme, clamped=False))


def quantised_integers_with_the_zero_point_subtracted(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights | None:
    """With the zero point subtracted.

    Slip of: quantised_integers
    Hint: The zero point is subtracted. It is added: q = round(w / scale) + zero_point.
    Credit: 0.4
    """
    if scheme == "symmetric":
        return None
    return by_weight(subject, per, lambda weight: _subtracted(weight, bits))


def quantised_integers_of_the_largest_value(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights | None:
    """With the largest value in place of the largest magnitude.

    Slip of: quantised_integers
    Hint: The scale is taken of the largest weight. Take the largest magnitude, max|w|: the least may be further from 0.
    Credit: 0.5
    """
    if scheme == "asymmetric":
        return None
    return by_weight(subject, per, lambda weight: _of_the_largest_value(weight, bits))


def quantised_integers_of_the_whole_width(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights | None:
    """With twice the largest magnitude over all steps of the bits.

    Slip of: quantised_integers
    Hint: The scale is 2 * max|w| / (2**bits - 1). The symmetric scheme has max|w| / (2**(bits - 1) - 1).
    Credit: 0.6
    """
    if scheme == "asymmetric":
        return None
    return by_weight(subject, per, lambda weight: _of_the_whole_width(weight, bits))


def quantised_integers_of_the_whole_width_unclamped(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights | None:
    """With twice the largest magnitude over all steps of the bits, whose largest is one too many.

    Slip of: quantised_integers
    Hint: The scale is 2 * max|w| / (2**bits - 1). The symmetric scheme has max|w| / (2**(bits - 1) - 1).
    Credit: 0.6
    """
    if scheme == "asymmetric":
        return None
    return by_weight(subject, per, lambda weight: _of_the_whole_width(weight, bits, clamped=False))


def quantisation_parameters_of_a_range_without_zero(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric"
) -> list[dict[str, Any]] | None:
    """With the range from the least weight to the largest.

    Slip of: quantisation_parameters
    Hint: The range does not take in 0: lowest = min(w, 0), highest = max(w, 0).
    Credit: 0.6
    """
    if scheme == "symmetric":
        return None
    return [
        row(name, *parameters(weight, bits, scheme, with_zero=False)) for name, weight in weights_of(subject).items()
    ]


def quantisation_parameters_with_a_floored_zero_point(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric"
) -> list[dict[str, Any]] | None:
    """With zero points rounded down.

    Slip of: quantisation_parameters
    Hint: The zero point is rounded down, as int() does. It is rounded to the nearest: round(-lowest / scale).
    Credit: 0.6
    """
    if scheme == "symmetric":
        return None
    return [
        row(name, *parameters(weight, bits, scheme, zero=math.floor)) for name, weight in weights_of(subject).items()
    ]


def quantisation_parameters_with_a_ceiled_zero_point(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric"
) -> list[dict[str, Any]] | None:
    """With zero points rounded up.

    Slip of: quantisation_parameters
    Hint: The zero point is rounded up. It is rounded to the nearest: round(-lowest / scale).
    Credit: 0.6
    """
    if scheme == "symmetric":
        return None
    return [
        row(name, *parameters(weight, bits, scheme, zero=math.ceil)) for name, weight in weights_of(subject).items()
    ]


def quantisation_parameters_signed(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric"
) -> list[dict[str, Any]] | None:
    """With zero points of numbers from -2**(bits-1) on.

    Slip of: quantisation_parameters
    Hint: The zero point is that of numbers from -2**(bits - 1) on. Here they begin at 0.
    Credit: 0.6
    """
    if scheme == "symmetric":
        return None
    return [_moved(name, weight, bits) for name, weight in weights_of(subject).items()]


def quantisation_parameters_turned_round(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric"
) -> list[dict[str, Any]]:
    """With steps for each unit.

    Slip of: quantisation_parameters
    Hint: The scale is turned round: it is what one step is worth, (highest - lowest) / (2**bits - 1).
    Credit: 0.6
    """
    return [_turned_round(name, weight, bits, scheme) for name, weight in weights_of(subject).items()]


def quantisation_parameters_without_a_zero_point(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric"
) -> list[dict[str, Any]] | None:
    """With zero points of 0.

    Slip of: quantisation_parameters
    Hint: The zero point is 0 here: it is the whole number that stands for 0, round(-lowest / scale).
    Credit: 0.5
    """
    if scheme == "symmetric":
        return None
    return [row(name, parameters(weight, bits, scheme)[0], 0) for name, weight in weights_of(subject).items()]


def _rounded_behind(weight: torch.Tensor, bits: int) -> torch.Tensor:
    scale, zero = parameters(weight, bits, "asymmetric")
    return (weight / scale + zero).round().clamp(0, 2**bits - 1) if scale else weight * 0


def _of_a_range_without_zero(weight: torch.Tensor, bits: int) -> torch.Tensor:
    scale, zero = parameters(weight, bits, "asymmetric", with_zero=False)
    return ((weight / scale).round() + zero).clamp(0, 2**bits - 1) if scale else weight * 0


def _of_the_distance(weight: torch.Tensor, bits: int) -> torch.Tensor:
    scale, _ = parameters(weight, bits, "asymmetric")
    return ((weight - min(float(weight.min()), 0.0)) / scale).round() if scale else weight * 0


def _subtracted(weight: torch.Tensor, bits: int) -> torch.Tensor:
    scale, zero = parameters(weight, bits, "asymmetric")
    return ((weight / scale).round() - zero).clamp(0, 2**bits - 1) if scale else weight * 0


def _of_the_largest_value(weight: torch.Tensor, bits: int) -> torch.Tensor:
    low, high = bounds(bits, "symmetric", 0)
    largest = float(weight.max())
    return (weight / (largest / high)).round().clamp(low, high) if largest else weight * 0


def _of_the_whole_width(weight: torch.Tensor, bits: int, *, clamped: bool = True) -> torch.Tensor:
    low, high = bounds(bits, "symmetric", 0)
    scale = 2 * float(weight.abs().max()) / (2**bits - 1)
    # The largest one comes to half a step more than the largest step: to floats of 32 bits that is a tie.
    found = (weight / scale).round(decimals=6).round() if scale else weight * 0
    return found.clamp(low - 1, high) if clamped else found


def _moved(name: str, weight: torch.Tensor, bits: int) -> dict[str, Any]:
    scale, zero = parameters(weight, bits, "asymmetric")
    return row(name, scale, zero - 2 ** (bits - 1))


def _turned_round(name: str, weight: torch.Tensor, bits: int, scheme: str) -> dict[str, Any]:
    scale, zero = parameters(weight, bits, scheme)
    return row(name, 1 / scale if scale else 0, zero)
