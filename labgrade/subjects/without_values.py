"""Builds modules whose values nobody needs, or that get theirs from elsewhere: without memory, without drawing them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import torch


@contextlib.contextmanager
def without_memory() -> Iterator[None]:
    """Move each parameter to the meta device as soon as a module takes it.

    Building under `torch.device("meta")` would be simpler, but constructors that compute with tensors (all RegNets)
    fail there.
    """
    import torch

    register = torch.nn.Module.register_parameter

    def on_meta(self: torch.nn.Module, name: str, param: torch.nn.Parameter | None) -> None:
        if param is not None and not param.is_meta:
            param = torch.nn.Parameter(param.detach().to("meta"), requires_grad=param.requires_grad)
        register(self, name, param)

    with _replaced(torch.nn.Module, {"register_parameter": on_meta}):
        yield


@contextlib.contextmanager
def without_initialisation() -> Iterator[None]:
    """Let every function of torch.nn.init return its tensor as it is: what it would draw is not needed."""
    from torch.nn import init

    def as_it_is(tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        return tensor

    with _replaced(init, {name: as_it_is for name in vars(init) if name.endswith("_") and not name.startswith("_")}):
        yield


@contextlib.contextmanager
def _replaced(owner: object, others: Mapping[str, Any]) -> Iterator[None]:
    """Others in place of what a module or a class has. `unittest.mock` brings asyncio: half of what starting costs."""
    own = {name: vars(owner)[name] for name in others}
    for name, other in others.items():
        setattr(owner, name, other)
    try:
        yield
    finally:
        for name, was in own.items():
            setattr(owner, name, was)
