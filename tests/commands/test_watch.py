"""`labgrade check --watch`: the verdict on what was just saved, from a process that stays."""

import ast
import functools
import io
import os
import queue
import signal
import subprocess
import sys
import threading
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
from helpers import small_course
from rich.console import Console

from labgrade.answers.python_source import code_digest
from labgrade.cli import main
from labgrade.core.results import Graded, Report, Submission, SubmissionReport
from labgrade.run.student_check import with_cause
from labgrade.run.student_memory import since_last
from labgrade.run.watch_session import Session, _Asked, _report_of, _Round
from labgrade.sandbox.time_limits import NotYetError, Patience
from labgrade.verdict import Outcome, correct, incorrect, without_value

LONG = 120  # seconds after which something is broken: nothing is measured here


@pytest.mark.slow
def test_a_save_is_judged_and_what_it_earned_is_said(tmp_path):
    small_course.write(tmp_path)
    environment = {**os.environ, "LABGRADE_CACHE": str(tmp_path / "cache"), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "labgrade.cli", "check", "submissions/twice", "--watch"]
    # A shell's background job ignores Ctrl-C, and so do those that it starts.
    plain = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    told = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, preexec_fn=plain, **told) as running:  # noqa: PLW1509
        lines = queue.Queue()
        threading.Thread(target=lambda: [lines.put(line) for line in running.stdout], daemon=True).start()

        def until(start):
            while not (line := lines.get(timeout=LONG)).startswith(start):
                pass
            return line

        try:
            until("total ")
            answers = tmp_path / "submissions/twice/answers.yaml"
            answers.write_text("task: {total: 1234}")
            assert until("task  ") == "task  PARTIAL -> CORRECT, +3 points\n"
            until("6 / 9 points")
            answers.write_text("task: {total: 7}")
            assert until("task  ") == "task  CORRECT -> INCORRECT, -6 points\n"
            until("0 / 9 points")
            running.send_signal(signal.SIGINT)
            assert running.wait(timeout=LONG) == 0
        finally:
            running.kill()


def test_an_archive_is_not_watched(tmp_path, capsys):
    (tmp_path / "a.zip").write_text("")
    assert main(["check", str(tmp_path / "a.zip"), "--watch"]) == 2
    assert "is no folder" in capsys.readouterr().err


def test_without_watchfiles_it_says_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    assert main(["check", str(tmp_path), "--watch"]) == 2
    assert "pip install watchfiles" in capsys.readouterr().err


CODE = """import torch
A = 1

def one():
    return two() + A

def two():
    return 2

def three():
    return 3
"""


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("return 2", "return 22", {"one", "two"}),
        ("return 3", "return 33", {"three"}),
        ("A = 1", "A = 5", {"one"}),
        ("return 3", "return 3  # a comment", set()),
        ("import torch", "import torch\nprint()", {"one", "two", "three"}),
        ("return 3", "return (", {"one", "two", "three"}),
    ],
)
def test_what_changed_is_known_by_what_a_function_leads_to(tmp_path, old, new, changed):
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text(CODE)
    after.write_text(CODE.replace(old, new))
    names = {node.name for node in ast.parse(CODE).body if isinstance(node, ast.FunctionDef)}
    assert {name for name in names if code_digest(before, name) != code_digest(after, name)} == changed


def rounds(folder, *saves):
    """What a session says of saves, each of them verdicts by check; nothing of the first. Without processes."""
    console = Console(file=io.StringIO(), width=80)
    session = Session(SimpleNamespace(prepare=lambda _: None), [], folder, console)
    about = SimpleNamespace(lab="lab", id="task", title="Task", points=8, hidden_points=0, checks=())
    for number, verdicts in enumerate(saves):
        current = _Round(0, None, None)
        for name, verdict in verdicts.items():
            found = Graded(id=name, points=Fraction(2), earned=2 * verdict.credit, verdict=verdict)
            grading = SimpleNamespace(task=about, graded=lambda _, found=found: found)
            session._judge(current, _Asked(grading, SimpleNamespace(id=name), ("", "")), quiet=number == 0)
        if number:
            session._tell_of_repeats(current)
    return " ".join(console.file.getvalue().split())


CRASHED = without_value(Outcome.CRASHED, "hw.py:3 raised SyntaxError: expected ':'")
MISSING = without_value(Outcome.MISSING, "nothing")


def test_one_cause_is_shown_once(tmp_path):
    names = ("one", "two", "three")
    searched = without_value(Outcome.CRASHED, f"on the smallest network found: {CRASHED.reason}\nimport torch")
    shown = rounds(
        tmp_path, dict.fromkeys((*names, "four"), MISSING), {**dict.fromkeys(names, CRASHED), "four": searched}
    )
    assert shown.count("CRASHED task") == 0
    assert shown.count("! CRASHED") == 1
    assert "4 checks, 8 points, depend on this: hw.py:3 raised SyntaxError" in shown
    assert "smallest network" not in shown


def test_another_cause_is_shown_besides(tmp_path):
    other = without_value(Outcome.CRASHED, "hw.py:9 raised KeyError: 'x'")
    shown = rounds(tmp_path, dict.fromkeys(("one", "two"), MISSING), {"one": CRASHED, "two": other})
    assert shown.count("! CRASHED") == 2


