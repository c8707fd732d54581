"""Output shapes of convolutions and pools, as torch's documentation states them."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .trace import Shape

    Sizes = int | Sequence[int]


def like(tensor: torch.Tensor, shape: Shape) -> torch.Tensor:
    """A tensor without values, of the type of another; `new_empty` takes ten times as long on the meta device."""
    return torch.empty(shape, dtype=tensor.dtype, device="meta")


class UnsureError(Exception):
    """A rule does not know what its function would do with what it is given."""


def alike(*tensors: torch.Tensor) -> None:
    """Leave it to the function where types differ, which it may refuse, or where most numbers of a tensor are not kept.

    Raises:
        UnsureError: they are not of one type.
    """
    first = tensors[0].dtype
    for tensor in tensors:
        if tensor.dtype is not first or tensor.layout is not torch.strided:
            raise UnsureError


def each(value: Sizes, dimensions: int) -> Shape:
    """One number a dimension: torch takes 3, (3,) and (3, 3) for the same."""
    if isinstance(value, int):
        return (value,) * dimensions
    return tuple(value) * dimensions if len(value) == 1 else tuple(value)


def convolved(spatial: Shape, kernel: Shape, stride: Shape, padding: Shape | str, dilation: Shape) -> Shape:
    """Spatial size after a convolution: floor((n + 2 p - d (k - 1) - 1) / s) + 1; `same` keeps it."""
    if padding == "same":
        return spatial
    pads = (0,) * len(spatial) if isinstance(padding, str) else padding
    return _some(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(spatial, kernel, stride, pads, dilation, strict=True)
    )


def transposed(
    spatial: Shape, kernel: Shape, stride: Shape, padding: Shape, output_padding: Shape, dilation: Shape
) -> Shape:
    """Spatial size after a transposed convolution: (n - 1) s - 2 p + d (k - 1) + o + 1."""
    return _some(
        (n - 1) * s - 2 * p + d * (k - 1) + o + 1
        for n, k, s, p, o, d in zip(spatial, kernel, stride, padding, output_padding, dilation, strict=True)
    )


def pooled(spatial: Shape, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, *, ceil_mode: bool) -> Shape:
    """Spatial size after a pool; with `ceil_mode` it is rounded up, unless the last window began in the padding."""
    sizes = []
    for n, k, s, p, d in zip(spatial, kernel, stride, padding, dilation, strict=True):
        size = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
        sizes.append(size - 1 if ceil_mode and (size - 1) * s >= n + p else size)
    return _some(sizes)


def adapted(spatial: Shape, wanted: int | Sequence[int | None] | None) -> Shape:
    """Spatial size after an adaptive pool: what is wanted; None keeps what is there."""
    sizes = [wanted] * len(spatial) if wanted is None or isinstance(wanted, int) else list(wanted)
    return tuple(n if size is None else size for n, size in zip(spatial, sizes, strict=True))


def multiplied(left: Shape, right: Shape) -> Shape:
    """Shape of a matrix product with torch's rules: vectors lose their dimension, leading dimensions broadcast."""
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    leading = zip_longest(reversed(left[:-2]), reversed(right[:-2]), fillvalue=1)
    return (*reversed([b if a == 1 else a for a, b in leading]), *rows, *columns)


def broadcast(*shapes: Shape) -> Shape:
    """The shape that all of them broadcast to; torch's own function loads sympy."""
    first = shapes[0]
    return first if all(shape == first for shape in shapes) else tuple(np.broadcast_shapes(*shapes))


def _some(sizes: Iterable[int]) -> Shape:
    """The sizes, none of which may be nothing: torch refuses such a layer when it runs."""
    found = tuple(sizes)
    if any(size < 1 for size in found):
        message = f"the input is too small: the output would have the spatial size {list(found)}"
        raise ValueError(message)
    return found
