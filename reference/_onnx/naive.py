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


def sizes_by_inference(path: Path, input_shape: Sequence[int] | None) -> Mapping[str, int]:
    """The bytes of each tensor that onnx's inference finds, an open dimension counting as 0.

    `input_shape` is written into the graph's input first, where one is given.
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
        if each.name not in sizes and kind.HasField("shape"):
            elements = math.prod(dim.dim_value for dim in kind.shape.dim)
            sizes[each.name] = (size_of(kind.elem_type, (elements,)) or 0) if elements else 0
    return sizes
