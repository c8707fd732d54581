"""Tensors element by element: what a number stands for that an element has.

Rectangles (`Affine`) follow what most tilings do, and cheaply. What they have no words for is followed here: every
element of a tensor has a number, so that an operator that only moves is numpy's own on an array of numbers. A number
belongs to a block: zero, an opaque tensor of the original, a constant, a sum of other elements, or products of rows of
elements and the columns of a weight. A block refers to blocks before it alone, so that sums are unfolded from the last
block to the first, each once.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from .values import COLUMNS, PLAIN, ROWS, Affine, Array, Elements, Opaque, OutsideError, Piece, Shape, Stack, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .budget import Budget
    from .numbers import Numbers

_FINE = 1 << 10  # factors that are added up are multiples of 1/1024 below 2^43: float64 adds them exactly
_ALL_BITS = 1 << 53


class Addend(NamedTuple):
    """`scale * factors * elements`; factors of None are ones."""

    scale: Fraction
    factors: Array | None
    ids: Array


@dataclass(frozen=True, slots=True)
class Root:
    """The elements of an opaque tensor of the original."""

    number: int
    size: int


@dataclass(frozen=True, slots=True)
class Constant:
    """Numbers; none is zero."""

    values: Array


@dataclass(frozen=True, slots=True)
class Total:
    """Element by element the sum of addends, which are flat."""

    addends: tuple[Addend, ...]


@dataclass(frozen=True, slots=True)
class Dot:
    """`rows @ weight`: rows are elements [M, K], the weight a constant [K, N]; `product` is its index."""

    rows: Array
    weight: Array
    product: int


Block: TypeAlias = "Root | Constant | Total | Dot | None"


class Chunk(NamedTuple):
    """What some targets take of one block: `scale * factors * block[offsets]`. Each target occurs once."""

    block: Root | Constant | Total | Dot
    targets: Array
    offsets: Array
    scale: Fraction
    factors: Array | None

    def times(self, values: Array) -> Array:
        """The values of float64 with the chunk's scale and factors.

        Raises:
            OutsideError: the scale is no float64.
        """
        if self.scale == 1 and self.factors is None:
            return values
        return values * factors_of(self)


@dataclass(slots=True)
class Pool:
    """All blocks of one proof."""

    budget: Budget
    numbers: Numbers
    _starts: list[int] = field(default_factory=lambda: [0])
    _blocks: list[Block] = field(default_factory=lambda: [None])
    _end: int = 1
    _roots: dict[int, int] = field(default_factory=dict)
    _seen: dict[int, tuple[object, Array]] = field(default_factory=dict)

    def _add(self, block: Block, size: int) -> int:
        self.budget.spend(bytes=8 * size)
        start = self._end
        self._starts.append(start)
        self._blocks.append(block)
        self._end += size
        return start

    def block(self, number: int) -> tuple[Block, int]:
        """The block that an element's number belongs to, and where it starts."""
        at = bisect_right(self._starts, number) - 1
        return self._blocks[at], self._starts[at]

    def is_leaf(self, ids: Array) -> Array:
        """Which elements are zero, of an opaque tensor, or constant."""
        flat = ids.reshape(-1)
        leaf = np.zeros(flat.size, bool)
        for at, place in self._by_block(flat):
            leaf[place] = not isinstance(self._blocks[at], (Total, Dot))
        return leaf.reshape(ids.shape)

    def is_number(self, ids: Array) -> Array:
        """Which elements are zero or constant."""
        flat = ids.reshape(-1)
        number = np.zeros(flat.size, bool)
        for at, place in self._by_block(flat):
            number[place] = self._blocks[at] is None or isinstance(self._blocks[at], Constant)
        return number.reshape(ids.shape)

    def roots(self, ids: Array) -> Iterator[tuple[int, int | None, Array]]:
        """The opaque tensors, and the constants (None), that leaves belong to: where each starts, and which leaves."""
        flat = ids.reshape(-1)
        for at, place in self._by_block(flat):
            block = self._blocks[at]
            there = np.zeros(flat.size, bool)
            there[place] = True
            if block is not None:
                yield self._starts[at], block.number if isinstance(block, Root) else None, there.reshape(ids.shape)

    def constants(self, ids: Array) -> Array:
        """The numbers that elements of one constant are."""
        block, start = self.block(int(ids.reshape(-1)[0]))
        if not isinstance(block, Constant):
            message = "it is no constant"
            raise OutsideError(message)
        values: Array = block.values[ids - start]
        return values

    def start_of(self, number: int) -> tuple[int, int]:
        """The first element of the opaque tensor of this number, whatever its shape, and how many it has."""
        shape = self.numbers.shape(number) or ()
        base, shape = self.numbers.unshaped(number, shape)
        size = int(np.prod(shape, dtype=object))
        if base not in self._roots:
            self._roots[base] = self._add(Root(base, size), size)
        return self._roots[base], size

    def of(self, value: Value) -> Array:
        """The elements of a value.

        Raises:
            OutsideError: it has none: integers, a sequence, a tensor of unknown shape.
        """
        if isinstance(value, Elements):
            return value.ids
        known = self._seen.get(id(value))
        if known is None:
            known = self._seen[id(value)] = (value, self._made(value))
        return known[1]

    def _made(self, value: Value) -> Array:
        if isinstance(value, Opaque) and value.shape is not None:
            start, size = self.start_of(value.number)
            return np.arange(start, start + size).reshape(value.shape)
        if isinstance(value, Affine):
            return self._of_affine(value)
        if isinstance(value, Stack):
            return np.stack([self.of(part) for part in value.parts], axis=value.axis)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            return self._of_constant(value)
        message = "it takes something that is no tensor of numbers"
        raise OutsideError(message)

    def _of_constant(self, value: Array) -> Array:
        flat = value.reshape(-1)
        where = np.flatnonzero(flat != 0)  # NaN is not zero
        ids = np.zeros(flat.size, np.int64)
        if where.size:
            start = self._add(Constant(flat[where]), where.size)
            ids[where] = np.arange(start, start + where.size)
        return ids.reshape(value.shape)

    def _of_affine(self, value: Affine) -> Array:
        matrix = np.zeros((value.rows, value.columns), np.int64)
        for piece in value.pieces:
            matrix[piece.r0 : piece.r1, piece.c0 : piece.c1] = self._of_piece(value.root, piece)
        kept = [dim for dim in value.dims if dim in PLAIN]
        turned = matrix.T if kept == [COLUMNS, ROWS] else matrix
        return turned.reshape(value.shape)

    def _of_piece(self, root: int, piece: Piece) -> Array:
        start, _ = self.start_of(root)
        width = (self.numbers.shape(root) or (0,))[-1]
        rows, columns = piece.r1 - piece.r0, piece.c1 - piece.c0

        def window(row: int, column: int, across: int) -> Array:
            return start + width * np.arange(row, row + rows)[:, None] + np.arange(column, column + across)

        addends = [] if piece.window is None else [Addend(Fraction(1), None, window(*piece.window, columns))]
        for term in piece.terms:
            made = self.product(window(term.row, term.k, term.weight.shape[0]), term.weight, term.product)
            addends.append(Addend(Fraction(term.scale), None, made))
        biases = ((Fraction(bias.scale), self._of_constant(np.asarray(bias.values))) for bias in piece.biases)
        addends += [Addend(scale, None, ids) for scale, ids in biases]
        return self.total(addends, (rows, columns))

    def product(self, rows: Array, weight: Array, product: int) -> Array:
        """`rows @ weight`, of rows of elements [M, K] and a weight [K, N]."""
        shape = (rows.shape[0], weight.shape[1])
        if not np.isfinite(weight).all():
            message = "its weights hold NaN or infinity, which zero times is no zero"
            raise OutsideError(message)
        if not rows.any():
            return np.zeros(shape, np.int64)
        start = self._add(Dot(rows, weight, product), shape[0] * shape[1])
        return np.arange(start, start + shape[0] * shape[1]).reshape(shape)

    def total(self, addends: Sequence[Addend], shape: Shape) -> Array:
        """The sum of addends that broadcast to a shape. An element to which only zeros are added stays what it is."""
        self.budget.spend(work=len(addends) * int(np.prod(shape, dtype=object)))
        flat = [
            Addend(each.scale, None if each.factors is None else _flat(each.factors, shape), _flat(each.ids, shape))
            for each in addends
            if each.scale
        ]
        flat = [Addend(e.scale, None, np.where(e.factors != 0, e.ids, 0)) if _is_mask(e.factors) else e for e in flat]
        live = [each for each in flat if each.ids.any()]
        if not live:
            return np.zeros(shape, np.int64)
        plain = all(each.scale == 1 and each.factors is None for each in live)
        count = sum(((each.ids != 0).astype(np.int64) for each in live), start=np.zeros(live[0].ids.size, np.int64))
        only: Array = sum((each.ids for each in live), start=np.zeros(live[0].ids.size, np.int64))
        if plain and int(count.max()) <= 1:
            return only.reshape(shape)
        start = self._add(Total(tuple(live)), only.size)
        made = np.arange(start, start + only.size)
        made = np.where(count == 0, 0, np.where((count == 1) & plain, only, made))
        return made.reshape(shape)

    def leaves(self, targets: Array) -> Iterator[Chunk]:
        """What some elements are made of: chunks of opaque tensors, constants and products, sums unfolded.

        Raises:
            OutsideError: that is too much work, or factors can't be determined exactly.
        """
        waiting: dict[int, list[Chunk]] = {}
        order: list[int] = []

        def push(places: Array, ids: Array, scale: Fraction, factors: Array | None) -> None:
            for at, place in self._by_block(ids):
                block = self._blocks[at]
                if block is None:
                    continue
                if at not in waiting:
                    waiting[at] = []
                    heapq.heappush(order, -at)
                taken = places[place], ids[place] - self._starts[at]
                self.budget.spend(work=taken[0].size)
                waiting[at].append(Chunk(block, *taken, scale, None if factors is None else factors[place]))

        push(np.arange(targets.size), targets, Fraction(1), None)
        while order:
            chunks = waiting.pop(-heapq.heappop(order))
            if not isinstance(chunks[0].block, Total):
                yield from chunks
                continue
            for chunk in _merged(chunks):
                for addend in chunk.block.addends if isinstance(chunk.block, Total) else ():
                    own = None if addend.factors is None else addend.factors[chunk.offsets]
                    factors = (
                        own if chunk.factors is None else chunk.factors if own is None else _times(own, chunk.factors)
                    )
                    push(chunk.targets, addend.ids[chunk.offsets], chunk.scale * addend.scale, factors)

    def factor_in(self, ids: Array) -> Fraction:
        """The factor by which the first element that is not zero takes the first thing it is made of; 1 for none."""
        made_of = [each for each in self.leaves(ids[ids != 0][:1]) if not isinstance(each.block, Constant)]
        first = [each for each in made_of if _is_same(each, made_of[0])]
        taken = (each.scale * (1 if each.factors is None else Fraction(float(each.factors[0]))) for each in first)
        return sum(taken, Fraction(0)) or Fraction(1)

    def _by_block(self, ids: Array) -> list[tuple[int, Array | slice]]:
        """The blocks in which elements lie, and which of them lie in each."""
        if not ids.size:
            return []
        first, last = (bisect_right(self._starts, int(ids.min())) - 1, bisect_right(self._starts, int(ids.max())) - 1)
        if first == last:
            return [(first, slice(None))]
        where = np.searchsorted(np.asarray(self._starts[first : last + 1]), ids, side="right") - 1
        return [(first + int(at), np.flatnonzero(where == at)) for at in np.unique(where)]


