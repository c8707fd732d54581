"""How checkers say what they found: a value, how far off it is, a list of names, a count of right and wrong parts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.values import Number, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONGEST_TEXT = 60
LONGEST_LIST = 5
TOO_LONG_TO_READ = 10**30
TEN = 10
_FIRST_STEP, _MOST = 16, 30  # where the second step begins; powers of two that are told apart


def shown(value: object) -> str:
    """A value for a sentence, never longer than a line: `1.498 GMac` as written, `1x3x224x224`, `'some text'`."""
    match value:
        # Bare digits are easier to read with separators.
        case Number(text=text) if text and not text.removeprefix("-").isdecimal():
            return clip(text)
        case Number(value=number) | (Fraction() as number):
            if abs(number.numerator) < TOO_LONG_TO_READ * number.denominator:  # as fractions it takes ten times as long
                return show(number)
            return f"about {'-' if number < 0 else ''}10^{int(math.log10(int(abs(number))))}"
        case tuple():
            return clip("x".join(str(size) for size in value)) or "a shape without dimensions"
        case str():
            return f"'{clip(value)}'"
    return "nothing" if value is None else f"a {type(value).__name__}"


def clip(text: str) -> str:
    """The text on one line, cut where it is too long to be read in a sentence."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TEXT else line[: LONGEST_TEXT - 3] + "..."


def off_by(got: Number, expected: Number) -> str:
    """A wrong number in a sentence that says how far off it is, in steps that say no more however many are tried.

    What is said depends on the powers of two between which both lie (`_step`), and on nothing else: who tries many
    numbers learns between which the expected one lies. The facts, which staff see, say it exactly.

    >>> off_by(Number(value=Fraction(1356857600)), Number(value=Fraction(1498376192)))
    'got 1,356,857,600, which is off by less than a factor of 2'
    """
    return f"got {shown(got)}, which {_distance(_step(got.value), _step(expected.value))}"


def surely_off(got: Number, expected: Number) -> bool:
    """Whether a number is wrong whatever digits follow those that were printed, as `off_by` alone may say it.

    So all that it may stand for lies on one side of the expected value's power of two, and on no step with it.
    """
    ends = [_step(got.value - got.half_unit), _step(got.value + got.half_unit)]
    own = _step(expected.value)
    return max(ends) < own or min(ends) > own


def _step(value: Fraction) -> int:
    """On which step of a stair a value stands: 0 below 16, then one a power of two; with the value's sign.

    Below 16 a power of two leaves so few whole numbers that it would say which one.
    """
    step = max(0, int(abs(value)).bit_length() - _FIRST_STEP.bit_length() + 1)
    return -step if value < 0 else step


def _distance(got: int, expected: int) -> str:
    if got == expected:
        return "is off by less than a factor of 2" if got else "is not right"
    if got * expected < 0:
        return "has the wrong sign"
    apart = abs(abs(got) - abs(expected))
    side = "big" if abs(got) > abs(expected) else "small"
    least = 2 ** min(apart - 1, _MOST)  # times, at the nearest ends of the two steps
    return f"is too {side}" + (f", by a factor of more than {10 ** (len(str(least)) - 1):,}" if least >= TEN else "")


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are: `'a', 'b' and 3 more`."""
    first = ", ".join(f"'{clip(name)}'" for name in names[:LONGEST_LIST])
    more = len(names) - LONGEST_LIST
    return f"{first} and {more:,} more" if more > 0 else first


def of_all_parts(count: int, total: int, what: str, one: str, many: str) -> str:
    """How many of all, with the verb that goes with it: `1 of 3 rows is`, `2 of 3 rows are`."""
    return f"{count:,} of {total:,} {what} {one if count == 1 else many}"


def all_right(what: str, parts: int, none: str) -> str:
    """That all `parts` are right, which are called `what` in the plural; `none` where there are none to be right."""
    if parts == 1:
        return f"the one {what.removesuffix('s')} is right"
    return f"all {parts:,} {what} are right" if parts else none


def tally(
    what: str,
    parts: int,
    *,
    wrong: Sequence[tuple[str, str]] = (),
    missing: Sequence[str] = (),
    extra: Sequence[str] = (),
) -> str:
    """How many of the expected `parts` are right, which one is the first wrong, what is missing, what is too many.

    Args:
        what: what the parts are called, in the plural: `rows`.
        parts: how many are expected; the wrong and the missing are among them.
        wrong: name and reason of each wrong part, in order.
        missing: names that are expected and not there.
        extra: names that are there and not expected.
    """
    right = parts - len(wrong) - len(missing)
    sentences = [f"{of_all_parts(right, parts, what, 'is', 'are')} right"]
    if parts == 1 and wrong:
        name, reason = wrong[0]
        sentences = [f"the one {what.removesuffix('s')}, '{clip(name)}', is wrong: {reason}"]
    elif parts == 1 and missing:
        sentences = [f"the one {what.removesuffix('s')} that is expected is missing: {listed(missing)}"]
        missing = ()
    elif wrong:
        (name, reason), *others = wrong
        sentences.append(f"the first wrong one is '{clip(name)}': {reason}")
        sentences.extend(_counted("also wrong", [other for other, _ in others]))
    sentences.extend(_counted("missing", missing))
    sentences.extend(_counted("not expected", extra))
    return "; ".join(sentences)


def _counted(label: str, names: Sequence[str]) -> Iterable[str]:
    if names:
        yield f"{label}: {listed(names)}" if len(names) == 1 else f"{len(names):,} {label}: {listed(names)}"


def of_all(hints: Iterable[str]) -> str:
    """The hint that all that is wrong has; that of one value alone would be read as if it were of the others, too."""
    said = set(hints)
    return said.pop() if len(said) == 1 else ""
