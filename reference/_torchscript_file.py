"""TorchScript files that students hand in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import torch

_CAUSE = re.compile(r"(?:\w*(?:Error|Exception): *)+(\S.*)")


def loaded(file: Path) -> torch.jit.ScriptModule:
    """The network of a TorchScript file.

    Raises:
        ValueError: the file is none.
    """
    import torch

    try:
        module: torch.jit.ScriptModule = torch.jit.load(str(file), map_location="cpu")  # type: ignore[no-untyped-call]
    except RuntimeError:
        message = "this is no network that torch.jit.save wrote"
        raise ValueError(message) from None
    return module


def ran(network: torch.jit.ScriptModule, x: torch.Tensor) -> Any:
    """What a network makes of an input.

    Raises:
        ValueError: it does not take such an input, with the line in which torch says why.
    """
    import torch

    try:
        return network(x)
    except (RuntimeError, torch.jit.Error) as error:
        kinds = {each.dtype for each in network.parameters() if each.is_floating_point()}
        other = next((each for each in kinds if each != x.dtype), None) if len(kinds) == 1 else None
        kind = f" in {_named(x.dtype)} (its parameters are {_named(other)})" if other is not None else ""
        message = f"the network does not take an input of shape {list(x.shape)}{kind}: {cause(error)}"
        raise ValueError(message) from None


def cause(error: Exception) -> str:
    """The line of an error of TorchScript's in which torch says what is wrong: a traceback stands around it."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    said = [found[1] for line in lines if (found := _CAUSE.fullmatch(line.strip()))]
    return said[-1] if said else lines[-1].strip()


def _named(kind: torch.dtype) -> str:
    return str(kind).removeprefix("torch.")
