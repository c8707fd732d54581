"""Sizes as most scripts take them: onnx's own shape inference, `dim_value` multiplied up."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from onnx import shape_inference

from .load import load
from .wire import size_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def sizes_by_inference(
    path: Path, input_shape: Sequence[int] | None, *, unknown: int = 0, shapeless: bool = True
) -> Mapping[str, int]:
    """The bytes of each tensor that onnx's inference finds, an open dimension counting as `unknown`.

    A shape that inference leaves out altogether is read as that of a scalar, if `shapeless` ones count. `input_shape`
    is written into the graph's input first, where one is given.
    """
    model = load(path)
    weights = {tensor.name for tensor in model.graph.initializer}
    for each in model.graph.input:
        dims = each.type.tensor_type.shape.dim
        if input_shape is not None and each.name not in weights and len(dims) == len(input_shape):
            for dim, size in zip(dims, input_shape, strict=True):
                dim.dim_value = size
    if input_shape is not None:
        for each in model.graph.output:
            each.type.tensor_type.ClearField("shape")
    graph = shape_inference.infer_shapes(model).graph
    sizes = {tensor.name: size_of(tensor.data_type, tuple(tensor.dims)) or 0 for tensor in graph.initializer}
    for each in (*graph.input, *graph.value_info, *graph.output):
        kind = each.type.tensor_type
        # One without a shape has one element, as a product over no dimensions.
        if each.name not in sizes and (shapeless or kind.HasField("shape")):
            elements = math.prod(dim.dim_value or unknown for dim in kind.shape.dim)
            sizes[each.name] = (size_of(kind.elem_type, (elements,)) or 0) if elements else 0
    return sizes


def has_open_input(path: Path) -> bool:
    """Whether a dimension of an input has no size: `dim_value` is 0 there."""
    graph = load(path).graph
    weights = {tensor.name for tensor in graph.initializer}
    return any(
        not dim.dim_value for each in graph.input if each.name not in weights for dim in each.type.tensor_type.shape.dim
    )
