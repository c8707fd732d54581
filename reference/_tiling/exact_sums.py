"""Sums in float64 of which is known whether they were rounded, and elements that come to numbers alone."""

from __future__ import annotations

import numpy as np

from .elements import Chunk, Constant, Dot, Pool, factors_of
from .values import Array, OutsideError

_HALF_A_UNIT = 2.0**-24  # of the last place of a float32, to its own size


def come_to(values: Array, wanted: Array, *, is_computed: Array | bool) -> Array:
    """Where numbers are the ones wanted; what several constants come to may be off by what their rounding explains.

    Three times a third of a bias is not quite the bias, and no file can say it better: each constant was rounded to
    half a unit of its last place. A constant that stands alone must be the one wanted.
    """
    narrow = np.abs(wanted.astype(np.float32))
    room = narrow * _HALF_A_UNIT + np.spacing(narrow).astype(np.float64) / 2
    near: Array = np.abs(values - wanted) <= room
    same: Array = (values == wanted) | (near & is_computed)
    return same


class Sums:
    """Sums in float64 that know what is a sum of several or scaled, and what was rounded: Knuth's TwoSum."""

    def __init__(self, *shape: int) -> None:
        self.values = np.zeros(shape)
        self.is_rounded = np.zeros(shape[-1:], bool)
        self.is_computed = np.zeros(shape[-1:], bool)

    def add(self, place: tuple[Array | slice, ...], addend: Array) -> None:
        """Add to a part of which every element occurs once."""
        held = self.values[place]
        both = held + addend
        if held.any():
            self.is_computed[place[-1]] |= held.any(axis=0) if held.ndim > 1 else held != 0
            taken = both - held
            error = (held - (both - taken)) + (addend - taken)
            if error.any():
                self.is_rounded[place[-1]] |= (error != 0).any(axis=0) if error.ndim > 1 else error != 0
        self.values[place] = both

    def add_scaled(self, place: tuple[Array | slice, ...], values: Array, chunk: Chunk) -> None:
        """The same of values that the chunk multiplies by its scale and factors.

        Raises:
            OutsideError: as `exactly` does.
        """
        self.is_computed[place[-1]] |= chunk.scale != 1 or chunk.factors is not None
        self.add(place, exactly(values, chunk))


def exactly(values: Array, chunk: Chunk) -> Array:
    """Weights of float32 times factors of at most 29 bits: float64 has room for them.

    Raises:
        OutsideError: the factors have more bits.
    """
    wide = values.astype(np.float64)
    if chunk.scale == 1 and chunk.factors is None:
        return wide
    factors = factors_of(chunk)
    if not np.array_equal(factors.astype(np.float32), factors):
        message = "its products are multiplied by numbers that are no float32"
        raise OutsideError(message)
    product: Array = wide * factors
    return product


def with_numbers(pool: Pool, chunks: list[Chunk], found: Array) -> Array:
    """Elements of layers, and those left (-1) that are numbers: what padding makes of a bias, say.

    A number that float32 does not hold exactly, such as a bias times the weights of the next layer, is NaN, which
    nothing equals: it may be cut away later, and is found to be nothing else.
    """
    left, sums = found < 0, Sums(found.size)
    if not left.any():
        return found
    is_known = np.ones(found.size, bool)
    for chunk in chunks:
        if isinstance(chunk.block, Constant):
            sums.add((chunk.targets,), exactly(chunk.block.values[chunk.offsets], chunk))
        elif isinstance(chunk.block, Dot):
            pool.budget.spend(work=chunk.block.weight.size)
            rows, columns = np.divmod(chunk.offsets, chunk.block.weight.shape[1])
            is_used = np.asarray((chunk.block.weight != 0).any(axis=0))[columns]
            of_numbers = pool.is_number(chunk.block.rows)
            left[chunk.targets[is_used & ~np.asarray(of_numbers.all(axis=1))[rows]]] = False
            is_known[chunk.targets[is_used & np.asarray((chunk.block.rows != 0).any(axis=1))[rows]]] = False
        else:
            left[chunk.targets] = False
    values = sums.values.astype(np.float32)
    values = np.where(is_known & ~sums.is_rounded & (values == sums.values), values, np.float32(np.nan))
    return np.where(left, pool.of(np.where(left, values, np.float32(0))), found)
