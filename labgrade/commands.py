"""What each `labgrade` command does. Each takes the parsed options and returns the exit code."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade import (
    course,
    output,
    pages,
    pipeline,
    policy,
    progress,
    spec,
    submission,
    torch_home,
    validation,
)
from labgrade.errors import SpecError, UsageError, did_you_mean
from labgrade.results import Report
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    import argparse

    from labgrade.course import Course
    from labgrade.model import Task

OK, NOT_RIGHT, USAGE, FAULT = 0, 1, 2, 3
_LISTED = 8


# ---- check -----------------------------------------------------------------------------------------------------


def check(options: argparse.Namespace) -> int:
    """Grade one folder or archive with the public checks, in plain words.

    A course around us takes part unless it lies in the folder itself: a submission brings no specs or code of ours.
    """
    if options.json:
        output.refuse_unwritable(options.json, "--json")
    if options.html:
        output.refuse_unwritable(options.html, "--html")
        pages.refuse_without()
    found = course.of_work(options.path, options.course)
    specs = spec.read_all(chosen(found, options.lab, options.task), found)
    tasks = [_public(read.task) for read in specs if read.task is not None]
    with (
        tempfile.TemporaryDirectory(prefix="labgrade-store-", ignore_cleanup_errors=True) as store,
        pipeline.Grader(
            found, torch_home=torch_home.find(options.torch_home), second_opinions=options.second_opinion
        ) as grader,
    ):
        who = submission.take(options.path, submission.name_of(options.path), Path(store))
        graded = grader.grade(tasks, who)
        notes = (*grader.runner.protection.lines, *_by_whose_specs(found, options))
        report = policy.for_student(Report(submissions=(graded,), notes=notes))
    _print(report, options.json)
    if options.html:
        output.write(options.html, pages.render(report, staff=False))
    lines = progress.since_last(options.path, report, compare=options.json != "-")
    if lines:
        print("since your last run: " + "\n  ".join(lines))  # noqa: T201
    broken = [finding for read in specs for finding in read.findings]
    if broken:
        raise SpecError(broken)
    return _exit_code(report)


def _by_whose_specs(found: Course, options: argparse.Namespace) -> tuple[str, ...]:
    """A warning where somebody else's folder brought what it is judged by."""
    own = Path.cwd().resolve().is_relative_to(options.path.resolve())
    if own or options.course is not None or found.root != options.path:
        return ()
    where = f"in '{options.path}' itself, which whoever made it may have changed"
    return (f"judged by the specs {where}; name others: --course",)


def chosen(found: Course, lab: str | None, ids: list[str] | None) -> list[Path]:
    """The specs of a course that are asked for.

    Raises:
        UsageError: there is no such lab or task; the message offers the closest.
    """
    paths = spec.files(found.specs)
    labs = sorted({path.parent.name for path in paths})
    if lab is not None and lab not in labs:
        message = f"there is no lab '{lab}'{did_you_mean(lab, labs) or _there_is(labs)}"
        raise UsageError(message)
    paths = [path for path in paths if lab in (None, path.parent.name)]
    for name in ids or []:
        if name not in {path.stem for path in paths}:
            ids_there = [path.stem for path in paths]
            message = f"there is no task '{name}'{did_you_mean(name, ids_there) or _there_is(ids_there)}"
            raise UsageError(message)
    return [path for path in paths if not ids or path.stem in ids]


def _there_is(names: list[str]) -> str:
    more = ", ..." if len(names) > _LISTED else ""
    return f"; there is {', '.join(names[:_LISTED])}{more}" if names else ""


def _public(task: Task) -> Task:
    """The task without its hidden checks, which are neither run nor counted for a student."""
    checks = tuple(check for check in task.checks if not check.hidden)
    return replace(task, checks=checks, points=sum((check.points for check in checks if not check.bonus), Fraction(0)))


def _print(report: Report, target: str | None) -> None:
    from rich.console import Console

    from labgrade.report import json as as_json
    from labgrade.report import terminal

    if target == "-":
        print(as_json.render(report))  # noqa: T201
        return
    terminal.render(report, console=Console(highlight=False), staff=False)
    if target:
        output.write(target, as_json.render(report))


def _exit_code(report: Report) -> int:
    checks = [c for who in report.submissions for task in who.tasks for c in task.checks]
    if any(c.verdict.outcome is Outcome.FAULT for c in checks):
        return FAULT
    right = all(c.verdict.outcome in (Outcome.CORRECT, Outcome.MANUAL) or c.bonus for c in checks)
    return OK if right else NOT_RIGHT


# ---- validate, schema ------------------------------------------------------------------------------------------


def validate(options: argparse.Namespace) -> int:
    """Report every finding of the specs; with --compute, of their published values and misconceptions too."""
    found = course.find(Path.cwd())
    if not options.paths and not Path("specs").is_dir():
        message = "there is no folder 'specs' here: go to the folder of a course, or name what to validate"
        raise UsageError(message)
    paths = [path for given in options.paths or [found.specs] for path in _below(given)]
    specs = spec.read_all([path for path in paths if path.suffix != ".yml"], found)
    findings = [finding for read in specs for finding in read.findings]
    findings += [*found.checkers.findings, *found.quantities.findings, *spec.folder_findings(paths)]
    findings += [finding for read in specs if read.task for finding in validation.literals(read.task)]
    if options.compute:
        with pipeline.Grader(found) as grader:
            for read in specs:
                if read.task is not None:
                    findings += validation.findings(read.task, grader)
    if findings:
        raise SpecError(findings)
    print(f"{len(specs)} spec{'s' if len(specs) != 1 else ''}, nothing wrong")  # noqa: T201
    return OK


def _below(path: Path) -> list[Path]:
    if not path.exists():
        message = f"there is no '{path}'"
        raise UsageError(message)
    return [*spec.files(path), *sorted(path.glob("**/*.yml"))] if path.is_dir() else [path]


def schema(options: argparse.Namespace) -> int:
    """Print or write the JSON Schema of a task."""
    text = spec.schema_text(course.find(Path.cwd()))
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return OK
