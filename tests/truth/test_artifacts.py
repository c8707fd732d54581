"""Files that labs leave behind: handed in, written or returned as a network, opened by a course's quantities alone."""

import io
import json
import zipfile

import pytest
from helpers import own_course

REFERENCE = '''
import os


def _state(artifact):
    import torch

    try:
        state = torch.load(str(artifact), weights_only=True, map_location="cpu")
        return {name: value.float() for name, value in state.items()}
    except Exception as error:
        raise ValueError(f"this is no state dict: {type(error).__name__}") from None


def off_grid(artifact, *, fraction: int = 4) -> float:
    """The share of weights that are no multiples of 2**-fraction."""
    weights = list(_state(artifact).values())
    off = sum(int((w * 2**fraction != (w * 2**fraction).round()).sum()) for w in weights)
    return off / sum(w.numel() for w in weights)


def relative_error(artifact, *, original: str = "", input_shape: list[int] | None = None) -> float:
    """How far the network is from the subject on a fresh input."""
    import torch

    try:
        made = torch.jit.load(str(artifact))
        x = torch.randn(input_shape, generator=torch.Generator().manual_seed(99))
        with torch.no_grad():
            got = made(x)
    except RuntimeError:
        raise ValueError("this is no network that runs on the input") from None
    want = torch.jit.load(str(artifact.parent / original))(x)
    if got.shape != want.shape:
        raise ValueError(f"it puts out {list(got.shape)}")
    return float((got - want).abs().max() / want.abs().max())


def operators_called(artifact) -> dict[str, int]:
    """How often each operator is called."""
    import json

    text = artifact.read_text()
    if text == "abort":
        os.abort()
    try:
        names = [each["name"] for each in json.loads(text)["traceEvents"]]
    except (ValueError, KeyError, TypeError):
        raise ValueError("this is no trace") from None
    return {name: names.count(name) for name in sorted(set(names))}


def pairs(artifact) -> int:
    """How many files have the same name in both groups."""
    names = [{each.name for each in artifact[group]} for group in ("golden", "input")]
    assert all(each.read_bytes() == b"x" for group in artifact.values() for each in group)
    return len(names[0] & names[1])
'''
SPECS = {
    "grid": """
answers:
  weights: {type: file, from: [{call: 'hw.py:nothing', given: [save_to]}, {file: quantised.pth}]}
checks:
  - {id: grid, points: 1, answer: weights, measured: {quantity: off_grid}, checker: {at_most: {limit: 0}}}
""",
    "net": """
subject: {model: jsc/tiny, input: [4, 16]}
answers:
  net: {type: file, from: [{call: 'hw.py:export', given: [model, input, save_to]}, {file: net.pt}]}
  module: {type: module, from: [{call: 'hw.py:rebuilt', given: [model]}]}
checks:
  - {id: file, points: 1, answer: net, measured: {quantity: relative_error}, checker: {at_most: {limit: 1.0e-6}}}
  - id: others
    points: 1
    answer: net
    measured: {quantity: relative_error}
    checker: {at_most: {limit: 1.0e-6}}
    cases: [{model: jsc/wide, input: [2, 16]}, {seed: 4, input: [1, 16]}]
  - {id: module, points: 1, answer: module, measured: {quantity: relative_error}, checker: {at_most: {limit: 1.0e-6}}}
""",
    "trace": """
answers:
  trace: {type: file, from: [{file: 'log/*.json'}]}
checks:
  - id: calls
    points: 1
    answer: trace
    measured: {quantity: operators_called}
    checker: {same_rows: {others: allowed}}
    expected: {literal: {conv: 2, relu: 1}}
""",
    "pair": """
answers:
  pair: {type: files, from: [{files: {golden: 'golden/*.pth', input: 'input/*.pth'}}]}
checks:
  - {id: both, points: 1, answer: pair, measured: {quantity: pairs}, checker: equal, expected: 2}
""",
    "written": """
answers:
  trace: {type: file, from: [{run: {command: python write.py}, file: 'out/*.json'}]}
checks:
  - id: calls
    points: 1
    answer: trace
    measured: {quantity: operators_called}
    checker: equal
    expected: {literal: {conv: 2, relu: 1}}
""",
}
RIGHT = """
import torch


def export(model, x, path):
    torch.jit.trace(model, x).save(path)


def rebuilt(model):
    return torch.nn.Sequential(*model.children()).eval()
"""
WRONG = """
import torch
from torch import nn


def export(model, x, path):
    torch.jit.trace(nn.Linear(16, 5), x).save(path)


def rebuilt(model):
    return 7
"""
TRACE = json.dumps({"traceEvents": [{"name": "conv"}, {"name": "conv"}, {"name": "relu"}]})
HOSTILE = b"\x80\x02cos\nsystem\nq\x00X\x0c\x00\x00\x00touch hackedq\x01\x85q\x02Rq\x03."


def spec(name, body):
    points = body.count("points: 1")
    return f"id: {name}\ntitle: {name}\npoints: {points}\nstatement: Hand it in.\n{body}"


def saved(value):
    import torch

    data = io.BytesIO()
    torch.save(value, data)
    return data.getvalue()


