"""What an operator makes of abstract values: in rectangles where it can be said in them, else element by element.

Values become the original's tensors again where something other than tiles uses them: that is where they are compared.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .budget import Budget, OverBudgetError
from .constants import sizes
from .element_ops import ElementOps, is_followed
from .elements import Addend
from .graph import kind_of, name_of
from .move_ops import MOVES, concat, split
from .numbers import operator_key
from .other_differences import of_the_rest
from .products import Products
from .rewrites import rewritten
from .settlement import Settlement
from .signs import BY_SIGN, Parts, compared, parts_of
from .sums import add, reduce_sum, scaled, subtract, times
from .trivial_ops import simple
from .values import (
    UNKNOWN,
    Affine,
    Elements,
    Opaque,
    OutsideError,
    Sign,
    Stack,
    Unknown,
    Value,
    WrongError,
    as_affine,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from .findings import ProofFinding
    from .original import Original

_SUMS = frozenset({"Add", "Sum", "Sub", "Concat"})
_PRODUCTS = frozenset({"MatMul", "Gemm", "Einsum", "Conv"})
_PIECE = 2_000  # what one rectangle costs, where adding two numbers costs one
_GEMM_WORDS = frozenset({"transA", "transB", "alpha", "beta"})
# Operators that make each element of its own; the second set makes zero of zero.
_ELEMENTWISE = frozenset(
    {"Relu", "LeakyRelu", "Sigmoid", "Tanh", "Elu", "Gelu", "HardSwish", "HardSigmoid", "Softplus"}
)
_KEEP_ZERO = frozenset({"Relu", "LeakyRelu", "Tanh", "Elu", "Gelu", "HardSwish"})


class Evaluation:
    """The operators, for one submitted graph. `findings` is added to."""

    def __init__(self, original: Original, budget: Budget, findings: list[ProofFinding], limit: int) -> None:
        self._original = original
        self._budget = budget
        self._findings = findings
        self.products = Products(budget, limit)
        self.settlement = Settlement(original, self.products, budget)
        self._pool = self.settlement.pool
        self._named: dict[int, tuple[Value, Value]] = {}  # a value by its id (kept, so that it stays so), and its names
        self._ops = ElementOps(self._pool, self.products, budget)

    def declared_product(
        self, operands: list[Value], attributes: Mapping[str, Any], name: str, kind: str
    ) -> Sequence[Value]:
        """A product that the course declares: MatMul, with a third operand that is added, and Gemm's attributes."""
        words = {key: value for key, value in attributes.items() if key in _GEMM_WORDS}
        node = _Named(name, kind)
        if len(operands) < 2:  # noqa: PLR2004 - a product
            message = "it multiplies two matrices, and is given one" if operands else "it is given no matrices"
            raise WrongError(message)
        if len(operands) > 3:  # noqa: PLR2004 - and a bias
            message = f"nothing says what its {len(operands)} operands mean"
            raise OutsideError(message)
        if words:
            return self._computed(node, "Gemm", operands[:3], words, 1)
        (made,) = self._computed(node, "MatMul", operands[:2], {}, 1)
        if len(operands) == 2 or operands[2] is None or isinstance(made, Unknown):  # noqa: PLR2004
            return [made]
        return self._computed(node, "Add", [made, operands[2]], {}, 1)

    def made(
        self, node: onnx.NodeProto, operands: list[Value], attributes: Mapping[str, Any], version: int, name: str
    ) -> Sequence[Value]:
        """The outputs of one operator of ONNX."""
        op, operands, attributes = rewritten(node.op_type, operands, attributes)
        count = len(node.output)
        found = simple(op, operands, attributes, version, count, self._original.numbers, self._budget)
        if found is not None:
            return found
        return self._computed(_Named(name, kind_of(node), node, version), op, operands, attributes, count)

    def same(self, one: Value, other: Value) -> bool:
        """Whether two values have the same elements."""
        if not is_followed(one) or not is_followed(other):
            return False
        first, second = (self.settlement.resolved(value) for value in (one, other))
        return first is not None and second is not None and np.array_equal(first, second)

    def _computed(
        self, node: _Named, op: str, operands: list[Value], attributes: Mapping[str, Any], outputs: int
    ) -> Sequence[Value]:
        if self._named:
            operands = [self._named[id(each)][1] if id(each) in self._named else each for each in operands]
        settled = [self.settlement.settled(operand) for operand in operands]
        known = self._known(op, settled, attributes, node.version, outputs)
        if known is not None:
            return known
        by_sign = self._by_sign(op, settled, node.version)
        if by_sign is not None:
            return by_sign
        # A layer without its bias is still a sum of tiles to which the bias may come.
        is_free = any(isinstance(operand, Elements) for operand in operands)
        operands = operands if op in _SUMS and not is_free else settled
        before = len(self.products.all)
        try:
            made = None if is_free else self._of_rectangles(op, operands, attributes, outputs, node)
        except OverBudgetError:
            raise
        except OutsideError as error:
            counted = self.products.all[before:]
            del self.products.all[before:]
            made = self._instead(error, op, operands, attributes, outputs, node)
            if made is None:
                self.products.all[before:] = counted
                raise
        else:
            made = made or self._of_elements(op, operands, attributes, outputs, node)
        if made is None:
            return self._opaque(node, op, settled, attributes, outputs)
        return [self.settlement.compact(value) for value in made]

    def _by_sign(self, op: str, operands: list[Value], version: int) -> Sequence[Value] | None:
        """Comparisons with zero, and what uses them; None for other operators."""
        if op not in BY_SIGN and not any(isinstance(operand, Sign) for operand in operands):
            return None
        if not any(is_followed(operand) or isinstance(operand, Sign) for operand in operands):
            return None
        sign = compared(op, operands)
        if sign is not None:
            return [sign]
        parts = parts_of(op, operands, self.same)
        if parts is None:
            return None
        return self._by_parts(parts, version)

    def _by_parts(self, parts: Parts, version: int) -> list[Value] | None:
        """What an operator makes of a tensor and its positive part; for a multiple of a tensor, in words of that.

        Relu(c x) is c Relu(x), and c (x - Relu(x)) where c is below zero.
        """
        ids, factor = self.settlement.resolved(parts.value), Fraction(1)
        if ids is None:
            found = self.settlement.multiple(parts.value)
            if found is None:
                return None
            ids, factor = found
        made = self._elementwise("Relu", [Elements(ids)], {}, version)
        if made is None:
            return None
        if factor == 1:
            self._named[id(parts.value)] = (parts.value, Elements(ids))  # what it is added to next, it cancels by name
        positive = parts.positive * abs(factor)
        own = parts.own * factor - (positive if factor < 0 else 0)
        addends = [Addend(own, None, ids), Addend(positive, None, self._pool.of(made[0]))]
        return [self.settlement.compact(Elements(self._pool.total(addends, ids.shape)))]

    def _instead(
        self,
        failed: OutsideError,
        op: str,
        operands: list[Value],
        attributes: Mapping[str, Any],
        outputs: int,
        node: _Named,
    ) -> Sequence[Value] | None:
        """What elements make of it where rectangles have no words; None where they have none, either."""
        try:
            return self._of_elements(op, operands, attributes, outputs, node)
        except OverBudgetError:
            raise
        except OutsideError as error:
            failed.args = error.args if any(isinstance(operand, Stack) for operand in operands) else failed.args
            return None

    def _of_rectangles(
        self, op: str, operands: list[Value], attributes: Mapping[str, Any], outputs: int, node: _Named
    ) -> Sequence[Value] | None:
        """What multiplies, moves and adds parts of a layer; None for any other operator."""
        if op in ("MatMul", "Gemm"):
            operands = [self._input_of_layer(operand, node.name) for operand in operands[:2]] + operands[2:]
            if any(isinstance(operand, Unknown) for operand in operands):
                return [UNKNOWN]
            if op == "Gemm":
                return [self.products.gemm(operands, attributes, node.name, node.kind)]
            return [self.products.matmul(operands[0], operands[1], node.name, node.kind)]
        if not any(isinstance(as_affine(operand), (Affine, Stack)) for operand in operands):
            return None
        self._budget.spend(work=_PIECE * sum(map(_count, operands)))
        if op in MOVES or op == "Split":
            return self._moved(op, operands, attributes, outputs, node.version)
        return self._added(op, operands, attributes)

    def _added(self, op: str, operands: list[Value], attributes: Mapping[str, Any]) -> Sequence[Value] | None:
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
        return None

    def _moved(
        self, op: str, operands: list[Value], attributes: Mapping[str, Any], outputs: int, version: int
    ) -> Sequence[Value] | None:
        first = as_affine(operands[0])
        if not isinstance(first, (Affine, Stack)):
            return None
        if op == "Split":
            return split(first, operands, attributes, outputs, version)
        return [MOVES[op](first, operands, attributes, self._budget)] if op in MOVES else None

    def _of_elements(
        self, op: str, operands: list[Value], attributes: Mapping[str, Any], outputs: int, node: _Named
    ) -> list[Value] | None:
        """The same, element by element."""
        if not any(is_followed(operand) for operand in operands):
            return None
        if op in _PRODUCTS:
            return self._product(op, operands, attributes, node)
        if op in _ELEMENTWISE:
            return self._elementwise(op, operands, attributes, node.version)
        if not self._feeds_layers(operands):
            made = self._ops.made(op, operands, attributes, outputs, node.version)
            moved = made is not None and all(self._is_moved(value) for value in made)
            return made if moved else None
        return self._ops.made(op, operands, attributes, outputs, node.version)

    def _feeds_layers(self, operands: Sequence[Value]) -> bool:
        """Whether some operand is made of what goes into a layer or comes out; the rest has its own operators."""
        if any(isinstance(operand, (Affine, Stack, Elements)) for operand in operands):
            return True
        opaque = [operand.number for operand in operands if isinstance(operand, Opaque)]
        return any(self.settlement.is_of_layer(number) for number in opaque)

    def _is_moved(self, value: Value) -> bool:
        return isinstance(value, Elements) and bool(self._pool.is_leaf(value.ids).all())

    def _product(
        self, op: str, operands: list[Value], attributes: Mapping[str, Any], node: _Named
    ) -> list[Value] | None:
        if not self._feeds_layers(operands[:2]):
            return None
        data: list[Value] = []
        scale = Fraction(1)
        for operand in operands[:2]:
            value = operand
            if is_followed(operand):
                ids = self.settlement.resolved(operand)
                found = self.settlement.multiple(operand) if ids is None and operands[2:] in ([], [None]) else None
                if found is not None:
                    ids, scale = found[0], scale * found[1]
                if ids is None:
                    value = self._demanded(operand, node.name)
                    if isinstance(value, Unknown):
                        return [UNKNOWN]
                else:
                    value = Elements(ids)
            data.append(value)
        made = self._ops.product(op, [*data, *operands[2:]], attributes, node.name, node.kind)
        if scale != 1:
            ids = self._pool.of(made)
            made = Elements(self._pool.total([Addend(scale, None, ids)], ids.shape))
        if op == "Conv" and len(operands) > 2 and isinstance(operands[2], np.ndarray):  # noqa: PLR2004 - a bias
            rank = made.ids.ndim if isinstance(made, Elements) else 0
            return self._ops.made("Add", [made, operands[2].reshape(-1, *[1] * (rank - 2))], {}, 1, node.version)
        return [made]

    def _elementwise(
        self, op: str, operands: list[Value], attributes: Mapping[str, Any], version: int
    ) -> list[Value] | None:
        """What the original has an operator make of a whole tensor, of some of its elements."""
        if not is_followed(operands[0]) or len(operands) != 1:
            return None
        ids = self.settlement.resolved(operands[0])
        if ids is None:
            return self._by_parts(Parts(operands[0], 0, 1), version) if op == "Relu" else None
        made = np.zeros_like(ids)
        for start, root, place in self._pool.roots(ids):
            if root is None:
                if op != "Relu" or self._budget.has_symbols:
                    return None
                made[place] = self._pool.of(np.maximum(self._pool.constants(ids[place]), 0))
                continue
            number = self._original.elementwise(op, attributes, version, root)
            if number is None:
                return None
            made[place] = ids[place] - start + self._pool.start_of(number)[0]
        return None if op not in _KEEP_ZERO and not ids.all() else [Elements(made)]

    def _input_of_layer(self, value: Value, node: str) -> Value:
        """The operand of a product. One that holds products must be a whole layer of the original, or parts of one."""
        if isinstance(value, Affine) and any(piece.terms for piece in value.pieces):
            ids = self.settlement.resolved(value)
            if ids is not None:
                compact = self.settlement.compact(Elements(ids))
                if isinstance(compact, Elements):
                    message = "its operand is made of parts of layers"
                    raise OutsideError(message)
                return compact
            return self._demanded(value, node)
        return value

    def _demanded(self, value: Value, node: str) -> Value:
        settled, found = self.settlement.demanded(value, node)
        self._findings += found
        return settled

    def _known(
        self, op: str, operands: list[Value], attributes: Mapping[str, Any], version: int, outputs: int
    ) -> list[Value] | None:
        """The tensors that the original makes of these operands in this way; None where it has none."""
        if op not in self._original.operators:
            return None
        whole = [self.settlement.plain(operand) for operand in operands]
        first = next((o.number for o in whole if isinstance(o, Opaque)), -1)
        if (op, first) not in self._original.starts or any(
            isinstance(o, (Affine, Stack, Elements, Sign)) for o in whole
        ):
            return None
        numbers = tuple(self.settlement.number(operand) for operand in whole)
        key = operator_key(op, version, attributes, numbers, outputs)
        found = [self._original.numbers.known((*key, place)) for place in range(outputs)]
        return [tensor or UNKNOWN for tensor in found] if found and found[0] is not None else None

    def _opaque(
        self, node: _Named, op: str, operands: list[Value], attributes: Mapping[str, Any], outputs: int
    ) -> list[Value]:
        """An operator outside the tiles, which the original must have, too."""
        if op not in self._original.operators and any(isinstance(o, (Affine, Stack, Elements)) for o in operands):
            # What an unknown operator makes of tiles may still come out right: they are not called wrong.
            message = "the original has no such operator, and this one uses parts of a layer"
            raise OutsideError(message)
        values = [self._demanded(operand, node.name) for operand in operands]
        if any(isinstance(value, Unknown) for value in values):
            return [UNKNOWN] * outputs
        again = self._known(op, values, attributes, node.version, outputs)
        if again is not None:
            return again
        numbers = [self.settlement.number(value) for value in values]
        constants = [number for number, value in zip(numbers, values, strict=True) if isinstance(value, np.ndarray)]
        self._findings.append(of_the_rest(self._original, node.name, op, attributes, numbers, constants))
        return [UNKNOWN] * outputs


def _count(value: Value) -> int:
    """The rectangles that a value consists of."""
    if isinstance(value, Stack):
        return sum(map(_count, value.parts))
    return len(value.pieces) if isinstance(value, Affine) else 0


class _Named:
    """A node as sentences need it."""

    def __init__(self, name: str, kind: str, node: onnx.NodeProto | None = None, version: int = 17) -> None:
        self.name = name or (name_of(node) if node is not None else kind)
        self.kind = kind
        self.version = version
