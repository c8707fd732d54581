"""A graph run on shapes alone: every node that runs, with the tensors that it reads and writes.

If, Loop, Scan and calls of model-local functions run what is inside of them, as often as they do; they move nothing
themselves.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import onnx

from .control import CONTROL, UnknownError, controlled
from .given import inputs_of
from .load import load
from .nodes import Opsets, function_of, outputs
from .problems import ModelError, label, named
from .tensors import Tensor, of_proto

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_MOST_STEPS = 200_000
_MOST_IN_BODIES = 20_000  # of loops and branches: two seconds of computing
_MOST_DEPTH = 40
_FEW = 16
_DECIDING = frozenset({onnx.TensorProto.BOOL, onnx.TensorProto.INT32, onnx.TensorProto.INT64})


@dataclass(frozen=True, slots=True, eq=False)
class NodeRun:
    """A node that ran, once. An input that was left out is None; outputs without a name are not there."""

    node: onnx.NodeProto
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]


@dataclass(slots=True)
class Run:
    """All steps in order, the graph's inputs and outputs, its weights, and what could not be found out."""

    model: onnx.ModelProto
    steps: list[NodeRun] = field(default_factory=list)
    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def followed(self) -> Run:
        """Itself, once it is known which nodes run; shapes may be unknown.

        Raises:
            ModelError: what runs depends on data; says which node.
        """
        if self.unknown:
            raise ModelError(self.unknown[0] + self._unsaid())
        return self

    def _unsaid(self) -> str:
        """The small inputs whose values might decide: most often a person can say them."""
        whole = [each for each in self.inputs if each.data_type in _DECIDING and each.shape is not None]
        names = [each.name for each in whole if math.prod(each.shape or ()) <= _FEW and each.known() is None]
        return f" (no value is said for the input {named(names)})" if names else ""

    def whole(self) -> Run:
        """Itself, once it is known to be complete.

        Raises:
            ModelError: a shape, or what runs, is unknown; names it and says why.
        """
        self.followed()
        lost = [each for step in self.steps for each in step.outputs if not each.is_known]
        lost += [each for each in self.inputs if not each.is_known]
        if lost:
            count = f"the shapes of {named([each.name for each in lost])} are" if lost[1:] else "the shape is"
            message = f"the shape of '{lost[0].name[:80]}' is unknown: {lost[0].unknown}" + (
                f" ({count} unknown)" if lost[1:] else ""
            )
            raise ModelError(message + self._unsaid())
        return self


def run(
    path: Path,
    input_shape: Sequence[int] | Sequence[Sequence[int]] | None,
    inputs: Sequence[str] | None = None,
) -> Run:
    """Run the graph of a file on shapes.

    A dimension of an input that the file leaves open (a name, or no size) takes its size from `input_shape`, one shape
    or several in the order of the inputs; a size that the file gives stands. `inputs` are said of this very file, as
    `given.py` has it, and have to fit.

    Raises:
        ModelError: the file is no ONNX model or not a valid one, or an input does not fit; names it.
    """
    changed = path.stat().st_mtime_ns if path.is_file() else 0
    found = _run(path, changed, _shapes(input_shape), tuple(inputs or ()))
    if isinstance(found, ModelError):
        raise found.with_traceback(None)
    return found


def _shapes(given: Sequence[int] | Sequence[Sequence[int]] | None) -> tuple[tuple[int, ...], ...]:
    if given is None:
        return ()
    several = [tuple(each) for each in given if not isinstance(each, int)]
    return tuple(several) if several else (tuple(each for each in given if isinstance(each, int)),)


@functools.lru_cache(maxsize=2)  # one file is asked many questions in a row
def _run(path: Path, _changed: int, shapes: tuple[tuple[int, ...], ...], said: tuple[str, ...]) -> Run | ModelError:
    try:
        done = Run(load(path))
        _Runner(done).main(shapes, said)
    except ModelError as error:
        return error
    return done


class _Scope:
    """The names of a graph, and of the graphs around it. None stands for an optional input that was left out."""

    def __init__(self, outer: _Scope | None = None) -> None:
        self.names: dict[str, Tensor | None] = {}
        self._outer = outer
        self.depth: int = outer.depth + 1 if outer is not None else 0
        self.in_body = outer is not None

    def find(self, name: str, node: onnx.NodeProto) -> Tensor | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope._outer  # noqa: SLF001 - its own kind
        message = f"{label(node)} reads '{name[:80]}', which nothing before it makes"
        raise ModelError(message)

    def make(self, name: str, tensor: Tensor, maker: str | onnx.NodeProto) -> None:
        if name in self.names:
            maker = maker if isinstance(maker, str) else label(maker)
            message = f"{maker} makes '{name[:80]}', which is there already"
            raise ModelError(message)
        self.names[name] = tensor


