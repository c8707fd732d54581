"""What is out of the ordinary about a row of a table, in a student's words: what wrong rows may have in common."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from torch.nn.modules.conv import _ConvNd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch import nn

    from .compose import Part

Rows = list[dict[str, Any]]
_OF_ROWS = frozenset({"node", "operator", "also_named", "also_right", "floats", "channel", "height", "width"})


def of_parts(parts: Sequence[Part]) -> dict[str, list[str]]:
    """By the rows of what counts."""
    found: dict[str, list[str]] = {}
    for part in parts:
        if part.counted and part.count:
            found.setdefault(part.row, list(_of(part.source.call.module)))
    return found


def of_layers(root: nn.Module, rows: Rows) -> dict[str, list[str]]:
    """By the rows of a table of layers; containers may be left out, and have none."""
    inside = dict(root.named_modules())
    found = {}
    for row in rows:
        name, _, again = row["layer"].partition("#")
        if not row.get("optional") and name in inside:
            found[row["layer"]] = [*_of(inside[name]), *(["layers that are called again"] if again else [])]
    return found


def of_nodes(rows: Rows) -> dict[str, list[str]]:
    """By the rows of a table of an ONNX file's nodes."""
    return {
        row["node"]: [
            f"{row['operator']} nodes",
            *(["nodes with groups"] if row.get("group", 1) != 1 else []),
            *(f"nodes with the attribute {name}" for name in row if name not in _OF_ROWS),
        ]
        for row in rows
    }


def _of(module: nn.Module) -> Iterator[str]:
    yield f"{type(module).__name__} layers"
    if not any(True for _ in module.parameters()):
        yield "layers without parameters"
    elif getattr(module, "bias", None) is not None:
        yield "layers with a bias"
    else:
        yield "layers without a bias"
    if isinstance(module, _ConvNd):
        yield from (word for word, holds in _PECULIAR.items() if holds(module))


def _odd(module: Any, name: str, usual: int) -> bool:
    value = getattr(module, name)
    return any(each != usual for each in value) if isinstance(value, tuple) else value != usual


_PECULIAR: Mapping[str, Callable[[_ConvNd], bool]] = {
    "convolutions with groups": lambda module: module.groups > 1,
    "convolutions with dilation": lambda module: _odd(module, "dilation", 1),
    "convolutions with a stride": lambda module: _odd(module, "stride", 1),
    "convolutions with padding": lambda module: _odd(module, "padding", 0),
    "convolutions with a kernel that is not square": lambda module: len(set(module.kernel_size)) > 1,
    "convolutions with a kernel larger than 1x1": lambda module: math.prod(module.kernel_size) > 1,
    "convolutions with a 1x1 kernel": lambda module: math.prod(module.kernel_size) == 1,
}
