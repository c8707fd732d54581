"""What is said of a tool's number: which parts of this network it leaves out, counts otherwise, or adds."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .net import Piece

_MOST = 4  # parts that are named; what is left are the smallest
_HALF = Fraction(1, 2)
_LEAST, _ALL = 0.01, 99.5  # percent
SOME = "some"  # of what is right is counted as it is, and the rest not at all


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a number: what a tool makes of it, and what is right."""

    what: str
    counted: Fraction
    right: int
    how: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The parts in which a number differs from what is right, the largest first, and how much of it is right."""

    missing: tuple[Part, ...]
    other: tuple[Part, ...]
    added: tuple[Part, ...]
    share: Fraction
    total: Fraction

    def __bool__(self) -> bool:
        return bool(self.missing or self.other or self.added)

    def says(self, *, many: bool, amounts: bool) -> str:
        """The sentences behind "TOOL prints this number": with the `amounts`, or with what tells no right value."""
        said = []
        if self.missing:
            parts = _listed(f"{each.what} (0 for {each.right:,})" if amounts else each.what for each in self.missing)
            said.append(f"{_verb('leave', many)} out {parts}")
        if some := [each for each in self.other if each.how == SOME]:
            parts = _listed(_the(each.what) + self._in_brackets("", each, amounts=amounts) for each in some)
            said.append(f"{_verb('leave', many)} out some of {parts}")
        ways = dict.fromkeys(each.how or "otherwise" for each in self.other if each.how != SOME)
        for way in list(ways)[:_MOST]:
            some = [each for each in self.other if (each.how or "otherwise") == way]
            parts = _listed(each.what + self._in_brackets("", each, amounts=amounts) for each in some)
            said.append(f"{_verb('count', many)} {parts} {way}")
        if self.added:
            parts = _listed(each.what + self._in_brackets(each.how, each, amounts=amounts) for each in self.added)
            said.append(f"{_verb('add', many)} {parts}")
        text = f"{'They' if many else 'It'} {'; '.join(said)}."
        return text if amounts else text + self._most()

    @property
    def remedy(self) -> str:
        """What to do about it."""
        said = []
        if self.missing or any(each.how == SOME for each in self.other):
            said.append("Count what is left out, too.")
        if self.added:
            said.append("Leave out what is added: the task does not count it.")
        return " ".join(said)

    def _in_brackets(self, how: str, part: Part, *, amounts: bool) -> str:
        share = float(100 * part.counted / self.total) if self.total else 0
        wanted = f" for {part.right:,}" if part.right else ""
        percent = "100 %" if share >= _ALL else f"{share:.2g} %" if share >= _LEAST else f"under {_LEAST} %"
        amount = f"{_number(part.counted)}{wanted}, {percent} of it" if amounts else ""
        said = "; ".join(filter(None, (how, amount)))
        return f" ({said})" if said else ""

    def _most(self) -> str:
        """Which part most of the number is; less would tell too much of what is right."""
        large = [each for each in (*self.other, *self.added) if each.counted > _HALF * self.total]
        return f" More than half of the number is {large[0].what}." if large else ""


def difference(counted: Sequence[Piece], right: Sequence[Piece], *, scale: Fraction = Fraction(1)) -> Difference:
    """In what a tool's parts, each times `scale`, differ from what is right."""
    # Whole numbers stay ints: to add and to hash those takes a tenth of the time.
    made: dict[str, int | Fraction] = defaultdict(int)
    wanted: dict[str, int] = defaultdict(int)
    how: dict[str, dict[str, None]] = defaultdict(dict)
    summands: dict[str, Counter[int | Fraction]] = defaultdict(Counter)
    for each in counted:
        count = each.count if scale == 1 else each.count * scale
        made[each.what] += count
        summands[each.what][count] += int(each.count > 0)
        if each.how and each.count:
            how[each.what][each.how] = None
    whole_ones: dict[str, Counter[int | Fraction]] = defaultdict(Counter)
    for each in right:
        wanted[each.what] += each.count
        whole_ones[each.what][each.count] += int(each.count > 0)
    parts = [
        Part(
            what=what,
            counted=Fraction(made[what]),
            right=wanted[what],
            how=" and ".join(how[what]) or (SOME if summands[what] <= whole_ones[what] else ""),
        )
        for what in dict.fromkeys([*made, *wanted])
        if made[what] != wanted[what]
    ]
    parts.sort(key=lambda part: abs(part.counted - part.right), reverse=True)
    parts = _not_made_up_for(parts)
    total, whole = sum(made.values()), sum(wanted.values())
    both = sum(min(made[what], wanted[what]) for what in wanted)
    return Difference(
        missing=tuple(part for part in parts if part.right and not part.counted),
        other=tuple(part for part in parts if part.right and part.counted),
        added=tuple(part for part in parts if not part.right),
        share=Fraction(both) / max(total, whole, 1),
        total=Fraction(total),
    )


def nearest(counted: Sequence[Piece], rights: Sequence[Sequence[Piece]], *, scale: Fraction) -> Difference:
    """In what a tool's parts differ from the one of several that are right to which they come nearest."""
    return max(
        (difference(counted, right, scale=scale) for right in rights),
        key=lambda each: (each.share, -len((*each.missing, *each.other, *each.added))),
    )


def _not_made_up_for(parts: Sequence[Part]) -> list[Part]:
    """The parts without those that make up for each other: one addition less, and a bias more."""
    besides = [each for each in parts if each.counted]
    return [each for each in parts if not each.counted] if sum(e.counted - e.right for e in besides) == 0 else [*parts]


def listed(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _the(what: str) -> str:
    """Parts of which some are meant: "the convolutions"; what has an article, or is a name, stays as it is."""
    return f"the {what}" if what.partition(" ")[0].endswith("s") and what[0].islower() else what


def _listed(parts: Iterable[str]) -> str:
    found = list(parts)
    return listed([*found[:_MOST], "smaller parts"] if len(found) > _MOST + 1 else found)


def _verb(verb: str, many: bool) -> str:  # noqa: FBT001 - its only use
    return verb if many else f"{verb}s"


def _number(count: Fraction) -> str:
    return f"{count.numerator:,}" if count.denominator == 1 else f"{float(count):,.1f}"
