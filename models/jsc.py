"""Small networks for the five classes of the jet-substructure data, on 16 features of a jet."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


def tiny(*, features: int = 16, classes: int = 5) -> nn.Module:
    """A batch norm, a ReLU and one linear layer: 117 parameters.

    `features` come in, `classes` go out.
    """
    from torch import nn

    return nn.Sequential(nn.BatchNorm1d(features), nn.ReLU(), nn.Linear(features, classes))


def wide(*, features: int = 16, hidden: list[int] = [32, 32], classes: int = 5) -> nn.Module:  # noqa: B006 - never changed
    """Hidden layers of the sizes `hidden`, each with a batch norm and a ReLU, and a linear layer.

    `features` come in, `classes` go out.
    """
    from torch import nn

    sizes = [features, *hidden]
    body = [
        layer
        for size, wider in zip(sizes, hidden, strict=False)
        for layer in (nn.Linear(size, wider), nn.BatchNorm1d(wider), nn.ReLU())
    ]
    return nn.Sequential(*body, nn.Linear(sizes[-1], classes))


def shared(*, features: int = 16, width: int = 24, classes: int = 5) -> nn.Module:
    """One ReLU that is called three times, a sum, a scale that no module holds, and a method of the tensor's."""
    from ._shared import Shared

    return Shared(features, width, classes)


def marked(*, features: int = 16, classes: int = 5) -> nn.Module:
    """The tiny network with weights from -12 to 12 in steps of 1/32: half of them lie between two values of a grid."""
    import torch
    from torch import nn

    layer = nn.Linear(features, classes)
    with torch.no_grad():
        layer.weight.copy_((torch.rand_like(layer.weight) * 24 * 32).round() / 32 - 12)
    return nn.Sequential(nn.BatchNorm1d(features), nn.ReLU(), layer)