class _Runner:
    def __init__(self, done: Run) -> None:
        self._done = done
        self._functions = {(each.domain, each.name, each.overload): each for each in done.model.functions}
        self._weights: dict[int, tuple[onnx.TensorProto, Tensor]] = {}
        self._in_bodies = 0

    def main(self, shapes: Sequence[tuple[int, ...]], said: Sequence[str]) -> None:
        graph, scope = self._done.model.graph, _Scope()
        weights = {tensor.name for tensor in graph.initializer}
        free = [each for each in graph.input if each.name not in weights]
        for tensor in inputs_of(free, shapes, said):
            scope.make(tensor.name, tensor, "the graph's input")
            self._done.inputs.append(tensor)
        self._graph(graph, scope, _opsets(self._done.model.opset_import))
        for each in graph.output:
            found = scope.names.get(each.name)
            if found is None:
                message = f"the graph's output '{each.name[:80]}' is made by no node"
                raise ModelError(message)
            self._done.outputs.append(found)

    def _graph(self, graph: onnx.GraphProto, scope: _Scope, opsets: Opsets) -> None:
        for proto in graph.initializer:
            if id(proto) not in self._weights:  # a loop's body runs often, its weights are there once
                # With the proto itself: protobuf would give its id to another wrapper once it is gone.
                self._weights[id(proto)] = proto, of_proto(proto, "weight")
                self._done.weights.append(self._weights[id(proto)][1])
            scope.make(proto.name, self._weights[id(proto)][1], "an initializer")
        for sparse in graph.sparse_initializer:
            name = sparse.values.name
            scope.make(name, Tensor(name=name, kind="weight", unknown=_sparse(name)), "a sparse initializer")
        self._nodes(graph.node, scope, opsets)

    def _nodes(self, nodes: Sequence[onnx.NodeProto], scope: _Scope, opsets: Opsets) -> None:
        for node in nodes:
            inputs = tuple(scope.find(name, node) if name else None for name in node.input)
            made = self._made(node, inputs, scope, opsets)
            for name, tensor in zip(filter(None, node.output), made, strict=True):
                scope.make(name, tensor, node)

    def _made(
        self, node: onnx.NodeProto, inputs: tuple[Tensor | None, ...], scope: _Scope, opsets: Opsets
    ) -> list[Tensor]:
        """What a node puts out, for each of its outputs that has a name."""
        if scope.depth > _MOST_DEPTH:
            message = f"{label(node)}: graphs and functions are nested more than {_MOST_DEPTH} deep"
            raise ModelError(message)
        function = self._functions.get((node.domain, node.op_type, node.overload))
        try:
            if function is not None:
                return _wanted(node, self._call(function, node, inputs, scope))
            if node.op_type in CONTROL and node.domain in ("", "ai.onnx"):
                opset = dict(opsets).get("", 0)
                made = controlled(node, inputs, opset, lambda g, given: self._body(g, given, scope, opsets))
                return _wanted(node, made)
        except UnknownError as error:
            self._done.unknown.append(str(error))
            return [Tensor(name=name, unknown=str(error)) for name in node.output if name]
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            return _wanted(node, [_constant(node)])
        made = outputs(node, inputs, opsets)
        if not all(each.is_known for each in made):
            self._by_its_function(node, inputs, made, opsets)
        self._done.steps.append(NodeRun(node, inputs, tuple(made)))
        self._in_bodies += scope.in_body
        if len(self._done.steps) > _MOST_STEPS or self._in_bodies > _MOST_IN_BODIES:
            where, most = ("", _MOST_STEPS) if len(self._done.steps) > _MOST_STEPS else (" in loops", _MOST_IN_BODIES)
            message = f"{label(node)}: by then more than {most:,} nodes have run{where}"
            raise ModelError(message)
        return made

    def _by_its_function(
        self, node: onnx.NodeProto, inputs: Sequence[Tensor | None], made: Sequence[Tensor], opsets: Opsets
    ) -> None:
        """Where ONNX infers no shape, but says what an operator is made of: the shapes that come out of that."""
        function = function_of(node, inputs, opsets)
        if function is None:
            return
        aside = _Runner(Run(self._done.model))
        try:
            inner = aside._call(function, node, inputs, _Scope())
        except (ModelError, UnknownError):
            return
        for tensor, found in zip(made, _wanted(node, inner), strict=True):
            if not tensor.is_known and found.shape is not None:
                tensor.data_type, tensor.shape, tensor.unknown = found.data_type, found.shape, ""

    def _body(self, graph: onnx.GraphProto, given: Sequence[Tensor], outer: _Scope, opsets: Opsets) -> list[Tensor]:
        scope = _Scope(outer)
        if len(given) != len(graph.input):
            message = f"the graph '{graph.name[:80]}' takes {len(graph.input)} inputs and is given {len(given)}"
            raise ModelError(message)
        for each, tensor in zip(graph.input, given, strict=True):
            scope.make(each.name, tensor, f"the input of graph '{graph.name[:80]}'")
        self._graph(graph, scope, opsets)
        reader = onnx.NodeProto(name=graph.name, op_type="graph")
        return [_present(scope.find(each.name, reader), each.name) for each in graph.output]

    def _call(
        self, function: onnx.FunctionProto, node: onnx.NodeProto, inputs: Sequence[Tensor | None], outer: _Scope
    ) -> list[Tensor]:
        """Run a model-local function: a scope of its own, and the attributes of the call in place of their names."""
        scope = _Scope()
        scope.depth, scope.in_body = outer.depth + 1, outer.in_body
        for at, name in enumerate(function.input):
            scope.names[name] = inputs[at] if at < len(inputs) else None
        attributes = {each.name: each for each in (*function.attribute_proto, *node.attribute)}
        nodes = [_substituted(each, attributes) for each in function.node]
        self._nodes(nodes, scope, _opsets(function.opset_import))
        reader = onnx.NodeProto(name=function.name, op_type="function")
        wanted = [*node.output, *[""] * len(function.output)]  # an output that nobody names need not be made
        return [
            _present(scope.find(name, reader), name) if asked else Tensor(name=name, unknown="nobody asks for it")
            for name, asked in zip(function.output, wanted, strict=False)
        ]


