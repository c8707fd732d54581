"""Numbers as people print them: `1,498,376,192`, `1.498 GMac`, `1.5e9`, `25.27 MiB`, `14.98 億`.

Read exactly, with the precision that was printed; anything that only looks like a number (a version, a date, a
heading, a layer's name) is left alone. Hostile text costs time linear in its length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.values import Number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LETTERS = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_WORDS = {
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "kilo": 10**3,
    "mega": 10**6,
    "giga": 10**9,
    "tera": 10**12,
    "kibi": 2**10,
    "mebi": 2**20,
    "gibi": 2**30,
    "tebi": 2**40,
    "千": 10**3,
    "萬": 10**4,
    "万": 10**4,
    "百萬": 10**6,
    "百万": 10**6,
    "千萬": 10**7,
    "千万": 10**7,
    "億": 10**8,
    "亿": 10**8,
    "十億": 10**9,
    "十亿": 10**9,
}
_NOUNS = {
    "MACs": r"macs?|madds?|mult(?:i|iply|s)?[- ]?(?:adds?|accumulates?|accs?)(?:\ operations?)?",
    "FLOPs": r"flops?",
    "parameters": r"param(?:eter)?s?|weights?",
    "": r"operations?|ops?|elements?|multiplications?|次|個|个",
}
_COUNTED = "|".join(_NOUNS.values())
_UNIT = re.compile(
    rf"""
    (?: (?P<word>{"|".join(sorted(_WORDS, key=len, reverse=True))}) s? [-\ ]?
      | (?P<letter>[kmgtp]) (?P<binary>i?) [\ ]?
      | (?P<short_billion>B) [\ ]? (?={_COUNTED})
    )?
    (?: (?P<count>{_COUNTED})
      | (?P<bits>bits?|位元(?!組)|比特)
      | (?P<bytes>bytes?|b|(?<=[kmgti])bs|octets?|(?-i:(?<=[kMG])o|(?<=[KMG]i)o)|位元組|字節|字节)
      | (?P<percent>%)
    )?
    (?![A-Za-z0-9])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_KNOWN = {noun: written for noun, written in _NOUNS.items() if noun}