def _is_same(one: Chunk, other: Chunk) -> bool:
    """Whether two chunks of one target take the same element, or the same of one product."""
    blocks = [each.block.product if isinstance(each.block, Dot) else id(each.block) for each in (one, other)]
    return blocks[0] == blocks[1] and bool(one.offsets[0] == other.offsets[0])


def _flat(values: Array, shape: Shape) -> Array:
    return np.broadcast_to(values, shape).reshape(-1)


def _is_mask(factors: Array | None) -> bool:
    return factors is not None and bool(np.isin(factors, (0.0, 1.0)).all())


def _times(one: Array, other: Array) -> Array:
    """The product of factors, which must not be rounded: Dekker's error of each multiplication is zero."""
    product: Array = one * other
    (high, low), (other_high, other_low) = _halves(one), _halves(other)
    error = ((high * other_high - product) + high * other_low + low * other_high) + low * other_low
    if error.any() or not np.isfinite(error).all():
        message = "its factors can't be multiplied exactly"
        raise OutsideError(message)
    return product


def _halves(values: Array) -> tuple[Array, Array]:
    spread = values * 134_217_729.0  # 2^27 + 1: the upper 26 bits, and the rest (Veltkamp)
    high = spread - (spread - values)
    return high, values - high


def factors_of(chunk: Chunk) -> Array:
    """Scale and factors of a chunk as float64, one for each target.

    Raises:
        OutsideError: they are no float64 exactly.
    """
    scale = float(chunk.scale)
    if Fraction(scale) != chunk.scale:
        message = f"a sum is multiplied by {chunk.scale}"
        raise OutsideError(message)
    ones = np.full(chunk.targets.size, scale)
    return ones if chunk.factors is None else _times(chunk.factors, ones)


