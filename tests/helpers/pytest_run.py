"""pytest in a process of its own, in a course: a fork of one that has loaded pytest and labgrade already."""

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ENVIRONMENT = {**os.environ, "COLUMNS": "80"}
# Not the plug-in itself, which pytest wants to load.
_PARENT = """
import json, os, sys
import pytest
import labgrade.pytest.grading, labgrade.reports.json, labgrade.reports.terminal, rich.console

for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for stream, path in enumerate(asked["streams"], 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), stream)
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        sys.path.insert(0, asked["folder"])  # as `python -m` does
        sys.exit(pytest.main(asked["arguments"]))
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


@functools.cache
def _parent():
    process = subprocess.Popen(
        [sys.executable, "-c", _PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(process.communicate)
    return process


def run(folder, *arguments, cwd=None):
    """What `python -m pytest ...` says, and its exit code."""
    arguments = ["-p", "no:cacheprovider", *map(str, arguments)]
    with tempfile.TemporaryDirectory() as kept:
        streams = [str(Path(kept, name)) for name in ("out", "err")]
        environment = {**ENVIRONMENT, "LABGRADE_CACHE": str(folder / "cache")}
        asked = {"folder": str(cwd or folder), "arguments": arguments, "streams": streams, "environment": environment}
        print(json.dumps(asked), file=_parent().stdin, flush=True)
        code = int(_parent().stdout.readline())
        said = [Path(path).read_text(encoding="utf-8") for path in streams]
    return subprocess.CompletedProcess(arguments, code, *said)


def started(folder, *arguments):
    """The same in a new process, which has loaded nothing yet."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, check=False, capture_output=True, text=True)
