"""Units behind a printed number: `GMac`, `MiB`, `billion`, `億`, `bits`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

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
_COUNTED = (
    r"macs?|madds?|mult(?:i|iply|s)?[- ]?(?:adds?|accumulates?|accs?)(?:\ operations?)?|flops?"
    r"|operations?|ops?|param(?:eter)?s?|weights?|elements?|multiplications?|次|個|个"
)
_UNIT = re.compile(
    rf"""
    (?: (?P<word>{"|".join(sorted(_WORDS, key=len, reverse=True))}) [-\ ]?
      | (?P<letter>[kmgtp]) (?P<binary>i?) [\ ]?
      | (?P<short_billion>B) [\ ]? (?={_COUNTED})
    )?
    (?: (?P<count>{_COUNTED})
      | (?P<bits>bits?|位元(?!組)|比特)
      | (?P<bytes>bytes?|b|octets?|位元組|字節|字节)
      | (?P<percent>%)
    )?
    (?![A-Za-z0-9])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PER_SECOND = re.compile(r"\s?/\s?s(?:ec(?:ond)?)?\b|\s?per\ssec|ps\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit as it was written: how many base units it stands for, and of what (`count`, `bytes`, `percent`, ``)."""

    text: str = ""
    scale: Fraction = Fraction(1)
    measures: str = ""
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
    return Unit(text=match[0].rstrip(), scale=scale, measures=measured, prefixed=prefixed)


def label_unit(label: str) -> Unit | None:
    """The unit that a label names as a whole: the `G` of `Total MACs (G)`; None where the label is something else."""
    unit = unit_at(label, 0, attached=False)
    return unit if unit is not None and unit.text == label.strip() else None


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
