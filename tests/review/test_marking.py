"""What waits to be marked, what points may be typed, and what a mark is worth."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from helpers.class_sample import CLASS, essay, graded, report, student, submission, task
from hypothesis import given as drawn
from hypothesis import strategies as st

from labgrade.core.results import MarkingText, Report, SubmissionReport
from labgrade.review.apply import with_decisions
from labgrade.review.decisions import Decisions, Place
from labgrade.review.marking import NoPointsError, mark, parse_share, waiting
from labgrade.verdict import Outcome, correct, incorrect, without_value

ANN = Place(submission="ann", lab="lab2", task="macs", check="essay")


def test_only_what_a_person_can_mark_now_waits():
    assert [str(each.place) for each in waiting(CLASS)] == ["ann macs essay", "bob macs essay", "王小明 macs essay"]
    (first, *_) = waiting(CLASS)
    assert first.rubric == ((3, "names the bottleneck"), (1, "gives a number"))
    assert first.earlier == ""


def test_it_waits_question_by_question():
    one = task(essay("b"), essay("a"), name="first")
    other = task(essay(), name="another")
    people = [SubmissionReport(name=name, tasks=(one, other)) for name in ("ann", "bob")]
    found = waiting(Report(submissions=tuple(people)))
    assert [str(each.place) for each in found] == [
        "ann another essay",
        "bob another essay",
        "ann first b",
        "bob first b",
        "ann first a",
        "bob first a",
    ]
    assert [str(each.place) for each in waiting(Report(submissions=tuple(people)), "another")] == [
        "ann another essay",
        "bob another essay",
    ]


def test_what_the_next_run_will_grade_is_not_marked_by_anybody():
    need = graded("total", 10, incorrect("no"))
    skipped = graded("next", 2, without_value(Outcome.SKIPPED, "needs 'total'"), needs=("total",))
    full = mark(replace(ANN, check="total"), need, [Fraction(1)], by="ta", comment="", kind="override")
    found = with_decisions(report(submission("ann", need, skipped)), Decisions([replace(full, number=1)]))
    assert found.submissions[0].tasks[0].checks[1].verdict.outcome is Outcome.MANUAL
    assert waiting(found) == []


def test_what_was_marked_waits_no_longer_until_the_text_changes():
    (first, *_) = waiting(CLASS)
    ruling = replace(mark(first.place, first.graded, [Fraction(1), Fraction(0)], by="ta", comment="ok"), number=1)
    assert len(waiting(with_decisions(CLASS, Decisions([ruling])))) == 2
    edited = report(student("ann", "because of nothing"))
    (again,) = waiting(with_decisions(edited, Decisions([ruling])))
    assert again.earlier.startswith("3 of 4 by ta, ")
    assert again.graded.to_mark.text == "because of nothing"


@pytest.mark.parametrize(
    ("text", "worth", "share"),
    [
        ("3", 3, "1"),
        ("0", 3, "0"),
        (" 2.5 ", 3, "5/6"),
        (".25", 1, "1/4"),
        ("３", 3, "1"),
        ("full", 3, "1"),
        ("None", 3, "0"),
        ("FULL", 0, "1"),
        ("none", 0, "0"),
        ("2,5", 5, "1/2"),
        (",5", 5, "1/10"),
    ],
)
def test_points_that_can_be_given(text, worth, share):
    assert parse_share(text, Fraction(worth)) == Fraction(share)


@pytest.mark.parametrize(
    ("text", "worth", "says"),
    [
        ("3.01", "3", "3.01 is more than the 3 that this is worth"),
        ("-1", "3", "'-1' is no number of points: 0 to 3, to hundredths, or 'full'"),
        ("2,555", "3", "'2,555' is no number of points: 0 to 3"),
        ("1.005", "3", "is no number of points"),
        ("1e0", "3", "is no number of points"),
        ("", "3", "'' is no number of points"),
        ("nan", "3", "is no number of points"),
        ("0", "0", "this is worth no points: say 'full' or 'none'"),
        ("1", "0", "this is worth no points"),
    ],
)
def test_points_that_can_not(text, worth, says):
    with pytest.raises(NoPointsError) as error:
        parse_share(text, Fraction(worth))
    assert says in str(error.value)


def test_a_mark_says_whose_and_what():
    made = mark(ANN, essay(), [Fraction(1, 2), Fraction(1)], by="ta", comment=" so-so \n")
    assert (made.credit, made.worth, made.reason, made.kind) == (Fraction(5, 8), 4, "so-so", "mark")
    assert [(line.what, line.points) for line in made.lines] == [
        ("names the bottleneck", Fraction(3, 2)),
        ("gives a number", 1),
    ]
    assert (made.basis, made.machine) == (essay().basis, "MANUAL 0")


def test_a_check_without_a_rubric_is_marked_as_a_whole():
    ambiguous = graded(
        "total", 10, without_value(Outcome.MANUAL, "two values"), to_mark=MarkingText(text="Total 5 ... 6")
    )
    (only,) = waiting(report(submission("ann", ambiguous)))
    assert only.rubric == ((10, "the whole check"),)
    made = mark(only.place, ambiguous, [Fraction(3, 10)], by="ta", comment="")
    assert (made.credit, made.lines) == (Fraction(3, 10), ())
    bare = graded("proof", 10, without_value(Outcome.MANUAL, "the proof does not cover it"))
    assert waiting(report(submission("ann", bare)))[0].rubric == ((10, "the whole check"),)
    assert waiting(report(submission("ann", graded("total", 10, correct())))) == []


def test_what_is_worth_nothing_is_right_or_wrong():
    free = graded("warm-up", 0, without_value(Outcome.MANUAL, "look"))
    assert mark(ANN, free, [Fraction(1)], by="ta", comment="").credit == 1
    assert mark(ANN, free, [Fraction(0)], by="ta", comment="").credit == 0


@drawn(st.integers(0, 300), st.integers(0, 100))
def test_what_is_typed_is_what_is_earned(three, one):
    shares = [parse_share(f"{three / 100:.2f}", Fraction(3)), parse_share(f"{one / 100:.2f}", Fraction(1))]
    made = replace(mark(ANN, essay(), shares, by="ta", comment=""), number=1)
    (check,) = with_decisions(report(submission("ann", essay())), Decisions([made])).submissions[0].tasks[0].checks
    assert check.earned == Fraction(three + one, 100)
    assert (check.verdict.outcome is Outcome.CORRECT) == (three + one == 400)
    assert (check.verdict.outcome is Outcome.INCORRECT) == (three + one == 0)
