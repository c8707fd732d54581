"""What options of labgrade's change about a model: parameters that are not trained, linear layers cut into tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labgrade.core.did_you_mean import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

FROZEN = "frozen"  # names of parameters that are not trained, or of modules of which none is
TILED = "tiled"  # how large a tile of a linear layer is at most, in both directions
ALL = frozenset({FROZEN, TILED})


def change(module: torch.nn.Module, options: Mapping[str, Any], model: str) -> torch.nn.Module:
    """The module as the options of labgrade's among `options` want it.

    Raises:
        ValueError: one of them does not fit the model.
    """
    if TILED in options:
        tile(module, options[TILED])
    known = {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_modules())}
    for name in options.get(FROZEN, []):
        if name not in known:
            message = f"'{model}' has no module or parameter '{name}' to freeze{did_you_mean(name, known)}"
            raise ValueError(message)
        known[name].requires_grad_(requires_grad=False)
    return module


def tile(module: torch.nn.Module, size: int) -> torch.nn.Module:
    """The module with a grid of `Linear` tiles of at most `size` x `size` in place of each linear layer.

    Weights are cut up, so that nothing of the function changes but the order of additions; each bias goes with the
    first tile of its column.

    Raises:
        ValueError: `size` is no positive whole number.
    """
    from torch import nn

    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        message = f"'{TILED}' is the size of a tile, a positive whole number such as 512, not {size!r}"
        raise ValueError(message)
    for name, child in list(module.named_children()):
        if type(child) is nn.Linear:
            setattr(module, name, _grid(child, size))
        else:
            tile(child, size)
    return module


def _grid(linear: torch.nn.Linear, size: int) -> torch.nn.Module:
    import torch
    from torch import nn

    class TiledLinear(nn.Module):
        """Columns of tiles: each adds up the products of the parts of the input, and all are joined."""

        def __init__(self) -> None:
            super().__init__()
            tops, lefts = range(0, linear.out_features, size), range(0, linear.in_features, size)
            self.columns = nn.ModuleList(nn.ModuleList(_part(linear, size, t, k) for k in lefts) for t in tops)
            self.spans = [(k, min(size, linear.in_features - k)) for k in lefts]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            # Not torch.split: what is traced of it (prim::ListUnpack) is beyond many a program that walks a graph.
            parts = tuple(x.narrow(-1, start, length) for start, length in self.spans)
            return torch.cat([_added(column, parts) for column in self.columns], dim=-1)

    return TiledLinear()


def _added(column: torch.nn.Module, parts: tuple[torch.Tensor, ...]) -> torch.Tensor:
    products = [product(part) for product, part in zip(column.children(), parts, strict=True)]
    total: torch.Tensor = products[0]
    for product in products[1:]:
        total = total + product
    return total


def _part(linear: torch.nn.Linear, size: int, top: int, left: int) -> torch.nn.Linear:
    """One tile. It is made without memory first: its own weights would be drawn for nothing."""
    from torch import nn

    weight = linear.weight.detach()[top : top + size, left : left + size].clone()
    own = nn.Linear(weight.shape[1], weight.shape[0], bias=left == 0 and linear.bias is not None, device="meta")
    own.weight = nn.Parameter(weight)
    if own.bias is not None:
        own.bias = nn.Parameter(linear.bias.detach()[top : top + size].clone())
    return own
