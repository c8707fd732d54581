"""What a student's own check remembers: the same report where nothing changed, and never one of something else."""

import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from helpers import small_course

from labgrade.cli import main
from labgrade.core.results import Report, Submission, SubmissionReport
from labgrade.core.task import AnswerSpec, CallForm, EntryForm, RunForm
from labgrade.run import student_memory
from labgrade.run.student_memory import Memory
from labgrade.verdict import Outcome, correct, without_value
from tests.reports.sample import graded, task

RIGHT = Report(submissions=(SubmissionReport(name="ann", tasks=(task("1-1", "A", graded("a", 1, correct())),)),))


@pytest.fixture
def course(tmp_path, monkeypatch):
    small_course.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path.parent / f"{tmp_path.name}-cache"))
    return tmp_path


def memory(**more):
    return Memory(Path("submissions/twice"), **more)


def keep(report=RIGHT):
    memory().keep(report, memory().state())


def test_nothing_changed_and_it_is_the_same_report(course):
    assert memory().report() is None
    keep()
    assert memory().report() == RIGHT


@pytest.mark.parametrize(
    "path",
    [
        "submissions/twice/answers.yaml",
        "submissions/twice/new.txt",
        "submissions/twice/below/new.txt",
        "specs/lab/task.yaml",
        "specs/lab/lab.yaml",
        "reference/own.py",
        "checkers/own.py",
        "models/own.py",
        "course.key",
    ],
)
def test_whatever_it_follows_from_changes_and_it_is_graded_anew(course, path):
    (course / path).parent.mkdir(exist_ok=True)
    (course / "submissions/twice/below").mkdir(exist_ok=True)
    keep()
    before = (course / path).read_bytes() if (course / path).exists() else b""
    (course / path).write_bytes(before + b"#")
    assert memory().report() is None
    if before:
        (course / path).write_bytes(before)
        assert memory().report() == RIGHT


def test_a_large_file_is_known_by_its_state(course, monkeypatch):
    monkeypatch.setattr(student_memory, "_READ", 4)
    keep()
    assert memory().report() == RIGHT
    os.utime(course / "submissions/twice/answers.yaml", ns=(1, 1))
    assert memory().report() is None


def test_a_link_is_what_it_leads_to(course):
    (course / "submissions/twice/link").symlink_to("a")
    keep()
    (course / "submissions/twice/link").unlink()
    (course / "submissions/twice/link").symlink_to("b")
    assert memory().report() is None


def test_what_tools_leave_changes_nothing(course):
    keep()
    (course / "submissions/twice/__pycache__").mkdir()
    (course / "submissions/twice/__pycache__/a.pyc").write_text("")
    assert memory().report() == RIGHT


def test_other_options_packages_and_machines_are_others(course, monkeypatch, tmp_path_factory):
    keep()
    assert memory(lab="lab").report() is None
    assert memory(tasks=["task"]).report() is None
    assert memory(course=course).report() is None
    for name in ("_packages", "_protection"):
        with monkeypatch.context() as changed:
            changed.setattr(student_memory, name, lambda: ["another"])
            assert memory().report() is None
    with monkeypatch.context() as changed:
        changed.setenv("LABGRADE_TORCH_HOME", str(course))
        assert memory().report() is None
    assert memory().report() == RIGHT


def test_a_package_that_is_installed_is_noticed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    before = student_memory._packages()
    (tmp_path / "thop-1.0.dist-info").mkdir()
    assert student_memory._packages() != before


@pytest.mark.parametrize("outcome", [Outcome.FAULT, Outcome.TIMEOUT, Outcome.MEMORY])
def test_what_may_pass_is_never_remembered(course, outcome):
    passing = replace(RIGHT.submissions[0], tasks=(task("1-1", "A", graded("a", 1, without_value(outcome, "now"))),))
    keep(Report(submissions=(passing,)))
    assert memory().report() is None
    memory().keep_task(of_task(), submission(course), passing.tasks[0])
    assert memory().task(of_task(), submission(course)) is None


def test_what_changed_while_it_was_graded_is_not_remembered(course):
    state = memory().state()
    (course / "submissions/twice/answers.yaml").write_text("task: {total: 5}")
    memory().keep(RIGHT, state)
    assert memory().report() is None


def test_a_damaged_memory_is_none(course):
    keep()
    (file,) = student_memory.cache_folder().glob("checks/*/*.json")
    for text in ("", "[]", '{"value": {"report": 3}}'):
        file.write_text(text)
        assert memory().report() is None


