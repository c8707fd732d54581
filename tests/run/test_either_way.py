"""`labgrade grade` and pytest give the same report of a class, and keep the same of it."""

import json
import re

import pytest
from helpers import classroom, pytest_run

from labgrade.ledger import read

pytestmark = pytest.mark.slow


def timeless(report):
    """The bytes of a report, without how long each check took."""
    return re.sub(rb'"seconds": [^,}]*', b"", report.read_bytes())


def kept(folder):
    """How each check stands, without how long it took."""
    return re.sub(r"seconds=[^,)]*", "seconds=0", repr(read.report_of(folder).submissions))


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_the_command_and_pytest_keep_the_same(tmp_path, monkeypatch, workers):
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    room = classroom.Classroom(tmp_path)
    room.grade(root=tmp_path)
    where = ("--submissions-dir=handed in", "--results=by pytest", "--labgrade-json=out.json")
    done = pytest_run.run(tmp_path, "--submission=all", "-q", *workers, *where)
    assert kept(tmp_path / "by pytest") == kept(room.results), done.stdout + done.stderr
    room.said("export", "--results", "results", "--format", "json", "--out", "exported")
    assert timeless(tmp_path / "out.json") == timeless(tmp_path / "exported/report.json")
    asked = [classroom.rows(folder, "SELECT asked FROM run") for folder in (room.results, tmp_path / "by pytest")]
    by_command, by_pytest = (
        {**json.loads(said), "part": None} for ((said,),) in asked
    )  # nobody knows what pytest chose
    assert by_command == by_pytest
