"""What labels a number of a line: words before it or behind it, its unit, its column's header, the heading above."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from labgrade.answers.reading.doubts import doubt_about, names_model, other_model, taken_back
from labgrade.answers.reading.numerals.units import is_unit
from labgrade.answers.reading.pieces import LinePiece
from labgrade.answers.reading.tabular.headers import answer_column
from labgrade.answers.reading.words.terms import JOINED, LETTERS, agree, letters_of, stands_out
from labgrade.answers.reading.words.vocabulary import concepts, pattern

if TYPE_CHECKING:
    from labgrade.answers.reading.numerals.number_words import Found
    from labgrade.answers.reading.pieces import Above

_LARGEST_IN_PASSING = 1_000
_BINARY = frozenset({2**10, 2**20, 2**30})  # by which bytes are divided
_MAGNITUDE = 10
_ONE_OF_SEVERAL = frozenset({"trainable", "frozen", "types"})  # of a heading that speaks of several answers
_CLAUSE_END = re.compile(r"\((?=[^()\d]{0,200}(?:\d|[:=][\s*`]*$))|[;|,\uff0c\u3002\uff1b\u3001]|[.!?](?=\s|$)")
_SENTENCE = re.compile(r"[;\u3002\uff1b]|[.!?]\s")
_OF_SEVERAL = frozenset({"trainable", "frozen"})
_OF_ITEMS = _OF_SEVERAL | {"operators", "types"}
_MOST_ITEMS = 10_000  # a larger number counts no nodes and no types
_CLAUSE_START = re.compile(r"\((?=[^()]*\w[^()]*$)|[{};|\u3001\u3002\uff1b,]|[.!?](?=\s)")
_REMARK = re.compile(r"\([^()]*\)")
_IN_BRACKETS = re.compile(r"[\s*_`$]{0,4}\(([^()\d\n]{2,40})\)")  # 5 (all) = 4 (learned) + 1 (fixed)
_NOUNS = {"MACs": "macs", "FLOPs": "flops", "parameters": "parameters", "modules": "modules", "calls": "calls"}


def led(plain: str, claimed: list[Found]) -> list[bool]:
    """Return whether words lead to the first number of each sentence, so that labels are before numbers there."""
    found: list[bool] = []
    for place, each in enumerate(claimed):
        before = plain[claimed[place - 1].end if place else 0 : each.start]
        begins = [match.end() for match in _SENTENCE.finditer(before)] if "|" not in plain else []
        if not place or begins:
            own = before[begins[-1] if place else 0 :]
            said = concepts(own)
            found.append(bool(said - {"total"} or (said and JOINED.search(own))))
        else:
            found.append(found[-1])
    return found


def _is_passing(found: Found) -> bool:
    """Return whether a number is a small one in words, or one that divides bytes."""
    number = found.number
    in_words = number is not None and not any(map(str.isdigit, number.text)) and number.value < _LARGEST_IN_PASSING
    return in_words or (number is not None and number.value in _BINARY and not found.measures)


def in_brackets(plain: str, found: Found) -> frozenset[str]:
    """Return the concepts in brackets right behind a number."""
    match = _IN_BRACKETS.match(plain, found.end)
    return concepts(match[1]) if match else frozenset()


def _passed_over(header: tuple[str, ...], column: int) -> str:
    """Return the header that calls another column the answer; an empty text if there is none, or several."""
    meant = answer_column(header)
    return header[meant].strip() if meant is not None and meant != column else ""


def labelled(plain: str, found: Found, around: tuple[int, int], above: Above, about: str, *, leads: bool) -> LinePiece:
    """Return a number with its labels: words before it, or behind it if the line begins with a number."""
    before, after = plain[around[0] : found.start], plain[found.end : around[1]]
    ahead = concepts(_CLAUSE_START.split(before)[-1] if "|" not in before else before)
    behind = concepts(_CLAUSE_END.split(after)[0])
    if _parts_follow(plain, found, after):
        behind = frozenset()
    own = ahead if leads else behind | (ahead & {"total"})
    if (counted := _counted(found, after, ends=around[1] == len(plain))) and not found.measures:
        own = (own - _OF_ITEMS - {"parameters"}) | counted
    if not own - {"total"}:
        clause = around[0] == 0 or _CLAUSE_START.search(before)  # its own words, and none behind the number before
        own |= behind if leads else (ahead if clause else frozenset())
    doubt = doubt_about(plain[: found.start], plain[found.end :], about) or taken_back(plain, found)
    if "|" in plain and above.header:
        in_table, of_other = _in_table(plain, found, above, about)
        own, doubt = own | in_table, doubt or of_other
    if found.noun:
        own = (own - frozenset(_NOUNS.values())) | {_NOUNS[found.noun]}
    elif found.measures == "count":
        own |= concepts(found.number.text if found.number else "")  # 100 ops
    if "calls" in own and not found.noun:
        own -= {"modules"}  # the calls of modules
    if found.measures == "bytes":
        own |= {"memory"}
    titled = not own
    if not own - {"total", "memory"}:
        near = _near(plain, above, own)
        title = above.title - _ONE_OF_SEVERAL if own else above.title
        own, titled = own | (near or title), titled and not near
    return LinePiece(
        value=found.number or "",
        said=tuple(sorted(own)),
        measures=found.measures,
        doubt=doubt,
        small=not stands_out(plain, found) or _is_passing(found),
        titled=titled,
        concludes=bool(pattern("doubts", "concludes").fullmatch(letters_of(_CLAUSE_START.split(before)[-1]))),
        led=bool(JOINED.search(before)) and not pattern("items").match(after.lstrip(" *_`")),
    )


def _near(plain: str, above: Above, own: frozenset[str]) -> frozenset[str]:
    """Return the concepts of the line of words right above; source code labels only the line that it prints."""
    near = above.words if above.age <= 1 and "|" not in plain else frozenset[str]()
    if not above.code:
        return near
    return near - {"types"} if above.alone and not own - {"memory"} else frozenset()  # `type` is a word of Python


def _in_table(plain: str, found: Found, above: Above, about: str) -> tuple[frozenset[str], str]:
    """Return the concepts of a cell's header and row, and the words by which these are about something else."""
    column = plain.count("|", 0, found.start)
    header = above.header[column] if column < len(above.header) else ""
    row = next((cell for cell in plain.split("|") if cell.strip()), "")
    of_a_part = not (concepts(row) or names_model(row))  # `sum` over a row of one layer is no total
    said = concepts(header) - (frozenset({"total"}) if of_a_part else frozenset()) | concepts(row)
    doubt = other_model(header, about) or other_model(row, about) or _passed_over(above.header, column)
    return said, doubt


