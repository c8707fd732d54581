"""A submitted graph run on abstract values, node by node, against what the original has.

What a node makes is a value whose meaning is exact, or `UNKNOWN` with a finding that names the node. Affine values
become the original's tensors again where something other than tiles uses them: that is where they are compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._onnx.problems import ModelError
from .budget import Budget, OverBudgetError
from .constants import sizes, split_constant
from .findings import Finding
from .graph import MULTIPLIES, STANDARD, attributes_of, has_graphs, kind_of, live_and_dead, name_of
from .moves import MOVES, concat, split
from .numbers import operator_key
from .products import Products
from .rest import of_the_rest
from .settlement import Settlement
from .simple import constant_of, simple
from .sums import add, reduce_sum, scaled, subtract, times
from .values import (
    UNKNOWN,
    Affine,
    Opaque,
    OutsideError,
    Stack,
    Unknown,
    Value,
    WrongError,
    as_affine,
    shape_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import onnx

    from .original import Original
    from .read import Model

_DEEPEST = 16
# What a damaged graph makes numpy and ONNX's helpers raise. Whatever it is, the graph is not proved by it.
_UNFORESEEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, MemoryError, RecursionError)
_SUMS = frozenset({"Add", "Sum", "Sub", "Neg", "Mul", "Concat"})
Scope = dict[str, Value]


class Machine:
    """One run of a submitted graph."""

    def __init__(self, model: Model, original: Original, limit: int, declared: frozenset[str]) -> None:
        self.findings: list[Finding] = []
        self.dead: dict[str, int] = {}
        self._model = model
        self._original = original
        self._declared = declared
        self._budget = Budget(original.layers.products(limit))
        self.products = Products(self._budget)
        self.settlement = Settlement(original, self.products, self._budget)
        self._bodies: dict[int, list[onnx.NodeProto]] = {}
        self._calling = ""
        self.unsized = 0  # products of operands of which nothing is known: they count, their sizes are not known

    def run(self, inputs: Scope) -> Scope:
        """All live nodes of the graph; the values of its tensors. Findings are collected, not raised."""
        scope = dict(inputs)
        outputs = [output.name for output in self._model.graph.output]
        try:
            for node in self._live(self._model.graph.node, outputs):
                self._node(node, scope, self._model.opset, 0)
        except OverBudgetError as error:
            self.findings.append(Finding(kind="outside", says=str(error), certain=False))
        return scope

    def value(self, name: str, scope: Scope) -> Value:
        """The value of a tensor.

        Raises:
            WrongError: nothing makes it.
        """
        if not name:
            return None
        if name in scope:
            return scope[name]
        constant = self._model.initializer(name)
        if constant is None:
            message = f"the tensor '{name}' is used, but nothing before makes it"
            raise WrongError(message)
        return constant

    def _live(self, nodes: Sequence[onnx.NodeProto], outputs: Iterable[str]) -> list[onnx.NodeProto]:
        live, dead = live_and_dead(nodes, outputs)
        for node in dead:
            if node.op_type in MULTIPLIES or self._is_declared(node) or node.domain not in STANDARD:
                kind = kind_of(node)
                self.dead[kind] = self.dead.get(kind, 0) + 1
        return live

    def _is_declared(self, node: onnx.NodeProto) -> bool:
        return node.op_type in self._declared or kind_of(node) in self._declared

    def _is_product(self, node: onnx.NodeProto) -> bool:
        return self._is_declared(node) or (node.op_type in ("MatMul", "Gemm") and node.domain in STANDARD)

    def _node(self, node: onnx.NodeProto, scope: Scope, version: int, depth: int) -> None:
        self._budget.spend(steps=1)
        operands: list[Value] = []
        before = len(self.products.all)
        try:
            operands = [self.value(name, scope) for name in node.input]
            if any(isinstance(operand, Unknown) for operand in operands):
                self.unsized += self._is_product(node)
                made: Sequence[Value] = [UNKNOWN] * len(node.output)
            else:
                made = self._made(node, operands, version, depth)
        except OverBudgetError:
            raise
        except OutsideError as error:
            self.unsized += self._is_product(node) and len(self.products.all) == before
            made = self._give_up(node, str(error), operands)
        except (WrongError, ModelError) as error:
            self._add("invalid", node, f"node '{name_of(node)}' ({kind_of(node)}): {error}")
            made = [UNKNOWN] * len(node.output)
        except _UNFORESEEN as error:
            made = self._give_up(node, f"{type(error).__name__}: {error}", operands)
        for name, value in zip(node.output, made, strict=False):
            scope[name] = value

    def _give_up(self, node: onnx.NodeProto, why: str, operands: Sequence[Value]) -> list[Value]:
        shapes = ", ".join("x".join(map(str, shape_of(o) or ())) or "a number" for o in operands if o is not None)
        says = f"node '{name_of(node)}' ({kind_of(node)} of {shapes}) is outside what can be proved: {why}"
        self._add("outside", node, says, certain=False)
        return [UNKNOWN] * len(node.output)

    def _add(self, kind: Any, node: onnx.NodeProto, says: str, *, certain: bool = True) -> None:
        self.findings.append(Finding(kind=kind, says=says, certain=certain, node=name_of(node)))

    def _made(self, node: onnx.NodeProto, operands: list[Value], version: int, depth: int) -> Sequence[Value]:
        declared = self._is_declared(node) and not node.attribute
        op = "MatMul" if declared else node.op_type
        function = self._model.functions.get((node.domain, node.op_type))
        if function is not None:
            return self._call(function, node, operands, version, depth)
        if not declared and node.domain not in STANDARD:
            message = "nothing says what this operator does"
            raise OutsideError(message)
        if has_graphs(node):
            message = "it holds graphs of its own"
            raise OutsideError(message)
        attributes = attributes_of(node)
        if None in attributes.values():
            message = "it takes an attribute from the function that it stands in"
            raise OutsideError(message)
        if op == "Constant":
            return [constant_of(node, attributes, self._model)]
        found = simple(op, operands, attributes, version, self._original.numbers, self._budget)
        if found is not None:
            return [found]
        return self._computed(node, op, operands, attributes, version)

    def _call(
        self, function: onnx.FunctionProto, node: onnx.NodeProto, operands: list[Value], version: int, depth: int
    ) -> list[Value]:
        """A model-local function: its nodes, run with the call's operands."""
        if depth >= _DEEPEST or node.attribute:
            message = "it calls functions too deep" if not node.attribute else "its function takes attributes"
            raise OutsideError(message)
        key = id(function)
        if key not in self._bodies:
            self._bodies[key] = self._live(function.node, function.output)
        opset = next((each.version for each in function.opset_import if each.domain in STANDARD), version)
        scope: Scope = dict(zip(function.input, operands, strict=False))
        scope |= dict.fromkeys(list(function.input)[len(operands) :])
        outer, self._calling = self._calling, self._calling or name_of(node)
        for inner in self._bodies[key]:
            self._node(inner, scope, opset, depth + 1)
        self._calling = outer
        return [scope.get(name, UNKNOWN) for name in function.output]

    def _computed(
        self, node: onnx.NodeProto, op: str, operands: list[Value], attributes: Mapping[str, Any], version: int
    ) -> Sequence[Value]:
        unsettled = operands
        operands = [self.settlement.settled(operand) for operand in operands]
        known = self._known(node, op, operands, attributes, version)
        if known is not None:
            return known
        name = self._calling or name_of(node)
        if op in ("MatMul", "Gemm"):
            operands = [self._input_of_layer(operand, name) for operand in operands[:2]] + operands[2:]
            if op == "Gemm":
                return [self.products.gemm(operands, attributes, name)]
            return [self._matmul(operands, name, kind_of(node))]
        if op == "Split" and isinstance(operands[0], np.ndarray):
            return split_constant(operands, attributes, len(node.output), version)
        if any(isinstance(as_affine(operand), (Affine, Stack)) for operand in operands):
            if op in _SUMS:
                operands = unsettled  # a layer without its bias is still a sum of tiles to which the bias may come
            made = self._of_tiles(op, operands, attributes, len(node.output), version)
            if made is not None:
                return made
        return self._opaque(node, op, operands, attributes, version)

    def _matmul(self, operands: list[Value], name: str, kind: str) -> Value:
        if len(operands) != 2:  # noqa: PLR2004 - a MatMul
            message = f"it has {len(operands)} operands"
            raise OutsideError(message)
        return self.products.matmul(operands[0], operands[1], name, kind)

    def _of_tiles(
        self, op: str, operands: list[Value], attributes: Mapping[str, Any], outputs: int, version: int
    ) -> Sequence[Value] | None:
        """What moves and adds parts of a layer; None for any other operator."""
        match op:
            case "Add" | "Sum":
                return [add(operands, self._budget)]
            case "Sub":
                return [subtract(operands, self._budget)]
            case "Neg":
                return [scaled(operands[0], -1.0)]
            case "Mul":
                return [times(operands)]
            case "Concat":
                return [concat(operands, attributes["axis"], self._budget)]
            case "ReduceSum":
                given = operands[1] if len(operands) > 1 else attributes.get("axes")
                axes = None if given is None else sizes(given, "axes")
                return [reduce_sum(operands[0], axes, bool(attributes.get("keepdims", 1)), self._budget)]
        first = as_affine(operands[0])
        if not isinstance(first, (Affine, Stack)):
            return None
        if op == "Split":
            return split(first, operands, attributes, outputs, version)
        return [MOVES[op](first, operands, attributes, self._budget)] if op in MOVES else None

    def _input_of_layer(self, value: Value, node: str) -> Value:
        """The operand of a product. One that holds products must be a whole layer of the original."""
        if isinstance(value, Affine) and any(piece.terms for piece in value.pieces):
            return self._demanded(value, node)
        return value

    def _demanded(self, value: Value, node: str) -> Value:
        settled, found = self.settlement.demanded(value, node)
        self.findings += found
        return settled

    def _known(
        self, node: onnx.NodeProto, op: str, operands: list[Value], attributes: Mapping[str, Any], version: int
    ) -> list[Value] | None:
        """The tensors that the original makes of these operands in this way; None where it has none."""
        if op not in self._original.operators:
            return None
        whole = [self.settlement.plain(operand) for operand in operands]
        first = next((o.number for o in whole if isinstance(o, Opaque)), -1)
        if (op, first) not in self._original.starts or any(isinstance(o, (Affine, Stack)) for o in whole):
            return None
        numbers = tuple(self.settlement.number(operand) for operand in whole)
        key = operator_key(op, version, attributes, numbers, len(node.output))
        found = [self._original.numbers.known((*key, place)) for place in range(len(node.output))]
        kept = [tensor for tensor, name in zip(found, node.output, strict=True) if name]
        return [tensor or UNKNOWN for tensor in found] if kept and all(kept) else None

    def _opaque(
        self, node: onnx.NodeProto, op: str, operands: list[Value], attributes: Mapping[str, Any], version: int
    ) -> list[Value]:
        """An operator outside the tiles, which the original must have, too."""
        if op not in self._original.operators and any(isinstance(o, (Affine, Stack)) for o in operands):
            # What an unknown operator makes of tiles may still come out right: they are not called wrong.
            message = "the original has no such operator, and this one uses parts of a layer"
            raise OutsideError(message)
        values = [self._demanded(operand, name_of(node)) for operand in operands]
        if any(isinstance(value, Unknown) for value in values):
            return [UNKNOWN] * len(node.output)
        again = self._known(node, op, values, attributes, version)
        if again is not None:
            return again
        numbers = [self.settlement.number(value) for value in values]
        constants = [number for number, value in zip(numbers, values, strict=True) if isinstance(value, np.ndarray)]
        self.findings.append(of_the_rest(self._original, node, attributes, numbers, constants))
        return [UNKNOWN] * len(node.output)
