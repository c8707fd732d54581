"""What grading keeps for the person who looks later: the text, the rubric, a digest, the verdict that would count."""

from __future__ import annotations

from fractions import Fraction

import pytest

from labgrade.core import serialise
from labgrade.core.results import Submission
from labgrade.run.grader import Grader, TaskGrading
from labgrade.spec import course, load
from labgrade.verdict import Outcome

pytestmark = pytest.mark.slow

TASK = """
id: task
title: A task
points: 10
statement: How large is it?
answers:
  total:
    type: count
    from: [{after: Total, report: under 1-1}]
  essay:
    type: text
    from: [{report: under 1-2}]
checks:
  - {id: total, points: 2, answer: total, checker: equal, expected: 57}
  - {id: essay, points: 4, answer: essay, by_hand: [{points: 3, for: names it}, {points: 1, for: a number}]}
  - {id: after-essay, points: 1, answer: total, checker: equal, expected: 57, needs: [essay]}
  - {id: last, points: 1, answer: total, checker: equal, expected: 58, needs: [after-essay]}
  - {id: after-total, points: 2, answer: essay, by_hand: [{points: 2, for: more}], needs: [total]}
"""
REPORT = "## 1-1\n\nTotal: {total}\n\n## 1-2\n\n{essay}\n"


@pytest.fixture
def graded(tmp_path, monkeypatch):
    (tmp_path / "specs/lab").mkdir(parents=True)
    (tmp_path / "specs/lab/task.yaml").write_text(TASK)
    (tmp_path / "specs/lab/lab.yaml").write_text("title: Lab\n")
    found = course.find(tmp_path)
    task = load.read(tmp_path / "specs/lab/task.yaml", found)
    count = iter(range(100))

    def grade(total="57", essay="It is memory.\n\n- first\n- second", more=None, **options):
        folder = tmp_path / f"work{next(count)}"
        folder.mkdir()
        files = {"report.md": REPORT.format(total=total, essay=essay), **(more or {})}
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        who = Submission(name="ann", folder=folder, files=tuple(sorted(files)))
        with Grader(found) as grader:
            report = TaskGrading(grader, task, who, **options).report()
        return {check.id: check for check in report.checks}

    return grade


def test_a_check_that_is_marked_by_hand_keeps_its_text_and_rubric(graded):
    essay = graded()["essay"]
    assert essay.verdict.outcome is Outcome.MANUAL
    assert essay.to_mark.rubric == ((Fraction(3), "names it"), (Fraction(1), "a number"))
    assert essay.to_mark.text == "It is memory.\n\n- first\n- second"
    assert essay.answer_from.startswith("report.md:")
    assert serialise.from_plain(serialise.plain(essay)) == essay


def test_a_text_that_is_not_there_is_not_marked(graded):
    essay = graded(essay="")["essay"]
    assert essay.verdict.outcome is Outcome.MISSING
    assert essay.to_mark is None


def test_an_ambiguous_answer_shows_where_it_stands(graded):
    total = graded(total="57\nTotal: 58")["total"]
    assert total.verdict.outcome is Outcome.MANUAL
    assert total.to_mark.rubric == ()
    assert total.to_mark.text == "[report.md:3]\nTotal: 57\nTotal: 58"
    assert graded()["total"].to_mark is None


def test_the_digest_is_of_the_text_where_there_is_one_and_else_of_all_files(graded):
    first, spaced, other = (
        graded(),
        graded(essay="It  is memory.\n- first\n\n- second "),
        graded(essay="It is compute."),
    )
    assert first["essay"].basis == spaced["essay"].basis != other["essay"].basis
    assert first["essay"].basis.startswith("text:")
    assert first["total"].basis.startswith("files:")
    assert first["total"].basis == graded()["total"].basis
    assert first["total"].basis != other["total"].basis
    more = graded(more={"extra.py": "pass"})
    assert (more["essay"].basis, more["total"].basis != first["total"].basis) == (first["essay"].basis, True)
    assert graded(essay="")["essay"].basis.startswith("files:")


def test_what_waits_for_another_check_is_judged_meanwhile(graded):
    found = graded()
    after = found["after-essay"]
    assert (after.verdict.outcome, after.once_met.outcome, after.needs) == (
        Outcome.MANUAL,
        Outcome.CORRECT,
        ("essay",),
    )
    assert found["last"].once_met.outcome is Outcome.INCORRECT
    assert found["after-total"].once_met is None
    assert serialise.from_plain(serialise.plain(after)) == after


def test_what_a_person_settled_opens_and_closes_what_needs_it(graded):
    full = graded(decided=lambda check: Fraction(1) if check.id == "essay" else None)
    assert full["essay"].verdict.outcome is Outcome.MANUAL  # the machine's own verdict stays what it was
    assert (full["after-essay"].verdict.outcome, full["after-essay"].once_met) == (Outcome.CORRECT, None)
    half = graded(decided=lambda check: Fraction(1, 2) if check.id == "essay" else None)
    assert half["after-essay"].verdict.outcome is Outcome.SKIPPED
    lowered = graded(decided=lambda check: Fraction(1, 2) if check.id == "total" else None)
    assert lowered["after-total"].verdict.outcome is Outcome.MANUAL  # it was right, so what needs it stays open
    raised = graded(total="56", decided=lambda check: Fraction(1) if check.id == "total" else None)
    assert raised["after-total"].verdict.outcome is Outcome.MANUAL
    assert graded(total="56")["after-total"].verdict.outcome is Outcome.SKIPPED


@pytest.mark.parametrize(
    ("essay", "shown"),
    [
        ("https://code.example/kws", "https://code.example/kws"),
        ("![roofline](plot.png)", "![roofline](plot.png)"),
        ("<https://code.example/kws>", "<https://code.example/kws>"),
        ("![p][img]\n\n[img]: plot.png", "![p][img]\n\n[img]: plot.png"),
        ("As in https://code.example/ann and shown there.", "As in https://code.example/ann and shown there."),
        (
            "See [mine](https://code.example/ann)\n\n~~old~~ and text",
            "See [mine](https://code.example/ann)\n\n        and text",
        ),
        ("| what | where |\n|---|---|\n| runs | [a](https://b.example/c) |", "| [a](https://b.example/c) |"),
        ("It &times; https://b.example/c <!-- no -->", "It \N{MULTIPLICATION SIGN} https://b.example/c"),
    ],
)
def test_a_person_sees_addresses_and_pictures(graded, essay, shown):
    found = graded(essay=essay)["essay"]
    assert found.verdict.outcome is Outcome.MANUAL
    assert shown in found.to_mark.text


@pytest.mark.parametrize("essay", ["<!-- https://code.example/kws -->", "~~https://code.example/kws~~", "<s>a</s>"])
def test_what_no_reader_sees_is_still_nothing(graded, essay):
    assert graded(essay=essay)["essay"].verdict.outcome is Outcome.MISSING


def test_texts_with_other_addresses_differ_and_no_value_is_read_in_one(graded):
    ann, bob = (graded(essay=f"As in https://code.example/{name}/57 there.") for name in ("ann", "bob"))
    assert ann["essay"].basis != bob["essay"].basis
    assert graded(total="https://code.example/57")["total"].verdict.outcome is not Outcome.CORRECT