def _parts_follow(plain: str, found: Found, after: str) -> bool:
    """Return whether a number's parts follow it: `66,568,768 bytes: the input (602,112) + the weights (...)`."""
    head, colon, _ = after.partition(":")
    return bool(colon and not LETTERS.search(head) and " + " in plain[found.end :])


def _counted(found: Found, after: str, *, ends: bool) -> frozenset[str]:
    """Return the count right before a number, `6 unique types in the graph,`, which is no label of the next number."""
    clause, *rest = _CLAUSE_END.split(after, maxsplit=1)
    if not (rest or ends) or not clause.lstrip(" *_`")[:1].isalpha() or JOINED.search(clause):
        return frozenset()
    items = found.number is not None and found.number.value < _MOST_ITEMS
    return concepts(clause) & (_OF_ITEMS if items else _OF_SEVERAL)


def chosen(plain: str, found: list[Found]) -> frozenset[int]:
    """Return where numbers are alternatives of which one is meant: `5,200 bytes or 10,500 bytes`."""
    either: set[int] = set()
    for one, other in pairwise(found):
        between = _REMARK.sub(" ", plain[one.end : other.start])  # 5 (A) or 6
        words = [word for word in LETTERS.findall(between) if not is_unit(word)]
        if words and all(map(pattern("doubts", "choice").fullmatch, words)) and one.number and other.number:
            near = other.number.value < _MAGNITUDE * one.number.value < _MAGNITUDE**2 * other.number.value
            either |= {one.start, other.start} if near and not agree(one.number, other.number) else set()
    return frozenset(either)
