"""Whole numbers in words, `one hundred and five`, and numbers of several parts: `1 min 30 s`, `2 GB 654 MB`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.words.languages import LANGUAGES
from labgrade.values import Number

if TYPE_CHECKING:
    from collections.abc import Iterator

_IRREGULAR = {"quinientos": 500, "setecientos": 700, "novecientos": 900}
_TEN = 10
_LONGEST = 400  # characters
# What alone is an article, a scale, or a word of another language.
_ARTICLES = frozenset(("a", "un", "une", "uno", "una", "ein", "eine"))
_OTHER_WORDS = _ARTICLES | {"once", "due", "seize", "million", "billion", "mille", "mil", "thousand"}


class _Language:
    """A language's words: the number that each adds or multiplies by, and a pattern of a number."""

    def __init__(self, *, ones: str, tens: str, scales: dict[str, int], joint: str) -> None:
        self.added = {word: value for value, words in enumerate(ones.split()) for word in words.split("|")}
        self.added |= {word: 10 * at for at, words in enumerate(tens.split(), 2) for word in words.split("|")}
        self.added |= _IRREGULAR if "cientos" in scales else {}
        self.scales = scales
        self.digits = _TEN in scales.values()  # 一〇五
        every = "|".join(map(re.escape, sorted((*self.added, *scales), key=len, reverse=True)))
        self.word = re.compile(every, re.IGNORECASE)
        between = rf"(?:[ ]?-[ ]?|,[ ]|[ ]?{joint}[ ]?|[ ])?"
        self.number = re.compile(rf"(?:{every})(?:{between}(?:{every})){{0,60}}", re.IGNORECASE)

    def value(self, written: str) -> int | None:
        """Return the value of a number in words; None if there is none, as in `six, eleven`, or two: `一百五`."""
        words = [match[0].lower() for match in self.word.finditer(written)]
        digits = [self.added[word] for word in words if word in self.added]
        if self.digits and len(digits) == len(words) > 1:
            return int("".join(map(str, digits)))
        short = len(words) > 1 and words[-1] in self.added and self.scales.get(words[-2], 0) > _TEN
        if short and "萬" in self.scales:
            return None  # 一百五 may be 150
        groups: list[tuple[int, int]] = []
        for word in words:
            scale = self.scales.get(word, 0)
            if scale:
                least = next((at for at, each in enumerate(groups) if each[0] < scale), len(groups))
                groups, taken = groups[:least], groups[least:]
                if any(one >= scale for one, _ in taken) or not _descends(taken):
                    return None
                groups.append((scale, (sum(value for _, value in taken) or 1) * scale))
            elif self.added[word] or len(words) == 1:
                groups.append((1, self.added[word]))
        return sum(value for _, value in groups) if _descends(groups) else None


def _descends(groups: list[tuple[int, int]]) -> bool:
    """Return whether each scale occurs once, in order, and the last addend is tens and ones."""
    scales = [scale for scale, _ in groups if scale > 1]
    added = sorted((value for scale, value in groups if scale == 1), reverse=True)
    if added and added[0] >= 2 * _TEN:
        added = added[1:]
    ones = len(added) <= 1 or (len(added) == 2 and added[0] == _TEN)  # noqa: PLR2004 - dix-sept
    return ones and scales == sorted(set(scales), reverse=True)


_SPELT, _SIGNS = ("en", "de", "fr", "es", "it"), ("zh", "ko")  # those of letters stand whole, those of signs anywhere
_LANGUAGES = [_Language(**LANGUAGES[name]["numbers"]) for name in (*_SPELT, *_SIGNS)]
_ENDS = re.compile(
    r"""[\s*_`]*(?:$|[.,;:|()=\n\u3002\uff0c\uff1b\uff08]
      |(?:macs?|madds?|flops?|param(?:[eè]t)?(?:er|tr)[a-z]{0,2}|par[áâ]metros?|weights?|opera[td][a-z]{2,8}
         |opérat[a-z]{2,8}|op[ ]types?|ops?|kinds?
         |elements?|bytes?|octets?|nodes?|knoten|types?|typen|tipos?|sortes|clases|nodos?|n(?:œ|oe)uds?
         |different|verschiedene|in[ ](?:total|all))\b
      |[個个次種种位開개회])""",
    re.VERBOSE | re.IGNORECASE,
)


def in_words(text: str, position: int) -> tuple[int, int] | None:
    """Return the end and the value of a whole number in words at `position`; behind it there is only what it counts.

    The language that reads most of the text decides.
    """
    part = text[position : position + _LONGEST]
    matches = [(match, each) for each in _LANGUAGES if (match := each.number.match(part))]
    match, language = max(matches, key=lambda found: found[0].end(), default=(None, None))
    if match is None or language is None or match[0].lower() in _OTHER_WORDS or not _ENDS.match(part, match.end()):
        return None
    value = language.value(match[0])
    return (position + match.end(), value) if value is not None else None


_FIRST = re.compile(
    r"(?<![^\W_])(?:" + "|".join(each.number.pattern for each in _LANGUAGES[: len(_SPELT)]) + r")(?![^\W_])"
    r"|(?<!\u7b2c)(?:" + "|".join(each.number.pattern for each in _LANGUAGES[len(_SPELT) :]) + ")",
    re.IGNORECASE,
)


_SCALES = frozenset(
    word for each in _LANGUAGES for word, scale in each.scales.items() if scale >= 10**3
)  # alone no number


