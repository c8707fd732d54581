"""Einsum and Conv of activations and a constant, as the product of matrices that they are."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .values import Elements, OutsideError, Value, WrongError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .values import Array


class MatrixProducts(Protocol):
    """What counts products and makes them of elements."""

    def ids(self, value: Value) -> Array: ...
    def matrix_product(self, rows: Array, weight: Array, node: str, kind: str, batch: int = 1) -> Array: ...


def einsum_as_product(ops: MatrixProducts, operands: list[Value], attributes: Mapping[str, Any], node: str) -> Value:
    """Einsum of activations and one constant: labels of both that are left out of the result are summed over.

    Raises:
        OutsideError: an ellipsis, a label twice, other operands, or many products at once.
        WrongError: sizes do not fit.
    """
    equation = attributes["equation"].decode().replace(" ", "")
    taken, arrow, out = equation.partition("->")
    labels = taken.split(",")
    if not arrow:
        every = "".join(labels)
        out = "".join(sorted(label for label in set(every) if every.count(label) == 1))
    if "." in equation or len(labels) != len(operands) or any(len(set(each)) != len(each) for each in (*labels, out)):
        message = f"its equation is {equation}"
        raise OutsideError(message)
    if len(operands) == 1:
        return _summed(ops.ids(operands[0]), labels[0], out)
    constants = [place for place, operand in enumerate(operands) if isinstance(operand, np.ndarray)]
    if len(operands) != 2 or len(constants) != 1:  # noqa: PLR2004 - one is the activations
        message = "it multiplies two activations" if not constants else "it multiplies constants"
        raise OutsideError(message)
    weight, data = np.asarray(operands[constants[0]]), ops.ids(operands[1 - constants[0]])
    of_weight, of_data = labels[constants[0]], labels[1 - constants[0]]
    sizes = _sizes(((of_weight, weight.shape), (of_data, data.shape)))
    both = [label for label in of_data if label in of_weight]
    batch = [label for label in both if label in out]
    lost = [label for label in of_data + of_weight if label not in out and label not in both]
    if any(sizes[label] > 1 for label in (*batch, *lost)):
        message = "it does many products at once" if batch else "it sums over a dimension of one operand alone"
        raise OutsideError(message)
    summed = [label for label in both if label not in batch]
    rows = [label for label in of_data if label in out and label not in batch]
    columns = [label for label in of_weight if label in out and label not in batch]
    matrix = data.transpose([of_data.index(label) for label in (*batch, *lost_of(lost, of_data), *rows, *summed)])
    tile = weight.transpose(
        [of_weight.index(label) for label in (*batch, *lost_of(lost, of_weight), *summed, *columns)]
    )
    depth = int(np.prod([sizes[label] for label in summed], dtype=object))
    made = ops.matrix_product(matrix.reshape(-1, depth), tile.reshape(depth, -1), node, "Einsum")
    ordered = [*batch, *rows, *columns]
    made = made.reshape([sizes[label] for label in ordered])
    return Elements(made.transpose([ordered.index(label) for label in out]))


def lost_of(lost: list[str], labels: str) -> list[str]:
    """The labels of size one that an operand has and the result has not."""
    return [label for label in lost if label in labels]


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
    """Conv of one group: every place of the kernel is a row of the input, [places, channels * kernel].

    The bias is left to the caller: a Conv with one is a Conv and an Add.

    Raises:
        OutsideError: more groups, padding that is not given as numbers, no constant kernel.
    """
    kernel, data = operands[1], ops.ids(operands[0])
    named = attributes.get("auto_pad", b"NOTSET")
    if not isinstance(kernel, np.ndarray) or kernel.ndim < 3 or attributes.get("group", 1) != 1:  # noqa: PLR2004
        message = "it is no Conv of one group with a constant kernel"
        raise OutsideError(message)
    axes = kernel.ndim - 2
    if data.ndim != kernel.ndim or data.shape[1] != kernel.shape[1]:
        message = f"its input is {list(data.shape)}, its kernel {list(kernel.shape)}"
        raise WrongError(message)
    pads = list(attributes.get("pads", [0] * 2 * axes))
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
    stacked = np.stack(windows, axis=2)  # batch, channels, kernel, places
    rows = np.moveaxis(stacked.reshape(*stacked.shape[:3], -1), 3, 1)  # batch, places, channels, kernel
    depth = rows.shape[2] * rows.shape[3]
    weight = kernel.reshape(kernel.shape[0], depth).T
    made = ops.matrix_product(rows.reshape(-1, depth), weight, node, "Conv")
    shaped = made.reshape(rows.shape[0], rows.shape[1], kernel.shape[0])
    return Elements(np.moveaxis(shaped, 2, 1).reshape(rows.shape[0], kernel.shape[0], *counts))
