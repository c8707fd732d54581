"""Small networks whose weights lie on a coarse grid, so that some are equal; and some of them pruned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch
    from torch import nn

_KEPT = 2  # of four


def lean(
    *,
    width: int = 8,
    classes: int = 5,
    steps: int = 64,
    pattern: Literal["none", "fine", "channel", "two_of_four"] = "none",
    share: float = 0.5,
) -> nn.Module:
    """Two convolutions with batch norms, and a linear layer; weights are multiples of 1 / `steps`.

    `pattern` is what is pruned at random: single weights or whole output channels, a `share` of them (a third of it in
    the first layer), or all but two of four weights.
    """
    import torch
    from torch import nn

    body = nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
        nn.BatchNorm2d(2 * width),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * width, classes),
    )
    for place, layer in enumerate(body):
        if isinstance(layer, nn.Conv2d | nn.Linear):
            with torch.no_grad():
                layer.weight.copy_((torch.randn_like(layer.weight) / 4 * steps).round() / steps)
                layer.weight[layer.weight == 0] = 1 / steps
                layer.weight.mul_(_mask(layer.weight, pattern, share if place else share / 3))
            layer.own_weights = True  # type: ignore[assignment]
    return body


def _mask(weight: torch.Tensor, pattern: str, share: float) -> torch.Tensor:
    import torch

    rows = torch.rand_like(weight.flatten(1))
    if pattern == "fine":
        return (rows >= share).reshape(weight.shape)
    if pattern == "channel":
        kept = torch.rand(len(weight)) >= share
        return kept.reshape(-1, *[1] * (weight.dim() - 1)).expand(weight.shape)
    whole = rows.shape[1] // 4 * 4
    if pattern == "two_of_four" and whole:
        groups = rows[:, :whole].reshape(len(rows), -1, 4)
        rows[:, :whole] = (groups.argsort(2).argsort(2) < _KEPT).float().flatten(1)
        rows[:, whole:] = 1
        return rows.bool().reshape(weight.shape)
    return torch.ones_like(weight)
