"""What a report gets beside a verdict: tables beside what is expected, what code printed."""

from __future__ import annotations

import pytest
from helpers.handed_in import read

from labgrade.answers import obtain
from labgrade.core import student_view
from labgrade.core.results import Answer, NoAnswer, Report
from labgrade.run.grader import Grader
from labgrade.spec import course, load
from labgrade.truth.oracle import Oracle
from labgrade.values import Row, Table
from labgrade.verdict import Outcome, without_value

pytestmark = pytest.mark.slow

TASK = (
    """
id: task
title: A task
points: 6
statement: Which sizes?
answers:
  sizes:
    type: {table: {row: layer, columns: {macs: count}}}
    from: [{entry: task.sizes}]
checks:
  - {id: shown, points: 2, answer: sizes, checker: same_rows, reveal: true, expected: {literal: [RIGHT]}}
  - {id: kept, points: 2, answer: sizes, checker: same_rows, expected: {literal: [RIGHT]}}
  - {id: other, points: 1, answer: sizes, checker: same_rows, reveal: true, expected: {literal: [OTHER]},
     also_right: [{value: {literal: [SLIP]}, says: counted otherwise}]}
  - {id: slip, points: 1, answer: sizes, checker: same_rows, reveal: true, expected: {literal: [RIGHT]},
     misconceptions: [{value: {literal: [SLIP]}, says: counted twice, credit: 0.5}]}
""".replace("[RIGHT]", "[{layer: a, macs: 1000}, {layer: b, macs: 2000}]")
    .replace("[OTHER]", "[{layer: a, macs: 5}, {layer: b, macs: 6}]")
    .replace("[SLIP]", "[{layer: a, macs: 1000}, {layer: b, macs: 4000}]")
)


@pytest.fixture
def grade(tmp_path):
    (tmp_path / "specs/lab").mkdir(parents=True)
    (tmp_path / "specs/lab/task.yaml").write_text(TASK)
    found = course.find(tmp_path)
    task = load.read(tmp_path / "specs/lab/task.yaml", found)
    work = tmp_path / "work"
    work.mkdir()
    (work / "answers.yaml").write_text("task: {sizes: [{layer: a, macs: 1000}, {layer: b, macs: 4000}]}")

    def graded():
        with Grader(found, oracle=Oracle(found.quantities, tmp_path / "cache")) as grader:
            report = Report(submissions=(grader.grade([task], read(work, "work")),))
        return {check.id: check for check in report.submissions[0].tasks[0].checks}, report

    return graded


def beside(check):
    return [(row.name, row.got, row.expected, row.right) for row in check.rows]


def test_a_table_stands_beside_the_expected_one_where_the_spec_reveals_it(grade):
    checks, report = grade()
    assert beside(checks["shown"]) == [("a", 1000, 1000, True), ("b", 4000, 2000, False)]
    assert beside(checks["kept"]) == beside(checks["shown"])
    assert checks["kept"].verdict.rows == checks["shown"].verdict.rows == ()
    student = {check.id: check for check in student_view.for_student(report).submissions[0].tasks[0].checks}
    assert beside(student["shown"]) == beside(checks["shown"])
    assert beside(student["kept"]) == [("a", 1000, None, True), ("b", 4000, None, False)]
    assert not any(row.expected_text for row in student["kept"].rows)


def test_what_is_also_right_shows_nothing_wrong_and_a_known_mistake_shows_where(grade):
    checks, _ = grade()
    assert checks["other"].verdict.outcome is Outcome.CORRECT
    assert checks["other"].rows == ()
    assert checks["slip"].verdict.hint == "counted twice"
    assert beside(checks["slip"]) == [("a", 1000, 1000, True), ("b", 4000, 2000, False)]


@pytest.mark.parametrize("there", [True, False])
def test_what_the_code_printed_is_kept_for_every_check_of_its_answer(grade, monkeypatch, there):
    def obtained(*_):
        if there:
            return Answer(value=Table(rows=(Row(name="a", cells={}),)), origin="", printed="epoch \udcff")
        return NoAnswer(verdict=without_value(Outcome.CRASHED, "no"), printed="epoch \udcff")

    monkeypatch.setattr(obtain, "obtain", obtained)
    checks, _ = grade()
    assert {check.printed for check in checks.values()} == {"epoch \\xff"}
