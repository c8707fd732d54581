"""The weights of a network that pruning and quantisation are about: those of convolutions and linear layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch
    from torch import nn

    from ._counting.engine import CountedSubject


def layers_of(subject: CountedSubject) -> Iterator[tuple[str, nn.Module]]:
    """Each convolution and linear layer with its name in `named_modules()`, with seeded weights."""
    from torch import nn

    module, _ = subject.with_weights()
    kinds = (nn.Linear, nn.modules.conv._ConvNd)  # noqa: SLF001 - the common base of all convolutions
    return ((name, layer) for name, layer in module.named_modules() if isinstance(layer, kinds))


def weights_of(subject: CountedSubject) -> dict[str, torch.Tensor]:
    """The weight of each of these layers."""
    return {name: layer.weight.detach() for name, layer in layers_of(subject)}  # type: ignore[operator]
