"""A class that is graded while the disk of its results fills up, at one write after another, and then goes on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from helpers import small_course

from labgrade.ledger import read
from labgrade.review import decisions

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="only root mounts a small file system"),
]
ROOM = (0, 9, 30, *(range(1, 120, 2) if "LABGRADE_SOAK" in os.environ else ()))  # pages of the disk that are left


@pytest.fixture
def course(tmp_path):
    root = tmp_path / "course"
    small_course.write(root)
    disk = tmp_path / "disk"
    disk.mkdir()
    size = ["-t", "tmpfs", "-o", "size=4m", "labgrade-test", str(disk)]
    if subprocess.run(["mount", *size], check=False, capture_output=True).returncode:
        pytest.skip("a file system of a certain size can't be mounted here")
    yield root
    subprocess.run(["umount", str(disk)], check=True)


def said(course, *command):
    """The exit code of a command, and all that it says."""
    environment = {**os.environ, "LABGRADE_CACHE": str(course / "cache")}
    whole = [sys.executable, "-m", "labgrade.cli", *map(str, command)]
    done = subprocess.run(whole, check=False, capture_output=True, text=True, cwd=course, env=environment, timeout=300)
    return done.returncode, done.stdout + done.stderr


def verdicts(results):
    """What everybody got, by check."""
    report = read.report_of(results)
    return {
        (each.name, task.id, check.id): (check.verdict.outcome, check.earned)
        for each in report.submissions
        for task in each.tasks
        for check in task.checks
    }


def test_a_class_whose_disk_fills_up_loses_nothing_and_doubles_nothing(course):
    disk = course.parent / "disk"
    assert said(course, "grade", "submissions", "--out", disk / "whole")[0] in {0, 1}
    right, failed = verdicts(disk / "whole"), 0
    assert len(right) == 12
    for pages in ROOM:
        results = disk / f"results{pages}"
        state = os.statvfs(disk)
        (disk / "filler").write_bytes(b"x" * (state.f_bavail - pages) * state.f_frsize)
        code, text = said(course, "grade", "submissions", "--out", results)
        assert "Traceback" not in text
        if code not in {0, 1}:
            failed += 1
            assert "room" in text or "No space" in text or "no space" in text, text
        (disk / "filler").unlink()
        code, text = said(course, "grade", "submissions", "--out", results)
        assert code in {0, 1}, text
        assert verdicts(results) == right
        assert decisions.since(results, 0) == ()
        subprocess.run(["rm", "-r", str(results)], check=True)
    assert failed


@pytest.mark.parametrize("pages", [1])
@pytest.mark.parametrize(
    "command",
    [
        ("release", "RESULTS", "--unfinished", "--by", "ann"),
        ("override", "right", "task", "total", "--points", "1", "--reason", "x" * 9000, "--by", "ann"),
        ("anonymous", "RESULTS"),
        ("export", "--results", "RESULTS", "--format", "all", "--out", "DISK/exported"),
        ("mark", "RESULTS", "--export", "DISK/table.csv"),
    ],
    ids=lambda command: command[0] if isinstance(command, tuple) else None,
)
def test_a_command_whose_disk_is_full_says_so_and_does_it_once_there_is_room(course, command, pages):
    disk = course.parent / "disk"
    results = disk / "results"
    said(course, "grade", "submissions", "--out", results)
    before = verdicts(results)
    named = [each.replace("RESULTS", str(results)).replace("DISK", str(disk)) for each in command]
    named += ["--results", str(results)] if command[0] == "override" else []
    state = os.statvfs(disk)
    (disk / "filler").write_bytes(b"x" * (state.f_bavail - pages) * state.f_frsize)
    code, text = said(course, *named)
    assert "Traceback" not in text
    assert code in {0, 1, 2, 4}, text
    (disk / "filler").unlink()
    assert verdicts(results) == before
    if code:
        assert said(course, *named)[0] in {0, 1}, text
