"""A linear layer of the student's own: only its sizes are given, its weights are what the file holds or takes.

Where the file holds one matrix of the layer's size, that is W, and every tile must come from its place in it. Where it
takes W as a second input, W stands for any matrix: it gets distinct random numbers, which a graph that only moves and
multiplies them can't tell from others. Where it holds only tiles, any tiles that cover the layer once are some W.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .layers import Layers
from .original import Original, OriginalError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .read import Model
    from .values import Array, Value


def with_own_weights(original: Original, model: Model) -> tuple[Original, dict[str, Value]]:
    """The original with the submitted graph's weights, and the weight where it is an input.

    Raises:
        OriginalError: the original is not one linear layer.
    """
    if len(original.layers.named_once()) != 1 or len(original.inputs) != 1:
        message = "the original is not one linear layer, so weights of one's own mean nothing"
        raise OriginalError(message)
    (layer,) = original.layers.named_once()
    number = original.outputs[0][1]
    given: dict[str, Value] = {}
    size = (layer.depth, layer.columns)
    second = model.inputs[1] if len(model.inputs) > 1 else None
    if second is not None and second.shape in (size, size[::-1]):
        symbols = _symbols(layer.depth * layer.columns).reshape([int(dim) for dim in second.shape])
        given[second.name] = symbols
        matrices = [symbols]
    else:
        matrices = list(_matrices(model, size))
    own = Layers()
    for weight in _readings(matrices, size) if len(matrices) == 1 else [None]:
        own.add(replace(layer, number=number, weight=weight, bias=None, any_bias=True, counted=not own.all))
    return replace(original, layers=own), given


def _matrices(model: Model, size: tuple[int, int]) -> Iterator[Array]:
    """The constants of the layer's size, as they are or transposed."""
    for name, tensor in model.initializers.items():
        if tuple(tensor.dims) in (size, size[::-1]):
            found = model.initializer(name)
            if found is not None:
                yield found
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and tuple(attribute.t.dims) in (size, size[::-1]):
                yield model.array(attribute.t)


def _readings(matrices: list[Array], size: tuple[int, int]) -> list[Array | None]:
    (matrix,) = matrices
    return [turned for turned in (matrix, matrix.T) if turned.shape == size]


def _symbols(count: int) -> Array:
    """Distinct float32 numbers in an order that no one can foresee; none is zero."""
    order = np.random.default_rng(secrets.randbits(64)).permutation(count)
    return (order + np.float32(1)).astype(np.float32)
