"""What a page is filled with: the rubric's fields, words for verdicts and points, and the templates themselves."""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from labgrade.core.text import escaped
from labgrade.desk.form_decisions import worth
from labgrade.desk.sanitise import split
from labgrade.reports import summary
from labgrade.reports.html import render
from labgrade.review.decisions import points

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jinja2 import Environment

    from labgrade.desk.form_decisions import FormMarks
    from labgrade.desk.queue import SuggestedShares
    from labgrade.review.marking import ToDecide
    from labgrade.verdict import Verdict

_SEEN_ON = re.compile(r"\bstand on line (\d{1,9})")
_NUMBER = re.compile(r"\d+(?:-\d+)+")
_GOT = re.compile(r"^got .{1,80}?, which is ")
_FROM = re.compile(r", from \S{1,400}:\d{1,9} on\b")
_LONGEST, _BESIDE = 160, 35  # characters of a line, and beside the value in it


def read_at(each: ToDecide) -> tuple[str, bool]:
    """Return where labgrade read a value, and whether that is a guess from its words or its task."""
    suggestion = each.graded.verdict.suggestion
    place = suggestion.place if suggestion is not None and suggestion.place else each.graded.answer_from
    if place or each.graded.to_mark is None:
        return place, False
    named = [int(found) for found in _SEEN_ON.findall(summary.hint(each.graded.verdict))]
    number = _NUMBER.search(each.place.task)
    for path, first, text in split(each.graded.to_mark.text) if named or number else ():
        lines = text.split("\n")
        seen = [at - first for at in named if 0 <= at - first < len(lines)]
        if number is not None:
            word = re.compile(rf"(?<![\d-]){number[0]}(?!\d)")
            seen += [at for at, line in enumerate(lines) if word.search(line)]
        if path and seen:
            return f"{path}:{first + seen[0]}", True
    return "", False


def lines(each: ToDecide, given: Sequence[Fraction] | None, sent: FormMarks | None) -> list[dict[str, str]]:
    """Return the rubric's lines with the content of each field: what was typed, or else given."""
    found = []
    for number, (line_worth, what) in enumerate(each.rubric):
        value = typed(line_worth, given[number]) if given is not None else ""
        if sent is not None and number < len(sent.points):
            value = sent.points[number]
        full, none = (typed(line_worth, Fraction(share)) for share in (1, 0))
        found.append({"what": what, "worth": points(line_worth), "full": full, "none": none, "value": value})
    return found


def worth_of(each: ToDecide, made: SuggestedShares) -> str:
    """Return the points that a suggestion gives: `3 of 4`."""
    got = sum((own * share for (own, _), share in zip(each.rubric, made.shares, strict=True)), Fraction(0))
    return f"{points(got)} of {points(each.graded.points)}"


def by_cause(rows: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Group rows of suggestions that get the same points for the same reason and expected value."""
    found: dict[tuple[object, ...], list[dict[str, Any]]] = {}
    for row in rows:
        made, verdict = row["suggestion"], row["verdict"]
        why = "" if made.sure else (beside_line(made.why), "" if made.own else made.comment)
        found.setdefault((made.shares, made.own, why, verdict.facts.get("expected", "")), []).append(row)
    return list(found.values())


def typed(line_worth: Fraction, share: Fraction) -> str:
    """Format a share of a line as a person types it."""
    return points(line_worth * share) if line_worth else "full" if share == 1 else "none"


@functools.cache
def static_files() -> dict[str, str]:
    """The desk's script, style and icon by their names."""
    found = {
        each.name: each.read_text(encoding="utf-8") for each in files("labgrade.desk").joinpath("static").iterdir()
    }
    style = files("labgrade.reports.html").joinpath("templates", "style.css").read_text(encoding="utf-8")
    return found | {"desk.css": style + found["desk.css"]}  # one style for reports and the desk


@functools.cache
def environment() -> Environment:
    """The templates of the desk; every text in them is escaped."""
    made = render.environment("labgrade.desk", _visible)
    made.filters |= {
        "points": points,
        "reason": _reason,
        "hint": summary.hint,
        "facts": summary.facts,
        "compared": summary.beside_expected,
        "moment": summary.moment,
        "worth": worth,
        "read_words": _read_words,
        "beside_line": beside_line,
    }
    made.globals["edition"] = hashlib.sha256(repr(static_files()).encode()).hexdigest()[:12]
    return made


def _visible(value: object) -> object:
    """Make invisible characters visible; form fields come back as they were sent."""
    return escaped(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _reason(verdict: Verdict) -> str:
    """Return labgrade's reason without the rubric and the places searched, which stand beside it."""
    return summary.full_reason(replace(verdict, rubric=(), looked_for=()))


def beside_line(why: str) -> str:
    """Shorten a reason that stands beside its line: drop the value and its place."""
    stands, _, said = why.partition(": ")
    return _GOT.sub("", said) if said and " stands on " in stands else _FROM.sub("", why)


def _read_words(line: str, got: str) -> tuple[str, str, str]:
    """Split a line into the text before a value, the value, and the text after it; a long line is cut."""
    typed_so = "|".join(map(re.escape, {got, got.replace(",", "")}))
    found = re.search(rf"(?<![\d.,])(?:{typed_so})(?![.,]?\d)", line) if got else None
    if found is None:
        return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …", "", ""
    before, behind = line[: found.start()], line[found.end() :]
    before = before if len(before) <= _BESIDE else f"… {before[-_BESIDE:].partition(' ')[2]}"
    behind = behind if len(behind) <= _BESIDE else f"{behind[:_BESIDE].rpartition(' ')[0]} …"
    return before, found[0], behind
