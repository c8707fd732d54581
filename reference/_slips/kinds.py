"""What is out of the ordinary about a layer, in a student's words: what wrong rows of a table may have in common."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .._counting.trace import CountedOperation
    from .compose import Part


def kinds(parts: Sequence[Part]) -> dict[str, list[str]]:
    """What is out of the ordinary about each row, in a student's words."""
    found: dict[str, list[str]] = {}
    for part in parts:
        if part.counted and part.count:
            found.setdefault(part.row, list(_kinds(part.source)))
    return found


def _kinds(o: CountedOperation) -> Iterator[str]:
    yield f"{o.call.type} layers"
    if len(o.weight_shape) > 2 and o.input_shape:  # noqa: PLR2004 - a matrix has two
        yield from (word for word, holds in _PECULIAR.items() if holds(o, o.call.module))


def _odd(module: Any, name: str, usual: int) -> bool:
    value = getattr(module, name, usual)
    return any(each != usual for each in value) if isinstance(value, tuple) else value != usual


_PECULIAR: Mapping[str, Callable[[CountedOperation, Any], bool]] = {
    "convolutions with groups": lambda o, _: o.groups > 1,
    "convolutions with dilation": lambda _, module: _odd(module, "dilation", 1),
    "convolutions with a stride": lambda _, module: _odd(module, "stride", 1),
    "convolutions with padding": lambda _, module: _odd(module, "padding", 0),
    "convolutions with a kernel that is not square": lambda o, _: len(set(o.weight_shape[2:])) > 1,
    "convolutions with a kernel larger than 1x1": lambda o, _: math.prod(o.weight_shape[2:]) > 1,
    "convolutions with a 1x1 kernel": lambda o, _: math.prod(o.weight_shape[2:]) == 1,
    "layers with a bias": lambda o, _: bool(o.bias),
}
