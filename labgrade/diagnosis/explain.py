"""What a wrong number is: the expected value with one slip, found by arithmetic, as a hint where the spec knows none.

Known slips: one layer left out or counted twice, one type of layer left out or alone, a factor, a unit, the batch, each
of the expected value or of another convention's. An explanation is given only where it fits as exactly as the number
was given, where nothing else that is known fits, and where the layer is the only one of its size and no two or three
others add up to it, or to its type: what several slips make is often what one makes, since layers share their factors.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from labgrade.core.errors import FaultError
from labgrade.core.task import QuantityCall
from labgrade.values import Number, show
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from labgrade.core.task import Check, Source, SubjectSpec
    from labgrade.judging.items import Item
    from labgrade.spec.registry import Registry
    from labgrade.truth.oracle import Oracle
    from labgrade.values import Value
    from labgrade.verdict import Verdict

CONSTANT = "constant"
_WRONG = frozenset({Outcome.INCORRECT, Outcome.PARTIAL})
_SUFFIX = "_by_layer"  # beside `macs` stands `macs_by_layer`
_CHANCE = Fraction(1, 1000)  # how likely a number that is nothing known may fit something, by its digits alone
_CHANCE_WHOLE = Fraction(1, 20)  # that a whole number is something known: there are only so many of its size
_MOST_LAYERS = 500  # with more, pairs take too long
_SCALES: tuple[tuple[Fraction, str], ...] = (
    (Fraction(2), "twice {}"),
    (Fraction(1, 2), "half of {}"),
    (Fraction(4), "four times {}"),
    (Fraction(1, 4), "a quarter of {}"),
    (Fraction(8), "eight times {}"),
    (Fraction(1, 8), "an eighth of {}"),
    (Fraction(1, 10**3), "{}, in thousands"),
    (Fraction(1, 10**6), "{}, in millions"),
    (Fraction(1, 10**9), "{}, in billions"),
    (Fraction(1, 2**10), "{}, in units of 2^10"),
    (Fraction(1, 2**20), "{}, in units of 2^20"),
    (Fraction(1, 2**30), "{}, in units of 2^30"),
    (Fraction(10**3), "1,000 times {}"),
    (Fraction(10**6), "1,000,000 times {}"),
    (Fraction(2**10), "1,024 times {}"),
    (Fraction(10**6, 2**20), "{}, in units of 2^20, read as millions"),
    (Fraction(2**20, 10**6), "{}, in millions, read as units of 2^20"),
)
_ODD = frozenset({Fraction(4), Fraction(1, 4), Fraction(8), Fraction(1, 8)})  # that nobody makes beside another mistake
_SCALED = "Only a factor is wrong: look at the unit, and at what is counted several times, or left out as often."
_TWICE = " counted twice"  # which nobody does who is wrong by a factor besides
_OF_SEVERAL = ("without one layer", "without another")
_Slip: TypeAlias = tuple[int, str]


def unexplained(verdict: Verdict) -> bool:
    """Return whether an answer is wrong and has no explanation yet."""
    return verdict.outcome in _WRONG and not (verdict.hint or verdict.agrees or verdict.fits)


def with_explanation(
    verdict: Verdict, value: Value, item: Item, oracle: Oracle, quantities: Registry, *, scaled: bool = True
) -> Verdict:
    """Return the verdict, with an explanation of the number as its hint.

    It changes no credit. A verdict that already says something, or agrees as far as was printed, stays as it is.
    Without `scaled`, only a layer or a type of layers may make the difference.
    """
    check, subject = item.check, item.subject
    if not unexplained(verdict) or not isinstance(value, Number) or subject is None or check.measured:
        return verdict
    truths = list(_truths(item, oracle, quantities))
    found = explain(value, truths, next(iter(subject.input.shape), 1), scaled=scaled)
    if len(found) != 1:
        return replace(verdict, fits=tuple(found)) if found and scaled else verdict
    said = found[0]
    told = replace(verdict, facts={**verdict.facts, "explained": said})
    if said in {_equal_to(says, _named(truth)) for truth in truths for _, says in _SCALES}:
        return replace(told, hint=_SCALED)  # the factor itself would tell the value
    return replace(verdict, hint=f"{show(value.value)} is {said}")


def _equal_to(says: str, what: str) -> str:
    return f"equal to {says.format(what)}"


def _named(truth: Truth) -> str:
    return "the expected value" + (f" {truth.says}" if truth.says else "")


def companions(item: Item, quantities: Registry) -> Iterator[tuple[QuantityCall, SubjectSpec]]:
    """Yield the by-layer quantities that an explanation needs, to be computed with the expected values."""
    subject = item.subject
    if subject is not None and not subject.handed_in:
        for source, _ in _conventions(item):
            if call := companion(source, quantities):
                yield call, subject


def _conventions(item: Item) -> Iterator[tuple[Source, str]]:
    check = item.check
    if check.expected is not None:
        yield check.expected, ""
    for other in (each for each in check.also_right if not each.implied):
        yield other.source, f"({other.says})"


def _truths(item: Item, oracle: Oracle, quantities: Registry) -> Iterator[Truth]:
    subject = item.subject
    if subject is None or subject.handed_in:
        return
    for source, says in _conventions(item):
        if not isinstance(source, QuantityCall):
            continue
        try:
            total = oracle.value(source, subject)
            by_layer = companion(source, quantities)
            rows = oracle.value(by_layer, subject) if by_layer else []
        except FaultError:  # then there is one explanation less, and the verdict is what it was
            continue
        if type(total) is int and total > 0:
            yield Truth(total=total, layers=layers_of(rows), says=says)


# ---- layers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerShare:
    """One layer's share of a total."""

    name: str
    type: str
    value: int


