"""Groups hand in once: everybody's name is on it, and where they hand in twice, one counts and both are named."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

from helpers.class_sample import CLASS, graded, report, student, submission

from labgrade.reports.summary import left_out
from labgrade.review.groups import drawn_as, grouped, unknown_name_warning
from labgrade.review.late import with_late
from labgrade.review.roster import Roster, Student
from labgrade.spec.lab import Deadline, LateRule
from labgrade.verdict import Outcome, correct, without_value

TAIPEI = timezone(timedelta(hours=8))
DUE = datetime(2026, 11, 20, 23, 59, tzinfo=TAIPEI)
RULES = {"lab2": Deadline(lab="lab2", due=DUE, rule=LateRule(per_day=Fraction(1, 10), grace=timedelta(minutes=15)))}
HOUR = timedelta(hours=1)
ROSTER = Roster(
    students=(
        Student(id="b1", name="ann", group="A1"),
        Student(id="b2", name="bob", group="A1"),
        Student(id="b3", name="王小明"),
    )
)


def at(name, after, **more):
    return student(name, handed_in=(DUE + after).isoformat() if after is not None else "", **more)


def counted(*submissions, roster=ROSTER):
    found = grouped(report(*submissions), roster, RULES)
    return [each.name for each in found.submissions], found


def test_without_a_roster_nothing_changes():
    assert grouped(CLASS, Roster(), RULES) == CLASS


def test_everybody_gets_the_result():
    names, found = counted(at("ann", -HOUR), at("王小明", -HOUR))
    assert names == ["ann", "王小明"]
    assert [each.members for each in found.submissions] == [("b1", "b2"), ("b3",)]
    assert found.notes == ()


def test_an_archive_beside_a_folder_of_its_name_is_the_same_students():
    names, found = counted(at("王小明", 25 * HOUR), at("王小明.zip", -HOUR))
    assert names == ["王小明.zip"]
    assert found.submissions[0].members == ("b3",)
    assert drawn_as(ROSTER, "王小明.zip") == drawn_as(ROSTER, "王小明")
    assert drawn_as(Roster(), "s08.zip") == drawn_as(Roster(), "s08")


def test_a_time_to_come_in_the_roster_is_not_believed():
    known = Student(id="b3", name="王小明", handed_in=datetime.now(UTC) + timedelta(days=2))
    _, found = counted(at("王小明", -HOUR), roster=Roster(students=(known,)))
    assert found.submissions[0].handed_in == (DUE - HOUR).isoformat()
    assert "'handed_in' of these lies in the future and is ignored: 'b3'" in found.notes


def test_the_latest_in_time_counts_and_both_are_named():
    names, found = counted(at("ann", -2 * HOUR), at("王小明", -HOUR), at("bob", -HOUR))
    assert names == ["bob", "王小明"]
    assert left_out(found.submissions[0]) == (
        (
            "'ann' (2026-11-20T21:59:00+08:00), because group 'A1' handed in 2 times and 'bob' "
            "(2026-11-20T22:59:00+08:00) counts, the latest of those that cost least"
        ),
    )
    assert left_out(found.submissions[1]) == ()


def test_a_stub_of_one_does_not_replace_the_work_of_another():
    missing = [graded(f"c{n}", 1, without_value(Outcome.MISSING, "nothing")) for n in range(5)]
    full = at("ann", -2 * HOUR)
    stub = submission("bob", *missing, graded("note", 1, correct()), handed_in=(DUE - HOUR).isoformat())
    names, found = counted(full, stub)
    assert names == ["ann"]
    ((name, why),) = found.submissions[0].others
    assert name == "bob"
    assert why.endswith("'ann' (2026-11-20T21:59:00+08:00) counts: this one has 1 of its 5 answers")
    assert f"does not count: {why}" in found.notes
    broken = counted(full, replace(stub, remarks=("'hw.zip', because it is damaged",)))[1].submissions[0].others
    assert broken[0][1].endswith("has 1 of its 5 answers; left out of it: 'hw.zip', because it is damaged")
    late = at("ann", 30 * HOUR)
    assert counted(late, stub)[0] == ["ann"]  # however late the work itself is
    half = replace(full.tasks[0], checks=(*full.tasks[0].checks[:3], *missing))
    assert counted(full, at("bob", -HOUR), at("王小明", -HOUR))[0][0] == "bob"
    assert counted(full, replace(at("bob", -HOUR), tasks=(half,)))[0] == ["bob"]  # more than half of it


def test_one_in_time_counts_though_another_came_late():
    assert counted(at("ann", -2 * HOUR), at("bob", HOUR))[0] == ["ann"]
    assert counted(at("ann", HOUR), at("bob", -2 * HOUR))[0] == ["bob"]
    assert counted(at("ann", -2 * HOUR), at("bob", timedelta(minutes=15)))[0] == ["bob"]  # grace is in time
    assert counted(at("ann", -2 * HOUR), at("bob", timedelta(minutes=15, seconds=1)))[0] == ["ann"]


def test_of_late_ones_the_latest_of_the_fewest_days_counts():
    assert counted(at("ann", HOUR), at("bob", 2 * HOUR))[0] == ["bob"]
    assert counted(at("ann", HOUR), at("bob", 26 * HOUR))[0] == ["ann"]


def test_an_extension_of_one_is_an_extension_of_the_group():
    extended = Roster(students=(ROSTER.students[0], replace(ROSTER.students[1], extensions={"": timedelta(days=2)})))
    names, found = counted(at("ann", HOUR), at("bob", 26 * HOUR), roster=extended)
    assert names == ["bob"]
    assert with_late(found, RULES, extended).submissions[0].deductions == ()


def test_what_has_a_time_counts_before_what_has_none():
    names, found = counted(at("ann", None), at("bob", 50 * HOUR))
    assert names == ["bob"]
    assert "'ann' (nobody knows when)" in left_out(found.submissions[0])[0]
    names, found = counted(at("ann", None), at("bob", None))
    assert names == ["ann"]
    assert "the first by name, as no times are known" in left_out(found.submissions[0])[0]


def test_one_student_may_hand_in_twice():
    names, found = counted(at("王小明", -HOUR), at("b3", -2 * HOUR))
    assert names == ["王小明"]
    assert "because 'b3' handed in 2 times" in left_out(found.submissions[0])[0]


def test_strangers_stay_and_the_absent_are_named():
    names, found = counted(at("eve", -HOUR), at("mallory", -HOUR), at("ann", -HOUR))
    assert names == ["eve", "mallory", "ann"]
    assert [each.members for each in found.submissions] == [(), (), ("b1", "b2")]
    assert found.notes == (
        "the roster names no owner of these; add them under 'submission': 'eve', 'mallory'",
        "of the roster, 1 handed in nothing, or were not graded: 'b3'",
    )


def test_the_roster_knows_better_when_it_was_handed_in():
    told = Roster(students=(replace(ROSTER.students[2], handed_in=DUE + HOUR),))
    _, found = counted(at("王小明", -HOUR), roster=told)
    assert (found.submissions[0].handed_in, found.submissions[0].handed_in_by) == (
        "2026-11-21T00:59:00+08:00",
        "the roster",
    )


def test_the_roster_s_moment_is_that_of_the_hand_in_of_its_own_student():
    ann, bob, _ = ROSTER.students
    told = Roster(students=(replace(ann, handed_in=DUE - HOUR), replace(bob, handed_in=DUE + 45 * HOUR)))
    names, found = counted(at("ann", 60 * HOUR), at("bob", 60 * HOUR), roster=told)
    assert names == ["ann"]
    assert found.submissions[0].handed_in == (DUE - HOUR).isoformat()
    assert f"'bob' ({(DUE + 45 * HOUR).isoformat()})" in left_out(found.submissions[0])[0]
    assert with_late(found, RULES, told).submissions[0].deductions == ()


def test_a_moment_of_one_member_says_nothing_of_what_another_handed_in():
    ann, bob, _ = ROSTER.students
    told = Roster(students=(ann, replace(bob, handed_in=DUE + 45 * HOUR)))
    names, found = counted(at("ann", -HOUR), at("bob", -HOUR), roster=told)
    assert (names, found.submissions[0].handed_in) == (["ann"], (DUE - HOUR).isoformat())
    _, alone = counted(at("ann", -HOUR), roster=told)
    assert alone.submissions[0].handed_in == (DUE + 45 * HOUR).isoformat()


def test_of_what_is_called_by_the_group_the_latest_moment_of_its_members_holds():
    ann, bob, _ = ROSTER.students
    told = Roster(students=(replace(ann, handed_in=DUE - HOUR), replace(bob, handed_in=DUE + HOUR)))
    _, found = counted(at("A1", -HOUR), roster=told)
    assert found.submissions[0].handed_in == (DUE + HOUR).isoformat()


def test_a_name_that_the_roster_has_not_is_warned_of():
    assert unknown_name_warning(ROSTER, "王小明") == unknown_name_warning(Roster(), "nosuch") == ""
    assert unknown_name_warning(ROSTER, "nosuch") == "warning: 'nosuch' is not in the roster"
    student = ROSTER.students[0]
    assert f"did you mean '{student.id}'?" in unknown_name_warning(ROSTER, f"{student.id}x")
