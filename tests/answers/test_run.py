"""Answers read from what a program printed and wrote: one run for all, and what is said where there is none."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.handed_in import read

from labgrade.answers.obtain import obtain
from labgrade.answers.question import Question
from labgrade.answers.reader.reader import Reader
from labgrade.answers.run import Runs
from labgrade.core.results import Answer, NoAnswer
from labgrade.core.task import (
    AnswerSpec,
    EntryForm,
    FileForm,
    InputSpec,
    Limits,
    RunForm,
    SubjectSpec,
    TableType,
    TextForm,
)
from labgrade.reports.summary import reason
from labgrade.sandbox.requests import ProgramRun
from labgrade.verdict import Outcome

SUBJECT = SubjectSpec(model="torchvision/alexnet", input=InputSpec(shape=(1, 3, 224, 224)))
CASE = SubjectSpec(model="torchvision/resnet18", input=InputSpec(shape=(1, 3, 224, 224)))


class Canned:
    """A runner whose ProgramRun is known beforehand."""

    def __init__(self, execution):
        self.execution = execution
        self.requests = []

    def run_script(self, request):
        self.requests.append(request)
        return self.execution


def execution(stdout="", files=None, status="returned", **other):
    written = {path: text.encode() for path, text in (files or {}).items()}
    return ProgramRun(status=status, files=written, stdout=stdout.encode(), **other)


def form(reads=None, file="hw.py", **other):
    return RunForm(file=file, reads=reads or TextForm(after="Total MACs"), **other)


@pytest.fixture
def ask(tmp_path):
    """Asks for an answer in some forms of a submission that holds some files."""
    asked = []

    def once(
        ended, *forms, kind="count", files=("hw.py",), subject=SUBJECT, live_only=False, provide=None, builder=None
    ):
        for file in files:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text("")
        runner = ended if isinstance(ended, Canned) else Canned(ended)
        runs = Runs(runner, provide or (lambda source, at: Path(f"/{source}-{at.model}")), builder, Reader(None))
        asked.append(runs)
        wanted = AnswerSpec(name="total", type=kind, forms=forms or (form(),))
        question = Question(wanted=wanted, submission=read(tmp_path, "anna"), subject=subject, live_only=live_only)
        return obtain(question, SimpleNamespace(reader=runs.reader, runner=runner, runs=runs, store=tmp_path))

    yield once
    for runs in asked:
        runs.close()


def test_the_value_behind_the_words_in_what_it_prints(ask):
    answer = ask(execution("...\nTotal MACs: 1,498,376,192\n"))
    assert isinstance(answer, Answer)
    assert answer.value.value == 1_498_376_192
    assert answer.origin == "python hw.py: stdout:2"


def test_a_file_that_it_writes_a_pattern_and_a_table(ask):
    files = {"out.txt": "Total MACs: 5\n", "rows.csv": "layer,macs\na,1\n", "c/a.txt": "[1,2]", "c/b.txt": "[3]"}
    ended = execution(files=files)
    assert ask(ended, form(TextForm(after="Total MACs", file="out.txt"))).origin == "python hw.py: out.txt:1"
    table = TableType(row="layer", columns={"macs": "count"})
    assert ask(ended, form(FileForm(pattern="rows.csv")), kind=table).value.rows[0].name == "a"
    printed = execution("| layer | macs |\n|---|---|\n| a | 1 |\n")
    assert ask(printed, form(TextForm()), kind=table).value.rows[0].name == "a"


def test_a_file_that_was_handed_in_is_not_one_that_it_wrote(ask):
    answer = ask(execution("ok"), form(TextForm(after="Total MACs", file="out.txt")), files=("hw.py", "out.txt"))
    assert answer.verdict.outcome is Outcome.MISSING
    assert answer.verdict.reason == "python hw.py ended well, but wrote no 'out.txt'"


def test_what_it_wrote_and_printed_instead_is_said(ask):
    ended = execution("Total: 5", files={"hw2-1-4.txt": "Total MACs: 5"})
    assert ask(ended).verdict.reason == "python hw.py ended well, but 'Total MACs' is not in what it printed"
    missing = ask(ended, form(TextForm(after="Total MACs", file="hw2-1-4-output.txt")))
    assert missing.verdict.reason == (
        "python hw.py ended well, but wrote no 'hw2-1-4-output.txt'; it wrote 'hw2-1-4.txt'"
    )
    inside = ask(ended, form(TextForm(after="Total FLOPs", file="hw2-1-4.txt")))
    assert inside.verdict.reason == "python hw.py ended well, but 'Total FLOPs' is not in 'hw2-1-4.txt'"


def test_no_program_is_no_answer_and_says_what_was_looked_for(ask):
    answer = ask(execution(), form(folder="hw2-1"), files=("other.txt",))
    assert answer.verdict.outcome is Outcome.MISSING
    assert reason(answer.verdict) == "nothing was handed in; looked for 'python hw.py' in hw2-1"


def test_a_program_in_a_folder_runs_there_wherever_that_lies(ask):
    runner = Canned(execution("Total MACs: 5"))
    ask(runner, form(folder="hw2-1", arguments=("-v",)), files=("lab02/HW2-1/hw.py",))
    (request,) = runner.requests
    assert (request.cwd, request.file, request.arguments) == ("lab02/HW2-1", "hw.py", ("-v",))


def test_what_it_writes_in_its_folder_is_named_from_there(ask):
    ended = execution(files={"hw2-1/out.txt": "Total MACs: 5", "top.txt": "Total MACs: 6"})
    reads = TextForm(after="Total MACs", file="out.txt")
    assert ask(ended, form(reads, folder="hw2-1"), files=("hw2-1/hw.py",)).origin == "python hw.py: out.txt:1"


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("crashed", Outcome.CRASHED),
        ("timeout", Outcome.TIMEOUT),
        ("memory", Outcome.MEMORY),
        ("output", Outcome.OUTPUT),
        ("fault", Outcome.FAULT),
    ],
)
def test_how_it_failed(ask, status, outcome):
    answer = ask(execution("x", status=status, reason="hw.py: why"))
    assert isinstance(answer, NoAnswer)
    assert (answer.verdict.outcome, answer.verdict.reason) == (outcome, "hw.py: why")
    assert answer.verdict.facts["printed"] == "x"
    assert answer.printed == "x"
    assert answer.origin == "python hw.py"


def test_a_value_that_came_before_it_failed_counts_with_a_note(ask):
    answer = ask(execution("Total MACs: 5\n", status="timeout", reason="hw.py used more than 60 s"))
    assert answer.value.value == 5
    assert answer.notes == ("hw.py did not end well: hw.py used more than 60 s",)


def test_other_words_are_tried_after_a_failure_but_nothing_else(ask):
    ended = execution("Total params: 5\n", status="crashed", reason="why")
    forms = (form(), form(TextForm(after="Total params")))
    assert ask(ended, *forms).value.value == 5
    static = (form(), TextForm(after="Total MACs", file="out.txt"))
    (read_file,) = [ask(ended, *static, files=("hw.py", "out.txt"))]
    assert read_file.verdict.outcome is Outcome.CRASHED


def test_a_program_that_says_nothing_leaves_the_word_to_the_next_form(ask, tmp_path):
    (tmp_path / "answers.yaml").write_text("total: 7")
    assert ask(execution("nothing"), form(), EntryForm(path="total")).value.value == 7


def test_a_failed_run_is_told_before_one_that_said_nothing(ask):
    class Two(Canned):
        def run_script(self, request):
            return execution() if request.file == "a.py" else self.execution

    two = Two(execution(status="crashed", reason="why"))
    for forms in ((form(file="a.py"), form()), (form(), form(file="a.py"))):
        assert ask(two, *forms, files=("hw.py", "a.py")).verdict.outcome is Outcome.CRASHED


def test_hints_for_what_is_only_so_where_work_is_graded(ask):
    def hint(reason):
        return ask(execution(status="crashed", reason=reason)).verdict.hint

    assert hint("hw.py:3: `import ptflops` raised ModuleNotFoundError: No module named 'ptflops.x'").startswith(
        "'ptflops' is not installed where your work is graded"
    )
    opened = "raised FileNotFoundError: [Errno 2] No such file or directory: 'models/alexnet.onnx'"
    assert hint(opened).startswith("hand in 'models/alexnet.onnx', too")
    assert "by input()" in hint("hw.py:1: `input()` raised EOFError: EOF when reading a line")
    assert hint("hw.py:1: `1 / 0` raised ZeroDivisionError: division by zero") == ""


def test_weights_that_stood_in_are_noted(ask):
    (note,) = ask(execution("Total MACs: 5", seeded=("googlenet", "alexnet"))).notes
    assert note.startswith(
        "the trained weights of 'googlenet', 'alexnet' can't be downloaded here: seeded ones stood in"
    )


def test_one_run_serves_all_that_ask_for_it(tmp_path):
    (tmp_path / "hw.py").write_text("")
    who, other = read(tmp_path, "anna"), read(tmp_path / "..", "all")
    runner = Canned(execution("Total MACs: 5"))
    runs = Runs(runner, lambda source, at: Path(f"/{source}-{at.model}"), None, Reader(None))
    fixed = form(provide={"a.onnx": "torchvision/alexnet.onnx"})
    varying = form(provide={"a.onnx": "subject.onnx"}, varies=True)

    def ran(wanted, subject, submission=who, limits=Limits()):  # noqa: B008 - frozen
        runs.run(wanted, "hw.py", submission, subject=subject, limits=limits)
        return len(runner.requests)

    assert [ran(fixed, SUBJECT), ran(fixed, SUBJECT), ran(fixed, CASE)] == [1, 1, 1]
    assert [ran(varying, SUBJECT), ran(varying, CASE), ran(varying, SUBJECT)] == [2, 3, 3]
    assert runner.requests[-1].provide == {"a.onnx": Path("/subject.onnx-torchvision/resnet18")}
    assert ran(fixed, SUBJECT, limits=Limits(seconds=1.0)) == 4
    assert ran(fixed, SUBJECT, submission=other) == 5
    runs.close()


def test_cases_are_answered_only_where_something_varies(ask):
    fixed = form(provide={"a.onnx": "torchvision/alexnet.onnx"})
    assert ask(execution("Total MACs: 5"), fixed, live_only=True).verdict.outcome is Outcome.MISSING
    varying = form(provide={"a.onnx": "subject.onnx"}, varies=True)
    assert ask(execution("Total MACs: 5"), varying, live_only=True, subject=CASE).value.value == 5


def test_names_of_files_that_lead_elsewhere_are_left_out(ask):
    ended = execution(files={"../x": "1", "/y": "2", "a\\b": "3", "a//b": "4", "z\n": "5", "ok.txt": "Total MACs: 5"})
    missing = ask(ended, form(TextForm(after="Total MACs", file="none.txt")))
    assert missing.verdict.reason == "python hw.py ended well, but wrote no 'none.txt'; it wrote 'ok.txt'"
