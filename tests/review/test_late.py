"""Late rules applied to a report: raw and final points, ranges, extensions, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

import pytest
from helpers.class_sample import CLASS, essay, graded, report, student, submission
from hypothesis import given
from hypothesis import strategies as st

from labgrade.core.points import Totals, final_totals
from labgrade.core.results import Deduction
from labgrade.core.student_view import for_student
from labgrade.review.late import with_late
from labgrade.review.roster import Roster, Student
from labgrade.spec.lab import Deadline, LateRule
from labgrade.submissions.handed_in_at import UNSURE
from labgrade.verdict import correct, partial

TAIPEI = timezone(timedelta(hours=8))
DUE = datetime(2026, 11, 20, 23, 59, tzinfo=TAIPEI)
HOUR = timedelta(hours=1)


def rules(**more):
    return {"lab2": Deadline(lab="lab2", due=DUE, rule=LateRule(**{"per_day": Fraction(1, 10), **more}))}


def late_by(after, *checks, roster=Roster(), deadlines=None, **more):  # noqa: B008 - frozen
    checks = checks or (graded("total", 60, correct()), graded("rest", 40, partial(Fraction(1, 2), "half")))
    one = submission("ann", *checks, handed_in=(DUE + after).isoformat(), **more)
    (found,) = with_late(report(one), deadlines or rules(), roster).submissions
    return found


@pytest.mark.parametrize(
    ("after", "final"),
    [(-HOUR, 80), (timedelta(0), 80), (timedelta(seconds=1), 70), (24 * HOUR, 70), (25 * HOUR, 60), (240 * HOUR, 0)],
)
def test_raw_and_final_points_stay_apart(after, final):
    totals = final_totals(late_by(after))
    assert (totals.points, totals.earned, totals.final, totals.final_at_most) == (100, 80, final, final)
    assert totals.earned - totals.deducted == totals.final


def test_a_share_of_what_was_earned():
    assert final_totals(late_by(HOUR, deadlines=rules(of="earned"))).final == 72
    assert final_totals(late_by(240 * HOUR, deadlines=rules(of="earned", cap=Fraction(1, 2)))).final == 40
    assert final_totals(late_by(240 * HOUR, deadlines=rules(cap=Fraction(1, 2)))).final == 30


def test_grace_and_after_the_cap():
    grace = rules(grace=timedelta(minutes=15))
    assert final_totals(late_by(timedelta(minutes=15), deadlines=grace)).final == 80
    assert final_totals(late_by(timedelta(minutes=15, seconds=1), deadlines=grace)).final == 70
    closed = rules(cap=Fraction(1, 5), after_cap="nothing")
    assert final_totals(late_by(47 * HOUR, deadlines=closed)).final == 60
    assert final_totals(late_by(49 * HOUR, deadlines=closed)).final == 0


def test_nobody_loses_more_than_was_earned():
    late = late_by(49 * HOUR, graded("total", 100, partial(Fraction(1, 10), "little")))
    assert late.deductions[0].points == 10
    totals = final_totals(late)
    assert (totals.earned, totals.deducted, totals.final) == (10, 10, 0)


def test_what_is_pending_makes_the_final_points_a_range():
    late = late_by(HOUR, graded("total", 6, correct()), essay())
    assert final_totals(late) == Totals(
        points=Fraction(10),
        earned=Fraction(6),
        at_most=Fraction(10),
        pending=1,
        deducted=Fraction(1),
        most_deducted=Fraction(1),
    )
    of_earned = final_totals(late_by(HOUR, graded("total", 6, correct()), essay(), deadlines=rules(of="earned")))
    assert (of_earned.final, of_earned.final_at_most) == (Fraction("5.4"), 9)


def test_bonus_points_are_no_part_of_what_is_deducted_from():
    checks = (graded("total", 10, correct()), graded("extra", 5, correct(), bonus=True))
    assert final_totals(late_by(HOUR, *checks)).final == 14
    assert final_totals(late_by(HOUR, *checks, deadlines=rules(of="earned"))).final == Fraction("13.5")


def test_deductions_are_rounded_once_to_hundredths():
    late = late_by(HOUR, graded("total", "0.15", correct()), deadlines=rules(per_day=Fraction(1, 3)))
    assert late.deductions[0].points == Fraction("0.05")
    assert final_totals(late).final == Fraction("0.1")


def test_each_lab_has_its_own_rule():
    one = late_by(HOUR)
    second = replace(one.tasks[0], lab="lab3", id="other")
    other = {"lab3": Deadline(lab="lab3", due=DUE - 48 * HOUR, rule=LateRule(per_day=Fraction(1, 20)))}
    both = replace(one, tasks=(*one.tasks, second), deductions=())
    (found,) = with_late(report(both), rules() | other, Roster()).submissions
    assert [(each.lab, each.points) for each in found.deductions] == [("lab2", 10), ("lab3", 15)]
    assert final_totals(found).final == 160 - 25
    (only,) = with_late(report(both), other, Roster()).submissions
    assert [each.lab for each in only.deductions] == ["lab3"]


def test_it_is_said_why():
    assert late_by(25 * HOUR).deductions[0].why == (
        "handed in 2026-11-22 00:59:00 +08:00 (due 2026-11-20 23:59:00 +08:00): 2 days begun, "
        "which costs 20 % of the lab's points"
    )
    capped = late_by(25 * HOUR, deadlines=rules(cap=Fraction(1, 10), of="earned")).deductions[0].why
    assert capped.endswith("2 days begun, which costs 10 % of what was earned, the most that is deducted")
    past = late_by(25 * HOUR, deadlines=rules(cap=Fraction(1, 10), after_cap="nothing")).deductions[0].why
    assert past.endswith("which costs 100 % of the lab's points, as it is past the cap")
    free = late_by(HOUR, deadlines={"lab2": Deadline(lab="lab2", due=DUE)})
    assert free.deductions[0].why.endswith("1 day begun; this lab deducts nothing")
    assert final_totals(free).final == 80


def test_it_is_said_who_told_the_moment_and_which_is_doubtful():
    sure = late_by(HOUR, handed_in_by="its last commit").deductions[0].why
    assert sure.endswith("costs 10 % of the lab's points; told by its last commit")
    late = [
        submission(name, graded("total", 9, correct()), handed_in=(DUE + after).isoformat(), handed_in_by=by)
        for name, after, by in (("ann", HOUR, UNSURE), ("bob", HOUR, "the roster"), ("eve", -HOUR, UNSURE))
    ]
    (note,) = with_late(report(*late), rules(), Roster()).notes
    assert note.startswith("late only by the times of files, which copying may have changed; ")
    assert note.endswith("say 'handed_in' in the roster: 'ann'")


def test_a_student_with_an_extension_is_late_later():
    roster = Roster(students=(Student(id="b1", extensions={"": timedelta(days=2)}), Student(id="b2")))
    extended = late_by(48 * HOUR, roster=roster, members=("b1",))
    assert extended.deductions == ()
    assert late_by(48 * HOUR, roster=roster, members=("b2",)).deductions[0].share == Fraction(1, 5)
    third = late_by(49 * HOUR, roster=roster, members=("b1",))
    assert third.deductions[0].share == Fraction(1, 10)
    assert "(due 2026-11-22 23:59:00 +08:00, an extension)" in third.deductions[0].why
    assert late_by(48 * HOUR, roster=roster, members=("b2", "b1")).deductions == ()  # a group has its longest


def test_an_extension_of_another_lab_is_none():
    roster = Roster(students=(Student(id="b1", extensions={"lab3": timedelta(days=2)}),))
    assert late_by(HOUR, roster=roster, members=("b1",)).deductions != ()


def test_a_moment_nobody_knows_costs_nothing_and_is_said():
    found = with_late(CLASS, rules(), Roster())
    assert [each.deductions for each in found.submissions] == [()] * 3
    said = "when it was handed in is not known, so no late rule was applied; say 'handed_in' in the roster: "
    assert found.notes == (f"{said}'ann', 'bob', '王小明'",)
    assert with_late(CLASS, {}, Roster()) == CLASS


def test_a_student_sees_what_is_deducted_of_what_they_see():
    late = replace(student("ann"), handed_in=(DUE + HOUR).astimezone(UTC).isoformat())
    (staff,) = with_late(report(late), rules(), Roster()).submissions
    assert final_totals(staff).deducted == Fraction("2.4")  # of 24 points
    (seen,) = for_student(report(staff)).submissions
    assert seen.deductions[0].points == Fraction("1.9")  # of 19: the hidden ones can't be told from it
    assert final_totals(seen).deducted == Fraction("1.9")


SHARES = st.fractions(0, 1, max_denominator=1000)
POINTS = st.decimals(0, 1000, places=2).map(Fraction)


@pytest.mark.slow
@given(POINTS, SHARES, SHARES, SHARES, st.booleans(), st.booleans(), st.integers(0, 2000))
def test_final_points_keep_their_bounds(points, credit, per_day, cap, of_earned, closes, hours):
    rule = {
        "per_day": per_day,
        "cap": max(cap, per_day),
        "of": "earned" if of_earned else "points",
        "after_cap": "nothing" if closes else "stays",
    }
    checks = (graded("total", points, partial(credit, "so")), essay())
    late, later = (late_by(timedelta(hours=each), *checks, deadlines=rules(**rule)) for each in (hours, hours + 1))
    totals, more = final_totals(late), final_totals(later)
    assert 0 <= totals.final <= totals.final_at_most
    assert totals.final <= totals.earned
    assert totals.final_at_most <= totals.at_most
    assert more.final <= totals.final
    assert (totals.final * 100).denominator == 1
    if hours == 0:
        assert totals.final == totals.earned
    if of_earned and not late.deductions:
        assert totals.deducted == 0


def test_a_fixed_deduction_is_taken_as_it_is():
    fixed = replace(late_by(-HOUR), deductions=(Deduction(lab="lab2", points=Fraction(90), why="agreed"),))
    assert final_totals(fixed).final == 0
    assert final_totals(replace(fixed, deductions=(Deduction(lab="x", points=Fraction(9), why=""),))).final == 80
