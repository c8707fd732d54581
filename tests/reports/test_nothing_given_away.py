"""What students see of wrong answers says nothing more of the expected value, however often they hand in.

Two courses are the same but for what they expect, of each value another one between the same powers of two. Whoever can
tell them apart by anything but a right answer learns more than docs/security.md says that an answer teaches.
"""

from __future__ import annotations

import io
import random
import re
from contextlib import ExitStack
from dataclasses import replace

import pytest
import yaml
from helpers.handed_in import read
from markupsafe import escape
from rich.console import Console

from labgrade.answers.reader.reader import Reader
from labgrade.collect import returned
from labgrade.commands.export import FORMATS
from labgrade.core import student_view
from labgrade.core.results import Report
from labgrade.reports import student_terminal, terminal
from labgrade.reports.html import charts
from labgrade.reports.plain_page import Page
from labgrade.run.grader import Grader
from labgrade.run.student_memory import since_last
from labgrade.spec import course, load
from labgrade.truth.oracle import Oracle

pytestmark = pytest.mark.slow

TASK = """
id: task
title: A task
points: 9
statement: How large?
answers:
  total: {type: count, from: [{entry: total}]}
  size: {type: bytes, from: [{entry: size}]}
  share: {type: number, from: [{entry: share}]}
  loss: {type: number, from: [{entry: loss}]}
  around: {type: number, from: [{entry: around}]}
  shape: {type: shape, from: [{entry: shape}]}
  kinds: {type: histogram, from: [{entry: kinds}]}
  rows: {type: {table: {row: layer, columns: {macs: count, out: shape}}}, from: [{entry: rows}]}
checks:
  - {id: total, points: 1, answer: total, checker: equal, expected: TOTAL}
  - {id: size, points: 1, answer: size, checker: equal, expected: TOTAL}
  - {id: share, points: 1, answer: share, checker: close, expected: SHARE}
  - {id: loss, points: 1, answer: loss, checker: {close: {rtol: 0.001}}, expected: SHARE}
  - {id: around, points: 1, answer: around, checker: {between: {low: LOW, high: HIGH}}}
  - {id: shape, points: 1, answer: shape, checker: equal, expected: {literal: [1, FEW, MANY]}}
  - {id: kinds, points: 1, answer: kinds, checker: equal, expected: {literal: {Conv: TOTAL, Relu: MANY}}}
  - {id: rows, points: 1, answer: rows, checker: same_rows,
     expected: {literal: [{layer: a, macs: TOTAL, out: [1, FEW]}, {layer: b, macs: MANY, out: [1, MANY]}]}}
  - {id: once-more, points: 1, answer: total, checker: equal, expected: TOTAL, needs: [size]}
"""
ONE = {"TOTAL": 410_592, "MANY": 65_536 + 17, "FEW": 19, "SHARE": 70_001.25, "LOW": 36_000.5, "HIGH": 36_001.5}
OTHER = {"TOTAL": 301_111, "MANY": 120_123, "FEW": 27, "SHARE": 129_998.5, "LOW": 60_000.5, "HIGH": 60_001.5}
HAND_INS = 200
NUMBERS = ("total", "size", "share", "loss", "around")


def filled(values):
    return re.sub("|".join(values), lambda name: str(values[name[0]]), TASK)


@pytest.fixture(scope="module")
def courses(tmp_path_factory):
    """What each of the two courses shows of a hand-in, by the output's name."""
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patched:
        patched.setattr(charts, "compared", undrawn)
        yield [shower(tmp_path_factory.mktemp("course"), values, stack) for values in (ONE, OTHER)]


def undrawn(rows, **more):
    """A chart follows from what it is given (`test_pages.py`), so that this stands for it."""
    return escape(f"{[*rows]} {sorted(more.items())}")


def shower(root, values, stack):
    (root / "specs/lab").mkdir(parents=True)
    (root / "specs/lab/task.yaml").write_text(filled(values))
    found = course.find(root)
    task = load.read(root / "specs/lab/task.yaml", found)
    oracle = Oracle(found.quantities, root / "cache")
    grader = stack.enter_context(Grader(found, reader=Reader(None), oracle=oracle))  # what is read is our own
    known = {}

    def shown(answers):
        text = yaml.safe_dump(answers)
        if text not in known:
            work = root / f"work{len(known)}"
            work.mkdir()
            (work / "answers.yaml").write_text(text)
            graded = timeless(grader.grade([task], read(work, "me")))
            known[text] = outputs(Report(submissions=(graded,)), root)
        return known[text]

    return shown


def timeless(submission):
    tasks = [
        replace(task, checks=tuple(replace(check, seconds=0.0, basis="") for check in task.checks))
        for task in submission.tasks
    ]
    return replace(submission, tasks=tuple(tasks), handed_in="", handed_in_by="")


