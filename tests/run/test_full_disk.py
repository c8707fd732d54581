"""A class that is graded while the disk of its results fills up, at one write after another, and then goes on."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys

import pytest
from helpers import forked, small_course

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


@contextlib.contextmanager
def filled(disk, pages):
    """The disk is full but for some pages."""
    state = os.statvfs(disk)
    (disk / "filler").write_bytes(b"x" * max(0, state.f_bavail - pages) * state.f_frsize)
    yield
    (disk / "filler").unlink()


def said(course, *command):
    """The exit code of a command, and all that it says."""
    environment = {**os.environ, "LABGRADE_CACHE": str(course / "cache")}
    done = forked.run("labgrade", command, course, environment, borrows=True)
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
        with filled(disk, pages):
            code, text = said(course, "grade", "submissions", "--out", results)
        assert "Traceback" not in text
        if code not in {0, 1}:
            failed += 1
            assert "room" in text or "no space" in text.lower(), text
        code, text = said(course, "grade", "submissions", "--out", results)
        assert code in {0, 1}, text
        assert verdicts(results) == right
        assert decisions.since(results, 0) == ()
        subprocess.run(["rm", "-r", str(results)], check=True)
    assert failed


COMMANDS = (
    ("release", "RESULTS", "--unfinished", "--by", "ann"),
    ("override", "RESULTS", "right", "task", "total", "--points", "1", "--reason", "x" * 9000, "--by", "ann"),
    ("anonymous", "RESULTS"),
    ("export", "--results", "RESULTS", "--format", "all", "--out", "DISK/exported"),
    ("mark", "RESULTS", "--export", "DISK/table.csv"),
)


def test_a_command_whose_disk_is_full_says_so_and_does_it_once_there_is_room(course):
    disk, failed = course.parent / "disk", 0
    assert said(course, "grade", "submissions", "--out", course.parent / "whole")[0] in {0, 1}
    for command in COMMANDS:
        for pages in (0, 2):
            results = disk / "results"
            shutil.copytree(course.parent / "whole", results)
            before = verdicts(results)
            named = [each.replace("RESULTS", str(results)).replace("DISK", str(disk)) for each in command]
            with filled(disk, pages):
                code, text = said(course, *named)
            assert "Traceback" not in text
            assert code in {0, 1, 2, 3, 4}, text
            assert verdicts(results) == before
            failed += code > 1
            if code > 1:
                again = said(course, *named)
                assert again[0] in {0, 1}, (command[0], pages, text, again)
            assert len(decisions.since(results, 0)) == (command[0] == "override")
            for each in disk.iterdir():
                subprocess.run(["rm", "-r", str(each)], check=True)
    assert failed > len(COMMANDS)
