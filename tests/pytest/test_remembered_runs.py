"""What pytest remembers: the same command tells again what nothing changed, and no verdict of something else."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from helpers import small_course
from helpers.pytest_run import ENVIRONMENT, run

from labgrade.cli import main
from labgrade.ledger import depends, read, verdict_memory

pytestmark = pytest.mark.slow
ITEMS = 2  # of the course that are not hidden


@pytest.fixture
def course(tmp_path):
    small_course.write(tmp_path)
    return tmp_path


def remembered(folder, *arguments, who="right"):
    """How many checks were remembered, and all that was said but for that and the time."""
    done = run(folder, f"--submission={who}", *arguments)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.search(r"(\d+) remembered", done.stdout)
    return int(found[1]) if found else 0, re.sub(r"=+|(, \d+ remembered)? in [\d.]+s.*", "", done.stdout)


def runs(folder):
    return [*(folder / "cache/runs").glob("**/*.json")]


@pytest.mark.parametrize("more", [(), ("-v",), ("--junitxml=out.xml", "--labgrade-json=out.json")])
def test_nothing_changed_and_all_is_told_again(course, more):
    first = remembered(course, *more, who="twice")
    written = {path.name: path.read_text() for path in course.glob("out.*")}
    for path in course.glob("out.*"):
        path.unlink()
    again = remembered(course, *more, who="twice")
    assert (first[0], again[0]) == (0, 3)
    assert again[1] == first[1]
    assert {path.name: timeless(path.read_text()) for path in course.glob("out.*")} == {
        name: timeless(text) for name, text in written.items()
    }
    assert len(runs(course)) == 1
    assert remembered(course, "--fresh", *more, who="twice") == (0, first[1])


def test_options_of_the_environment_are_part_of_the_command(course, monkeypatch):
    def asked(who):
        monkeypatch.setitem(ENVIRONMENT, "PYTEST_ADDOPTS", f"--submission={who}")
        return run(course).stdout

    assert "submission right" in asked("right")
    other = asked("twice")
    assert "submission twice" in other
    assert "submission right" not in other
    assert re.search(r"\d+ remembered", asked("right"))


def timeless(text):
    return re.sub(r'(time|timestamp)="[^"]*"', "", text)


@pytest.mark.parametrize(
    ("path", "text", "still"),
    [
        ("submissions/right/answers.yaml", "task: {total: 1, essay: because}", 0),
        ("submissions/right/answers.yaml", small_course.SUBMISSIONS["right"], 3),  # written again: its time tells when
        ("specs/lab/task.yaml", small_course.TASK.replace("A task", "Another title"), 3),
        (
            "specs/lab/task.yaml",
            small_course.TASK.replace("{quantity: size}\n", "{quantity: size, with: {times: 3}}\n"),
            0,
        ),
        ("reference/own.py", small_course.REFERENCE.replace("shape[0]", "shape[1]"), 1),  # of the essay
    ],
)
def test_what_changed_is_judged_anew_and_what_did_not_is_not(course, path, text, still):
    assert remembered(course)[0] == 0
    (course / path).write_text(text)
    if path.endswith(".py"):  # Python tells bytecode of another source by its size and the second of its time alone
        os.utime(course / path, (time.time() + 2,) * 2)
    before = {each: each.read_bytes() for each in runs(course)}
    count, said = remembered(course)
    assert count == still
    assert {each: each.read_bytes() for each in runs(course)} != before
    assert remembered(course, "--fresh")[1] == said


READS = """
from pathlib import Path

def size(subject, *, times: int = 1) -> int:
    'A size.'
    return int((Path(__file__).parent / "sizes/own.txt").read_text()) * times
