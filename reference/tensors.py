"""The tensors in a file: what a lab hands in as .pth, .pt or .safetensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._files.kinds import SAFETENSORS, kind_of_file
from ._files.weights import stored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import torch

_MOST_BYTES = 200_000_000


def tensors(artifact: Path) -> dict[str, torch.Tensor]:
    """The tensors that torch.save wrote, by name; those in a mapping within it under dotted names. Or of safetensors.

    Only weights are read (`weights_only`): a file that holds objects is refused, and nothing of it is run.

    Raises:
        ValueError: it is no such file, it holds no tensor, one without values, or more than 200 MB of them.
    """
    kind, words = kind_of_file(artifact)
    if kind == SAFETENSORS:
        return _of_safetensors(artifact)
    if kind not in ("zip", "pickle"):
        message = f"this is no file of tensors that torch.save wrote: it is {words or 'of no kind that labgrade knows'}"
        raise ValueError(message)
    import torch

    try:
        held = torch.load(str(artifact), weights_only=True, map_location="cpu")
    except Exception as error:  # noqa: BLE001 - what torch raises of a hostile file has no common base
        kind = type(error).__name__
        what = "holds objects, not only tensors" if "weights_only" in str(error).lower() else "can't be read"
        message = f"this is no file of tensors that torch.save wrote: it {what} ({kind})"
        raise ValueError(message) from None
    found = dict(_within(held, ""))
    if not found:
        message = f"it holds no tensor, but {type(held).__name__}"
        raise ValueError(message)
    _limit(sum(each.numel() * each.element_size() for each in found.values()))
    return found


def _limit(size: int) -> None:
    if size > _MOST_BYTES:
        message = f"it holds {size / 1e6:,.0f} MB of tensors; at most {_MOST_BYTES / 1e6:,.0f} MB are read"
        raise ValueError(message)


def _of_safetensors(artifact: Path) -> dict[str, torch.Tensor]:
    rows = stored(artifact)
    if not rows:
        message = "it holds no tensor"
        raise ValueError(message)
    _limit(sum(each.bytes for each in rows))
    from safetensors.torch import load_file

    try:
        found: dict[str, torch.Tensor] = load_file(str(artifact))
    except Exception as error:  # noqa: BLE001 - a type that torch lacks has no error of its own
        message = f"torch can't hold its tensors: {error}"
        raise ValueError(message) from None
    return found


def _within(held: Any, name: str) -> Iterator[tuple[str, torch.Tensor]]:
    import torch

    if isinstance(held, torch.Tensor):
        if held.is_meta or held.is_nested:
            message = (
                f"'{name}' is a tensor {'without values (on device meta)' if held.is_meta else 'of tensors (nested)'}"
            )
            raise ValueError(message)
        dense = (
            held.dequantize() if held.is_quantized else held.to_dense() if held.layout is not torch.strided else held
        )
        yield name, dense.detach()
    elif isinstance(held, dict):
        for key, value in held.items():
            yield from _within(value, f"{name}.{key}".lstrip("."))
    elif isinstance(held, list | tuple):
        for place, value in enumerate(held):
            yield from _within(value, f"{name}.{place}".lstrip("."))
