"""What becomes a plot of an answer, and what does not."""

from fractions import Fraction

import numpy as np
import pytest

from labgrade.core import serialise
from labgrade.core.results import Graded, Plot, Report, SubmissionReport, TaskReport
from labgrade.core.student_view import for_student
from labgrade.core.task import Picture, QuantityCall
from labgrade.judging import plots
from labgrade.reports import json
from labgrade.values import Number, Row, Table
from labgrade.verdict import ComparedRow, Outcome, Verdict, correct, incorrect

PLANE = Picture(x="n", y="gflops", peak=500, slopes=(("memory", 33.3),))


def table(*rows):
    return Table(
        rows=tuple(
            Row(
                name=name,
                cells={"n": Number(value=Fraction(n)), "gflops": None if y is None else Number(value=Fraction(y))},
            )
            for name, n, y in rows
        )
    )


def test_two_columns_are_points_and_what_has_no_number_is_none():
    found = plots.of_value(PLANE, table(("a", 64, 4), ("b", 128, None), ("c\udcff", 256, 60)))
    assert (found.names, found.xs, found.ys) == (("a", "c\\xff"), (64.0, 256.0), (4.0, 60.0))
    assert (found.peak, found.slopes, found.measured) == (500, (("memory", 33.3),), False)
    assert plots.of_value(PLANE, table(("b", 128, None))) is None
    assert plots.of_value(PLANE, "text") is None
    assert plots.of_value(PLANE, table(("huge", 10**400, 1))) is None


@pytest.mark.parametrize(
    ("plain", "points"),
    [
        ({"n": 3, "gflops": 0.5, "says": "x"}, [("x", 3, 0.5)]),
        ([{"kernel": "a", "n": 3, "gflops": 1.0}, {"n": float("nan"), "gflops": 1}, 7], [("a", 3, 1.0)]),
        ({"n": True, "gflops": 1}, []),
        (7, []),
    ],
)
def test_what_a_quantity_says_of_a_file_is_points_too(plain, points):
    found = plots.of_measured(Picture(x="n", y="gflops", measured=QuantityCall(quantity="q")), plain)
    assert list(zip(found.names, found.xs, found.ys, strict=True) if found else ()) == points
    assert found is None or found.measured


@pytest.mark.parametrize(
    ("step", "values", "xs", "ys"),
    [
        (1.0, [[-1, 0, 0, 2], [2]], [-1, 0, 1, 2], [1, 2, 0, 2]),
        (0.5, [[0.5, 1.0, 1.0]], [0.5, 1.0], [1, 2]),
        (1.0, [[0, 640]], None, None),
    ],
)
def test_numbers_lie_in_bins_of_the_grid(step, values, xs, ys):
    found = plots.of_value(Picture(step=step), {f"l{at}": np.array(each) for at, each in enumerate(values)})
    if xs is not None:
        assert (list(found.xs), list(found.ys)) == (xs, ys)
    assert sum(found.ys) == sum(map(len, values))
    assert len(found.xs) <= 66
    assert np.allclose(np.diff(found.xs) % step, 0)


@pytest.mark.parametrize("value", [{"a": np.array([np.nan, np.inf])}, {}, "text", {"a": np.array(["x"])}])
def test_without_numbers_there_is_no_histogram(value):
    assert plots.of_value(Picture(step=0.0), value) is None


def reported(verdict, **more):
    check = Graded(id="c", points=Fraction(1), earned=Fraction(0), verdict=verdict, **more)
    task = TaskReport(lab="l", id="t", title="T", points=Fraction(1), checks=(check,))
    return Report(submissions=(SubmissionReport(name="s", tasks=(task,)),))


def seen(report):
    return for_student(report).submissions[0].tasks[0].checks[0]


OWN = Plot(x="n", y="gflops", names=("a",), xs=(64.0,), ys=(4.0,))
ROWS = (
    ComparedRow(name="a", got=3, expected=4, right=False, column="n", got_text="3", expected_text="4"),
    ComparedRow(name="b", got=None, expected=77, right=False, column="n", expected_text="77"),
)


def test_a_student_sees_their_own_points_and_what_is_measured_only_where_it_is_revealed():
    kept = Plot(x="n", y="accuracy", names=("",), xs=(64.0,), ys=(0.93,), measured=True)
    assert seen(reported(correct(), plot=OWN)).plot == OWN
    assert seen(reported(correct(), plot=kept)).plot is None
    assert seen(reported(correct(), plot=kept, revealed=True)).plot == kept


def test_a_student_sees_nothing_that_is_expected_and_nothing_of_what_waits():
    (row,) = seen(reported(incorrect("wrong"), rows=ROWS)).rows
    assert (row.name, row.got_text, row.right, row.expected, row.expected_text) == ("a", "3", False, None, "")
    waits = Verdict(outcome=Outcome.MANUAL, credit=Fraction(0), reason="waits")
    assert seen(reported(waits, rows=ROWS)).rows == ()
    few = incorrect("few digits", digits="2 of 4")
    assert seen(reported(few, rows=ROWS)).rows == ()
    assert "77" not in json.render(for_student(reported(incorrect("wrong"), rows=ROWS)))


def test_a_plot_is_kept_and_reported():
    report = reported(correct(), plot=PLANE_PLOT)
    check = report.submissions[0].tasks[0].checks[0]
    assert serialise.from_plain(serialise.plain(check)).plot == PLANE_PLOT
    read = json.read(json.render(report), "x")
    assert read.submissions[0].tasks[0].checks[0].plot == PLANE_PLOT


PLANE_PLOT = Plot(x="n", y="g", names=("a",), xs=(1.0,), ys=(2.0,), peak=5.0, slopes=(("memory", 3.5),))
