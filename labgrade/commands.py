"""What each `labgrade` command does. Each takes the parsed options and returns the exit code."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade import course, pipeline, policy, schema_errors, spec, submission, validation, yamlfile, zoo_onnx
from labgrade.errors import SpecError, UsageError, did_you_mean
from labgrade.model import InputSpec, QuantityCall, SubjectSpec
from labgrade.onnx_files import beside
from labgrade.oracle import Oracle
from labgrade.results import Report
from labgrade.values import show
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    import argparse

    from labgrade.course import Course
    from labgrade.model import Task
    from labgrade.registry import Entry

OK, NOT_RIGHT, USAGE, FAULT = 0, 1, 2, 3


# ---- check -----------------------------------------------------------------------------------------------------


def check(options: argparse.Namespace) -> int:
    """Grade one folder with the public checks, in plain words.

    A course around us takes part unless it lies in the folder itself: a submission brings no specs or code of ours.
    """
    here = Path.cwd()
    found = course.find(None if here.resolve().is_relative_to(options.path.resolve()) else here)
    specs = spec.read_all(_chosen(found, options.lab, options.task), found)
    tasks = [_public(read.task) for read in specs if read.task is not None]
    who = submission.read(options.path, options.path.absolute().name)
    with pipeline.Grader(found) as grader:
        report = policy.for_student(Report(submissions=(grader.grade(tasks, who),)))
    _print(report, options.json)
    broken = [finding for read in specs for finding in read.findings]
    if broken:
        raise SpecError(broken)
    return _exit_code(report)


def _chosen(found: Course, lab: str | None, ids: list[str] | None) -> list[Path]:
    paths = spec.files(found.specs)
    labs = sorted({path.parent.name for path in paths})
    if lab is not None and lab not in labs:
        message = f"there is no lab '{lab}'{did_you_mean(lab, labs)}"
        raise UsageError(message)
    paths = [path for path in paths if lab in (None, path.parent.name)]
    for name in ids or []:
        if name not in {path.stem for path in paths}:
            message = f"there is no task '{name}'{did_you_mean(name, [path.stem for path in paths])}"
            raise UsageError(message)
    return [path for path in paths if not ids or path.stem in ids]


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
        Path(target).write_text(as_json.render(report) + "\n", encoding="utf-8")


def _exit_code(report: Report) -> int:
    checks = [c for who in report.submissions for task in who.tasks for c in task.checks]
    if any(c.verdict.outcome is Outcome.FAULT for c in checks):
        return FAULT
    right = all(c.verdict.outcome in (Outcome.CORRECT, Outcome.MANUAL) or c.bonus for c in checks)
    return OK if right else NOT_RIGHT


# ---- compute ---------------------------------------------------------------------------------------------------


def compute(options: argparse.Namespace) -> int:
    """Print a quantity of a model: one value, a table, or JSON."""
    found = course.find(Path.cwd())
    entries = found.quantities.entries
    if options.quantity not in entries:
        message = f"there is no quantity '{options.quantity}'{did_you_mean(options.quantity, entries)}"
        raise UsageError(message)
    if options.model is not None and options.model not in zoo_onnx.models():
        message = f"there is no model '{options.model}'{did_you_mean(options.model, zoo_onnx.models())}"
        raise UsageError(message)
    if options.file is not None and not options.file.is_file():
        message = f"there is no file '{options.file}'"
        raise UsageError(message)
    parameters = _parameters(options.set, entries[options.quantity])
    file = str(options.file.absolute()) if options.file is not None else ""
    subject = SubjectSpec(model=options.model or "", file=file, input=InputSpec(shape=_shape(options.input)))
    wanted = entries[options.quantity].takes[:1] == ("artifact",)
    if wanted != subject.is_onnx:
        what = "an ONNX file, such as torchvision/resnet18.onnx" if wanted else "a model, such as torchvision/resnet18"
        message = f"'{options.quantity}' is computed of {what}; '{subject.short_name}' is none"
        raise UsageError(message)
    with Oracle(found.quantities) as oracle:
        value = oracle.value(QuantityCall(quantity=options.quantity, parameters=parameters), subject)
    value = _plain(value)
    if options.json:
        print(json.dumps(value, ensure_ascii=False))  # noqa: T201
    else:
        _show(value, options.quantity)
    return OK


def _parameters(settings: list[str], entry: Entry) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            message = f"--set takes KEY=VALUE, not '{setting}'"
            raise UsageError(message)
        if key not in entry.parameters:
            known = ", ".join(entry.parameters) or "none at all"
            message = f"'{entry.name}' takes no '{key}'{did_you_mean(key, entry.parameters) or f'; it takes {known}'}"
            raise UsageError(message)
        loaded = yamlfile.load(text, "--set")
        found = schema_errors.findings({"title": f"'{key}'", **entry.parameters[key].schema}, loaded)
        if found:
            raise UsageError(found[0].message)
        chosen[key] = loaded.data
    return chosen


def _shape(text: str) -> tuple[int, ...]:
    try:
        shape = tuple(int(part) for part in text.replace("x", ",").split(","))
    except ValueError:
        shape = ()
    if not shape or min(shape) < 1:
        message = f"an input shape is whole numbers such as 1,3,224,224, not '{text}'"
        raise UsageError(message)
    return shape


def _plain(value: object) -> object:
    """Tensors are shown by their shapes: nobody reads a million values."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    shape = getattr(value, "shape", None)
    return value if shape is None else {"shape": list(shape), "dtype": str(getattr(value, "dtype", ""))}


