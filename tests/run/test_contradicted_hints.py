"""A hint is given only where the same function makes its mistake wherever the same is asked, as far as one can tell."""

import pytest
from helpers.direct import COURSE, RIGHT, DirectOracle, DirectRunner
from helpers.handed_in import read

from labgrade.answers.reader.reader import Reader
from labgrade.run.grader import Grader
from labgrade.run.task import TaskGrading
from labgrade.spec import load

TASK = """
id: task
title: MACs
points: 5
statement: How many?
subject: {model: micro/dilated, input: [2, 3, 32, 40]}
answers:
  total: {type: count, from: [{call: "hw2_1.py:answer", given: [model, input_size]}, {entry: task.total}]}
checks:
  - id: own
    points: 1
    answer: total
    checker: equal
    expected: {quantity: macs, with: {layers: [Conv2d, Linear]}}
    misconceptions:
      - {value: {quantity: macs_divided_by_batch, with: {layers: [Conv2d, Linear]}}, says: one image, credit: 0.5}
      - {value: {quantity: macs_ignoring_groups, with: {layers: [Conv2d, Linear]}}, says: no groups, credit: 0.4}
  - id: others
    points: 4
    answer: total
    checker: equal
    expected: {quantity: macs, with: {layers: [Conv2d, Linear]}}
    misconceptions:
      - {value: {quantity: macs_divided_by_batch, with: {layers: [Conv2d, Linear]}}, says: one image, credit: 0.5}
      - {value: {quantity: macs_ignoring_groups, with: {layers: [Conv2d, Linear]}}, says: no groups, credit: 0.4}
    cases:
      - {model: micro/uneven_kernel, input: [2, 3, 32, 40]}
      - {model: micro/same_padding, input: [1, 3, 32, 40]}
"""
ANSWER = """
def answer(model, input_size):
    batch, uneven = input_size[0], model[0].kernel_size == (1, 7)
    return RESULT
"""


@pytest.mark.parametrize(
    ("result", "hints"),
    [
        ("total_macs(model, input_size) // batch", ["one image", "one image", ""]),  # at a batch of one it is right
        ("total_macs(model, input_size) // batch if uneven else 7", ["", "", ""]),
        ("total_macs(model, input_size) // (batch if uneven else 1)", ["", "", ""]),
        ("total_macs(model, input_size) // (batch if not uneven else 1)", ["", "", ""]),
        ("total_macs(model, input_size)", ["", "", ""]),
    ],
)
def test_a_slip_that_is_not_made_on_every_subject_is_no_hint(tmp_path, result, hints):
    assert said(tmp_path, TASK, result) == hints


BONUS = """
  - id: more
    points: 1
    bonus: true
    answer: total
    checker: equal
    expected: {quantity: macs, with: {layers: [Conv2d, Linear]}}
    cases: [{model: micro/wide_norm, input: [2, 3, 32, 40]}]
"""


def test_what_is_wrong_with_a_bonus_contradicts_no_hint(tmp_path):
    result = "7 if len(model) > 6 else total_macs(model, input_size) // batch"
    assert said(tmp_path, TASK + BONUS, result) == ["one image", "one image", "", ""]


CONFIG = """
id: task
title: Cache
points: 2
statement: How many?
subject: {config: {name: own, layers: 3, heads: 4, kv_heads: 2, head_dim: 8, tokens: 5, batch: 2, bytes: 2}}
answers:
  total: {type: bytes, from: [{call: "hw2_1.py:answer", given: [config]}]}
checks:
  - id: own
    points: 1
    answer: total
    checker: equal
    expected: {quantity: kv_cache_bytes}
    misconceptions: [kv_cache_bytes_of_keys]
    again:
      - id: others
        points: 1
        hidden: true
        cases: [{config: {name: bytes, bytes: 1}}, {config: {name: one, batch: 1}}]
"""
CACHE = """
def answer(config):
    numbers = config["layers"] * config["kv_heads"] * config["head_dim"] * config["tokens"] * config["batch"]
    return RESULT
"""


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ("numbers * config['bytes']", True),
        ("2 * numbers", False),
        ("2 * numbers * config['bytes'] // config['batch']", False),
    ],
)
def test_of_configs_cases_that_need_the_check_tell_whether_its_hint_holds(tmp_path, result, told):
    """What is half on the task's own config is the keys alone, or without the bytes, or of one sequence."""
    assert said(tmp_path, CONFIG, result, CACHE)[0].startswith("This is half") is told


def said(tmp_path, text, result, answer=ANSWER):
    """The hints of a function, a check or case each."""
    (tmp_path / "specs/lab").mkdir(parents=True)
    (tmp_path / "specs/lab/task.yaml").write_text(text)
    (tmp_path / "work").mkdir()
    (tmp_path / "work/hw2_1.py").write_text(RIGHT + answer.replace("RESULT", result))
    task = load.read(tmp_path / "specs/lab/task.yaml", COURSE)
    grader = Grader(COURSE, runner=DirectRunner(), reader=Reader(None), oracle=DirectOracle(tmp_path))
    checks = TaskGrading(grader, task, read(tmp_path / "work", "someone"), explains=False).report().checks
    grader.stop()
    return [check.verdict.hint for check in checks]
