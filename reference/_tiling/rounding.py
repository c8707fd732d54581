"""How large the terms are of which a model's outputs are sums: by those rounding is measured, not by what is left.

A sum whose terms cancel is small, and as inexact as they are large. In the largest element of each tensor: a product
adds the sum of the absolute values of its terms to what its input brings along, which goes through it as errors that
are independent of each other do, by the root of the sum of squares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from .runtimes import by_reference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from .values import Array

_PRODUCTS = frozenset({"MatMul", "Gemm", "Conv"})
CLOSE = 2e-6  # of the sum of the terms' absolute values; float32 in any order of summation stays ten times below
_SUMS = frozenset({"Add", "Sub", "Sum", "ReduceSum", "ReduceMean", "AveragePool", "GlobalAveragePool"})


def sizes_of_terms(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> dict[str, float]:
    """For each tensor of a model's graph, run on these inputs, how large the terms are that it is made of."""
    values = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    values |= by_reference(model, feeds, frozenset(), quickly=True)
    sizes: dict[str, float] = {}
    for node in model.graph.node:
        brought = [sizes.get(name, 0.0) for name in node.input]
        given = [values[name] for name in node.input if name]
        if node.op_type in _PRODUCTS:
            size = _of_product(model, node, given, brought)
        elif node.op_type in _SUMS:
            size = sum(brought) + _applied(model, node, [_absolute(each) for each in given])
        else:
            size = sum(brought) + max((_largest(values[name]) for name in node.output if name in values), default=0.0)
        sizes |= dict.fromkeys(node.output, size)
    return sizes


def size_of_terms(model: onnx.ModelProto, node: onnx.NodeProto, values: Mapping[str, Array]) -> float:
    """How large the terms are of which a node by itself makes its largest element; 0 where it adds up nothing."""
    if node.op_type not in _PRODUCTS | _SUMS:
        return 0.0
    return _applied(model, node, [_absolute(values[name]) for name in node.input if name])


def _of_product(
    model: onnx.ModelProto, node: onnx.NodeProto, given: Sequence[Array], brought: Sequence[float]
) -> float:
    left, right, *bias = [_absolute(each) for each in given]
    size = _applied(model, node, [left, right, *bias])
    none = [np.zeros_like(each) for each in bias]
    for own, squares in (
        (brought[0], [np.ones_like(left), np.square(right), *none]),
        (brought[1], [np.square(left), np.ones_like(right), *none]),
    ):
        size += own * float(np.sqrt(_applied(model, node, squares))) if own else 0.0
    return size + sum(brought[2:])


def _applied(model: onnx.ModelProto, node: onnx.NodeProto, given: Sequence[Array]) -> float:
    """The largest value that a node by itself makes of what it is given; a difference is taken for a sum."""
    alone = type(node)()
    alone.CopyFrom(node)
    alone.op_type = "Add" if node.op_type == "Sub" else node.op_type
    names = [name for name in node.input if name]
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
        for name, each in zip(dict.fromkeys(names), given, strict=False)
    ]
    outputs = [helper.make_tensor_value_info(node.output[0], TensorProto.UNDEFINED, None)]
    graph = helper.make_graph([alone], "alone", inputs, outputs)
    made = by_reference(
        helper.make_model(graph, opset_imports=model.opset_import),
        dict(zip(names, given, strict=True)),
        frozenset(),
        quickly=True,
    )
    return _largest(made[node.output[0]])


def _absolute(value: Array) -> Array:
    return np.abs(value) if value.dtype.kind == "f" else value


def _largest(value: Array) -> float:
    return (
        float(np.max(np.abs(value), initial=0.0)) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else 0.0
    )
