"""A change of what two functions share is told only where it spoils neither, whichever task asks for the other."""

import pytest
from helpers.handed_in import read

from labgrade.diagnosis.networks.called import called_on
from labgrade.diagnosis.probe import Trials
from labgrade.diagnosis.repair.edits import leading_to
from labgrade.diagnosis.repair.repairs import Repairs
from labgrade.run.grader import Grader
from labgrade.spec import load
from tests.helpers.direct import COURSE

SHARED = """
def own_size(model):
    return sum(p.numel() for p in model.parameters() if p.requires_grad)

def trainable_parameters(model):
    return own_size(model)

def total_parameters(model):
    return own_size(model)

def weight_bytes(model):
    return 4 * own_size(model)
"""
COUNTS = """
import onnx

def operator_counts(path):
    counts = {}
    for node in onnx.load(path).graph.node:
        counts[node.op_type] = counts.get(node.op_type, 0) + 1
    return counts

def operator_types(path):
    return max(operator_counts(path).values())
"""
TWO = """
import onnx

def named(path, first):
    graph = onnx.load(path).graph
    return [each.name for each in graph.node][first:]

def operator_total(path):
    return len(named(path, 0)) + 3 - 1

def operator_types(path):
    return len(set(map(str, named(path, 0))))
"""


def without(text, name):
    """The source without one of its functions."""
    parts = text.split("\ndef ")
    return "\ndef ".join(part for part in parts if not part.startswith(f"{name}("))


@pytest.fixture(scope="module")
def grader():
    with Grader(COURSE) as made:
        yield made


def repair(grader, tmp_path, task, answer, text):
    """What change is told of a function of a file that was handed in."""
    task = load.read(COURSE.specs / f"acal-lab2/{task}.yaml", COURSE)
    (tmp_path / task.answers[answer].forms[0].file).write_text(text)
    check = next(each for each in task.checks if each.answer == answer and not each.hidden)
    trials = Trials(grader, task, check, read(tmp_path, "someone"))
    return Repairs(trials, called_on(trials)).of_all()


@pytest.mark.slow
def test_a_change_that_spoils_another_answer_of_the_task_is_not_told(grader, tmp_path):
    alone = without(SHARED, "trainable_parameters")
    assert "in line 3" in repair(grader, tmp_path, "2-1-1-parameters", "total", alone)
    assert "in line 3" not in repair(grader, tmp_path, "2-1-1-parameters", "total", SHARED)


@pytest.mark.slow
def test_nor_is_one_that_spoils_an_answer_of_another_task_of_the_lab(grader, tmp_path):
    alone = without(SHARED, "trainable_parameters")
    assert "in line 3" in repair(grader, tmp_path, "2-1-2-weight-bytes", "total", alone)
    assert "in line 3" not in repair(grader, tmp_path, "2-1-2-weight-bytes", "total", SHARED)


@pytest.mark.slow
def test_a_change_of_the_function_itself_is_told_all_the_same(grader, tmp_path):
    says = repair(grader, tmp_path, "2-2-1-operators", "types", COUNTS)
    assert says.startswith("With `len` in place of `max` in line 11 your function is right")


def test_which_functions_lead_to_a_line():
    assert leading_to(COUNTS, {7}) == ["operator_counts", "operator_types"]
    assert leading_to(COUNTS, {11}) == ["operator_types"]
    assert leading_to(TWO, {6, 9}) == ["named", "operator_total", "operator_types"]
    assert leading_to(TWO, {1}) == []