@pytest.fixture(scope="module")
def about(tmp_path_factory):
    import torch

    weights = saved({"w": torch.tensor([0.25, -1.5, 0.0625])})
    both = {f"{group}/{name}.pth": b"x" for group in ("golden", "input") for name in "ab"}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("archive/data.pkl", HOSTILE)
    hand_ins = {
        "right": {
            "hw.py": RIGHT,
            "quantised.pth": weights,
            "log/host_1.json": TRACE,
            "write.py": f"import os\nos.mkdir('out')\nopen('out/t.json', 'w').write({TRACE!r})\n",
            **both,
        },
        "wrong": {
            "hw.py": WRONG,
            "quantised.pth": saved({"w": torch.tensor([0.25, 0.3])}),
            "log/host_1.json": TRACE.replace("relu", "conv"),
            "write.py": "print('nothing')\n",
            "golden/a.pth": b"x",
            "input/b.pth": b"x",
        },
        "broken": {
            "net.pt": b"not a network",
            "quantised.pth": weights[: len(weights) // 2],
            "log/host_1.json": TRACE[:20],
            "golden/a.pth": b"x",
        },
        "hostile": {
            "net.pt": archive.getvalue(),
            "quantised.pth": HOSTILE,
            "log/host_1.json": "abort",
        },
        "several": {"log/a.json": TRACE, "log/b.json": TRACE},
    }
    files = {f"submissions/{who}/{name}": content for who, them in hand_ins.items() for name, content in them.items()}
    specs = {f"specs/lab/{name}.yaml": spec(name, body) for name, body in SPECS.items()}
    return own_course.write(tmp_path_factory.mktemp("artifacts"), {"reference/own.py": REFERENCE, **specs, **files})


@pytest.fixture(scope="module")
def verdicts(about):
    with own_course.grading(about) as grade:
        yield {who: grade(who) for who in ("right", "wrong", "broken", "hostile", "several")}


def outcomes(verdicts):
    return {name: verdict.outcome.name for name, verdict in verdicts.items()}


@pytest.mark.slow
def test_right_files_are_right(verdicts):
    assert set(outcomes(verdicts["right"]).values()) == {"CORRECT"}, verdicts["right"]
    assert len(verdicts["right"]) == 8


@pytest.mark.slow
def test_wrong_files_are_wrong(verdicts):
    found = verdicts["wrong"]
    assert outcomes(found) == {
        "grid.grid": "INCORRECT",
        "net.file": "INCORRECT",
        "net.others[wide]": "INCORRECT",
        "net.others[tiny]": "INCORRECT",
        "net.module": "INCORRECT",
        "trace.calls": "INCORRECT",
        "pair.both": "INCORRECT",
        "written.calls": "MISSING",
    }, found
    assert found["net.module"].reason == "rebuilt returned int, not a network (torch.nn.Module)"
    (note,) = found["grid.grid"].notes
    assert note == "measured of the file: The share of weights that are no multiples of 2**-fraction."


@pytest.mark.slow
def test_broken_files_say_what_is_wrong_with_them(verdicts):
    found = verdicts["broken"]
    assert found["grid.grid"].reason.startswith("'quantised.pth': this is no state dict")
    assert found["net.file"].reason == "'net.pt': this is no network that runs on the input"
    assert found["trace.calls"].reason == "'log/host_1.json': this is no trace"
    assert found["pair.both"].reason == "nothing matches input/*.pth"
    assert {found[name].outcome.name for name in ("grid.grid", "net.file", "trace.calls")} == {"INCORRECT"}
    assert found["pair.both"].outcome.name == "MISSING"  # what is there alone answers nothing, and is no mistake


@pytest.mark.promise("files-are-read-in-a-jail-of-our-code")
@pytest.mark.promise("nothing-sent-is-executed")
@pytest.mark.slow
def test_hostile_files_run_nothing_and_are_nobodys_fault(verdicts, about):
    found = verdicts["hostile"]
    assert found["grid.grid"].outcome.name == found["net.file"].outcome.name == "INCORRECT"
    assert not list(about.rglob("hacked"))
    assert found["trace.calls"].outcome.name == "MANUAL"  # what opens it died of it
    assert "was killed by signal" in found["trace.calls"].reason


@pytest.mark.slow
def test_several_files_where_one_is_meant_wait_for_a_person(verdicts):
    found = verdicts["several"]["trace.calls"]
    assert found.outcome.name == "MANUAL"
    assert "2 files match log/*.json: 'log/a.json', 'log/b.json'" in found.reason


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("grid", "{quantity: off_grid}", "{quantity: macs}", "not of a file: its first parameter is 'artifact'"),
        ("grid", "{quantity: off_grid}", "{quantity: relative_error}", "compares with the subject, and this task has"),
        ("grid", "{file: quantised.pth}", "{entry: weights}", "an answer that is a file is a 'file', or what a 'call'"),
        ("net", "given: [model]", "given: [save_to]", "a network is what the 'call' returns; take out 'save_to'"),
        ("pair", "{files: {golden: 'golden/*.pth', input: 'input/*.pth'}}", "{file: a}", "files are given by patterns"),
        ("trace", "measured: {quantity: operators_called}", "", "say what of it is judged, 'measured:"),
        ("trace", "    expected: {literal: {conv: 2, relu: 1}}\n", "", "say what is right: 'expected'"),
    ],
)
def test_what_measures_nothing_is_told(tmp_path, name, old, new, said):
    text = spec(name, SPECS[name]).replace(old, new)
    own_course.write(tmp_path, {f"specs/lab/{name}.yaml": text, "reference/own.py": REFERENCE})
    assert said in " ".join(own_course.findings(tmp_path))