_NAMED = re.compile(
    rf"(?<![A-Za-z])[kmgt]?(?:{'|'.join(f'({written})' for written in _KNOWN.values())})(?![a-z])", re.IGNORECASE
)
_POWER = re.compile(
    r"(?:[x\u00d7*]\s?)?10(?:\s?(?:\^|\*\*)\s?\{?(?P<caret>\d{1,2})\}?|(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2}))|1e(?P<e>\d{1,2})"
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_UNIT_WORDS = re.compile(
    r"(?:in|units?|單位|单位)\s*[:=]?\s+|\s*(?:per|/)\s*(?:image|inference|sample|batch)\s*$", re.IGNORECASE
)
_PER_SECOND = re.compile(r"\s?/\s?s(?:ec(?:ond)?)?\b|\s?per\ssec|ps\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit as it was written: how many base units it stands for, and of what (`count`, `bytes`, `percent`, ``).

    `noun`: what is counted (`MACs`, `FLOPs`, `parameters`), or "" where it doesn't say.
    """

    text: str = ""
    scale: Fraction = Fraction(1)
    measures: str = ""
    noun: str = ""
    prefixed: bool = False


def unit_at(text: str, position: int, *, attached: bool) -> Unit | None:
    """The unit that starts at `position`, or None. `attached`: it stands directly behind the digits.

    Decimal prefixes are powers of 1000 (k, K, M, G, T), binary ones of 1024 (Ki, Mi, Gi). A lower-case letter alone
    (`6.62m`) is a prefix only where it is attached. Bits are eighths of a byte.
    """
    match = _UNIT.match(text, position)
    if match is None or not match[0].strip():
        return None
    scale, prefixed, measured = _prefix(match), _has_prefix(match), _measured(match)
    lonely = match["letter"] is not None and not measured and not match["binary"]
    if lonely and match["letter"] in "mgtp" and not attached:
        return None
    if _PER_SECOND.match(text, match.end()):
        measured = "rate"
    if match["bits"]:
        scale /= 8
    noun = noun_in(match["count"] or "")
    return Unit(text=match[0].rstrip(), scale=scale, measures=measured, noun=noun, prefixed=prefixed)


def label_unit(label: str) -> Unit | None:
    """The unit that a label names as a whole: the `G` of `Total MACs (G)`; None where the label is something else.

    Also `in G`, `in billions`, `x 10^9`.
    """
    plain = _UNIT_WORDS.sub("", label.strip())
    power = _POWER.fullmatch(plain)
    if power is not None:
        exponent = int((power["caret"] or power["raised"] or power["e"]).translate(_RAISED))
        return Unit(text=plain, scale=Fraction(10) ** exponent, prefixed=True)
    unit = unit_at(plain, 0, attached=False)
    return unit if unit is not None and unit.text == plain else None


def noun_in(words: str) -> str:
    """What words count: `MACs` of `Total mult-adds`; "" where they say nothing of it."""
    match = _NAMED.search(words)
    return list(_KNOWN)[match.lastindex - 1] if match and match.lastindex else ""


def _prefix(match: re.Match[str]) -> Fraction:
    if match["word"]:
        return Fraction(_WORDS[match["word"].lower()])
    if match["letter"]:
        return Fraction(1024 if match["binary"] else 1000) ** _LETTERS[match["letter"].lower()]
    return Fraction(10**9 if match["short_billion"] else 1)


def _has_prefix(match: re.Match[str]) -> bool:
    return any(match[group] for group in ("word", "letter", "short_billion"))


def _measured(match: re.Match[str]) -> str:
    if match["bits"] or match["bytes"]:
        return "bytes"
    return "count" if match["count"] else "percent" if match["percent"] else ""


LIMIT = 10**30
_LONGEST = 80
_LARGEST_EXPONENT = 60

_THIN = "\u00a0"
_AS_ASCII = str.maketrans(
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
    | dict.fromkeys((0x2007, 0x2009, 0x200A, 0x202F), _THIN)
    | {0x3000: " ", 0x2212: "-", 0x2013: "-", 0x2014: "-", 0x2019: "'"}
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")

_NUMBER = re.compile(
    r"""
    (?<![A-Za-z0-9])(?<![A-Za-z0-9]_)(?<!\d[.,:/^-])(?<![A-Za-z][.-])
    (?P<sign>[+-])?
    (?P<digits>
      (?: \d{1,3} (?: (?:,\d{3}){1,10} | (?:\u00a0\d{3}){1,10} | (?:'\d{3}){1,10} | (?:[ ]\d{3}){2,10}
                    | (?:\\[,;]\s?\d{3}){1,10} | (?:\{,\}\d{3}){1,10} | (?:,\\!\d{3}){1,10}
                    | (?:\.\d{3}){2,10}(?!\.\d) ) (?!\d)
        | \d++ (?> (?:_\d++)* ) )
      (?:\.\d++)?
    | \.\d++ )
    (?P<power> [eE][+-]?\d++
      | [ \u00a0]? (?:[\u00d7xX*\u00b7]|\\times|\\cdot) [ \u00a0]? 10 [ ]?
        (?: (?:\^|\*\*) [ ]? [{(]? (?P<caret>[+-]?\d++) [)}]? | (?P<raised>[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]++)
          | <sup>[ ]?(?P<sup>[+-]?\d++)[ ]?</sup> )
    )?
    """,
    re.VERBOSE,
)
_GAP = re.compile(r"(?:[ \t\u00a0~*`$_]|\\[,;: ]){0,4}(?:\\(?:text|mathrm|textrm|rm)\s?\{\s?)?")
_GOES_ON = re.compile(r"[A-Za-z0-9]|_[A-Za-z0-9]|[.,:/^-]\d|\^|%\d")
_BEFORE = re.compile(
    r"(?:[\s*`$_~≈=:<>|(\[\"'+-]|about|approx(?:imately|\.)?|roughly|around|ca\.|約|约|大約|\\approx|\\sim)*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A number in a text at [start, end), or why what stands there is not a value of the kind asked for.

    `noun`: what its unit says that it counts, as in `Unit`.
    """

    start: int
    end: int
    number: Number | None = None
    problem: str = ""
    noun: str = ""


def as_ascii(text: str) -> str:
    """The text with full-width forms, thin spaces and dashes made plain. Same length, so that places stay."""
    return text.translate(_AS_ASCII)


def find_numbers(text: str, kind: str, *, unit: str = "") -> Iterator[Found]:
    """Every number in the text, in order. `unit` (`G`, `MB`) holds for those that have none of their own.

    `kind` is `count`, `bytes` or `number`. A `number` is taken as printed, in whatever unit stands behind it.
    """
    plain = as_ascii(text)
    stated = label_unit(as_ascii(unit)) if unit else None
    position = 0
    while (match := _NUMBER.search(plain, position)) is not None:
        found = _found(text, plain, match, kind, stated)
        if found is not None:
            yield found
        position = found.end if found is not None else _behind_first_digits(plain, match)


def read_number(text: str, kind: str) -> Number | None:
    """The number that a text is, or None. Words may follow; what it says again must agree: `26499616 (25.27 MiB)`."""
    return explain_number(text, kind).number


def explain_number(text: str, kind: str, *, unit: str = "") -> Found:
    """As `read_number`, with the reason where there is none."""
    found = list(find_numbers(text[:1000], kind, unit=unit))
    nothing = Found(start=0, end=0, problem=f"{_quoted(text)} is not {_KINDS[kind]}")
    if not found or not _BEFORE.fullmatch(as_ascii(text[: found[0].start])):
        return nothing
    if found[0].number is None:
        return found[0]
    finest = finest_of(each.number for each in found if each.number is not None)
    if finest is None:
        return Found(start=0, end=0, problem=f"{_quoted(text)} holds several numbers; give one")
    return Found(start=found[0].start, end=found[0].end, number=finest)


def finest_of(numbers: Iterable[Number]) -> Number | None:
    """The most precise of numbers that all agree within their printed precision; None where they differ."""
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
}


def _found(text: str, plain: str, match: re.Match[str], kind: str, stated: Unit | None) -> Found | None:
    gap = _GAP.match(plain, match.end())
    start = gap.end() if gap else match.end()
    unit = unit_at(plain, start, attached=start == match.end())
    end = match.end() if unit is None else start + len(unit.text)
    if (unit is None or start == match.end()) and _GOES_ON.match(plain, end):
        return None
    if kind == "count" and unit is not None and unit.text == "B" and start == match.end() and _is_short(match):
        unit = Unit(text="B", scale=Fraction(10**9), prefixed=True)
    written = text[match.start() : match.end()].strip()
    if unit is not None:
        written += (" " if start > match.end() else "") + unit.text
    if unit is None or (not unit.prefixed and unit.measures == "count" and stated is not None):
        unit = stated or Unit()
        written = f"{written} {stated.text}" if stated else written
    problem = _wrong_unit(unit, kind, written) or _too_long(match)
    if problem:
        return Found(start=match.start(), end=end, problem=problem)
    number = _number(match, unit if kind != "number" else Unit(), written)
    if abs(number.value) > LIMIT:
        return Found(start=match.start(), end=end, problem=f"{_quoted(written)} is too large to be {_KINDS[kind]}")
    return Found(start=match.start(), end=end, number=number, noun=unit.noun)


def _is_short(match: re.Match[str]) -> bool:
    """Whether a B behind these digits means a billion, as in `1.498B`; `26499616B` is in bytes."""
    return len(match["digits"].partition(".")[0]) <= 3 and match["power"] is None  # noqa: PLR2004 - below a thousand


def _wrong_unit(unit: Unit, kind: str, written: str) -> str:
    if kind == "number" or unit.measures in ("", kind):
        return ""
    asked = "a count is asked for" if kind == "count" else "bytes are asked for"
    what = {"bytes": "in bytes or bits", "count": "a count", "percent": "a percentage", "rate": "a rate"}[unit.measures]
    return f"{_quoted(written)} is {what}, but {asked}"


def _too_long(match: re.Match[str]) -> str:
    if len(match["digits"]) > _LONGEST or abs(_exponent(match)) > _LARGEST_EXPONENT:
        return f"{_quoted(match[0])} is out of any sensible range"
    return ""


def _exponent(match: re.Match[str]) -> int:
    power = match["power"]
    if not power:
        return 0
    digits = match["caret"] or match["sup"] or (match["raised"] or "").translate(_SUPERSCRIPTS) or power[1:]
    return int(digits) if len(digits.lstrip("+-0")) <= len(str(_LARGEST_EXPONENT)) else 10 * _LARGEST_EXPONENT


def _number(match: re.Match[str], unit: Unit, written: str) -> Number:
    digits = re.sub(r"[^\d.]", "", match["digits"])
    whole, point, places = (digits.replace(".", "") if digits.count(".") > 1 else digits).partition(".")
    exponent = _exponent(match)
    scale = unit.scale * Fraction(10) ** exponent
    last_place = scale / 10 ** len(places)
    value = int(whole + places or "0") * last_place
    exact = not point and match["power"] is None and not unit.prefixed
    return Number(
        value=-value if match["sign"] == "-" else value,
        half_unit=Fraction(0) if exact else last_place / 2,
        digits=None if exact else max(1, len((whole + places).lstrip("0"))),
        text=written,
    )


def _behind_first_digits(plain: str, match: re.Match[str]) -> int:
    run = re.compile(r"[+-]?\.?\d+").match(plain, match.start())
    return run.end() if run else match.end()


def _quoted(text: str) -> str:
    shown = " ".join(text[:60].split())
    return f"'{shown}…'" if len(text) > len(shown) + 20 else f"'{shown}'"
