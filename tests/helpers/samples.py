"""The sample submissions, graded once a run, for all tests that look at what came of it."""

import contextlib
import io
from pathlib import Path

from helpers.once import made_once

from labgrade import cli
from labgrade.ledger import read

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "submissions"
EVERY_DAY = ("empty", "exemplar", "outputs-only", "paper-only", "scripts", "student42")


def report(factory):
    """What `labgrade grade` came to for them, in all tasks."""
    return read.report_of(made_once(factory, "samples", _grade))


def _grade(results):
    """In this process, which has servers already."""
    chosen = [word for name in EVERY_DAY for word in ("--submission", name)]
    said = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = cli.main(["grade", str(FOLDER), "--out", str(results), "--jobs", "1", *chosen])
    assert code == 0, said.getvalue()
