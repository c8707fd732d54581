"""Units as people write them behind numbers: `GMac`, `MiB`, `Milliarden`, `億`, and what they measure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from fractions import Fraction

from labgrade.answers.reading.words.languages import SCALES

_LETTERS = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_LETTERS |= {"\u043a": 1, "\u043c": 2, "\u0433": 3, "\u0442": 4}  # Cyrillic, as in the Russian for MB and MiB
_NOUNS = {
    "MACs": r"macs?|madds?|mult(?:i|iply|s)?[- ]?(?:adds?|accumulates?|accs?)(?:\ operations?)?",
    "FLOPs": r"flops?",
    "parameters": r"param(?:eter)?s?|param[eè]tr[eio]s?|par[áâ]metros?|weights?|參數|参数|매개변수|파라미터",
    "": r"operations?|ops?|elements?|multiplications?|次|個|个|回|개|회|번",
}
_COUNTED = "|".join(_NOUNS.values())
# What a number without a unit may count; other words may stand between: `17 ReLU modules`.
_THINGS = {
    "modules": r"modules?|layers?|modulen?|schichten|m[oó]dul[oi]s?|capas?|(?:nn\.)?relus?|模組|模块|層|层",
    "calls": r"calls?|invocations?|executions?|aufrufe?n?|llamadas?|mal|veces"
    r"|times(?!\s+(?:\d|as|more|less|fewer|the|larger|smaller|bigger))",
}
_JOINING = "of|in|on|per|for|by|are|is|was|were|and|or|with|to|from|at"  # what stands behind is said of something else


def spelled(word: str) -> str:
    """Return a pattern for a word in which capitals count: `BN` is batch norm, no billion."""
    return "(?-i:bn)" if word == "bn" else re.escape(word)


_UNIT = re.compile(
    rf"""
    (?: (?P<word>{"|".join(map(spelled, sorted(SCALES, key=len, reverse=True)))}) s? [-\ ]?
      | (?P<letter>[kmgtp]|[\u043a\u043c\u0433\u0442](?=\u0438?[\ ]?\u0431)) (?P<binary>[i\u0438]?) [\ ]?
      | (?P<short_billion>B) [\ ]? (?={_COUNTED})
    )?
    (?: (?P<count>{_COUNTED})
      | (?P<bits>bits?|位元(?!組)|比特|\u0431\u0438\u0442(?:\u0430|\u043e\u0432)?(?![\u0430-\u044f\u0451]))
      | (?(word)(?:(?<=\ )(?:de|of|di)\ )?(?P<also>[kmgt](?=b))?)
        (?P<bytes>bytes?|b|(?<=[kmgti])bs|octets?|(?-i:(?<=[kMG])o|(?<=[KMG]i)o)|位元組|字節|字节|바이트|バイト
        |\u0431\u0430\u0439\u0442(?:\u0430|\u043e\u0432)?(?![\u0430-\u044f\u0451])|(?<=[\u043a\u043c\u0433\u0442\u0438])\u0431(?![\u0430-\u044f\u0451]))
      | (?P<percent>%)
    )?
    (?![A-Za-z0-9\u00c0-\u024f])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_KNOWN = {noun: written for noun, written in _NOUNS.items() if noun} | _THINGS
