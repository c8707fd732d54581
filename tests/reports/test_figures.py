"""What a class tells about its checks: against figures that were worked out by hand, and against numpy."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from labgrade.core.results import Report, SubmissionReport
from labgrade.reports import figures
from labgrade.verdict import ComparedRow, Outcome, correct, incorrect, partial, without_value
from tests.reports.sample import graded, task


def class_of(*rows):
    """One submission a row of verdicts; each check is worth one point."""
    return Report(
        submissions=tuple(
            SubmissionReport(
                name=f"s{number}",
                tasks=(task("t", "T", *(graded(f"c{place}", 1, verdict) for place, verdict in enumerate(row))),),
            )
            for number, row in enumerate(rows)
        )
    )


def shares(*rows):
    return class_of(*([partial(Fraction(share), "") for share in row] for row in rows))


def test_pass_rates_leave_out_what_waits():
    report = class_of([correct()], [incorrect("x")], [without_value(Outcome.MANUAL, "")], [partial(Fraction(1, 2), "")])
    (found,) = figures.check_figures(report)
    assert (found.settled, found.right, found.credit) == (3, pytest.approx(1 / 3), pytest.approx(0.5))
    assert found.item_rest is None
    assert found.upper_lower is None


def test_what_lies_there_in_place_of_what_is_missing_is_the_cause_of_no_points():
    named = replace(without_value(Outcome.MISSING, "no answer was found"), suggestions=("name it 'out.txt'",))
    absent = replace(without_value(Outcome.MISSING, "nothing was handed in"), looked_for=("out.txt",))
    empty = without_value(Outcome.MISSING, "the folder is empty")
    found = figures.without_points(class_of([absent, absent, named], [absent, absent], [empty]))
    looking = "nothing was handed in of what is looked for: see what else lies in the folder"
    assert [each.what for each in found] == ["name it 'out.txt'", looking, "the folder is empty"]


def test_item_rest_is_the_correlation_with_all_other_checks():
    random = np.random.default_rng(7)
    table = random.integers(0, 2, (40, 5))
    table[:, 1] = table[:, 0]
    found = figures.check_figures(shares(*table.tolist()))
    for place, each in enumerate(found):
        rest = np.delete(table, place, axis=1).sum(axis=1)
        assert each.item_rest == pytest.approx(np.corrcoef(table[:, place], rest)[0, 1])


def test_upper_and_lower_are_27_percent():
    # 11 submissions: 27 % are 3. The best three have it, of the worst three one has.
    has = [1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1]
    assert figures.upper_lower([float(one) for one in has], list(map(float, range(11)))) == pytest.approx(1 - 1 / 3)
    assert figures.upper_lower([1.0] * 9, [1.0] * 9) is None


def test_a_check_that_the_better_fail_is_doubtful():
    rows = [[place % 2, place % 2, place % 2, 1 - place % 2] for place in range(20)]
    found = figures.check_figures(shares(*rows))
    assert [figures.discriminates_badly(each) for each in found] == [False, False, False, True]


def test_what_all_have_separates_nothing():
    (_, second) = figures.check_figures(shares(*([place % 2, 1] for place in range(12))))
    assert second.item_rest is None


def test_misconceptions_are_counted_once_a_submission_and_cases_together():
    hint = incorrect("wrong", hint="count the bias")
    report = class_of([hint, hint], [hint, correct()], [without_value(Outcome.MISSING, "", hint="look"), correct()])
    found = figures.misconceptions(report)
    assert [(each.place[2], each.what, each.names) for each in found] == [
        ("c0", "count the bias", ("s0", "s1")),
        ("c1", "count the bias", ("s0",)),
    ]


def test_the_same_rare_wrong_value_is_named_and_what_many_have_is_not():
    rare, common, short = (incorrect("wrong", got=got) for got in ("1,234,567", "7,654,321", "57"))
    rows = [[rare, short], [rare, short], *([common, correct()] for _ in range(8)), [correct(), correct()]]
    found = figures.same_values(class_of(*rows))
    assert [(each.what, each.names) for each in found] == [("1,234,567", ("s0", "s1"))]


def test_a_known_mistake_is_no_sign_of_anything():
    known = incorrect("wrong", got="1,234,567", hint="you counted the bias")
    assert figures.same_values(class_of([known], [known])) == []


def test_tables_with_the_same_wrong_cells_are_found():
    def table(got):
        row = ComparedRow(name="conv1", got=float(got), expected=1.0, right=False, got_text=f"{got:,}")
        return replace(graded("rows", 1, incorrect("1 of 2 rows are right")), rows=(row,))

    submissions = [
        SubmissionReport(name=name, tasks=(task("t", "T", table(got)),))
        for name, got in (("a", 12345), ("b", 12345), ("c", 54321))
    ]
    (found,) = figures.same_values(Report(submissions=tuple(submissions)))
    assert (found.names, found.what) == (("a", "b"), "1 wrong cells: conv1 12,345")
