"""What a person who marks by hand is shown: the text, and the student's numbers next to the right ones."""

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.handed_in import read

from labgrade.reports.summary import facts as facts_of
from labgrade.run.grader import Grader
from labgrade.spec import course, load
from labgrade.verdict import Outcome

pytestmark = pytest.mark.slow

TASK = """
id: task
title: A task
points: 2
statement: Compare.
subject: {model: micro/dilated, input: [1, 3, 16, 16]}
answers:
  text: {type: text, from: [{report: under 2}]}
  weights: {type: count, from: [{call: hw.py:total, given: [model]}, {entry: own}]}
  other: {type: count, from: [{entry: other}]}
checks:
  - id: conclusion
    points: 2
    answer: text
    by_hand: [{points: 2, for: compares}]
    beside:
      - {says: of the task, answer: weights, expected: {quantity: parameters}}
      - {says: of another, answer: weights, model: micro/uneven_kernel, expected: {quantity: parameters}}
      - {says: written down, answer: other, expected: 14336}
      - {says: broken, answer: other, expected: {quantity: breaks}}
"""
REFERENCE = "def breaks(subject) -> int:\n    '''Breaks.'''\n    raise RuntimeError('no')\n"
COMPARISON = "2-4-4-comparison"
HW = "def total(model):\n    return sum(p.numel() for p in model.parameters()) + 1\n"


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What is expected and provided is made once for all."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def grade(tmp_path, monkeypatch, cache):
    monkeypatch.setenv("LABGRADE_CACHE", str(cache))

    def graded(name="task", **files):
        specs = {"task": TASK, "essay": ESSAY, "other": OTHER}
        all_files = {f"specs/lab/{each}.yaml": text for each, text in specs.items()} | {"reference/own.py": REFERENCE}
        all_files |= {f"work/{name}": text for name, text in files.items()}
        for path, text in all_files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        found = course.find(tmp_path)
        task = load.read(tmp_path / f"specs/lab/{name}.yaml", found)
        with Grader(found) as grader:
            (report,) = grader.grade([task], read(tmp_path / "work", "work")).tasks
        return report.checks[0].verdict

    return graded


def test_numbers_stand_beside_what_is_right_each_of_its_own_subject(grade):
    verdict = grade(**{"hw.py": HW, "report.md": "# 1\nno\n# 2\nIt is so.\n"})
    assert verdict.outcome is Outcome.MANUAL
    facts = dict(facts_of(verdict))
    assert facts.pop("broken").startswith("got nothing (MISSING); expected unknown: the quantity 'breaks' failed")
    assert facts == {
        "handed in": "It is so.",
        "of the task": "got 2,383 (from hw.py:total); expected 2,382",
        "of another": "got 2,335 (from hw.py:total); expected 2,334",
        "written down": "got nothing (MISSING); expected 14,336",
    }


ESSAY = """
id: essay
title: Why
points: 2
statement: Explain.
answers:
  why: {type: text, from: [{report: under 2}]}
checks:
  - id: why
    points: 2
    answer: why
    by_hand: [{points: 2, for: explains}]
    beside: [{check: other.weights}]
"""
OTHER = """
id: other
title: Another
points: 1
statement: Count.
subject: {model: micro/dilated, input: [1, 3, 16, 16]}
answers:
  weights: {type: count, from: [{call: hw.py:total, given: [model]}]}
checks:
  - {id: weights, points: 1, answer: weights, checker: equal, expected: {quantity: parameters}}
"""


def test_a_task_without_a_subject_shows_an_answer_of_another_task(grade):
    verdict = grade("essay", **{"hw.py": HW, "report.md": "# 2\nIt is so.\n"})
    assert facts_of(verdict)["other.weights: Another"] == "got 2,383 (from hw.py:total); expected 2,382"


def test_nothing_is_shown_where_nothing_waits(grade):
    verdict = grade(**{"hw.py": HW})
    assert verdict.outcome is Outcome.MISSING
    assert "of the task" not in facts_of(verdict)


def test_numbers_are_shown_where_two_reports_differ_and_a_person_looks(grade):
    verdict = grade(**{"hw.py": HW, "report.md": "# 2\nIt is.\n", "report.txt": "# 2\nIt is not.\n"})
    assert verdict.outcome is Outcome.MANUAL
    assert facts_of(verdict)["of the task"] == "got 2,383 (from hw.py:total); expected 2,382"


@pytest.mark.parametrize(
    "task",
    [
        "2-1-2-weight-bytes",
        "2-1-4-macs",
        "2-2-2-bandwidth",
        "2-2-3-activation-memory",
        "2-4-1-weight-bytes",
        "2-4-2-activation-bytes",
        "2-4-3-macs",
    ],
)
def test_who_marks_lab_2_sees_every_number_that_its_task_takes(task):
    found = course.find(Path(__file__).parents[2])
    comparison, graded = (load.read(load.task_file(found, name), found) for name in (COMPARISON, task))
    (row,) = (row for row in comparison.checks[0].beside if row.answer == f"{task}-total")
    assert comparison.answers[row.answer].forms == graded.answers["total"].forms
    assert (row.subject or comparison.subject) == graded.subject
    assert replace(row.expected, mark=None) == replace(graded.checks[0].expected, mark=None)