PROGRAM = """
import sys
from labgrade import cli
print(cli.main(["check", "submissions/right"]), *sys.modules, file=sys.stderr)
"""


@pytest.mark.slow
def test_an_unchanged_check_says_the_same_and_imports_no_engine(course, capsys):
    def checked():
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
        return done.stdout.partition("since your")[0], done.stderr.splitlines()[-1].split()

    first, again = checked(), checked()
    assert first[0] == again[0] != ""
    assert first[1][0] == again[1][0]
    assert "labgrade.run.grader" in first[1]
    packages = {name.split(".")[1] for name in again[1] if name.startswith("labgrade.")}
    assert not packages & {"answers", "diagnosis", "judging", "sandbox", "spec", "submissions", "truth"}
    (course / "submissions/right/answers.yaml").write_text("task: {total: 7}")
    assert main(["check", "submissions/right"]) == 1
    assert "CORRECT 6 -> INCORRECT 0" in capsys.readouterr().out


# ---- one file changed: only what follows from it ---------------------------------------------------------------


def of_task(*forms):
    found = AnswerSpec(name="total", type="count", forms=forms or (CallForm(file="a.py", function="f", given=()),))
    return type("T", (), {"lab": "lab", "id": "1-1", "answers": {"total": found}, "points": Fraction(1)})()


def submission(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    return Submission(name="ann", folder=folder, files=tuple(names))


@pytest.mark.parametrize(
    ("text", "followed"),
    [
        ("import torch\ndef f(m): return m.eval()\n", {"a.py"}),
        ("for m in model.modules(): pass\nimport os\nos.path.join('a')\n", {"a.py"}),
        ("import c\n", {"a.py", "c.py"}),
        ("def f():\n    from c import g\n", {"a.py", "c.py"}),
        ("from . import c\n", {"a.py", "c.py"}),
        ("import math, c as d\n", {"a.py", "c.py"}),
        ("from . import (\n    c)\n", {"a.py", "c.py"}),
        ("x = 1; import c\n", {"a.py", "c.py"}),
        ("import importlib\n", {"a.py", "b.py", "c.py"}),
        ("text = open('b' + ending)\n", {"a.py", "b.py", "c.py"}),
        ("from os import popen\n", {"a.py", "b.py", "c.py"}),
        ("import sys\nsys.path.append('x')\n", {"a.py", "b.py", "c.py"}),
        ("x = 'b.py'\n", {"a.py", "b.py", "c.py"}),
        ("eval('1')\n", {"a.py", "b.py", "c.py"}),
    ],
)
def test_a_task_follows_from_the_programs_that_its_own_imports(tmp_path, text, followed):
    who = submission(tmp_path, a=text, b="", c="import torch")
    (tmp_path / "report.md").write_text("")
    who = submission(tmp_path)
    assert set(student_memory._followed(of_task(), who)) == followed | {"report.md"}


def test_a_program_of_megabytes_is_not_searched(tmp_path):
    """Of 55 MB of names, which a comment of three letters leads to, the words alone took a gigabyte."""
    who = submission(tmp_path, hw="# big", big=" " * (1 << 20) + "#", other="1")
    files = student_memory._followed(of_task(CallForm(file="hw.py", function="f", given=())), who)
    assert set(files) == set(who.files)


def test_a_program_that_is_run_follows_from_everything(tmp_path):
    who = submission(tmp_path, a="", b="")
    run = RunForm(file="a.py", reads=EntryForm(path="x"))
    assert set(student_memory._followed(of_task(run), who)) == {"a.py", "b.py"}
    gone = CallForm(file="gone.py", function="f", given=())
    assert set(student_memory._followed(of_task(gone), who)) == {"a.py", "b.py"}


def test_another_program_changes_and_the_task_is_remembered(course):
    report = RIGHT.submissions[0].tasks[0]
    memory().keep_task(of_task(), submission(course, a="import torch", b=""), report)
    assert memory().task(of_task(), submission(course, b="import math")) == report
    assert memory().task(of_task(), submission(course, a="import math")) is None
    missing = task("1-1", "A", graded("a", 1, without_value(Outcome.MISSING, "no")))
    memory().keep_task(of_task(), submission(course), missing)
    assert memory().task(of_task(), submission(course)) is None