_WORD_BETWEEN = rf"(?!(?:{_JOINING})(?![\w-]))[A-Za-z][\w.=/-]{{0,30}}(?:\([\w=]{{0,30}}\))?[ \t*`]{{1,4}}"
_THING = re.compile(
    rf"[ \t*_`~]{{0,6}}(?:{_WORD_BETWEEN}){{0,3}}?(?:{'|'.join(f'({written})' for written in _THINGS.values())})"
    r"(?![A-Za-z])(?![ \t]+(?:modul|layer|call|invoc|exec)[a-z]{0,6}\b)",  # of `ReLU calls` it is the calls
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"(?<![A-Za-z])[kmgt]?(?:{'|'.join(f'({written})' for written in _KNOWN.values())})(?![a-z])", re.IGNORECASE
)
_POWER = re.compile(
    r"(?:[x\u00d7*]\s?)?10(?:\s?(?:\^|\*\*)\s?\{?(?P<caret>\d{1,2})\}?|(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2}))|1e(?P<e>\d{1,2})"
)
# What torchinfo 1.8 prints for its prefixes under Python 3.11; not of bytes, where it counts.
_TORCHINFO = {"Units.MEGABYTES": "M", "Units.GIGABYTES": "G", "Units.TERABYTES": "T"}
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_BINARY_POWER = re.compile(r"2\s?(?:\^|\*\*)\s?\{?(?P<power>[1-4]0)\}?")
_FACTOR = (
    r"(?:10\s?(?:\^|\*\*)\s?\{?\d{1,2}\}?|10[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2}|1e\d{1,2}|2\s?(?:\^|\*\*)\s?\{?[1-4]0\}?"
    r"|1024(?:\s?(?:\^|\*\*)\s?\{?[2-4]\}?)?|1(?:[,_']?000){1,4})(?![\d.])"
)
_DIVIDED = re.compile(  # Total MACs / 10^9: 1.498
    rf"""[\s*_`]{{0,4}}[(\[]?(?:(?:/|\u00f7|\\div|divided\ by)\s*|in\ (?:(?:units?|multiples)\ of\ )?)
         (?P<factors>{_FACTOR}(?:\s*[/\u00f7\u00d7*]\s*{_FACTOR}){{0,3}})
         (?:\s*[kMGT]?i?(?:B|bytes|MACs?|FLOPs?|params|parameters))?[)\]]?[\s*_`]{{0,4}}(?=[:=|≈]|\s?(?:is|are)\s)""",
    re.VERBOSE | re.IGNORECASE,
)
_UNITWORDS = re.compile(
    r"(?:in|units?|單位|单位)\s*[:=]?\s+|\s*(?:per|/)\s*(?:image|inference|sample|batch)\s*$", re.IGNORECASE
)
_PER_SECOND = re.compile(r"\s?/\s?s(?:ec(?:ond)?)?\b|\s?(?:per|an?|each)\ssec(?:ond)?s?\b|ps\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit as it was written: its number of base units, and what it measures (`count`, `bytes`, `percent`, ``).

    `noun`: what is counted (`MACs`, `FLOPs`, `parameters`), or "" if it doesn't say.
    """

    text: str = ""
    scale: Fraction = Fraction(1)
    measures: str = ""
    noun: str = ""
    prefixed: bool = False


_TIMES = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}
_TIME = re.compile(
    r"(?:(?P<ns>ns|nano-?sec(?:ond)?s?)|(?P<us>[uµμ]s|micro-?sec(?:ond)?s?|微秒)|(?P<ms>ms|msecs?|milli-?sec(?:ond)?s?|毫秒)"
    r"|(?P<s>s|secs?|seconds?|秒)|(?P<min>min(?:ute)?s?|分鐘?|分钟?)|(?P<h>h|hrs?|hours?|小時|小时))(?![A-Za-z0-9])"
)


def time_unit_at(text: str, position: int) -> Unit | None:
    """Return the unit of time at `position`, in seconds; None if there is none."""
    match = _TIME.match(text, position)
    if match is None or match.lastgroup is None:
        return None
    return Unit(text=match[0], scale=_TIMES[match.lastgroup], measures="time", prefixed=match.lastgroup != "s")


def unit_at(text: str, position: int, *, attached: bool) -> Unit | None:
    """Return the unit at `position`; None if there is none. `attached`: it is directly behind the digits.

    Decimal prefixes are powers of 1000 (k, K, M, G, T), binary ones of 1024 (Ki, Mi, Gi). A lower-case letter alone
    (`6.62m`) is a prefix only if it is attached. Bits are eighths of a byte.
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


def behind_rate(text: str) -> str:
    """Return a text behind a unit without `per second` at its beginning."""
    match = _PER_SECOND.match(text)
    return text[match.end() :] if match else text


def as_mebibytes(unit: Unit) -> Unit:
    """Return the unit; `Mio` alone, if bytes are asked for, is French for MiB. A German million would need a noun."""
    return replace(unit, scale=Fraction(2**20), measures="bytes") if unit.text == "Mio" else unit


def label_unit(label: str, kind: str = "") -> Unit | None:
    """Return the unit that a label names as a whole: the `G` of `Total MACs (G)`; None for other labels.

    Also `in G`, `in billions`, `x 10^9`, and torchinfo's `Units.GIGABYTES`. `s` and `min` are units only if a `time` is
    asked for.
    """
    plain = _UNITWORDS.sub("", label.strip())
    plain = _TORCHINFO.get(plain, plain)
    if kind == "time":
        of_time = time_unit_at(plain, 0)
        return of_time if of_time is not None and of_time.text == plain else None
    power = _POWER.fullmatch(plain)
    if power is not None:
        exponent = int((power["caret"] or power["raised"] or power["e"]).translate(_RAISED))
        return Unit(text=plain, scale=Fraction(10) ** exponent, prefixed=True)
    binary = _BINARY_POWER.fullmatch(plain)
    if binary is not None:
        return Unit(text=plain, scale=Fraction(2) ** int(binary["power"]), prefixed=True)
    unit = unit_at(plain, 0, attached=False)
    if unit is None or plain == unit.text:
        return unit
    return unit if unit.measures == "rate" and _PER_SECOND.fullmatch(plain, len(unit.text)) else None


def is_unit(word: str) -> bool:
    """Return whether a word by itself is a unit of bytes or operations, or a prefix."""
    unit = label_unit(word)
    return unit is not None and (unit.prefixed or unit.measures == "bytes" or unit.noun in ("MACs", "FLOPs"))


def divided_by(text: str, position: int = 0) -> tuple[int, str] | None:
    """Return the end of a label's division at `position`, and the unit that results: `/ 10^9`, `/ 1024 / 1024`.

    The unit is a power of ten or of two, as `label_unit` reads it: `10^9`, `2^20`.
    """
    match = _DIVIDED.match(text, position)
    if match is None:
        return None
    by = math.prod(_factor(each[0]) for each in re.finditer(_FACTOR, match["factors"]))
    units = (f"10^{len(str(by)) - 1}", f"2^{by.bit_length() - 1}")
    return next(((match.end(), unit) for unit in units if _factor(unit) == by), None)


def _factor(written: str) -> int:
    """Return the value of `10^9`, `10⁹`, `1e9`, `2**20`, `1024^2`, `1,000,000`."""
    plain = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda raised: "^" + raised[0].translate(_RAISED), written.lower())
    base, _, power = re.sub(r"[\s,_'{}]", "", plain.replace("1e", "10^").replace("**", "^")).partition("^")
    return int(int(base) ** int(power or 1))