def outputs(report, folder):
    shown = student_view.for_student(report)
    found = {name: form.render(shown) for name, form in FORMATS.items() if name not in ("class", "gradescope")}
    found["gradescope"] = FORMATS["gradescope"].render(report)  # by staff's report, as its autograder is
    for name, render in (("terminal", in_a_terminal), ("check", own_check)):
        console = Console(file=io.StringIO(), width=80, highlight=False, no_color=True)
        render(shown, console)
        found[name] = console.file.getvalue()
    # By git, and what the own check says of the run before: the two courses see the same hand-ins, in the same order.
    found["returned"] = undated("\n".join(text.decode() for text in returned.files(report).values()))
    found["since"] = "\n".join(since_last(folder, shown, compare=True))
    found["watch"] = in_a_watch(shown)
    found["html"] = undated(found["html"])
    found["junit"] = re.sub(r'timestamp="[^"]*"', "", found["junit"])
    return found


def undated(page):
    return re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d[^ <]*", "", page)


def in_a_watch(shown):
    """What `labgrade watch` prints of each check."""
    console = Console(file=io.StringIO(), width=80, highlight=False, no_color=True)
    page, said = Page(console), set()
    for task in shown.submissions[0].tasks:
        for check in task.checks:
            terminal.check_lines(page, check, staff=False, said=said)
    return console.file.getvalue()


def in_a_terminal(report, console):
    terminal.render(report, console=console, staff=False)


def own_check(report, console):
    student_terminal.render(report, console=console)


def answers(number):
    """A hand-in that says the same number wherever one is asked for."""
    whole = int(number)
    return dict.fromkeys(NUMBERS, number) | {
        "shape": [1, whole % 1000, whole],
        "kinds": {"Conv": whole, "Relu": whole},
        "rows": [{"layer": "a", "macs": whole, "out": [1, whole]}, {"layer": "b", "macs": whole, "out": [2, whole]}],
    }


def right(values):
    return {*values.values()} | {number for value in values.values() for number in (int(value), -value)}


def guesses():
    """What somebody tries who seeks the value: powers, simple multiples, neighbours, parts, and at random."""
    drawn = random.Random(7)  # noqa: S311
    near = [value + step for value in (*ONE.values(), *OTHER.values()) for step in (-2, -1, 1, 2)]
    scaled = [value * by for value in (ONE["TOTAL"], OTHER["TOTAL"]) for by in (2, 10, 1000, 1024, 0.5, 0.9, 1.1, -1)]
    powers = [sign * base**power for sign in (1, -1) for base in (2, 10) for power in range(0, 31, 3)]
    found = [0, *near, *scaled, *powers, *(round(2 ** drawn.uniform(0, 32)) for _ in range(HAND_INS))]
    few = [
        f"{sign}{digits}e{power}"
        for sign in ("", "-")
        for digits in ("4", "41", "4.1", "3.0", "30")
        for power in (3, 5)
    ]
    known = right(ONE) | right(OTHER)
    return [each for each in dict.fromkeys(found) if each not in known][: HAND_INS - len(few)] + few


def test_no_output_tells_two_expected_values_apart_by_200_wrong_answers(courses):
    one, other = courses
    differ, compared, before = [], 0, ""
    for number in guesses():
        few = isinstance(number, str)
        given = dict.fromkeys(NUMBERS, number) if few else answers(number)
        shown = [one(given), other(given)]
        if any('"outcome": "CORRECT"' in each["json"] for each in shown):
            before = "since"  # a tolerance allows it, and the next run tells that it was so
            continue
        compared += 1
        differ += [(number, name) for name in shown[0] if shown[0][name] != shown[1][name] and name != before]
        before = ""
    assert differ == []
    assert compared > HAND_INS * 0.9


@pytest.mark.parametrize(
    "output",
    ["terminal", "check", "watch", "html", "json", "gradescope", "junit", "markdown", "github", "csv", "returned"],
)
def test_who_bisects_over_200_hand_ins_ends_where_nothing_depends_on_the_value(courses, output):
    """Somebody halves wherever what is said differs at the two ends, and finds the same places in both courses."""
    one, other = ([*places(lambda number, shown=shown: shown({"total": number})[output])] for shown in courses)
    assert one == other
    assert one or output == "csv"  # something is said, of sizes
    assert all(high & (high - 1) == 0 for _, high in one)  # powers of two


def places(said):
    """Between which neighbours what is said of a number becomes something else, as far as 200 hand-ins go."""
    left, open_ones = HAND_INS - 2, [(1, 2**40)]
    while open_ones and left:
        low, high = open_ones.pop()
        if high - low == 1:
            yield low, high
            continue
        left -= 1
        middle = (low + high) // 2
        ends = [(low, middle), (middle, high)]
        open_ones += [each for each in ends if bare(said(each[0])) != bare(said(each[1]))]


def bare(text):
    """The text without its numbers, the one that was handed in among them, and without how lines are broken."""
    return " ".join(re.sub(r"\d[\d,.]*", "#", text).replace("│", "").split())


def test_the_right_answer_is_told(courses):
    """So that the others see something."""
    assert '"outcome": "CORRECT"' in courses[0](answers(ONE["TOTAL"]))["json"]
    assert '"outcome": "CORRECT"' not in courses[0](answers(OTHER["TOTAL"]))["json"]
