"""Pictures on pages: each with its data, small, in the page's colours, and with nothing that a student may not see."""

import re
from dataclasses import replace
from fractions import Fraction

import pytest

pytest.importorskip("jinja2", reason="pages need Jinja2")
pytest.importorskip("matplotlib", reason="pages need matplotlib")
from labgrade.core.results import Graded, Plot, Report, SubmissionReport, TaskReport
from labgrade.core.student_view import for_student
from labgrade.reports.html import class_pictures, classroom, pictures, planes, student
from labgrade.verdict import ComparedRow, correct, incorrect

ROOFS = Plot(
    x="n", y="gflops", names=("<b>a", "b"), xs=(64.0, 256.0), ys=(4.0, 600.0), peak=500.0, slopes=(("memory", 33.3),)
)
RUNS = Plot(x="bits", y="accuracy", names=("r1", "r2", "r3"), xs=(2.0, 3.0, 4.0), ys=(0.7, 0.95, 0.93))
GRID = Plot(x="value", y="numbers", xs=tuple(map(float, range(-60, 61))), ys=(5.0,) * 121, step=1.0)
ROWS = tuple(
    ComparedRow(
        name=f"conv{at}",
        got=1000.0 * at,
        expected=1000.0 * at + 7777 * (at % 5 == 0),
        right=at % 5 != 0,
        column="macs",
        got_text=f"{1000 * at:,}",
        expected_text=f"{1000 * at + 7777 * (at % 5 == 0):,}",
    )
    for at in range(1, 61)
)


def graded(**more):
    return Graded(id="check", points=Fraction(2), earned=Fraction(0), verdict=incorrect("wrong"), **more)


def reported(*checks, who=("ann",)):
    task = TaskReport(lab="lab", id="1-1-task", title="T", points=Fraction(2), checks=checks)
    return Report(submissions=tuple(SubmissionReport(name=name, tasks=(task,)) for name in who))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"plot": ROOFS}, ["memory: 33.3 times n", "1 of 2 lie above", "600"]),
        ({"plot": RUNS}, ["no other one beats", "0.95"]),
        ({"plot": GRID}, ["121 numbers", "-60"]),
        ({"rows": ROWS}, ["60 values beside the expected ones", "12,777"]),
    ],
    ids=["roofline", "frontier", "histogram", "bars"],
)
def test_a_picture_is_small_has_its_data_and_no_style_of_its_own(more, told):
    text = str(pictures.check_pictures(graded(**more), "c1"))
    (drawn,) = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(drawn) < 30_000
    assert 'role="img"' in drawn
    assert "style=" not in text
    assert "<b>a" not in text
    assert "<table>" in text
    assert not re.search(r"#0[1-5]0[1-5]0[1-5]", drawn)
    for each in told:
        assert each in text


def test_a_students_page_has_their_own_bars_and_nothing_expected():
    kept = student.render(for_student(reported(graded(rows=ROWS))))
    assert "macs of 60 rows of yours; 12 wrong, first &#39;conv5&#39;" in kept
    assert "60 values of yours" in kept
    assert "12,777" not in kept
    assert 'class="key expected-key"' not in kept
    shown = student.render(for_student(reported(graded(rows=ROWS, revealed=True))))
    assert "12,777" in shown
    hidden = student.render(for_student(reported(graded(rows=ROWS, plot=RUNS, hidden=True))))
    assert "<svg" not in hidden


def test_what_waits_for_a_person_draws_no_bars():
    few = replace(graded(rows=ROWS), verdict=incorrect("few", digits="2 of 4"))
    assert "<svg" not in student.render(for_student(reported(few)))


def test_of_a_number_with_few_digits_the_tool_is_told_that_gives_it():
    tool = "T gives this number. It adds biases."
    found = incorrect("few", digits="2 of 4", of_tool=tool, got="1.5")
    few = replace(graded(rows=ROWS), verdict=replace(found, hint="T gives this number. It adds 3 biases."))
    page = student.render(for_student(reported(few)))
    assert f"{tool} Besides, print more digits" in page
    assert "3 biases" not in page


def test_a_class_is_drawn_with_all_points_the_spread_of_tasks_and_mistakes():
    wrong = replace(graded(plot=RUNS), verdict=incorrect("wrong", hint="These are FLOPs."))
    report = reported(wrong, who=("ann", "bob"))
    page = classroom.render(report)
    assert "6 points of the picture" in page
    assert "ann r1" in page
    assert "how many earned which share of each task" in page
    assert "how many made each of 1 mistakes" in page
    assert [name for name, _ in class_pictures.all_pictures(report)] == [
        "How the points are spread",
        "Common mistakes",
        "1-1-task: check",
    ]


def test_a_task_has_a_page_of_a_hand_in_or_of_the_class():
    one = class_pictures.page_of(reported(graded(plot=ROOFS)), "1-1-task")
    assert "1-1-task: ann" in one
    assert one.count("<svg") == 1
    assert class_pictures.page_of(reported(graded(plot=ROOFS), who=("ann", "bob")), "1-1-task").count("<svg") == 2
    right = replace(graded(), verdict=correct())
    assert "Nothing of this task is drawn" in class_pictures.page_of(reported(right), "1-1-task")


def test_points_above_a_roof_are_those_that_no_machine_attains():
    assert planes.above_roof(ROOFS, planes.points_of(ROOFS)) == [1]
    assert planes.above_roof(RUNS, planes.points_of(RUNS)) == []