def _show(value: Any, title: str) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    rows = (
        value
        if isinstance(value, list)
        else [{"": key, title: item} for key, item in value.items()]
        if isinstance(value, dict)
        else []
    )
    if not rows or not isinstance(rows[0], dict):
        console.print(_cell(value), markup=False)
        return
    table = Table(box=None, pad_edge=False)
    columns = [key for key in rows[0] if key not in ("also_named", "optional")]
    for column in columns:
        numeric = isinstance(rows[0][column], int | float)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row.get(column, "")) for column in columns))
    console.print(table)


def _cell(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}" if isinstance(value, int) else show(value)
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


# ---- subject ---------------------------------------------------------------------------------------------------


def subject(options: argparse.Namespace) -> int:
    """Write the ONNX file that a task is about, and its external data, to a folder."""
    found = course.find(Path.cwd())
    (path,) = _chosen(found, None, [options.task])
    about = spec.read(path, found).subject
    if about is None or not about.is_onnx or about.handed_in:
        message = f"'{options.task}' is not about an ONNX file of ours"
        raise UsageError(message)
    with Oracle(found.quantities) as oracle:
        file = oracle.file(about)
    options.to.mkdir(parents=True, exist_ok=True)
    for name, source in {file.name: file, **beside(file)}.items():
        shutil.copyfile(source, options.to / name)
        print(options.to / name)  # noqa: T201
    return OK


# ---- list ------------------------------------------------------------------------------------------------------


def list_(options: argparse.Namespace) -> int:
    """Show what there is: quantities and checkers with their parameters, tasks, models."""
    from rich.console import Console

    console = Console(highlight=False)
    found = course.find(Path.cwd())
    match options.what:
        case "tasks":
            _list_tasks(found, options.word, console)
        case "models":
            for name in zoo_onnx.models():
                if options.word in name:
                    console.print(name, markup=False)
        case _:
            registry = found.quantities if options.what == "quantities" else found.checkers
            for finding in registry.findings:
                console.print(f"{finding}", style="red", markup=False)
            for name, entry in sorted(registry.entries.items()):
                if options.word in name or options.word in entry.docstring:
                    _describe(entry, console)
    return OK


def _describe(entry: Entry, console: Any) -> None:
    console.print(f"[bold]{entry.name}[/]  {entry.description}")
    for key, parameter in entry.parameters.items():
        default = "required" if parameter.required else f"default {parameter.default}"
        console.print(f"    {key}: {parameter.annotation} ({default})", markup=False, style="dim")


def _list_tasks(found: Course, word: str, console: Any) -> None:
    for read in spec.read_all(spec.files(found.specs), found):
        if read.task is None:
            console.print(f"{read.path.stem}: broken; see labgrade validate", style="red", markup=False)
        elif word in read.task.id or word in read.task.title:
            task = read.task
            console.print(f"{task.lab}/{task.id}  {task.title} ({show(task.points)} points)", markup=False)


# ---- validate, schema ------------------------------------------------------------------------------------------


def validate(options: argparse.Namespace) -> int:
    """Report every finding of the specs; with --compute, of their published values and misconceptions too."""
    found = course.find(Path.cwd())
    paths = [path for given in options.paths or [found.specs] for path in _below(given)]
    specs = spec.read_all(paths, found)
    findings = [finding for read in specs for finding in read.findings]
    findings += [*found.checkers.findings, *found.quantities.findings]
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
    return spec.files(path) if path.is_dir() else [path]


def schema(options: argparse.Namespace) -> int:
    """Print or write the JSON Schema of a task."""
    text = spec.schema_text(course.find(Path.cwd()))
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return OK
