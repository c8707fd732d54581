"""A function that does not use what it is given."""

import pytest
from helpers import own_course

SPEC = """
id: t
title: Scaled
points: 2
statement: Double the largest number of a file, times a factor.
subject: {config: {size: 3}, arguments: {factor: 2, data: ./one.txt}}
answers:
  scaled: {type: count, call: 'hw.py:scaled(config, factor, data)'}
checks:
  - {id: own, points: 1, answer: scaled, checker: equal, expected: {quantity: scaled_size}}
  - id: cases
    points: 1
    answer: scaled
    checker: equal
    expected: {quantity: scaled_size}
    cases:
      - {arguments: {factor: 7}}
      - {arguments: {data: ./two.txt}}
      - {config: {size: 11}}
"""
QUANTITY = """
def scaled_size(config, *, factor: int, data: str) -> int:
    '''A size, times a factor, and the numbers of a file.'''
    with open(data) as file:
        return config["size"] * factor + sum(map(int, file.read().split()))
"""
FUNCTION = """
def scaled(config, factor, data):
    {}
    with open(data) as file:
        return config["size"] * factor + sum(map(int, file.read().split()))
"""


@pytest.mark.slow
def test_the_argument_file_or_key_is_named(tmp_path):
    files = {
        "specs/lab/t.yaml": SPEC,
        "specs/lab/one.txt": "3 7",
        "specs/lab/two.txt": "90",
        "reference/scaled.py": QUANTITY,
    }
    changes = {"factor": "factor = 2", "key": "config = {'size': 3}", "right": "pass", "other": "factor = factor + 1"}
    files |= {f"submissions/{name}/hw.py": FUNCTION.format(line) for name, line in changes.items()}
    with own_course.grading(own_course.write(tmp_path, files)) as grade:
        found = {who: [each for each in grade(who).values() if str(each.outcome) == "INCORRECT"] for who in changes}
    assert [each.hint for each in found["factor"]] == [
        "`factor` is not used: this is what comes of factor = 2, whatever the function is given."
    ]
    assert [each.hint for each in found["key"]] == [
        "`size` is not used: this is what comes of size = 3, whatever the function is given."
    ]
    assert found["right"] == []
    assert not any("is not used" in each.hint for each in found["other"])


LARGER = """
def larger(config, *, factor: int, data: str) -> str:
    '''Which of two is larger.'''
    with open(data) as file:
        return "size" if config["size"] * factor > sum(map(int, file.read().split())) else "data"
"""


@pytest.mark.slow
def test_of_a_word_that_other_mistakes_give_too_nothing_is_said(tmp_path):
    spec = SPEC.replace("type: count", "type: text").replace("scaled_size", "larger")
    files = {"specs/lab/t.yaml": spec, "specs/lab/one.txt": "3 7", "specs/lab/two.txt": "90"}
    files |= {"reference/larger.py": LARGER}
    files |= {"submissions/least/hw.py": "def scaled(config, factor, data):\n    return 'data'\n"}
    with own_course.grading(own_course.write(tmp_path, files)) as grade:
        found = list(grade("least").values())
    assert "INCORRECT" in {str(each.outcome) for each in found}
    assert not any("is not used" in each.hint for each in found)
