"""What waits to be marked, and what a mark is worth: no terminal, no files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.review.apply import EARLIER, NEXT
from labgrade.review.decisions import Place, RubricLine, Ruling, points
from labgrade.verdict import DOUBTFUL, OTHER_ROWS, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labgrade.core.results import Graded, Report
    from labgrade.verdict import Suggestion

WHOLE = "the whole check"
FULL, NONE, ACCEPT = "full", "none", "accept"
TO_LOOK_AT = (DOUBTFUL, OTHER_ROWS)
ALL = "all"
_COMMA = re.compile(r"^(\d*),(\d{1,2})$")
_POINTS = re.compile(r"\d{1,7}(?:\.\d{1,2})?|\.\d{1,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToDecide:
    """A check that waits for a person, and the rubric that it is marked by."""

    place: Place
    title: str
    graded: Graded
    rubric: tuple[tuple[Fraction, str], ...]

    @property
    def earlier(self) -> str:
        """Return the outdated decision in words, or ""."""
        return self.graded.verdict.facts.get(EARLIER, "")


def with_suggestion(waiting: Sequence[ToDecide], what: str) -> list[ToDecide]:
    """Those with a suggestion, of `what`: a check (`total`, `2-1-4-macs total`), a kind of suggestion, or `all`.

    Of a kind that one should look at, such as a value that may be a neighbour's, only where that kind is named.
    """
    return [
        each for each in waiting if (said := each.graded.verdict.suggestion) is not None and _is_of(each, said, what)
    ]


def _is_of(each: ToDecide, suggestion: Suggestion, what: str) -> bool:
    places = (each.place.check, f"{each.place.task} {each.place.check}")
    return what == suggestion.kind or (suggestion.kind not in TO_LOOK_AT and what in (ALL, *places))


def accept_suggestion(each: ToDecide, by: str) -> Ruling:
    """Return the decision that accepts a suggestion, with labgrade's reason unless the check is hidden.

    Raises:
        NoPointsError: there is no suggestion.
    """
    suggestion = each.graded.verdict.suggestion
    if suggestion is None:
        message = "there is no suggestion to accept"
        raise NoPointsError(message)
    shares = [suggestion.credit] * len(each.rubric)
    comment = f"read on {suggestion.place}" if suggestion.place else ""
    if suggestion.credit < 1 and not each.graded.hidden:
        comment = suggestion.why
    return mark(each.place, each.graded, shares, by=by, comment=comment)


class NoPointsError(ValueError):
    """The text is no number of points that can be given; the message says what is."""


def waiting(report: Report, task: str = "") -> list[ToDecide]:
    """The checks that wait to be marked, question by question; of one `task`, if it is named.

    What waits for another check, or for labgrade itself, is not among them.
    """
    found = [
        (task_.lab, task_.id, number, _to_decide(each.name, task_.lab, task_.id, task_.title, check))
        for each in report.submissions
        for task_ in each.tasks
        if task in ("", task_.id)
        for number, check in enumerate(task_.checks)
        if is_open(check)
    ]
    return [each for *_, each in sorted(found, key=lambda row: row[:3])]


def is_open(check: Graded) -> bool:
    """Return whether a person can mark the check now."""
    return check.verdict.outcome is Outcome.MANUAL and check.once_met is None and NEXT not in check.verdict.facts


def _to_decide(submission: str, lab: str, task: str, title: str, check: Graded) -> ToDecide:
    place = Place(submission=submission, lab=lab, task=task, check=check.id)
    return ToDecide(place=place, title=title, graded=check, rubric=rubric(check))


def rubric(check: Graded) -> tuple[tuple[Fraction, str], ...]:
    """Return the lines of a check's rubric; a check without lines is marked as a whole."""
    own = check.to_mark.rubric if check.to_mark is not None else ()
    return own or ((check.points, WHOLE),)


def parse_share(text: str, worth: Fraction) -> Fraction:
    """Parse the points of a rubric line as a share: `2.5`, `2,5`, `full`, `none`.

    Raises:
        NoPointsError: it is none, or more than the line is worth.
    """
    said = _COMMA.sub(r"\1.\2", text.strip().lower())
    if said in {FULL, NONE}:
        return Fraction(said == FULL)
    if not worth:
        message = f"this is worth no points: say '{FULL}' or '{NONE}'"
        raise NoPointsError(message)
    if not _POINTS.fullmatch(said):
        message = f"'{text.strip()}' is no number of points: 0 to {points(worth)}, to hundredths, or '{FULL}'"
        raise NoPointsError(message)
    if Fraction(said) > worth:
        message = f"{text.strip()} is more than the {points(worth)} that this is worth"
        raise NoPointsError(message)
    return Fraction(said) / worth


def mark(
    place: Place, check: Graded, shares: Sequence[Fraction], *, by: str, comment: str, kind: str = "mark"
) -> Ruling:
    """Return the decision that gives these shares of the lines of a check's rubric."""
    lines = rubric(check)
    got = sum((worth * share for (worth, _), share in zip(lines, shares, strict=True)), Fraction(0))
    credit = got / check.points if check.points else Fraction(all(share == 1 for share in shares))
    own = check.to_mark is not None and bool(check.to_mark.rubric)
    return Ruling(
        place=place,
        kind="mark" if kind == "mark" else "override",
        basis=check.basis,
        worth=check.points,
        credit=credit,
        reason=comment.strip(),
        by=by,
        machine=f"{check.verdict.outcome} {points(check.earned)}",
        lines=tuple(
            RubricLine(what=what, worth=worth, points=worth * share)
            for (worth, what), share in zip(lines, shares, strict=True)
        )
        if own
        else (),
    )
