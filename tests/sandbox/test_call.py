"""Answers by function: what is present without running it, and what becomes of each Execution."""

from pathlib import Path

import pytest
from handed_in import read

from labgrade.answers.call import obtain, present
from labgrade.model import CallForm, InputSpec, Limits, SubjectSpec
from labgrade.results import Answer, Execution, NoAnswer
from labgrade.values import Number
from labgrade.verdict import Outcome

FORM = CallForm(file="hw2_1.py", function="total_macs", given=("model",))
SUBJECT = SubjectSpec(model="small", input=InputSpec(shape=(1, 3, 8, 8)))
GALLERY = Path(__file__).parents[1] / "submissions"


class Canned:
    """A runner whose Execution is known beforehand."""

    def __init__(self, execution):
        self.execution = execution
        self.requests = []

    def run(self, request):
        self.requests.append(request)
        return self.execution


def submission(folder, source):
    (folder / "hw2_1.py").write_bytes(source if isinstance(source, bytes) else source.encode())
    return read(folder, "someone")


@pytest.mark.parametrize(
    "source",
    [
        "def total_macs(): pass",
        "async def total_macs(): pass",
        "class total_macs: pass",
        "total_macs = lambda model: 1",
        "a, (b, *total_macs) = 1, (2, 3)",
        "total_macs: object = 1",
        "from helper import total_macs",
        "from helper import count as total_macs",
        "import total_macs.inner",
        "if True:\n  try:\n    import torch\n  except ImportError:\n    def total_macs(): pass",
        "with open('x') as total_macs: pass",
        "for total_macs in []: pass",
        "from helper import *",
        "def total_macs(:",
        "\x00",
        "-" * 100_000 + "1",
        "a" + ".b" * 300_000,
        b"\xff\xfe\xfa",
        "# " + "x" * (2 << 20),
    ],
)
def test_present(tmp_path, source):
    assert present(submission(tmp_path, source), FORM.file, FORM.function)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "def total_mac(): pass",
        "total_macs",
        "print(total_macs)",
        "def outer():\n  def total_macs(): pass",
        "class Outer:\n  def total_macs(self): pass",
        "x = [total_macs for _ in range(3)]",
        "from total_macs import other",
        "import total_macs as other",
        "'def total_macs(): pass'",
        "x = '\\d'  # of which Python warns",
    ],
)
def test_not_present(tmp_path, source):
    found = submission(tmp_path, source)
    assert not present(found, FORM.file, FORM.function)
    runner = Canned(None)
    assert obtain("total", "count", FORM, found, subject=SUBJECT, limits=Limits(), runner=runner) is None
    assert runner.requests == []


def test_not_present_without_the_file_or_through_a_link(tmp_path):
    (tmp_path / "s").mkdir()
    assert not present(read(tmp_path / "s", "s"), FORM.file, FORM.function)
    (tmp_path / "other.py").write_text("def total_macs(): pass")
    found = submission(tmp_path / "s", "def total_macs(): pass")
    (tmp_path / "s/hw2_1.py").unlink()
    (tmp_path / "s/hw2_1.py").symlink_to(tmp_path / "other.py")
    assert not present(found, FORM.file, FORM.function)


def asked(execution, kind="count"):
    runner = Canned(execution)
    found = read(GALLERY / "counts", "counts")
    answer = obtain("total", kind, FORM, found, subject=SUBJECT, limits=Limits(seconds=3), runner=runner)
    return answer, runner.requests


def test_a_value_becomes_an_answer():
    answer, requests = asked(Execution(status="returned", value=1498376192))
    assert isinstance(answer, Answer)
    assert (answer.name, answer.origin) == ("total", "hw2_1.py:total_macs")
    assert isinstance(answer.value, Number)
    assert answer.value.value == 1498376192
    (request,) = requests
    assert (request.folder, request.file, request.function) == (GALLERY / "counts", "hw2_1.py", "total_macs")
    assert (request.given, request.subject, request.limits) == (("model",), SUBJECT, Limits(seconds=3))


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("missing", Outcome.MISSING),
        ("crashed", Outcome.CRASHED),
        ("timeout", Outcome.TIMEOUT),
        ("memory", Outcome.MEMORY),
        ("output", Outcome.OUTPUT),
        ("refused", Outcome.INCORRECT),
        ("fault", Outcome.FAULT),
    ],
)
def test_what_is_no_value_becomes_a_verdict(status, outcome):
    answer, _ = asked(Execution(status=status, reason="because of this", printed="epoch 1"))
    assert isinstance(answer, NoAnswer)
    assert (answer.name, answer.origin) == ("total", "hw2_1.py:total_macs")
    assert (answer.verdict.outcome, answer.verdict.credit) == (outcome, 0)
    assert answer.verdict.reason == "because of this"
    assert answer.verdict.facts == {"printed": "epoch 1"}


def test_a_value_of_another_type_is_incorrect():
    answer, _ = asked(Execution(status="returned", value=float("nan")))
    assert answer.verdict.outcome is Outcome.INCORRECT
    assert answer.verdict.reason.startswith("total_macs returned ")
    assert "nan" in answer.verdict.reason


def test_the_file_may_lie_in_the_only_folder_that_has_it(tmp_path):
    (tmp_path / "lab02").mkdir()
    (tmp_path / "lab02/HW2_1.py").write_text("def total_macs(model): pass")
    runner = Canned(Execution(status="returned", value=5))
    answer = call_it(read(tmp_path, "anna"), runner)
    assert (answer.value.value, answer.origin) == (5, "lab02/HW2_1.py:total_macs")
    assert runner.requests[0].file == "lab02/HW2_1.py"
    (tmp_path / "old").mkdir()
    (tmp_path / "old/hw2_1.py").write_text("def total_macs(model): pass")
    answer = call_it(read(tmp_path, "anna"), runner)
    assert answer.verdict.outcome is Outcome.INCORRECT
    assert answer.verdict.reason.startswith("2 files could be 'hw2_1.py': 'lab02/HW2_1.py', 'old/hw2_1.py'; keep one")


def call_it(handed_in, runner):
    return obtain("total", "count", FORM, handed_in, subject=SUBJECT, limits=Limits(), runner=runner)
