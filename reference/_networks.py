"""TorchScript files as networks, and how far off outputs are of what a network makes."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import torch

_SEED = 20_240_226  # of inputs that nobody who exports a network knows


def scripted(path: Path) -> Any:
    """A TorchScript file's network.

    Raises:
        ValueError: torch does not load it.
    """
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch, about a format that courses still use
            return torch.jit.load(str(path), map_location="cpu")  # type: ignore[no-untyped-call]
    except Exception as error:  # noqa: BLE001 - what torch raises of a broken file has no common base
        message = f"this is no TorchScript file that torch loads ({type(error).__name__}); torch.jit.save writes one"
        raise ValueError(message) from None


def largest_error(
    run: Callable[[list[torch.Tensor]], list[torch.Tensor]],
    network: Any,
    input_shape: list[int] | None,
    draws: int,
) -> float:
    """The largest difference on inputs that are drawn here, as a share of the network's largest output.

    Raises:
        ValueError: `run`, which gets all inputs, makes outputs of another shape than the network.
    """
    import torch

    generator = torch.Generator().manual_seed(_SEED)
    given = [torch.randn(input_shape or [1], generator=generator) for _ in range(draws)]
    worst = 0.0
    with torch.no_grad():
        for x, got in zip(given, run([x.clone() for x in given]), strict=True):
            wanted = network(x.clone())
            if got.shape != wanted.shape:
                message = f"of an input of {list(x.shape)} it makes {list(got.shape)}, the network {list(wanted.shape)}"
                raise ValueError(message)
            off = (got.double() - wanted.double()).abs().max() / wanted.double().abs().max()
            worst = max(worst, float(off) if off.isfinite() else float("inf"))
    return worst
