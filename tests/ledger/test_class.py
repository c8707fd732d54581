"""A class graded into a ledger: nothing runs twice, and what changed runs again, that alone."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import classroom, pytest_run
from helpers.shown import unframed
from helpers.soak import soak

from labgrade.core.errors import UsageError
from labgrade.ledger import read
from labgrade.ledger.database import Ledger
from labgrade.reports.summary import reason
from labgrade.run.grader import Grader
from labgrade.submissions import find

FULL = "no more can be stored"

pytestmark = pytest.mark.slow


def strip(report):
    return re.sub(r"seconds=[^,)]*", "seconds=0", repr(report.submissions))


def test_a_class_is_graded_and_a_second_run_judges_nothing(room):
    came = room.grade()
    assert room.outcomes() == classroom.expected(4)
    assert came.ran == 17  # 20 items, three of which need another first
    before = read.report_of(room.results)
    again = room.grade()
    assert again.ran == 0
    assert not again.changes
    assert read.report_of(room.results) == before


def test_a_second_run_imports_no_torch_and_starts_no_server(graded):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "labgrade.cli", "grade", "handed in"],
        cwd=graded.folder,
        env=graded.environment(),
        check=True,
        capture_output=True,
        text=True,
    )
    assert "nothing had to be run" in done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "labgrade.run.grader" in imported
    assert not imported & {"torch", "onnx", "onnxruntime"}


def test_the_report_is_the_same_however_many_work_at_it(room, tmp_path):
    for number in range(4, 11):
        room.write(f"handed in/s{number:03}/answers.yaml", f"task: {{total: {number}, five: 5}}\n")
    room.grade(jobs=3)
    found = read.report_of(room.results)
    assert [who.name for who in found.submissions] == [f"s{number:03}" for number in range(11)]
    assert [check.id for check in found.submissions[0].tasks[0].checks] == list(classroom.OUTCOMES)
    room.grade(jobs=1, results=tmp_path / "others")
    assert strip(found) == strip(read.report_of(tmp_path / "others"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title: A task", "title: Another title"),
        ("How large is it?", "How big is it?"),
        ("for: clarity", "for: style"),
        ("points: 4\n", "points: 4 # a comment\n"),
        ("hidden: true, needs", "hidden: false, needs"),
    ],
)
def test_other_words_judge_nothing_anew(graded, old, new):
    graded.edit("specs/lab/task.yaml", old, new)
    assert graded.grade().ran == 0
    assert graded.outcomes() == classroom.expected(4)


def test_a_file_that_changes_no_verdict_is_no_news(graded):
    graded.write("handed in/s000/notes.txt", "one line more")
    came = graded.grade()
    assert came.ran > 0
    assert not came.changes
    assert "in other words" not in graded.said("regrade", str(graded.results)).stdout


def test_other_words_are_in_the_report_all_the_same(graded):
    graded.edit("specs/lab/task.yaml", "counted twice", "both directions are counted")
    came = graded.grade()
    assert came.ran == 0
    (task,) = read.report_of(graded.results).submissions[1].tasks
    assert task.checks[0].verdict.hint == "both directions are counted"
    assert [change.counts for change in came.changes] == [False]
    graded.edit("specs/lab/task.yaml", "for: clarity", "for: <b>style</b>")
    graded.grade()
    (task,) = read.report_of(graded.results).submissions[0].tasks
    assert reason(task.checks[4].verdict) == "waits to be marked by a person: 2 for <b>style</b>"


def test_points_are_counted_anew_without_judging(graded):
    graded.edit("specs/lab/task.yaml", "points: 10", "points: 12")
    graded.edit("specs/lab/task.yaml", "points: 4\n", "points: 6\n")
    came = graded.grade()
    assert came.ran == 0
    report = read.report_of(graded.results)
    assert report.submissions[0].tasks[0].points == 12
    assert report.submissions[1].tasks[0].checks[0].earned == 3
    assert {change.why for change in came.changes} == {"points: 4 before, 6 now"}


def test_a_literal_that_is_corrected_runs_its_own_check_alone(graded):
    graded.edit("specs/lab/task.yaml", "expected: 1234", "expected: 1235")
    came = graded.grade()
    assert graded.judged() == [("secret", "INCORRECT")]
    (change,) = came.changes
    assert (change.who, change.place) == ("s000", ("lab", "task", "secret"))
    assert change.before.earned == 1
    assert change.after.earned == 0
    assert re.fullmatch(r"'expected' in the spec \(.*specs/lab/task\.yaml:18\) changed from 1234 to 1235", change.why)


def test_a_checker_that_is_touched_runs_what_it_judges(graded):
    graded.edit("checkers/own.py", "it is even", "this is even")
    came = graded.grade()
    assert [item for item, _ in graded.judged()] == ["odd"] * 4
    assert {change.why for change in came.changes} == {"'checkers/own.py' changed"}


def test_a_quantity_that_is_corrected_runs_what_asks_for_it(graded):
    graded.edit("reference/others.py", "return 5", "return 6")
    came = graded.grade()
    assert [item for item, _ in graded.judged()] == ["five"] * 4
    assert graded.outcomes()["s001", "five"] == "CORRECT"
    assert graded.outcomes()["s000", "five"] == "INCORRECT"
    assert {change.why for change in came.changes} == {"'reference/others.py' changed"}


def test_a_late_hand_in_runs_that_student_alone(graded):
    graded.write("handed in/s002/answers.yaml", "task: {total: 1234}\n")
    came = graded.grade()
    assert graded.judged() == sorted(
        [("total", "CORRECT"), ("secret", "CORRECT"), ("five", "MISSING"), ("odd", "MISSING"), ("essay", "MISSING")]
    )
    assert {change.who for change in came.changes} == {"s002"}
    assert came.changes[-1].why == "'answers.yaml' of the submission changed"


def test_who_is_skipped_is_named_and_keeps_what_was_graded(graded):
    before = graded.outcomes()
    graded.write("handed in/s002/answers.yaml", "task: {total: 1234}\n")
    assert not graded.grade(skip=("s002",)).ran
    assert graded.outcomes() == before
    with Ledger(graded.results) as ledger:
        assert "not graded: 's002', as --skip asks; what was graded before stands" in read.notes(ledger)
    assert graded.grade().ran
    with Ledger(graded.results) as ledger:
        assert not any("--skip" in note for note in read.notes(ledger))


def test_who_is_no_more_there_and_who_is_of_another_class_are_named(room, tmp_path):
    room.grade()
    shutil.move(room.submissions / "s001", tmp_path / "s001")
    room.grade()
    place = room.submissions
    gone = f"not in this run: 1 of these results is no more in '{place}', and what was graded stays: 's001'"
    with Ledger(room.results) as ledger:
        assert gone in read.notes(ledger)
    room.write("others/ann/answers.yaml", "task: {total: 1234}\n")
    room.grade(source=tmp_path / "others")
    mixed = f"not in this run: 4 of these results are not in '{tmp_path / 'others'}', but were taken from '{place}'"
    with Ledger(room.results) as ledger:
        assert [note for note in read.notes(ledger) if note.startswith(mixed)]
        assert gone not in read.notes(ledger)
    room.grade(names=("s000",))
    with Ledger(room.results) as ledger:
        assert not [note for note in read.notes(ledger) if note.startswith("not in this run")]


@pytest.mark.parametrize("packed", [False, True])
def test_a_folder_around_the_class_is_said_to_be_one(graded, tmp_path, packed):
    for name in ("s000", "s001"):
        shutil.copytree(graded.submissions / name, tmp_path / "wrapped/all" / name)
    source = (
        shutil.make_archive(str(tmp_path / "class"), "zip", tmp_path / "wrapped") if packed else tmp_path / "wrapped"
    )
    graded.grade(source=Path(source))
    said = "only one submission: 'all' holds nothing but 2 folders; if each of them is a submission, "
    with Ledger(graded.results) as ledger:
        assert [note for note in read.notes(ledger) if note.startswith(said)]


def test_the_same_work_handed_in_twice_is_judged_once(graded):
    same = (graded.folder / "handed in/s000/answers.yaml").read_text()
    graded.write("handed in/copy/answers.yaml", same)
    assert graded.grade().ran == 0
    assert graded.outcomes()["copy", "total"] == "CORRECT"


def test_a_fault_of_ours_runs_again_until_it_is_none(room):
    room.edit("reference/others.py", "return 5", "raise ZeroDivisionError")
    room.grade()
    assert room.outcomes()["s000", "five"] == "FAULT"
    assert room.grade().ran == 3  # s002 hands in no five, which needs no quantity
    room.edit("reference/others.py", "raise ZeroDivisionError", "return 5")
    came = room.grade()
    assert room.outcomes() == classroom.expected(4)
    assert len(came.changes) == 3
    assert room.grade().ran == 0


def test_networks_that_cannot_be_drawn_ahead_stop_no_class(room, monkeypatch):
    asked = []

    def fail(self, tasks, *, draw=False):
        asked.append(draw)
        if draw:
            message = "of Hypothesis"
            raise RuntimeError(message)

    monkeypatch.setattr(Grader, "know_subjects", fail)
    room.grade()
    assert room.outcomes() == classroom.expected(4)
    assert asked == [True, False]


def test_what_we_could_not_read_costs_nobody_a_point_and_is_read_the_next_time(room, monkeypatch):
    opened = os.open

    def refuse(path, *given, **named):
        if path == "answers.yaml":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return opened(path, *given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        room.grade()
    report = read.report_of(room.results)
    checks = [check for who in report.submissions for check in who.tasks[0].checks if check.id != "secret"]
    assert {str(check.verdict.outcome) for check in checks} == {"FAULT"}
    assert "may lie in 'answers.yaml' (Input/output error), which could not be read here" in checks[0].verdict.reason
    room.grade()
    assert room.outcomes() == classroom.expected(4)


@pytest.mark.parametrize("always", [False, True])
def test_who_had_no_room_beside_others_is_taken_in_once_more_alone(room, monkeypatch, tmp_path, always):
    taken, full = find.Offered.take, tmp_path / "was full"

    def take(self, name, *given):
        if name == "s001" and (always or not full.exists()):
            full.touch()  # a file: each pass has processes of its own
            raise UsageError(FULL)
        return taken(self, name, *given)

    monkeypatch.setattr(find.Offered, "take", take)
    came = room.grade(jobs=2)
    assert full.exists()
    assert came.lost == ((f"'s001': {FULL}",) if always else ())
    assert room.outcomes().items() <= classroom.expected(4).items()
    assert {who for who, _ in room.outcomes()} == {"s000", "s002", "s003", *(() if always else ("s001",))}


def test_what_a_kit_brought_is_no_answer_and_counts_all_the_same(room):
    room.edit("specs/lab/task.yaml", "from: [{entry: task.five}]", "from: [{after: Five, file: five.txt}]")
    brought = ("labgrade-kit.yaml", "kit: lab"), ("subjects/five.txt", "Five: 7")
    for name, text in (("hw/five.txt", "Five: 5"), *brought):
        room.write(f"handed in/s000/{name}", text)
    room.grade()
    assert room.outcomes()["s000", "five"] == "CORRECT"
    room.write("handed in/s000/subjects/five.txt", "Five: 8")  # which code may read
    assert room.grade().ran == 5


def test_a_check_that_is_asked_for_no_more_leaves_the_report(graded):
    graded.edit("specs/lab/task.yaml", "  - {id: odd, points: 1, answer: five, checker: odd, expected: 1}\n", "")
    graded.edit("specs/lab/task.yaml", "points: 10", "points: 9")
    came = graded.grade()
    assert came.ran == 0
    assert not [place for place in graded.outcomes() if place[1] == "odd"]
    assert {(change.place[2], change.after, change.why) for change in came.changes} == {
        ("odd", None, "the spec asks for it no more")
    }


def test_what_is_not_graded_now_stays_in_the_report(room):
    other = classroom.TASK.replace("id: task", "id: other", 1)
    room.write("specs/lab/other.yaml", other)
    room.grade()
    assert room.grade(tasks=("task",), names=("s001",)).ran == 0
    assert len(read.report_of(room.results).submissions) == 4
    assert all(len(who.tasks) == 2 for who in read.report_of(room.results).submissions)
    room.write("specs/lab/other.yaml", "id: [broken")
    came = room.grade()
    assert came.broken
    assert all(len(who.tasks) == 2 for who in read.report_of(room.results).submissions)


def test_published_results_do_not_fall_unasked(graded):
    assert graded.release() == ("s000", "s001", "s002", "s003")
    graded.edit("specs/lab/task.yaml", "expected: {quantity: other}", "expected: 6")
    came = graded.grade()
    assert [(each.who, each.place[2], each.published, each.would_be.earned) for each in came.held] == [
        ("s000", "five", 2, 0),
        ("s003", "five", 2, 0),
    ]
    assert graded.outcomes()["s000", "five"] == "CORRECT"
    assert graded.outcomes()["s001", "five"] == "CORRECT"  # who earns more, earns it
    again = graded.grade()
    assert (again.ran, len(again.held)) == (0, 2)
    lowered = graded.grade(lower=True)
    assert (lowered.ran, lowered.held) == (0, ())
    assert graded.outcomes()["s000", "five"] == "INCORRECT"
    assert [change.who for change in lowered.changes] == ["s000", "s003"]


def test_a_published_result_that_is_right_again_waits_for_nothing(graded):
    graded.release()
    graded.edit("specs/lab/task.yaml", "expected: {quantity: other}", "expected: 6")
    graded.grade()
    graded.edit("specs/lab/task.yaml", "expected: 6", "expected: {quantity: other}")
    assert not graded.grade().held


def test_results_among_the_submissions_are_refused(room):
    with pytest.raises(UsageError, match="where it would be a submission"):
        room.grade(results=room.submissions / "results")


def test_an_archive_of_a_class_is_graded_too(graded, tmp_path):
    import shutil

    archive = shutil.make_archive(str(tmp_path / "class"), "zip", graded.submissions)
    assert graded.grade(source=tmp_path / archive).ran == 0
    assert graded.outcomes() == classroom.expected(4)


def test_the_commands(room):
    done = room.forked("grade", "handed in", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert "results are in 'results'; 17 checks were judged anew" in done.stdout
    room.edit("specs/lab/task.yaml", "expected: 1234", "expected: 1235")
    done = room.said("regrade")
    assert done.returncode == 0, done.stderr
    assert "1 verdict changed" in done.stdout
    assert "task secret: CORRECT 1 of 1 -> INCORRECT 0 of 1, because 'expected' in the spec" in done.stdout
    told = room.said("explain", "s000", "task", "secret").stdout
    for part in (
        "answer: 1,234",
        "from: │ answers.yaml:1 task.total",
        "expected: 1,235",
        "in the spec: │ specs/lab/task.yaml:18:5",
    ):
        assert part in told
    assert "before: CORRECT 1 of 1" in told
    assert "checker: │ equal" in told
    done = room.said("explain", "s00", "task")
    assert done.returncode == 2
    assert "did you mean 's00" in done.stderr
    for named in (["elsewhere"], ["--out", "elsewhere"], ["--results", "elsewhere"]):
        done = room.said("regrade", *named)
        assert done.returncode == 2
        assert "there are no results in 'elsewhere'" in done.stderr


def test_regrade_is_about_everybody_whoever_was_graded_last(room):
    assert room.said("grade", "handed in").returncode == 0
    assert room.said("grade", "handed in", "--submission", "s001", "--task", "task").returncode == 0
    room.edit("specs/lab/task.yaml", "expected: 1234", "expected: 1235")
    done = room.said("regrade")
    assert "s000" in done.stdout.partition("1 verdict changed")[2]
    assert room.outcomes()["s000", "secret"] == "INCORRECT"


def test_regrade_takes_each_from_where_it_was_taken_last(room):
    room.said("grade", "handed in")
    room.write("late/s002/answers.yaml", "task: {total: 1234, five: 5}\n")
    room.said("grade", "late")
    assert room.outcomes()["s002", "secret"] == "CORRECT"
    room.edit("specs/lab/task.yaml", "expected: 1234", "expected: 1235")
    done = room.said("regrade")
    assert "2 verdicts changed" in done.stdout
    assert {who: room.outcomes()[who, "secret"] for who in ("s000", "s002")} == {
        "s000": "INCORRECT",
        "s002": "INCORRECT",
    }
    room.write("handed in/s009/answers.yaml", "task: {total: 1234}\n")
    assert room.said("regrade").returncode == 0
    assert room.outcomes()["s009", "total"] == "CORRECT"
    shutil.rmtree(room.folder / "late")
    shutil.rmtree(room.folder / "handed in/s001")
    done = room.said("regrade")
    assert "not graded again: 's001', 's002': their source no longer exists" in unframed(done.stdout)
    assert room.outcomes()["s002", "five"] == "CORRECT"  # 'handed in' holds an earlier one, and MISSING it would be
    shutil.rmtree(room.folder / "handed in")
    done = room.said("regrade")
    assert done.returncode == 2
    assert "there is no folder" in done.stderr


def test_what_could_not_be_read_and_what_to_do_next_stand_at_the_end(room):
    done = room.said("grade", "handed in")
    assert done.stdout.endswith("next: labgrade standing results (what waits for a person)\n")
    room.edit("specs/lab/task.yaml", "points: 10", "points: 11")
    done = room.said("regrade")
    assert done.returncode == 2
    assert "not graded: specs/lab/task.yaml, which can't be read: see below" in unframed(done.stdout)
    assert "specs/lab/task.yaml:4:9: the checks add up to 10 points, not 11" in done.stderr
    room.edit("specs/lab/task.yaml", "points: 11", "points: 10")
    room.edit(
        "specs/lab/task.yaml", "  - {id: essay, points: 2, answer: essay, by_hand: [{points: 2, for: clarity}]}\n", ""
    )
    room.edit("specs/lab/task.yaml", "  essay: {type: text, from: [{entry: task.essay}]}\n", "")
    room.edit("specs/lab/task.yaml", "points: 10", "points: 8")
    done = room.said("regrade")
    assert done.stdout.endswith("next: labgrade export --results results --format all --out exported\n")


def test_a_published_result_is_refused_by_the_command(graded):
    graded.said("grade", "handed in")
    graded.release()
    graded.edit("specs/lab/task.yaml", "expected: 1234", "expected: 1235")
    done = graded.said("regrade")
    assert done.returncode == 1
    assert "not changed, because it is published and would fall" in done.stdout
    assert "s000, task secret: 1 -> INCORRECT 0 of 1" in done.stdout
    assert "regrade results --allow-lower" in done.stdout
    assert graded.said("regrade", "--allow-lower").returncode == 0
    assert graded.outcomes()["s000", "secret"] == "INCORRECT"


@pytest.mark.parametrize("workers", [[], pytest.param(["-n", "2"], marks=soak)])
def test_pytest_uses_the_ledger_too_and_says_the_same_with_and_without_xdist(room, workers):
    def graded(*arguments):
        where = ("--submissions-dir=handed in", "--labgrade-json=out.json")
        pytest_run.run(room.folder, "--submission=all", "-q", *where, *arguments)
        written = re.sub(r'"seconds": [^,}]*', '"seconds": 0', (room.folder / "out.json").read_text())
        return json.loads(written)["submissions"]

    plain = graded()
    first = graded("--results=results", *workers)
    assert first == plain
    assert len(classroom.rows(room.results, "SELECT 1 FROM judged")) == 17
    assert graded("--results=results", *workers) == plain
    assert len(classroom.rows(room.results, "SELECT 1 FROM judged")) == 17
    assert room.grade().ran == 0
    with Ledger(room.results) as ledger:
        assert read.unfinished_since(ledger) == 4


@pytest.mark.parametrize("workers", [[], pytest.param(["-n", "2"], marks=soak)])
def test_what_a_person_opened_stays_open_when_pytest_grades(graded, workers):
    assert graded.outcomes()["s001", "secret"] == "SKIPPED"
    given = ("s001", "task", "total", "--points", "4", "--reason", "our mistake", "--by", "ann")
    done = graded.said("override", "results", *given)
    assert done.returncode == 0, done.stderr
    graded.grade()
    assert graded.outcomes()["s001", "secret"] == "INCORRECT"  # judged, since the check that it needs was decided
    where = ("--submissions-dir=handed in", "--results=results")
    pytest_run.run(graded.folder, "--submission=all", "-q", *where, *workers)
    assert graded.outcomes()["s001", "secret"] == "INCORRECT"
