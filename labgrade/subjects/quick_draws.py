"""Draws the weights of large layers out of one block of random numbers: to draw each by itself takes longest of all.

Which numbers a tensor gets depends on the state of torch's random numbers alone. No two parts of a weight are equal:
what takes one for another computes something else.
"""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch

_LEAST = 1 << 15  # numbers of a tensor; fewer are drawn one by one
_BLOCK = 1 << 18  # numbers in the block: few enough for a processor's cache
_APART = 0.1


@contextlib.contextmanager
def quick_draws() -> Iterator[None]:
    """Let `uniform_` and `normal_` of large tensors copy from the block, from a place that is drawn."""
    import torch

    own = {name: getattr(torch.Tensor, name) for name in ("uniform_", "normal_")}

    def uniform(tensor: torch.Tensor, *given: float, **more: Any) -> torch.Tensor:
        if not _is_plain(tensor, more):
            found: torch.Tensor = own["uniform_"](tensor, *given, **more)
            return found
        low, high = (*given, *(0.0, 1.0)[len(given) :])
        return _fill(tensor, _uniform(), (low + high) / 2, (high - low) / 2)

    def normal(tensor: torch.Tensor, *given: float, **more: Any) -> torch.Tensor:
        if not _is_plain(tensor, more):
            found: torch.Tensor = own["normal_"](tensor, *given, **more)
            return found
        mean, std = (*given, *(0.0, 1.0)[len(given) :])
        return _fill(tensor, _normal(), mean, std)

    for name, quick in zip(own, (uniform, normal), strict=True):
        setattr(torch.Tensor, name, quick)
    try:
        yield
    finally:
        for name, found in own.items():
            setattr(torch.Tensor, name, found)
            if found is getattr(torch.Tensor.__base__, name):  # there is none of its own, unless somebody else made it
                delattr(torch.Tensor, name)


def _is_plain(tensor: torch.Tensor, more: dict[str, Any]) -> bool:
    """Whether it is large, plain memory; `more` is what was said by name, such as a generator of one's own."""
    import torch

    large = tensor.numel() >= _LEAST and tensor.dtype is torch.float32 and tensor.device.type == "cpu"
    drawn_alone = any(each is not None for each in more.values()) or (torch.is_grad_enabled() and tensor.requires_grad)
    return large and tensor.is_contiguous() and not drawn_alone


def _fill(tensor: torch.Tensor, block: torch.Tensor, middle: float, width: float) -> torch.Tensor:
    """Parts of the block from random places on, each a little smaller by a factor of its own: no two are alike."""
    import torch

    flat = tensor.detach().view(-1)
    size, at = flat.numel(), 0
    while at < size:
        place, factor = int(torch.randint(_BLOCK, ())), 1 - _APART * float(torch.rand(()))
        some = min(_BLOCK - place, size - at)
        torch.mul(block[place : place + some], width * factor, out=flat[at : at + some])
        at += some
    if middle:
        flat.add_(middle)
    return tensor


@functools.cache
def _uniform() -> torch.Tensor:
    """Between -1 and 1."""
    import torch

    return torch.rand(_BLOCK, generator=torch.Generator().manual_seed(0)) * 2 - 1


@functools.cache
def _normal() -> torch.Tensor:
    import torch

    return torch.randn(_BLOCK, generator=torch.Generator().manual_seed(1))
