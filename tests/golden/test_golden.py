"""Everything that users see of the samples is what it was: reports in each format, the terminal, the help, the schema.

Where a change is meant, `make golden` writes what is expected anew, and git shows what became of it.
"""

import hashlib
import io
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from helpers import samples
from rich.console import Console

from labgrade.cli import main
from labgrade.commands.export import FORMATS
from labgrade.core import student_view
from labgrade.reports import class_table, terminal
from labgrade.reports.plain_page import Page

HERE = Path(__file__).parent
WRITE = "LABGRADE_GOLDEN" in os.environ
# Where packages lie: taken out before lines are broken, which depends on their length.
PLACES = re.compile(r"""[^ "'>]*/site-packages/""")
# Dates, and pictures, which each version of matplotlib draws in its own way.
VARIES = re.compile(
    r"""[^ "'>]*/site-packages/|(?<=timestamp=")[^"]*|\d{4}-\d\d-\d\d[ T]\d\d:\d\d[^ "<]*|<svg.*?</svg>|data:[^"')]*""",
    re.DOTALL,
)
COMMANDS = (
    "anonymous",
    "check",
    "collect",
    "compute",
    "counterexample",
    "desk",
    "doctor",
    "explain",
    "export",
    "grade",
    "init",
    "kit",
)
COMMANDS += (
    "list",
    "mark",
    "new",
    "override",
    "picture",
    "regrade",
    "release",
    "return",
    "schema",
    "standing",
    "subject",
)
COMMANDS += ("test", "validate")


def same(name, text):
    path = HERE / "expected" / name
    if WRITE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{name}: where this is meant, run `make golden`"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Without what differs from machine to machine: the protection, times, and libraries' versions in a digest."""
    found = samples.report(tmp_path_factory)
    return replace(found, notes=(), submissions=tuple(map(stable, found.submissions)))


def stable(submission):
    tasks = [replace(task, checks=tuple(map(timeless, task.checks))) for task in submission.tasks]
    return replace(submission, tasks=tuple(tasks), handed_in="", handed_in_by="")


def timeless(check):
    """A search tries as many networks as it has time for."""
    facts = {name: fact for name, fact in check.verdict.facts.items() if name not in {"seconds", "tried"}}
    reason = re.sub(r"(right on )\d+( random networks)(, as many as .* allowed)?", r"\1some\2", check.verdict.reason)
    printed = PLACES.sub("", check.printed)
    return replace(
        check, seconds=0.0, basis="", printed=printed, verdict=replace(check.verdict, facts=facts, reason=reason)
    )


def in_80_columns():
    return Console(file=io.StringIO(), width=80, highlight=False, no_color=True, legacy_windows=False)


def shown(report, *, staff):
    console = in_80_columns()
    terminal.render(report, console=console, staff=staff)
    return console.file.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("name", samples.EVERY_DAY)
def test_a_report_in_80_columns(report, name):
    one = replace(report, submissions=tuple(each for each in report.submissions if each.name == name))
    same(f"staff/{name}.txt", shown(one, staff=True))
    same(f"student/{name}.txt", shown(student_view.for_student(one), staff=False))


@pytest.mark.slow
def test_a_class_in_80_columns(report):
    console = in_80_columns()
    class_table.show(Page(console), report.submissions)
    same("class.txt", console.file.getvalue())


@pytest.mark.slow
@pytest.mark.parametrize("view", ["staff", "student"])
def test_every_format(report, view):
    seen = report if view == "staff" else student_view.for_student(report)
    same(f"{view}/gradebook.csv", FORMATS["csv"].render(seen))
    same(f"{view}/summary.md", FORMATS["github"].render(seen))
    same(f"{view}/digests.txt", "".join(f"{digest(text)}  {name}\n" for name, text in files(seen, view)))


def files(seen, view):
    for name, form in FORMATS.items():
        if form.each:
            for each in seen.submissions:
                yield f"{name} {each.name}", form.render(replace(seen, submissions=(each,)))
        elif name != "class" or view == "staff":
            yield name, form.render(seen)


def digest(text):
    return hashlib.sha256(VARIES.sub("", text).encode()).hexdigest()[:16]


@pytest.mark.skipif(sys.version_info[:2] > (3, 12), reason="later versions write options once")
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_the_help(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    text = capsys.readouterr().out
    same(f"help/{command or 'labgrade'}.txt", text)
    if not command:
        assert tuple(sorted(re.findall(r"^    (\w+)", text, re.MULTILINE))) == COMMANDS


@pytest.mark.slow
@pytest.mark.parametrize("what", ["tasks", "quantities", "checkers"])
def test_what_is_listed(what, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(samples.ROOT)
    assert main(["list", what]) == 0
    same(f"list/{what}.txt", capsys.readouterr().out)


def test_the_schema(capsys):
    assert main(["schema"]) == 0
    assert capsys.readouterr().out == (samples.ROOT / "specs/task.schema.json").read_text(encoding="utf-8")
