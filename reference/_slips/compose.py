"""Parts of a value, slips that change them, and what comes of each slip and of several together.

A value is made in three stages, and a slip acts on one of them: the subject is read (`of="size"`: a property of its
layers is forgotten), its parts are counted, and their sum is given in a unit (`of="unit"`). So a product of slips needs
no code of its own. Two slips of one stage and aspect exclude each other, but for those in `TOGETHER`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, TypeAlias

Names: TypeAlias = tuple[str, ...]
SIZE, UNIT = "size", "unit"
TOGETHER = frozenset({SIZE, "extra", "left out"})  # aspects of which one can get several wrong at once
_SEVERAL = 2
_NOISE = Fraction(1, 10**9)  # between two ways of computing the same in floating point


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One summand. `row`: the row of a table that it belongs to; `source`: what it was made of, for slips to look at.

    A part that is not `counted` is what somebody may count all the same: a bias, a buffer, an operation of a pool.
    """

    row: str
    count: int | Fraction
    source: Any
    kind: str = ""
    counted: bool = True


Parts: TypeAlias = Sequence[Part]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slip:
    """One way of being wrong. `says` is the sentence for a student: the cause, then the remedy.

    `change` takes a module (`of="size"`), a number (`of="unit"`) or all parts, and raises ValueError where there is no
    occasion for it.
    """

    of: str
    says: str
    change: Callable[[Any], Any]


