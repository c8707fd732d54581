"""C++ programs: what they are given, how their ends are told, and how what they print is read."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.handed_in import read

from labgrade.answers.obtain import obtain
from labgrade.answers.question import Question
from labgrade.answers.reader.reader import Reader
from labgrade.answers.run import Runs
from labgrade.core.results import Answer, NoAnswer
from labgrade.core.task import AnswerSpec, BuildForm, EntryForm, InputSpec, RunForm, SubjectSpec, TextForm
from labgrade.cpp import explain
from labgrade.cpp.build import Built
from labgrade.cpp.run import in_words
from labgrade.sandbox.requests import ProgramRun
from labgrade.verdict import Outcome

SUBJECT = SubjectSpec(model="torchvision/alexnet", input=InputSpec(shape=(2, 3, 64, 96)))
CASE = SubjectSpec(model="torchvision/resnet18", input=InputSpec(shape=(1, 3, 32, 32)))
FORM = BuildForm(
    program="analyze",
    folder="hw2-4",
    given=("torchscript_path", "input_size"),
    varies=True,
    reads=EntryForm(path="macs"),
)
BUILT = Built(files={".build/analyze": Path("/built/analyze"), ".build/libx.so.1": Path("/built/libx")})


class Canned:
    """A runner and a builder whose results are known beforehand."""

    def __init__(self, run, built):
        self.result, self.made = run, built
        self.requests, self.builds = [], 0

    def execute(self, request):
        self.requests.append(request)
        return self.result

    def build(self, sources, program):
        self.builds += 1
        return self.made


@pytest.fixture
def ask(tmp_path):
    (tmp_path / "hw2-4").mkdir()
    (tmp_path / "hw2-4/analyze.cpp").write_text("")
    asked = []

    def once(stdout="", *, form=FORM, built=BUILT, subject=SUBJECT, kind="count", live_only=False, **other):
        run = ProgramRun(**{"status": "returned", "code": 0, "stdout": stdout.encode(), **other})
        once.canned = Canned(run, built)
        runs = Runs(once.canned, lambda source, at: Path(f"/{source}-{at.model}"), once.canned, Reader(None))
        asked.append(runs)
        wanted = AnswerSpec(name="total", type=kind, forms=(form,))
        question = Question(wanted=wanted, submission=read(tmp_path, "anna"), subject=subject, live_only=live_only)
        return obtain(question, SimpleNamespace(reader=Reader(None), runner=once.canned, runs=runs, store=tmp_path))

    yield once
    for runs in asked:
        runs.close()


def test_it_is_run_with_the_file_and_the_size_of_the_subject_or_the_case(ask):
    ask("macs: 5")
    (request,) = ask.canned.requests
    assert request.command == ("./.build/analyze", ".given/model.pt", "2", "3", "64", "96")
    assert request.name == "analyze"
    assert request.provide[".given/model.pt"] == Path("/subject.pt-torchvision/alexnet")
    assert request.provide[".build/libx.so.1"] == Path("/built/libx")
    assert "analyze.cpp" in request.provide
    assert isinstance(ask("macs: 5", subject=CASE, live_only=True), Answer)
    assert ask.canned.requests[0].command[2:] == ("1", "3", "32", "32")


def test_it_is_run_with_the_names_of_a_config(ask):
    layers = {"name": "odd", "input": [1, 45], "layers": [8, "M"], "padded": True, "costs": {"mac": 1.5}, "none": []}
    subject = SubjectSpec(model="config", options=layers, input=InputSpec(shape=()))
    ask("macs: 5", form=replace(FORM, given=("config",)), subject=subject)
    words = ["name=odd", "input=1,45", "layers=8,M", "padded=true", 'costs={"mac": 1.5}', "none="]
    assert ask.canned.requests[0].command[1:] == tuple(words)
    assert ".given/model.pt" not in ask.canned.requests[0].provide


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("loading\nmacs: 714188480\nmore: 1\n", 714_188_480),
        ("macs = 714,188,480\n", 714_188_480),
        ("  'macs' : 0.714188480 G,\n", 714_188_480),
        ('loading\n{"weight_bytes": 3,\n "macs": 714188480}\nbye\n', 714_188_480),
        ('{"macs": 1}\n{"macs": 2}\n', 2),
        ('{not json\n{"macs": 7}', 7),
    ],
)
def test_lines_with_names_and_json_are_read(ask, said, value):
    answer = ask(said)
    assert isinstance(answer, Answer), answer
    assert answer.value.value == value
    assert answer.origin.startswith("analyze: stdout")


@pytest.mark.parametrize("said", ["total macs: 5\n", "macs_of_conv: 5\n", "nothing\n", '{"other": 5}\n', ""])
def test_another_name_is_no_answer(ask, said):
    answer = ask(said)
    assert isinstance(answer, NoAnswer)
    assert answer.verdict.outcome is Outcome.MISSING
    last = f"printed no 'macs: ...'; its last line is '{said.strip()}'"
    nothing = "analyze ended well, but printed nothing; a line 'macs: ...' is looked for"
    assert (last in answer.verdict.reason) if said else (answer.verdict.reason == nothing)


def test_entries_of_python_programs_are_read_too(ask, tmp_path):
    class Scripted(Canned):
        def run_script(self, request):
            return self.result

    (tmp_path / "hw.py").write_text("")
    canned = Scripted(ProgramRun(status="returned", stdout=b'{"a": {"macs": 9}}'), BUILT)
    runs = Runs(canned, None, canned, Reader(None))
    form = RunForm(file="hw.py", reads=EntryForm(path="a.macs"))
    wanted = AnswerSpec(name="t", type="count", forms=(form,))
    question = Question(wanted=wanted, submission=read(tmp_path, "anna"), subject=SUBJECT)
    answer = obtain(question, SimpleNamespace(reader=Reader(None), runner=canned, runs=runs, store=tmp_path))
    runs.close()
    assert answer.value.value == 9


def test_words_are_read_as_of_any_program(ask):
    form = BuildForm(program="analyze", folder="hw2-4", reads=TextForm(after="Weight bytes"))
    assert ask("Weight bytes: 244.4 MB", form=form, kind="bytes").value.value == 244_400_000


def test_what_does_not_build_is_the_student_s_with_its_reason_and_hint(ask):
    failed = ProgramRun(status="crashed", reason="hw2-4 does not build: a.cpp:1:1: x", stdout=b"log")
    answer = ask(built=Built(files={}, failed=failed, hint="do this", notes=("a note",)))
    assert (answer.verdict.outcome, answer.verdict.reason) == (Outcome.CRASHED, failed.reason)
    assert (answer.verdict.hint, answer.verdict.facts["printed"]) == ("do this", "log")
    assert answer.notes == ("a note",)
    assert ask.canned.requests == []


def test_the_only_program_is_taken_whatever_its_name_and_of_several_the_named_one(ask):
    def run_of(*names):
        answer = ask("macs: 5", built=Built(files={name: Path("/x") for name in names}))
        return answer, [request.command[0] for request in ask.canned.requests]

    answer, commands = run_of(".build/loadModel")
    assert (commands, answer.notes) == (
        ["./.build/loadModel"],
        ("the build makes no 'analyze'; its only program, 'loadModel', was run",),
    )
    assert run_of(".build/other", ".build/bin/analyze")[1] == ["./.build/bin/analyze"]
    answer, commands = run_of(".build/a", ".build/b")
    assert commands == []
    assert answer.verdict.outcome is Outcome.MISSING
    assert answer.verdict.hint == "name it so: add_executable(analyze ...) in CMakeLists.txt, or -o analyze"
    assert answer.verdict.reason == "the build ended well, but made no program 'analyze'; it made 'a', 'b'"


def test_a_value_before_the_end_counts_with_a_note(ask):
    answer = ask("macs: 5\n", code=-11)
    assert answer.value.value == 5
    assert answer.notes == ("analyze did not end well: analyze was killed by signal 11 (SIGSEGV)",)


INTERPRETER = (
    b"terminate called after throwing an instance of 'std::runtime_error'\n  what():  The following operation failed "
    b"in the TorchScript interpreter.\nTraceback of TorchScript\nRuntimeError: mat1 and mat2 cannot be multiplied\n"
)


@pytest.mark.parametrize(
    ("code", "stderr", "status", "reason"),
    [
        (-11, b"", "crashed", "analyze was killed by signal 11 (SIGSEGV)"),
        (2, b"usage: analyze MODEL\n", "crashed", "analyze ended with exit code 2: usage: analyze MODEL"),
        (255, b"", "crashed", "analyze ended with exit code 255"),
        (-6, INTERPRETER, "crashed", "nothing caught, std::runtime_error: mat1 and mat2 cannot be multiplied"),
        (-6, b"terminate called after throwing an instance of 'int'\n", "crashed", "that nothing caught, int"),
        (-6, b"terminate called after throwing an instance of 'std::bad_alloc'\n", "memory", "asked for more memory"),
        (0, b"a warning", "returned", ""),
    ],
)
def test_how_it_ended_in_words(code, stderr, status, reason):
    crash = explain.read("crash", None, stderr.decode())
    told = in_words(ProgramRun(status="returned", code=code, stderr=stderr), "analyze", crash)
    assert told.status == status
    assert told.reason.endswith(reason) or reason in told.reason


def test_a_file_opened_by_a_name_of_their_own_is_explained(ask):
    error = (
        b"terminate called after throwing an instance of 'c10::Error'\n  what():  open file failed because of errno 2 "
    )
    answer = ask(code=-6, stderr=error + b"on fopen: No such file or directory, file path: my.pt\n")
    assert answer.verdict.hint == "open the file that the program is called with, argv[1], not 'my.pt'"


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ('int main(int c, char** argv) { module = torch::jit::load("alexnet.pt"); }', "argv[1], not 'alexnet.pt'"),
        ('std::string path = "../traced_model.pt"; auto m = torch::jit::load(path);', "argv[1], not '../traced_model"),
        ('path = argc > 1 ? argv[1] : "alexnet.pt"; load(path);', ""),
        ('if (argc < 2) puts("usage: analyze model.pt");', ""),
        ("std::cin >> path;", "nobody types while your work is graded"),
    ],
)
def test_what_a_failed_program_takes_from_elsewhere_is_told_from_its_sources(ask, tmp_path, source, hint):
    (tmp_path / "hw2-4/analyze.cpp").write_text(source)
    answer = ask(code=255, stderr=b"error loading the model\n")
    assert answer.verdict.reason == "analyze ended with exit code 255: error loading the model"
    assert hint in answer.verdict.hint
    assert bool(hint) == bool(answer.verdict.hint)
    assert isinstance(ask("macs: 5\n"), Answer)


def test_memory_of_others_is_explained(ask):
    assert ask(code=-11).verdict.hint.startswith("it used memory that is not its own")


def test_an_address_is_no_part_of_a_reason(ask):
    error = b"terminate called after throwing an instance of 'torch::jit::ObjectAttributeError'\n  what():  "
    error += b"__torch__.AlexNet (of Python compilation unit at: 0x564655de5040) does not have a field with name 'fc'\n"
    reason = ask(code=-6, stderr=error).verdict.reason
    assert reason.endswith("torch::jit::ObjectAttributeError: __torch__.AlexNet does not have a field with name 'fc'")


class Tutorial(Canned):
    """As PyTorch's tutorial has it: any number of arguments but one ends it."""

    def execute(self, request):
        self.requests.append(request)
        if len(request.command) == 2:
            return self.result
        return ProgramRun(status="returned", code=255, stderr=b"usage: analyze <path>\n")