def noun_in(words: str) -> str:
    """Return what words count: `MACs` for `Total mult-adds`; an empty text if they don't say."""
    match = _NAMED.search(words)
    return list(_KNOWN)[match.lastindex - 1] if match and match.lastindex else ""


def thing_at(text: str, position: int) -> str:
    """Return what the number ending at `position` counts: `modules` or `calls`; an empty text if it does not say."""
    match = _THING.match(text, position)
    return list(_THINGS)[match.lastindex - 1] if match and match.lastindex else ""


def _prefix(match: re.Match[str]) -> Fraction:
    if match["word"]:
        also = _LETTERS[match["also"].lower()] if match["also"] else 0  # 26.5 million KB
        return Fraction(1000) ** also * SCALES[match["word"].lower()]
    if match["letter"]:
        return Fraction(1024 if match["binary"] else 1000) ** _LETTERS[match["letter"].lower()]
    return Fraction(10**9 if match["short_billion"] else 1)


def _has_prefix(match: re.Match[str]) -> bool:
    return any(match[group] for group in ("word", "letter", "short_billion"))


def _measured(match: re.Match[str]) -> str:
    if match["bits"] or match["bytes"]:
        return "bytes"
    return "count" if match["count"] else "percent" if match["percent"] else ""


_HIGH = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
_RAISED_TO = r"(2|10)(?:[ ]?(?:\^|\*\*)[ ]?\{?([0-9]{1,2})\}?|<sup>([0-9]{1,2})</sup>|([" + _HIGH + "]{1,2}))"
_MULTIPLIED = r"[ ]?(?:\*|x|\u00d7|\u00b7|\\times|\\cdot)[ ]?"
_PRODUCT = rf"1[, ]?0(?:24|00)(?:{_MULTIPLIED}1[, ]?0(?:24|00)){{0,3}}"
_WHOLE = r"1[, ]?(?:048[, ]?576|000[, ]?000|073[, ]?741[, ]?824|000[, ]?000[, ]?000)(?!\d)"
_OF_BYTES = r"[kKMGT]i?B"
_STATED = re.compile(
    r"(?P<open>[ ]?[(\[,;][ ]?)?(?:(?:with|where|using|taking|here)[ ])?(?P<one>\b1[ ]?)?"
    rf"(?<![A-Za-z])(?P<unit>{_OF_BYTES})[ ]?(?::?=|\bis\b|\bmeans\b|\bbeing\b|\bequals\b)[ ]?(?:\$?"
    rf"(?P<factor>{_RAISED_TO}|{_WHOLE}|{_PRODUCT})\$?[ ]?(?P<of>{_OF_BYTES}|[Bb]ytes?|B)?|(?P<other>[KMGT]iB))\b[)\]]?"
)
_ALONE = re.compile(rf"(?<![A-Za-z]){_OF_BYTES}(?![A-Za-z])")
_PARAGRAPH_ENDS = re.compile(r"(\n[ \t]*\n)")


