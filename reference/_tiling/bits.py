"""A second opinion: both graphs run on exact integers that were drawn after hand-in. Shares only the reader.

Within a tiled layer a weight is moved, multiplied once by an activation, and summed. So a weight may be replaced by the
two halves of its 32 bits, and an activation by a random integer below 2^20: no sum of up to 2^17 such products reaches
2^53, float64 adds them exactly in any order, and results are compared with ==. Every other operator is replaced by a
random function of its operands that is drawn anew each run: equal operands give equal results, and others do not. Two
graphs that differ in a weight, a tile or an operator therefore differ in their outputs, but for a chance of about 2^-20
a row and run (Schwartz 1980, Zippel 1979: the difference is a polynomial of degree one).

It is a test, not a proof: it says nothing about dead or oversized products, and it does not cover operators that
compare or choose (Where, If, Max) among the tiles.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from .._onnx.run import run
from .._onnx.weights import Weights
from .bits_moves import MOVES, NotCoveredError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import onnx

    Array = np.ndarray[tuple[int, ...], np.dtype[Any]]

_TOP = 1 << 20
_BLOCK = 1 << 20  # weights that are turned into bits at a time
_MOST_BYTES = 1 << 30
_MOST_STEPS = 1 << 20
_STANDARD = ("", "ai.onnx")


@dataclass(frozen=True, slots=True)
class Opinion:
    """Whether the graphs gave the same integers; None where the run met something that it does not cover."""

    agrees: bool | None
    says: str


class _DifferentError(Exception):
    """The submitted graph computes something else than the original."""


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums of products of weight bits, and of biases: of the high halves and of the low ones."""

    high: Array
    low: Array

    @property
    def nbytes(self) -> int:
        """The memory that both take."""
        return self.high.nbytes + self.low.nbytes


def second_opinion(
    submitted: Path, original: Path, *, shape: tuple[int, ...] | None = None, declared: Iterable[str] = ()
) -> Opinion:
    """Run both graphs on the same random integers and compare their outputs.

    Raises:
        ModelError: a file can't be read.
    """
    oracle = _Oracle(secrets.token_bytes(32))
    done = run(original, shape)
    shapes = {tensor.name: tensor.shape for step in done.steps for tensor in step.outputs}
    given = [tensor.shape or () for tensor in done.inputs]
    try:
        first = _Run(Weights(original), oracle, frozenset(declared), shapes).outputs(given)
        oracle.closed = True
        second = _Run(Weights(submitted), oracle, frozenset(declared), {}).outputs(given)
    except _DifferentError as error:
        return Opinion(agrees=False, says=f"run on random integers, without rounding, the graphs differ: {error}")
    except _UNFIT as error:
        return Opinion(agrees=None, says=f"the run on random integers does not cover this graph: {error}")
    same = len(first) == len(second) and all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    words = "the same outputs" if same else "different outputs"
    return Opinion(agrees=same, says=f"run on random integers, without rounding, both graphs have {words}")


_UNFIT = (NotCoveredError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError, MemoryError)


class _Oracle:
    """Random functions: what an operator makes of its operands, drawn when it is first asked for."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._shapes: dict[bytes, tuple[int, ...]] = {}
        self.layers: set[bytes] = set()
        self.sizes: set[tuple[int, ...]] = set()
        self.closed = False

    def digest(self, *parts: object) -> bytes:
        """A secret digest of texts, bytes and arrays."""
        found = hashlib.blake2b(key=self._key, digest_size=32)
        for part in parts:
            if isinstance(part, np.ndarray):
                found.update(f"{part.dtype} {part.shape}".encode())
                found.update(np.ascontiguousarray(part).data)
            else:
                content = part if isinstance(part, bytes) else repr(part).encode()
                found.update(len(content).to_bytes(8, "little") + content)
        return found.digest()

    def draw(self, digest: bytes, shape: tuple[int, ...] | None) -> Array:
        """The integers that belong to a digest, from 1 up to 2^20; their shape is the original's."""
        wanted = self._shapes.get(digest)
        if wanted is None and shape is not None and not self.closed:
            wanted = self._shapes[digest] = shape
        if wanted is None:
            message = "an operator's result does not occur in the original"
            raise NotCoveredError(message)
        generator = np.random.Generator(np.random.Philox(int.from_bytes(digest[:16], "little")))
        return generator.integers(1, _TOP, wanted).astype(np.float64)


