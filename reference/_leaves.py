"""The layers of a network of torchvision's, each with what it gets: what students run and export one by one."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch
    from torch import nn


@dataclass(frozen=True, slots=True)
class LeafLayer:
    """A layer as one call of it finds it: the module, on the meta device, and the shape of its input."""

    module: nn.Module
    input_shape: tuple[int, ...]

    def made(self, weights: Mapping[str, torch.Tensor]) -> nn.Module:
        """The layer in eval mode with these weights, writing into nothing.

        Raises:
            ValueError: they are not its own.
        """
        import copy

        layer = copy.deepcopy(self.module).to_empty(device="cpu").eval()
        if hasattr(layer, "inplace"):
            setattr(layer, "inplace", False)  # noqa: B010 - no attribute of every module
        wanted, given = layer.state_dict(), dict(weights)
        if "num_batches_tracked" in wanted:
            given.setdefault("num_batches_tracked", wanted["num_batches_tracked"])
        if wanted.keys() != given.keys():
            message = f"its weights are {_listed(given)}, and {type(layer).__name__} has {_listed(wanted)}"
            raise ValueError(message)
        try:
            layer.load_state_dict(given)
        except RuntimeError as error:
            message = f"its weights have other shapes: {str(error).strip().splitlines()[-1].strip()}"
            raise ValueError(message) from None
        return layer


@functools.cache
def leaves(network: str, input_shape: tuple[int, ...]) -> dict[str, LeafLayer]:
    """The calls of layers without layers inside, by class and place: Conv2d_1. In order of execution.

    Raises:
        ValueError: there is no such network.
    """
    import torch
    from torchvision import models

    if network not in models.list_models():
        message = f"torchvision has no network '{network}'"
        raise ValueError(message)
    found: dict[str, LeafLayer] = {}

    def note(module: nn.Module, given: Any, _: Any) -> None:
        found[f"{type(module).__name__}_{len(found) + 1}"] = LeafLayer(module, tuple(given[0].shape))

    with torch.device("meta"), torch.no_grad():
        root = models.get_model(network, weights=None).eval()
        hooks = [each.register_forward_hook(note) for each in root.modules() if not any(each.children())]
        root(torch.empty(input_shape))
    for hook in hooks:
        hook.remove()
    return found


def _listed(names: Any) -> str:
    return ", ".join(sorted(names)) or "none"
