"""What `labgrade compute` and `labgrade subject` do: show ground truth, and write the files that tasks are about."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade import course, schema_errors, spec, yamlfile, zoo_onnx
from labgrade.errors import UsageError, did_you_mean
from labgrade.handed_in import Measurer, UnfitError
from labgrade.model import BuildForm, InputSpec, Limits, QuantityCall, SubjectSpec
from labgrade.onnx_files import beside
from labgrade.oracle import Oracle
from labgrade.provided import provide
from labgrade.run_words import TORCHSCRIPT
from labgrade.sandbox.runner import Runner
from labgrade.values import Artifact, show

if TYPE_CHECKING:
    import argparse

    from labgrade.course import Course
    from labgrade.model import Task
    from labgrade.registry import Entry


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
    value = _plain(_value(found, QuantityCall(quantity=options.quantity, parameters=parameters), subject))
    if options.json:
        print(json.dumps(value, ensure_ascii=False))  # noqa: T201
    else:
        _show(value, options.quantity)
    return 0


def _value(found: Course, call: QuantityCall, subject: SubjectSpec) -> object:
    """Ground truth of the zoo's, or what is measured of a file."""
    if subject.file:
        path = Path(subject.file)
        try:
            with Runner() as runner:
                measurer = Measurer(found.quantities, runner)
                return measurer.value(call, Artifact(path=path, name=path.name), subject, Limits())
        except UnfitError as error:
            raise UsageError(str(error)) from error
    with Oracle(found.quantities) as oracle:
        return oracle.value(call, subject)


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
    keys = dict.fromkeys(key for row in rows for key in row)
    columns = [key for key in keys if key not in ("also_named", "also_right", "optional")]
    for column in columns:
        numeric = isinstance(rows[0].get(column), int | float)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row.get(column, "")) for column in columns))
    console.print(table)


def _cell(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}" if isinstance(value, int) else show(value)
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


def _gives_torchscript(task: Task) -> bool:
    forms = [form for answer in task.answers.values() for form in answer.forms]
    return any(isinstance(form, BuildForm) and TORCHSCRIPT in form.given for form in forms)


def subject(options: argparse.Namespace) -> int:
    """Write the ONNX file that a task is about, and its external data, or its TorchScript file, to a folder."""
    found = course.find(Path.cwd())
    paths = {path.stem: path for path in spec.files(found.specs)}
    if options.task not in paths:
        message = f"there is no task '{options.task}'{did_you_mean(options.task, paths)}"
        raise UsageError(message)
    task = spec.read(paths[options.task], found)
    about = task.subject
    if about is not None and not about.is_onnx and _gives_torchscript(task):
        options.to.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(provide("subject.pt", about), options.to / f"{about.short_name}.pt")
        print(options.to / f"{about.short_name}.pt")  # noqa: T201
        return 0
    if about is None or not about.is_onnx or about.handed_in:
        message = f"'{options.task}' is about no ONNX or TorchScript file of ours"
        raise UsageError(message)
    with Oracle(found.quantities) as oracle:
        file = oracle.file(about)
    options.to.mkdir(parents=True, exist_ok=True)
    for name, source in {file.name: file, **beside(file)}.items():
        shutil.copyfile(source, options.to / name)
        print(options.to / name)  # noqa: T201
    return 0
