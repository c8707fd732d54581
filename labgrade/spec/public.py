"""What students are given of a spec: its data without the hidden checks and all that only they or staff speak of.

Works on a spec's data, which was validated before. Comments are no data, so none gets through.
"""

from __future__ import annotations

import copy
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from labgrade.spec import language
from labgrade.spec.data import answers_of, with_inherited
from labgrade.spec.kinds import HIDDEN_POINTS
from labgrade.verdict import as_credit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LEAST_TOLD = 5  # characters: shorter words stand in any text by chance
_PLAIN_WORD = re.compile(r"[^\W\d_]+")  # and so does any one word of letters: others, features, matmul


def public(data: dict[str, Any], *, told: bool = True) -> dict[str, Any] | None:
    """Return the task as students may read it, or None if nothing of it is public.

    Hidden checks, answers that only they judge and the subject that only they are about are left out; points are
    counted anew. What remains is a spec that validates. `told`: include what hidden checks are worth.
    """
    checks = [language.for_students(copy.deepcopy(check)) for check in data["checks"] if not check.get("hidden")]
    if not checks:
        return None
    shown = {key: copy.deepcopy(value) for key, value in data.items() if key not in ("checks", "answers", "points")}
    if "subject" in shown and all("cases" in check for check in checks):
        _inherit_subject(checks, shown["subject"])
        shown["subject"] = copy.deepcopy(checks[0]["cases"][0])
    used = {name for check in checks for _, name in answers_of(check)}
    points = worth(checks)
    others = worth(data["checks"]) - points + as_credit(shown.pop(HIDDEN_POINTS, 0))
    hidden = {HIDDEN_POINTS: points_as_number(others)} if told and others else {}
    ordered = {
        "id": shown.pop("id"),
        "title": shown.pop("title"),
        "points": points_as_number(points),
        **hidden,
        **shown,
    }
    answers = {name: copy.deepcopy(answer) for name, answer in data["answers"].items() if name in used}
    return {**ordered, "answers": answers, "checks": checks}


def only_hidden(specs: Iterable[dict[str, Any]]) -> set[str]:
    """Return what only hidden checks say: ids, models, files, quantities, hints.

    What stands in other texts by chance is left out, to avoid false alarms: one plain word, or a short
    text. Names with a digit, a dash or an underscore, models and sentences are no chance.
    """
    specs = list(specs)
    shown = [public(data) for data in specs]
    told = {text for data in shown for text in (*_texts(data), *_keys(data))}
    secret = {text for data in specs for check in data["checks"] if check.get("hidden") for text in _texts(check)}
    return {text for text in secret - told if len(text) >= _LEAST_TOLD and not _PLAIN_WORD.fullmatch(text)}


def mentions(text: str, word: str) -> bool:
    """Return whether a text holds a word or phrase by itself, not within a longer one."""
    spaced = r"\s+".join(map(re.escape, word.split()))
    return re.search(rf"(?<![\w./-]){spaced}(?![\w/-]|\.\w)", text) is not None


def _inherit_subject(checks: list[dict[str, Any]], main: dict[str, Any]) -> None:
    """Give each case all that it inherits from the task's subject, and remove that subject."""
    for check in checks:
        check["cases"] = [copy.deepcopy(with_inherited(case, main)) for case in check["cases"]]


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in data except keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        parts: Iterable[Any] = value.values() if isinstance(value, dict) else value
        for item in parts:
            yield from _texts(item)


def _keys(value: Any) -> Iterator[str]:
    """Yield every key in data."""
    if isinstance(value, dict):
        yield from map(str, value)
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(item)


def worth(checks: Iterable[dict[str, Any]]) -> Fraction:
    """The sum of the points of checks in a spec's data, bonus checks aside."""
    return sum((as_credit(check["points"]) for check in checks if not check.get("bonus")), Fraction(0))


def points_as_number(points: Fraction) -> int | float:
    """Return points as a number for a spec."""
    return points.numerator if points.denominator == 1 else float(points)
