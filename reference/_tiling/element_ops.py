"""Operators on tensors that are known element by element: what moves, what adds and scales, what multiplies."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .constants import sizes
from .contractions import conv_as_product, einsum_as_product
from .elements import Addend, Pool
from .move_arrays import DATA_OPERANDS, MOVES
from .products import Product, Products
from .values import Affine, Array, Elements, Opaque, OutsideError, Shape, Stack, Value, WrongError, axis_of, shape_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .budget import Budget

_NARROW = 4  # bytes of a float32


class ElementOps:
    """What operators make of elements; None for an operator that has no words here."""

    def __init__(self, pool: Pool, products: Products, budget: Budget) -> None:
        self._pool = pool
        self._products = products
        self._budget = budget

    def made(
        self, op: str, operands: list[Value], attributes: Mapping[str, Any], outputs: int, version: int
    ) -> list[Value] | None:
        """What an operator that only moves, adds or scales makes.

        Raises:
            OutsideError: the operator is known, and does something for which there are no words.
            WrongError: it can't run.
        """
        if op in MOVES:
            return self._moved(op, operands, attributes, outputs, version)
        match op:
            case "Add" | "Sum":
                return [self._sum(operands, [Fraction(1)] * len(operands))]
            case "Sub":
                return [self._sum(operands, [Fraction(1), Fraction(-1)])]
            case "Mean":
                return [self._sum(operands, [Fraction(1, len(operands))] * len(operands))]
            case "Neg":
                return [self._sum(operands, [Fraction(-1)])]
            case "Mul":
                return [self._times(operands)]
            case "Div":
                return [self._divided(operands)]
            case "CumSum":
                return [self._running(operands, attributes)]
            case "ReduceSum" | "ReduceMean":
                return [self._reduced(op, operands, attributes)]
        return None

    def product(self, op: str, operands: list[Value], attributes: Mapping[str, Any], node: str, kind: str) -> Value:
        """What a product of activations and a constant makes.

        Raises:
            OutsideError: both are constants, or none is.
            WrongError: sizes do not fit.
        """
        if op == "Einsum":
            return einsum_as_product(self, operands, attributes, node)
        if op == "Conv":
            return conv_as_product(self, operands, attributes, node)
        left, right = operands[0], operands[1]
        if op == "Gemm":
            left = self._turned(left) if attributes.get("transA") else left
            right = self._turned(right) if attributes.get("transB") else right
        made = self._matmul(left, right, node, kind)
        if op == "MatMul":
            return made
        addends: list[Value] = [made]
        scales = [_fraction(attributes.get("alpha", 1.0))]
        if len(operands) > 2 and operands[2] is not None:  # noqa: PLR2004 - a Gemm's C
            addends.append(operands[2])
            scales.append(_fraction(attributes.get("beta", 1.0)))
        total = self._sum(addends, scales)
        if shape_of(total) != shape_of(made):
            message = f"its C of shape {list(shape_of(operands[2]) or ())} does not fit {list(shape_of(made) or ())}"
            raise WrongError(message)
        return total

    @property
    def limit(self) -> int:
        """How large a product may be."""
        return self._products.limit

    def matrix_product(self, rows: Array, weight: Array, node: str, kind: str) -> Array:
        """Elements [M, K] times a weight [K, N], as one product of the graph."""
        if weight.dtype.itemsize > _NARROW and not np.array_equal(weight.astype(np.float32), weight):
            message = f"it multiplies with a weight of type {weight.dtype}"
            raise OutsideError(message)
        self._budget.spend(products=1)
        self._products.all.append(Product(node, kind, rows.shape[0], rows.shape[1], weight.shape[1]))
        return self._pool.product(rows, weight.astype(np.float32, copy=False), len(self._products.all) - 1)

    def stacked_product(self, data: Array, weight: Array, node: str, kind: str) -> Array:
        """Stacks of elements [S, M, K] times weights [S, K, N] or [1, K, N]: as many products of the graph.

        Rows that share one weight are one product, where that fits the limit.
        """
        count, rows, depth = data.shape
        shared = weight.shape[0] == 1
        if shared and (count == 1 or count * rows <= self.limit):
            made = self.matrix_product(data.reshape(count * rows, depth), weight[0], node, kind)
            return made.reshape(count, rows, weight.shape[2])
        self._budget.spend(bytes=8 * data.size + 8 * count * rows * weight.shape[-1])
        pairs = ((each, weight[0 if shared else place]) for place, each in enumerate(data))
        return np.stack([self.matrix_product(*pair, node, kind) for pair in pairs])

    def ids(self, value: Value) -> Array:
        """The elements of a value."""
        return self._pool.of(value)

    def _turned(self, value: Value) -> Value:
        if isinstance(value, np.ndarray):
            return value.T
        return Elements(self._pool.of(value).T)

    def _matmul(self, left: Value, right: Value, node: str, kind: str) -> Value:
        if isinstance(left, np.ndarray) == isinstance(right, np.ndarray):
            message = "it multiplies two " + ("constants" if isinstance(left, np.ndarray) else "activations")
            raise OutsideError(message)
        one, other = shape_of(left) or (), shape_of(right) or ()
        shape = _matmul_shape(one, other)
        batch = shape[: len(shape) - (len(one) > 1) - (len(other) > 1)]
        if isinstance(left, np.ndarray):
            # (W @ X)' = X' @ W'
            data = self._pool.of(right)
            data = data[None, :] if data.ndim == 1 else np.swapaxes(data, -1, -2)
            weight = left[:, None] if left.ndim == 1 else np.swapaxes(left, -1, -2)
            turned = self._by_constant(data, weight, batch, node, kind)
            return Elements(np.swapaxes(turned, -1, -2).reshape(shape))
        weight = np.asarray(right)
        data = self._pool.of(left)
        data = data[None, :] if data.ndim == 1 else data
        weight = weight[:, None] if weight.ndim == 1 else weight
        return Elements(self._by_constant(data, weight, batch, node, kind).reshape(shape))

    def _by_constant(self, data: Array, weight: Array, batch: Shape, node: str, kind: str) -> Array:
        count = int(np.prod(batch, dtype=object))
        rows, columns = data.shape[-2], weight.shape[-1]
        self._budget.spend(bytes=8 * count * rows * data.shape[-1])
        data = np.broadcast_to(data, (*batch, *data.shape[-2:])).reshape(count, rows, data.shape[-1])
        if np.prod(weight.shape[:-2], dtype=object) == 1:
            weight = weight.reshape(1, *weight.shape[-2:])
        else:
            weight = np.broadcast_to(weight, (*batch, *weight.shape[-2:])).reshape(count, *weight.shape[-2:])
        return self.stacked_product(data, weight, node, kind).reshape(*batch, rows, columns)

    def _moved(
        self, op: str, operands: list[Value], attributes: Mapping[str, Any], outputs: int, version: int
    ) -> list[Value]:
        which = DATA_OPERANDS.get(op, (0,))
        moved: list[Any] = []
        for place, operand in enumerate(operands):
            is_data = which is None or place in which
            if not is_data and operand is not None and not isinstance(operand, np.ndarray):
                message = "its sizes or indices are not constant"
                raise OutsideError(message)
            moved.append(self._pool.of(operand) if is_data and operand is not None else operand)
        if op in ("ScatterND", "ScatterElements") and attributes.get("reduction", b"none") == b"add":
            return [self._scattered_sum(op, moved, attributes, version)]
        made = MOVES[op](moved, attributes, version, self._budget, outputs)
        return [Elements(each) for each in made]

    def _scattered_sum(self, op: str, operands: list[Any], attributes: Mapping[str, Any], version: int) -> Value:
        """A Scatter that adds, where it writes no place twice."""
        data, index, updates = operands
        kept = {name: value for name, value in attributes.items() if name != "reduction"}
        marks = [np.zeros_like(data), index, np.arange(1, updates.size + 1).reshape(updates.shape)]
        (seen,) = MOVES[op](marks, kept, version, self._budget, 1)
        if np.unique(seen[seen > 0]).size != updates.size:
            message = "it adds to one place several times"
            raise OutsideError(message)
        (placed,) = MOVES[op]([np.zeros_like(data), index, updates], kept, version, self._budget, 1)
        return Elements(self._pool.total([_plain(data), _plain(placed)], data.shape))

    def _sum(self, operands: Sequence[Value], scales: Sequence[Fraction]) -> Value:
        shape = _broadcast([shape_of(operand) for operand in operands])
        self._budget.spend(bytes=8 * int(np.prod(shape, dtype=object)) * len(operands))
        addends = [Addend(scale, None, self._pool.of(operand)) for operand, scale in zip(operands, scales, strict=True)]
        return Elements(self._pool.total(addends, shape))

    def _times(self, operands: Sequence[Value]) -> Value:
        constants = [operand for operand in operands if isinstance(operand, np.ndarray)]
        others = [operand for operand in operands if not isinstance(operand, np.ndarray)]
        if len(constants) != 1 or len(others) != 1 or constants[0].dtype.kind != "f":
            message = "it multiplies two activations, elementwise"
            raise OutsideError(message)
        return self._by_factors(others[0], constants[0])

    def _by_factors(self, value: Value, factors: Array) -> Value:
        shape = _broadcast([shape_of(value), factors.shape])
        self._budget.spend(bytes=16 * int(np.prod(shape, dtype=object)))
        if factors.size and (factors == factors.flat[0]).all():
            return Elements(self._pool.total([Addend(_fraction(factors.flat[0]), None, self._pool.of(value))], shape))
        if not np.isfinite(factors).all():
            message = "it multiplies with NaN or infinity"
            raise OutsideError(message)
        return Elements(
            self._pool.total([Addend(Fraction(1), factors.astype(np.float64), self._pool.of(value))], shape)
        )

    def _divided(self, operands: Sequence[Value]) -> Value:
        value, by = operands
        if not isinstance(by, np.ndarray) or not by.size or (by != by.flat[0]).any() or by.dtype.kind != "f":
            message = "it divides by something else than one number"
            raise OutsideError(message)
        factor = _fraction(by.flat[0])
        if not factor:
            message = "it divides by zero"
            raise OutsideError(message)
        shape = _broadcast([shape_of(value), by.shape])
        return Elements(self._pool.total([Addend(1 / factor, None, self._pool.of(value))], shape))

    def _running(self, operands: list[Value], attributes: Mapping[str, Any]) -> Value:
        """CumSum: each place along a dimension is the sum of those before it and itself."""
        data = self._pool.of(operands[0])
        (axis,) = sizes(operands[1], "axis")
        front = np.moveaxis(data, axis_of(axis, data.ndim), 0)
        front = front[::-1] if attributes.get("reverse") else front
        self._budget.spend(bytes=16 * data.size)
        sums = [np.zeros(front.shape[1:], np.int64)]
        for each in front:
            sums.append(self._pool.total([_plain(sums[-1]), _plain(each)], each.shape))
        made = np.stack(sums[:-1] if attributes.get("exclusive") else sums[1:])
        made = made[::-1] if attributes.get("reverse") else made
        return Elements(np.moveaxis(made, 0, axis_of(axis, data.ndim)))

    def _reduced(self, op: str, operands: list[Value], attributes: Mapping[str, Any]) -> Value:
        data = self._pool.of(operands[0])
        given = operands[1] if len(operands) > 1 else attributes.get("axes")
        if given is None and attributes.get("noop_with_empty_axes"):
            return operands[0]
        axes = tuple(range(data.ndim) if given is None else (axis_of(axis, data.ndim) for axis in sizes(given, "axes")))
        if not axes and attributes.get("noop_with_empty_axes"):
            return operands[0]
        axes = axes or tuple(range(data.ndim))
        front = np.moveaxis(data, axes, range(len(axes)))
        shape = front.shape[len(axes) :]
        flat = front.reshape(-1, *shape)
        scale = Fraction(1, flat.shape[0]) if op == "ReduceMean" and flat.shape[0] else Fraction(1)
        self._budget.spend(bytes=8 * data.size)
        made = self._pool.total([Addend(scale, None, each) for each in flat], shape)
        if attributes.get("keepdims", 1):
            made = made.reshape([1 if axis in axes else size for axis, size in enumerate(data.shape)])
        return Elements(made)


def _plain(ids: Array) -> Addend:
    return Addend(Fraction(1), None, ids)


def _fraction(number: Any) -> Fraction:
    if not np.isfinite(number):
        message = "it multiplies with NaN or infinity"
        raise OutsideError(message)
    return Fraction(float(number))


def _broadcast(shapes: Sequence[Shape | None]) -> Shape:
    if any(shape is None for shape in shapes):
        message = "the shape of an operand is not known"
        raise OutsideError(message)
    try:
        return np.broadcast_shapes(*(shape for shape in shapes if shape is not None))
    except ValueError:
        message = f"it adds shapes {' and '.join(str(list(shape or ())) for shape in shapes[:2])}, which do not fit"
        raise WrongError(message) from None


def _matmul_shape(one: Shape, other: Shape) -> Shape:
    """The shape of a MatMul: ranks of one are raised, and the raised dimensions are taken away again."""
    if not one or not other:
        message = "it multiplies a number"
        raise WrongError(message)
    left = (1, *one) if len(one) == 1 else one
    right = (*other, 1) if len(other) == 1 else other
    if left[-1] != right[-2]:
        message = f"it multiplies {'x'.join(map(str, one))} by {'x'.join(map(str, other))}"
        raise WrongError(message)
    batch = _broadcast([left[:-2], right[:-2]])
    return (*batch, *left[-2:-1][: len(one) > 1], *right[-1:][: len(other) > 1])


def is_followed(value: Value) -> bool:
    """Whether a value has elements that depend on the input."""
    return isinstance(value, (Elements, Affine, Stack, Opaque))