def _merged(chunks: list[Chunk]) -> Iterator[Chunk]:
    """The same with what several chunks take of one element added up, so that doublings don't double the work."""
    if len(chunks) == 1:
        yield chunks[0]
        return
    if len({chunk.scale for chunk in chunks if chunk.factors is None}) == 1 and _are_apart(chunks):
        targets = np.concatenate([chunk.targets for chunk in chunks])
        offsets = np.concatenate([chunk.offsets for chunk in chunks])
        yield Chunk(chunks[0].block, targets, offsets, chunks[0].scale, None)
        return
    targets = np.concatenate([chunk.targets for chunk in chunks])
    offsets = np.concatenate([chunk.offsets for chunk in chunks])
    factors = np.concatenate([factors_of(chunk) for chunk in chunks])
    width = int(offsets.max()) + 1
    keys, place = np.unique(targets * width + offsets, return_inverse=True)
    total = np.bincount(place, weights=factors)
    largest = np.bincount(place, weights=np.abs(factors)).max() * _FINE
    if largest >= _ALL_BITS or (np.mod(factors * _FINE, 1) != 0).any():
        message = "its factors can't be added up exactly"
        raise OutsideError(message)
    keys, total = keys[total != 0], total[total != 0]
    targets, offsets = np.divmod(keys, width)
    rank = np.arange(targets.size) - np.searchsorted(targets, targets)  # keys are sorted, and so are targets
    for turn in range(int(rank.max(initial=-1)) + 1):
        now = rank == turn
        yield Chunk(chunks[0].block, targets[now], offsets[now], Fraction(1), total[now])


def _are_apart(chunks: list[Chunk]) -> bool:
    """Whether no target occurs twice, and nothing has factors."""
    if any(chunk.factors is not None for chunk in chunks):
        return False
    targets = np.concatenate([chunk.targets for chunk in chunks])
    return np.unique(targets).size == targets.size
