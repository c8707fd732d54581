"""What a line says behind some words: the number that is meant, what says it again, what stands against it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from labgrade.answers.reading.doubts import doubt_about, said_of_other
from labgrade.answers.reading.numerals.number_words import Found, in_words
from labgrade.answers.reading.numerals.numbers import MEASURED, find_numbers, with_point
from labgrade.answers.reading.numerals.units import label_unit
from labgrade.values import Number

if TYPE_CHECKING:
    from collections.abc import Iterator

_LEAST_DIGITS = 4
_WIDEST = 8
JOINED = re.compile(
    r"(?:[=:|≈→⇒]|->|\b(?:is|are|was|were|equals?|about|approximately|around)|[是為为約约共])[\s*_`$~]*$", re.IGNORECASE
)
_SENTENCE_END = re.compile(
    r"(?<!approx)(?<!\bca)(?<!\bno)(?<!\be\.g)(?<!\bi\.e)(?<!\bM(?:io|rd))(?<!\bTsd)[.!?]\s+(?=[A-Z0-9])|[\u3002\uff1b;]"
)
_SAID_AGAIN = re.compile(
    r"\s*(?:\(|or\s|more\s)?\s*(?:precisely|exactly|exact|namely|to\sbe\s(?:exact|precise)|that\sis|i\.e\."
    r"|genau(?:er)?|精確|精确|準確|准确)",
    re.IGNORECASE,
)
_SIGNS = r"(?:[*/x\u00d7·÷+-]|\\times|\\cdot|\\div|\\ast)"
_ADDED_NEXT = re.compile(
    rf"\s*{_SIGNS}\s*[\d(]|\s*(?:\([^()\n]{{0,60}}\)|\w{{1,20}})?\s*\+\s*\S"
    r"|(?:[ ][A-Za-z]\w{0,19}){1,3}\s*(?:[*\u00d7·]|\\times|\\cdot)\s*\d"  # 5 float32 values * 4
)
_ADDED_BEFORE = re.compile(
    r"(?:(?:[\d)]|\d\s?[kMG]?i?[bB](?:ytes?)?)\s*(?:[*/x\u00d7·÷-]|\\times|\\cdot|\\div|\\ast)|(?<!\+)\+(?!\+)(?:\s?[A-Za-z]\w{0,19}){0,2})\s*$"
    # + written 6, and no C++
)
_ONE_TIMES = re.compile(r"(?<![\w.,])1\s*[*x\u00d7·]\s*$")
_IN_ALL = re.compile(
    r"[\s*_`]{0,4}(?:MACs?\s|bytes\s)?(?:in all|in total|altogether|insgesamt|zusammen|au total|en total)\b",
    re.IGNORECASE,
)
_ITEMS = re.compile(
    r"[ \t*_`]{1,4}(?:(?!(?:and|or|in|of|for|is|are|with|bytes?)\b)[A-Za-z][\w-]{0,20}[ \t]){0,2}"
    r"(?:layers?|tensors?|values?|elements?|nodes?|activations?|outputs?|images?|modules?|entries|floats?|numbers?"
    r"|schichten|werten?|elementen?|knoten|tensoren|capas|valores|nodos|elementos|couches|valeurs|n\u0153uds"
    r"|\u00e9l\u00e9ments|tenseurs|個?值|个?值|層|层|節點|节点|張量|张量|元素)(?![A-Za-z])",
    re.IGNORECASE,
)
_EITHER = re.compile(r"\s*[/-]\s*")
_NOT_FINITE = re.compile(r"[-+]?(?:nan|inf|infinity)\b", re.IGNORECASE)
_NONE = re.compile(
    r"(?:0(?:[.,]0{1,6})?[ \u00a0]?%(?:\s(?:of|von|der|de|des|del)\b[^\n.;|]{0,60})?|none|zero|nil|keine[rs]?|null"
    r"|ningun[oa]s?|ninguém|nenhum|aucune?s?|nessun[oa]?|geen|нет|零|無|无|沒有|没有|なし|없음)"
    r"(?=[\s*_`|]*(?:[.,;)\u3002\uff0c\uff1b]|\((?:0(?:\s[^()]{0,60})?|[^()\d]{0,60})\)|$))",
    re.IGNORECASE,
)
_UNIT_BESIDE = re.compile(r"[\s*_`$]{0,9}(?:\|\s*([^|\s][^|\n]{0,15}?)\s*\||[(\[]\s*([^()\[\]\n]{1,20}?)\s*[)\]])")
_AND = re.compile(r"[^\W\d_][\s*_`]*(?:[/&:|]|\b(?:and|und|et|y)\b)[\s*_`]*$", re.IGNORECASE)
_APART = re.compile(r"[\s*_`$]*(?:[/&:|,]|\b(?:and|und|et|y)\b)[\s*_`$]*", re.IGNORECASE)
_REMARK = re.compile(
    r"[\s*_`$]{0,4}[(\[\uff08](?!(?:with|incl|excl|mit|ohne|con|sin|avec|sans|\d))([^()\[\]\d\n]{2,40})[)\]\uff09]",
    re.IGNORECASE,
)
_OF = re.compile(r"\s((?:for|of|in|by|f\u00fcr|von|de|pour|para)\s[^,;()|\d\n]{2,40})(?=,)", re.IGNORECASE)
_QUALIFIED = re.compile(r"(?:^|[:=|])\s{0,3}((?!about|approx|around|ca\b)[^\W\d_][^,;()|\d\n:=]{1,30})$", re.IGNORECASE)
_WHOLE = re.compile(
    r"\b(?:all|total|overall|altogether|whole|everything|sum|alle\w?|gesamt|insgesamt|tou(?:s|tes)|tod[oa]s)\b"
    r"|\u5168\u90e8|[\u7e3d\u603b]|\u5408[\u8a08\u8ba1]",
    re.IGNORECASE,
)
_NOT = re.compile(r"(?:\bnot|\bnicht|\bno|不是)[\s*_`~]*$", re.IGNORECASE)
_BUT = re.compile(r"(?:\bbut|\bsondern|\bsino|而是)[\s*_`~]*$", re.IGNORECASE)
_TAKEN_BACK = re.compile(
    r"""\b(?:(?:must|should|ought\ to|has\ to)\ be|would\ (?:get|be|give)|hand(?:ed)?\ in|was\ my\ (?:first|old)
        |(?:my|our)\ (?:own|program|code|answer|final|result|run|count)|\(?mine\b
        |\bme\ ?[:=]|ich\ (?:komme|erhalte|bekomme|habe)
        |(?:I|we)\ (?:get|got|count|counted|find|found|obtain|obtained|measure|measured|compute|computed)\b
        |correct(?:ed|ion)|final(?:ly)?|forg[eo]t(?:ten)?|mistake
        |instead(?!\ of)|in\ fact|oops|ups|or\ is\ it|(?:no,?\ )?wait(?=[,.:!])|no,?\ (?=\d)|so\ (?=\d)
        |(?:the|my|our)\ (?:right|correct|real)\ (?:one|value|number|answer|result)
        |I(?:['\u2019]ll|\ will)?\ (?:take|took|choose|chose|go\ with|stick\ (?:to|with))
        |ich\ nehme|muss|sollte|richtig|korrigiert|debe\ ser|corregido)\b
      | \b(?:so|thus|hence|therefore|final)\ (?:the\ |my\ |our\ )?answer\b|\bthe\ answer\ (?:is|here)\b
      | \b(?:die|meine|endgültige)\ Antwort|\bla\ (?:respuesta|réponse)\ (?:es|est)\b
      | 改為|改为|更正|正確|正确|應為|应为|答案[是為为]|最[終终]""",
    re.VERBOSE | re.IGNORECASE,
)
_FORMER = re.compile(
    r"""[.;(\u3002\uff1b][^.;]{0,80}\b(?:first|initially|originally|earlier|previously|before|anfangs|zuerst|primero)\b
      | [.;(\u3002\uff1b][^.;]{0,40}(?:最初|原本|起初|之前|一開始|一开始)""",
    re.VERBOSE | re.IGNORECASE,
)  # "5. I first forgot groups and got 6": it is the later number that was taken back
_NEXT_TO = 3  # characters
_FORMER_WORDS = ("forg", "instead", "mistake")
_WORD = re.compile(r"[A-Za-z']+|[^\W\dA-Za-z_]+")
_LINKS = re.compile(
    r"""(?:or|and|to|up|till|until|through|vs|versus|maybe|perhaps|possibly|probably|but|then|now|not|actually|rather
        |instead|i|we|my|mine|our|got|get|have|had|it|its|is|was|are|were|be|been|should|would|could|might|may|else
        |either|also|even|about|around|approximately|approx|roughly|nearly|almost|exactly|exact|equals?|only|before|after
        |precisely|precise|namely|more|genau|genauer
        |later|originally|correct|corrected|wrong|think|suppose|guess|pm|ie|[a-g]|oder|und|bzw|ou|et|o|y|или|и|또는|または
        |或|或者|或是|到|至|和|與|与|但|而|是|即|約|约|大約)$""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A number that may be meant. `near`: nothing but signs lead to it; `doubt`: why it may not be the answer."""

    found: Found
    near: bool = True
    doubt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked for: the kind of value, the unit that the words state, what they count, of which model."""

    kind: str
    unit: str = ""
    noun: str = ""
    about: str = ""


def claims(label: str, line: str, position: int, asked: Wanted, *, paired: bool = False) -> list[Claim]:
    """The numbers that a line says from `position` on, the number that is meant first.

    `label` leads to the words, `line` is what stands behind them. Terms of a sum and small numbers in passing are
    left out. Of several that stand side by side (`5 or 6`, `5 (maybe 6)`) each is one; a number with words of its own
    (`5 (with aux: 6)`) speaks of something else. `paired`: the words name two things, and the first number is meant.
    """
    rest = with_point(line[position:]) if asked.kind in MEASURED else line[position:]
    stop = next((end for end in _SENTENCE_END.finditer(rest) if not _SAID_AGAIN.match(rest, end.end())), None)
    rest = rest[: stop.start()] if stop else rest
    said = not_counted(rest, asked.kind)
    if said is not None:
        return [Claim(found=said)]
    found = _without_terms(
        rest, list(find_numbers(rest, asked.kind, unit=_unit_beside(rest, asked.kind) or asked.unit)), paired=paired
    )
    good = [each for each in found if each.number is not None]
    fitting = [each for each in good if not _counts_other(each, asked)]
    fitting = [each for each in fitting if not said_of_other(rest[each.end :], asked.about)] or fitting
    fitting = _measured(rest, fitting) if asked.kind == "bytes" else fitting
    if (whole := _sum_of_parts(rest, fitting)) is not None:
        return [Claim(found=whole, doubt=doubt_about(label, "", rest[whole.end :], asked.about))]
    joined = [each for each in fitting if each.start == 0 or JOINED.search(rest[: each.start])]
    first = next((each for each in joined if each.start == 0 or stands_out(rest, each)), next(iter(joined), None))
    near = first is not None
    if first is None and found and found[0].start == 0 and found[0].problem:
        return [Claim(found=found[0])]
    first = first or next((each for each in fitting if stands_out(rest, each)), None)
    if first is None:
        return [
            Claim(found=each, doubt=f"{each.noun}, not {asked.noun}") for each in good[:1] if stands_out(rest, each)
        ]
    meant = _but(rest, first, fitting)
    if meant is not None:
        return [Claim(found=meant, doubt=doubt_about(label, "", rest[meant.end :], asked.about))]
    doubt = doubt_about(label, line[:position] + rest[: first.start], rest[first.end :], asked.about)
    doubt = doubt or taken_back(line[position:], first, asked.kind, asked.noun) or _another_in_all(rest, first, fitting)
    doubt = doubt or _of_several(label, rest, first, fitting)
    others = () if paired else _beside(rest, first, fitting, asked.kind)
    return [Claim(found=each, near=near, doubt=doubt) for each in (first, *others)]


def _measured(rest: str, fitting: list[Found]) -> list[Found]:
    """The numbers without those that count other things before one that is in bytes: `21 layers, 5,200 bytes`."""
    last = max((each.start for each in fitting if each.measures == "bytes" and stands_out(rest, each)), default=-1)
    things = [each for each in fitting if each.start < last and (each.noun or _ITEMS.match(rest, each.end))]
    return [each for each in fitting if each.measures or each not in things]


def _sum_of_parts(rest: str, fitting: list[Found]) -> Found | None:
    """The number behind several that add up to it, as far as they were printed: `conv 655, linear 58, 713 in all`."""
    parts: list[Number] = []
    for each in fitting:
        if each.number is None or not stands_out(rest, each):
            continue
        off = abs(each.number.value - sum(part.value for part in parts))
        if len(parts) > 1 and off <= each.number.half_unit + sum(part.half_unit for part in parts):
            return each
        if not any(_agree(part, each.number) for part in parts):  # 5,200 (5.2 K), so 10.4 K operations
            parts.append(each.number)
    return None


def _another_in_all(rest: str, first: Found, fitting: list[Found]) -> str:
    """What says that a later number, and not the first of several, is the total; "" where nothing does."""
    later = [each for each in fitting if each.start > first.start and stands_out(rest, each)]
    if len(later) < 2 or "(" in rest[first.end : later[-1].start]:  # noqa: PLR2004 - a part more, and the total
        return ""
    found = _IN_ALL.match(rest, later[-1].end)
    return found[0].strip() if found else ""


def _of_several(label: str, rest: str, first: Found, fitting: list[Found]) -> str:
    """What says that the first of several numbers is another label's: `trainable and non-trainable: 5 and 0`."""
    joined = _AND.search(label)
    behind = next((each for each in fitting if each.start > first.start), None)
    series = behind is not None and _APART.fullmatch(rest, first.end, behind.start)
    return joined[0].strip() if joined and series else _remarked(rest, first, fitting)


def _remarked(rest: str, first: Found, fitting: list[Found]) -> str:
    """What the first of several numbers is of, where another has its own words: `602,112 B (input), 5,201,539 B (all)`.

    A later, larger one that is of `all` is enough.
    """
    later = [each for each in fitting if each.start > first.start and stands_out(rest, each)]
    later = [each for each in later if each.number and first.number and not _agree(first.number, each.number)]
    if not later or not stands_out(rest, first):
        return ""
    remark = _REMARK.match(rest, first.end)
    own = remark or _OF.match(rest, first.end)
    of = own or _QUALIFIED.search(rest[: first.start])
    larger = any(each.number and each.number.value > first.number.value for each in later if first.number)
    whole = larger and _WHOLE.search(rest, own.end() if own else first.end)
    apart = remark and any(_REMARK.match(rest, each.end) for each in later)
    return of[1].strip() if of and (whole or apart) and not _WHOLE.search(of[1]) else ""


def _but(rest: str, first: Found, fitting: list[Found]) -> Found | None:
    """The number that is meant where the first is not: `not 2.997 G (FLOPs) but 1.498 G`."""
    if not _NOT.search(rest[: first.start]):
        return None
    return next((each for each in fitting if each.start > first.start and _BUT.search(rest[: each.start])), None)


def taken_back(line: str, first: Found, kind: str, noun: str = "") -> str:
    """What takes a number back for another one of its `noun`, later on the line; "" where nothing does."""
    match = _TAKEN_BACK.search(line, first.end)
    if match is None or first.number is None:
        return ""
    if match[0].lower().startswith(_FORMER_WORDS) and _FORMER.search(line, first.end, match.start()):
        return ""
    later = line[match.end() :]
    small = not stands_out(line, first)
    for each in find_numbers(later, kind):
        near = small and each.start <= _NEXT_TO
        counted = first.noun or noun
        if each.noun == "FLOPs" != counted or (each.noun and counted and each.noun != counted):
            continue
        if each.number is not None and (near or stands_out(later, each)) and not _agree(first.number, each.number):
            return match[0]
    return ""


def stands_out(text: str, found: Found) -> bool:
    """Whether a number is more than one in passing: it has four digits, a unit or a decimal point.

    What has at most eight bytes is the width of an element: `4 bytes per parameter`, `32 bit`.
    """
    if found.measures == "bytes" and found.number is not None and abs(found.number.value) <= _WIDEST:
        return False
    written = text[found.start : found.end]
    return sum(letter.isdigit() for letter in written) >= _LEAST_DIGITS or not written.isdigit()


def not_counted(rest: str, kind: str) -> Found | None:
    """What stands for a number without digits: `none` and `zero`, `nan`."""
    none = _NONE.match(rest)
    if none is not None and kind in ("count", "bytes"):
        return Found(start=0, end=none.end(), number=Number(value=Fraction(0), text=none[0]))
    words = in_words(rest, 0) if kind in ("count", "bytes") else None
    if words is not None:
        end, value = words
        return Found(start=0, end=end, number=Number(value=Fraction(value), text=rest[:end].strip()))
    no_number = _NOT_FINITE.match(rest)
    if no_number is None:
        return None
    return Found(start=0, end=no_number.end(), problem=f"'{no_number[0]}' is not a number that can be judged")


def _counts_other(found: Found, asked: Wanted) -> bool:
    return bool(asked.noun and found.noun and found.noun != asked.noun)


def _without_terms(rest: str, found: list[Found], *, paired: bool) -> list[Found]:
    """The numbers that are no terms of a sum; `5,000 / 6,000` without a result are two numbers side by side."""
    apart: set[int] = set()
    for one, other in pairwise(found):
        between = _EITHER.fullmatch(rest, one.end, other.start)
        both = stands_out(rest, one) and stands_out(rest, other)
        if between and "=" not in rest[other.end :] and (both or paired):
            apart |= {one.start, other.start}
    return [each for each in found if each.start in apart or not is_term(rest, each)]


def is_term(rest: str, found: Found) -> bool:
    """Whether a number is one of a sum or a product, and not what these come to."""
    before = rest[: found.start]
    return bool(_ADDED_NEXT.match(rest, found.end) or (_ADDED_BEFORE.search(before) and not _ONE_TIMES.search(before)))


def _beside(rest: str, first: Found, fitting: list[Found], kind: str) -> Iterator[Found]:
    """What stands side by side with the first number: says it again, or says something else."""
    last = first
    for each in fitting:
        between = rest[last.end : each.start]
        small = not stands_out(rest, each) and (stands_out(rest, first) or "(" in between)
        if each.start <= first.start or small:
            continue
        if not all(_LINKS.match(word) for word in _WORD.findall(between)):
            break
        own = next(find_numbers(rest[each.start : each.end], kind), each)
        if own.number is None or first.number is None or (kind == "bytes" and misprinted(first.number, own.number)):
            continue
        again = next((number for number in (each, own) if number.number and _agree(first.number, number.number)), own)
        yield Found(start=each.start, end=each.end, number=again.number)
        last = each


def _agree(one: Number, other: Number) -> bool:
    return abs(one.value - other.value) <= one.half_unit + other.half_unit


def misprinted(exact: Number, other: Number) -> bool:
    """Whether an exact number of bytes is only said again with MB for MiB: `26,499,616 bytes (25.27 MB)`."""
    if exact.digits is not None or other.digits is None:
        return False
    scales = [Fraction(1024, 1000) ** power for power in (1, 2, 3)]
    return any(abs(exact.value - other.value * scale) <= other.half_unit * scale for scale in scales)


def _unit_beside(rest: str, kind: str) -> str:
    """The unit in a table's next cell, the `GMac` of `| 1.498 | GMac |`, or in brackets: `1.498 (GMac)`."""
    number = next(find_numbers(rest, "number"), None)
    beside = _UNIT_BESIDE.match(rest, number.end) if number is not None else None
    unit = (beside[1] or beside[2]) if beside is not None else ""
    return unit if unit and (label_unit(unit) or label_unit(unit, kind)) is not None else ""
