"""The original: its linear layers, and the numbers of everything else.

An original that the proof does not cover proves nothing: that is an OriginalError, and its author's to mend.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .._onnx.problems import ModelError
from .._onnx.run import run
from .budget import Budget
from .graph import STANDARD, attributes_of, kind_of, name_of, protos_of
from .layers import Layer, Layers
from .numbers import Key, Numbers, operator_key
from .read import Model, read
from .rewrites import rewritten
from .trivial_ops import constant_of, simple
from .values import Array, Opaque, OutsideError, Shape, Value, WrongError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import onnx

_MOST_PRODUCTS = 1 << 20


class OriginalError(Exception):
    """The original is no file that anything can be proved equal to. Not a student's doing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A node of the original outside its linear layers."""

    name: str
    op: str
    attributes: Mapping[str, Any]
    operands: tuple[int, ...]
    constants: tuple[int, ...]
    number: int = -1  # of its first output


@dataclass(slots=True)
class Original:
    """What a submitted graph is compared with. `inputs` are bound to sizes, `outputs` are value numbers."""

    numbers: Numbers = field(default_factory=Numbers)
    layers: Layers = field(default_factory=Layers)
    inputs: list[tuple[str, int, Opaque]] = field(default_factory=list)
    outputs: list[tuple[str, int]] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    starts: set[tuple[str, int]] = field(default_factory=set)
    operators: set[str] = field(default_factory=set)

    def base(self, number: int) -> int:
        """The tensor of which this one is only another shape; itself where it is none."""
        return self.numbers.unshaped(number, self.numbers.shape(number) or ())[0]

    def elementwise(self, op: str, attributes: Mapping[str, Any], version: int, number: int) -> int | None:
        """What an operator on each element makes of a tensor, in whatever shape the original has it there."""
        for each in self.operations:
            if op == each.op == "Relu" and self.base(each.number) == number:
                return each.number  # what is not negative stays so
            if each.op == op and len(each.operands) == 1 and self.base(each.operands[0]) == number:
                known = self.numbers.known((*operator_key(op, version, attributes, each.operands, 1), 0))
                if known is not None:
                    return known.number
        return None


def read_original(path: Path, shape: Shape | None) -> Original:
    """Read the original, its open dimensions bound by the shape of its input.

    Raises:
        OriginalError: it can't be read, or the proof does not cover it; names the node.
    """
    try:
        model = read(path)
        reader = _Reader(model, _shapes(path, shape))
    except ModelError as error:
        message = f"the original can't be read: {error}"
        raise OriginalError(message) from error
    for node in model.graph.node:
        try:
            reader.node(node)
        except (OutsideError, WrongError, ModelError) as error:
            message = f"the original is outside what can be proved: node '{name_of(node)}' ({kind_of(node)}): {error}"
            raise OriginalError(message) from error
    reader.finish()
    return reader.original


def _shapes(path: Path, shape: Shape | None) -> dict[str, Shape | None]:
    """The shape of every tensor that a node or the caller gives."""
    done = run(path, shape)
    known = {tensor.name: tensor.shape for tensor in done.inputs}
    known |= {tensor.name: tensor.shape for step in done.steps for tensor in step.outputs}
    return known


