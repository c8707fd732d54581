"""A function that keeps something from one call to the next is wrong on the second subject of a process."""

from dataclasses import replace

import pytest
from helpers.handed_in import read

from labgrade.judging.items import call_before, items, with_later
from labgrade.run.grader import Grader
from labgrade.spec import course, load
from labgrade.verdict import Outcome, correct, incorrect, partial, without_value

pytestmark = pytest.mark.slow

TASK = """
id: task
title: Parameters
points: 10
statement: Hand in total(model) and, for a file, nodes(path).
subject: {model: torchvision/squeezenet1_1, input: [1, 3, 64, 64]}
answers:
  total: {type: count, from: [{call: "hw.py:total", given: [model]}]}
checks:
  - id: total
    points: 6
    answer: total
    checker: equal
    expected: {quantity: parameters}
    again:
      - id: others
        points: 4
        cases: [{model: micro/tied, input: [1, 3, 32, 40]}, {model: micro/dilated, input: [1, 3, 32, 40]}]
"""
FILES = """
id: files
title: Nodes
points: 4
statement: Hand in nodes(path).
subject: {model: micro/lenet.onnx, input: [1, 1, 28, 28]}
answers:
  nodes: {type: count, from: [{call: "hw.py:nodes", given: [model_path]}]}
checks:
  - id: nodes
    points: 4
    answer: nodes
    checker: equal
    expected: {quantity: onnx_operator_total}
    cases: [{model: micro/lenet.onnx}, {model: micro/dynamic_batch.onnx, input: [1, 3, 16, 16]}]
"""
COUNT = "sum(p.numel() for p in model.parameters())"
NODES = "import onnx\n\ndef nodes(path):\n    return len(onnx.load(path).graph.node)\n"
SUBMISSIONS = {
    "right": f"def total(model):\n    return {COUNT}\n" + NODES,
    "remembers": f"import functools\n\n@functools.lru_cache\ndef total(model):\n    return {COUNT}\n" + NODES,
    "adds-up": f"found = 0\n\ndef total(model):\n    global found\n    found += {COUNT}\n    return found\n"
    "import onnx\nseen = []\ndef nodes(path):\n    seen.extend(onnx.load(path).graph.node)\n    return len(seen)\n",
    "default-list": f"def total(model, seen=[]):\n    seen.append({COUNT})\n    return sum(seen)\n"
    "import onnx\ndef nodes(path, seen={}):\n    seen.update({(path, n.name): 1 for n in onnx.load(path).graph.node})\n"
    "    return len(seen)\n",
    "first-one": f"kept = {{}}\n\ndef total(model):\n    return kept.setdefault('n', {COUNT})\n"
    "import onnx\nmodel = None\ndef nodes(path):\n    global model\n    model = model or onnx.load(path)\n"
    "    return len(model.graph.node)\n",
    "by-class": f"kept = {{}}\n\ndef total(model):\n    return kept.setdefault(type(model).__name__, {COUNT})\n"
    + NODES,
    "prints-on-one": f"def total(model):\n    found = {COUNT}\n    if found < 3000:\n        print('small')\n"
    "    return found\n" + NODES,
    "wrong-on-one": f"def total(model):\n    found = {COUNT}\n    return found + (found < 3000)\n" + NODES,
    "warms-up": f"calls = []\n\ndef total(model):\n    found = {COUNT}\n    calls.append(model)\n"
    "    return found if found > 9999 or len(calls) > 1 else 0\n" + NODES,
    "fails-on-one": "def total(model):\n    for each in model.modules():\n"
    "        if getattr(each, 'dilation', (1, 1)) != (1, 1):\n"
    f"            raise ValueError(model)\n    return {COUNT}\n" + NODES,
    "cannot-be-imported": f"import no_such_package\n\ndef total(model):\n    return {COUNT}\n" + NODES,
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    (folder / "specs/lab").mkdir(parents=True)
    for name, text in (("task", TASK), ("files", FILES)):
        (folder / f"specs/lab/{name}.yaml").write_text(text)
    found = course.find(folder)
    tasks = [load.read(folder / f"specs/lab/{name}.yaml", found) for name in ("task", "files")]
    with Grader(found) as grader:
        yield folder, grader, tasks


def graded(world, name, which=0):
    folder, grader, tasks = world
    handed_in = folder / f"{name}-{which}"
    handed_in.mkdir(exist_ok=True)
    (handed_in / "hw.py").write_text(SUBMISSIONS[name])
    (report,) = grader.grade([tasks[which]], read(handed_in, name)).tasks
    return {each.id: each.verdict for each in report.checks}


@pytest.mark.parametrize("name", ["right", "remembers"])
def test_what_keeps_nothing_that_matters_is_right(world, name):
    assert {each.outcome for each in graded(world, name).values()} == {Outcome.CORRECT}


@pytest.mark.parametrize("name", ["adds-up", "default-list", "first-one", "by-class"])
def test_what_is_kept_shows_where_the_function_is_called_after_another_call(world, name):
    found = graded(world, name)
    assert found["total"].outcome is Outcome.CORRECT
    wrong = found["others[tied]"]
    assert wrong.outcome is Outcome.INCORRECT
    assert wrong.reason.startswith("right when it is called first, wrong after a call for another subject: got ")
    assert wrong.hint.startswith("Something is kept from one call to the next")


def test_what_fails_by_itself_is_not_called_after_another_call_so_that_a_loop_is_waited_for_once(world, monkeypatch):
    together = []
    runner = world[1].runner

    def behind(request, given):
        models = [subject.model for subject, _ in given]
        if not request.attempt and models == ["micro/dilated", "micro/tied"]:  # the others are to explain what fails
            together.append(given)
        return []

    monkeypatch.setattr(runner, "run_each", behind)
    assert [each.outcome for each in graded(world, "fails-on-one").values()][2] is Outcome.CRASHED
    assert not together
    graded(world, "right")
    assert len(together) == 1


def test_what_cannot_be_imported_is_called_for_nobody_to_explain(world, monkeypatch):
    together = []
    monkeypatch.setattr(world[1].runner, "run_each", lambda *given: together.append(given) or [])
    assert {each.outcome for each in graded(world, "cannot-be-imported").values()} == {Outcome.CRASHED}
    assert not together


@pytest.mark.parametrize("name", ["adds-up", "default-list", "first-one"])
def test_so_it_does_for_files(world, name):
    found = graded(world, name, 1)
    assert [each.outcome for each in found.values()] == [Outcome.INCORRECT, Outcome.CORRECT]


def test_once_a_check_on_a_small_subject(world):
    every = items(world[2][0])
    asked = {each.id: before.model for each in every if (before := call_before(every, each)) is not None}
    assert asked == {"others[tied]": "micro/dilated"}
    assert call_before(every[:2], every[1]) == every[1].subject  # no other: the same once more


def test_only_a_wrong_value_of_the_later_call_counts():
    right, wrong = correct(""), incorrect("got 3")
    assert with_later(right, without_value(Outcome.TIMEOUT, "late")) is right
    assert with_later(right, right) is right
    assert with_later(partial(1 / 2, "got 5"), wrong).reason.startswith("better when it is called first")
    assert replace(with_later(right, wrong), reason="", hint="") == replace(wrong, reason="")


def test_small_cases_that_are_right_take_one_process_and_others_one_each(world, monkeypatch):
    runner, alone, together = world[1].runner, [], []
    run, run_each = runner.run, runner.run_each
    monkeypatch.setattr(runner, "run", lambda request: alone.append(request.subject.short_name) or run(request))
    monkeypatch.setattr(
        runner, "run_each", lambda request, each: together.append(request.attempt) or run_each(request, each)
    )
    assert {each.outcome for each in graded(world, "right").values()} == {Outcome.CORRECT}
    assert (alone, together) == (["squeezenet1_1"], [True])
    alone.clear()
    found = graded(world, "wrong-on-one")
    assert [each.outcome for each in found.values()] == [Outcome.CORRECT, Outcome.CORRECT, Outcome.INCORRECT]
    assert sorted(alone) == ["dilated", "squeezenet1_1", "tied"]
    found = graded(world, "warms-up")
    assert [each.outcome for each in found.values()] == [Outcome.CORRECT, Outcome.INCORRECT, Outcome.INCORRECT]


def test_what_is_printed_for_a_case_is_told_of_that_case(world):
    folder, grader, tasks = world
    graded(world, "prints-on-one")
    (report,) = grader.grade([tasks[0]], read(folder / "prints-on-one-0", "prints-on-one")).tasks
    assert [bool(each.printed) for each in report.checks] == [False, False, True]
