"""What an entry means that is no value by itself: a sum with its result, a total among its parts, a word for zero.

What says one value plainly is read; of anything else each number may be meant, and a person looks where one is right.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from labgrade.answers.entries.rearranged import COUNTS, forms, joined, shapes_meant
from labgrade.answers.reading.claim import not_counted
from labgrade.answers.reading.doubts import doubt_about, names_model, other_precision
from labgrade.answers.reading.numerals.numbers import as_ascii, find_numbers, finest_of, read_number, worked_out
from labgrade.answers.reading.numerals.units import behind_rate, noun_in
from labgrade.answers.reading.typed_values import NUMBER_KINDS, WrongTypeError, as_value
from labgrade.answers.reading.words.terms import BRACKETS, TOTAL
from labgrade.answers.reading.words.vocabulary import concepts, known_words
from labgrade.core.task import TableType
from labgrade.values import Number, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from labgrade.answers.reading.numerals.number_words import Found
    from labgrade.core.task import AnswerType
    from labgrade.values import Value

_MOST_OTHERS = 50
_LONGEST = 1_000  # characters of a text that may hold a number
_PARTS = 2  # at least, of a sum
_RATIO = 1_000  # of two numbers that a stroke parts: with more, one is divided by the other
_NO_VALUE = frozenset({"none", "null"})  # what programs write where there is nothing; `none` is a word, `None` is not
_OPERATOR = re.compile(
    r"[\w)\].\u2026]\s*(?:[+*/\u00b7\u00d7\u00f7]|-(?=\s?\d)|\bx\b|(?<=\d)x(?=\d)|\\times|\\cdot|\.{2,}|\u2026)",
    re.IGNORECASE,
)
_TERMS = re.compile(r"[^\d+*-]{0,12}(?:[+*\u00d7\u00b7^-]|(?<=\s)x(?=\s))\s*")
_MINUS = re.compile(r"\d[\s)]*-\s*\d")
_ADDS = re.compile(r"\s*[-+*/x\u00d7\u00b7=]", re.IGNORECASE)
_CORRECTS = re.compile(
    r"[?\u2260]|\b(?:not?|none|zero|kein\w{0,3}|wrong|actually|instead|correct(?:ly|ed)?|should|but|except|or"
    r"|nicht|falsch|statt|eigentlich|oder|sondern|non|faux|sauf|ou)\b|\u4e0d|\u932f|\u9519|\u61c9|\u5e94|\u6216",
    re.IGNORECASE,
)
_SAYS = re.compile(r"(?<![^\W\d_])(?!(?:[kmgt]?i?)b(?:ytes?)?\b|total\b|bytes?\b)[^\W\d_]{3,}|\bw/", re.IGNORECASE)
_OF = re.compile(r"\s(?:out\s+of|of|von|aus|sur|de|di|\u0438\u0437)\s", re.IGNORECASE)
_OF_ALL = re.compile(
    r"\s*(?:[A-Za-z]\w{0,20}\s+){0,2}(?:out\s+of|of|von|aus|sur|de|di|из)\s+(?:the\s+|all\s+|den\s+|allen\s+|les\s+|las\s+)?",
    re.IGNORECASE,
)

_WORDS = re.compile(r"[^\W\d_]{2,}")
_PLAIN = frozenset(known_words("plain", "in_an_entry"))
_ALONE = re.compile(r"\b(?:only|alone|nur|solo|seulement)\b|\u53ea|\b(?:sqrt|log\d*|ln|exp)\s?\(", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """A value that is meant, or that may be (`sure` is False); `others`: other values there that may be meant."""

    value: Value
    others: tuple[Value, ...] = ()
    sure: bool = False


def meant_by(plain: object, kind: AnswerType) -> Meant | None:
    """Return the value that plain data of another type stands for; None if it stands for none of this `kind`."""
    if kind in NUMBER_KINDS:
        return _number(plain, kind)
    if kind == "shape":
        return _shape(plain)
    if kind == "histogram" or isinstance(kind, TableType):
        return _rows(plain, kind)
    return None


# ---- numbers ---------------------------------------------------------------------------------------------------


def _number(plain: object, kind: str) -> Meant | None:
    if isinstance(plain, list | tuple):
        whole = joined(plain)
        return _of_list(plain, kind) if whole is None else _of_mapping(whole, kind)
    if isinstance(plain, dict):
        return _of_mapping(plain, kind)
    return _of_text(as_ascii(plain), kind) if isinstance(plain, str) and len(plain) <= _LONGEST else None


def _of_text(text: str, kind: str) -> Meant | None:
    readings: tuple[Callable[[str, str], Meant | None], ...]
    readings = (_word, _result, _unfinished, _whole, _part_of, _beside_remarks, _any)
    return next((meant for each in readings if (meant := each(text, kind)) is not None), None)


def _word(text: str, kind: str) -> Meant | None:
    """Return the number that a word stands for: `none`, `keine`, `0 %`, `none of 6624904`."""
    plain = text.strip()
    part = _OF.search(plain)
    word = plain[: part.start()] if part else plain
    said = not_counted(word, kind)
    if said is None or said.number is None or said.end != len(word):
        return None
    return Meant(value=said.number, sure=plain == "none" or plain.lower() not in _NO_VALUE)


def _result(text: str, kind: str) -> Meant | None:
    """Return the result of a formula: behind the last sign of equality, or before the first."""
    sides = [BRACKETS.sub("", each) for each in text.split("=")]
    if len(sides) < _PARTS:
        return None
    for result, formula in ((sides[-1], sides[-2]), (sides[0], sides[1])):
        number = read_number(result, kind)
        added = _OPERATOR.search(formula) or (result is sides[-1] and formula.rstrip(" \t").endswith("\n"))
        if number is not None and added and len(_found(formula, "any")) >= _PARTS:
            worked = worked_out(formula)
            return Meant(value=number, sure=worked is None or finest_of([worked, number]) is not None)
    return None


def _unfinished(text: str, _: str) -> Meant | None:
    """Return the value of a formula without a result."""
    worked = worked_out(text)
    return None if worked is None else Meant(value=worked)


def _whole(text: str, kind: str) -> Meant | None:
    """Return the number that is the sum of all others."""
    whole = None if _MINUS.search(text) else _sum_of_others(_found(text, kind))
    return None if whole is None else Meant(value=whole, sure=True)


def _part_of(text: str, kind: str) -> Meant | None:
    """Return the first number of `0 of 6624904`; of `0/6624904` it may be meant."""
    found = [each for each in find_numbers(text, kind) if each.number is not None]
    if len(found) != _PARTS or text[: found[0].start].strip():
        return None
    part, whole = (cast("Number", each.number) for each in found)
    slash = text[found[0].end : found[1].start].strip() == "/"
    if part.value > whole.value or not (slash or _OF_ALL.fullmatch(text, found[0].end, found[1].start)):
        return None
    return Meant(value=part, others=_distinct([whole], part) if slash else (), sure=not slash)


def _beside_remarks(text: str, kind: str) -> Meant | None:
    """Return the only number outside of brackets, which may hold its parts: `100 nodes (52 Conv, ...)`."""
    remarks = ["".join(filter(None, match.groups())) for match in BRACKETS.finditer(text)]
    meant = _alone(BRACKETS.sub(lambda match: " " * len(match[0]), text), kind)
    if not remarks or meant is None:
        return None
    inside = [number for remark in remarks for number in _found(remark, kind)]
    again = finest_of([meant, *inside]) is not None
    parts = again or sum(each.value for each in inside) <= meant.value
    other = all(_SAYS.search(remark) for remark in remarks if _found(remark, kind))
    clear = (parts or other) and not any(_CORRECTS.search(remark) or _ADDS.match(remark) for remark in remarks)
    return Meant(value=meant, others=_distinct(inside, meant), sure=clear)


def _alone(text: str, kind: str) -> Number | None:
    """Return the only number of a text, if nothing there takes it back."""
    found = list(find_numbers(text, kind))
    if len(found) != 1 or found[0].number is None:
        return None
    doubt = doubt_about(text[: found[0].start], text[found[0].end :])
    return None if doubt or _CORRECTS.search(text) else found[0].number


def _any(text: str, kind: str) -> Meant | None:
    """Return the only number, or each of several that may be meant; nobody claims the terms of a formula."""
    if (alone := _alone(text, kind)) is not None:
        return Meant(value=alone, sure=True)
    if not (found := list(find_numbers(text, kind))):
        return None
    between = [text[one.end : other.start] for one, other in pairwise(found)]
    terms = [bool(_TERMS.fullmatch(each)) for each in between]
    joined_to = [before or after for before, after in pairwise([False, *terms, False])]
    numbers = [each.number for each, term in zip(found, joined_to, strict=True) if each.number is not None and not term]
    if "/" in [each.strip() for each in between] and numbers and numbers[0].value > _RATIO * numbers[-1].value:
        return None
    if len(numbers) == len(found) > 1 and finest_of(numbers) is not None and not _CORRECTS.search(text):
        return Meant(value=min(numbers, key=lambda each: each.half_unit), sure=True)
    return _one_of(numbers)


def _found(text: str, kind: str) -> list[Number]:
    found: Iterable[Found] = find_numbers(text, kind)
    return [each.number for each in found if each.number is not None]


def _sum_of_others(numbers: Sequence[Number]) -> Number | None:
    """Return the number that is the sum of the others, two at least, to its printed precision. It may occur twice."""
    whole = max(numbers, key=lambda each: each.value, default=None)
    if whole is None:
        return None
    parts = [each for each in numbers if each.value != whole.value]
    off = abs(sum(each.value for each in parts) - whole.value)
    exact = len([each for each in parts if each.value > 0]) >= _PARTS
    return whole if exact and off <= whole.half_unit + sum(each.half_unit for each in parts) else None


def _one_of(numbers: Sequence[Number], *, sure: bool = False) -> Meant | None:
    """Return each of several numbers; the only one is `sure`."""
    if not numbers:
        return None
    others = _distinct(numbers[1:], numbers[0])
    return Meant(value=numbers[0], others=others, sure=sure and len(numbers) == 1)


def _distinct(numbers: Sequence[Number], first: Number) -> tuple[Number, ...]:
    """Return the numbers that differ from the first and from each other."""
    found = {each.value: each for each in numbers if finest_of([each, first]) is None}
    return tuple(found.values())[:_MOST_OTHERS]


def _of_list(plain: Sequence[object], kind: str) -> Meant | None:
    if len(plain) == 1:
        value = _typed(plain[0], kind)
        return Meant(value=value, sure=True) if value is not None else _number(plain[0], kind)
    numbers = [each for each in (_typed(item, kind) for item in plain) if each is not None]
    if len(numbers) < len(plain):
        return _one_of(numbers)
    whole = _sum_of_others(numbers)
    return _one_of(numbers) if whole is None else Meant(value=whole, others=_distinct(numbers, whole))


def _of_mapping(plain: dict[str, object], kind: str) -> Meant | None:
    """Return the total of numbers by name, called so or their sum: `{Conv2d: 1497352192, Linear: 1024000}`."""
    typed = {str(name): _typed(each, kind) for name, each in plain.items()}
    numbers = [each for each in typed.values() if each is not None]
    total = next((each for name, each in typed.items() if each is not None and TOTAL.match(name)), None)
    if total is not None and (whole := _sum_of_others(numbers)) is not None and whole.value == total.value:
        return Meant(value=total, sure=True)
    if total is not None or len(numbers) < _PARTS or len(numbers) < len(typed):
        total_first = sorted(numbers, key=lambda each: each is not total)
        return _one_of(total_first, sure=len(numbers) == len(plain))
    value = sum(each.value for each in numbers)
    half_unit = sum(each.half_unit for each in numbers)
    text = " + ".join(map(str, numbers))
    whole = Number(value=Fraction(value), half_unit=Fraction(half_unit), text=text)
    return Meant(value=whole, others=_distinct(numbers, whole))


def _typed(plain: object, kind: str) -> Number | None:
    try:
        value = as_value(plain, kind)
    except WrongTypeError:
        return None
    return value if isinstance(value, Number) else None


# ---- shapes and tables -----------------------------------------------------------------------------------------


def _shape(plain: object) -> Meant | None:
    found = shapes_meant(plain)
    return None if found is None else Meant(value=found[0][0], others=tuple(found[0][1:]), sure=found[1])


def _rows(plain: object, kind: AnswerType) -> Meant | None:
    """Return a table, or counts, that were written with other words or in another order."""
    table = kind if isinstance(kind, TableType) else COUNTS
    for form in forms(plain, table):
        try:
            value = as_value(form, table)
        except WrongTypeError:
            continue
        if isinstance(value, Table):
            counts = {row.name: count for row in value.rows if isinstance(count := row.cells.get("count"), Number)}
            return Meant(value=value if isinstance(kind, TableType) else counts, sure=True)
    worked = _worked(plain)
    with contextlib.suppress(WrongTypeError):
        return Meant(value=as_value(worked, kind)) if worked != plain else None
    return None


def _worked(plain: object) -> object:
    """Return plain data with the values of its formulas that have no result."""
    if isinstance(plain, dict):
        return {key: _worked(each) for key, each in plain.items()}
    if isinstance(plain, list | tuple):
        return [_worked(each) for each in plain]
    worked = worked_out(plain) if isinstance(plain, str) and len(plain) <= _LONGEST else None
    return plain if worked is None else worked


def doubt_of(text: str, value: Number, kind: str, name: str = "") -> str:
    """Return why a value read from a text is in doubt, as in `> 5`, `5?` and `5 for the keys`; an empty text if not.

    An entry is to be a number: any word beside it that is no unit, none of its `name`, and not known to be harmless may
    say that it is another quantity.
    """
    text = as_ascii(text)
    found = [each for each in find_numbers(text, kind) if each.number is not None]
    if not found or found[0].number is None or found[0].number.value != value.value:
        return ""
    said = _ALONE.search(text) or (None if "=" in text else _added(BRACKETS.sub(" ", text), kind))
    asked = noun_in(name.rpartition(".")[2].replace("_", " "))
    if asked and found[0].noun not in ("", asked):
        return f"{found[0].noun}, not {asked}"
    around = text[: found[0].start], _behind(text, found[0])
    doubt = doubt_about(*around) or other_precision(*around) or (said[0] if said else "")
    return doubt or ("" if "=" in text else _strange_word(BRACKETS.sub(" ", text), kind, name))


def _behind(text: str, found: Found) -> str:
    return behind_rate(text[found.end :]) if found.measures == "rate" else text[found.end :]


def _added(text: str, kind: str) -> str:
    """Return the sign by which a number of a text is added to another one, or multiplied with it."""
    between = (text[one.end : other.start] for one, other in pairwise(find_numbers(text, kind)))
    return next((sign for each in between for sign in each if sign in "+*\u00d7\u00b7"), "")


def _strange_word(text: str, kind: str, name: str) -> str:
    """Return the first word beside the only number of a text that may change its meaning; empty if there is none."""
    found = list(find_numbers(text, kind))
    if len(found) != 1:
        return ""
    words = _WORDS.findall(f"{text[: found[0].start]} {_behind(text, found[0])}")
    strange = (each for each in words if not (each.lower() in _PLAIN or each.lower() in name.lower()))
    return next((each for each in strange if not (concepts(each) - {"peak"} or names_model(each))), "")