"""


def test_a_file_that_a_quantity_reads_is_judged_by_as_it_is_now(course, monkeypatch, capsys):
    monkeypatch.chdir(course)
    for name, value in {**ENVIRONMENT, "LABGRADE_CACHE": str(course / "cache")}.items():
        monkeypatch.setenv(name, value)
    (course / "reference/own.py").write_text(READS)
    (course / "reference/sizes").mkdir()
    data = course / "reference/sizes/own.txt"

    def graded(out):
        assert main(["grade", "submissions", "--out", out, "--jobs", "1"]) in (0, 1)
        found = read.report_of(course / out).submissions
        return next(str(who.tasks[0].checks[0].verdict.outcome) for who in found if who.name == "right")

    data.write_text("1234")
    assert graded("one") == "CORRECT"
    assert "INCORRECT" not in remembered(course)[1]
    data.write_text("1235")
    assert (graded("one"), graded("two")) == ("INCORRECT", "INCORRECT")
    assert "'reference/sizes/own.txt' changed" in capsys.readouterr().out
    assert "INCORRECT" in remembered(course)[1]


def test_what_one_door_judged_the_other_remembers(course, monkeypatch, capsys):
    monkeypatch.chdir(course)
    for name, value in {**ENVIRONMENT, "LABGRADE_CACHE": str(course / "cache")}.items():
        monkeypatch.setenv(name, value)
    assert main(["grade", "submissions", "--out", "one", "--jobs", "1"]) in (0, 1)
    assert "nothing had to be run" not in capsys.readouterr().out
    assert remembered(course)[0] == 3
    assert main(["grade", "submissions", "--out", "two", "--jobs", "1"]) in (0, 1)
    assert "nothing had to be run" in capsys.readouterr().out
    assert main(["grade", "submissions", "--out", "three", "--jobs", "1", "--fresh"]) in (0, 1)
    assert "nothing had to be run" not in capsys.readouterr().out


def test_a_students_own_check_knows_what_was_graded_where_something_protects(course, monkeypatch, capsys):
    """Without protection students' code could write what is remembered: then all is judged.

    Of a task with hidden checks a student is given another one.
    """
    shown = [line for line in small_course.TASK.splitlines() if "hidden: true" not in line]
    (course / "specs/lab/task.yaml").write_text("\n".join(shown).replace("points: 10", "points: 9"))
    monkeypatch.chdir(course)
    for name, value in {**ENVIRONMENT, "LABGRADE_CACHE": str(course / "cache")}.items():
        monkeypatch.setenv(name, value)
    judged, judge = [], verdict_memory.judged_with_marks

    def noted(item, grade):
        judged.append(item.id)
        return judge(item, grade)

    monkeypatch.setattr(verdict_memory, "judged_with_marks", noted)

    def checked(*more):
        judged.clear()
        assert main(["check", "submissions/right", *more]) in (0, 1)
        return capsys.readouterr().out.partition("since your")[0], len(judged)

    alone, _ = checked()
    assert remembered(course)[0] == 0
    shutil.rmtree(course / "cache/checks")
    assert checked() == (alone, 0)
    shutil.rmtree(course / "cache/checks")
    (course / "submissions/right/more.txt").write_text("another hand-in")
    assert checked() == (alone, ITEMS)
    shutil.rmtree(course / "cache/checks")
    monkeypatch.setenv("LABGRADE_FRESH", "1")
    assert checked()[1] == ITEMS


def test_a_verdict_of_another_installation_is_not_told_for_ours(course, monkeypatch, capsys):
    """A function sees where Python lies; what another checkout came to may have another path in what was printed."""
    monkeypatch.chdir(course)
    for name, value in {**ENVIRONMENT, "LABGRADE_CACHE": str(course / "cache")}.items():
        monkeypatch.setenv(name, value)

    def says_nothing_ran(out):
        assert main(["grade", "submissions", "--out", out, "--jobs", "1"]) in (0, 1)
        return "nothing had to be run" in capsys.readouterr().out

    assert [says_nothing_ran(out) for out in ("one", "two")] == [False, True]
    elsewhere = SimpleNamespace(executable="/elsewhere/python", stdlib_module_names=sys.stdlib_module_names)
    monkeypatch.setattr(depends, "sys", elsewhere)
    assert not says_nothing_ran("three")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_what_is_remembered_of_students_is_nobody_elses_to_read(course):
    remembered(course)
    files = [path for path in (course / "cache").rglob("*") if path.is_file() and path.name.startswith("verdicts")]
    assert {path.stat().st_mode & 0o077 for path in [*files, *runs(course)]} == {0}


def test_settings_that_were_changed_within_their_time_and_size_are_others(course):
    """As `cp -p` leaves them. A clock that is set back does the same."""
    file = course / "conftest.py"
    file.write_text(file.read_text() + "# a\n")
    assert remembered(course)[0] == 0
    before, state = runs(course)[0].read_bytes(), file.stat()
    assert remembered(course)[0] == 3
    assert runs(course)[0].read_bytes() == before
    file.write_text(file.read_text().replace("# a", "# b"))
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    remembered(course)
    assert runs(course)[0].read_bytes() != before


def test_a_fault_is_never_remembered(tmp_path):
    small_course.write(tmp_path, faulty=True)
    for _ in range(2):
        assert remembered(tmp_path)[0] in (0, 3)
    assert runs(tmp_path) == []
    with sqlite3.connect(tmp_path / "cache/verdicts.sqlite") as kept:
        assert "FAULT" not in "".join(text for (text,) in kept.execute("SELECT plain FROM verdict"))


def test_where_nothing_protects_nothing_is_believed_or_kept(course, monkeypatch):
    remembered(course)
    for path in runs(course):
        path.unlink()
    with sqlite3.connect(course / "cache/verdicts.sqlite") as kept:
        before = kept.execute("SELECT * FROM verdict").fetchall()
    monkeypatch.setitem(ENVIRONMENT, "LABGRADE_FRESH", "1")
    assert remembered(course, "--unsafe")[0] == 0
    assert remembered(course, "--unsafe")[0] == 0
    assert runs(course) == []
    with sqlite3.connect(course / "cache/verdicts.sqlite") as kept:
        assert kept.execute("SELECT * FROM verdict").fetchall() == before


@pytest.mark.parametrize("damage", [b"", b"no database", None])
def test_what_is_damaged_is_judged_again(course, damage):
    _, first = remembered(course)
    for path in (course / "cache").glob("verdicts.sqlite*"):
        path.unlink()
    place = course / "cache/verdicts.sqlite"
    place.mkdir() if damage is None else place.write_bytes(damage)
    for path in runs(course):
        path.write_bytes(path.read_bytes().replace(b"CORRECT", b"CORRUPT"))
    assert remembered(course) == (0, first)


def test_a_verdict_that_was_changed_is_not_believed(course):
    _, first = remembered(course)
    for path in runs(course):
        path.unlink()
    with sqlite3.connect(course / "cache/verdicts.sqlite") as kept:
        kept.execute("UPDATE verdict SET plain = replace(plain, 'CORRECT', 'INCORRECT')")
    assert remembered(course)[1] == first


def test_a_repository_that_a_run_only_reads_is_unchanged(course):
    """To be read in the jail its files are linked there, which changes a time of theirs."""
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *command], cwd=course, check=True)
    assert remembered(course)[0] == 0
    (kept,) = runs(course)
    before = kept.read_bytes()
    os.link(course / ".git/HEAD", course / "cache/HEAD")
    (course / "cache/HEAD").unlink()
    assert remembered(course)[0] == 3
    assert kept.read_bytes() == before
