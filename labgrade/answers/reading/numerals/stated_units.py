"""What a text says its units to be: `49.61 MB (1 MB = 2^20 bytes)` is 49.61 MiB."""

from __future__ import annotations

import math
import re

_RAISED = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
_SUPERSCRIPTS = str.maketrans(_RAISED, "0123456789")
_POWER = r"(2|10)(?:[ ]?(?:\^|\*\*)[ ]?\{?([0-9]{1,2})\}?|<sup>([0-9]{1,2})</sup>|([" + _RAISED + "]{1,2}))"
_TIMES = r"[ ]?(?:\*|x|\u00d7|\u00b7|\\times|\\cdot)[ ]?"
_PRODUCT = rf"1[, ]?0(?:24|00)(?:{_TIMES}1[, ]?0(?:24|00)){{0,3}}"
_WHOLE = r"1[, ]?(?:048[, ]?576|000[, ]?000|073[, ]?741[, ]?824|000[, ]?000[, ]?000)(?!\d)"
_UNIT = r"[kKMGT]i?B"
_STATED = re.compile(
    r"(?P<open>[ ]?[(\[,;][ ]?)?(?:(?:with|where|using|taking|here)[ ])?(?P<one>\b1[ ]?)?"
    rf"(?<![A-Za-z])(?P<unit>{_UNIT})[ ]?(?::?=|\bis\b|\bmeans\b|\bbeing\b|\bequals\b)[ ]?(?:\$?"
    rf"(?P<factor>{_POWER}|{_WHOLE}|{_PRODUCT})\$?[ ]?(?P<of>{_UNIT}|[Bb]ytes?|B)?|(?P<other>[KMGT]iB))\b[)\]]?"
)
_ALONE = re.compile(rf"(?<![A-Za-z]){_UNIT}(?![A-Za-z])")
_PARAGRAPH_ENDS = re.compile(r"(\n[ \t]*\n)")


def in_stated_units(text: str) -> str:
    """The text without what its paragraphs say of their units, which are written as what they are said to be.

    A paragraph that says two things of one unit, or nothing of one that it uses, stays as it is.
    """
    if not _STATED.search(text):
        return text
    return "".join(_of_paragraph(each) if _STATED.search(each) else each for each in _PARAGRAPH_ENDS.split(text))


def _of_paragraph(text: str) -> str:
    stated = list(_STATED.finditer(text))
    said = {(each["unit"].upper(), means) for each in stated if (means := _meant(each))}
    known = dict(said)
    plain = _STATED.sub(lambda found: "" if _meant(found) else found[0], text)
    used = {each[0].upper() for each in _ALONE.finditer(plain)}
    if len(known) < len(said) or not used <= known.keys() | {each.upper() for each in known.values()}:
        return text
    return _ALONE.sub(lambda found: known.get(found[0].upper(), found[0]), plain)


def _meant(found: re.Match[str]) -> str:
    """The unit that is plainly said: MiB for `1 MB = 2^20 bytes`; nothing for what says no unit, or a wrong one."""
    unit, of = found["unit"].upper(), (found["of"] or "").upper()
    binary = f"{unit[0]}iB"
    if not (found["open"] or found["one"] or of.startswith("BYTE")):
        return ""
    if found["other"]:
        return binary if found["other"] == binary else ""
    orders = "BKMGT".index(unit[0]) - "BKMGT".index(of[:1] or "B")
    factor = _factor(found["factor"])
    return binary if factor == 1024**orders else found["unit"] if factor == 1000**orders and "I" not in unit else ""


def _factor(written: str) -> int:
    """`2^20`, `1024 * 1024` or `1,048,576` as a number."""
    if power := re.fullmatch(_POWER, written):
        base, *exponents = filter(None, power.groups())
        return int(int(base) ** int(exponents[0].translate(_SUPERSCRIPTS)))
    return math.prod(int(re.sub(r"\D", "", each)) for each in re.split(_TIMES, written))
