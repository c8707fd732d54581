"""What students are told of checks that they are not shown: numbers that add up to the gradebook's, or nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from helpers.class_sample import CLASS, graded, report

from labgrade.core.points import final_totals
from labgrade.core.results import Deduction
from labgrade.core.student_view import for_student
from labgrade.reports import json as as_json
from labgrade.reports import markdown, summary
from labgrade.reports.html import student
from labgrade.review import releases
from labgrade.review.results import with_hidden_points
from labgrade.verdict import partial

LATE = (
    Deduction(lab="lab2", points=Fraction(0), why="late", share=Fraction(1, 10)),
    Deduction(lab="lab2", points=Fraction(0), why="very late", share=Fraction(1, 10), of_earned=True),
)


def settled():
    """A submission of which nothing waits any more, handed in late; 4 of its 5 hidden points are earned."""
    whole = CLASS.submissions[0]
    shares = {"total": Fraction(3, 5), "secret": Fraction(4, 5)}
    checks = (
        graded(each.id, each.points, partial(shares.get(each.id, Fraction(1)), "so"), hidden=each.hidden)
        for each in whole.tasks[0].checks
    )
    whole = replace(whole, tasks=(replace(whole.tasks[0], checks=tuple(checks)),))
    return replace(whole, deductions=LATE)


def of_lab(submission, *, secret=False):
    return with_hidden_points(report(submission), {"lab2"} if secret else ()).submissions[0]


@pytest.mark.parametrize("hidden_too", [False, True])
def test_the_final_points_that_a_student_sees_are_the_gradebooks(hidden_too):
    staff = of_lab(settled())
    made = releases.make_release(staff, by="prof", hidden_too=hidden_too)
    seen, meant = final_totals(made.view), final_totals(staff)
    assert (seen.points, seen.earned, seen.final, seen.pending) == (meant.points, meant.earned, meant.final, 0)
    assert seen.final == made.final
    assert bool(made.view.not_shown) is not hidden_too
    kept = as_json.read(as_json.render(report(made.view)), "report.json").submissions[0]
    assert final_totals(kept).final == made.final
    assert "secret" not in repr(made.view) or hidden_too


def test_before_release_only_what_hidden_checks_are_worth_is_told():
    view = releases.view_before_release(of_lab(settled()))
    assert summary.not_shown(view) == [("cases that are not shown", "5 more")]
    assert (final_totals(view).points, view.tasks[0].not_shown) == (19, 5)
    page = student.render(report(view))
    assert "Cases that are not shown: 5 more points" in page
    assert for_student(report(view)).submissions[0] == view  # a view of a view is the same


def test_after_release_they_are_one_sum():
    view = releases.make_release(of_lab(settled()), by="prof").view
    assert summary.not_shown(view) == [("cases that are not shown", "4 / 5")]
    assert "cases that are not shown: 4 / 5 points" in markdown.render(report(view))
    assert '<th scope="row">cases that are not shown</th><td class="number">4 / 5</td>' in student.render(report(view))


def test_what_still_waits_among_them_leaves_a_range():
    staff = of_lab(replace(CLASS.submissions[0], deductions=LATE))
    checks = tuple(replace(each, hidden=True) for each in staff.tasks[0].checks)
    staff = replace(staff, tasks=(staff.tasks[0], replace(staff.tasks[0], id="unseen", checks=checks, not_shown=24)))
    seen, meant = final_totals(releases.make_release(staff, by="prof").view), final_totals(staff)
    assert (seen.final, seen.final_at_most, bool(seen.pending)) == (meant.final, meant.final_at_most, True)


def test_a_lab_that_keeps_them_secret_tells_nothing():
    staff = of_lab(settled(), secret=True)
    view = releases.make_release(staff, by="prof").view
    assert view.not_shown == releases.view_before_release(staff).not_shown == ()
    assert final_totals(view).points == 19
    assert view.deductions[0].points == Fraction("1.9")
    texts = (as_json.render(report(view)), markdown.render(report(view)), student.render(report(view)))
    assert not any("not shown" in text or "not_shown" in text for text in texts)
