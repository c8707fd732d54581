"""A class with light tasks: answers handed in as text, so that grading it takes no torch and hardly any time."""

import contextlib
import io
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

from helpers import forked

from labgrade import cli
from labgrade.ledger import read
from labgrade.ledger.database import Ledger
from labgrade.ledger.unfinished import was_not_reached
from labgrade.review import releases
from labgrade.run import class_run
from labgrade.run.plan import RunRequest
from labgrade.spec.load import chosen

QUANTITIES = """
def size(subject, *, times: int = 1) -> int:
    '''A size.'''
    return subject.shape[0] * times
"""
OTHER = """
def other(subject) -> int:
    '''Another.'''
    return 5
"""
CHECKER = """
from labgrade.verdict import correct, incorrect

def odd(answer, expected):
    '''Whether it is odd.'''
    return correct() if answer.value % 2 else incorrect("it is even")
"""
TASK = """
id: task
title: A task
points: 10
statement: How large is it?
subject: {model: torchvision/alexnet, input: [1234, 2]}
answers:
  total: {type: count, from: [{entry: task.total}]}
  five: {type: count, from: [{entry: task.five}]}
  essay: {type: text, from: [{entry: task.essay}]}
checks:
  - id: total
    points: 4
    answer: total
    checker: equal
    expected: {quantity: size}
    misconceptions: [{value: {quantity: size, with: {times: 2}}, says: counted twice, credit: 0.5}]
  - {id: secret, points: 1, answer: total, checker: equal, expected: 1234, hidden: true, needs: [total]}
  - {id: five, points: 2, answer: five, checker: equal, expected: {quantity: other}}
  - {id: odd, points: 1, answer: five, checker: odd, expected: 1}
  - {id: essay, points: 2, answer: essay, by_hand: [{points: 2, for: clarity}]}
"""
KINDS = ("{total: 1234, five: 5, essay: x%d}", "{total: 2468, five: 6}", "{total: 7%d}", "{five: 5, essay: y%d}")
# What each item comes to for the four kinds of submission, in turn.
OUTCOMES = {
    "total": ("CORRECT", "PARTIAL", "INCORRECT", "MISSING"),
    "secret": ("CORRECT", "SKIPPED", "SKIPPED", "SKIPPED"),
    "five": ("CORRECT", "INCORRECT", "MISSING", "CORRECT"),
    "odd": ("CORRECT", "INCORRECT", "MISSING", "CORRECT"),
    "essay": ("MANUAL", "MISSING", "MISSING", "MANUAL"),
}


class Classroom:
    """A course in a folder with some submissions, and what one does with it. `size` of 0: all lies there already."""

    def __init__(self, folder, size=4):
        self.folder = folder
        self.submissions, self.results = folder / "handed in", folder / "results"
        if not size:
            return
        self.write("reference/own.py", QUANTITIES)
        self.write("reference/others.py", OTHER)
        self.write("checkers/own.py", CHECKER)
        self.write("specs/lab/task.yaml", TASK)
        for number, kind in zip(range(size), itertools.cycle(KINDS)):
            text = kind % number if "%d" in kind else kind
            self.write(f"handed in/s{number:03}/answers.yaml", f"task: {text}\n# {number}\n")

    def write(self, path, text):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def edit(self, path, old, new):
        text = (self.folder / path).read_text(encoding="utf-8")
        assert old in text
        self.write(path, text.replace(old, new))

    def grade(self, tell=lambda _: None, **asked):
        """Grade in this process and its workers; what came of it."""
        wanted = RunRequest(
            **{"source": self.submissions, "results": self.results, "root": self.folder, "jobs": 1, **asked}
        )
        for event in class_run.grade(wanted, lambda found: chosen(found, wanted.lab, list(wanted.tasks))):
            tell(event)
        return event

    def judged(self):
        """What the last run judged anew: (item, outcome) and how often, sorted."""
        with Ledger(self.results) as ledger:
            found = ledger.rows("SELECT plain, outcome FROM judged WHERE run = (SELECT max(id) FROM run)")
        return sorted((json.loads(plain)["id"], outcome) for plain, outcome in found)

    def outcomes(self):
        """{(who, item): outcome} of all that was graded."""
        return {
            (who.name, check.id): str(check.verdict.outcome)
            for who in read.report_of(self.results).submissions
            for task in who.tasks
            for check in task.checks
            if not was_not_reached(check)
        }

    def report(self):
        return read.report_of(self.results)

    def told(self):
        """The report without what differs from run to run, as text."""
        return repr(read.report_of(self.results).submissions).replace("seconds=0.0", "seconds=").split("seconds=")

    def release(self):
        found = read.report_of(self.results).submissions
        releases.add(self.results, [releases.make_release(each, by="prof") for each in found])
        return tuple(each.name for each in found)

    def environment(self):
        return {**os.environ, "LABGRADE_CACHE": str(self.folder / "cache"), "COLUMNS": "100"}

    def command(self, *arguments):
        return [sys.executable, "-m", "labgrade.cli", *map(str, arguments)]

    def said(self, *arguments):
        """What `labgrade ...` says in the course's folder, and its exit code: as `cli`, but in this process."""
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.dict(os.environ, {"COLUMNS": "100"}),
        ):
            try:
                code = cli.main([str(each) for each in arguments])
            except SystemExit as end:
                code = end.code
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())

    def forked(self, *arguments):
        """The same in a fork of what has loaded labgrade, which borrows servers: it stands for a process of its own."""
        return forked.run("labgrade", arguments, self.folder, self.environment(), borrows=True)

    def cli(self, *arguments, **options):
        """`labgrade ...` in a process of its own, in the course's folder."""
        return subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment(),
            check=False,
            capture_output=True,
            text=True,
            encoding="utf-8",
            **options,
        )


def expected(size):
    """What `outcomes` is for a class of that size."""
    return {
        (f"s{number:03}", item): by_kind[number % len(KINDS)]
        for number in range(size)
        for item, by_kind in OUTCOMES.items()
    }


def rows(results: Path, question: str):
    with Ledger(results) as ledger:
        return ledger.rows(question)
