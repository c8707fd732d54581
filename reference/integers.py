"""Linear quantisation of weights to whole numbers, and how it goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ._integers import by_weight, floored, other, parameters, row, truncated, whole
from ._weights import weights_of

if TYPE_CHECKING:
    import torch

    from ._counting.engine import CountedSubject
    from ._integers import Weights

Scheme = Literal["symmetric", "asymmetric"]
Per = Literal["tensor", "channel"]

# ---- weights --------------------------------------------------------------------------------------------------------


def quantised_integers(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights:
    """The weight of each convolution and linear layer as whole numbers of `bits`.

    Symmetric: scale = max|w| / (2**(bits-1) - 1), q = round(w / scale), from -(2**(bits-1) - 1) on. Asymmetric: lowest
    = min(w, 0), highest = max(w, 0), scale = (highest - lowest) / (2**bits - 1), zero point = round(-lowest / scale),
    q = round(w / scale) + zero point, from 0 to 2**bits - 1 (Jacob et al. 2018, section 3). Rounded to the nearest,
    ties to even. `per` tensor, or per output channel: then each has a scale and a zero point of its own.
    """
    return by_weight(subject, per, lambda weight: whole(weight, bits, scheme))


def quantisation_parameters(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric"
) -> list[dict[str, Any]]:
    """By layer, the scale and the zero point of its weight as one tensor, as in `quantised_integers`."""
    return [row(name, *parameters(weight, bits, scheme)) for name, weight in weights_of(subject).items()]


def quantisation_parameters_in_steps(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric"
) -> list[dict[str, Any]]:
    """With the range divided by the number of values.

    Slip of: quantisation_parameters
    Hint: The range is divided by the number of values. Between 2**bits values lie 2**bits - 1 steps.
    Credit: 0.5
    """
    return [row(name, *parameters(weight, bits, scheme, less=0)) for name, weight in weights_of(subject).items()]


def quantisation_parameters_of_the_other_scheme(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric"
) -> list[dict[str, Any]]:
    """Those of the other scheme.

    Slip of: quantisation_parameters
    Hint: Symmetric and asymmetric are mixed up: a symmetric range has its zero in the middle, and no zero point.
    Credit: 0.3
    """
    return quantisation_parameters(subject, bits=bits, scheme=other(scheme))


def quantisation_parameters_with_a_minus(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric"
) -> list[dict[str, Any]] | None:
    """With zero points of the other sign.

    Slip of: quantisation_parameters
    Hint: The zero point has the wrong sign: it is the whole number that stands for 0, -lowest / scale.
    Credit: 0.6
    """
    if scheme == "symmetric":
        return None
    rows = quantisation_parameters(subject, bits=bits, scheme=scheme)
    return [{**row, "zero_point": -row["zero_point"]} for row in rows]


def quantised_integers_floored(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights:
    """Rounded down.

    Slip of: quantised_integers
    Hint: Values are rounded down, as floor() and // do. The nearest whole number is asked for.
    Credit: 0.5
    """
    return by_weight(subject, per, lambda weight: whole(weight, bits, scheme, rule=floored))


def quantised_integers_truncated(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights:
    """Rounded towards zero.

    Slip of: quantised_integers
    Hint: Values are rounded towards zero, as int() and a cast to int8 do. The nearest whole number is asked for.
    Credit: 0.5
    """
    return by_weight(subject, per, lambda weight: whole(weight, bits, scheme, rule=truncated))


def quantised_integers_of_the_other_scheme(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights:
    """Those of the other scheme.

    Slip of: quantised_integers
    Hint: Symmetric and asymmetric are mixed up: asymmetric numbers begin at 0 and have a zero point.
    Credit: 0.3
    """
    return quantised_integers(subject, bits=bits, scheme=other(scheme), per=per)


def quantised_integers_per_other(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights:
    """With one scale where each channel has its own, and the other way round.

    Slip of: quantised_integers
    Hint: One scale for the whole tensor and one for each output channel are mixed up: the task says which is meant.
    Credit: 0.5
    """
    return quantised_integers(subject, bits=bits, scheme=scheme, per="channel" if per == "tensor" else "tensor")


def quantised_integers_in_steps(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights:
    """With the range divided by the number of values.

    Slip of: quantised_integers
    Hint: The range is divided by the number of values. Between 2**bits values lie 2**bits - 1 steps.
    Credit: 0.6
    """
    return by_weight(subject, per, lambda weight: whole(weight, bits, scheme, less=0))


def quantised_integers_of_full_range(
    subject: CountedSubject,
    *,
    bits: int = 8,
    scheme: Literal["symmetric", "asymmetric"] = "symmetric",
    per: Literal["tensor", "channel"] = "tensor",
) -> Weights | None:
    """With the lowest number that the bits have, and the range divided by 2**(bits-1).

    Slip of: quantised_integers
    Hint: The largest magnitude is divided by 2**(bits - 1), so that the numbers begin at -2**(bits - 1). The symmetric
    scheme divides it by 2**(bits - 1) - 1 and has as many numbers below 0 as above.
    Credit: 0.6
    """
    if scheme == "asymmetric":
        return None
    return by_weight(subject, per, lambda weight: whole(weight, bits, scheme, less=0, lowest=-(2 ** (bits - 1))))


def quantised_integers_dequantised(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights:
    """Multiplied by the scale again.

    Slip of: quantised_integers
    Hint: These are floats again: the whole numbers times the scale. The whole numbers themselves are asked for.
    Credit: 0.6
    """
    return by_weight(subject, per, lambda weight: _back(weight, bits, scheme))


def quantised_integers_one_bit_more(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights:
    """With the sign beside the bits.

    Slip of: quantised_integers
    Hint: There is one bit too many: the sign is one of the bits.
    Credit: 0.5
    """
    return quantised_integers(subject, bits=bits + 1, scheme=scheme, per=per)


def quantised_integers_without_zero_point(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights | None:
    """Without the zero point.

    Slip of: quantised_integers
    Hint: The zero point is not added. In the asymmetric scheme it moves the range to 0 and above.
    Credit: 0.5
    """
    return (
        by_weight(subject, per, lambda weight: whole(weight, bits, scheme, moved=False))
        if scheme == "asymmetric"
        else None
    )


def quantised_integers_clamped_without_zero_point(
    subject: CountedSubject, *, bits: int = 8, scheme: Scheme = "symmetric", per: Per = "tensor"
) -> Weights | None:
    """Without the zero point, and clamped to 0 and above.

    Slip of: quantised_integers
    Hint: The zero point is not added, so that all that is negative becomes 0. It moves the range to 0 and above.
    Credit: 0.3
    """
    if scheme == "symmetric":
        return None
    return by_weight(subject, per, lambda weight: whole(weight, bits, scheme, moved=False).clamp(0, 2**bits - 1))


def _back(weight: torch.Tensor, bits: int, scheme: str) -> torch.Tensor:
    scale, zero = parameters(weight, bits, scheme)
    return (whole(weight, bits, scheme) - zero) * scale
