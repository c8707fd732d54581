"""Numbers that know of what they were made: a quantity that is given them says its own formula.

A value is a sum of products of atoms. An atom is a key of the config, or a quotient that is rounded up or down.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Number: TypeAlias = int | float | Fraction
Powers: TypeAlias = tuple[tuple["Atom", int], ...]
_MOST_TERMS = 200


@dataclass(frozen=True, slots=True)
class Atom:
    """A key of the config, or what `of` comes to where that is rounded `up` or `down`, or 1 `over` it."""

    kind: str  # key, up, down, over
    name: str = ""
    of: Sum = ()

    def made_of(self) -> frozenset[str]:
        """All keys of the config that it is made of."""
        return frozenset({self.name}) if self.kind == "key" else sum_keys(self.of)


@dataclass(frozen=True, slots=True)
class Product:
    """So many `times` a product of powers of atoms."""

    times: Fraction
    powers: Powers

    def made_of(self) -> frozenset[str]:
        """All keys of the config that it is made of."""
        return frozenset(key for atom, _ in self.powers for key in atom.made_of())

    def exponents(self) -> Mapping[str, int]:
        """How often each key stands in it, other than inside of what is rounded."""
        return {atom.name: power for atom, power in self.powers if atom.kind == "key"}


Sum: TypeAlias = tuple[Product, ...]


def sum_keys(of: Sum) -> frozenset[str]:
    """All keys of the config that a sum is made of."""
    return frozenset(key for product in of for key in product.made_of())


def _order(powers: Powers) -> str:
    return repr(powers)


def _sum(products: Iterator[Product]) -> Sum:
    found: dict[Powers, Fraction] = {}
    for each in products:
        found[each.powers] = found.get(each.powers, Fraction(0)) + each.times
    if len(found) > _MOST_TERMS:
        message = "the formula has too many terms"
        raise ValueError(message)
    return tuple(Product(found[powers], powers) for powers in sorted(found, key=_order) if found[powers])


def _times(one: Sum, other: Sum) -> Sum:
    def both(a: Product, b: Product) -> Product:
        powers = dict(a.powers)
        for atom, power in b.powers:
            powers[atom] = powers.get(atom, 0) + power
        kept = sorted(((atom, power) for atom, power in powers.items() if power), key=repr)
        return Product(a.times * b.times, tuple(kept))

    return _sum(both(a, b) for a in one for b in other)


def _over(below: Sum) -> Sum:
    """1 over a sum."""
    if len(below) == 1:
        (only,) = below
        return (Product(1 / only.times, tuple((atom, -power) for atom, power in only.powers)),)
    return (Product(Fraction(1), ((Atom("over", of=below), 1),)),)


class Symbol:
    """A number with the sum that it came of. It compares, and hashes, as the number does."""

    __slots__ = ("sum", "value")

    def __init__(self, value: Number, of: Sum) -> None:
        self.value, self.sum = value, of

    @classmethod
    def key(cls, name: str, value: Number) -> Symbol:
        """What a config has under a key."""
        return cls(value, (Product(Fraction(1), ((Atom("key", name), 1),)),))

    def _with(self, value: Any, of: Sum) -> Symbol:
        return Symbol(value, of)

    def __add__(self, other: Any) -> Symbol:
        return self._with(self.value + plain(other), _sum(iter((*self.sum, *sum_of(other)))))

    __radd__ = __add__

    def __neg__(self) -> Symbol:
        return self._with(-self.value, tuple(Product(-each.times, each.powers) for each in self.sum))

    def __sub__(self, other: Any) -> Symbol:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> Symbol:
        return self.__neg__().__add__(other)

    def __mul__(self, other: Any) -> Symbol:
        return self._with(self.value * plain(other), _times(self.sum, sum_of(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Symbol:
        return self._with(Fraction(self.value) / Fraction(plain(other)), _times(self.sum, _over(sum_of(other))))

    def __rtruediv__(self, other: Any) -> Symbol:
        return self._with(Fraction(plain(other)) / Fraction(self.value), _times(sum_of(other), _over(self.sum)))

    def __floordiv__(self, other: Any) -> Symbol:
        return self.__truediv__(other).rounded("down")

    def __rfloordiv__(self, other: Any) -> Symbol:
        return self.__rtruediv__(other).rounded("down")

    def __mod__(self, other: Any) -> Symbol:
        return self.__sub__(self.__floordiv__(other).__mul__(other))

    def __ceil__(self) -> Symbol:
        return self.rounded("up")

    def __floor__(self) -> Symbol:
        return self.rounded("down")

    def __pow__(self, power: Any) -> Symbol:
        if not isinstance(power, int) or power < 1:
            return NotImplemented
        found = self
        for _ in range(power - 1):
            found = found * self
        return found

    def rounded(self, kind: str) -> Symbol:
        """It, rounded; of what is negative the other way, so that -(-a // b) is a quotient rounded up."""
        if not self.sum or all(each.times.denominator == 1 and _is_whole(each) for each in self.sum):
            return self
        if self.value < 0:
            return -((-self).rounded("up" if kind == "down" else "down"))
        down = Fraction(self.value) // 1
        value = int(down + (kind == "up" and down != self.value))
        return self._with(value, (Product(Fraction(1), ((Atom(kind, of=self.sum), 1),)),))

    def __bool__(self) -> bool:
        return bool(self.value)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == plain(other))

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < plain(other))

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= plain(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > plain(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= plain(other))

    def __hash__(self) -> int:
        return hash(self.value)

    def __index__(self) -> int:
        return int(self.value)


def _is_whole(product: Product) -> bool:
    return all(power > 0 and atom.kind != "over" for atom, power in product.powers)


def plain(value: Any) -> Any:
    """The number alone."""
    return value.value if isinstance(value, Symbol) else value


def sum_of(value: Any) -> Sum:
    """Of what a number came; of any other than a Symbol it is itself."""
    if isinstance(value, Symbol):
        return value.sum
    number = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    return (Product(number, ()),) if number else ()
