"""The sample submissions, graded once a run, for all tests that look at what came of it."""

import subprocess
import sys
from pathlib import Path

from helpers.once import made_once

from labgrade.ledger import read

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "submissions"
EVERY_DAY = ("empty", "exemplar", "outputs-only", "paper-only", "scripts", "student42")


def report(factory):
    """What `labgrade grade` came to for them, in all tasks."""
    return read.report_of(made_once(factory, "samples", _grade))


def _grade(results):
    chosen = [word for name in EVERY_DAY for word in ("--submission", name)]
    command = [
        sys.executable,
        "-m",
        "labgrade.cli",
        "grade",
        str(FOLDER),
        "--out",
        str(results),
        "--jobs",
        "1",
        *chosen,
    ]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
