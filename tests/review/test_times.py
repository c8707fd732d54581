"""When it was handed in is noted while it is graded, and found again without the hand-ins."""

from __future__ import annotations

import os
import shutil
import zipfile
from datetime import UTC, datetime, timedelta, timezone

import pytest
from helpers.class_sample import CLASS, report, student
from helpers.opened import here

from labgrade.core.errors import UsageError
from labgrade.review import handed_in_times
from labgrade.spec.lab import Deadline

TAIPEI = timezone(timedelta(hours=8))
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
RULES = {"lab2": Deadline(lab="lab2", due=datetime(2026, 11, 20, 23, 59, tzinfo=TAIPEI))}


@pytest.fixture
def source(tmp_path):
    for name in ("ann", "bob"):
        file = tmp_path / "all" / name / "hw.py"
        file.parent.mkdir(parents=True)
        file.write_text("x")
        os.utime(file, (NOON.timestamp(), NOON.timestamp()))
    (tmp_path / "results").mkdir()
    return tmp_path / "all"


def test_it_is_noted_and_found_again(tmp_path, source):
    handed_in_times.note_moments(tmp_path / "results", source, ["ann", "nobody"], {}, opening=here)
    handed_in_times.note_moments(tmp_path / "results", source, ["bob"], {}, opening=here)
    shutil.rmtree(source / "ann")
    handed_in_times.note_moments(
        tmp_path / "results", source, ["ann"], {}, opening=here
    )  # nothing tells any more what is known already
    shutil.rmtree(source)
    found = handed_in_times.with_noted_moments(
        report(*CLASS.submissions, student("nobody")), tmp_path / "results"
    ).submissions
    assert [each.handed_in for each in found] == [NOON.isoformat(), NOON.isoformat(), "", ""]
    assert found[0].handed_in_by == "the time of its newest file, which copying may have changed"
    assert found[2] == CLASS.submissions[2]  # nobody looked


def test_a_later_hand_in_is_noted_anew(tmp_path, source):
    handed_in_times.note_moments(tmp_path / "results", source, ["ann"], {}, opening=here)
    os.utime(source / "ann/hw.py", (NOON.timestamp() + 60, NOON.timestamp() + 60))
    handed_in_times.note_moments(tmp_path / "results", source, ["ann"], {}, opening=here)
    (ann, *_) = handed_in_times.with_noted_moments(CLASS, tmp_path / "results").submissions
    assert ann.handed_in == (NOON + timedelta(minutes=1)).isoformat()


def test_times_without_a_zone_are_those_of_the_deadline(tmp_path, source):
    with zipfile.ZipFile(source / "王小明.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("hw.py", date_time=(2026, 11, 20, 23, 58, 0)), "x")
    handed_in_times.note_moments(tmp_path / "results", source, ["王小明"], RULES, opening=here)
    found = handed_in_times.with_noted_moments(CLASS, tmp_path / "results").submissions[2]
    assert found.handed_in == "2026-11-20T23:58:00+08:00"


def test_what_canvas_says_stands_in_the_remarks(tmp_path, source):
    (source / "ann_LATE_1_2_hw.py").write_text("x")
    handed_in_times.note_moments(tmp_path / "results", source, ["ann_1"], {}, opening=here)
    (found,) = handed_in_times.with_noted_moments(
        report(student("ann_1", remarks=("a link",))), tmp_path / "results"
    ).submissions
    assert found.remarks == ("a link", "Canvas calls it late")


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_broken_note_is_said(tmp_path, source, text):
    (tmp_path / "results" / handed_in_times.FILE).write_text(text)
    with pytest.raises(UsageError, match=r"handed_in.json' .*delete it and grade again"):
        handed_in_times.with_noted_moments(CLASS, tmp_path / "results")


def test_a_folder_that_is_not_there_is_said(tmp_path, source):
    with pytest.raises(UsageError, match="could not be written: no such file or directory"):
        handed_in_times.note_moments(tmp_path / "nowhere", source, ["ann"], {}, opening=here)
    assert handed_in_times.with_noted_moments(CLASS, tmp_path / "nowhere") == CLASS
