"""A network of a course's own: wherever a model of the zoo may stand, one of `models/` may."""

import json

import pytest
from helpers import own_course

from labgrade.cli import main
from labgrade.core.subject import as_plain
from labgrade.spec import course, load
from labgrade.subjects.course_networks import builder
from labgrade.subjects.models import Subject

NETS = '''
"""Networks."""
from torch import nn

from ._blocks import Block


def stacked(depth=2, *, width: int = 4):
    """Blocks on top of one another."""
    return nn.Sequential(*(Block(width) for _ in range(depth)))


def sized(features: int):
    """One layer."""
    return nn.Linear(features, 1)


def of_nothing():
    return 7


def _private():
    return None
'''
BLOCKS = """
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width, bias=False)

    def forward(self, x):
        if x.sum() > 0:
            return self.inner(x)
        return -self.inner(x)
"""
TASK = """
id: own
title: A network of our own
points: 4
statement: How many parameters?
subject: {model: nets/stacked, input: [2, 4], options: {depth: 3}}
answers:
  total: {type: count, from: [{call: 'hw.py:total', given: [model]}]}
checks:
  - {id: total, points: 1, answer: total, checker: equal, expected: {quantity: parameters, published: 48}}
  - id: hidden
    points: 3
    hidden: true
    answer: total
    checker: equal
    expected: {quantity: parameters}
    cases: [{options: {width: 7}, input: [2, 7]}, {model: jsc/tiny, input: [2, 16], options: {}}]
"""
ONNX = """
id: file
title: A network of our own as a file
points: 1
statement: How many nodes?
subject: {model: nets/stacked.onnx, input: [2, 4], options: {depth: 3, opset: 18}}
answers:
  total: {type: count, from: [{call: 'hw.py:nodes', given: [model_path]}]}
checks:
  - {id: total, points: 1, answer: total, checker: equal, expected: {quantity: onnx_operator_total}}
"""
RIGHT = """
import onnx


def total(model):
    return sum(each.numel() for each in model.parameters())


def nodes(path):
    return len(onnx.load(path).graph.node)
"""


@pytest.fixture
def about(tmp_path, monkeypatch):
    for name, text in {
        "specs/lab/lab.yaml": "title: A lab\n",
        "specs/lab/own.yaml": TASK,
        "specs/lab/file.yaml": ONNX,
        "models/nets.py": NETS,
        "models/_blocks.py": BLOCKS,
        "work/hw.py": RIGHT,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def spec_of(about, text):
    (about / "specs/lab/own.yaml").write_text(text)
    main(["validate", "specs/lab/own.yaml"])


def test_a_networks_source_travels_with_the_subject(about):
    task = load.read(about / "specs/lab/own.yaml", course.find(about))
    plain = json.loads(json.dumps(as_plain(task.subject)))
    assert plain["code"] == {"nets.py": NETS, "_blocks.py": BLOCKS}
    (about / "models/_blocks.py").unlink()
    module, x = Subject(**plain).with_weights()
    assert module(x).shape == (2, 4)
    assert sum(each.numel() for each in module.parameters()) == 48


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_its_source_is_found_by_what_compiles_it(about):
    import torch

    task = load.read(about / "specs/lab/own.yaml", course.find(about))
    module, _ = Subject(**as_plain(task.subject)).with_weights()
    assert torch.jit.script(module)(-torch.ones(2, 4)).shape == (2, 4)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("nets/stacked", "nets/staked", "did you mean 'nets/stacked'?"),
        ("depth: 3", "depht: 3", "'nets/stacked' has no option 'depht'; did you mean 'depth'?"),
        ("width: 7}", "width: wide}", "'width' of 'nets/stacked'"),
        ("nets/stacked, input: [2, 4], options: {depth: 3}", "nets/sized, input: [2, 4]", "needs 'options: {features"),
        ("nets/stacked", "nets/_private", "model"),
    ],
)
def test_a_wrong_name_or_option_is_told(about, capsys, old, new, said):
    text = (about / "specs/lab/own.yaml").read_text().replace(old, new, 1)
    text = text.replace("{options: {width", "{model: nets/stacked, options: {width")
    spec_of(about, text)
    assert said in capsys.readouterr().err


def test_a_file_of_models_that_is_none_is_told(about, capsys):
    (about / "models/torchvision.py").write_text("def net():\n    '''A net.'''\n")
    (about / "models/broken.py").write_text("def net(:\n")
    (about / "models/large.py").write_text(f"def net():\n    return '{'x' * 200_000}'\n")
    assert main(["validate"]) == 2
    said = capsys.readouterr().err
    assert "'torchvision/...' are models of labgrade's own; call the file otherwise" in said
    assert "this is not Python" in said
    assert "take more than 128 KiB" in said


def test_what_builds_no_network_says_so():
    build, taken = builder("nets/of_nothing", {"nets.py": NETS, "_blocks.py": BLOCKS})
    assert taken == set()
    with pytest.raises(ValueError, match="'nets/of_nothing' gives int, which is no network"):
        build()
    with pytest.raises(ValueError, match=r"models/nets.py can't be imported: ModuleNotFoundError"):
        builder("nets/stacked", {"nets.py": NETS})


@pytest.mark.slow
def test_a_function_is_given_the_network_and_its_file(about):
    (about / "submissions").mkdir()
    (about / "work").rename(about / "submissions/work")
    with own_course.grading(about) as grade:
        verdicts = grade("work")
    assert {name: each.outcome.name for name, each in verdicts.items()} == dict.fromkeys(
        ("file.total", "own.total", "own.hidden[stacked]", "own.hidden[tiny]"), "CORRECT"
    )


def test_a_kit_has_the_public_networks(about, capsys, monkeypatch):
    monkeypatch.setattr("labgrade.files.wheel.write", lambda folder: folder / "labgrade.whl")
    assert main(["kit", "lab", "--out", "kit", "--without-subjects"]) == 0
    assert "def sized" not in (about / "kit/models/nets.py").read_text()
    assert (about / "kit/models/_blocks.py").is_file()
    start = (about / "kit/START.md").read_text()
    assert "labgrade check --course ." in start
    monkeypatch.chdir(about / "kit")
    lines = start[start.index("from pathlib import Path") : start.index("from hw import")]
    given = {}
    exec(lines, given)  # noqa: S102 - what students are told to type
    assert sum(each.numel() for each in given["model"].parameters()) == 48
