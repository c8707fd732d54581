"""What whoever checks their own work sees: what costs most first, one cause once, and no more than a screen."""

import io
from dataclasses import replace
from fractions import Fraction

import pytest
from rich.console import Console

from labgrade.core.results import Report, SubmissionReport
from labgrade.reports import student_terminal
from labgrade.verdict import Outcome, correct, incorrect, partial, without_value
from tests.reports.sample import graded, task

SYNTAX = without_value(Outcome.CRASHED, "hw2_1.py:86: `def (:` raised SyntaxError: invalid syntax")
NOTHING = replace(without_value(Outcome.MISSING, "nothing was handed in"), looked_for=("'f' in a.py", "report.md"))
SIZES = "Sizes go wrong at the first max-pool, which rounds up (ceil_mode=True) where you round down."


def shown(*tasks, width=80, **more):
    file = io.StringIO()
    report = Report(submissions=(SubmissionReport(name="ann", tasks=tasks, **more),))
    student_terminal.render(report, console=Console(file=file, width=width, highlight=False))
    return file.getvalue()


def wrong(hint=""):
    return partial(Fraction(1, 2), "got 1,356,857,600, which is 9.4 % less than expected, " * 2, hint=hint)


def twenty():
    """What a student sees who did four tasks of twenty, one of them wrong in many ways."""
    hard = task(
        "2-1-4", "M", *(graded(f"c{n}", n, wrong(SIZES)) for n in range(9)), graded("x", 5, wrong(), bonus=True)
    )
    good = [task(f"2-1-{n}", f"Right {n}", graded("a", 8, correct()), graded("b", 8, correct())) for n in range(3)]
    return (
        hard,
        *good,
        *(task(f"2-{part}-{n}", "T", graded("a", 3, NOTHING)) for part in (2, 3, 4, 5) for n in range(4)),
    )


def test_a_screen_is_enough_and_the_rest_is_one_option_away():
    said = shown(*twenty())
    assert len(said.splitlines()) <= 40
    assert "  - 2-3  missing: nothing of 4 tasks                                      0 / 12\n" in said
    assert "  ✓ 2-1-0  Right 0                                                       16 / 16\n" in said
    assert "more: --all, or --task 2-2, says all of it\n" in said
    assert said.count("hint:") == 1


def test_a_cause_is_told_once_with_the_points_that_depend_on_it():
    searched = replace(SYNTAX, reason=f"on the smallest network found: {SYNTAX.reason}", lines=("import torch",))
    one = task("1-1", "A", graded("a", 40, SYNTAX), graded("any", 0, searched, bonus=True))
    said = shown(one, task("1-2", "B", graded("a", 30, SYNTAX), graded("b", 6, SYNTAX)), task("1-3", "C"))
    assert (
        """
  ! CRASHED    76 points depend on it
      │ hw2_1.py:86: `def (:` raised SyntaxError: invalid syntax
      in: 1-1, 1-2
"""
        in said
    )
    assert said.count("SyntaxError") == 1
    assert "import torch" not in said


def test_what_costs_most_comes_first_and_a_bonus_last():
    cheap = task("1-1", "A", graded("a", 2, incorrect("cheap")), graded("more", 50, incorrect("bonus"), bonus=True))
    said = shown(cheap, task("1-2", "B", graded("a", 9, incorrect("dear"))))
    assert said.index("dear") < said.index("cheap") < said.index("bonus")


def test_other_functions_that_fail_in_their_own_way_are_told_apart():
    other = without_value(Outcome.CRASHED, "hw2_1.py:3: KeyError: 'conv1'")
    said = shown(task("1-1", "A", graded("a", 4, SYNTAX)), task("1-2", "B", graded("a", 3, other)))
    assert "SyntaxError" in said
    assert "KeyError" in said
    assert "depend" not in said


