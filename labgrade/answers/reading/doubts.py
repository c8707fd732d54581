"""What makes one doubt that a number is claimed as the answer: words of its own clause, another model's name.

The words are data (`words/`, under `doubts`). A doubt reaches its own clause, and a correction its own sentence.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from labgrade.answers.reading.numerals.numbers import find_numbers
from labgrade.answers.reading.words.terms import SIGNS, TAG, agree, stands_out
from labgrade.answers.reading.words.vocabulary import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.answers.reading.numerals.number_words import Found

_CLAUSE = re.compile(r"[,;:|()\[\]\uff08\uff09\uff0c\uff1a\uff1b\u3001\u3002]|[.!?]\s|\s[-\u2013]\s|=")
_CALCULATION = re.compile(r",(?!\d)|[;|\uff0c\uff1b\u3001\u3002]|[.!?]\s|\s[-\u2013]\s")
_SENTENCE = re.compile(r"[;|\uff1b\u3002]|(?<!\bca)(?<!approx)(?<!e\.g)(?<!i\.e)[.!?]\s+(?=[^\W\d_a-z]|\d)")
_SIGN = re.compile(
    r"""(?:≠|!=|≤|≥|<=(?!>)|(?<![-=<])>=?|<|±|&[lg][te];|\\(?:neq?|leq?|geq?|lt|gt|pm)(?![a-z]))[\s*_`$~"'(\\]*$"""
)
_NUMBERED = re.compile(r"<\d{1,2}(?:[-.]\d{1,2}){0,4}>")  # `<2-1-4>`: no sign
_OPEN = re.compile(r"[\s*_`$)]*(?:\?|±|\+/-|\\pm|[✗✘❌])")
_PART_OF = re.compile(  # only 1,025,000 of the 6,624,904 parameters are trainable
    r"(?:[\d%]|\b(?:none|few|some|many|half|part|most|not all|einige|wenige|keine\w?|aucune?))[\s*_`]+"
    r"(?:of(?:\s+(?:the|all|its|these|those))?|der|von(?:\s+den)?|des|de(?:\s+l[oa]s)?)[\s*_`]+$",
    re.IGNORECASE,
)
_RANGE = re.compile(  # between 700 M and 714.19 M
    r"\b(?:between|zwischen|entre)\s[^;:|\n]{1,60}\s(?:and|und|et|y)[\s*_`~$]*$", re.IGNORECASE
)
_TO_BE_SCALED = re.compile(  # 5 bytes / 8, and what that is comes nowhere
    r"[\s*_`$)]*(?:[kMGT]?i?(?:B|bytes)|MACs?|parameters)?[\s*_`]*(?:[/\u00f7\u00d7\u00b7]|\\(?:div|times)|(?<=\s)\*)"
    r"\s*(?!0\b)\d{1,4}(?![.,]?\d)(?![^;|\n]*(?:=|≈|→|->|\b(?:is|gives?|makes?)\b))",
    re.IGNORECASE,
)
_TWO = re.compile(r"[/&+]|\b(?:and|or)\b", re.IGNORECASE)  # trainable / frozen: 5 / 2
_PRECISE = re.compile(r"[,;.|/]")
_PRECISION = re.compile(
    r"\b(?:fp|float|bf|bfloat)-?(?:16|64)\b|\b(?:half|double)[- ]precision\b|\bint-?8\b", re.IGNORECASE
)
_BINARY_SAID = re.compile(
    r"\s?[(\[/]\s?(?:in |i\.e\. )?(?:[kKMGT]iB\b|1024\b|2\s?(?:\^|\*\*)\s?[1-4]0|binary|base[ -]2)"
)
_MODEL = re.compile(
    r"(?<![A-Za-z])(?:(wide[ _-]?)?resnet|resnext|vgg|alexnet|mobilenet|densenet|squeezenet|shufflenet|efficientnet"
    r"|mnasnet|regnet|convnext|inception[ _-]?v[234]|googlenet|lenet|maxvit|vit|swin)"
    r"(?:[ _-]?v?\d{1,3}(?![\d.,]))?",
    re.IGNORECASE,
)
_OF_MODEL = re.compile(
    r"[\s*_`]*(?:(?:is|was|are)\s+(?:(?:the|what|value|number|result|one|that)\s+){0,3})?(?:for|of|in|on|für|bei|von|pour|para|what)\s+(?:the\s+)?|\s*\(\s*",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"[(\[](?:[^()\[\]\s]+\s+){2,}[^()\[\]]*[)\]]|[(\[](?:unlike|without|ohne|sans)[^()\[\]]*[)\]]", re.IGNORECASE
)
_ADDS_UP = re.compile(r"\b(?:sum|sums|summed|add|adds|added|adding|comes?) up to\b", re.IGNORECASE)
_BOUND = re.compile(r"\b(max|min)\.\s", re.IGNORECASE)
_NEAR, _REACH = 48, 240  # characters
_MAGNITUDE = 10


