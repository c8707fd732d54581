"""Numbers as people print them: `1,498,376,192`, `1.498 GMac`, `1.5e9`, `25.27 MiB`, `14.98 億`.

Read exactly, with the precision that was printed; anything that only looks like a number (a version, a date, a
heading, a layer's name) is left alone. Hostile text costs time linear in its length.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.numerals.number_words import Found, in_parts, in_words, quoted
from labgrade.answers.reading.numerals.units import (
    Unit,
    as_mebibytes,
    label_unit,
    spelled,
    thing_at,
    time_unit_at,
    unit_at,
)
from labgrade.answers.reading.words.languages import SCALES
from labgrade.values import Number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LIMIT = 10**30
_LONGEST = 80
_LARGEST_EXPONENT = 60
_LONGEST_EXPONENT = 4
_NO_UNIT = Unit()

_THIN = "\u00a0"
_AS_ASCII = str.maketrans(
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
    | dict.fromkeys((0x2007, 0x2009, 0x200A, 0x202F), _THIN)
    | {0x3000: " ", 0x2212: "-", 0x2010: "-", 0x2011: "-", 0x2013: "-", 0x2014: "-", 0x2019: "'"}
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")

# A decimal comma has one reading only where a scale follows (`1,4984 Milliarden`, `26,5 MB`) and no group of three.
_LARGE = "|".join(spelled(word) for word in sorted(SCALES, key=len, reverse=True) if SCALES[word] >= 1000)  # noqa: PLR2004 - a thousand
_SCALED = (
    r"[\x20\u00a0]?(?:[\u041a\u043a\u041c\u0413\u0422]\u0438?(?:\u0411|\u0431)(?:\u0430\u0439\u0442|\u0438\u0442)?|[kKMGT]i?\x20?(?:MACs?|Macs?|FLOPs?|B(?:ytes?)?|bytes?|iB|o)(?![A-Za-z])|[kMGT](?![A-Za-z])|(?i:"
    + _LARGE
    + "))"
)
_NUMBER = re.compile(
    r"""
    (?<![A-Za-z0-9])(?<![A-Za-z0-9]_)(?<!\d[.,:/^-])(?<![A-Za-z][.-])
    (?P<sign>[+-])?
    (?P<digits>
      (?: (?!0[. ]) (?P<grouped> \d{1,3} (?: (?:\.\d{3}){1,10}(?=,\d{1,20}(?![.,]?\d))
          | (?:[ \u00a0]\d{3}){1,10}(?=,\d{1,20}{SCALED}) ) ),\d++
        | (?!0,) \d{1,3} (?: (?:,\d{3}){1,10} | (?:\u00a0\d{3}){1,10} | (?:'\d{3}){1,10} | (?:[ ]\d{3}){2,10}
                    | (?:\\[,;]\s?\d{3}){1,10} | (?:\{,\}\d{3}){1,10} | (?:,\\!\d{3}){1,10}
                    | (?:\.\d{3}){2,10}(?!\.\d) | [ ]\d{3}(?=\.\d{1,6}[ ]?(?:[kKMGT]i?B|\|))
                    | [ ]\d{3}(?=(?:\.\d{1,6})?[ \u00a0](?i:{LARGE})(?![A-Za-z])) ) (?!\d)
      | (?<![\[(]) \d{1,2} (?:,\d{2}){1,8} ,\d{3} (?![\d,])
        | \d++ (?> (?:_\d++)* ) )
      (?:\.\d{3}(?:\u00a0\d{3}){1,6}(?!\d) | \.\d++ | (?P<comma>,(?=(?:\d{1,2}|\d{4,20}|(?<=(?<!\d)0,)\d{3})
          (?: [\x20\u00a0]?(?:[\u00d7xX*\u00b7]|\\times|\\cdot)[\x20\u00a0]?1[0e] | [eE][+-]?\d | {SCALED} )) \d++))?
    | \.\d++ )
    (?P<power> [eE][+-]?\d++
      | [ \u00a0]? (?:[\u00d7xX*\u00b7]|\\times|\\cdot) [ \u00a0]? 1(?:\.0)?[eE]\+?(?P<times>\d++)
      | [ \u00a0]? (?:[\u00d7xX*\u00b7]|\\times|\\cdot) [ \u00a0]? 10 [ ]?
        (?: (?:\^|\*\*) [ ]? [{(]? (?P<caret>[+-]?\d++) [)}]? | (?P<raised>[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]++)
          | <sup>[ ]?(?P<sup>[+-]?\d++)[ ]?</sup> )
      | (?<=(?<![\d.,])10) [ ]?
        (?: (?:\^|\*\*) [ ]? [{(]? (?P<alone>-\d++) [)}]? | (?P<above>⁻[⁰¹²³⁴⁵⁶⁷⁸⁹]++)
          | <sup>[ ]?(?P<over>-\d++)[ ]?</sup> )
    )?
    """.replace("{SCALED}", _SCALED).replace("{LARGE}", _LARGE),
    re.VERBOSE,
)
_GAP = re.compile(r"(?:[ \t\u00a0~*`$_]|\\[,;: ]){0,4}(?:\\(?:text|mathrm|textrm|rm)\s?\{\s?)?")
# A time is no count: `it takes 5 seconds`. A letter alone may be a prefix.
_OF_TIME = re.compile(
    r"[ \u00a0]?(?:[num\u00b5\u03bc]s|(?:milli|micro|nano)?sec(?:ond)?s?|minutes?|hours?"
    r"|\u79d2|\u5206\u9418|\u5206\u949f)(?![A-Za-z0-9/])"
)
_RATIO = re.compile(r"[ \u00a0]?(?:[x\u00d7](?!\s?[\w(^])|\u500d)")  # 9.3 times another number
_IN_BITS = re.compile(
    r"(?<=(?-i:b))(?:(?!byte|not|kein)[^\n\d]){0,30}?\b(?:kilo|mega|giga|tera)[- ]?bits?(?![A-Za-z])", re.IGNORECASE
)
_GOES_ON = re.compile(r"(?!x(?![A-Za-z0-9]))[A-Za-z0-9]|_[A-Za-z0-9]|[.,:/^-]\d|\^|%\d")
_BEFORE = re.compile(
    r"(?:[\s*`$_~≈=:<>|(\[\"'+-]|about|approx(?:imately|\.)?|roughly|around|ca\.|約|约|大約|\\approx|\\sim)*",
    re.IGNORECASE,
)


def as_ascii(text: str) -> str:
    """Return the text with plain forms of full-width signs, thin spaces and dashes. Its length stays."""
    return text if text.isascii() else text.translate(_AS_ASCII)


def find_numbers(text: str, kind: str, *, unit: str = "") -> Iterator[Found]:
    """Yield every number in the text, in order. `unit` (`G`, `MB`) is that of numbers without one.

    `kind` is `count`, `bytes`, `time` (in seconds), `number` or `any`. A `number` is taken as printed, whatever unit is
    behind it; for `any`, the unit's scale is applied, whatever it measures.
    """
    plain = as_ascii(text)
    stated = label_unit(as_ascii(unit), kind) if unit else None
    position = 0
    while (match := _NUMBER.search(plain, position)) is not None:
        found = _found(text, plain, match, kind, stated)
        if found is not None:
            yield found
        position = found.end if found is not None else _behind_first_digits(plain, match)


def read_number(text: str, kind: str) -> Number | None:
    """Return the number that a text is, or None. A second one must agree: `26499616 (25.27 MiB)`."""
    return explain_number(text, kind).number


_DECIMAL_COMMA = re.compile(r"(\s*[+-]?(?:\d{1,3}(?:[.\x20\u00a0]\d{3}){1,10}|\d{1,80})),(\d{1,80})(?![\d,]|\.\d)")
_PARTED = re.compile(r"[.\x20\u00a0]")
_GROUP = 3
# Alone it is no unit.
_POWER_OF_TEN = re.compile(r"^[\s$*]{0,4}10(?:\^|\*\*)[{(]?([0-9]{1,2})[)}]?[\s$*]{0,4}$")
MEASURED = frozenset({"number", "time"})  # kinds of numbers that are rarely whole


def with_point(text: str, *, surely: bool = False) -> str:
    """Return a value that begins with a decimal comma, `0,1` or `1.234,5`, with a point; other texts as they are.

    `1,498` has a decimal comma only if the values around it show that (`surely`).
    """
    match = _DECIMAL_COMMA.match(as_ascii(text[:200]))
    if match is None:
        return text
    whole, part = match[1].strip().lstrip("+-"), match[2]
    if len(part) == _GROUP and len(whole) <= _GROUP and whole[0] != "0" and not surely:
        return text
    return f"{_PARTED.sub('', match[1].strip())}.{part}{text[match.end() :]}"


def explain_number(text: str, kind: str, *, unit: str = "") -> Found:
    """Return what `read_number` does, or the reason why there is no number."""
    text = with_point(text) if unit or kind in MEASURED else text
    text = _POWER_OF_TEN.sub(r"1e\1", text) if kind == "number" else text
    found = list(find_numbers(text[:1000], kind, unit=unit))
    nothing = Found(start=0, end=0, problem=f"{quoted(text)} is not {_KINDS[kind]}")
    if not found and (words := in_words(text, 0)) and kind in ("count", "bytes"):
        return Found(start=0, end=words[0], number=Number(value=Fraction(words[1]), text=text[: words[0]]))
    if found and (result := _result(text, kind)) is not None:
        return Found(start=found[0].start, end=found[-1].end, number=result)
    if not found or not _BEFORE.fullmatch(as_ascii(text[: found[0].start])):
        return nothing
    if found[0].number is None:
        return found[0]
    found = _without_remarks(text, found)
    numbers = [each.number for each in found if each.number is not None]
    finest = finest_of(numbers) or _sum_of_others(text, found, numbers)
    if finest is None:
        return Found(start=0, end=0, problem=f"{quoted(text)} holds several numbers; give one")
    return Found(start=found[0].start, end=found[0].end, number=finest)


def _without_remarks(text: str, found: list[Found]) -> list[Found]:
    """Return the numbers without those of brackets about something else: `1498376192 (2.997 GFLOPs)`."""
    own = found[0].noun
    return [each for each in found if not (each.noun and each.noun != own and _in_brackets(text, each))]


def _in_brackets(text: str, found: Found) -> bool:
    return text.count("(", 0, found.start) > text.count(")", 0, found.start)


def _sum_of_others(text: str, found: list[Found], numbers: list[Number]) -> Number | None:
    """Return the first number if the others are its parts, `5 (2 + 3)`; else None."""
    if len(found) != len(numbers) or len(numbers) < 3:  # noqa: PLR2004 - a sum of two
        return None
    return numbers[0] if numbers[0].value == sum(each.value for each in numbers[1:]) and "+" in text else None


def _result(text: str, kind: str) -> Number | None:
    """Return the result of a formula that is first or last, if all else between `=` gives it: `2 * 3 = 6`."""
    sides = [_BRACKET.sub("", each) for each in text[:400].split("=")] if "=" in text else []
    for formula, *others in (sides, sides[::-1]) if sides else ():
        value, results = worked_out(formula), [read_number(each, kind) for each in others]
        said = [each for each in (value, *results) if each is not None]
        finest = finest_of(said[1:]) if value is not None and len(said) == len(results) + 1 else None
        if finest is not None and finest_of(said) is not None:
            return finest
    return None


_BRACKET = re.compile(r"\([^()\d]{0,60}\)")
_TIMES = re.compile(r"\s*(?:\*|\bx\b|(?<=\d)x(?=\d)|\u00d7|\u00b7|\\times|\\cdot)\s*", re.IGNORECASE)


def worked_out(text: str) -> Number | None:
    """Return the value of a formula without a result, `4 * 6,624,904 bytes`, `81000 * 2^15`; else None."""
    formula = _TIMES.sub("*", _BETWEEN_GROUPS.sub("", _UNIT_LAST.sub("", as_ascii(text[:200])))).replace("^", "**")
    if _FORMULA.fullmatch(formula):
        return _evaluated(formula.strip(), text.strip())
    if _SUM_IN_BRACKETS.search(text):
        return None
    terms = [[read_number(each, "any") for each in _TIMES.split(term)] for term in text[:200].split("+")]
    factors = [each for term in terms for each in term]
    if len(factors) < 2 or any(each is None or each.half_unit for each in factors):  # noqa: PLR2004 - an operation
        return None
    value = sum(math.prod(each.value for each in term if each is not None) for term in terms)
    return Number(value=Fraction(value), text=text.strip())


def _evaluated(formula: str, text: str) -> Number | None:
    try:
        worked = _value_of(ast.parse(formula, mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None
    return Number(value=worked, text=text) if worked.denominator == 1 and abs(worked) <= LIMIT else None


_SUM_IN_BRACKETS = re.compile(r"\([^()]*\d\s*[+*-]")
_FORMULA = re.compile(r"[\d\s+*/()-]*[\d)]\s*[+*][\d\s+*/()-]*")  # 2024-10-11 is none
_BETWEEN_GROUPS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_UNIT_LAST = re.compile(r"\s*(?:bytes?|B|MACs?|FLOPs?|param(?:eter)?s)\s*$", re.IGNORECASE)
_LARGEST_POWER = 64


def _value_of(node: ast.expr) -> Fraction:
    """Return the value of sums, products and powers of whole numbers.

    Raises:
        ValueError: it is something else, or too large.
        ZeroDivisionError: it divides by zero.
    """
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return Fraction(value)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Pow() as op, right=right):
            one, other = _value_of(left), _value_of(right)
            if isinstance(op, ast.Pow) and not (0 <= other <= _LARGEST_POWER and other.denominator == 1):
                raise ValueError(other)
            worked = {ast.Add: one.__add__, ast.Sub: one.__sub__, ast.Mult: one.__mul__, ast.Div: one.__truediv__}
            found = one ** int(other) if isinstance(op, ast.Pow) else worked[type(op)](other)
            if abs(found) > LIMIT:
                raise ValueError(found)
            return Fraction(found)
    raise ValueError(node)


def finest_of(numbers: Iterable[Number]) -> Number | None:
    """Return the most precise of numbers that agree to their printed precision; None if they differ."""
    ordered = sorted(numbers, key=lambda number: number.half_unit)
    if not ordered:
        return None
    finest = ordered[0]
    agree = all(abs(other.value - finest.value) <= other.half_unit + finest.half_unit for other in ordered)
    return finest if agree else None


_KINDS = {
    "count": "a count (a whole number such as 1,498,376,192 or 1.498 G)",
    "bytes": "a number of bytes (such as 26,499,616, 26.5 MB or 25.27 MiB)",
    "number": "a number",
    "time": "a time (seconds, or with a unit such as 12.5 ms)",
    "any": "a number",
}


def _found(text: str, plain: str, match: re.Match[str], kind: str, stated: Unit | None) -> Found | None:
    of_time = _OF_TIME.match(plain, match.end()) is not None
    if of_time and kind in ("count", "bytes"):
        return None
    if (parted := in_parts(plain, match.start(), match.end(), kind)) is not None:
        return parted
    gap = _GAP.match(plain, match.end())
    start = gap.end() if gap else match.end()
    unit = (time_unit_at(plain, start) if kind == "time" else None) or unit_at(
        plain, start, attached=start == match.end()
    )
    end = match.end() if unit is None else start + len(unit.text)
    if (unit is None or start == match.end()) and _GOES_ON.match(plain, end):
        return None
    if kind in ("count", "bytes") and "." in match["digits"] and _RATIO.match(plain, match.end()):
        return None
    if _is_short(match) and (kind == "count" or (kind == "any" and "." in match["digits"])):  # no bytes are halved
        unit, stated = _as_billions(unit), _as_billions(stated)
    written = text[match.start() : match.end()].strip()
    if unit is not None:
        written += (" " if start > match.end() else "") + unit.text
        unit = as_mebibytes(unit) if kind == "bytes" else unit
        unit = replace(unit, scale=unit.scale / 8) if _IN_BITS.match(plain, end) else unit
    if unit is None or (not unit.prefixed and unit.measures == "count" and stated is not None):
        unit = stated or _NO_UNIT
        written = f"{written} {stated.text}" if stated else written
    problem = _wrong_unit(unit, kind, written) or _too_long(match)
    if problem:
        return Found(start=match.start(), end=end, problem=problem)
    number = _number(match, unit if kind != "number" else _NO_UNIT, written)
    if abs(number.value) > LIMIT:
        return Found(start=match.start(), end=end, problem=f"{quoted(written)} is too large to be {_KINDS[kind]}")
    noun = unit.noun or ("" if unit.measures not in ("", "count") or unit.prefixed else thing_at(plain, match.end()))
    measures = "time" if of_time and kind == "any" else unit.measures
    return Found(start=match.start(), end=end, number=number, noun=noun, measures=measures)


def _as_billions(unit: Unit | None) -> Unit | None:
    return Unit(text="B", scale=Fraction(10**9), prefixed=True) if unit is not None and unit.text == "B" else unit


def _is_short(match: re.Match[str]) -> bool:
    """Return whether a B behind these digits means a billion, as in `1.498B`; `26499616B` is in bytes."""
    return len(match["digits"].partition(".")[0]) <= 3 and match["power"] is None  # noqa: PLR2004 - below a thousand


def _wrong_unit(unit: Unit, kind: str, written: str) -> str:
    if kind in ("number", "any") or unit.measures in ("", kind):
        return ""
    asked = {"count": "a count is asked for", "time": "a time is asked for"}.get(kind, "bytes are asked for")
    what = {"bytes": "in bytes or bits", "count": "a count", "percent": "a percentage", "rate": "a rate"}[unit.measures]
    whole = f"{written}/s" if unit.measures == "rate" else written
    return f"{quoted(whole)} is {what}, but {asked}"


def _too_long(match: re.Match[str]) -> str:
    if len(match["digits"]) > _LONGEST or abs(_exponent(match)) > _LARGEST_EXPONENT:
        return f"{quoted(match[0])} is out of any sensible range"
    return ""


def _exponent(match: re.Match[str]) -> int:
    power = match["power"]
    if not power:
        return 0
    if alone := match["alone"] or match["over"] or (match["above"] or "").translate(_SUPERSCRIPTS):
        return int(alone) - 1 if len(alone) <= _LONGEST_EXPONENT else -10 * _LARGEST_EXPONENT  # 10^-3 is 10 times 1e-4
    digits = (
        match["caret"]
        or match["sup"]
        or match["times"]
        or (match["raised"] or "").translate(_SUPERSCRIPTS)
        or power[1:]
    )
    return int(digits) if len(digits.lstrip("+-0")) <= len(str(_LARGEST_EXPONENT)) else 10 * _LARGEST_EXPONENT


_COMMA_LANGUAGES = (  # where 1,498 is less than two
    *("tausend", "tsd", "mio", "millionen", "mrd", "milliard", "mln", "mld", "miliardi", "miljoen", "miljard"),
    *("тыс", "млн", "млрд", "миллион", "миллиард", "milyon", "milyar", "juta", "miliar", "triệu", "tỷ", "tỉ"),
    *("millioner", "miljoner", "milion", "millió", "мільйон", "мільярд"),
)
_ONE_COMMA = re.compile(r"\d{1,3},\d{3}")


def _number(match: re.Match[str], unit: Unit, written: str) -> Number:
    written_digits = match["digits"]
    if written_digits.isdecimal() and match["power"] is None and unit is _NO_UNIT:  # most are
        return Number(value=Fraction(int((match["sign"] or "") + written_digits)), text=written)
    if match["grouped"]:  # 26.499,6: where dots or blanks part the groups, a comma is the decimal one
        written_digits = re.sub(r"[^\d,]", "", written_digits).replace(",", ".")
    digits = re.sub(
        r"[^\d.]", "", written_digits.replace(match["comma"] or ",", (match["comma"] or "").replace(",", "."))
    )
    if unit.text.lower().startswith(_COMMA_LANGUAGES) and _ONE_COMMA.fullmatch(match["digits"]):
        digits = match["digits"].replace(",", ".")
    whole, point, places = (digits.replace(".", "") if digits.count(".") > 1 else digits).partition(".")
    exponent = _exponent(match)
    scale = unit.scale * Fraction(10) ** exponent
    last_place = scale / 10 ** len(places)
    value = int(whole + places or "0") * last_place
    exact = not point and match["power"] is None and not unit.prefixed
    # Of 120 MB, which may be 0.12 GB, the zero may say nothing.
    certain = whole + places if point or exact else whole.rstrip("0")
    if not (exact or point) and certain:
        last_place = scale * Fraction(10) ** (len(whole) - len(certain))
    return Number(
        value=-value if match["sign"] == "-" else value,
        half_unit=Fraction(0) if exact else last_place / 2,
        digits=None if exact else max(1, len(certain.lstrip("0"))),
        text=written,
    )


def _behind_first_digits(plain: str, match: re.Match[str]) -> int:
    run = re.compile(r"[+-]?\.?\d+").match(plain, match.start())
    return run.end() if run else match.end()
