"""Formulas that quantities of a config have, and how these go wrong, whatever they count.

A quantity is run once with numbers that know of what they were made; its value is then a sum of products of keys. In
any such formula a part, a factor or a division can be left out, one key can stand in another's place, and so on: these
are the slips. What is known of a quantity besides (`Slip of`) is a slip beside these, by what it adds to each part.
"""

from __future__ import annotations

import math
import sys
import types
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .compose import Part
from .symbols import Atom, Product, Symbol, sum_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Values: TypeAlias = dict[str, Fraction]


# ---- what a quantity says of itself ---------------------------------------------------------------------------------


class _Kept(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Symbol | int | float)


class _Same(metaclass=_Kept):
    """In place of `int` and `float`, which would forget of what a number came."""

    def __new__(cls, value: Any = 0) -> Any:
        return value if isinstance(value, Symbol) else float(value) if isinstance(value, str) else value


def traced(file: Path, name: str, config: Mapping[str, Any]) -> Any:
    """What a quantity gives for a config, as Symbols.

    Raises:
        ValueError: its formula can't be found so.
    """
    given = {key: _symbols(key, value) for key, value in config.items() if key != "name"}
    try:
        return getattr(_copy(str(file), file.stat().st_mtime_ns), name)(given)
    except (TypeError, KeyError, AttributeError, ArithmeticError, RecursionError, ImportError) as error:
        message = f"'{name}' has no formula of its config: {error}"
        raise ValueError(message) from None


def _symbols(key: str, value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Symbol.key(key, value)
    return {name: _symbols(f"{key}.{name}", each) for name, each in value.items()} if isinstance(value, dict) else value


_copies: dict[tuple[str, int], types.ModuleType] = {}


def _copy(file: str, changed: int) -> types.ModuleType:
    """The module of a file once more, in which numbers stay what they are."""
    if (file, changed) not in _copies:
        package = f"labgrade_formulas_{abs(hash(str(Path(file).parent)))}"
        if package not in sys.modules:
            sys.modules[package] = types.ModuleType(package)
            sys.modules[package].__path__ = [str(Path(file).parent)]
        module = types.ModuleType(f"{package}.{Path(file).stem}")
        module.__dict__.update({"__file__": file, "__package__": package, "int": _Same, "float": _Same})
        sys.modules[module.__name__] = module
        exec(compile(Path(file).read_text(encoding="utf-8"), file, "exec"), module.__dict__)  # noqa: S102 - the course's
        if "known" in module.__dict__:  # the config was looked at when the value was computed
            module.__dict__["known"] = lambda config: config
        _copies[file, changed] = module
    return _copies[file, changed]


# ---- what a formula comes to ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Otherwise:
    """Other numbers for some keys, and another way of rounding quotients."""

    values: Values
    round: Callable[[Atom, Fraction], Fraction]


def nearest(atom: Atom, value: Fraction) -> Fraction:
    return Fraction(math.ceil(value) if atom.kind == "up" else math.floor(value))


def _of_atom(atom: Atom, by: Otherwise) -> Fraction:
    if atom.kind == "key":
        return by.values[atom.name]
    inner = sum((value_of(each, by) for each in atom.of), Fraction(0))
    return 1 / inner if atom.kind == "over" else by.round(atom, inner)


def value_of(product: Product, by: Otherwise) -> Fraction:
    found = product.times
    for atom, power in product.powers:
        found *= _of_atom(atom, by) ** power
    return found


def flat(config: Mapping[str, Any], before: str = "") -> Values:
    """The numbers of a config by the names of their keys."""
    found: Values = {}
    for key, value in config.items():
        if isinstance(value, dict):
            found |= flat(value, f"{before}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[before + key] = Fraction(str(value))
    return found


def parts_of(value: Any, kind: str = "", right: Any = None) -> Iterator[Part]:
    """The products that a value is the sum of; of a slip's value, those by which it differs from the `right` one.

    Raises:
        ValueError: the two have other rows.
    """
    cells, others = dict(_cells(value)), {} if right is None else dict(_cells(right))
    if right is not None and cells.keys() != others.keys():
        message = "the slip gives other rows"
        raise ValueError(message)
    for row, one in cells.items():
        difference = one if right is None else _symbol(one) - others[row]
        for product in sum_of(difference):
            yield Part(row=row, count=0, source=product, kind=kind, counted=right is None)


def _symbol(value: Any) -> Symbol:
    return value if isinstance(value, Symbol) else Symbol(value, sum_of(value))


def _cells(value: Any) -> Iterator[tuple[str, Any]]:
    """Each number with its place in a table."""
    if not isinstance(value, list):
        yield "", value
        return
    for row in value:
        name, *columns = row
        yield from ((f"{row[name]}\0{column}", row[column]) for column in columns)


def counted(parts: Sequence[Part], values: Values) -> list[Part]:
    """The parts with what they come to, without those of a slip that divides by 0 there."""
    by, found, failed = Otherwise(values, nearest), [], set()
    for each in parts:
        try:
            found.append(replace(each, count=_whole(value_of(each.source, by))))
        except ZeroDivisionError:
            failed.add(each.kind)
    return [each for each in found if each.kind not in failed]


def _whole(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value
