"""An entry that is one answer of a task is not taken for another."""

import pytest
from helpers import own_course

SPEC = """
id: t
title: Two
points: 2
statement: Say both.
subject: {config: {size: 3}}
answers:
  intensity: {type: number, from: [{entry: t.intensity}]}
  attained: {type: number, from: [{call: "hw.py:roof", given: [config]}, {entry: t.attained}]}
checks:
  - {id: intensity, points: 1, answer: intensity, checker: equal, expected: 4.5}
  - {id: attained, points: 1, answer: attained, checker: equal, expected: 9.25}
"""


@pytest.mark.slow
def test_what_is_not_handed_in_is_missing_though_another_entry_is_there(tmp_path):
    files = {"specs/lab/t.yaml": SPEC, "submissions/half/answers.yaml": "t.intensity: 4.5\n"}
    files |= {"submissions/half/hw.py": "def other():\n    return 1\n"}
    with own_course.grading(own_course.write(tmp_path, files)) as grade:
        found = {name.rpartition(".")[2]: each for name, each in grade("half").items()}
    assert str(found["intensity"].outcome) == "CORRECT"
    assert str(found["attained"].outcome) == "MISSING"
