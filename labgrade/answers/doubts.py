"""Words that turn a number into something else than an answer: `is not 5`, `< 5`, `should have been 5`, `5?`."""

from __future__ import annotations

import re

REMARK = re.compile(r"[(\[]([^()\[\]\n]{0,80})[)\]]")
_TAG = re.compile(r"</?\w[^<>\n]{0,80}>")
_CLAUSE = re.compile(r"[,;:|\uff0c\uff1a\uff1b\u3001\u3002]")
_WORDS = re.compile(
    r"""\b(?:not|never|(?:is|are|was|were|do|does|did|ca|wo|should|would|could)n['\u2019]?t|cannot|no\ longer|less|fewer
         |more(?!\ precisely|\ exactly)|greater|smaller|larger|most|least|exceeds?|between|should|would|could|might
         |maybe|perhaps|possibly|probably|guess|unsure|expected|supposed|either|one\ of|half|twice|double|wrong
         |incorrect|false|instead|unlike|other\ than)\b
      | \b(?:under|over|below|above|up\ to)\W*$
      | 不(?![含包計计考算])|非(?!常)
      | 小於|小于|少於|少于|低於|低于|大於|大于|多於|多于|高於|高于|超過|超过|至少|至多|最多|最少|應該|应该
      | 應為|应为|可能|也許|也许|介於|介于""",
    re.VERBOSE | re.IGNORECASE,
)
_SIGN = re.compile(
    r"""(?:≠|!=|≤|≥|<=(?!>)|(?<![-=<])>=?|<|±|&[lg][te];|\\(?:neq?|leq?|geq?|lt|gt|pm)(?![a-z]))[\s*_`$~"'(\\]*$"""
)
_LABEL = re.compile(
    r"\b(?:expected|published|reference|official|wrong|incorrect|old|previous|earlier|former|not|never|isn't|without)"
    r"(?:\s+the)?[\s*_`\"'(]*$",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"""[\s*_`$)(,]*(?:\? | ± | \+/-\s*\d | \\pm\b
        | (?:which\ |that\ |this\ |it\ )?(?:is|was|looks|seems)\ (?:wrong|incorrect|not|too|false)\b
        | (?:wrong|incorrect|times|plus|minus|divided\ by|multiplied\ by|or\ (?:more|less|higher|lower)|at\ most
            |at\ least|per\ (?:layer|module|block|channel|pixel|weight|second))\b
        | 以上|以下|不對|不对|錯|错)""",
    re.VERBOSE | re.IGNORECASE,
)
_MODEL = re.compile(
    r"(?<![A-Za-z])(?:(wide[ _-]?)?resnet|resnext|vgg|alexnet|mobilenet|densenet|squeezenet|shufflenet|efficientnet"
    r"|mnasnet|regnet|convnext|inception[ _-]?v[234]|googlenet|lenet|maxvit|vit|swin)[ _-]?v?\d{0,3}",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[\W_]+")


def doubt_about(label: str, before: str, after: str, about: str = "") -> str:
    """What makes one doubt that a number is the answer, as written; "" where nothing does.

    `label` leads to the words that are looked for, `before` from there to the number, `after` on from it. `about` is
    the model in question: a number said of another one is none.
    """
    leads = _TAG.sub(" ", REMARK.sub(" ", before))
    clause = _CLAUSE.split(leads)[-1]
    found = _SIGN.search(leads) or _WORDS.search(clause) or _LABEL.search(label) or _BEHIND.match(after)
    return found[0].strip() if found else other_model(label + leads, about)


def other_model(text: str, about: str) -> str:
    """The name of a model that the text speaks of, where it is another one than `about`; else ""."""
    names = [match[0].strip(" _-") for match in _MODEL.finditer(text)] if about else []
    own = _PLAIN.sub("", about.lower())
    others = [name for name in names if _PLAIN.sub("", name.lower()) not in own]
    return others[0] if others and len(others) == len(names) else ""
