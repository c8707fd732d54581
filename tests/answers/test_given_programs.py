"""Python programs that are called with what a case says."""

import pytest
from helpers import own_course

from labgrade.authoring.check_values import programs_without_cases
from labgrade.cli import main
from labgrade.spec import course, load

SPEC = """
id: loudest
title: The loudest
points: 2
statement: Print the largest number of a file, times a factor.
subject: {config: {factor: 1}, arguments: {data: ./one.txt}}
answers:
  loudest:
    type: count
    from:
      - {run: {command: python loud.py, given: [config]}, entry: loudest}
      - {run: {build: cmake, folder: loud, program: loud, given: [config]}, entry: loudest}
checks:
  - {id: own, points: 1, answer: loudest, checker: equal, expected: 7}
  - id: other
    points: 1
    answer: loudest
    checker: equal
    expected: 18
    cases: [{config: {factor: 2}, arguments: {data: ./two.txt}}]
"""
PROGRAM = """
import sys
given = dict(each.split("=", 1) for each in sys.argv[1:])
print("loudest:", int(given["factor"]) * max(map(int, open(given["data"]).read().split())))
"""


def written(folder, spec=SPEC):
    files = {"specs/lab/loudest.yaml": spec, "specs/lab/one.txt": "3 7 5", "specs/lab/two.txt": "9 1"}
    files |= {"submissions/right/loud.py": PROGRAM, "submissions/constant/loud.py": "print('loudest: 7')\n"}
    return own_course.write(folder, files)


@pytest.mark.slow
def test_a_python_program_is_given_config_and_files_of_each_case(tmp_path):
    with own_course.grading(written(tmp_path)) as grade:
        said = {name: [str(each.outcome) for each in grade(name).values()] for name in ("right", "constant")}
    assert said == {"right": ["CORRECT", "CORRECT"], "constant": ["CORRECT", "INCORRECT"]}


def test_a_program_that_is_called_in_the_same_way_each_time_is_told(tmp_path, capsys):
    fixed = SPEC.replace("command: python loud.py, given: [config]", "command: python loud.py")
    found = course.find(written(tmp_path, fixed))
    (said,) = programs_without_cases(load.read(tmp_path / "specs/lab/loudest.yaml", found))
    assert "'python loud.py', which is called in the same way each time" in said.message
    assert main(["validate", str(tmp_path / "specs")]) == 0
    assert "counts as not handed in" in " ".join(capsys.readouterr().out.split())
