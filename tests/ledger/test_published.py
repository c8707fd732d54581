"""Published points do not fall unasked: whatever was deleted, killed, or left by an older labgrade."""

import json
import os
import sqlite3
import zlib

import pytest

from labgrade.ledger import database, read, tables
from labgrade.ledger.database import Ledger, LedgerError
from labgrade.review import decisions, releases
from labgrade.review.decisions import Place, Ruling

pytestmark = pytest.mark.slow

PUBLISHED = {"s000": 8, "s003": 3}  # what these two have of the checks; `five` is worth 2 of it


def earned(room, who="s000"):
    (found,) = [each for each in read.report_of(room.results).submissions if each.name == who]
    return {check.id: check.earned for task in found.tasks for check in task.checks}


def released(room):
    room.release()
    return earned(room)


def change_what_is_right(room):
    room.edit("specs/lab/task.yaml", "expected: {quantity: other}", "expected: 6")


def does_not_fall(room, before):
    """A run after the change leaves what was published, and says so; asked for, it falls."""
    came = room.grade()
    assert [(each.who, each.place[2], each.published) for each in came.held] == [
        ("s000", "five", 2),
        ("s003", "five", 2),
    ]
    assert earned(room) == before
    room.grade()
    assert earned(room) == before
    room.grade(lower=True)
    assert earned(room) == {**before, "five": 0}


def test_verdicts_that_are_rebuilt_leave_what_was_published(graded):
    before = released(graded)
    change_what_is_right(graded)
    with Ledger(graded.results, write=True) as ledger:
        database.rebuild(ledger)
        assert not ledger.rows("SELECT 1 FROM graded")
    does_not_fall(graded, before)


def test_the_command_rebuilds(graded):
    graded.said("grade", "handed in")
    before = released(graded)
    change_what_is_right(graded)
    done = graded.said("regrade", "--rebuild")
    assert done.returncode == 1
    assert "20 checks were judged anew" in done.stdout or "checks were judged anew" in done.stdout
    assert "not changed, because it is published and would fall" in done.stdout
    assert earned(graded) == before


@pytest.mark.parametrize("what", ["gone", "empty"])
def test_a_database_that_was_deleted_is_missed(graded, what):
    released(graded)
    change_what_is_right(graded)
    for path in graded.results.glob("results.sqlite*"):
        path.unlink()
    if what == "empty":
        (graded.results / "results.sqlite").touch()
    for use in (graded.grade, lambda: read.report_of(graded.results)):
        with pytest.raises(LedgerError, match=rf"is {what}, and with it all that people decided and released: put a"):
            use()


@pytest.mark.parametrize("write", [1, 2, 5, 8, 9])
def test_a_release_that_is_killed_between_two_writes_is_whole_or_none(graded, write):
    """Either students see it and its points are kept, or they do not see it."""
    before = earned(graded)
    child = os.fork()
    if not child:
        real, count = Ledger.write, 0

        def counted(self, *arguments):
            nonlocal count
            count += 1
            if count == write:
                os._exit(9)
            return real(self, *arguments)

        Ledger.write = counted
        graded.release()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == (9 if write <= 8 else 0)  # two writes a submission
    change_what_is_right(graded)
    seen = releases.read(graded.results)
    assert len(seen) == (0 if write <= 8 else 4)
    graded.grade()
    assert earned(graded)["five"] == (before["five"] if seen else 0)


# ---- results of an older labgrade ------------------------------------------------------------------------------

OLD_RELEASED = "CREATE TABLE released (who TEXT PRIMARY KEY, at TEXT NOT NULL, earned TEXT NOT NULL) WITHOUT ROWID"