class _Run:
    """One graph on integers. Constants stay as they are until they are multiplied or added."""

    def __init__(self, weights: Weights, oracle: _Oracle, declared: frozenset[str], shapes: Mapping[str, Any]) -> None:
        self._weights = weights
        self._oracle = oracle
        self._declared = declared
        self._shapes = shapes
        self._functions = {(each.domain, each.name): each for each in weights.model.functions}
        self._constants = {tensor.name: tensor for tensor in weights.model.graph.initializer}
        self._steps = _MOST_STEPS
        self._bytes = _MOST_BYTES

    def outputs(self, shapes: list[tuple[int, ...]]) -> list[Array]:
        """The outputs, each as the integers of an opaque tensor."""
        graph = self._weights.model.graph
        scope: dict[str, Any] = {}
        free = [given.name for given in graph.input if given.name not in self._constants]
        for place, (name, shape) in enumerate(zip(free, shapes, strict=True)):
            digest = self._oracle.digest("input", place)
            scope[name] = self._oracle.draw(digest, shape)
        for node in graph.node:
            self._node(node, scope)
        return [self._opaque(self._get(output.name, scope)) for output in graph.output]

    def _get(self, name: str, scope: dict[str, Any]) -> Any:
        if name and name not in scope:
            scope[name] = self._weights.array(self._constants[name])
        return scope[name] if name else None

    def _node(self, node: onnx.NodeProto, scope: dict[str, Any]) -> None:
        self._steps -= 1
        values = [self._get(name, scope) for name in node.input]
        function = self._functions.get((node.domain, node.op_type))
        if function is not None:
            inner = dict(zip(function.input, values, strict=False))
            for each in function.node:
                self._node(each, inner)
            made = [inner[name] for name in function.output]
        else:
            made = self._made(node, values)
            self._bytes -= sum(value.nbytes for value in made if getattr(value, "base", None) is None)
        if self._bytes < 0 or self._steps < 0:
            message = "it takes too much work"
            raise NotCoveredError(message)
        scope.update(zip(node.output, made, strict=False))

    def _made(self, node: onnx.NodeProto, values: list[Any]) -> list[Any]:
        declared = node.op_type in self._declared or f"{node.domain}::{node.op_type}" in self._declared
        if node.domain not in _STANDARD and not declared:
            message = f"nothing says what {node.domain}::{node.op_type} does"
            raise NotCoveredError(message)
        op = "MatMul" if declared else node.op_type
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        if op == "Constant":
            (value,) = attributes.values()
            return [self._weights.array(value) if hasattr(value, "dims") else np.asarray(value)]
        if op in ("Identity", "Dropout"):
            return values[:1]
        if op in ("MatMul", "Gemm") and any(_is_weight(value) for value in values[:2]):
            return [self._product(op, values, attributes)]
        if op in _SUMS and not any(_is_activation(value) for value in values):
            return [_sum(op, values, attributes)]
        if op in MOVES:
            return _moved(op, [self._movable(value) for value in values], attributes, len(node.output))
        return self._drawn(op, values, attributes, node)

    def _movable(self, value: Any) -> Any:
        """What is moved: sums that are a layer of the original are first its opaque result."""
        if isinstance(value, _Sums) and self._oracle.digest("layer", value.high, value.low) in self._oracle.layers:
            return self._opaque(value)
        return value

    def _opaque(self, value: Any) -> Any:
        """The integers that stand for the result of a whole layer; any other value as it is."""
        if not isinstance(value, _Sums):
            return value
        digest = self._oracle.digest("layer", value.high, value.low)
        if not self._oracle.closed:
            self._oracle.layers.add(digest)
            self._oracle.sizes.add(value.high.shape)
        elif digest not in self._oracle.layers:
            shape = "x".join(map(str, value.high.shape))
            message = f"a sum of products of shape {shape} is no layer of the original"
            raise (_DifferentError if value.high.shape in self._oracle.sizes else NotCoveredError)(message)
        return self._oracle.draw(digest, value.high.shape)

    def _drawn(self, op: str, values: list[Any], attributes: dict[str, Any], node: onnx.NodeProto) -> list[Any]:
        """Any other operator: random integers that follow from it and from its operands."""
        said = sorted((name, repr(value)) for name, value in attributes.items())
        digest = self._oracle.digest(op, said, *(self._opaque(value) for value in values))
        return [
            self._oracle.draw(self._oracle.digest(digest, place), self._shapes.get(name))
            for place, name in enumerate(node.output)
        ]

    def _product(self, op: str, values: list[Any], attributes: dict[str, Any]) -> _Sums:
        left, right = (self._opaque(value) for value in values[:2])
        left = left.T if attributes.get("transA") else left
        right = right.T if attributes.get("transB") else right
        if attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0:
            message = "a product is scaled"
            raise NotCoveredError(message)
        if left.ndim != 2 or right.ndim != 2 or _is_weight(left) == _is_weight(right):  # noqa: PLR2004 - matrices
            message = f"a product of shapes {left.shape} and {right.shape}"
            raise NotCoveredError(message)
        if _is_weight(left):
            turned = _times(right.T, left.T)
            total = _Sums(turned.high.T, turned.low.T)
        else:
            total = _times(left, right)
        bias = values[2] if op == "Gemm" and len(values) > 2 else None  # noqa: PLR2004
        return total if bias is None else _sum("Add", [total, bias], {})


