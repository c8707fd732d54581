"""Two desks and two markers at once, a clock that is set back meanwhile, and a disk that fills up at any write."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from desk.opened import HOME, QUESTION, Opened, encoded, form_of, points, rulings, write_class

from labgrade.core.errors import UsageError
from labgrade.ledger.database import Ledger
from labgrade.review import decisions, markers, marking, results

FORM = {"origin": HOME, "content-type": "application/x-www-form-urlencoded"}
MANY = 24
ROOM = 24  # pages of the disk, from none on, that are left
WORDS = [f"answer {number} has words of its own: {chr(97 + number) * 9}" for number in range(MANY)]


@pytest.fixture
def two(course):
    folder = course / "results"
    write_class(folder, WORDS)
    return Opened(folder), Opened(folder, by="bob")


@pytest.mark.promise("decisions-are-kept-once")
def test_of_two_desks_that_save_the_same_answers_at_once_one_saves_each(two):
    """Every answer is open at both desks, and both press Save at the same moment."""
    folder = two[0].folder
    pages = {(desk.pages.decider.by, n): desk.page(f"s{n:02}") for desk in two for n in range(MANY)}
    start = threading.Barrier(2)

    def marks(desk, given):
        said = Counter()
        for number in range(MANY):
            form = form_of(pages[desk.pages.decider.by, number].text, "mark")
            body = encoded(form, {"points": given, "comment": f"by {desk.pages.decider.by}"})
            start.wait(60)
            said[desk.client.post("/decide", content=body, headers=FORM, follow_redirects=False).status_code] += 1
        return said

    with ThreadPoolExecutor(2) as pool:
        done = [
            each.result() for each in (pool.submit(marks, two[0], ["3", "1"]), pool.submit(marks, two[1], ["3", "0"]))
        ]
    made = rulings(folder)
    assert Counter(row.place.submission for row in made) == {f"s{n:02}": 1 for n in range(MANY)}
    replies = sum(done, Counter())
    assert replies == {303: MANY, 409: MANY}
    assert {points(folder)[row.place.submission] for row in made if row.by == "bob"} <= {3.0}
    assert {points(folder)[row.place.submission] for row in made if row.by == "ann"} <= {4.0}


def test_a_form_that_is_sent_many_times_at_once_saves_once(two):
    page = two[0].page("s00")
    body = encoded(form_of(page.text, "mark"), {"points": ["3", "1"]})

    def send(_):
        return two[0].client.post("/decide", content=body, headers=FORM, follow_redirects=False).status_code

    with ThreadPoolExecutor(8) as pool:
        replies = Counter(pool.map(send, range(16)))
    assert replies == {303: 1, 409: 15}
    assert len(rulings(two[0].folder)) == 1


def test_two_changes_within_one_tick_of_the_file_systems_clock_are_both_seen(two, monkeypatch):
    """The second leaves time, size and number of each file as they were."""
    ann, bob = two
    page = ann.page("s00")
    same = ((time.time_ns(), 4096, 1),)
    monkeypatch.setattr(type(ann.live), "_file_stamp", lambda _: same)
    ann.live.snapshot()
    bob.send(bob.page("s00"), points=["3", "0"])
    assert ann.send(page, points=["3", "1"]).status_code == 409


def test_taking_back_at_once_takes_back_once(two):
    ann = two[0]
    page = ann.send(ann.page("s00"), points=["3", "1"])
    body = encoded(form_of(page.text, "undo"), {})

    def send(_):
        return ann.client.post("/undo", content=body, headers=FORM, follow_redirects=False).status_code

    with ThreadPoolExecutor(8) as pool:
        assert Counter(pool.map(send, range(8)))[303] == 1
    assert [row.kind for row in rulings(ann.folder)] == ["mark", "undo"]


class SetBack(datetime):
    """The time of day, a year ago."""

    @classmethod
    def now(cls, tz=None):
        return datetime.now(tz) - timedelta(days=365)


def test_a_clock_that_is_set_back_keeps_every_mark_and_gives_out_every_answer(two, monkeypatch):
    ann, bob = two
    bob.page("s03")  # he looks at it, and goes home
    first = ann.send(ann.page("s00"), points=["3", "1"], comment="before")
    monkeypatch.setattr(time, "time", lambda now=time.time: now() - 365 * 86_400)
    monkeypatch.setattr(decisions, "datetime", SetBack)
    assert markers.held_by_others(ann.folder, "ann") == frozenset()
    late = ann.send(first, points=["0", "1"])
    assert late.status_code == 200
    again = ann.send(ann.page("s00"), points=["0", "1"], comment="behind")
    assert points(ann.folder)["s00"] == 1  # the later decision holds, whatever the clock says of the two
    assert [row.number for row in rulings(ann.folder)] == [1, 2, 3]
    ann.send(again, form="undo")
    assert points(ann.folder)["s00"] == 4
    assert "bob is looking at this" not in ann.page("s03").text
    bob.page("s04")
    assert "bob is looking at this" in ann.page("s04").text
    assert datetime.fromisoformat(rulings(ann.folder)[1].at) < datetime.now(UTC) - timedelta(days=300)


# ---- a full disk -------------------------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path):
    """A file system of its own that a test fills up."""
    place = tmp_path / "disk"
    place.mkdir()
    size = ["-t", "tmpfs", "-o", "size=2m", "labgrade-test", str(place)]
    if sys.platform != "linux" or os.getuid() != 0 or subprocess.run(["mount", *size], check=False).returncode:
        pytest.skip("only root mounts a file system of a certain size")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def leave(disk, pages):
    """Fill the disk but for some pages."""
    state = os.statvfs(disk)
    with (disk / "filler").open("wb") as filler:
        filler.write(b"x" * max(0, (state.f_bavail - pages) * state.f_frsize))
    assert os.statvfs(disk).f_bavail <= pages


def everything(folder):
    """All that people decided, as a reader finds it once there is room again; and whether the database is sound."""
    with Ledger(folder) as ledger:
        ((sound,),) = ledger.rows("PRAGMA integrity_check")
        return sound, rulings(folder), markers.seconds(folder)


def a_mark(desk):
    page = desk.page("s01")
    return lambda: desk.send(page, points=["3", "1"], comment="c" * 9000).status_code


def an_undo(desk):
    page = desk.client.get("/")
    return lambda: desk.send(page, form="undo").status_code


def other_words(desk):
    row = '{"old": "a word", "numbers": [1]}'
    data = {**QUESTION, "key": desk.keys.form, "row": row, "new": "another " * 900}
    return lambda: desk.client.post("/reword", data=data, headers={"origin": HOME}).status_code


def a_table_of_marks(desk):
    waiting = marking.waiting(results.read(desk.folder).staff)[:12]
    made = [marking.mark(e.place, e.graded, [1] * len(e.rubric), by="ann", comment="d" * 900) for e in waiting]

    def take():
        try:
            decisions.add(desk.folder, [(each, 0) for each in made])
        except UsageError:
            return 503
        return 200

    return take


@pytest.mark.promise("decisions-are-kept-once")
@pytest.mark.slow
@pytest.mark.parametrize("prepared", [a_mark, an_undo, other_words, a_table_of_marks])
def test_where_the_disk_is_full_all_is_kept_or_nothing_and_the_page_says_so(prepared, course, disk):
    write_class(course / "results", WORDS)
    first = Opened(course / "results")
    first.send(first.page("s00"), points=["3", "0"], comment="a word")
    replies = []
    for pages in range(ROOM):
        folder = disk / f"results{pages}"
        shutil.copytree(course / "results", folder)
        with Ledger(folder):  # as the desk has it open
            act, before = prepared(Opened(folder)), everything(folder)
            leave(disk, pages)
            replies.append(act())
            (disk / "filler").unlink()
            after = everything(folder)
            assert after[0] == "ok"
            kept = after != before
            assert replies[-1] == (200 if kept else 503), (pages, replies)
            assert kept or act() == 200  # with room again it goes on
        shutil.rmtree(folder)
    assert {200, 503} <= {*replies}, replies  # some of it failed, and some did not
