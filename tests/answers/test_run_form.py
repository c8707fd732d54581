"""A task that is answered by programs, from its spec to its verdicts."""

import pytest
from helpers.handed_in import read

from labgrade.run.grader import Grader
from labgrade.sandbox.runner import Runner
from labgrade.spec import course, load
from labgrade.verdict import Outcome

pytestmark = pytest.mark.slow

TASK = """
id: task
title: A task
points: 10
statement: How many parameters does the model in models/model.pth have?
subject: {model: micro/dilated, input: [1, 3, 16, 16]}
limits: {seconds: 20}
answers:
  total:
    type: count
    from:
      - {run: {command: python hw.py -v, folder: hw1, provide: {models/model.pth: subject.pth}}, after: Total}
  written:
    type: {table: {row: name, columns: {size: count}}}
    from:
      - {run: {command: python hw.py -v, folder: hw1, provide: {models/model.pth: subject.pth}}, file: sizes.csv}
  beside:
    type: text
    from:
      - {run: {command: python words.py, provide: {given.txt: ./given.txt}}, after: Said}
checks:
  - {id: total, points: 2, answer: total, checker: equal, expected: {quantity: parameters}}
  - {id: rows, points: 2, answer: written, checker: same_rows, expected: {quantity: sizes}}
  - id: others
    points: 4
    hidden: true
    answer: total
    checker: equal
    expected: {quantity: parameters}
    cases: [{model: micro/uneven_kernel}, {model: micro/same_padding}]
  - {id: words, points: 2, answer: beside, checker: equal, expected: hello}
"""
REFERENCE = """
def sizes(subject):
    '''Sizes.'''
    model, _ = subject.on_meta()
    return [{"name": name, "size": p.numel()} for name, p in model.named_parameters()]
"""
HW = """
import sys, torch
from helper import total
assert sys.argv[1:] == ["-v"]
state = torch.load("models/model.pth")
with open("sizes.csv", "w") as file:
    print("name,size", file=file)
    for name, value in state.items():
        print(f"{name},{value.numel()}", file=file)
with open("../runs.txt", "a") as file:
    file.write("run")
print("careful", file=sys.stderr)
print("Total:", total(state))
"""
HELPER = "def total(state):\n    return sum(value.numel() for value in state.values())\n"


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What is expected and provided is made once for all."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def grade(tmp_path, monkeypatch, cache):
    monkeypatch.setenv("LABGRADE_CACHE", str(cache))
    files = {
        "specs/lab/task.yaml": TASK,
        "specs/lab/given.txt": "hello",
        "reference/own.py": REFERENCE,
        "work/hw1/hw.py": HW,
        "work/hw1/helper.py": HELPER,
        "work/words.py": "print('Said:', open('given.txt').read())\n",
    }

    def graded(**changes):
        for path, text in {**files, **{f"work/hw1/{name}.py": text for name, text in changes.items()}}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        found = course.find(tmp_path)
        task = load.read(tmp_path / "specs/lab/task.yaml", found)
        runs = []
        run = Runner.run_script
        monkeypatch.setattr(Runner, "run_script", lambda self, request: runs.append(request) or run(self, request))
        with Grader(found) as grader:
            (report,) = grader.grade([task], read(tmp_path / "work", "work")).tasks
        return {check.id: check for check in report.checks}, runs

    return graded


def test_one_run_for_each_subject_serves_every_answer(grade, tmp_path):
    checks, runs = grade()
    assert {name: str(check.verdict.outcome) for name, check in checks.items()} == {
        "total": "CORRECT",
        "rows": "CORRECT",
        "others[uneven_kernel]": "CORRECT",
        "others[same_padding]": "CORRECT",
        "words": "CORRECT",
    }
    assert [request.file for request in runs] == ["hw.py", "hw.py", "hw.py", "words.py"]
    assert checks["total"].answer_from == "python hw.py -v: stdout:1"
    assert checks["rows"].answer_from == "python hw.py -v: sizes.csv:1"
    assert sorted(path.name for path in (tmp_path / "work").rglob("*")) == ["helper.py", "hw.py", "hw1", "words.py"]


def test_an_answer_that_is_always_the_same_is_found_out(grade):
    checks, _ = grade(helper="def total(state):\n    return 3_284\n")
    assert checks["others[uneven_kernel]"].verdict.outcome is Outcome.INCORRECT


def test_a_crash_is_said_with_its_own_line_and_costs_only_what_came_after(grade):
    checks, _ = grade(helper="def total(state):\n    return state['none']\n")
    verdict = checks["total"].verdict
    assert verdict.outcome is Outcome.CRASHED
    assert verdict.reason == "hw1/helper.py:2 in total: `return state['none']` raised KeyError: 'none'"
    assert verdict.facts["stderr"].startswith("careful\nTraceback")
    assert checks["rows"].verdict.outcome is Outcome.CORRECT
    assert checks["rows"].verdict.notes == (f"hw.py did not end well: {verdict.reason}",)
    assert checks["words"].verdict.outcome is Outcome.CORRECT