def layers_of(rows: object) -> tuple[LayerShare, ...]:
    """Return the layers of a by-layer quantity; rows without a name or with several numbers are left out."""
    found = []
    for row in rows if isinstance(rows, list) else ():
        numbers = [value for value in row.values() if type(value) is int]
        if len(numbers) == 1 and "layer" in row:
            found.append(LayerShare(name=str(row["layer"]), type=str(row.get("type", "")), value=numbers[0]))
    return tuple(found)


def companion(source: Source | None, quantities: Registry) -> QuantityCall | None:
    """Return the quantity that gives by layer what another gives in all, by the same conventions; None without one.

    It is found by its name: `macs_by_layer` for `macs`. It takes at least the same conventions and gives rows with
    `layer`, perhaps `type`, and one whole number, whatever that is called. Parameters have none on purpose: their
    layers are of so few sizes that a forgotten bias would be taken for a forgotten layer.
    """
    if not isinstance(source, QuantityCall):
        return None
    name = source.quantity if source.quantity.endswith(_SUFFIX) else source.quantity + _SUFFIX
    entry = quantities.entries.get(name)
    if entry is None or set(source.parameters) - set(entry.parameters):
        return None
    return replace(source, quantity=name, published=None)


# ---- the arithmetic -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """A right value, layer by layer if known. `says` names its convention, and is empty for the expected one."""

    total: int
    layers: tuple[LayerShare, ...] = ()
    says: str = ""


def explain(got: Number, truths: Sequence[Truth], batch: int = 1, *, scaled: bool = True) -> list[str]:
    """Return the explanations of a wrong number, such as "equal to the expected value without layer fc".

    `truths`: the expected value first, then other conventions. `batch`: the input's first dimension. With several
    explanations, none should be shown.
    """
    bases = [_Base(truth) for truth in _distinct(truths)]
    scales = [(Fraction(1), "{}"), *(_SCALES if scaled else ())]
    if scaled and batch > 1 and any(truth.layers for truth in truths):
        scales.append((Fraction(1, batch), f"{{}}, for one of the {batch} samples"))
        scales.append((Fraction(batch), f"{batch} times {{}}, with the batch counted twice"))
    if by_chance(got, len(scales) * sum(len(base.values) for base in bases)):
        return []
    found: list[str] = []
    for base in bases:
        for scale, says in scales:
            low, high = (got.value - got.half_unit) / scale, (got.value + got.half_unit) / scale
            for slip in base.between(low, high):
                if slip is None:
                    found += [f"{_equal_to(says, base.name)} {each}" for each in _OF_SEVERAL]
                elif _is_likely(slip, scale, says, batch):
                    found.append(_equal_to(says, base.name + slip))
    return found


def _is_likely(slip: str, scale: Fraction, says: str, batch: int) -> bool:
    """Return whether people who go wrong make this slip, alone or with this factor."""
    if not slip or scale == 1:
        return bool(slip) is (scale == 1)
    if scale in _ODD or scale == batch or slip.endswith(_TWICE):
        return False
    return scale != Fraction(1, batch) or "samples" in says


def by_chance(got: Number, candidates: int) -> bool:
    """Return whether a number may equal one of so many candidates by chance, by its size and its digits."""
    if not got.value or 2 * got.half_unit * candidates > _CHANCE * abs(got.value):
        return True
    return got.value.denominator == 1 and candidates > _CHANCE_WHOLE * abs(got.value)