Library: TypeAlias = Mapping[str, Slip]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which hypotheses are wanted: products of at most `most` slips, or those `among` these, written `groups+bias`.

    Only those whose value lies `between` two numbers, where they are given.
    """

    most: int = 1
    among: Sequence[str] | None = None
    between: Sequence[str] | None = None

    @cached_property
    def bounds(self) -> tuple[Fraction, Fraction] | None:
        """From where to where a value is the wanted one."""
        if self.between is None:
            return None
        low, high = map(Fraction, self.between)
        noise = 0 if low.denominator == 1 else abs(high) * _NOISE
        return low - noise, high + noise

    def sets(self, library: Library) -> Iterator[Names]:
        """The hypotheses, the simplest first."""
        if self.among is not None:
            yield from (tuple(each.split("+")) if each else () for each in self.among)
            return
        for size in range(self.most + 1):
            yield from (names for names in combinations(library, size) if _compatible(names, library))


def _compatible(names: Names, library: Library) -> bool:
    aspects = [library[name].of for name in names]
    return all(aspects.count(each) <= (_SEVERAL if each in TOGETHER else 1) for each in aspects)


@dataclass(kw_only=True)
class Composition:
    """What slips of a library make of the parts that `make` finds; it takes changes of modules."""

    library: Library
    make: Callable[[Sequence[Callable[[Any], None]]], Parts]
    _parts: dict[Names, Parts | None] = field(default_factory=dict)
    _sums: dict[Names, Any] = field(default_factory=dict)

    def parts(self, names: Names) -> Parts | None:
        """The parts that are left after these slips; None where the subject gives no occasion for one of them."""
        if names not in self._parts:
            try:
                self._parts[names] = self.changed(names)
            except ValueError:
                self._parts[names] = None
        return self._parts[names]

    def changed(self, names: Names) -> Parts | None:
        """The same, anew.

        Raises:
            ValueError: why there is no occasion.
        """
        if not names or self.library[names[-1]].of == SIZE:
            return self.make([self.library[name].change for name in names])
        before = self.parts(names[:-1])
        return None if before is None else self.library[names[-1]].change(before)

    def numbers(self, names: Names) -> Iterable[tuple[str, int | Fraction]] | None:
        """The sum of each row in its unit."""
        ordered = tuple(sorted(names, key=lambda name: self.library[name].of != SIZE))
        inner = tuple(name for name in ordered if self.library[name].of != UNIT)
        if inner not in self._sums:
            parts = self.parts(inner)
            self._sums[inner] = None if parts is None else summed(parts)
        rows = self._sums[inner]
        if rows is None:
            return None
        units = [self.library[name].change for name in names if self.library[name].of == UNIT]
        return [(row, _in_units(count, units)) for row, count in rows.items()]

    def totals(self, wanted: Wanted) -> Iterator[tuple[Names, int | Fraction]]:
        """Each hypothesis with the sum of all rows."""
        low, high = wanted.bounds or (None, None)
        sums: dict[Names, int | Fraction | None] = {}
        for names in wanted.sets(self.library):
            inner = tuple(name for name in names if name not in self._units)
            if inner not in sums:
                rows = self.numbers(inner)
                sums[inner] = None if rows is None else sum(count for _, count in rows)
            total = sums[inner]
            if total is None:
                continue
            total = _in_units(total, [self.library[name].change for name in names if name in self._units])
            if low is None or high is None or low <= total <= high:
                yield names, total

    @cached_property
    def _units(self) -> frozenset[str]:
        return frozenset(name for name, slip in self.library.items() if slip.of == UNIT)

    def tables(self, wanted: Wanted) -> Iterator[tuple[Names, dict[str, int | float]]]:
        """Each hypothesis with its rows, those of nothing left out."""
        for names in wanted.sets(self.library):
            rows = self.numbers(names)
            if rows is not None:
                yield names, {row: plain(count) for row, count in rows if count}


def _in_units(count: int | Fraction, units: Sequence[Callable[[Any], Any]]) -> int | Fraction:
    for unit in units:
        count = unit(count)
    return count


def summed(parts: Parts) -> dict[str, int | Fraction]:
    """What the parts of each row that are counted add up to."""
    rows: dict[str, int | Fraction] = {}
    for part in parts:
        if part.counted:
            rows[part.row] = rows.get(part.row, 0) + part.count
    return rows


def plain(value: int | Fraction) -> int | float:
    """A number as JSON has it."""
    return value if isinstance(value, int) else value.numerator if value.denominator == 1 else float(value)


def answered(library: Library, found: Iterable[tuple[Names, Any]]) -> dict[str, Any]:
    """What a function of slips returns: `values` with the names of their slips, and the sentences of those."""
    values: list[Any] = []
    used: dict[str, str] = {}
    for names, value in found:
        values.append(["+".join(names), plain(value) if isinstance(value, Fraction) else value])
        used |= {name: library[name].says for name in names}
    return {"values": values, "says": used}


# ---- what slips of many quantities do ----------------------------------------------------------------------------


def times(factor: Callable[[Any], int | Fraction], kinds: Sequence[str] = ("",)) -> Callable[[Parts], Parts]:
    """Multiply the parts of these kinds by what `factor` says of their source; 1 leaves them."""

    def change(parts: Parts) -> Parts:
        return [_scaled(part, factor(part.source)) if part.kind in kinds else part for part in parts]

    return change


def _scaled(part: Part, factor: int | Fraction) -> Part:
    if factor == 1:
        return part
    return Part(row=part.row, count=part.count * factor, source=part.source, kind=part.kind, counted=part.counted)


def without(test: Callable[[Any], bool], kinds: Sequence[str] = ("",)) -> Callable[[Parts], Parts]:
    """Leave out the parts of these kinds whose source passes the test."""
    return lambda parts: [part for part in parts if part.kind not in kinds or not test(part.source)]


def also(kind: str, factor: int | Fraction = 1) -> Callable[[Parts], Parts]:
    """Count the parts of a kind, too."""

    def change(parts: Parts) -> Parts:
        return [
            Part(row=part.row, count=part.count * factor, source=part.source, kind=kind) if part.kind == kind else part
            for part in parts
        ]

    return change


def first_left_out(parts: Parts) -> Parts:
    """Leave out the first row."""
    return _without_row(parts, 0)


def last_left_out(parts: Parts) -> Parts:
    """Leave out the last row."""
    return _without_row(parts, -1)


def _without_row(parts: Parts, at: int) -> Parts:
    rows = list(dict.fromkeys(part.row for part in parts if part.counted and part.count))
    if not rows:
        message = "there is nothing to leave out"
        raise ValueError(message)
    return [part for part in parts if part.row != rows[at]]


def _unit(factor: Fraction | int, says: str) -> Slip:
    return Slip(of=UNIT, says=says, change=lambda value: value * Fraction(factor))


_WHOLE = "Give the whole number."
UNITS: Library = {
    "twice": _unit(
        2, "Everything is counted twice. Look for a factor of 2, or for a walk that meets each thing twice."
    ),
    "half": _unit(Fraction(1, 2), "This is half of the value. Look for a division by 2."),
    "in_thousands": _unit(Fraction(1, 10**3), f"The value is divided by 1,000. {_WHOLE}"),
    "in_millions": _unit(Fraction(1, 10**6), f"The value is divided by 1,000,000. {_WHOLE}"),
    "in_billions": _unit(Fraction(1, 10**9), f"The value is divided by 1,000,000,000. {_WHOLE}"),
    "in_kibi": _unit(Fraction(1, 2**10), f"The value is divided by 1,024. {_WHOLE}"),
    "in_mebi": _unit(Fraction(1, 2**20), f"The value is divided by 1,048,576. {_WHOLE}"),
    "in_gibi": _unit(Fraction(1, 2**30), f"The value is divided by 2^30. {_WHOLE}"),
}
BYTE_UNITS: Library = {
    **UNITS,
    "bits": _unit(8, "This is the size in bits. A byte has eight."),
    "mib_as_mb": _unit(
        Fraction(10**6, 2**20),
        "The figure is in MiB (divided by 1,048,576), but MB is written behind it. Write MiB, or divide by 1,000,000.",
    ),
    "mb_as_mib": _unit(
        Fraction(2**20, 10**6),
        "The figure is in MB (divided by 1,000,000), but MiB is written behind it. Write MB, or divide by 1,048,576.",
    ),
    "kib_as_kb": _unit(
        Fraction(10**3, 2**10),
        "The figure is in KiB (divided by 1,024), but KB is written behind it. Write KiB, or divide by 1,000.",
    ),
    "kb_as_kib": _unit(
        Fraction(2**10, 10**3),
        "The figure is in KB (divided by 1,000), but KiB is written behind it. Write KB, or divide by 1,024.",
    ),
}


def ratio(above: Iterable[int], below: Iterable[int]) -> Fraction:
    """The quotient of two products."""
    return Fraction(math.prod(above), math.prod(below))
