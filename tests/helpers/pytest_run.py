"""pytest in a process of its own, in a course."""

import os
import subprocess
import sys

ENVIRONMENT = {**os.environ, "COLUMNS": "80"}


def run(folder, *arguments, cwd=None):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    environment = {**ENVIRONMENT, "LABGRADE_CACHE": str(folder / "cache")}
    return subprocess.run(
        command, cwd=cwd or folder, env=environment, check=False, capture_output=True, text=True, encoding="utf-8"
    )
