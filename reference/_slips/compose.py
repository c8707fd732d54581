"""Parts of a value, slips that change them, and what comes of each slip and of several together.

A value is a sum of parts. A slip of the aspect `size` forgets a property of the layers before the parts are found; one
of `row` gives each part the name of another row; one of an aspect in `ADDING` says what each part adds to its weight,
which is 1 where it counts and 0 where it does not; any other says by what each part is multiplied. So a product of
slips needs no code of its own, and thousands of them cost a few products of matrices. Two slips of one aspect exclude
each other, but for those in `TOGETHER`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Names: TypeAlias = tuple[str, ...]
Factors: TypeAlias = Sequence[int | Fraction]
SIZE, EXTRA, WHICH, ROW = "size", "extra", "which", "row"
ADDING = frozenset({EXTRA, WHICH})
TOGETHER = {SIZE: 3, EXTRA: 2, "left out": 2}  # aspects of which one can get several wrong at once
_NOISE = Fraction(1, 10**9)  # between two ways of computing the same in floating point
_CLOSE = 1e-9  # what is that close is computed exactly


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One summand. `row`: the row of a table that it belongs to; `source`: what it was made of, for slips to look at.

    A part that is not `counted` is what somebody may count all the same: a bias, a buffer, an operation of a pool.
    `thing`: what is counted, where several parts are of the same.
    """

    row: str
    count: int | Fraction
    source: Any
    kind: str = ""
    counted: bool = True
    thing: int | None = None


Parts: TypeAlias = Sequence[Part]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slip:
    """One way of being wrong. `says` is the sentence for a student: the cause, then the remedy.

    `change` takes a module (`of="size"`) or all parts, of which it gives the weights to add, the factors or the rows
    (`of="row"`), and raises ValueError where there is no occasion for it.
    """

    of: str
    says: str
    change: Callable[[Any], Any]


Library: TypeAlias = Mapping[str, Slip]


@dataclass(frozen=True, kw_only=True)
class WantedProducts:
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
            yield from (names for names in combinations(library, size) if compatible(names, library))


def compatible(names: Names, library: Library) -> bool:
    """Whether one can make all of these mistakes at once."""
    aspects = [library[name].of for name in names]
    return all(aspects.count(each) <= TOGETHER.get(each, 1) for each in aspects)


@dataclass(kw_only=True)
class Composition:
    """What slips of a library make of the parts that `make` finds; it takes changes of modules."""

    library: Library
    make: Callable[[Sequence[Callable[[Any], None]]], Parts]
    _found: dict[Names, _SlippedParts] = field(default_factory=dict)

    def found(self, sizes: Names) -> _SlippedParts:
        """The parts as these slips of sizes let one find them; what `make` gives again was looked at before.

        Raises:
            ValueError: the subject gives no occasion for one of them.
        """
        if sizes not in self._found:
            try:
                parts = self.make([self.library[name].change for name in sizes])
                same = (each for each in self._found.values() if each.parts is parts)
                self._found[sizes] = next(same, None) or _SlippedParts(parts=parts, library=self.library)
            except ValueError as error:
                self._found[sizes] = _SlippedParts(parts=(), library=self.library, problem=str(error))
        kept = self._found[sizes]
        if kept.problem:
            raise ValueError(kept.problem)
        return kept

    def rows(self, names: Names) -> dict[str, int | Fraction]:
        """What the parts of each row add up to, of a hypothesis.

        Raises:
            ValueError: the subject gives no occasion for one of its slips.
        """
        found = self.found(tuple(name for name in names if self.library[name].of == SIZE))
        for name in names:
            if self.library[name].of == ROW:
                found = found.renamed(name)
        return found.rows([name for name in names if self.library[name].of not in (SIZE, ROW)])

    def totals(self, wanted: WantedProducts) -> Iterator[tuple[Names, int | Fraction]]:
        """Each hypothesis that there is an occasion for with the sum of all rows."""
        bounds = wanted.bounds
        for names in self._likely(wanted):
            try:
                total = sum(self.rows(names).values())
            except ValueError:
                continue
            if bounds is None or (bounds[0] <= total <= bounds[1] and not self._contradict(names)):
                yield names, total

    def _contradict(self, names: Names) -> bool:
        """Whether one slip counts things once more, of which another one leaves out all that is counted anyway.

        Then each is counted as often as it should be, and the sentences of both say something else.
        """
        adding = [name for name in names if self.library[name].of == EXTRA]
        if not adding or len(names) == 1:
            return False
        found = self.found(tuple(name for name in names if self.library[name].of == SIZE))
        others = [name for name in names if self.library[name].of not in (SIZE, ROW, *ADDING)]
        return any(found.makes_up_for(other, added) for added in adding for other in others)

    def tables(self, wanted: WantedProducts) -> Iterator[tuple[Names, dict[str, int | float]]]:
        """Each hypothesis with its rows, those of nothing left out."""
        for names in wanted.sets(self.library):
            try:
                yield names, {row: plain(count) for row, count in self.rows(names).items() if count}
            except ValueError:
                continue

    def _likely(self, wanted: WantedProducts) -> Iterator[Names]:
        """Yield the hypotheses; where a value is looked for, those whose value is near it."""
        if wanted.bounds is None or wanted.among is not None:
            yield from wanted.sets(self.library)
            return
        sizes = [name for name, slip in self.library.items() if slip.of == SIZE]
        for count in range(min(wanted.most, TOGETHER[SIZE]) + 1):
            for chosen in combinations(sizes, count):
                try:
                    found = self.found(chosen)
                except ValueError:
                    continue
                near = found.near(wanted.bounds, wanted.most - count)
                yield from (each for names in near if compatible(each := (*chosen, *names), self.library))


