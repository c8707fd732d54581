"""The jobs that run what students wrote, and all others: what a server does that is not for one kind alone."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from labgrade.sandbox.child import call, file_functions, jobs, measure, script
from labgrade.sandbox.child.script import FolderSnapshot
from labgrade.sandbox.child.wire import RawArray, pack, refuse_object

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from labgrade.sandbox.child.jobs import Arguments


def run(job: Arguments, folder: Path) -> bytes:
    """Run a program; pack `ran` with its exit code (minus a signal) and files, or `unstarted` with the reason."""
    before = FolderSnapshot(folder)
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]  # noqa: PTH120 - text
    try:
        process = subprocess.Popen(job["command"], cwd=folder, stdin=subprocess.DEVNULL)
        code = process.wait()
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        return pack({"event": "unstarted", "problem": problem}, refuse_object)
    written, left_out = before.changed()
    files = {name: RawArray("|u1", (len(data),), data) for name, data in written.items()}
    return pack({"event": "ran", "code": code, "files": files, "left_out": left_out}, refuse_object)


def _call(job: Arguments, values: Mapping[str, object], folder: Path) -> bytes:
    given = _with_paths(values, job["paths"], folder)
    return call.load_and_use(job, tuple(given), folder, lambda function: function(*given.values()))


def _calls(job: Arguments, values: Mapping[str, Any], folder: Path) -> bytes:
    paired = zip(values["each"], job["paths"], strict=True)
    return call.call_each(job, [_with_paths(one, paths, folder) for one, paths in paired], folder)


def _with_paths(values: Mapping[str, object], paths: Mapping[str, str], folder: Path) -> Mapping[str, object]:
    return {**values, **{name: str(folder / path) for name, path in paths.items() if name in values}}


jobs.KINDS.update(
    {
        "call": _call,
        "calls": _calls,
        "write": file_functions.write,
        "verify": lambda job, _, folder: file_functions.verify(job, folder),
        "script": lambda job, _, folder: script.run(job, folder),
        "program": lambda job, _, folder: run(job, folder),
        "measure": measure.measure,
    }
)