def in_stated_units(text: str) -> str:
    """Return the text with each unit replaced by what its paragraph says it stands for.

    A paragraph that says two things of one unit, or nothing of a unit that it uses, stays as it is.
    """
    if not _STATED.search(text):
        return text
    return "".join(_of_paragraph(each) if _STATED.search(each) else each for each in _PARAGRAPH_ENDS.split(text))


def _of_paragraph(text: str) -> str:
    stated = list(_STATED.finditer(text))
    said = {(each["unit"].upper(), means) for each in stated if (means := _unit_defined(each))}
    known = dict(said)
    plain = _STATED.sub(lambda found: "" if _unit_defined(found) else found[0], text)
    used = {each[0].upper() for each in _ALONE.finditer(plain)}
    if len(known) < len(said) or not used <= known.keys() | {each.upper() for each in known.values()}:
        return text
    return _ALONE.sub(lambda found: known.get(found[0].upper(), found[0]), plain)


def _unit_defined(found: re.Match[str]) -> str:
    """Return the unit that a definition states: MiB for `1 MB = 2^20 bytes`; empty if there is none, or a wrong one."""
    unit, of = found["unit"].upper(), (found["of"] or "").upper()
    binary = f"{unit[0]}iB"
    if not (found["open"] or found["one"] or of.startswith("BYTE")):
        return ""
    if found["other"]:
        return binary if found["other"] == binary else ""
    orders = "BKMGT".index(unit[0]) - "BKMGT".index(of[:1] or "B")
    factor = _factor_said(found["factor"])
    return binary if factor == 1024**orders else found["unit"] if factor == 1000**orders and "I" not in unit else ""


def _factor_said(written: str) -> int:
    """Return `2^20`, `1024 * 1024` or `1,048,576` as a number."""
    if re.fullmatch(_RAISED_TO, written):
        return _factor(written.replace("<sup>", "^").replace("</sup>", ""))
    return math.prod(map(_factor, re.split(_MULTIPLIED, written)))
