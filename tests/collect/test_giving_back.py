"""What is pushed back, and what never is: a student's own branch, or anything by force."""

from fractions import Fraction

import pytest
from helpers.class_sample import graded, submission
from helpers.git_class import ago, bare, commit, git
from helpers.git_servers import TOKEN, http_server, why_no_http

from labgrade.collect.giving_back import Package, Returning
from labgrade.collect.repositories import Patience
from labgrade.review import releases
from labgrade.submissions import git_run
from labgrade.verdict import partial

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(why_no_http()), reason=why_no_http())]
BRANCH = "labgrade/lab2"


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("LABGRADE_GIT_TOKEN", TOKEN)
    (tmp_path / "server").mkdir()
    with http_server(tmp_path / "server") as found:
        commit(bare(tmp_path / "server/ann.git"), {"hw.py": "x"}, ago(hours=1))
        yield found


def package(*ats, reason="", text="7 points"):
    """What goes back after so many releases, of which each shows something else."""
    shown = [
        submission("ann", graded("total", 10, partial(Fraction(number, 5), "off"))) for number in range(1, len(ats) + 1)
    ]
    made = [releases.make_release(each, by="prof", reason=reason) for each in shown]
    history = [releases.replace(each, at=at) for each, at in zip(made, ats, strict=True)]
    return Package(name="ann", title="Lab 2", files={"results.md": text.encode()}, history=history)


def give(server, tmp_path, what, *, dry=False):
    access = git_run.access_to(server.url)
    run = Returning(lab="lab2", mirror=tmp_path / "mirror", access=access, dry=dry, patience=Patience(pauses=()))
    (came,) = run.give_all([(what, f"{server.url}/ann.git")])
    return came


FIRST, SECOND = "2026-11-21T10:00:00+00:00", "2026-11-22T10:00:00+00:00"


def log(server, what="%s"):
    return git("log", f"--format={what}", BRANCH, at=server.root / "ann.git").splitlines()


def test_it_is_pushed_once_and_a_correction_once_more(server, tmp_path):
    main = git("rev-parse", "main", at=server.root / "ann.git")
    assert give(server, tmp_path, package(FIRST), dry=True).state == "would be pushed"
    assert git("for-each-ref", at=server.root / "ann.git").count("\n") == 0
    assert [give(server, tmp_path, package(FIRST)).state for _ in range(2)] == ["pushed", "there already"]
    both = package(FIRST, SECOND, reason="a slip", text="8 points")
    assert [give(server, tmp_path, both).state for _ in range(2)] == ["pushed", "there already"]
    assert log(server) == ["Results of Lab 2, corrected", "Results of Lab 2"]
    assert "Why: a slip" in log(server, "%B")
    assert git("show", f"{BRANCH}:results.md", at=server.root / "ann.git") == "8 points"
    assert git("rev-parse", "main", at=server.root / "ann.git") == main


def test_a_run_that_was_stopped_makes_no_second_commit(server, tmp_path, monkeypatch):
    real = git_run.git

    def stopped(arguments, **how):
        if arguments[0] == "push":
            raise git_run.GitError(git_run.UNREACHABLE, "gone")
        return real(arguments, **how)

    monkeypatch.setattr("labgrade.collect.giving_back.git", stopped)
    assert give(server, tmp_path, package(FIRST)).state == "unreachable"
    monkeypatch.undo()
    monkeypatch.setenv("LABGRADE_GIT_TOKEN", TOKEN)
    assert give(server, tmp_path, package(FIRST)).state == "pushed"
    assert len(log(server)) == 1


def test_a_branch_of_the_students_is_left_alone(server, tmp_path):
    theirs = commit(server.root / "ann.git", {"x": "mine"}, ago(hours=1), branch=BRANCH, on="refs/heads/main^0")
    came = give(server, tmp_path, package(FIRST))
    assert (came.state, came.said) == ("not ours", f"there is a branch '{BRANCH}' that labgrade did not make here")
    assert git("rev-parse", BRANCH, at=server.root / "ann.git") == theirs


def test_what_a_student_adds_to_it_stays(server, tmp_path):
    give(server, tmp_path, package(FIRST))
    theirs = commit(server.root / "ann.git", {"answer.md": "why?"}, ago(hours=1), branch=BRANCH)
    assert give(server, tmp_path, package(FIRST)).state == "there already"
    assert give(server, tmp_path, package(FIRST, SECOND)).state == "pushed"
    assert git("rev-parse", f"{BRANCH}^", at=server.root / "ann.git") == theirs
    assert git("ls-tree", "--name-only", BRANCH, at=server.root / "ann.git") == "results.md"


def test_one_that_was_replaced_is_not_forced(server, tmp_path):
    give(server, tmp_path, package(FIRST))
    theirs = commit(server.root / "ann.git", {"x": "y"}, ago(hours=1), branch=BRANCH, on=None)
    assert give(server, tmp_path, package(FIRST, SECOND)).state == "not ours"
    assert git("rev-parse", BRANCH, at=server.root / "ann.git") == theirs


def test_one_that_was_deleted_is_pushed_again(server, tmp_path):
    give(server, tmp_path, package(FIRST))
    git("update-ref", "-d", f"refs/heads/{BRANCH}", at=server.root / "ann.git")
    assert give(server, tmp_path, package(FIRST)).state == "pushed"
    assert log(server) == ["Results of Lab 2"]


def test_who_may_not_push_is_said(server, tmp_path):
    git("config", "http.receivepack", "false", at=server.root / "ann.git")
    came = give(server, tmp_path, package(FIRST))
    assert came.state == "closed"
    assert "403" in came.said


def test_the_changes_are_named_by_check(server, tmp_path):
    give(server, tmp_path, package(FIRST))
    give(server, tmp_path, package(FIRST, SECOND))
    assert "macs total: 2 -> 4" in log(server, "%B")
