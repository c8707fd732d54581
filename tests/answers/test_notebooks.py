"""Functions in a notebook, where a lab accepts them: found, called, and complained of like those of a file."""

import json

import pytest
from helpers import own_course

from labgrade.sandbox.child.notebook import cells

SPEC = """
id: heads
title: How many parameters
points: 1
statement: Write total(model).
subject: {model: torchvision/squeezenet1_1, input: [1, 3, 64, 64]}
hand_in: {code: hw.py, notebooks: accepted}
answers:
  total: {type: count, call: total(model)}
checks:
  - {id: total, points: 1, answer: total, checker: equal, expected: {quantity: parameters}}
"""
COUNT = "def total(model):\n    return sum(p.numel() for p in model.parameters())"


def notebook(*sources):
    written = [{"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": []} for source in sources]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": ["def total(model): no"]}, *written]})


HANDED_IN = {
    "right": (
        {"hw.ipynb": notebook("%matplotlib inline\nimport torch\n!pip list", COUNT, "if True:\n    %time")},
        "CORRECT",
    ),
    "only": ({"my work (1).ipynb": notebook("%%bash\nrm -rf x", f"%%time\n{COUNT}")}, "CORRECT"),
    "file": ({"hw.py": COUNT, "hw.ipynb": notebook("1/0")}, "CORRECT"),
    "wrong": ({"hw.ipynb": notebook(f"{COUNT} + 1")}, "INCORRECT"),
    "crash": ({"hw.ipynb": notebook("import torch", f"1 / 0\n{COUNT}")}, "CRASHED"),
    "later": ({"hw.ipynb": notebook("import nothing", COUNT, "total(None)", "for")}, "CORRECT"),
    "none": ({"hw.ipynb": notebook("def totals(model): pass")}, "MISSING"),
    "cut": ({"hw.ipynb": notebook(COUNT)[:60]}, "CRASHED"),
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    files = {f"submissions/{who}/{name}": text for who, (own, _) in HANDED_IN.items() for name, text in own.items()}
    folder = own_course.write(tmp_path_factory.mktemp("course"), {"specs/lab/heads.yaml": SPEC, **files})
    with own_course.grading(folder) as grade:
        return {who: grade(who)["heads.total"] for who in HANDED_IN}


@pytest.mark.slow
@pytest.mark.parametrize("who", HANDED_IN)
def test_a_notebook_is_judged_as_a_file_is(verdicts, who):
    assert str(verdicts[who].outcome) == HANDED_IN[who][1], verdicts[who]


@pytest.mark.slow
def test_what_goes_wrong_is_said_with_the_cell(verdicts):
    assert "hw.ipynb, code cell 2:1" in verdicts["crash"].reason
    assert "1 / 0" in verdicts["crash"].reason
    (note,) = verdicts["later"].notes
    assert "although a cell failed: hw.ipynb, code cell 1:1: `import nothing` raised ModuleNotFoundError" in note
    assert "it is no notebook that can be read" in verdicts["cut"].reason
    assert "did you mean 'totals'" in " ".join(verdicts["none"].suggestions)


@pytest.mark.slow
def test_without_the_word_the_student_is_told_what_to_do(tmp_path):
    files = {"specs/lab/heads.yaml": SPEC.replace(", notebooks: accepted", "")}
    own_course.write(tmp_path, {**files, "submissions/right/hw.ipynb": notebook(COUNT)})
    with own_course.grading(tmp_path) as grade:
        verdict = grade("right")["heads.total"]
    assert str(verdict.outcome) == "MISSING"
    assert "jupyter nbconvert --to script --output hw hw.ipynb" in " ".join(verdict.suggestions)


def test_magic_is_no_python_and_a_remainder_is_no_magic():
    source = "%load_ext x\n  !ls -l\nx = 7 \\\n  % 4\n%%y"
    assert cells(notebook(source).encode()) == ["pass\n  pass\nx = 7 \\\n  % 4\npass"]
    assert cells(notebook("%%writefile a.py\nx = 1", "y = 2").encode()) == ["", "y = 2"]
