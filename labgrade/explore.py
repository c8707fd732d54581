"""What `labgrade subject` does: writes the files that tasks are about."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade import course, spec
from labgrade.errors import UsageError, did_you_mean
from labgrade.forms import BuildForm
from labgrade.onnx_files import beside
from labgrade.oracle import Oracle
from labgrade.provided import provide
from labgrade.run_words import TORCHSCRIPT

if TYPE_CHECKING:
    import argparse

    from labgrade.model import Task


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


def _gives_torchscript(task: Task) -> bool:
    forms = [form for answer in task.answers.values() for form in answer.forms]
    return any(isinstance(form, BuildForm) and TORCHSCRIPT in form.given for form in forms)