def as_an_older_labgrade_left_it(results):
    """The two files that labgrade kept before, made of the database."""
    with Ledger(results) as ledger:
        rows = {
            table: ledger.rows(f"SELECT * FROM {table}")  # noqa: S608
            for table in ("run", "history", *tables.REBUILT, "decisions", "releases")
        }
    for path in [*results.glob("results.sqlite*"), results / tables.KEPT]:
        path.unlink()
    earned = {
        row[1]: {place: points for place, (points, _) in tables.unpacked(row[-1]).items()} for row in rows["releases"]
    }
    old = {
        tables.OLD_LEDGER: (0x6C616267, {name: rows[name] for name in ("run", "history", *tables.REBUILT)}),
        tables.OLD_DECISIONS: (
            0x6C676470,
            {"decisions": rows["decisions"], "releases": [row[:-1] for row in rows["releases"]]},
        ),
    }
    for name, (application, contents) in old.items():
        with sqlite3.connect(results / name) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            for statement in database._statements(tables.ALL.replace(", published BLOB NOT NULL", "")):
                if (
                    any(f" {table} " in statement.partition("(")[0] for table in contents)
                    and "CREATE TABLE" in statement
                ):
                    connection.execute(statement)
            for table, found in contents.items():
                for row in found:
                    connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
            if name == tables.OLD_LEDGER:
                connection.execute(OLD_RELEASED)
                for who, points in earned.items():
                    connection.execute("INSERT INTO released VALUES (?, 'then', ?)", (who, json.dumps(points)))
            connection.execute(f"PRAGMA application_id = {application}")
            connection.execute("PRAGMA user_version = 1")
        connection.close()


def decide(room):
    place = Place(submission="s001", lab="lab", task="task", check="five")
    rows = read.report_of(room.results).submissions
    basis = next(
        check.basis for each in rows if each.name == "s001" for check in each.tasks[0].checks if check.id == "five"
    )
    ruling = Ruling(
        place=place, kind="override", basis=basis, worth=2, credit=1, reason="see mail", by="ta", machine="INCORRECT 0"
    )
    decisions.add(room.results, [(ruling, 0)])
    return place


def test_results_of_an_older_labgrade_are_taken_over(graded):
    place = decide(graded)
    graded.release()
    before, outcomes, seen = earned(graded), graded.outcomes(), releases.read(graded.results)
    as_an_older_labgrade_left_it(graded.results)
    assert graded.outcomes() == outcomes
    assert releases.read(graded.results) == seen
    assert decisions.read(graded.results).in_force(place).by == "ta"
    assert sorted(path.name for path in graded.results.glob("*.sqlite*")) == [
        "decisions.sqlite.old",
        "ledger.sqlite.old",
        "results.sqlite",
    ]
    assert graded.grade().ran == 0
    change_what_is_right(graded)
    does_not_fall(graded, before)


def test_the_ledger_of_an_older_labgrade_may_be_deleted(graded):
    before = released(graded)
    as_an_older_labgrade_left_it(graded.results)
    (graded.results / tables.OLD_LEDGER).unlink()
    change_what_is_right(graded)
    came = graded.grade()
    assert [(each.who, each.place[2]) for each in came.held] == [("s000", "five"), ("s003", "five")]
    assert earned(graded) == before


def test_a_release_that_an_older_labgrade_did_not_finish_counts(graded):
    before = released(graded)
    as_an_older_labgrade_left_it(graded.results)
    with sqlite3.connect(graded.results / tables.OLD_LEDGER) as connection:
        connection.execute("DELETE FROM released")
    connection.close()
    change_what_is_right(graded)
    does_not_fall(graded, before)


def test_points_that_an_older_ledger_alone_knows_are_kept(graded):
    before = released(graded)
    as_an_older_labgrade_left_it(graded.results)
    (graded.results / tables.OLD_DECISIONS).unlink()
    change_what_is_right(graded)
    does_not_fall(graded, before)
    assert releases.read(graded.results) == {}


@pytest.mark.parametrize("content", [b"no database at all" * 100, None])
def test_what_can_not_be_taken_over_is_left_as_it_is(graded, content):
    released(graded)
    as_an_older_labgrade_left_it(graded.results)
    path = graded.results / tables.OLD_DECISIONS
    if content is None:
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA user_version = 7")
        connection.close()
        content = path.read_bytes()
    path.write_bytes(content)
    for use in (graded.grade, lambda: read.report_of(graded.results)):
        with pytest.raises(LedgerError, match=r"older labgrade in .* can't be taken over, and were not changed"):
            use()
    assert path.read_bytes() == content
    assert not list(graded.results.glob("results.sqlite*"))


def test_a_view_that_is_damaged_is_taken_over_and_found_when_it_is_read(graded):
    released(graded)
    as_an_older_labgrade_left_it(graded.results)
    with sqlite3.connect(graded.results / tables.OLD_DECISIONS) as connection:
        connection.execute("UPDATE releases SET view = ?", (zlib.compress(b"{}")[:-2],))
    connection.close()
    graded.grade()
    with pytest.raises(database.UsageError, match="is damaged"):
        releases.read(graded.results)