def _present(tensor: Tensor | None, name: str) -> Tensor:
    if tensor is None:
        message = f"the output '{name[:80]}' is an input that was left out"
        raise ModelError(message)
    return tensor


def _wanted(node: onnx.NodeProto, made: list[Tensor]) -> list[Tensor]:
    """Of what is inside, the outputs that the node gives a name to."""
    if len(node.output) > len(made):
        message = f"{label(node)} has {len(node.output)} outputs, and what it runs puts out {len(made)}"
        raise ModelError(message)
    return [tensor for name, tensor in zip(node.output, made, strict=False) if name]


def _substituted(node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto]) -> onnx.NodeProto:
    """A node of a function's, with the attributes that it refers to; an attribute without a value is left out."""
    if not any(each.ref_attr_name for each in node.attribute):
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for each in node.attribute:
        given = attributes.get(each.ref_attr_name) if each.ref_attr_name else each
        if given is not None:
            own = copy.attribute.add()
            own.CopyFrom(given)
            own.name = each.name
    return copy


def _constant(node: onnx.NodeProto) -> Tensor:
    name = node.output[0] if node.output else ""
    if any(each.name == "sparse_value" for each in node.attribute):
        return Tensor(name=name, kind="constant", unknown=_sparse(name))
    return of_proto(constant_of(node), "constant", name)


def constant_of(node: onnx.NodeProto) -> onnx.TensorProto:
    """What a Constant node holds; of a sparse tensor, the values that are there.

    Raises:
        ModelError: it holds nothing, or what no Constant can hold.
    """
    for each in node.attribute:
        if each.name in ("value", "sparse_value"):
            held: onnx.TensorProto = each.t if each.name == "value" else each.sparse_tensor.values
            return held
        if each.name.startswith("value_"):
            return _literal(each)
    message = f"{label(node)} holds no value"
    raise ModelError(message)


def _literal(attribute: onnx.AttributeProto) -> onnx.TensorProto:
    """The tensor that `value_int`, `value_floats` and their like stand for."""
    kinds = {"float": onnx.TensorProto.FLOAT, "int": onnx.TensorProto.INT64, "string": onnx.TensorProto.STRING}
    kind = attribute.name.removeprefix("value_").removesuffix("s")
    held = list(onnx.helper.get_attribute_value(attribute)) if attribute.name.endswith("s") else None
    values = held if held is not None else [onnx.helper.get_attribute_value(attribute)]
    if kind not in kinds:
        message = f"a Constant node can't hold '{attribute.name[:80]}'"
        raise ModelError(message)
    return onnx.helper.make_tensor("", kinds[kind], [len(values)] if held is not None else [], values)


def _sparse(name: str) -> str:
    return f"'{name[:80]}' is sparse, and how many bytes a sparse tensor takes is not agreed upon"


def _opsets(imports: Sequence[onnx.OperatorSetIdProto]) -> Opsets:
    """The version of each domain. Where a domain is imported twice the last counts, as in onnxruntime."""
    return tuple({"" if each.domain == "ai.onnx" else each.domain: each.version for each in imports}.items())
