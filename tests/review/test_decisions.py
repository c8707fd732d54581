"""The file of decisions: kept, taken back, never changed; and what is said where it can't be read or written."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
from fractions import Fraction

import pytest

from labgrade.core.errors import UsageError
from labgrade.ledger import database
from labgrade.ledger.database import Ledger, LedgerError
from labgrade.review import decisions
from labgrade.review.decisions import Place, RubricLine, Ruling

ANN = Place(submission="ann", lab="lab2", task="macs", check="essay")
BOB = Place(submission="王小明", lab="lab2", task="macs", check="other[resnet18]")


def ruling(place=ANN, credit="3/4", **more):
    given = {
        "kind": "mark",
        "basis": "text:1",
        "worth": Fraction(4),
        "reason": "good",
        "by": "ta",
        "machine": "MANUAL 0",
    }
    return Ruling(place=place, credit=Fraction(credit), **{**given, **more})


def put(folder, *rulings, seen=0):
    decisions.add(folder, [(each, seen) for each in rulings])


def test_nothing_is_there_before_somebody_decides(tmp_path):
    found = decisions.read(tmp_path)
    assert found.places == ()
    assert found.in_force(ANN) is None
    assert found.last(ANN) == 0
    assert list(tmp_path.iterdir()) == []  # looking leaves nothing behind


def test_what_was_decided_is_read_back_as_it_was(tmp_path):
    lines = (RubricLine(what="names; 'it'", worth=Fraction(3), points=Fraction(5, 2)),)
    one, other = (
        ruling(lines=lines, at="2026-11-21T10:00:00+00:00"),
        ruling(BOB, "1/3", kind="override", reason="因為\n=1"),
    )
    put(tmp_path, one, other)
    found = decisions.read(tmp_path)
    assert found.places == (ANN, BOB)
    kept = found.in_force(ANN)
    assert kept == Ruling(**{name: getattr(one, name) for name in one.__slots__ if name != "number"}, number=1)
    assert (found.in_force(BOB).credit, found.in_force(BOB).reason, found.last(BOB)) == (Fraction(1, 3), "因為\n=1", 2)


def test_the_last_decision_holds_whatever_the_clock_says(tmp_path):
    put(tmp_path, ruling(credit="1/4", at="2026-11-21T10:00:00+00:00"))
    put(tmp_path, ruling(credit="1/2", at="1999-01-01T00:00:00+00:00"), seen=1)
    found = decisions.read(tmp_path)
    assert found.in_force(ANN).credit == Fraction(1, 2)
    assert [each.credit for each in found.history(ANN)] == [Fraction(1, 4), Fraction(1, 2)]


def test_undo_is_a_row_and_what_held_before_holds_again(tmp_path):
    put(tmp_path, ruling(credit="1/4"))
    put(tmp_path, ruling(credit="1/2", kind="override"), seen=1)
    taken, left = decisions.undo(tmp_path, ANN, by="bo", reason="mixed up")
    assert (taken.credit, left.credit) == (Fraction(1, 2), Fraction(1, 4))
    assert decisions.read(tmp_path).in_force(ANN).credit == Fraction(1, 4)
    taken, left = decisions.undo(tmp_path, ANN, by="bo", reason="that too")
    assert (taken.credit, left) == (Fraction(1, 4), None)
    found = decisions.read(tmp_path)
    assert found.in_force(ANN) is None
    assert [each.kind for each in found.history(ANN)] == ["mark", "override", "undo", "undo"]
    with pytest.raises(
        UsageError, match=r"nobody decided anything about 'ann macs essay', so there is nothing to take"
    ):
        decisions.undo(tmp_path, ANN, by="bo", reason="again")
    put(tmp_path, ruling(credit="1"), seen=4)
    assert decisions.read(tmp_path).in_force(ANN).credit == 1


def test_two_people_do_not_overwrite_each_other(tmp_path):
    put(tmp_path, ruling(by="ann"))
    with pytest.raises(UsageError, match=r"'ann macs essay' was decided meanwhile: 3 of 4 by ann, .*nothing was saved"):
        put(tmp_path, ruling(BOB), ruling(credit="1"))
    assert decisions.read(tmp_path).places == (ANN,)  # all or none: the other one was not kept either


def test_rows_are_never_changed(tmp_path):
    put(tmp_path, ruling())
    with sqlite3.connect(tmp_path / database.NAME) as connection:
        for statement in ("UPDATE decisions SET credit = '1'", "DELETE FROM decisions"):
            with pytest.raises(sqlite3.IntegrityError, match="never changed"):
                connection.execute(statement)
    connection.close()
    assert decisions.read(tmp_path).in_force(ANN).credit == Fraction(3, 4)


def test_it_is_write_ahead_and_reads_go_on_while_somebody_writes(tmp_path):
    put(tmp_path, ruling())
    with database.decision_transaction(tmp_path) as ledger:
        assert ledger.rows("PRAGMA journal_mode") == [("wal",)]
        assert decisions.read(tmp_path).places == (ANN,)


def test_another_writer_is_waited_for_and_then_named(tmp_path, monkeypatch):
    put(tmp_path, ruling())
    monkeypatch.setattr(database, "WAIT_SECONDS", 0.05)
    with database.decision_transaction(tmp_path), pytest.raises(UsageError, match="is locked by another program"):
        put(tmp_path, ruling(BOB))
    put(tmp_path, ruling(BOB))
    assert decisions.read(tmp_path).places == (ANN, BOB)


def test_many_at_once_lose_nothing(tmp_path):
    people = [Place(submission=str(number), lab="l", task="t", check="c") for number in range(40)]
    threads = [threading.Thread(target=put, args=(tmp_path, ruling(place))) for place in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = decisions.read(tmp_path)
    assert set(found.places) == set(people)
    assert sorted(found.last(place) for place in people) == list(range(1, 41))


def test_a_failure_within_keeps_nothing(tmp_path):
    put(tmp_path, ruling())

    def fail():
        with database.decision_transaction(tmp_path) as ledger:
            columns = "submission, by, at, reason, hidden_too, final, digest, view, published"
            values = "'a', 'b', 'c', 'd', 0, '1', 'e', 'f', 'g'"
            ledger.write(f"INSERT INTO releases ({columns}) VALUES ({values})")  # noqa: S608
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with Ledger(tmp_path) as ledger:
        assert ledger.rows("SELECT count(*) FROM releases") == [(0,)]


def test_what_was_typed_survives_a_kill(tmp_path):
    code = f"""
        import os
        from fractions import Fraction
        from pathlib import Path
        from labgrade.review import decisions
        from labgrade.review.decisions import Place, Ruling
        for number in range(1000):
            place = Place(submission=str(number), lab="l", task="t", check="c")
            decisions.add(Path({str(tmp_path)!r}), [(Ruling(place=place, kind="mark", basis="b", worth=Fraction(1),
                credit=Fraction(1), reason="", by="ta", machine=""), 0)])
            print(number, flush=True)
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    said = [child.stdout.readline() for _ in range(7)]
    child.kill()
    said += child.stdout.readlines()
    child.stdout.close()
    child.wait()
    told = {line.strip() for line in said if line.endswith("\n")}
    found = decisions.read(tmp_path)
    assert len(told) >= 7
    assert told <= {place.submission for place in found.places}
    put(tmp_path, ruling())


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"not a database at all" * 100, "is damaged .* and was left as it is: put a copy of it back"),
        (None, "is no ledger of labgrade's"),
    ],
)
def test_another_file_is_left_alone(tmp_path, content, says):
    path = tmp_path / database.NAME
    if content is None:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE theirs (a)")
        connection.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    for attempt in (lambda: decisions.read(tmp_path), lambda: put(tmp_path, ruling())):
        with pytest.raises(UsageError, match=says):
            attempt()
    assert path.read_bytes() == before


