"""What a page is filled with: the rubric's fields, words for verdicts and points, and the templates themselves."""

from __future__ import annotations

import functools
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from labgrade.core.text import escaped
from labgrade.desk.form_decisions import worth
from labgrade.reports import summary
from labgrade.review.decisions import points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labgrade.desk.form_decisions import FormMarks
    from labgrade.desk.queue import SuggestedShares
    from labgrade.review.marking import ToDecide
    from labgrade.verdict import Verdict


def read_at(each: ToDecide) -> str:
    """Where labgrade read a value, or would."""
    suggestion = each.graded.verdict.suggestion
    return suggestion.place if suggestion is not None and suggestion.place else each.graded.answer_from


def lines(each: ToDecide, given: Sequence[Fraction] | None, sent: FormMarks | None) -> list[dict[str, str]]:
    """The rubric with what stands in each field: what was typed, or else what was given."""
    found = []
    for number, (line_worth, what) in enumerate(each.rubric):
        value = typed(line_worth, given[number]) if given is not None else ""
        if sent is not None and number < len(sent.points):
            value = sent.points[number]
        full, none = (typed(line_worth, Fraction(share)) for share in (1, 0))
        found.append({"what": what, "worth": points(line_worth), "full": full, "none": none, "value": value})
    return found


def worth_of(each: ToDecide, made: SuggestedShares) -> str:
    """The points that a suggestion gives: `3 of 4`."""
    got = sum((own * share for (own, _), share in zip(each.rubric, made.shares, strict=True)), Fraction(0))
    return f"{points(got)} of {points(each.graded.points)}"


def typed(line_worth: Fraction, share: Fraction) -> str:
    """A share of a line as a person types it."""
    return points(line_worth * share) if line_worth else "full" if share == 1 else "none"


@functools.cache
def environment() -> Environment:
    """The templates of the desk; every text in them is escaped."""
    made = Environment(
        loader=PackageLoader("labgrade.desk", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    made.filters |= {
        "points": points,
        "reason": _reason,
        "hint": summary.hint,
        "facts": summary.facts,
        "compared": summary.compared,
        "moment": summary.moment,
        "worth": worth,
    }
    return made


def _visible(value: object) -> object:
    """A text as a person sees it, and all of it: fields of a form come back as they went out."""
    return escaped(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _reason(verdict: Verdict) -> str:
    """What labgrade found, without the rubric, which stands beside it."""
    return summary.full_reason(replace(verdict, rubric=()))
