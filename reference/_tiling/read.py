"""A file as the proof sees it: nodes, functions, and values that are read when they are needed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .._onnx.problems import ModelError
from .._onnx.weights import Weights
from .budget import LARGEST
from .graph import STANDARD
from .values import OutsideError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import onnx

    from .values import Array, Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A graph input that the caller gives; a dimension may be a number, a name, or unknown (an empty name)."""

    name: str
    data_type: int
    shape: tuple[int | str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A file: its graph, its model-local functions, and its weights, which stay in the file."""

    graph: onnx.GraphProto
    functions: Mapping[tuple[str, str], onnx.FunctionProto]
    opset: int
    inputs: tuple[Input, ...]
    initializers: Mapping[str, onnx.TensorProto]
    sparse: Mapping[str, onnx.SparseTensorProto]
    weights: Weights
    _read: dict[str, Array] = field(default_factory=dict)

    def initializer(self, name: str) -> Array | None:
        """The value of an initializer; None where there is none of that name.

        Raises:
            ModelError: it can't be read.
            OutsideError: it is sparse, and too large to be filled in.
        """
        if name not in self._read:
            tensor = self.initializers.get(name)
            if tensor is not None:
                self._read[name] = self.weights.array(tensor)
            elif name in self.sparse:
                self._read[name] = self.dense(self.sparse[name])
            else:
                return None
        return self._read[name]

    def array(self, tensor: onnx.TensorProto) -> Array:
        """The value of a tensor that stands in a node.

        Raises:
            ModelError: it can't be read.
        """
        return self.weights.array(tensor)

    def dense(self, sparse: onnx.SparseTensorProto) -> Array:
        """A sparse tensor with its zeros; indices count elements, or are one for each dimension.

        Raises:
            ModelError: it can't be read, or its indices lie outside.
            OutsideError: it is too large to be filled in.
        """
        values, places = self.weights.array(sparse.values), self.weights.array(sparse.indices)
        shape = tuple(sparse.dims)
        size = math.prod(shape)
        if not 0 <= size * values.itemsize <= LARGEST:
            message = f"its sparse tensor '{sparse.values.name}' is too large"
            raise OutsideError(message)
        made = np.zeros(size, values.dtype)
        try:
            made[places if places.ndim == 1 else np.ravel_multi_index(tuple(places.T), shape)] = values
        except (IndexError, ValueError) as error:
            message = f"the sparse tensor '{sparse.values.name}' can't be read: {error}"
            raise ModelError(message) from None
        return made.reshape(shape)


def read(path: Path) -> Model:
    """Read a file.

    Raises:
        ModelError: it is no ONNX model, or says a thing twice.
    """
    weights = Weights(path)
    graph = weights.model.graph
    initializers = {tensor.name: tensor for tensor in graph.initializer}
    sparse = {each.values.name: each for each in graph.sparse_initializer}
    given = {*initializers, *sparse}
    if len(given) != len(graph.initializer) + len(graph.sparse_initializer):
        message = "two initializers have the same name"
        raise ModelError(message)
    opsets = {each.domain: each.version for each in weights.model.opset_import}
    return Model(
        graph=graph,
        functions=_functions(weights.model),
        opset=opsets.get("", opsets.get("ai.onnx", 0)),
        inputs=tuple(_input(each) for each in graph.input if each.name not in given),
        initializers=initializers,
        sparse=sparse,
        weights=weights,
    )


def _functions(model: onnx.ModelProto) -> Mapping[tuple[str, str], onnx.FunctionProto]:
    found: dict[tuple[str, str], onnx.FunctionProto] = {}
    for function in model.functions:
        key = (function.domain, function.name)
        if function.domain in STANDARD:
            message = f"the function '{function.name}' redefines an operator of ONNX"
            raise ModelError(message)
        if key in found:
            message = f"the function '{function.domain}::{function.name}' is defined twice"
            raise ModelError(message)
        found[key] = function
    return found


def _input(info: onnx.ValueInfoProto) -> Input:
    declared = info.type.tensor_type
    shape = tuple(d.dim_value if d.HasField("dim_value") else d.dim_param for d in declared.shape.dim)
    return Input(name=info.name, data_type=declared.elem_type, shape=shape)


def bound(given: Input, wanted: Shape) -> bool:
    """Whether the input can take a tensor of this shape: a name stands for any size, the same one each time."""
    if len(given.shape) != len(wanted):
        return False
    sizes: dict[str, int] = {}
    for dim, size in zip(given.shape, wanted, strict=True):
        fits = dim == size if isinstance(dim, int) else not dim or sizes.setdefault(dim, size) == size
        if not fits:
            return False
    return True
