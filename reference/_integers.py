"""How weights become whole numbers by a scale and a zero point, with what can be otherwise about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ._weights import weights_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    from ._counting.engine import CountedSubject

    Weights: TypeAlias = dict[str, torch.Tensor]
    Rule: TypeAlias = Callable[[torch.Tensor], torch.Tensor]


def by_weight(
    subject: CountedSubject, per: str, made: Callable[[torch.Tensor], torch.Tensor], *, along: int = 0
) -> Weights:
    """What is made of each weight, or of each of its channels; these lie `along` the first dimension."""
    import torch

    weights = {name: weight.double() for name, weight in weights_of(subject).items()}
    if per == "tensor":
        return {name: made(weight) for name, weight in weights.items()}
    return {
        name: torch.stack([made(channel) for channel in weight.unbind(along)], along)
        for name, weight in weights.items()
    }


def other(scheme: str) -> Literal["symmetric", "asymmetric"]:
    """The other scheme."""
    return "asymmetric" if scheme == "symmetric" else "symmetric"


def parameters(
    weight: torch.Tensor,
    bits: int,
    scheme: str,
    *,
    less: int = 1,
    with_zero: bool = True,
    zero: Callable[[float], Any] = round,
) -> tuple[float, int]:
    """The scale and the zero point, which is `zero` of -lowest / scale.

    `less`: by how much the steps are fewer than the values; `with_zero`: the range takes in 0.
    """
    if scheme == "symmetric":
        return float(weight.double().abs().max()) / (2 ** (bits - 1) - less), 0
    lowest, highest = float(weight.min()), float(weight.max())
    if with_zero:
        lowest, highest = min(lowest, 0.0), max(highest, 0.0)
    scale = (highest - lowest) / (2**bits - less)
    return scale, zero(-lowest / scale) if scale else 0


def row(name: str, scale: float, zero_point: int) -> dict[str, Any]:
    """A row of the table of parameters."""
    return {"layer": name, "scale": scale, "zero_point": zero_point}


def nearest(values: torch.Tensor) -> torch.Tensor:
    """Rounded to the nearest, ties to even."""
    return values.round()


def floored(values: torch.Tensor) -> torch.Tensor:
    """Rounded down."""
    return values.floor()


def truncated(values: torch.Tensor) -> torch.Tensor:
    """Rounded towards zero."""
    return values.trunc()


def half_up(values: torch.Tensor) -> torch.Tensor:
    """Rounded to the nearest, ties up."""
    return (values + 0.5).floor()


def half_away(values: torch.Tensor) -> torch.Tensor:
    """Rounded to the nearest, ties away from zero."""
    return values.sign() * (values.abs() + 0.5).floor()


def whole(
    weight: torch.Tensor,
    bits: int,
    scheme: str,
    *,
    rule: Rule = nearest,
    moved: bool = True,
    lowest: int | None = None,
    clamped: bool = True,
    **about: Any,
) -> torch.Tensor:
    """The whole numbers of a weight. `moved`: the zero point is added; `about`: as `parameters` has it."""
    scale, zero = parameters(weight, bits, scheme, **about)
    if not scale:
        return weight * 0
    steps = rule(weight / scale)
    if clamped:
        low, high = bounds(bits, scheme, zero)
        steps = steps.clamp(low if lowest is None else lowest, high)
    return steps + (zero if moved else 0)


def bounds(bits: int, scheme: str, zero: int) -> tuple[int, int]:
    """Between which steps values lie, before the zero point is added."""
    top: int = 2 ** (bits - 1) - 1
    return (-top, top) if scheme == "symmetric" else (-zero, 2**bits - 1 - zero)
