"""A subject with several inputs, token ids among them."""

import pytest
from helpers import own_course

from labgrade.core.subject import as_plain
from labgrade.core.task import InputSpec
from labgrade.judging.items import fresh_subject, items
from labgrade.spec import course, load
from labgrade.subjects.models import Subject

NETS = '''
import torch
from torch import nn


class Two(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.embedding = nn.Embedding(words, 8)
        self.linear = nn.Linear(8, 3, bias=False)

    def forward(self, ids, scale):
        return self.linear(self.embedding(ids) * scale)


def two(words: int = 50):
    """Tokens and a scale."""
    return Two(words)
'''
TASK = """
id: two
title: Two inputs
points: 3
statement: How many MACs, and what comes out?
subject:
  model: nets/two
  inputs: [{shape: [2, 5], fill: tokens, below: 50}, {shape: [2, 5, 1], fill: uniform, seed: 3}]
answers:
  total: {type: count, from: [{call: 'hw.py:total', given: [model, input, input_size]}]}
  out: {type: tensor, from: [{call: 'hw.py:out', given: [model, input]}]}
checks:
  - {id: total, points: 1, answer: total, checker: equal, expected: {quantity: macs, with: {layers: [Linear]}}}
  - id: others
    points: 1
    answer: total
    checker: equal
    expected: {quantity: macs, with: {layers: [Linear]}}
    cases: [{inputs: [{shape: [1, 3], fill: tokens, below: 9}, [1, 3, 8]]}]
  - {id: out, points: 1, answer: out, checker: close, expected: {quantity: result}}
"""
ONNX = """
id: file
title: Two inputs of a file
points: 1
statement: What are the inputs called?
subject:
  model: nets/two.onnx
  inputs: [{shape: [2, 5], fill: tokens, below: 50}, [2, 5, 1]]
answers:
  names: {type: text, from: [{call: 'hw.py:names', given: [model_path]}]}
checks: [{id: names, points: 1, answer: names, checker: equal, expected: 'input_1 input_2'}]
"""
RESULT = '''
def result(subject):
    """What comes out."""
    model, given = subject.with_weights()
    return model(*given).tolist()
'''
RIGHT = """
import math

import onnx


def total(model, given, sizes):
    assert [tuple(each.shape) for each in given] == list(sizes)
    return math.prod(sizes[0]) * 24


def out(model, given):
    return model(*given).detach()


def names(path):
    return " ".join(each.name for each in onnx.load(path).graph.input)
"""
OWN_INPUT = RIGHT.replace(
    "model(*given)",
    "model(torch.randint(50, (2, 5), generator=torch.Generator().manual_seed(0)),"
    " torch.rand(2, 5, 1, generator=torch.Generator().manual_seed(3)))",
)


@pytest.fixture(scope="module")
def about(tmp_path_factory):
    files = {
        "specs/lab/two.yaml": TASK,
        "specs/lab/file.yaml": ONNX,
        "models/nets.py": NETS,
        "reference/own.py": RESULT,
        "submissions/right/hw.py": RIGHT,
        "submissions/own-input/hw.py": "import torch\n" + OWN_INPUT,
    }
    return own_course.write(tmp_path_factory.mktemp("inputs"), files)


def test_inputs_are_drawn_as_they_are_described(about):
    task = load.read(about / "specs/lab/two.yaml", course.find(about))
    assert task.subject.input == InputSpec(shape=(2, 5), fill="tokens", below=50, dtype="int64")
    ids, scale = Subject(**as_plain(task.subject)).with_weights()[1]
    assert str(ids.dtype) == "torch.int64"
    assert 0 <= ids.min() <= ids.max() < 50
    assert len(ids.unique()) > 3
    assert scale.shape == (2, 5, 1)
    assert [each.is_meta for each in Subject(**as_plain(task.subject)).on_meta()[1]] == [True, True]


def test_a_second_draw_changes_each(about):
    task = load.read(about / "specs/lab/two.yaml", course.find(about))
    (item,) = [each for each in items(task) if each.id == "out"]
    other = fresh_subject(task, item, b"key")
    first, second = Subject(**as_plain(task.subject)), Subject(**as_plain(other))
    assert all((a != b).any() for a, b in zip(first.with_weights()[1], second.with_weights()[1], strict=True))


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ("[{shape: [2], fill: tokens}]", "say how many tokens there are: 'below: 50257'"),
        ("[{shape: [2], below: 3}]", "'below' is of 'fill: tokens'"),
        ("[{shape: [2], fill: tokens, below: 3, dtype: float32}]", "tokens are whole numbers"),
        ("[{shape: [2], dtype: int8}]", "'normal' draws no whole numbers"),
        ("[[2]]\n  input: [2]", "give 'input' or 'inputs', not both"),
        ("[]", "inputs"),
    ],
)
def test_inputs_that_can_not_be_drawn_are_told(about, tmp_path, inputs, said):
    files = {path.relative_to(about).as_posix(): path.read_text() for path in about.glob("*/*.py")}
    lines = [line for line in TASK.splitlines() if not line.startswith("  inputs:")]
    lines.insert(lines.index("  model: nets/two") + 1, f"  inputs: {inputs}")
    own_course.write(tmp_path, {**files, "specs/lab/two.yaml": "\n".join(lines)})
    assert said in " ".join(own_course.findings(tmp_path))


@pytest.mark.slow
def test_functions_are_given_all_inputs(about):
    with own_course.grading(about) as grade:
        right, own = grade("right"), grade("own-input", "two")
    assert {each.outcome.name for each in right.values()} == {"CORRECT"}, right
    assert own["two.out"].outcome.name == "INCORRECT"
    assert "wrong on another one" in own["two.out"].reason