def test_of_a_task_that_is_partly_there_each_side_is_named():
    said = shown(
        task("1-1", "A", graded("good", 4, correct()), graded("gone", 3, NOTHING)),
        task("1-2", "B", graded("a", 1, without_value(Outcome.MANUAL, "wait"))),
    )
    assert "  ✓ 1-1  good                                                              4 / 4\n" in said
    assert "  - 1-1  missing: 1-1 (gone)                                               0 / 3\n" in said
    assert "waits to be marked by a person: 1-2 (a)\n" in said


def test_a_fault_is_told_and_costs_nothing():
    fault = without_value(Outcome.FAULT, "labgrade failed here, not you")
    said = shown(*(task(name, "T", graded("a", 4, fault)) for name in ("1-1", "1-2")))
    assert "FAULT      no points are lost" in said
    assert "0 to 8 / 8 points" in said


def test_of_a_single_task_all_is_told():
    said = shown(task("1-1", "A", graded("a", 5, NOTHING), graded("b", 5, correct())))
    assert "looked for 'f' in a.py; report.md" in said
    assert "do first: 1-1 a" in said


def test_the_points_that_are_not_shown_stand_behind_those_that_are():
    first = replace(task("1-1", "A", graded("a", 8, correct())), not_shown=Fraction(2))
    second = replace(task("1-2", "B", graded("a", 3, NOTHING)), not_shown=Fraction(4))
    third = replace(task("1-3", "C", graded("a", 3, incorrect("no"))), not_shown=Fraction(1))
    said = shown(first, second, third)
    assert "  ✓ 1-1  A                                                   8 / 8  +2 not shown\n" in said
    assert "  - 1-2  missing: B                                          0 / 3  +4 not shown\n" in said
    assert "+ cases that are not shown, in points: 1-3 +1\n" in said


def test_of_a_task_with_a_bonus_that_is_wrong_what_is_right_is_named():
    said = shown(
        task("1-1", "A", graded("a", 8, correct()), graded("more", 1, incorrect("no"), bonus=True)),
        task("1-2", "B", graded("a", 2, correct())),
    )
    assert "  ✓ 1-1  a " in said
    assert "  ✓ 1-2  B " in said


@pytest.mark.parametrize(
    ("checks", "first"),
    [
        ([graded("a", 2, incorrect("no")), graded("b", 9, NOTHING)], "1-1 a, worth 2 more points"),
        ([graded("a", 2, correct()), graded("b", 9, NOTHING)], "1-1 b, worth 9 more points"),
        ([graded("a", 2, correct()), graded("b", 1, incorrect("no"), bonus=True)], "1-1 b, a bonus of 1 more point"),
        ([graded("a", 2, correct())], "nothing, you are done"),
        ([graded("a", 2, without_value(Outcome.FAULT, "labgrade failed"))], "nothing, the rest waits for a person"),
    ],
)
def test_it_says_what_to_do_first(checks, first):
    assert f"\ndo first: {first}\n" in shown(task("1-1", "A", *checks), task("1-2", "B"))


def test_nobody_is_done_whose_task_could_not_be_graded():
    assert "\ndo first: nothing, no task was graded\n" in shown()


def test_lines_around_a_report_count_too():
    file = io.StringIO()
    report = Report(submissions=(SubmissionReport(name="ann", tasks=twenty()),))
    student_terminal.render(report, console=Console(file=file, width=80), others=6)
    assert len(file.getvalue().splitlines()) <= 34


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_too_long(width):
    assert max(map(len, shown(*twenty(), width=width).splitlines())) <= min(width, 100)


def test_text_of_a_student_acts_on_nothing():
    text = "\x1b[2J\n✓ CORRECT total 6 / 6"
    crashed = without_value(Outcome.CRASHED, text)
    said = shown(*(task(f"1-{n}", text, graded(text, 5, crashed), graded("x", 1, incorrect(text))) for n in range(9)))
    assert "\x1b" not in said
    assert not [line for line in said.splitlines() if line.lstrip().startswith("✓")]
