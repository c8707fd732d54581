"""Tensors that a function computes are judged on an input that it can't know beforehand, too."""

from dataclasses import replace

import pytest
from helpers.handed_in import read

from labgrade.judging.items import fresh_subject, items, with_fresh
from labgrade.run.grader import Grader
from labgrade.spec import course, load
from labgrade.verdict import Outcome, correct, incorrect, partial, without_value

pytestmark = pytest.mark.slow

TASK = """
id: task
title: Outputs of the convolutions
points: 10
statement: Hand in conv_outputs(model, input).
subject: {model: micro/dilated, input: [1, 3, 32, 40]}
answers:
  outputs:
    type: {table_of: tensor}
    from: [{call: "hw.py:conv_outputs", given: [model, input]}]
  total: {type: count, from: [{call: "hw.py:total", given: [model, input]}]}
checks:
  - id: values
    points: 9
    answer: outputs
    checker: {close: {rtol: 0.001, atol: 0.0001}}
    expected: {quantity: module_outputs, with: {layers: [Conv2d]}}
  - {id: total, points: 1, answer: total, checker: equal, expected: {quantity: parameters}}
"""
HOOKS = """
import torch
from torch import nn

def conv_outputs(model, input):
    out = {}
    for name, layer in model.named_modules():
        if isinstance(layer, nn.Conv2d):
            layer.register_forward_hook(lambda _, __, y, name=name: out.__setitem__(name, y.detach().clone()))
    WHERE
    with torch.no_grad():
        model(input)
    return out
"""
SUBMISSIONS = {
    "right": ("pass", "CORRECT"),
    "own-randn": ("input = torch.randn(1, 3, 32, 40)", "INCORRECT"),
    "rebuilt": ("input = torch.randn(1, 3, 32, 40, generator=torch.Generator().manual_seed(0))", "INCORRECT"),
    "seeded": ("torch.manual_seed(0); input = torch.randn(1, 3, 32, 40)", "INCORRECT"),
    "zeros": ("input = torch.zeros_like(input)", "INCORRECT"),
    "flipped": ("input = input.flip(-1)", "INCORRECT"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    (folder / "specs/lab").mkdir(parents=True)
    (folder / "specs/lab/task.yaml").write_text(TASK)
    found = course.find(folder)
    task = load.read(folder / "specs/lab/task.yaml", found)
    verdicts = {}
    with Grader(found) as grader:
        for name, (where, _) in SUBMISSIONS.items():
            (folder / name).mkdir()
            (folder / name / "hw.py").write_text(HOOKS.replace("WHERE", where))
            verdicts[name] = grader.grade([task], read(folder / name, name)).tasks[0].checks[0].verdict
    return folder, task, verdicts


@pytest.mark.parametrize("name", SUBMISSIONS)
def test_only_a_function_that_uses_its_input_is_right(world, name):
    verdict = world[2][name]
    assert verdict.outcome.name == SUBMISSIONS[name][1], verdict
    if name in ("rebuilt", "seeded"):  # right on the task's own input, whose seed is public
        assert verdict.reason.startswith("right on the task's own input, wrong on another one: ")
        assert "`input`" in verdict.hint


def test_the_input_is_the_same_at_every_regrade_and_differs_by_key(world):
    _, task, _ = world
    item, number = items(task)
    first = fresh_subject(task, item, b"key")
    assert first == fresh_subject(task, item, b"key")
    assert len({item.subject.input.seed, first.input.seed, fresh_subject(task, item, b"other").input.seed}) == 3
    assert not first.passing  # a class shares it, and every run of the course
    assert fresh_subject(task, number, b"key") is None  # a count depends on no value of the input
    zeros = replace(item, subject=replace(item.subject, input=replace(item.subject.input, fill="zeros")))
    assert fresh_subject(task, zeros, b"key") is None


def test_the_key_of_a_course_is_a_file_beside_its_specs(world):
    folder, _, _ = world
    assert course.find(folder).key == b""
    (folder / "course.key").write_bytes(b"secret")
    assert course.find(folder).key == b"secret"


def test_the_worse_verdict_counts_and_how_the_function_ended_is_a_verdict_of_its_own():
    assert with_fresh(correct("all"), correct("other")).reason == "all"
    assert with_fresh(partial(0.5, "half"), correct("other")).reason == "half"
    judged = with_fresh(correct("all"), incorrect("2 of 3 names are right"))
    assert (judged.outcome, judged.credit) == (Outcome.INCORRECT, 0)
    assert judged.reason.endswith("on another one: 2 of 3 names are right")
    some = with_fresh(correct("all"), partial(0.75, "3 of 4 names are right", hint="a slip"))
    assert (some.outcome, some.credit, some.hint) == (Outcome.PARTIAL, 0.75, "a slip")  # the lower verdict, not none
    assert with_fresh(partial(0.9, "most"), some).reason.startswith("better on the task's own input")
    crashed = without_value(Outcome.CRASHED, "ValueError")
    assert with_fresh(correct("all"), crashed) is crashed


def test_a_right_function_is_called_on_the_other_input_behind_the_cases(tmp_path, monkeypatch):
    cases = "[{model: micro/tied, input: [1, 3, 32, 40]}, {model: micro/uneven_kernel, input: [1, 3, 32, 40]}]"
    again = f"    again:\n      - {{id: others, points: 0, cases: {cases}}}\n"
    (tmp_path / "specs/lab").mkdir(parents=True)
    (tmp_path / "specs/lab/task.yaml").write_text(TASK.replace("  - {id: total", f"{again}  - {{id: total"))
    found = course.find(tmp_path)
    task = load.read(tmp_path / "specs/lab/task.yaml", found)
    alone = []
    with Grader(found) as grader:
        run = grader.runner.run
        monkeypatch.setattr(grader.runner, "run", lambda request: alone.append(request.subject.model) or run(request))
        for name, alike in (("right", ["micro/dilated"]), ("rebuilt", ["micro/dilated"] * 2)):
            (tmp_path / name).mkdir()
            (tmp_path / name / "hw.py").write_text(HOOKS.replace("WHERE", SUBMISSIONS[name][0]))
            alone.clear()
            first = grader.grade([task], read(tmp_path / name, name)).tasks[0].checks[0].verdict
            assert first.outcome.name == SUBMISSIONS[name][1], first
            assert [each for each in alone if each == task.subject.model] == alike
            assert (alone == alike) == (name == "right"), "the cases of a wrong one are called by themselves"
