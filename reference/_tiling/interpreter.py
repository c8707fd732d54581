"""A submitted graph run on abstract values, node by node: functions, graphs inside of nodes, what is used and what not.

What a node makes is a value whose meaning is exact, or `UNKNOWN` with a finding that names the node. `evaluation.py`
knows the operators.
"""

from __future__ import annotations

from collections import ChainMap
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from .._onnx.problems import ModelError
from .budget import Budget, OverBudgetError
from .control import GRAPHS, SEQUENCES, run_graphs, run_sequence
from .evaluation import Evaluation
from .findings import ProofFinding
from .graph import MULTIPLIES, STANDARD, kind_of, live_and_dead, name_of, protos_of
from .trivial_ops import constant_of
from .values import UNKNOWN, OutsideError, Unknown, Value, WrongError, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, MutableMapping, Sequence

    import onnx

    from .original import Original
    from .read import Model

    Scope = MutableMapping[str, Value]

_DEEPEST = 16
# What a damaged graph makes numpy and ONNX's helpers raise. Whatever it is, the graph is not proved by it.
_UNFORESEEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, MemoryError, RuntimeError)


class Interpreter:
    """One run of a submitted graph."""

    def __init__(
        self, model: Model, original: Original, limit: int, declared: frozenset[str], *, has_symbols: bool = False
    ) -> None:
        self.findings: list[ProofFinding] = []
        self.dead: dict[str, int] = {}
        self._model = model
        self._declared = declared
        self.budget = Budget(original.layers.products(limit))
        self.budget.has_symbols = has_symbols
        self.evaluation = Evaluation(original, self.budget, self.findings, limit)
        self.products = self.evaluation.products
        self.settlement = self.evaluation.settlement
        self._bodies: dict[int, list[onnx.NodeProto]] = {}
        self._kept: list[onnx.GraphProto] = []  # so that the id of a graph stays its own
        self._calling = ""
        self._called: Mapping[str, onnx.AttributeProto] = {}
        self._version = model.opset
        self._aside: list[ProofFinding] = []
        self.unsized = 0  # products of operands of which nothing is known: they count, their sizes are not known

    def run(self, inputs: Scope) -> Scope:
        """All live nodes of the graph; the values of its tensors. Findings are collected, not raised."""
        scope = dict(inputs)
        outputs = [output.name for output in self._model.graph.output]
        live = self._live(self._model.graph.node, outputs)
        branches = any(node.op_type == "If" for node in live)
        needed = {id(node) for node in (live_and_dead(live, outputs, conditions=False)[0] if branches else live)}
        try:
            for node in live:
                if id(node) in needed:
                    self._node(node, scope, 0)
                else:
                    self._for_a_condition(node, scope)
        except OverBudgetError as error:
            self.findings.append(ProofFinding(kind="too large", says=str(error), certain=False))
        return scope

    def _for_a_condition(self, node: onnx.NodeProto, scope: Scope) -> None:
        """A node that only decides which branch is taken: what is found of it counts where the branches differ."""
        before = len(self.findings)
        self._node(node, scope, 0)
        self._aside += self.findings[before:]
        del self.findings[before:]

    def value(self, name: str, scope: Mapping[str, Value]) -> Value:
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

    def _node(self, node: onnx.NodeProto, scope: Scope, depth: int) -> None:
        self.budget.spend(steps=1)
        operands: list[Value] = []
        before = len(self.products.all)
        try:
            operands = [self.value(name, scope) for name in node.input]
            if any(isinstance(operand, Unknown) for operand in operands) and node.op_type != "If":
                self.unsized += self._is_product(node)
                made: Sequence[Value] = [UNKNOWN] * len(node.output)
            else:
                made = self._made(node, operands, scope, depth)
        except OverBudgetError:
            raise
        except OutsideError as error:
            self.unsized += self._is_product(node) and len(self.products.all) == before
            made = self._give_up(node, str(error), operands)
        except (WrongError, ModelError) as error:
            says = f"node '{name_of(node)}' ({kind_of(node)}): {error}"
            self.findings.append(ProofFinding(kind="invalid", says=says, node=name_of(node)))
            made = [UNKNOWN] * len(node.output)
        except _UNFORESEEN as error:
            made = self._give_up(node, f"{type(error).__name__}: {error}", operands)
        for name, value in zip(node.output, made, strict=False):
            scope[name] = value

    def _give_up(self, node: onnx.NodeProto, why: str, operands: Sequence[Value]) -> list[Value]:
        shapes = ", ".join("x".join(map(str, shape_of(o) or ())) or "a number" for o in operands if o is not None)
        says = f"node '{name_of(node)}' ({kind_of(node)} of {shapes}) is outside what can be proved: {why}"
        self.findings.append(ProofFinding(kind="outside", says=says, certain=False, node=name_of(node)))
        return [UNKNOWN] * len(node.output)

    def _made(self, node: onnx.NodeProto, operands: list[Value], scope: Scope, depth: int) -> Sequence[Value]:
        function = self._model.functions.get((node.domain, node.op_type))
        if function is not None:
            return self._call(function, node, operands, depth)
        protos = protos_of(node, self._called)
        attributes = {name: helper.get_attribute_value(each) for name, each in protos.items()}
        name = self._calling or name_of(node)
        if self._is_declared(node):
            return self.evaluation.declared_product(operands, attributes, name, kind_of(node))
        if node.domain not in STANDARD:
            message = "nothing says what this operator does"
            raise OutsideError(message)
        if node.op_type == "Constant":
            return [constant_of(protos, attributes, self._model)]
        if node.op_type in GRAPHS:
            return self._branched(node, operands, attributes, scope, depth)
        if node.op_type in SEQUENCES:
            return run_sequence(node.op_type, operands, attributes, self)
        return self.evaluation.made(node, operands, attributes, self._version, name)

    def _branched(
        self, node: onnx.NodeProto, operands: list[Value], attributes: Mapping[str, Any], scope: Scope, depth: int
    ) -> list[Value]:
        """An If, a Loop or a Scan. What was found of an If's condition counts where that decides."""
        before = len(self.findings)
        try:
            return run_graphs(node.op_type, operands, attributes, self, self._inside(scope, depth))
        except OutsideError:
            if node.op_type == "If":
                del self.findings[before:]  # what is wrong with a branch that may never be taken is no mistake
            self.findings += self._aside
            self._aside = []
            raise

    def _inside(self, scope: Scope, depth: int) -> Any:
        """What runs a graph inside of a node, which sees the tensors around it."""
        if depth >= _DEEPEST:
            message = "it nests graphs too deep"
            raise OutsideError(message)

        def run(graph: onnx.GraphProto, given: Mapping[str, Value]) -> list[Value]:
            self._none_hidden(graph, scope)
            own: dict[str, Value] = {tensor.name: self._model.array(tensor) for tensor in graph.initializer}
            inner: Scope = ChainMap({**own, **given}, scope)
            names = [output.name for output in graph.output]
            key = id(graph)
            if key not in self._bodies:
                self._bodies[key] = self._live(graph.node, names)
                self._kept.append(graph)
            for each in self._bodies[key]:
                self._node(each, inner, depth + 1)
            return [self.value(name, inner) for name in names]

        return run

    def _none_hidden(self, graph: onnx.GraphProto, scope: Mapping[str, Value]) -> None:
        outside = (scope, self._model.initializers, self._model.sparse)
        for tensor in graph.initializer:
            if any(tensor.name in names for names in outside):
                message = (
                    f"a constant inside it has the name of '{tensor.name}' outside: runtimes differ in which it is"
                )
                raise OutsideError(message)

    def _call(
        self, function: onnx.FunctionProto, node: onnx.NodeProto, operands: list[Value], depth: int
    ) -> list[Value]:
        """A model-local function: its nodes, run with the call's operands and attributes."""
        if depth >= _DEEPEST:
            message = "it calls functions too deep"
            raise OutsideError(message)
        key = id(function)
        if key not in self._bodies:
            self._bodies[key] = self._live(function.node, function.output)
        scope: dict[str, Value] = dict(zip(function.input, operands, strict=False))
        scope |= dict.fromkeys(list(function.input)[len(operands) :])
        before = self._calling, self._called, self._version
        self._calling = self._calling or name_of(node)
        self._called = {each.name: each for each in function.attribute_proto} | protos_of(node, self._called)
        self._version = next((each.version for each in function.opset_import if each.domain in STANDARD), self._version)
        for inner in self._bodies[key]:
            self._node(inner, scope, depth + 1)
        self._calling, self._called, self._version = before
        return [scope.get(name, UNKNOWN) for name in function.output]

    def apply(self, op: str, operands: list[Value], attributes: Mapping[str, Any], outputs: int = 1) -> list[Value]:
        """What an operator makes that stands in no node: what a Loop does at its end, what a sequence is joined by."""
        node = helper.make_node(op, [], [f"{op}_{place}" for place in range(outputs)], name=self._calling or op)
        if any(isinstance(operand, Unknown) for operand in operands):
            return [UNKNOWN] * outputs
        return list(self.evaluation.made(node, operands, attributes, self._version, node.name))

    def same(self, one: Value, other: Value) -> bool:
        """Whether two values are equal for every input, as far as that can be seen."""
        if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
            return one.dtype == other.dtype and np.array_equal(one, other)
        return self.evaluation.same(one, other)