def test_what_was_never_handed_in_is_told_in_a_line_and_what_is_gone_in_full(tmp_path):
    names = [f"c{n}" for n in range(9)]
    shown = rounds(tmp_path, dict.fromkeys(names, CRASHED), dict.fromkeys(names, MISSING))
    assert shown == "not handed in yet: task (9)"
    shown = rounds(tmp_path, {"one": correct("right")}, {"one": MISSING})
    assert "CORRECT -> MISSING, -2 points" in shown
    assert "not handed in yet" not in shown


def test_a_hint_is_said_in_full_once_a_save(tmp_path):
    wrong = incorrect("off", hint="Groups are ignored.")
    shown = rounds(tmp_path, dict.fromkeys(("one", "two"), MISSING), dict.fromkeys(("one", "two"), wrong))
    assert shown.count("Groups are ignored.") == 1
    assert shown.count("the same as above") == 1


class Slow:
    """A task's grading of which one item does not end in a first look."""

    def __init__(self, patience, about):
        self.patience, self.task = patience, about

    def graded(self, name):
        if name == "loop" and self.patience.first_look:
            raise NotYetError(name)
        verdict = without_value(Outcome.TIMEOUT, "too long") if name == "loop" else correct()
        return Graded(id=name, points=Fraction(2), earned=2 * verdict.credit, verdict=verdict)


def test_what_does_not_end_soon_waits_and_its_old_verdict_counts_no_more(tmp_path):
    console = Console(file=io.StringIO(), width=80)
    about = SimpleNamespace(lab="lab", id="task", title="Task", points=4, hidden_points=0, checks=())
    session = Session(SimpleNamespace(prepare=lambda _: None), [about], tmp_path, console)
    known = {("lab", "task", "loop"): Graded(id="loop", points=Fraction(2), earned=Fraction(2), verdict=correct())}
    session._known.update(known)
    current = _Round(0, SimpleNamespace(name="ann"), nullcontext(), Patience(first_look=5))
    asked = [_Asked(Slow(current.patience, about), SimpleNamespace(id=name), ("hw.py", name)) for name in ("loop", "b")]
    session._put_aside(asked, {("hw.py", "loop"), ("hw.py", "b")})
    for each in asked:
        session._judge(current, each, quiet=False)
    session._sum_up(current, current.late)
    said = console.file.getvalue()
    assert "task  loop runs for longer than 5 s: what is left comes first\n" in said
    assert "2 / 2 points so far; still to come: task loop\n" in said
    session._rest(current, [], [])
    assert "task loop, 2 points, depends on this: too long\n2 / 4 points\n" in console.file.getvalue()[len(said) :]
    again = _Round(0, current.who, current.store, Patience(first_look=5))
    session._judge(again, asked[0], quiet=False)  # known to be slow: nobody waits for a first look
    assert again.late == [asked[0]]
    mended = _Round(0, current.who, current.store)
    found = Graded(id="loop", points=Fraction(2), earned=Fraction(2), verdict=correct())
    grading = SimpleNamespace(task=about, graded=lambda _: found)
    session._judge(mended, _Asked(grading, asked[0].item, asked[0].called), quiet=False)
    assert "task  TIMEOUT -> CORRECT, +2 points\n" in console.file.getvalue()


def test_what_a_watch_saw_is_what_the_next_check_compares_itself_with(tmp_path, monkeypatch):
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    about = SimpleNamespace(lab="lab", id="task", title="Task", points=2, hidden_points=0, checks=())
    session = Session(SimpleNamespace(prepare=lambda _: None), [about], tmp_path, Console(file=io.StringIO()))
    for verdict in (incorrect("no"), correct()):
        found = Graded(id="a", points=Fraction(2), earned=2 * verdict.credit, verdict=verdict)
        session._known["lab", "task", "a"] = found
        current = _Round(0, SimpleNamespace(name="ann"), None)
        if verdict.credit:
            report = Report(submissions=(SubmissionReport(name="", tasks=(_report_of(about, [found]),)),))
            assert since_last(tmp_path, report, compare=True) == ["+2 points", "task a: INCORRECT 0 -> CORRECT 2"]
        session._sum_up(current, [])


CALLS = """
def total(m): ...
def rest(m):
    return total(m) - 1
def alone(m, total):
    return total
def own(m):
    total = 0
    return total
def again(m):
    return rest(m)
"""


def test_one_cause_is_told_where_it_is_and_not_where_its_function_is_called(tmp_path):
    (tmp_path / "hw.py").write_text(CALLS)
    who = Submission(name="ann", folder=tmp_path, files=("hw.py",))
    wrong = {("hw.py", "total")}

    def said(name, verdict=None):
        verdict = verdict or replace(incorrect("got 5"), lines=("import torch",))
        found = Graded(id="a", points=Fraction(2), earned=Fraction(0), verdict=verdict)
        seen = with_cause(found, ("hw.py", name), wrong, who).verdict
        return seen.hint, len(seen.lines)

    assert said("rest") == said("rest") == ("rest calls total, which is wrong: mend that first", 0)
    assert said("again") == ("again calls total, which is wrong: mend that first", 0)
    for name in ("total", "alone", "own"):
        assert said(name) == ("", 1)
    assert said("rest", incorrect("got 5", hint="Groups are ignored.")) == ("Groups are ignored.", 0)
    assert said("rest", correct()) == ("", 0)
