"""The slips of any formula: see `formulas`. Sentences name keys of the config, as the student writes them."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias
from zlib import crc32

from .common import BYTE_UNITS, UNITS, also
from .compose import ADDING, Slip
from .formulas import Otherwise, Values, counted, nearest, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .compose import Factors, Library, Part, Parts
    from .symbols import Atom, Powers, Product

_BITS, _BYTES = (1, 2, 4, 8, 16, 32), (1, 2, 4, 8)
_SALTS, _LARGEST = ("one", "another", "a third"), 997  # for values of keys on which slips are told apart
_MOST_KEYS = 4  # of a part, in a sentence
_MOST_PARTS = 12  # of which each is looked at by itself


def _all_times(factor: Fraction, parts: Parts) -> Factors:
    return [factor] * len(parts)


def _so_many(factor: Fraction, _: Any) -> Fraction:
    return factor


_WHOLE: Library = {
    f"{factor} in all": Slip(of="unit", says=says, change=partial(_all_times, factor))
    for factor, says in (
        (Fraction(4), "The value is four times what it should be."),
        (Fraction(1, 4), "The value is a quarter of what it should be."),
        (Fraction(8), "The value is eight times what it should be."),
        (Fraction(1, 8), "The value is an eighth of what it should be."),
    )
}
_FEW = 4  # equal parts, of which some may be left out
_SWAPPED = 12  # keys: with more, any number is some product of them
_FACTORS: Mapping[Fraction, str] = {
    Fraction(1, 2): "{} is half of what it should be.",
    Fraction(2): "{} is twice what it should be.",
}
_different: dict[str, list[str]] = {}  # the slips that do different things, by what a formula looks like
Scope: TypeAlias = "Callable[[Product], bool]"
_Scoped: TypeAlias = tuple[str, str, Scope]  # a name, words behind "what depends on", and which products these are


def library(parts: Sequence[Part], values: Values, quantity: str, known: Mapping[str, str]) -> Library:
    """All slips of a formula that do different things, by names that are the same wherever the formula is the same.

    `known`: the sentences of those that are known of this quantity alone, which tell more than others do.
    """
    shape = repr((quantity, sorted(values), [(each.row, each.source, each.kind) for each in parts]))
    if shape not in _different:
        some = [{key: Fraction(crc32(f"{key} {salt}".encode()) % _LARGEST + 1) for key in values} for salt in _SALTS]
        same = [(_all(parts, each, quantity, known), counted(parts, each)) for each in some]
        seen = {_effects("", same): ""}
        for name in same[0][0]:
            seen.setdefault(_effects(name, same), name)
        _different[shape] = [name for name in seen.values() if name]
    slips = _all(parts, values, quantity, known)
    return {name: slips[name] for name in _different[shape]}


def _effects(name: str, same: Sequence[tuple[Library, Parts]]) -> str:
    """What a slip makes of each product of keys, for some values of the keys; no name stands for no slip."""
    found = []
    for slips, parts in same:
        weights: list[int | Fraction] = [int(part.counted) for part in parts]
        try:
            said = slips[name].change(parts) if name in slips else None
        except ValueError:
            said = None
        if name and said is not None:
            adds = slips[name].of in ADDING
            weights = [one + other if adds else one * other for one, other in zip(weights, said, strict=True)]
        sums: dict[Any, int | Fraction] = {}
        for part, weight in zip(parts, weights, strict=True):
            place = part.row, part.source.powers
            sums[place] = sums.get(place, 0) + part.count * weight
        found.append(sorted((repr(place), str(value)) for place, value in sums.items() if value))
    return repr(found)


def _all(parts: Sequence[Part], values: Values, quantity: str, known: Mapping[str, str]) -> Library:
    own = [each.source for each in parts if each.counted]
    units = BYTE_UNITS if "bytes" in quantity else UNITS
    table = any(each.row for each in parts)
    found = {kind: Slip(of="extra", says=says, change=also(kind)) for kind, says in known.items()}
    found |= {**units, **_WHOLE}
    if not table:
        scopes = list(_scopes(own))
        found |= dict(_off_by_some(own))
        found |= dict(_left_out(own, scopes))
        found |= dict(_keys(own, scopes, values))
        found |= dict(_rounded(own, scopes, values))
    return found


def is_likely(name: str) -> bool:
    """Whether many make a slip, so that it is looked for beside another one."""
    of, _, place = name.partition("@")
    whole = not place and (" as " in of or of.endswith(" once"))
    return whole or of.startswith(("no ", "whole ", "1/2 ", "2 ", "opposite ", "twice", "half"))


# ---- which parts are meant ------------------------------------------------------------------------------------------


def _scopes(own: Sequence[Product]) -> Iterator[_Scoped]:
    """Parts that belong together: those that a key is in, and each by itself; each choice of parts once."""
    seen = {frozenset(range(len(own))), frozenset()}
    keys = sorted({key for each in own for key in each.made_of()})
    for key in keys:
        chosen = frozenset(at for at, each in enumerate(own) if key in each.made_of())
        if chosen not in seen:
            seen.add(chosen)
            yield key, f"`{key}`", partial(_has, key)
    for at, each in enumerate(own if len(own) <= _MOST_PARTS else ()):
        if frozenset({at}) not in seen:
            seen.add(frozenset({at}))
            name, kept = _signature(each), each.powers
            if words := _told_apart(each, own, keys):
                yield name, words, partial(_is, kept)


def _told_apart(product: Product, own: Sequence[Product], keys: Sequence[str]) -> str:
    """The fewest keys that say which product is meant: those that it is made of, and those that it is not made of.

    Nothing where keys do not say it: where others are made of the same ones, or it is made of all.
    """
    for size in range(1, _MOST_KEYS):
        for some in combinations([*product.made_of()], size):
            for others in _without(product, keys, size):
                meant = [each for each in own if {*some} <= each.made_of() and not {*others} & each.made_of()]
                if meant == [product]:
                    return _listed(sorted(some)) + (f", but not on {_listed(sorted(others), 'or')}" if others else "")
    alone = [each for each in own if each.made_of() == product.made_of()] == [product]
    return f"{_listed(sorted(product.made_of()))} alone" if alone and product.made_of() != {*keys} else ""


def _without(product: Product, keys: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    for count in range(size + 1):
        yield from combinations([each for each in keys if each not in product.made_of()], count)


def _signature(product: Product) -> str:
    return ".".join(f"{_atom_name(atom)}{power}" for atom, power in product.powers) or "constant"


def _atom_name(atom: Atom) -> str:
    return atom.name or f"{atom.kind}({','.join(map(_signature, atom.of))})"


def _listed(keys: Sequence[str], word: str = "and") -> str:
    named = [f"`{key}`" for key in keys]
    return f"{', '.join(named[:-1])} {word} {named[-1]}" if len(named) > 1 else "".join(named) or "none of the keys"


def _changed(scope: Scope | None, by: Callable[[Product], Fraction | int]) -> Callable[[Parts], Factors]:
    """Multiply the parts of a scope by what `by` says.

    Raises:
        ValueError: there are none of these.
    """

    def change(parts: Parts) -> Factors:
        if not any(scope is None or scope(part.source) for part in parts if part.counted):
            message = "there is no such part"
            raise ValueError(message)
        try:
            return [by(part.source) if scope is None or scope(part.source) else 1 for part in parts]
        except ZeroDivisionError:
            message = "it comes to a division by 0"
            raise ValueError(message) from None

    return change


# ---- parts ----------------------------------------------------------------------------------------------------------


def _off_by_some(own: Sequence[Product]) -> Iterator[tuple[str, Slip]]:
    """That a key stands for itself less some: of `n - 1` the products that come of the 1 are missing."""
    by_powers = {each.powers: each.times for each in own}
    found: dict[tuple[Atom, int], set[Powers]] = {}
    for each in own:
        for atom, _ in each.powers:
            if atom.kind != "key":
                continue
            ratio = by_powers.get(_once_less(each.powers, atom), Fraction(0)) / each.times
            if ratio < 0 and ratio.denominator == 1:
                found.setdefault((atom, int(-ratio)), set()).add(_once_less(each.powers, atom))
    for (atom, less), powers in found.items():
        if len(powers) < len(own):
            says = f"`{atom.name}` stands in place of `{atom.name} - {less}`."
            change = _changed(partial(_is_one_of, frozenset(powers)), lambda _: 0)
            yield f"whole {atom.name} for less {less}", Slip(of="left out", says=says, change=change)


def _once_less(powers: Powers, atom: Atom) -> Powers:
    left = ((each, power - (each == atom)) for each, power in powers)
    return tuple((each, power) for each, power in left if power)


def _is_one_of(powers: frozenset[Powers], product: Product) -> bool:
    return product.powers in powers


def _left_out(own: Sequence[Product], scopes: Sequence[_Scoped]) -> Iterator[tuple[str, Slip]]:
    for name, words, scope in scopes:
        what = f"what depends on {words}"
        says = f"{what[0].upper()}{what[1:]} is missing."
        yield f"no {name}", Slip(of="left out", says=says, change=_changed(scope, lambda _: 0))
        says = f"Only {what} is counted."
        yield f"only {name}", Slip(of="left out", says=says, change=_changed(_not(scope), lambda _: 0))
        factors = {factor: text.format(what) for factor, text in _FACTORS.items()}
        chosen = [each for each in own if scope(each)]
        for factor, text in {**_of_equal(chosen, own, what), **factors}.items():
            said = f"{text[0].upper()}{text[1:]}"
            yield (
                f"{factor} {name}",
                Slip(of=f"times {name}", says=said, change=_changed(scope, partial(_so_many, factor))),
            )


def _has(key: str, product: Product) -> bool:
    return key in product.made_of()


def _is(powers: Powers, product: Product) -> bool:
    return product.powers == powers


def _not(scope: Scope) -> Scope:
    return lambda product: not scope(product)


def _of_equal(chosen: Sequence[Product], own: Sequence[Product], what: str) -> dict[Fraction, str]:
    """Some of a few equal parts that are one product by now."""
    whole = math.gcd(*(abs(each.times.numerator) for each in own))
    if len(chosen) != 1 or chosen[0].times.denominator != 1:
        return {}
    count = abs(chosen[0].times.numerator) // whole
    several = range(1, count) if 1 < count <= _FEW else ()
    found = {Fraction(some, count): f"{what} is {some} of {count} parts of what it should be." for some in several}
    return found | (
        {Fraction(count + 1, count): f"{what} is {count + 1} parts, and should be {count}."} if several else {}
    )


# ---- keys -----------------------------------------------------------------------------------------------------------


def _keys(own: Sequence[Product], scopes: Sequence[_Scoped], values: Values) -> Iterator[tuple[str, Slip]]:
    keys = sorted({key for each in own for key in each.made_of()})
    for place, where, scope in [
        ("", "", None),
        *((name, f" in what depends on {words}", each) for name, words, each in scopes),
    ]:
        there = [each for each in own if scope is None or scope(each)]
        for key in keys:
            inside = [each for each in there if key in each.made_of()]
            if not inside or (scope is not None and _same_as_all(key, inside, own)):
                continue
            yield from _of_key(key, place, where, _both(scope, key), inside, values)


def _same_as_all(key: str, inside: Sequence[Product], own: Sequence[Product]) -> bool:
    """Whether these are all parts that a key is in."""
    return len(inside) == sum(key in each.made_of() for each in own)


def _both(scope: Scope | None, key: str) -> Scope:
    return lambda product: key in product.made_of() and (scope is None or scope(product))


def _of_key(
    key: str, place: str, where: str, scope: Scope, inside: Sequence[Product], values: Values
) -> Iterator[tuple[str, Slip]]:
    """What can be wrong with one key in some parts: it is left out, counts once less, or another stands there."""

    def slip(name: str, says: str, value: Fraction) -> tuple[str, Slip]:
        change = _changed(scope, lambda product: _ratio(product, values, {key: value}))
        return f"{name}@{place}", Slip(of=f"key {key}", says=says, change=change)

    yield slip(f"{key} as 1", f"`{key}` is left out{where}.", Fraction(1))
    if any(each.exponents().get(key, 0) > 1 for each in inside):
        says = f"`{key}` is a factor once less than it should be{where}."
        once = _changed(scope, lambda product: 1 / values[key] if product.exponents().get(key, 0) > 1 else 1)
        yield f"{key} once@{place}", Slip(of=f"key {key}", says=says, change=once)
    more = _changed(scope, lambda _: values[key])
    yield f"{key} twice@{place}", Slip(of=f"key {key}", says=f"`{key}` is a factor once too often{where}.", change=more)
    for number in _BITS if "bits" in key else _BYTES if "bytes" in key else ():
        yield slip(f"{key} as {number}", f"`{key}` is taken for {number}{where}.", Fraction(number))
    for other in sorted(values) if len(values) <= _SWAPPED else ():
        if other != key and "." not in other + key and _alike(key, other):
            yield slip(f"{key} as {other}", f"`{other}` stands in place of `{key}`{where}.", values[other])


def _alike(key: str, other: str) -> bool:
    """Whether one key may be taken for the other: sizes in bytes and bits are no numbers of things."""
    sized = [any(word in each for word in ("bytes", "bits")) for each in (key, other)]
    return sized[0] == sized[1]


def _ratio(product: Product, values: Values, others: Values) -> Fraction:
    """How many times as much a part comes to with other numbers for some keys."""
    before = value_of(product, Otherwise(values, nearest))
    return value_of(product, Otherwise({**values, **others}, nearest)) / before if before else Fraction(1)


# ---- rounding -------------------------------------------------------------------------------------------------------


def _opposite(atom: Atom, value: Fraction) -> Fraction:
    return Fraction(math.floor(value) if atom.kind == "up" else math.ceil(value))


_WAYS: Mapping[str, tuple[str, Callable[[Atom, Fraction], Fraction]]] = {
    "opposite": ("{} is rounded {other}. Round it {own}.", _opposite),
    "at least 1": (
        "{} is rounded {other}, to 1 at least. Round it {own}.",
        lambda a, v: max(_opposite(a, v), Fraction(1)),
    ),
    "exact": ("{} is not rounded. Round it {own}.", lambda _, value: value),
    "nearest": ("{} is rounded to the nearest. Round it {own}.", lambda _, value: Fraction(round(value))),
}
_OTHER = {"up": "down", "down": "up"}


def _rounded(own: Sequence[Product], scopes: Sequence[_Scoped], values: Values) -> Iterator[tuple[str, Slip]]:
    atoms = list(dict.fromkeys(atom for each in own for atom in _roundings(each)))
    whole = [("A quotient" if len(atoms) == 1 else "Each quotient", atoms)]
    single = [(f"The quotient that {_listed(sorted(each.made_of()))} make", [each]) for each in atoms]
    for what, some in [*whole, *(single if len(atoms) > 1 else [])]:
        kinds = {atom.kind for atom in some}
        if len(kinds) != 1:
            continue
        (kind,) = kinds
        for name, (text, way) in _WAYS.items():
            says = text.format(what, own=kind, other=_OTHER[kind])
            yield (
                f"{name} {'' if what == whole[0][0] else _atom_name(some[0])}",
                Slip(of="rounding", says=says, change=_by(some, way, values)),
            )
    for place, where, scope in [
        ("", "", None),
        *((name, f" in what depends on {words}", each) for name, words, each in scopes),
    ]:
        if any(_roundings(each) and len(each.powers) > 1 for each in own if scope is None or scope(each)):
            says = f"A quotient is rounded once, for all that it is taken of{where}. Round it for each."
            change = _changed(_rounding(scope), lambda product: _once(product, values))
            yield f"rounded once@{place}", Slip(of="rounding", says=says, change=change)


def _rounding(scope: Scope | None) -> Scope:
    return lambda product: bool(_roundings(product)) and (scope is None or scope(product))


def _roundings(product: Product) -> list[Atom]:
    """What is rounded in a product, also inside of what is rounded."""
    atoms = [atom for atom, _ in product.powers if atom.kind != "key"]
    inner = [each for atom in atoms for product in atom.of for each in _roundings(product)]
    return [*(atom for atom in atoms if atom.kind in _OTHER), *inner]


def _by(some: Sequence[Atom], way: Callable[[Atom, Fraction], Fraction], values: Values) -> Callable[[Parts], Factors]:
    """Round some quotients in another way."""

    def rounded(atom: Atom, value: Fraction) -> Fraction:
        return way(atom, value) if atom in some else nearest(atom, value)

    def by(product: Product) -> Fraction:
        before = value_of(product, Otherwise(values, nearest))
        return value_of(product, Otherwise(values, rounded)) / before if before else Fraction(1)

    return _changed(lambda product: any(atom in some for atom in _roundings(product)), by)


def _once(product: Product, values: Values) -> Fraction:
    """How many times as much a product comes to where its outer quotient is rounded behind the multiplication."""
    before = value_of(product, Otherwise(values, nearest))
    outer = {atom for atom, _ in product.powers if atom.kind in _OTHER}
    exact = value_of(product, Otherwise(values, lambda a, v: v if a in outer else nearest(a, v)))
    up = all(atom.kind == "up" for atom in outer)
    return Fraction(math.ceil(exact) if up else math.floor(exact)) / before if before else Fraction(1)