def words_in(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the start, the end and the value of each whole number in words."""
    position = 0
    while (match := _FIRST.search(text, position)) is not None:
        words = in_words(text, match.start())
        if words is not None and match[0].lower() not in _SCALES:
            yield match.start(), words[0], words[1]
        position = max(match.end(), words[0] if words is not None else 0)


# ---- numbers found, and numbers of several parts ---------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A number in a text at [start, end), or why the text there is no value of the kind asked for.

    `noun` and `measures`: what its unit counts, as in `Unit`.
    """

    start: int
    end: int
    number: Number | None = None
    problem: str = ""
    noun: str = ""
    measures: str = ""


def in_parts(plain: str, start: int, end: int, kind: str) -> Found | None:
    """Return the number of several parts with scales whose first digits are at [start, end); else None."""
    parted = _in_myriads(plain, start) or _in_units(plain, start)
    return parted or (_by_the_clock(plain, start, end) if kind == "time" else None)


# As East Asian texts print large numbers: 14億9837萬6192, 14억 9,837만 6,192.
_MYRIADS = re.compile(
    r"(?:(?P<cho>\d{1,4})\s?[兆조]\s?)?(?:(?P<oku>\d{1,5}|\d,\d{3})\s?[億亿억]\s?)?(?:(?P<man>\d{1,4}|\d,\d{3})\s?[萬万만]\s?)?(?P<one>\d,\d{3}|\d{1,4})?(?![\d.,]\d|\d)"
)


def _in_myriads(plain: str, start: int) -> Found | None:
    """Return a number of two or more parts, each with its own scale; else None."""
    match = _MYRIADS.match(plain, start)
    if match is None or sum(map(bool, match.groups())) < 2:  # noqa: PLR2004 - a single scale is a unit
        return None
    parts = {name: digits for name, digits in match.groupdict().items() if digits}
    scales = {"cho": 10**12, "oku": 10**8, "man": 10**4, "one": 1}
    value = sum(int(digits.replace(",", "")) * scales[name] for name, digits in parts.items())
    return Found(start=start, end=match.end(), number=Number(value=Fraction(value), text=match[0].strip()))


_CLOCK = re.compile(
    r"(?:(?P<h>\d{1,4})\s?(?:h|hrs?|hours?|小時|小时)\s?(?:and\s|,\s?)?)?"
    r"(?:(?P<m>\d{1,4})\s?(?:m|min(?:ute)?s?|分鐘?|分钟?)\s?(?:and\s|,\s?)?)?"
    r"(?:(?P<s>\d{1,4})(?P<part>\.\d{1,9})?\s?(?:s|secs?|seconds?|秒))?(?![A-Za-z0-9])"
)
_COLONS = re.compile(r"(?P<h>\d{1,4}):(?P<m>[0-5]\d):(?P<s>[0-5]\d)(?P<part>\.\d{1,9})?(?![\d:])")
_TWO_PARTS = re.compile(r"\d{1,4}:[0-5]\d(?![\d:])")
_LONE_M = re.compile(r"\s?m(?![A-Za-z0-9])")


def _by_the_clock(plain: str, start: int, first_end: int) -> Found | None:
    """Return a time of several parts, as `1 min 30 s`, `1m30.5s`, `1:02:03`; a problem if it may be two times."""
    match = _COLONS.match(plain, start) or _CLOCK.match(plain, start)
    parts = {name: digits for name, digits in match.groupdict().items() if digits} if match else {}
    part = parts.pop("part", "")
    if match is not None and len(parts) > 1:
        whole = sum(int(digits) * {"h": 3600, "m": 60, "s": 1}[name] for name, digits in parts.items())
        half = Fraction(1, 2 * 10 ** len(part[1:])) if part else Fraction(0)
        value = whole + Fraction(f"0{part}")
        number = Number(value=value, half_unit=half, text=match[0].strip())
        return Found(start=start, end=match.end(), number=number, measures="time")
    either = "hours and minutes, or minutes and seconds" if (two := _TWO_PARTS.match(plain, start)) else ""
    if two is None and (lone := _LONE_M.match(plain, first_end)):
        either, two = "minutes or milliseconds", lone
    if two is None:
        return None
    written = plain[start : two.end()]
    return Found(start=start, end=two.end(), problem=f"{quoted(written)} may be {either}: write min, ms or s")


_BYTES_PART = re.compile(r"(\d{1,4}) ?(?:([TGMkK])(i?)B|B|[Bb]ytes?)(?![A-Za-z0-9])")
_NEXT_PART = re.compile(r",? (?:and )?(?=\d)")
_BYTE_POWERS = {"T": 4, "G": 3, "M": 2, "k": 1, "K": 1, None: 0}


def _in_units(plain: str, start: int) -> Found | None:
    """Return bytes in several units, each smaller than the one before: `2 GB 654 MB 208 kB`; else None."""
    parts: list[tuple[int, int]] = []
    position = start
    while (part := _BYTES_PART.match(plain, position)) is not None:
        scale = (1024 if part[3] else 1000) ** _BYTE_POWERS[part[2]]
        if parts and scale >= parts[-1][1]:
            return None
        parts.append((int(part[1]), scale))
        end = part.end()
        behind = _NEXT_PART.match(plain, end)
        position = behind.end() if behind else len(plain)
    if len(parts) < 2:  # noqa: PLR2004 - a single one is a number with its unit
        return None
    value = sum(count * scale for count, scale in parts)
    half_unit = Fraction(parts[-1][1], 2) if parts[-1][1] > 1 else Fraction(0)
    number = Number(value=Fraction(value), half_unit=half_unit, text=plain[start:end])
    return Found(start=start, end=end, number=number, measures="bytes")


def quoted(text: str) -> str:
    """Return a text in quotation marks, cut if it is long."""
    shown = " ".join(text[:60].split())
    return f"'{shown}…'" if len(text) > len(shown) + 20 else f"'{shown}'"
