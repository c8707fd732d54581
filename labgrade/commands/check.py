"""`labgrade check`: one's own work, graded by the public checks, and what changed since the last time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.errors import FAULT, NOT_RIGHT, OK, SpecError
from labgrade.files import downloaded_weights, output
from labgrade.run.student_memory import Memory, since_last
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from labgrade.core.results import Report

_INTERRUPTED = 130


def add_check(parser: argparse.ArgumentParser) -> None:
    """The arguments of `check`."""
    said = "the folder with the work, or an archive of it (.zip, .tar.gz); this folder where none is named"
    parser.add_argument("path", type=Path, nargs="?", default=Path(), help=said)
    parser.add_argument("--lab", help="only this lab")
    parser.add_argument("--course", type=Path, metavar="DIR", help="the course whose specs and code judge; trusted")
    parser.add_argument("--task", action="append", metavar="ID", help="only this task, or all that begin so: 2-1")
    said = "whose variant it is, where each student has one (default: the folder's)"
    parser.add_argument("--as", dest="drawn_as", default="", metavar="NAME", help=said)
    parser.add_argument("--all", action="store_true", help="print all that is known of each check")
    parser.add_argument("--read", action="store_true", help="also show what was read from where in a report")
    parser.add_argument("--watch", action="store_true", help="check again at each save, until Ctrl-C")
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON; `-` is stdout")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page for a browser")
    parser.add_argument("--torch-home", type=Path, metavar="DIR", help=downloaded_weights.HELP)
    parser.set_defaults(run=check)


def check(options: argparse.Namespace) -> int:
    """Grade one folder or archive with the public checks, in plain words.

    A course around us takes part unless it lies in the folder itself: a submission brings no specs and no trusted code.
    """
    _warn_about_unknown_name(options)
    if options.watch:
        from labgrade.commands.watch import watch

        return watch(options)
    _refuse_unwritable(options)
    where = {"course": options.course, "torch_home": options.torch_home}
    memory = Memory(options.path, lab=options.lab, tasks=options.task or (), drawn_as=options.drawn_as, **where)
    # What is drawn on a page is not remembered, and what JSON says of the protection is of this run.
    report = memory.report() if not (options.json or options.html or options.read) else None
    if report is None:
        return _grade(options, memory)
    lines = since_last(options.path, report, compare=True)  # which labs were graded was said then
    _print(report, options, others=len(lines))
    _print_changes(lines)
    return _exit_code(report)


def _grade(options: argparse.Namespace, memory: Memory) -> int:
    """Grade what is not remembered, and print the report; return the exit code."""
    from labgrade.run.student_check import run

    checked = run(options, memory)
    report = checked.report
    _keep_schemas(options)
    lines = [] if checked.stopped else since_last(options.path, report, compare=options.json != "-")
    _print(report, options, others=checked.lines + len(lines))
    _print_labs(report, options)
    if options.read and options.json != "-":
        print("\n".join(["", "what was read:", *(checked.read or ["no section of a report"])]))  # noqa: T201
    _write_page(report, options)
    if checked.failed and _is_staff_course(options):
        print("\n".join(f"labgrade: {each}" for each in checked.failed), file=sys.stderr)  # noqa: T201
    if checked.stopped:
        print("stopped: what was not reached is not shown", file=sys.stderr)  # noqa: T201
        return _INTERRUPTED
    _print_changes(lines)
    if checked.broken:
        raise SpecError(checked.broken)
    return _exit_code(report)


def _print_changes(lines: Sequence[str]) -> None:
    if lines:
        print("since your last run: " + "\n  ".join(lines))  # noqa: T201


def _print_labs(report: Report, options: argparse.Namespace) -> None:
    """Say which labs were graded, where none was named and there are others."""
    if options.lab is not None or options.task or options.json == "-":
        return
    from labgrade.spec import course

    graded = {task.lab for who in report.submissions for task in who.tasks}
    if said := course.other_labs(course.find_for(options.path, options.course).specs, graded):
        print(said)  # noqa: T201


def _write_page(report: Report, options: argparse.Namespace) -> None:
    if options.html:
        from labgrade.reports.html import student

        output.write(options.html, student.render(report))


def _warn_about_unknown_name(options: argparse.Namespace) -> None:
    if options.drawn_as:
        from labgrade.commands.course import warn_about_unknown_name
        from labgrade.spec import course

        warn_about_unknown_name(course.find_for(options.path, options.course), options.drawn_as)


def _keep_schemas(options: argparse.Namespace) -> None:
    """Refresh the schemas of the course that judged, unless it is a student's kit."""
    from labgrade.authoring import new_course
    from labgrade.spec import course

    if _is_staff_course(options):
        new_course.keep_schemas(course.find(options.course or Path.cwd()))


def _is_staff_course(options: argparse.Namespace) -> bool:
    """Return whether the course that judged is staff's own, not a student's kit."""
    from labgrade.spec import course

    root = options.course or Path.cwd()
    return (root / "specs").is_dir() and not (root / course.KIT).exists()


def _refuse_unwritable(options: argparse.Namespace) -> None:
    if options.json:
        output.refuse_unwritable(options.json, "--json")
    if options.html:
        output.refuse_unwritable(options.html, "--html")
        from labgrade.reports import html

        html.refuse_without()


def _print(report: Report, options: argparse.Namespace, others: int) -> None:
    """Print the report or its JSON. `others` is how many lines stand around it."""
    from rich.console import Console

    from labgrade.reports import json as as_json
    from labgrade.reports import student_terminal, terminal

    target: str | None = options.json
    if target == "-":
        print(as_json.render(report))  # noqa: T201
        return
    console = Console(highlight=False)
    if options.all:
        terminal.render(report, console=console, staff=False)
    else:
        student_terminal.render(report, console=console, others=others)
    if target:
        output.write(target, as_json.render(report))


def _exit_code(report: Report) -> int:
    checks = [c for who in report.submissions for task in who.tasks for c in task.checks]
    if any(c.verdict.outcome is Outcome.FAULT for c in checks):
        return FAULT
    right = all(c.verdict.outcome in (Outcome.CORRECT, Outcome.MANUAL) or c.bonus for c in checks)
    return OK if right else NOT_RIGHT
