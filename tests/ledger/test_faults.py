"""Killed, out of disk, locked, of another version, two at once: nothing lost, nothing twice, no wrong verdict.

LABGRADE_KILLS is how many random moments a class is killed at.
"""

import contextlib
import csv
import errno
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import classroom
from helpers.shown import unframed
from helpers.soak import soak

from labgrade.core.errors import UsageError
from labgrade.ledger import database, read, rows
from labgrade.ledger.database import Ledger, LedgerError
from labgrade.review import handed_in_times, releases

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("LABGRADE_KILLS", "3"))
SIZE = 32
LOCKED = "is locked by another program"


@pytest.fixture
def big(tmp_path, monkeypatch):
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    return classroom.Classroom(tmp_path, SIZE)


def heeding():
    """Heed Ctrl-C: a shell has its background jobs ignore it, which processes inherit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(room, *arguments):
    return subprocess.Popen(
        room.command("grade", "handed in", *arguments),
        cwd=room.folder,
        env=room.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heeding,  # noqa: PLW1509 - there are no threads here
    )


def sound(results):
    """The ledger is whole, and no verdict in it was judged twice."""
    connection = sqlite3.connect(results / database.NAME)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    twice = connection.execute("SELECT key FROM judged GROUP BY key HAVING count(*) > 1").fetchall()
    connection.close()
    assert not twice


def midway(room):
    """A run of a class that has judged some and not all, and stands still: on a busy machine it may end unseen."""
    for _ in range(20):
        running = start(room, "--jobs", "2")
        while running.poll() is None and judged(room) <= 5:
            time.sleep(0.02)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGSTOP)
        if 5 < judged(room) < 4 * SIZE:
            return running
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGCONT)
        assert running.wait(timeout=300) == 0, running.communicate()[1]
        shutil.rmtree(room.results)
    pytest.fail("it was never seen on its way")


def judged(room):
    """How many verdicts there are: asked again and again, so that reading a whole report each time is too much."""
    try:
        connection = sqlite3.connect(f"file:{room.results / database.NAME}?mode=ro", uri=True, timeout=0)
    except sqlite3.OperationalError:  # there is none yet
        return 0
    with contextlib.closing(connection), contextlib.suppress(sqlite3.OperationalError):  # it is being made
        return connection.execute("SELECT count(*) FROM graded").fetchone()[0]
    return 0


def test_killed_at_any_moment(big):
    chance = random.Random(20240607)  # noqa: S311
    right, before = classroom.expected(SIZE), {}
    kills, longest = 0, 5.0
    while kills < KILLS:
        began = time.monotonic()
        running = start(big, "--jobs", "2")
        try:
            running.wait(chance.uniform(0.3, longest))
        except subprocess.TimeoutExpired:
            running.kill()
            kills += 1
        else:
            longest = max(1.0, (time.monotonic() - began) * 0.9)  # all was done: begin anew, and be quicker to kill
            assert running.returncode == 0, running.stderr.read()
            assert big.outcomes() == right
            sound(big.results)
            for file in big.results.iterdir():
                file.unlink()
            before = {}
        running.communicate()
        with contextlib.suppress(LedgerError):
            now = None
            now = big.outcomes()
        if now is None:
            assert not before  # it was killed before there was a ledger
        else:
            sound(big.results)
            assert before.items() <= now.items()  # nothing lost
            assert now.items() <= right.items()  # nothing wrong
            before = now
    done = big.forked("grade", "handed in", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert big.outcomes() == right
    sound(big.results)
    assert len(classroom.rows(big.results, "SELECT 1 FROM judged")) == len(right) - 3 * SIZE // 4  # the skipped ones


def test_ctrl_c_keeps_what_was_graded_and_leaves_no_copies(big, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    running = midway(big)
    for each in (signal.SIGINT, signal.SIGCONT):  # as a terminal sends it: to all of them
        os.killpg(running.pid, each)
    _, said = running.communicate(timeout=300)
    assert running.returncode == 130
    assert "stopped; what was graded is kept: run the same command again to go on" in said
    assert "Traceback" not in said
    assert list(scratch.iterdir()) == []
    kept = big.outcomes()
    assert 5 < len(kept) < 5 * SIZE
    came = big.grade(jobs=2)
    assert came.ran < 5 * SIZE - len(kept) + 10
    assert big.outcomes() == classroom.expected(SIZE)
    sound(big.results)


def test_a_report_of_what_was_interrupted_says_that_it_is_one(big):
    running = midway(big)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    assert read.report_of(big.results).notes[-1:] == (read.NOT_ENDED,)
    assert "note: │ a run did not finish" in big.said("standing").stdout
    exported = big.said("export", "--results", "results", "--format", "csv")
    rows_of = list(csv.DictReader(exported.stdout.splitlines()))
    assert [row["points possible"] for row in rows_of] == ["10"] * SIZE
    assert [row["student"] for row in rows_of if row["pending"] == "5"]  # whom it did not reach
    assert "not final: a run did not finish" in exported.stderr
    assert all(
        each.handed_in
        for each in handed_in_times.with_noted_moments(read.report_of(big.results), big.results).submissions
    )
    refused = big.said("release", "--student", "s002", "--by", "ta")
    assert refused.returncode == 2
    assert "nothing was released: to release what there is, say --unfinished" in refused.stderr
    big.grade(names=("s000",))
    assert read.NOT_ENDED in read.report_of(big.results).notes  # a run that asked for less makes up for nothing
    assert "grade again to go on, or settle it" in big.said("standing").stdout
    big.grade()
    assert read.NOT_ENDED not in read.report_of(big.results).notes
    assert big.outcomes() == classroom.expected(SIZE)


def test_a_worker_that_is_killed_costs_nobody_a_verdict(big):
    running = midway(big)
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    workers = [pid for pid in children if b"labgrade.cli" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(workers) == 2
    os.kill(int(workers[0]), signal.SIGKILL)
    os.killpg(running.pid, signal.SIGCONT)
    _, said = running.communicate(timeout=300)
    assert running.returncode == 0, said
    assert big.outcomes() == classroom.expected(SIZE)


def test_a_full_disk_ends_the_run_in_words_and_loses_nothing(big):
    limited = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000))  # noqa: E731
    done = big.cli("grade", "handed in", "--jobs", "2", preexec_fn=limited)
    assert done.returncode == 2
    assert "make room on that disk, then run the same command again; what was graded so far is kept" in done.stderr
    assert "Traceback" not in done.stderr
    kept = big.outcomes()
    assert kept
    assert kept.items() <= classroom.expected(SIZE).items()
    sound(big.results)
    big.grade(jobs=2)
    assert big.outcomes() == classroom.expected(SIZE)
    sound(big.results)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root")
def test_no_room_to_take_a_submission_in_is_told_and_costs_nobody_else(big):
    for number in (3, 9):
        big.write(f"handed in/s{number:03}/blob.bin", "x" * 3_000_000)
    room = big.folder / "room"
    room.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", room], check=False)
    if mounted.returncode:
        pytest.skip("nothing may be mounted here")
    try:
        done = subprocess.run(
            big.command("grade", "handed in", "--jobs", "2"),
            cwd=big.folder,
            env={**big.environment(), "TMPDIR": str(room)},
            check=False,
            capture_output=True,
            text=True,
        )
    finally:
        subprocess.run(["umount", "-l", room], check=True)
    assert "Traceback" not in done.stderr
    said = unframed(done.stdout)
    assert done.returncode == 3
    for number in (3, 9):
        assert f"not graded: 's{number:03}': no more can be stored in" in said
        assert f"not graded: 's{number:03}': no more" in unframed(big.said("standing").stdout)
    graded = big.outcomes()
    assert graded.items() <= classroom.expected(SIZE).items()
    assert {who for who, _ in graded} == {f"s{number:03}" for number in range(SIZE)} - {"s003", "s009"}
    big.grade()
    assert "not graded" not in big.said("standing").stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root")
def test_a_disk_that_is_full_to_the_last_byte(big):
    big.results.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", big.results], check=False)
    if mounted.returncode:
        pytest.skip("nothing may be mounted here")
    try:
        done = big.forked("grade", "handed in", "--jobs", "2")
        assert done.returncode == 2
        assert "make room on that disk" in done.stderr
        assert "Traceback" not in done.stderr
        subprocess.run(["mount", "-o", "remount,size=64m", big.results], check=True)
        big.grade(jobs=2)
        assert big.outcomes() == classroom.expected(SIZE)
        sound(big.results)
    finally:
        subprocess.run(["umount", "-l", big.results], check=True)


def test_a_ledger_that_another_program_holds(graded, monkeypatch):
    monkeypatch.setattr(database, "WAIT_SECONDS", 0.2)
    other = sqlite3.connect(graded.results / database.NAME, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match=LOCKED):
        graded.grade()
    other.execute("COMMIT")
    assert graded.grade().ran == 0
    assert graded.outcomes() == classroom.expected(4)


def test_a_ledger_that_is_taken_while_the_run_goes_on(big, monkeypatch):
    monkeypatch.setattr(database, "WAIT_SECONDS", 0.2)
    big.results.mkdir()
    taken = []

    def take(event):
        if not taken and getattr(event, "place", None):
            other = sqlite3.connect(big.results / database.NAME, isolation_level=None, timeout=10)
            other.execute("BEGIN IMMEDIATE")
            taken.append(other)

    with pytest.raises(LedgerError, match=LOCKED):
        big.grade(take, jobs=2)
    taken[0].execute("COMMIT")
    assert big.outcomes().items() <= classroom.expected(SIZE).items()
    big.grade(jobs=2)
    assert big.outcomes() == classroom.expected(SIZE)
    sound(big.results)


def test_two_graders_at_once(big):
    first = midway(big)
    second = big.forked("grade", "handed in")
    os.killpg(first.pid, signal.SIGCONT)
    assert second.returncode == 2
    assert re.search(rf"process {first.pid} on .* is grading into 'results': wait for its end, or name", second.stderr)
    first.communicate(timeout=300)
    assert first.returncode == 0
    assert big.outcomes() == classroom.expected(SIZE)
    sound(big.results)


def test_a_folder_is_free_again_when_its_holder_is_gone(tmp_path):
    with (
        database.locked_folder(tmp_path),
        pytest.raises(UsageError, match=f"process {os.getpid()} on"),
        database.locked_folder(tmp_path),
    ):
        pass
    with database.locked_folder(tmp_path):
        pass


def test_a_ledger_of_an_older_version_is_brought_up_to_date(graded, monkeypatch):
    before = graded.outcomes()
    monkeypatch.setattr(database, "VERSION", database.VERSION + 1)
    monkeypatch.setitem(
        database.STEPS, database.VERSION - 1, "ALTER TABLE run ADD COLUMN more TEXT; CREATE TABLE new (a)"
    )
    assert len(read.report_of(graded.results).submissions) == 4
    assert graded.grade().ran == 0
    assert graded.outcomes() == before
    assert classroom.rows(graded.results, "SELECT more FROM run") == [(None,), (None,)]


def test_a_step_that_fails_changes_nothing(graded, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(database, "VERSION", database.VERSION + 1)
        patched.setitem(database.STEPS, database.VERSION - 1, "CREATE TABLE new (a); CREATE NONSENSE")
        with pytest.raises(LedgerError, match="can't be used"):
            graded.grade()
    assert not classroom.rows(graded.results, "SELECT 1 FROM sqlite_master WHERE name = 'new'")
    assert graded.grade().ran == 0


def test_a_ledger_of_a_newer_version_is_refused(graded):
    connection = sqlite3.connect(graded.results / database.NAME)
    connection.execute(f"PRAGMA user_version = {database.VERSION + 1}")
    connection.close()
    for use in (graded.grade, lambda: read.report_of(graded.results)):
        with pytest.raises(
            LedgerError, match=r"was written by a newer labgrade.*update labgrade, or grade into another"
        ):
            use()


def test_what_is_no_ledger_is_left_alone(room):
    room.results.mkdir()
    connection = sqlite3.connect(room.results / database.NAME)
    connection.execute("CREATE TABLE mine (a)")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="is no ledger of labgrade's: grade into another folder"):
        room.grade()
    (room.results / database.NAME).write_text("a text of somebody's, long enough to be no header of a data base\n" * 20)
    with pytest.raises(LedgerError, match="is damaged"):
        room.grade()
    assert (room.results / database.NAME).read_text().startswith("a text")


def test_a_verdict_that_was_tampered_with_is_noticed(graded):
    connection = sqlite3.connect(graded.results / database.NAME)
    connection.execute("UPDATE graded SET plain = replace(plain, 'INCORRECT', 'CORRECT')")
    connection.commit()
    connection.close()
    with pytest.raises(
        LedgerError, match=r"is damaged.*put a copy of it back, or judge all anew.*labgrade regrade .*--rebuild"
    ):
        read.report_of(graded.results)
    with pytest.raises(LedgerError, match="is damaged"):
        graded.grade()


def test_bytes_that_were_lost_are_noticed(big):
    big.grade(jobs=2)
    with Ledger(big.results, write=True) as ledger:
        ledger.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    path = big.results / database.NAME
    content = bytearray(path.read_bytes())
    content[len(content) // 4 : len(content) // 2] = os.urandom(len(content) // 2 - len(content) // 4)
    path.write_bytes(content)
    done = big.said("grade", "handed in")
    assert done.returncode == 2
    assert "is damaged" in done.stderr
    assert "Traceback" not in done.stderr


def test_results_that_can_not_be_written_are_refused_before_anything_is_done(room):
    room.results.write_text("a file")
    with pytest.raises(UsageError, match="can't hold results: file exists"):
        room.grade()


def test_the_machine_that_grades_is_named(tmp_path, monkeypatch):
    """Where a disk shares its locks between machines."""
    monkeypatch.setattr(database.socket, "gethostname", lambda: "lab-7")
    with database.locked_folder(tmp_path):
        monkeypatch.setattr(database.socket, "gethostname", lambda: "lab-8")
        with (
            pytest.raises(UsageError, match=rf"process {os.getpid()} on lab-7 is grading into"),
            database.locked_folder(tmp_path),
        ):
            pass


def test_a_disk_that_locks_no_files_is_refused(tmp_path, monkeypatch):
    def no_locks(descriptor, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", no_locks)
    with (
        pytest.raises(UsageError, match=r"lies on a disk without file locks \(no locks available\)"),
        database.locked_folder(tmp_path),
    ):
        pass


def test_a_clock_that_is_set_back_changes_nothing(graded, monkeypatch):
    graded.release()
    graded.edit("handed in/s002/answers.yaml", "total: 72", "total: 1234")
    before = datetime(1999, 12, 31, 23, tzinfo=UTC)
    monkeypatch.setattr(rows, "now", before.isoformat)
    monkeypatch.setattr(releases, "datetime", SimpleNamespace(now=lambda _: before))
    (secret, total) = graded.grade().changes
    assert (total.who, total.place[2], secret.place[2]) == ("s002", "total", "secret")
    assert total.at < total.before_at
    assert graded.outcomes()["s002", "total"] == "CORRECT"
    with Ledger(graded.results) as ledger:
        (story,) = [each for each in read.story(ledger, "s002") if each.place[2] == "total"]
        assert [str(each.before.verdict.outcome) for each in story.history] == ["INCORRECT"]
    graded.release()
    monkeypatch.undo()
    assert graded.grade().ran == 0
    assert not graded.grade().held
    graded.edit("handed in/s002/answers.yaml", "total: 1234", "total: 72")
    assert {each.place[2] for each in graded.grade().held} == {
        "secret",
        "total",
    }  # published last, if not latest


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root")
def test_results_on_a_read_only_disk_are_read_and_not_written(graded):
    before = graded.said("standing").stdout, graded.outcomes()
    mounted = subprocess.run(["mount", "--bind", graded.results, graded.results], check=False)
    if mounted.returncode:
        pytest.skip("nothing may be mounted here")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", graded.results], check=True)
        assert (graded.said("standing").stdout, graded.outcomes()) == before
        done = graded.said("grade", "handed in")
        assert done.returncode == 2
        assert "can't hold results: read-only file system" in done.stderr
    finally:
        subprocess.run(["umount", "-l", graded.results], check=True)
    assert graded.grade().ran == 0


LOUD = """
id: loud
title: Loud
points: 2
statement: How large is it?
subject: {model: torchvision/alexnet, input: [1234, 2]}
answers:
  size: {type: count, from: [{call: 'hw.py:size(input_size)'}]}
checks:
  - {id: size, points: 2, answer: size, checker: equal, expected: {quantity: size}}
"""


@soak
def test_sixty_four_megabytes_printed_by_each_of_twenty_jobs_at_once_cost_nobody_else(big):
    big.write("specs/lab/loud.yaml", LOUD)
    for number in range(SIZE):
        loud = "print('x' * (64 << 20))" if number < 20 else "pass"
        big.write(f"handed in/s{number:03}/hw.py", f"def size(input_size):\n    {loud}\n    return input_size[0]\n")
    done = big.cli("grade", "handed in", "--jobs", "20")
    assert done.returncode == 0, done.stderr
    found = big.outcomes()
    assert {item: outcome for item, outcome in found.items() if item[1] != "size"} == classroom.expected(SIZE)
    assert {found[f"s{number:03}", "size"] for number in range(20, SIZE)} == {"CORRECT"}
    assert {found[f"s{number:03}", "size"] for number in range(20)} <= {"CORRECT", "OUTPUT"}
    kept = sum(each.stat().st_size for each in big.results.iterdir())
    assert kept < 8 << 20
    sound(big.results)
