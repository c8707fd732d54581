"""Two courses, or two checkouts of one, whose graders remember verdicts in the same cache folder."""

import os
import shutil
import stat

import pytest
from helpers.classroom import Classroom

from labgrade.files.cache import cache_folder
from labgrade.ledger import memory

CHANGES = {
    "reference/others.py": ("return 5", "return 6"),
    "checkers/own.py": ("answer.value % 2", "answer.value % 3 == 0"),
    "specs/lab/task.yaml": ("credit: 0.5", "credit: 0.25"),
}


@pytest.fixture
def one(tmp_path, monkeypatch):
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "shared"))
    return Classroom(tmp_path / "one")


def other_of(one):
    """A second checkout of a course, whose results nobody has made yet."""
    place = one.folder.with_name("other")
    shutil.copytree(one.folder, place, ignore=shutil.ignore_patterns("results"))
    return Classroom(place, size=0)


def earned(room):
    return {
        (who.name, check.id): (str(check.verdict.outcome), check.earned)
        for who in room.report().submissions
        for task in who.tasks
        for check in task.checks
    }


@pytest.mark.slow
@pytest.mark.promise("courses-keep-apart")
@pytest.mark.parametrize("path", CHANGES)
def test_a_verdict_of_one_course_is_none_of_another_that_differs(one, path, monkeypatch):
    other = other_of(one)
    other.edit(path, *CHANGES[path])
    assert one.grade().ran > 0
    before = earned(one)
    other.grade()
    shared = earned(other)
    shutil.rmtree(other.results)
    monkeypatch.setenv("LABGRADE_CACHE", str(one.folder / "own"))
    other.grade()
    assert earned(other) == shared != before


@pytest.mark.slow
@pytest.mark.promise("courses-keep-apart")
def test_what_people_decide_in_one_course_counts_in_no_other(one):
    one.grade()
    before = earned(one)
    assert before["s001", "secret"][0] == "SKIPPED"
    said = one.said("override", one.results, "s001", "task", "total", "--points", "4", "--reason", "so", "--by", "ann")
    assert said.returncode == 0, said.stderr
    one.grade()
    assert earned(one)["s001", "secret"][0] == "INCORRECT"
    other = other_of(one)
    assert other.grade().ran == 0, "all of it is remembered"
    assert earned(other) == before


@pytest.mark.promise("courses-keep-apart")
@pytest.mark.skipif(os.name != "posix", reason="others are told apart by modes of files")
@pytest.mark.parametrize("before", [None, 0o644, 0o666])
def test_remembered_verdicts_are_for_their_owner_alone(tmp_path, monkeypatch, before):
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "shared"))
    file = cache_folder() / memory.NAME
    if before is not None:  # as an earlier release left it
        file.parent.mkdir()
        file.touch()
        file.chmod(before)
    own = memory.VerdictMemory(safe=lambda: True)
    own.keep("a key", "", {"verdict": {"outcome": "CORRECT"}})
    for each in file.parent.iterdir():
        assert not stat.S_IMODE(each.stat().st_mode) & 0o077, each
    own.close()
