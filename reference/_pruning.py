"""What is counted of pruned weights, and which ones a magnitude pruning keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._weights import weights_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    from ._counting.engine import CountedSubject

GROUP, KEPT = 4, 2


def items(subject: CountedSubject) -> list[tuple[str, torch.Tensor]]:
    """Each weight with its layer's name."""
    return list(weights_of(subject).items())


def zeros(weight: torch.Tensor) -> int:
    """How many weights are zero."""
    return int((weight == 0).sum())


def zero_rows(weight: torch.Tensor) -> int:
    """How many of the first dimension are zero as a whole."""
    return int((weight.flatten(1) == 0).all(1).sum())


def patterns(name: str, weight: torch.Tensor) -> dict[str, Any]:
    """A row of the table of patterns."""
    return {"layer": name, "zeros": zeros(weight), "channels": zero_rows(weight), "against": against(weight)}


def against(weight: torch.Tensor) -> int:
    """How many groups have more than two weights other than zero."""
    return int((left_in_groups(weight.flatten(1)) > KEPT).sum())


def left_in_groups(rows: torch.Tensor) -> torch.Tensor:
    """How many weights of each group of four of each row are not zero; what is left of a row is none."""
    whole = rows[:, : rows.shape[1] // GROUP * GROUP].reshape(len(rows), -1, GROUP)
    return (whole != 0).sum(2)


def masks(
    sizes: dict[str, torch.Tensor], sparsity: float, scope: str, rule: Callable[[float], int] = round
) -> dict[str, torch.Tensor]:
    """Which are kept of weights of these sizes."""
    import torch

    if scope == "layer":
        return {name: mask(each, rule(sparsity * each.numel())) for name, each in sizes.items()}
    flat = torch.cat([each.flatten() for each in sizes.values()])
    whole = mask(flat, rule(sparsity * flat.numel()))
    parts = torch.split(whole, [each.numel() for each in sizes.values()])
    return {name: part.reshape(each.shape) for (name, each), part in zip(sizes.items(), parts, strict=True)}


def mask(sizes: torch.Tensor, removed: int) -> torch.Tensor:
    """1, 0, or the share of equal ones that stay where some of these are `removed`."""
    if not 0 < removed < sizes.numel():
        return sizes.new_full(sizes.shape, float(removed <= 0)).double()
    threshold = sizes.flatten().sort().values[removed - 1]
    equal, above = sizes == threshold, sizes > threshold
    stay = sizes.numel() - removed - int(above.sum())
    return above.double() + equal.double() * (stay / int(equal.sum()))
