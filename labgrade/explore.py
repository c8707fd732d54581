"""What `labgrade subject` does: writes the files that tasks are about."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade import course, spec
from labgrade.errors import UsageError, did_you_mean
from labgrade.onnx_files import beside
from labgrade.oracle import Oracle

if TYPE_CHECKING:
    import argparse


def subject(options: argparse.Namespace) -> int:
    """Write the ONNX file that a task is about, and its external data, to a folder."""
    found = course.find(Path.cwd())
    paths = {path.stem: path for path in spec.files(found.specs)}
    if options.task not in paths:
        message = f"there is no task '{options.task}'{did_you_mean(options.task, paths)}"
        raise UsageError(message)
    about = spec.read(paths[options.task], found).subject
    if about is None or not about.is_onnx or about.handed_in:
        message = f"'{options.task}' is not about an ONNX file of ours"
        raise UsageError(message)
    with Oracle(found.quantities) as oracle:
        file = oracle.file(about)
    options.to.mkdir(parents=True, exist_ok=True)
    for name, source in {file.name: file, **beside(file)}.items():
        shutil.copyfile(source, options.to / name)
        print(options.to / name)  # noqa: T201
    return 0
