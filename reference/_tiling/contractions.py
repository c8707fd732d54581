"""Einsum and Conv of activations and a constant, as the product of matrices that they are."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .values import Elements, OutsideError, Value, WrongError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .values import Array


class MatrixProducts(Protocol):
    """What counts products and makes them of elements."""

    @property
    def limit(self) -> int: ...
    def ids(self, value: Value) -> Array: ...
    def stacked_product(self, data: Array, weight: Array, node: str, kind: str) -> Array: ...


def einsum_as_product(ops: MatrixProducts, operands: list[Value], attributes: Mapping[str, Any], node: str) -> Value:
    """Einsum of activations and one constant: labels of both that are left out of the result are summed over.

    Labels of both that stay stack products, and so do labels of one before its last where the product is too large.

    Raises:
        OutsideError: an ellipsis, a label twice, other operands, or a sum over one operand alone.
        WrongError: sizes do not fit.
    """
    labels, out = _equation(attributes["equation"].decode().replace(" ", ""), len(operands))
    if len(operands) == 1:
        return _summed(ops.ids(operands[0]), labels[0], out)
    constants = [place for place, operand in enumerate(operands) if isinstance(operand, np.ndarray)]
    if len(operands) != 2 or len(constants) != 1:  # noqa: PLR2004 - one is the activations
        message = "it multiplies two activations" if not constants else "it multiplies constants"
        raise OutsideError(message)
    weight, data = np.asarray(operands[constants[0]]), ops.ids(operands[1 - constants[0]])
    of_weight, of_data = labels[constants[0]], labels[1 - constants[0]]
    sizes = _sizes(((of_weight, weight.shape), (of_data, data.shape)))
    stacked = [label for label in of_data if label in of_weight and label in out]
    summed = [label for label in of_data if label in of_weight and label not in out]
    rows = [label for label in of_data if label not in of_weight]
    columns = [label for label in of_weight if label not in of_data]
    if any(sizes[label] > 1 for label in (*rows, *columns) if label not in out):
        message = "it sums over a dimension of one operand alone"
        raise OutsideError(message)
    lines, down = _cut(rows, sizes, ops.limit)
    blocks, across = _cut(columns, sizes, ops.limit)
    count, p, m, q, n, depth = (_size(group, sizes) for group in (stacked, lines, down, blocks, across, summed))
    matrix = data.transpose([of_data.index(label) for label in (*stacked, *lines, *down, *summed)])
    tile = weight.transpose([of_weight.index(label) for label in (*stacked, *blocks, *summed, *across)])
    matrices = np.broadcast_to(matrix.reshape(count, p, 1, m, depth), (count, p, q, m, depth))
    tiles = tile.reshape(count, 1, q, depth, n)
    tiles = np.broadcast_to(tiles, (count, p if count * q > 1 else 1, q, depth, n))
    tiles = tiles.reshape(math.prod(tiles.shape[:3]), depth, n)
    made = ops.stacked_product(matrices.reshape(count * p * q, m, depth), tiles, node, "Einsum")
    ordered = [label for label in (*stacked, *lines, *blocks, *down, *across) if label in out]
    made = made.reshape([sizes[label] for label in ordered])
    return Elements(made.transpose([ordered.index(label) for label in out]))


def _size(labels: Sequence[str], sizes: Mapping[str, int]) -> int:
    return math.prod(sizes[label] for label in labels)


def _cut(labels: list[str], sizes: Mapping[str, int], limit: int) -> tuple[list[str], list[str]]:
    """The labels that stack products, and those of one product; none stack where all fit."""
    return ([], labels) if _size(labels, sizes) <= limit else (labels[:-1], labels[-1:])


def _equation(equation: str, operands: int) -> tuple[list[str], str]:
    """The labels of each operand, and those of the result."""
    taken, arrow, out = equation.partition("->")
    labels = taken.split(",")
    if not arrow:
        every = "".join(labels)
        out = "".join(sorted(label for label in set(every) if every.count(label) == 1))
    if "." in equation or len(labels) != operands or any(len(set(each)) != len(each) for each in (*labels, out)):
        message = f"its equation is {equation}"
        raise OutsideError(message)
    return labels, out


def _sizes(operands: tuple[tuple[str, tuple[int, ...]], ...]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for labels, shape in operands:
        if len(labels) != len(shape):
            message = f"its equation has {len(labels)} labels for {len(shape)} dimensions"
            raise WrongError(message)
        for label, size in zip(labels, shape, strict=True):
            if sizes.setdefault(label, size) != size:
                message = f"its label {label} stands for {sizes[label]} and {size}"
                raise WrongError(message)
    return sizes


def _summed(data: Array, labels: str, out: str) -> Value:
    if sorted(labels) != sorted(out) or not out:
        message = "it sums over a dimension"
        raise OutsideError(message)
    _sizes(((labels, data.shape),))
    return Elements(data.transpose([labels.index(label) for label in out]))


def conv_as_product(ops: MatrixProducts, operands: list[Value], attributes: Mapping[str, Any], node: str) -> Value:
    """Conv: every place of the kernel is a row of the input, [places, channels * kernel]; one product for each group.

    The bias is left to the caller: a Conv with one is a Conv and an Add.

    Raises:
        OutsideError: padding that is not given as numbers, no constant kernel.
        WrongError: sizes do not fit.
    """
    kernel, data, groups = operands[1], ops.ids(operands[0]), attributes.get("group", 1)
    if not isinstance(kernel, np.ndarray) or kernel.ndim < 3:  # noqa: PLR2004 - channels, and one dimension
        message = "it is no Conv with a constant kernel"
        raise OutsideError(message)
    if data.ndim != kernel.ndim or data.shape[1] != kernel.shape[1] * groups or kernel.shape[0] % groups:
        message = f"its input is {list(data.shape)}, its kernel {list(kernel.shape)}, its groups {groups}"
        raise WrongError(message)
    windows = _windows(data, kernel, attributes)
    batch, counts = data.shape[0], windows.shape[3:]
    grouped = windows.reshape(batch, groups, kernel.shape[1], windows.shape[2], -1)
    rows = grouped.transpose(1, 0, 4, 2, 3).reshape(groups, -1, kernel[0].size)  # group, batch and places, depth
    weight = kernel.reshape(groups, -1, kernel[0].size).swapaxes(1, 2)
    made = ops.stacked_product(rows, weight, node, "Conv")  # group, batch and places, channels
    shaped = made.reshape(groups, batch, -1, weight.shape[2]).transpose(1, 0, 3, 2)
    return Elements(shaped.reshape(batch, kernel.shape[0], *counts))


def _windows(data: Array, kernel: Array, attributes: Mapping[str, Any]) -> Array:
    """What the kernel sees: [batch, channels, places in the kernel, places of the result...]."""
    axes = kernel.ndim - 2
    pads = list(attributes.get("pads", [0] * 2 * axes))
    named = attributes.get("auto_pad", b"NOTSET")
    if named not in (b"NOTSET", b"VALID") or min(pads, default=0) < 0 or max(pads, default=0) > max(kernel.shape[2:]):
        message = "its padding"
        raise OutsideError(message)
    strides, dilations = attributes.get("strides", [1] * axes), attributes.get("dilations", [1] * axes)
    wide = np.pad(data, [(0, 0), (0, 0), *zip(pads[:axes], pads[axes:], strict=True)])
    counts = [
        (wide.shape[2 + axis] - dilations[axis] * (kernel.shape[2 + axis] - 1) - 1) // strides[axis] + 1
        for axis in range(axes)
    ]
    if min(counts) < 1:
        message = "its kernel is larger than its input"
        raise WrongError(message)
    windows = []
    for place in itertools.product(*(range(size) for size in kernel.shape[2:])):
        cut = [
            slice(at * dilation, at * dilation + stride * (count - 1) + 1, stride)
            for at, dilation, stride, count in zip(place, dilations, strides, counts, strict=True)
        ]
        windows.append(wide[(slice(None), slice(None), *cut)])
    return np.stack(windows, axis=2)