def test_a_damaged_page_is_said(tmp_path):
    put(
        tmp_path, *(ruling(Place(submission=f"{n}", lab="l", task="t", check="c"), reason="x" * 900) for n in range(60))
    )
    path = tmp_path / database.NAME
    content = bytearray(path.read_bytes())
    content[4096 * 2 :] = b"\xa5" * (len(content) - 4096 * 2)
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"is damaged .*sqlite3 results.sqlite .recover"):
        decisions.read(tmp_path)


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    put(tmp_path, ruling())
    real = Ledger._open

    def opened(self, *, write):
        real(self, write=write)
        ((pages,),) = self.rows("PRAGMA page_count")
        self.rows(f"PRAGMA max_page_count = {pages}")  # SQLite then says what it says of a full disk

    monkeypatch.setattr(Ledger, "_open", opened)
    with pytest.raises(LedgerError, match=r"can't be written .*make room on that disk"):
        put(tmp_path, ruling(BOB, reason="x" * 200_000))
    monkeypatch.undo()
    assert decisions.read(tmp_path).places == (ANN,)


def test_a_database_that_is_lost_is_not_begun_anew_silently(tmp_path):
    put(tmp_path, ruling())
    (tmp_path / database.NAME).unlink()
    for attempt in (lambda: decisions.read(tmp_path), lambda: put(tmp_path, ruling())):
        with pytest.raises(LedgerError, match=r"is gone, and with it all that people decided and released"):
            attempt()
    assert not (tmp_path / database.NAME).exists()
    (tmp_path / "decided.txt").unlink()
    put(tmp_path, ruling(BOB))
    assert decisions.read(tmp_path).places == (BOB,)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_can_not_be_written_is_said(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match=r"may you write to that folder|can't be written"):
        put(tmp_path, ruling())


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(UsageError, match=r"can't be opened .*may you write to that folder"):
        put(tmp_path / "nowhere", ruling())
