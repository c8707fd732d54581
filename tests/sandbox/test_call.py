"""Answers by function: what is present without running it, and what becomes of each Execution."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.handed_in import read

from labgrade.answers import call
from labgrade.answers.python_source import present
from labgrade.answers.question import Question
from labgrade.answers.reader.reader import Reader
from labgrade.core.results import Answer, Execution, NoAnswer
from labgrade.core.task import AnswerSpec, CallForm, InputSpec, Limits, SubjectSpec, TableType
from labgrade.values import Number
from labgrade.verdict import Outcome

FORM = CallForm(file="hw2_1.py", function="total_macs", given=("model",))
SUBJECT = SubjectSpec(model="small", input=InputSpec(shape=(1, 3, 8, 8)))
GALLERY = Path(__file__).parents[1] / "galleries/submissions"


def obtain(submission, runner, kind="count"):
    """The answer of a function that writes no file: nothing is kept."""
    wanted = AnswerSpec(name="total", type=kind, forms=(FORM,))
    question = Question(wanted=wanted, submission=submission, subject=SUBJECT, limits=Limits(seconds=3))
    return call.obtain(question, FORM, SimpleNamespace(runner=runner, reader=Reader(None), store=Path("nowhere")))


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
        "def total_macs(): return 1",
        "async def total_macs(): return 1",
        "class total_macs: pass",
        "total_macs = lambda model: 1",
        "a, (b, *total_macs) = 1, (2, 3)",
        "total_macs: object = 1",
        "from helper import total_macs",
        "from helper import count as total_macs",
        "import total_macs.inner",
        "if True:\n  try:\n    import torch\n  except ImportError:\n    def total_macs(): return 1",
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
    assert present(FORM, submission(tmp_path, source))


@pytest.mark.parametrize(
    "source",
    [
        "",
        "def total_mac(): pass",
        "total_macs",
        "print(total_macs)",
        "def outer():\n  def total_macs(): return 1",
        "class Outer:\n  def total_macs(self): pass",
        "x = [total_macs for _ in range(3)]",
        "from total_macs import other",
        "import total_macs as other",
        "'def total_macs(): return 1'",
        "x = '\\d'  # of which Python warns",
    ],
)
def test_not_present(tmp_path, source):
    found = submission(tmp_path, source)
    assert not present(FORM, found)
    runner = Canned(None)
    assert obtain(found, runner) is None
    assert runner.requests == []


def test_not_present_without_the_file_or_through_a_link(tmp_path):
    (tmp_path / "s").mkdir()
    assert not present(FORM, read(tmp_path / "s", "s"))
    (tmp_path / "other.py").write_text("def total_macs(): return 1")
    found = submission(tmp_path / "s", "def total_macs(): return 1")
    (tmp_path / "s/hw2_1.py").unlink()
    (tmp_path / "s/hw2_1.py").symlink_to(tmp_path / "other.py")
    assert not present(FORM, found)


def asked(execution, kind="count"):
    runner = Canned(execution)
    found = read(GALLERY / "counts", "counts")
    answer = obtain(found, runner, kind)
    return answer, runner.requests


def test_a_value_becomes_an_answer():
    answer, requests = asked(Execution(status="returned", value=1498376192))
    assert isinstance(answer, Answer)
    assert answer.origin == "hw2_1.py:total_macs"
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
    assert answer.origin == "hw2_1.py:total_macs"
    assert (answer.verdict.outcome, answer.verdict.credit) == (outcome, 0)
    assert answer.verdict.reason == "because of this"
    assert answer.verdict.facts == {"printed": "epoch 1"}


def test_a_value_of_another_type_is_incorrect():
    answer, _ = asked(Execution(status="returned", value=float("nan")))
    assert answer.verdict.outcome is Outcome.INCORRECT
    assert answer.verdict.reason.startswith("total_macs returned ")
    assert "nan" in answer.verdict.reason


@pytest.mark.parametrize("path", ["HW2_1.py", "hw2-1/hw2_1.py"])
def test_the_only_file_of_the_name_is_found_in_another_case_or_folder(tmp_path, path):
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text("def total_macs(model): return 1")
    runner = Canned(Execution(status="returned", value=7))
    answer = obtain(read(tmp_path, "s"), runner)
    assert (answer.value.value, answer.origin) == (7, f"{path}:total_macs")
    assert answer.remarks == (f"read '{path}' for 'hw2_1.py'",)
    assert runner.requests[0].file == path
    runner.execution = Execution(status="crashed", reason="it fails")
    failed = obtain(read(tmp_path, "s"), runner)
    assert (failed.verdict.outcome, failed.remarks) == (Outcome.CRASHED, answer.remarks)


def test_two_files_of_the_name_are_one_too_many(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "hw2_1.py").write_text("def total_macs(model): return 1")
    runner = Canned(None)
    answer = obtain(read(tmp_path, "s"), runner)
    assert answer.verdict.outcome is Outcome.INCORRECT
    assert answer.verdict.reason == ("2 files could be 'hw2_1.py': 'a/hw2_1.py', 'b/hw2_1.py'; keep one, at the top")
    assert runner.requests == []


@pytest.mark.parametrize("value", [[7], np.array([7]), np.array([[7.0]]), ["7"], {"total": 7}, {"macs": [7]}])
def test_the_only_element_of_a_list_is_the_value_with_a_note(value):
    answer, _ = asked(Execution(status="returned", value=value))
    assert answer.value.value == 7
    (note,) = answer.remarks
    assert note.endswith("was returned; the only value in it was read")


@pytest.mark.parametrize("value", [[7, 8], [], [[7]], np.array([7, 8]), {"a": 7, "b": 8}, {"a": {}}, [True], [None]])
def test_what_is_not_one_element_is_not_a_count(value):
    answer, _ = asked(Execution(status="returned", value=value))
    assert answer.verdict.outcome is Outcome.INCORRECT


@pytest.mark.parametrize(
    ("value", "kind", "meant"),
    [([119.445696, "MB"], "bytes", 119_445_696), ([2, "KiB"], "bytes", 2048), ([7, "MACs"], "count", 7)],
)
def test_a_number_and_its_unit_are_read_together(value, kind, meant):
    answer, _ = asked(Execution(status="returned", value=value), kind)
    assert answer.value.value == meant
    assert answer.remarks == ("a number and its unit were returned, and read together",)


def test_a_number_is_no_list_and_a_shape_of_one_dimension_stays_a_shape():
    answer, _ = asked(Execution(status="returned", value=np.array(7)))
    assert (answer.value.value, answer.remarks) == (7, ())
    answer, _ = asked(Execution(status="returned", value=[7]), "shape")
    assert (answer.value, answer.remarks) == ((7,), ())


TABLE = TableType(row="layer", columns={"parameters": "count", "output_shape": "shape"})


def test_a_printed_table_that_is_returned_is_read_as_one():
    rule, head = "=" * 80, "Layer (type:depth-idx)      Param #      Output Shape"
    rows = "├─Conv2d: 1-1      9,408      [1, 64, 112, 112]\n├─ReLU: 1-2      --      [1, 64]"
    answer, _ = asked(Execution(status="returned", value=f"{rule}\n{head}\n{rule}\n{rows}\n{rule}"), TABLE)
    assert [(row.name, row.cells["output_shape"]) for row in answer.value.rows] == [
        ("Conv2d: 1-1", (1, 64, 112, 112)),
        ("ReLU: 1-2", (1, 64)),
    ]
    answer, _ = asked(Execution(status="returned", value="layer,parameters\nconv1,5\n"), TABLE)
    assert "the table has no column 'output_shape'" in answer.verdict.reason
    answer, _ = asked(Execution(status="returned", value="a table"), TABLE)
    assert answer.verdict.reason.startswith("total_macs returned the text 'a table', but a table is asked for")
