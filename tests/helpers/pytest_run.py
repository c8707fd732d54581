"""pytest in a process of its own, in a course."""

import os
import subprocess
import sys

from helpers import forked

ENVIRONMENT = {**os.environ, "COLUMNS": "80"}


def run(folder, *arguments, cwd=None):
    """What `python -m pytest ...` says, and its exit code. It borrows the servers that the tests have started."""
    here = cwd or folder
    environment = {**ENVIRONMENT, "LABGRADE_CACHE": str(folder / "cache")}
    asked = ["-p", "no:cacheprovider", *arguments]
    return forked.run("pytest", asked, here, environment, borrows=True, path=[here])


def started(folder, *arguments):
    """The same in a new process, which has loaded nothing yet."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, check=False, capture_output=True, text=True)