_SUMS = frozenset({"Add", "Sum", "Sub", "Neg", "ReduceSum"})


def _is_weight(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float32


def _is_activation(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float64


def _halves(weight: Array) -> _Sums:
    """The bits of float32 numbers as two integers; -0 is 0."""
    bits = np.ascontiguousarray(weight + np.float32(0)).view(np.uint32)
    return _Sums((bits >> 16).astype(np.float64), (bits & 0xFFFF).astype(np.float64))


def _times(data: Array, weight: Array) -> _Sums:
    """`data @ bits of weight`, a block of the depth at a time."""
    step = max(1, _BLOCK // max(1, weight.shape[1]))
    high = np.zeros((data.shape[0], weight.shape[1]))
    low = np.zeros_like(high)
    for start in range(0, weight.shape[0], step):
        bits = _halves(weight[start : start + step])
        high += data[:, start : start + step] @ bits.high
        low += data[:, start : start + step] @ bits.low
    return _Sums(high, low)


def _sum(op: str, values: list[Any], attributes: dict[str, Any]) -> Any:
    """Sums of sums and of biases. Integers among themselves are shapes, and are computed with as they are."""
    if all(isinstance(value, np.ndarray) and value.dtype.kind in "iu" for value in values):
        return values[0] - values[1] if op == "Sub" else -values[0] if op == "Neg" else sum(values)
    if op == "ReduceSum":
        given = values[1] if len(values) > 1 else attributes["axes"]
        axes, keep = tuple(np.ravel(given).tolist()), bool(attributes.get("keepdims", 1))
        return _Sums(values[0].high.sum(axes, keepdims=keep), values[0].low.sum(axes, keepdims=keep))
    signs = {"Sub": [1.0, -1.0], "Neg": [-1.0]}.get(op, [1.0] * len(values))
    pairs = [value if isinstance(value, _Sums) else _halves(value) for value in values]
    high = sum((sign * pair.high for sign, pair in zip(signs, pairs, strict=True)), start=np.zeros(()))
    low = sum((sign * pair.low for sign, pair in zip(signs, pairs, strict=True)), start=np.zeros(()))
    return _Sums(high, low)


def _moved(op: str, values: list[Any], attributes: dict[str, Any], parts: int) -> list[Any]:
    """Operators that only move, the high halves and the low ones alike."""
    if not any(isinstance(value, _Sums) for value in values):
        return MOVES[op](values, attributes, parts)
    if any(_is_activation(value) for value in values):
        message = "products and activations are joined"
        raise NotCoveredError(message)
    pairs = [_halves(value) if _is_weight(value) and op == "Concat" else value for value in values]
    high = MOVES[op]([pair.high if isinstance(pair, _Sums) else pair for pair in pairs], attributes, parts)
    low = MOVES[op]([pair.low if isinstance(pair, _Sums) else pair for pair in pairs], attributes, parts)
    return [_Sums(*pair) for pair in zip(high, low, strict=True)]