def _distinct(truths: Iterable[Truth]) -> list[Truth]:
    """Return the conventions that make a difference."""
    known: dict[int, Truth] = {}
    for truth in truths:
        known.setdefault(truth.total, truth)
    return list(known.values())


class _Base:
    """A right value and the values of its slips, sorted. None stands for a value with several explanations."""

    def __init__(self, truth: Truth) -> None:
        self._total = truth.total
        self.name = _named(truth)
        whole = bool(truth.layers) and sum(layer.value for layer in truth.layers) == truth.total
        layers = [layer for layer in truth.layers if layer.value] if whole else []
        self._slips: dict[int, str | None] = {0: ""}
        composed = _sums([layer.value for layer in layers])
        for change, says in _of_layers(layers):
            self._slips[change] = None if change in self._slips or abs(change) in composed else says
        for change, says in _of_types(layers):
            self._slips[change] = None if change in self._slips else says
        self.values = sorted(self._slips)

    def between(self, low: Fraction, high: Fraction) -> list[str | None]:
        """Return the slips that lead to a value from `low` to `high`."""
        first = bisect_left(self.values, low - self._total)
        last = bisect_right(self.values, high - self._total)
        return [self._slips[value] for value in self.values[first:last]]


def _sums(values: Sequence[int]) -> set[int]:
    """Return the sizes of layers that are also sums of two or three layers; in a sum of three, one may count twice."""
    distinct = set(values)
    if len(values) > _MOST_LAYERS:
        return distinct
    pairs = {one + other for one, other in combinations(values, 2)}
    return {each for each in distinct if each in pairs or any(each - value in pairs for value in distinct)}


def _of_layers(layers: Sequence[LayerShare]) -> Iterable[_Slip]:
    for layer in layers:
        yield -layer.value, f" without layer {layer.name}"
        yield layer.value, f" with layer {layer.name}{_TWICE}"


def _of_types(layers: Sequence[LayerShare]) -> Iterable[_Slip]:
    """Yield the change that a type of layers makes if it is left out, counted twice, or alone, if nothing else fits."""
    totals: dict[str, int] = defaultdict(int)
    for layer in layers:
        totals[layer.type] += layer.value
    count = Counter(layer.type for layer in layers)
    values = [layer.value for layer in layers]
    whole = sum(totals.values())
    for kind, total in totals.items() if len(totals) > 1 else ():
        if count[kind] > 1 and not _made_otherwise(total, count[kind], values):
            yield -total, f" without its {kind} layers"
            yield total, f" with its {kind} layers{_TWICE}"
        others = len(layers) - count[kind]
        alone = len(totals) > 2 and count[kind] > 1  # noqa: PLR2004 - of two types, one alone is without the other
        if alone and not _made_otherwise(whole - total, others, values):
            yield total - whole, f" of its {kind} layers alone"


def _made_otherwise(total: int, count: int, values: Sequence[int]) -> bool:
    """Return whether two or three other layers add up to the total of `count` layers."""
    if len(values) > _MOST_LAYERS:
        return False
    pairs = _pairs(total, values)
    triples = sum(_pairs(total - first, values[place + 1 :]) for place, first in enumerate(values))
    return pairs > (count == 2) or triples > (count == 3)  # noqa: PLR2004 - the type itself is one of these


def _pairs(total: int, values: Sequence[int]) -> int:
    """Return in how many ways two of the values add up to the total."""
    seen: Counter[int] = Counter()
    found = 0
    for value in values:
        found += seen[total - value]
        seen[value] += 1
    return found


def with_number(
    seen: Verdict, check: Check, tool: Callable[[], Verdict], number: Callable[[Verdict], Verdict]
) -> Verdict:
    """Return the verdict on a function's behaviour, with what is known of its number where that says more.

    `tool`: the verdict with the tool that gives the number; `number`: a verdict with what a number is by itself.
    """
    found = seen.diagnosis
    if found is None or seen.credit == 1:
        return seen
    if found.causes == (CONSTANT,):  # somebody wrote the number down
        told = number(tool())
        return replace(told, lines=seen.lines, diagnosis=found) if told.hint else seen
    if not found.causes and not seen.hint:  # the number is a tool's, whatever called it
        told = tool()
        return replace(seen, hint=told.hint, facts=told.facts) if told.facts.get("explained") else seen
    of_tools = {each.says for each in check.misconceptions if each.by_share}
    if not of_tools & {*found.says}:
        return seen
    told = tool()  # which says what the tool does otherwise on this subject
    if not told.hint or told.hint in of_tools:
        return seen
    says = tuple(told.hint if each in of_tools else each for each in found.says)
    return replace(seen, facts=told.facts, diagnosis=replace(found, says=says))
