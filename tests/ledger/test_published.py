"""Published points do not fall unasked: whatever was deleted or killed."""

import os

import pytest

from labgrade.ledger import database, read
from labgrade.ledger.database import Ledger, LedgerError
from labgrade.review import releases

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