class _Reader:
    def __init__(self, model: Model, shapes: dict[str, Shape | None]) -> None:
        self.original = Original()
        self._model = model
        self._shapes = shapes
        self._budget = Budget(_MOST_PRODUCTS)
        self._values: dict[str, Value] = {}
        for position, given in enumerate(model.inputs):
            shape = shapes[given.name]
            number = self.original.numbers.of(("input", position), given.name, shape)
            self._values[given.name] = Opaque(number, shape)
            self.original.inputs.append((given.name, given.data_type, Opaque(number, shape)))

    def finish(self) -> None:
        """Note the outputs; from here on a new number is a submission's own."""
        for output in self._model.graph.output:
            value = self._get(output.name)
            self.original.outputs.append((output.name, self._number(value)))
        self.original.numbers.closed = True

    def node(self, node: onnx.NodeProto) -> None:
        attributes: Mapping[str, Any] = attributes_of(node)
        if node.domain not in STANDARD:
            message = "an operator of a domain of its own"
            raise OutsideError(message)
        operands = [self._get(name) for name in node.input]
        if node.op_type == "Constant":
            self._values[node.output[0]] = constant_of(protos_of(node), attributes, self._model)
            return
        op, operands, attributes = rewritten(node.op_type, operands, attributes)
        version, count = self._model.opset, len(node.output)
        found = simple(op, operands, attributes, version, count, self.original.numbers, self._budget)
        if found is None:
            linear = self._linear(node, op, operands, attributes)
            found = None if linear is None else [linear]
        if found is None:
            self._operation(node, op, operands, attributes)
        else:
            self._values.update(zip(node.output, found, strict=False))

    def _get(self, name: str) -> Value:
        if not name:
            return None
        if name in self._values:
            return self._values[name]
        value = self._model.initializer(name)
        if value is None:
            message = f"the tensor '{name}' is used before it is made"
            raise OutsideError(message)
        self._values[name] = value
        return value

    def _number(self, value: Value) -> int:
        if isinstance(value, Opaque):
            return value.number
        return -1 if value is None else self.original.numbers.of_constant(cast("Array", value))

    def _operation(self, node: onnx.NodeProto, op: str, operands: list[Value], attributes: Mapping[str, Any]) -> None:
        numbers = tuple(self._number(value) for value in operands)
        constants = tuple(n for n, v in zip(numbers, operands, strict=True) if isinstance(v, np.ndarray))
        key = operator_key(op, self._model.opset, attributes, numbers, len(node.output))
        first = next((n for n, v in zip(numbers, operands, strict=True) if not isinstance(v, np.ndarray)), -1)
        self.original.starts.add((op, first))
        self.original.operators.add(op)
        made = [self._new((*key, place), name, short_name(node)) for place, name in enumerate(node.output)]
        self._values.update({name: value for name, value in zip(node.output, made, strict=True) if name})
        self.original.operations.append(
            Operation(
                name=name_of(node), op=op, attributes=attributes, operands=numbers, constants=constants,
                number=made[0].number if made else -1,
            )
        )  # fmt: skip
        if op == "Add":
            self._with_bias(node, operands)

    def _new(self, key: Key, tensor: str, name: str) -> Opaque:
        shape = self._shapes.get(tensor)
        return Opaque(self.original.numbers.of(key, name, shape), shape)

    def _linear(self, node: onnx.NodeProto, op: str, operands: list[Value], attributes: Mapping[str, Any]) -> Value:
        """The result of a linear layer: MatMul or Gemm of an activation and a constant weight."""
        if op not in ("MatMul", "Gemm") or not isinstance(operands[1], np.ndarray):
            return None
        data, weight = operands[0], operands[1]
        shape = data.shape if isinstance(data, Opaque) else None
        plain = attributes.get("alpha", 1.0) == attributes.get("beta", 1.0) == 1.0 and not attributes.get("transA")
        if not isinstance(data, Opaque) or shape is None or len(shape) != 2 or weight.ndim != 2 or not plain:  # noqa: PLR2004 - matrices
            message = f"a linear layer of shapes {list(shape or ())} and {list(weight.shape)}, or with factors"
            raise OutsideError(message)
        weight = weight.T if attributes.get("transB") else weight
        bias = operands[2] if len(operands) > 2 else None  # noqa: PLR2004
        key: Key = ("linear", data.number, len(self.original.layers.all))
        result = self._new(key, node.output[0], short_name(node))
        sizes = (shape[0], *weight.shape)
        self._add(short_name(node), (result.number, data.number), sizes, weight, bias, counted=True)
        return Opaque(result.number, (shape[0], weight.shape[1]))

    def _with_bias(self, node: onnx.NodeProto, operands: list[Value]) -> None:
        """A bias that is added in a node of its own: the layer can be read without it and with it."""
        constant = next((value for value in operands if isinstance(value, np.ndarray)), None)
        data = next((value for value in operands if isinstance(value, Opaque)), None)
        bare = self.original.layers.without_bias(data.number) if data is not None else None
        if constant is None or bare is None or constant.shape not in ((), (1,), (bare.columns,), (1, bare.columns)):
            return
        result = cast("Opaque", self._values[node.output[0]])
        sizes = (bare.rows, bare.depth, bare.columns)
        weight = cast("Array", bare.weight)
        self._add(short_name(node), (result.number, bare.root), sizes, weight, constant, counted=False)

    def _add(
        self,
        name: str,
        numbers: tuple[int, int],
        sizes: tuple[int, ...],
        weight: Array,
        bias: Value,
        *,
        counted: bool,
    ) -> None:
        (number, root), (rows, depth, columns) = numbers, sizes
        flat = None
        if bias is not None:
            if not isinstance(bias, np.ndarray) or bias.shape not in ((), (1,), (columns,), (1, 1), (1, columns)):
                message = "a linear layer whose bias is no constant vector"
                raise OutsideError(message)
            flat = np.broadcast_to(bias.reshape(-1), (columns,))
        layer = Layer(
            name=name, number=number, root=root, rows=rows, depth=depth, columns=columns,
            weight=weight, bias=flat, counted=counted,
        )  # fmt: skip
        self.original.layers.add(layer)


def short_name(node: onnx.NodeProto) -> str:
    """What the layer is called in the network: `classifier.1` of `/classifier/classifier.1/Gemm`."""
    parts = [part for part in name_of(node).split("/") if part]
    if len(parts) > 1 and parts[-1].partition("_")[0] == node.op_type:
        parts = parts[:-1]
    return parts[-1] if parts else node.op_type