def doubt_about(before: str, after: str, about: str = "") -> str:
    """Return the words that make it doubtful that the number between two parts of a line is the answer; else "".

    `about` is the model in question: a number of another one is no answer.
    """
    plain = _ADDS_UP.sub(" = ", _NUMBERED.sub(" ", TAG.sub(" ", _BOUND.sub(r"\1 ", before[-_REACH:]))))
    sentence = _SENTENCE.split(plain)[-1]
    sentence = _without_labels(_ASIDE.sub(" ", sentence))
    clauses = _CLAUSE.split(sentence)
    behind = _without_labels(_SENTENCE.split(after[:_REACH])[0])
    ahead = behind[:_NEAR]
    found = (
        _SIGN.search(sentence)
        or pattern("doubts", "aside").search(sentence)
        or pattern("doubts", "before").search(clauses[-1])
        or ("=" in sentence and pattern("doubts", "supposed").search(_CALCULATION.split(sentence)[-1]))
        or _of_label(clauses)
        or pattern("doubts", "behind").match(ahead.lstrip(" *_`$(),.;-\u2013"))
        or (
            re.match(r"\s*[(\[]([^()\[\]]{0,30})", ahead)
            and pattern("doubts", "source").search(ahead.partition(")")[0])
        )
        or _OPEN.match(ahead)
        or _PART_OF.search(sentence)
        or _RANGE.search(sentence)
        or _BINARY_SAID.match(ahead)
    )
    if found:
        return found[0].strip() or found.re.pattern[:8]
    return (
        left_to_do(before, after)
        or (other_precision(_label(clauses), ahead) if about else "")
        or _model(sentence, ahead, about)
    )


def _without_labels(text: str) -> str:
    """Return a text without labels that sound like doubts: `nicht trainierbar`, `0 without gradient`."""
    for label in ("frozen", "trainable"):
        text = pattern("labels", label).sub(" ", text)
    return text


def _of_label(clauses: list[str]) -> re.Match[str] | None:
    """Return a doubt in the label before a number: `Expected total: 5`, `the handout says MACs: 5`."""
    return pattern("doubts", "label").search(_label(clauses)) or pattern("doubts", "source").search(
        " ".join(clauses[-3:])
    )


def _label(clauses: list[str]) -> str:
    """Return the last clause before a number that has words."""
    return next((each for each in reversed(clauses) if each.strip(" *_`$~\"'-")), "")


def other_precision(clause: str, ahead: str) -> str:
    """Return the words that give a number another precision than float32; an empty text if there are none."""
    found = _PRECISION.search(clause) or _PRECISION.search(_PRECISE.split(ahead)[0])
    return found[0] if found else ""


def _model(sentence: str, ahead: str, about: str) -> str:
    near = _OF_MODEL.match(ahead)
    told = _MODEL.match(ahead, near.end()) if near else None
    return other_model(sentence, about) or (other_model(told[0], about) if told else "")


def left_to_do(before: str, after: str) -> str:
    """Return the factor by which a number is still to be multiplied or divided: `5 bytes / 2`; empty if none."""
    found = None if _TWO.search(before[-_NEAR:]) else _TO_BE_SCALED.match(after)
    return found[0].strip() if found else ""


def corrections(line: str) -> Iterator[int]:
    """Yield where a line announces a correction: `corrected`, `should be`, `I get`."""
    return (found.start() for found in pattern("doubts", "corrected").finditer(line))


def taken_back(plain: str, found: Found) -> str:
    """Return the words later on the line that put another number in place of this one; empty if there are none."""
    if found.number is None or not stands_out(plain, found):
        return ""
    for at in corrections(plain):
        if at < found.end:
            continue
        for later in find_numbers(plain[at:], "any"):
            if later.number and stands_out(plain[at:], later) and later.noun in ("", found.noun):
                near = later.number.value < _MAGNITUDE * found.number.value < _MAGNITUDE**2 * later.number.value
                of_others = pattern("doubts", "label").search(plain[found.end : at + later.start])
                if near and not of_others and not agree(found.number, later.number):
                    return "taken back"
    return ""


def is_model(text: str) -> bool:
    """Return whether a text is the name of a model, and nothing else."""
    return bool(_MODEL.fullmatch(text))


def names_model(text: str) -> bool:
    """Return whether a text names a known model."""
    return _MODEL.search(text) is not None


def other_model(text: str, about: str) -> str:
    """Return the name of a model in the text that is not `about`; an empty text if there is none."""
    names = [match[0].strip(" _-") for match in _MODEL.finditer(text)] if about else []
    own = SIGNS.sub("", about.lower())
    others = [name for name in names if SIGNS.sub("", name.lower()) not in own]
    return others[0] if others and len(others) == len(names) else ""
