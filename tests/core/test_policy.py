"""Points, rounding, totals as a range, and what a student may see."""

from __future__ import annotations

from fractions import Fraction

import pytest

from labgrade.core.points import Totals, earned, share, totals
from labgrade.core.results import Graded, Report, SubmissionReport, TaskReport
from labgrade.core.student_view import for_student
from labgrade.verdict import Outcome, Verdict, correct, incorrect, without_value


def graded(points: int | str, verdict: Verdict, *, name: str = "total", **more: bool) -> Graded:
    worth = Fraction(points)
    return Graded(id=name, points=worth, earned=earned(worth, verdict.credit), verdict=verdict, **more)


@pytest.mark.parametrize(
    ("points", "credit", "expected"),
    [
        ("10", "3/5", "6"),
        ("10", "1/3", "3.33"),
        ("10", "2/3", "6.67"),
        ("1", "0.125", "0.12"),  # half to even, down
        ("1", "0.135", "0.14"),  # half to even, up
        ("0.005", "1", "0"),
        ("0.015", "1", "0.02"),
        ("20", "0", "0"),
        ("0", "1", "0"),
    ],
)
def test_earned_points_are_rounded_once_to_hundredths(points, credit, expected):
    assert earned(Fraction(points), Fraction(credit)) == Fraction(expected)


@pytest.mark.parametrize(
    ("points", "parts"), [("4", 3), ("1", 3), ("10", 7), ("0.01", 3), ("2.5", 1), ("0", 4), ("1/3", 2), ("5", 0)]
)
def test_shares_are_even_and_sum_to_the_points(points, parts):
    shares = share(Fraction(points), parts)
    assert len(shares) == parts
    assert sum(shares) == (Fraction(points) if parts else 0)
    assert all(abs(part - Fraction(points) / parts) <= Fraction("0.01") for part in shares)
    assert all(earned(part, Fraction(1)) == part for part in shares) or Fraction(points) == Fraction(1, 3)


def test_totals_are_settled_without_pending_checks():
    checks = [graded(10, correct()), graded(6, incorrect("no")), graded(4, without_value(Outcome.MISSING, "no"))]
    assert totals(checks) == Totals(points=Fraction(20), earned=Fraction(10), at_most=Fraction(10), pending=0)
    assert totals([]) == Totals(points=Fraction(0), earned=Fraction(0), at_most=Fraction(0), pending=0)


@pytest.mark.parametrize("outcome", [Outcome.FAULT, Outcome.MANUAL])
def test_totals_are_a_range_while_something_is_pending(outcome):
    checks = [graded(10, correct()), graded(6, without_value(outcome, "wait"))]
    assert totals(checks) == Totals(points=Fraction(16), earned=Fraction(10), at_most=Fraction(16), pending=1)


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome not in {Outcome.FAULT, Outcome.MANUAL}])
def test_nothing_else_is_pending(outcome):
    assert totals([graded(6, without_value(outcome, ""))]).pending == 0


def test_bonus_points_come_on_top():
    checks = [graded(10, correct()), graded(3, correct(), bonus=True)]
    assert totals(checks) == Totals(points=Fraction(10), earned=Fraction(13), at_most=Fraction(13), pending=0)
    waiting = [graded(10, correct()), graded(3, without_value(Outcome.MANUAL, ""), bonus=True)]
    assert totals(waiting) == Totals(points=Fraction(10), earned=Fraction(10), at_most=Fraction(13), pending=1)


def task(*checks: Graded, points: int, name: str = "macs") -> TaskReport:
    return TaskReport(lab="lab2", id=name, title="MACs", points=Fraction(points), checks=checks)


def test_a_student_sees_neither_hidden_checks_nor_facts():
    wrong = incorrect("got 5, which is wrong", hint="look again", expected="57")
    tasks = (
        task(
            graded(10, wrong),
            graded(4, wrong, name="secret", hidden=True),
            graded(2, wrong, name="extra", hidden=True, bonus=True),
            points=14,
        ),
        task(graded(5, wrong, hidden=True), points=5, name="all-secret"),
    )
    report = Report(
        submissions=(SubmissionReport(name="student42", tasks=tasks, remarks=("a link was left out",)),),
        notes=("no jail",),
    )
    seen = for_student(report)
    assert seen.notes == report.notes
    (submission,) = seen.submissions
    assert submission.remarks == ("a link was left out",)
    (only,) = submission.tasks
    assert (only.id, only.points) == ("macs", 10)
    (check,) = only.checks
    assert (check.id, check.verdict.reason, check.verdict.hint) == ("total", "got 5, which is wrong", "look again")
    assert check.verdict.facts == {}
    assert "secret" not in repr(seen)
    assert "57" not in repr(seen)
    assert totals(check for each in report.submissions[0].tasks for check in each.checks).points == 19


def test_a_task_whose_every_check_is_visible_keeps_its_points():
    report = Report(submissions=(SubmissionReport(name="a", tasks=(task(graded(10, correct()), points=10),)),))
    assert for_student(report) == report
