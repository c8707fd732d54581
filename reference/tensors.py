"""The tensors in a file of PyTorch's: what a lab hands in as .pth or .pt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import torch

_MOST_BYTES = 200_000_000


def tensors(artifact: Path) -> dict[str, torch.Tensor]:
    """The tensors that torch.save wrote, by name; those in a mapping within it under dotted names.

    Only weights are read (`weights_only`): a file that holds objects is refused, and nothing of it is run.

    Raises:
        ValueError: it is no such file, it holds no tensor, one without values, or more than 200 MB of them.
    """
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
    size = sum(each.numel() * each.element_size() for each in found.values())
    if size > _MOST_BYTES:
        message = f"it holds {size / 1e6:,.0f} MB of tensors; at most {_MOST_BYTES / 1e6:,.0f} MB are read"
        raise ValueError(message)
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