@pytest.mark.parametrize("code", [0, 3])
def test_a_program_that_wants_the_path_alone_is_given_it_alone(tmp_path, code):
    (tmp_path / "hw2-4").mkdir()
    (tmp_path / "hw2-4/analyze.cpp").write_text("")
    canned = Tutorial(ProgramRun(status="returned", code=code, stdout=b"macs: 5\n"), BUILT)
    runs = Runs(canned, lambda source, at: Path(f"/{source}"), canned, Reader(None))
    wanted = AnswerSpec(name="t", type="count", forms=(FORM,))
    question = Question(wanted=wanted, submission=read(tmp_path, "anna"), subject=SUBJECT)
    answer = obtain(question, SimpleNamespace(reader=Reader(None), runner=canned, runs=runs, store=tmp_path))
    runs.close()
    assert [len(request.command) for request in canned.requests] == [6, 2]
    if code == 0:
        assert answer.value.value == 5
        alone = "called with the path alone: with the size of the input behind it, it ended with exit code 255"
        assert answer.notes == (alone,)
    else:
        assert answer.verdict.reason == "analyze ended with exit code 255: usage: analyze <path>"


@pytest.mark.parametrize("reads", [EntryForm(path="macs"), TextForm(after="MACs")])
def test_a_value_on_the_other_stream_counts_with_a_note(ask, reads):
    form = replace(FORM, reads=reads)
    answer = ask("loading\n", stderr=b"macs: 5\n", form=form)
    assert answer.value.value == 5
    assert answer.origin.startswith("analyze: stderr:1")
    assert answer.notes == ("it stands on stderr; print answers with std::cout",)
    both = ask("macs: 6\n", stderr=b"macs: 5\n", form=form)
    assert (both.value.value, both.notes) == (6, ())
    assert isinstance(ask("loading\n", stderr=b"other: 5\n", form=form), NoAnswer)


def test_sources_elsewhere_are_named(ask, tmp_path):
    (tmp_path / "hw2-4").rename(tmp_path / "homework")
    answer = ask()
    assert answer.verdict.outcome is Outcome.MISSING
    assert answer.verdict.suggestions == (
        "'homework/analyze.cpp' is C++: put it into a folder 'hw2-4', where it is built",
    )
    assert "a C++ program 'analyze' in hw2-4" in answer.verdict.looked_for


def test_sources_that_can_t_be_told_are_said(ask, tmp_path):
    (tmp_path / "hw2-4/b.cpp").write_text("")
    answer = ask()
    assert answer.verdict.outcome is Outcome.INCORRECT
    assert answer.verdict.reason.startswith("there are 2 C++ files in 'hw2-4'")