class _Effect(NamedTuple):
    """What a slip adds to each part, or multiplies it by: whole numbers `over` one that is common to all.

    To compute with these takes a tenth of the time that fractions take.
    """

    adds: bool
    said: tuple[int, ...]
    over: int


def _effect_of(said: Factors, *, adds: bool) -> _Effect:
    over = math.lcm(*(each.denominator for each in said))
    return _Effect(adds, tuple(each.numerator * (over // each.denominator) for each in said), over)


@dataclass(kw_only=True)
class _SlippedParts:
    """Parts, and what each slip of a library says of them."""

    parts: Parts
    library: Library
    problem: str = ""
    _said: dict[str, Factors | None] = field(default_factory=dict)
    _effects: list[_Effect] = field(default_factory=list)
    _effect_of: dict[str, int] = field(default_factory=dict)
    _numbered: dict[_Effect, int] = field(default_factory=dict)
    _sums: dict[tuple[int, ...], dict[str, int | Fraction]] = field(default_factory=dict)
    _renamed: dict[str, _SlippedParts] = field(default_factory=dict)

    def said(self, name: str) -> Factors | None:
        """What a slip adds to the parts, or multiplies them by; None where there is no occasion."""
        if name not in self._said:
            try:
                self._said[name] = self.library[name].change(self.parts)
            except ValueError:
                self._said[name] = None
        return self._said[name]

    def renamed(self, name: str) -> _SlippedParts:
        """The parts in the rows that a slip gives them."""
        if name not in self._renamed:
            rows = self.library[name].change(self.parts)
            parts = [replace(part, row=row) for part, row in zip(self.parts, rows, strict=True)]
            self._renamed[name] = _SlippedParts(parts=parts, library=self.library)
        return self._renamed[name]

    def rows(self, names: Sequence[str]) -> dict[str, int | Fraction]:
        """The sum of each row. Of thousands of products most come to what another one did.

        Raises:
            ValueError: there is no occasion for a slip.
        """
        effects = tuple(sorted(filter(None, map(self._effect, names))))
        if effects not in self._sums:
            self._sums[effects] = self._summed(effects)
        return self._sums[effects]

    def _effect(self, name: str) -> int:
        """What a slip does, as a number: the same for slips that do the same, 0 for nothing.

        Raises:
            ValueError: there is no occasion for it.
        """
        said = self.said(name)
        if said is None:
            message = f"there is no occasion for the slip '{name}'"
            raise ValueError(message)
        if name not in self._effect_of:
            self._effect_of[name] = self._number(_effect_of(said, adds=self.library[name].of in ADDING))
        return self._effect_of[name]

    def _number(self, effect: _Effect) -> int:
        if all(each == (0 if effect.adds else effect.over) for each in effect.said):
            return 0
        if effect not in self._numbered:
            self._effects.append(effect)
            self._numbered[effect] = len(self._effects)
        return self._numbered[effect]

    def _summed(self, effects: Sequence[int]) -> dict[str, int | Fraction]:
        weights, over = [int(part.counted) for part in self.parts], 1
        for adds, said, below in sorted((self._effects[each - 1] for each in effects), key=lambda each: not each.adds):
            if adds:
                weights = [one * below + other * over for one, other in zip(weights, said, strict=True)]
            else:
                weights = [one * other for one, other in zip(weights, said, strict=True)]
            over *= below
        rows: dict[str, int | Fraction] = {}
        for part, weight in zip(self.parts, weights, strict=True):
            if weight:
                rows[part.row] = rows.get(part.row, 0) + part.count * weight
        return rows if over == 1 else {row: _exact(Fraction(total, over)) for row, total in rows.items()}

    def makes_up_for(self, name: str, adding: str) -> bool:
        """Whether a slip leaves out whatever counts anyway of the things that another one adds, and they do count."""
        added, factors = self.said(adding) or (), self.said(name) or ()
        things = {part.thing for part, more in zip(self.parts, added, strict=False) if more and not part.counted}
        anyway = [
            factor
            for part, factor in zip(self.parts, factors, strict=False)
            if part.counted and part.thing in things and part.thing is not None
        ]
        return bool(anyway) and not any(anyway)

    def near(self, bounds: tuple[Fraction, Fraction], most: int) -> Iterator[Names]:
        """The products of at most so many slips whose value is about between the bounds, in floating point."""
        low, high = (float(each) for each in bounds)
        room = _CLOSE * max(abs(low), abs(high))
        low, high = low - room, high + room
        if not most:  # what the slips say, which takes longest, is not asked for
            if low <= (self._counts * self._weights).sum() <= high:
                yield ()
            return
        adding = [name for name in self._occasions if self.library[name].of in ADDING]
        for count in range(most):
            for added in combinations(adding, count):
                weights = self._counts * (self._weights + sum(self._numbers[name] for name in added))
                yield from ((*added, *names) for names in self._multiplied(weights, low, high, most - count))
        # Where nothing is multiplied, a number says what each slip adds.
        whole = float((self._counts * self._weights).sum())
        adds = [float((self._counts * self._numbers[name]).sum()) for name in adding]
        for places in combinations(range(len(adding)), most):
            if low <= whole + sum(adds[at] for at in places) <= high:
                yield tuple(adding[at] for at in places)

    def _multiplied(self, weights: Any, low: float, high: float, most: int) -> Iterator[Names]:
        if low <= weights.sum() <= high:
            yield ()
        if not most or not self._multiplying:
            return
        factors = self._matrix
        yield from self._hits(factors @ weights, (), low, high)
        if most > 1:
            yield from self._hits((factors * weights) @ factors.T, (), low, high)
        if most > 2:  # noqa: PLR2004 - the third one
            for at in range(len(self._multiplying) - 2):
                rest = factors[at + 1 :]
                yield from self._hits((rest * (weights * factors[at])) @ rest.T, (at,), low, high)

    def _hits(self, values: Any, before: tuple[int, ...], low: float, high: float) -> Iterator[Names]:
        first = before[-1] + 1 if before else 0  # those before it were combined with it already
        for place in np.argwhere((values >= low) & (values <= high)):
            places = (*before, *(int(each) + first for each in place))
            if all(one < other for one, other in pairwise(places)):
                yield tuple(self._multiplying[each] for each in places)

    @cached_property
    def _occasions(self) -> list[str]:
        return [name for name, slip in self.library.items() if slip.of != SIZE and self.said(name) is not None]

    @cached_property
    def _multiplying(self) -> list[str]:
        return [name for name in self._occasions if self.library[name].of not in ADDING]

    @cached_property
    def _numbers(self) -> dict[str, Any]:
        return {name: np.array([float(each) for each in self.said(name) or ()]) for name in self._occasions}

    @cached_property
    def _matrix(self) -> Any:
        return np.array([self._numbers[name] for name in self._multiplying])

    @cached_property
    def _counts(self) -> Any:
        return np.array([float(part.count) for part in self.parts])

    @cached_property
    def _weights(self) -> Any:
        return np.array([float(part.counted) for part in self.parts])


def _exact(value: int | Fraction) -> int | Fraction:
    """The same number, as an integer where it is one: to compute with those takes a tenth of the time."""
    return int(value) if value.denominator == 1 else value


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


def applied(units: Library, value: int, wanted: WantedProducts) -> Iterator[tuple[Names, int | Fraction]]:
    """What units make of a value that is no sum."""
    whole = Composition(library=units, make=lambda _: [Part(row="", count=value, source=None)])
    return whole.totals(wanted)
