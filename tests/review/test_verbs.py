"""The commands on a folder of results, from beginning to end, and what they refuse."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
from helpers import ledger_of
from helpers.class_sample import CLASS, essay, graded, report, student, submission

from labgrade.cli import main
from labgrade.commands import explain
from labgrade.core.errors import UsageError
from labgrade.core.results import Report
from labgrade.ledger import database, rows
from labgrade.ledger.database import Ledger
from labgrade.review import decisions, pseudonyms, releases, results
from labgrade.review.decisions import Place
from labgrade.verdict import Outcome, Suggestion, correct, incorrect, without_value

LAB = "title: Lab\ndue: 2026-11-20T23:59+08:00\nlate: {per_day: 10 %}\n"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course with results of three students in it, and nobody's lateness."""
    (tmp_path / "specs/lab2").mkdir(parents=True)
    (tmp_path / "specs/lab2/lab.yaml").write_text(LAB)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABGRADE_BY", "ta")
    monkeypatch.setenv("COLUMNS", "200")
    in_time = [replace(each, handed_in="2026-11-20T23:00:00+08:00") for each in CLASS.submissions]
    ledger_of.write(tmp_path / "results", Report(submissions=tuple(in_time)))
    return tmp_path


@pytest.fixture
def run(course, capsys, monkeypatch):
    """Run a command with these lines typed: its exit code, and what it printed."""

    def made(*arguments, typed=()):
        lines = list(typed)

        def ask(prompt):
            if not lines:
                raise EOFError
            return lines.pop(0)

        monkeypatch.setattr("builtins.input", ask)
        code = main([arguments[0], "results", *arguments[1:]])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return made


def checks(folder, who="ann"):
    found = results.read(folder / "results").staff
    (one,) = [each for each in found.submissions if each.name == who]
    return {check.id: check for task in one.tasks for check in task.checks}


def test_a_class_is_marked_overridden_and_released(run, course):
    assert run("mark", typed=["3", "1", "good", "1", "0", "", "0", "0", ""])[0] == 0
    assert run("mark") == (0, "nothing waits to be marked\n")
    assert checks(course)["depends"].earned == 2
    code, said = run("release")
    assert code == 2
    assert said.startswith("labgrade: 3 of 3 still wait for a person: ann, bob, 王小明; nothing was released")
    for who in ("ann", "bob", "王小明"):
        code, said = run("override", who, "macs", "broken", "--points", "full", "--reason", "our checker failed")
        assert (code, said) == (0, f"{who} macs broken: 3 of 3; labgrade says FAULT 0\n")
    assert run("standing") == (0, "nothing waits for a person\n")
    assert run("release", "--by", "prof") == (0, "3 released by prof\n")
    assert run("release")[1] == "0 released by ta; 3 had seen this before\n"
    students = results.read(course / "results").students
    assert "secret" not in repr(students)
    assert [task.checks[1].earned for each in students.submissions for task in each.tasks] == [4, 1, 0]


def test_standing_tells_zeros_with_their_cause_and_what_was_left_out(run, tmp_path):
    blank = incorrect("answers.yaml can't be read: line 3 begins with a blank")
    slow = without_value(Outcome.TIMEOUT, "total_macs used more than 60 s of computing time")
    rows = graded("a", 20, blank), graded("b", 24, blank), graded("c", 1, slow)
    late = without_value(Outcome.FAULT, "the time of this submission was used up: all of it may take 3 s")
    cut = submission("gil", graded("c", 1, correct()), graded("d", 1, late), graded("e", 1, late))
    zero = submission("dan", *rows, remarks=("'a.rar', because why",))
    full = replace(student("eve"), handed_in="2026-11-20T20:00:00+08:00")
    stub = submission("finn", graded("a", 1, correct()), handed_in="2026-11-20T22:00:00+08:00")
    ledger_of.write(tmp_path / "results", Report(submissions=(zero, full, stub, cut)))
    roster = "students: [{id: eve, group: G}, {id: finn, group: G}, {id: dan}, {id: gil}]\n"
    (tmp_path / "roster.yaml").write_text(roster)
    code, said = run("standing")
    assert code == 1
    assert "1 without a point: INCORRECT: answers.yaml can't be read: line 3 begins with a blank (44 points)\n" in said
    said_of_time = "2 cut off before they were judged: the time of this submission was used up: all of it may take 3 s"
    assert f"{said_of_time}\n    'gil': 2 checks\n  -> grade again with more --submission-time" in said
    assert re.search(r"1 cut off by a limit\n    \S+ c: TIMEOUT: 'dan'\n", said)
    assert "1 left out of hand-ins\n    dan: 'a.rar', because why\n" in said


def test_the_next_one_only(run, course):
    code, said = run("mark", "--next", typed=["3", "1", ""])
    assert code == 1
    assert "1 of 3" in said
    assert "1 marked, 2 wait" in said
    assert run("mark", "--task", "macs", "--next", typed=["q"])[0] == 1
    assert run("mark", "--task", "mac") == (
        2,
        "labgrade: there is no task 'mac' in these results; did you mean 'macs'?\n",
    )


def test_marks_go_through_a_table(run, course):
    code, said = run("mark", "--export", "marks.csv")
    assert (code, said) == (0, "3 to be marked, in 'marks.csv': fill in 'points' and 'comment'\n")
    table = (course / "marks.csv").read_text(encoding="utf-8")
    filled = re.sub(r'("names the bottleneck","3"),""', r'\1,"2"', table)
    (course / "marks.csv").write_text(filled, encoding="utf-8")
    code, said = run("mark", "--import", "marks.csv")
    assert code == 2
    assert "nothing was imported" in said
    assert said.count("no points are given for 'gives a number'") == 3
    assert checks(course)["essay"].decision is None
    filled = re.sub(r'("gives a number","1"),""', r'\1,"1"', filled)
    (course / "marks.csv").write_bytes(filled.encode("utf-8"))
    assert run("mark", "--import", "marks.csv") == (0, "3 marks taken in; 0 left to be marked\n")
    assert checks(course)["essay"].earned == 3
    assert run("mark", "--import", "marks.csv") == (0, "0 marks taken in; 0 left to be marked\n")
    assert run("mark", "--export", "-")[1].startswith("\ufeff")


def test_a_table_that_is_not_there_or_can_not_be_written(run):
    assert run("mark", "--import", "none.csv") == (2, "labgrade: 'none.csv' can't be read: no such file or directory\n")
    assert run("mark", "--export", "no/where.csv")[1] == "labgrade: --export no/where.csv: there is no folder 'no'\n"


def test_an_override_stands_beside_the_machine_and_can_be_undone(run, course):
    arguments = ("override", "ann", "macs", "total")
    code, said = run(*arguments, "--points", "7", "--reason", "see mail")
    assert (code, said) == (0, "ann macs total: 7 of 10; labgrade says PARTIAL 6\n")
    assert checks(course)["total"].decision.machine.outcome == "PARTIAL"
    code, said = run(*arguments, "--points", "8", "--reason", "once more")
    assert said == "ann macs total: 8 of 10; labgrade says PARTIAL 6\n"
    code, said = run(*arguments, "--undo", "--reason", "no")
    assert re.fullmatch(r"taken back: 8 of 10 by ta, \S+: once more\nnow holds: 7 of 10 by ta, \S+: see mail\n", said)
    code, said = run(*arguments, "--undo")
    assert said.endswith("now holds: labgrade's own verdict\n")
    assert checks(course)["total"].decision is None
    assert run(*arguments, "--undo")[0] == 2
    place = Place(submission="ann", lab="lab2", task="macs", check="total")
    assert len(decisions.read(course / "results").history(place)) == 4


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("anm", "macs", "total", "--points", "1", "--reason", "x"),
            "there is no submission 'anm' in these results; did you mean 'ann'?",
        ),
        (
            ("ann", "mac", "total", "--points", "1", "--reason", "x"),
            "there is no task 'mac' in these results; did you mean 'macs'?",
        ),
        (
            ("ann", "macs", "totl", "--points", "1", "--reason", "x"),
            "'macs' has no check 'totl'; did you mean 'total'?",
        ),
        (
            ("ann", "macs", "zzz", "--points", "1", "--reason", "x"),
            "'macs' has no check 'zzz'; it has total, essay, depends, broken",
        ),
        (
            ("ann", "macs", "total", "--points", "11", "--reason", "x"),
            "--points: 11 is more than the 10 that this is worth",
        ),
        (("ann", "macs", "total", "--points", "-1", "--reason", "x"), "--points: '-1' is no number of points"),
        (("ann", "macs", "total", "--points", "1"), "say why with --reason; the student reads it"),
        (("ann", "macs", "total", "--points", "1", "--reason", "  "), "say why with --reason"),
    ],
)
def test_overrides_that_mean_nothing_are_refused(run, course, arguments, says):
    code, said = run("override", *arguments)
    assert code == 2
    assert says in said
    assert decisions.read(course / "results").places == ()


def test_lower_points_are_not_released_silently(run, course):
    run("override", "ann", "macs", "total", "--points", "9", "--reason", "generous")
    assert run("release", "--unfinished")[0] == 0
    code, said = run("override", "ann", "macs", "total", "--points", "2", "--reason", "too generous")
    assert "'ann' was released before and still sees the old result" in said
    assert checks(course)["total"].earned == 2
    shown = results.read(course / "results").students.submissions[0]
    assert shown.tasks[0].checks[0].earned == 9
    code, said = run("release", "--unfinished")
    assert code == 2
    assert "  ann macs total: 9 before, 2 now\n  ann all: 9 before, 2 now\n" in said
    assert "1 with fewer points than were released\n    ann all: 9 before, 2 now\n" in run("standing")[1]
    assert run("release", "--unfinished", "--lower")[0] == 2  # and why?
    assert run("release", "--unfinished", "--lower", "--reason", "a slip of ours") == (
        0,
        "1 released by ta; 2 had seen this before\n",
    )
    assert "fewer points" not in run("standing")[1]
    assert releases.read(course / "results")["ann"].reason == "a slip of ours"


def test_an_explanation_begins_with_what_was_decided(run, course, capsys):
    run("override", "ann", "macs", "total", "--points", "2", "--reason", "hasty")
    assert main(["explain", "ann", "macs", "total"]) == 0
    assert re.search(r"2 of 10, decided; labgrade: [A-Z]+\n", capsys.readouterr().out)


def test_kinds_to_look_at_are_accepted_by_name(run, course):
    doubtful = Suggestion(outcome=Outcome.CORRECT, credit=Fraction(1), kind="doubtful value", why="'about'")
    waits = graded("total", 10, replace(without_value(Outcome.MANUAL, "it is doubted"), suggestion=doubtful))
    ledger_of.write(course / "results", report(submission("ann", waits)))
    code, said = run("mark", "--accept", "all")
    assert (code, said.partition(";")[2]) == (
        2,
        " what waits has kinds to look at first, accepted only by name: 'doubtful value'\n",
    )
    assert run("mark", "--accept", "doubtful value")[1].startswith("1 suggestions accepted")


def test_a_release_says_whose_points_rise(run, course):
    run("override", "ann", "macs", "total", "--points", "2", "--reason", "hasty")
    assert run("release", "--unfinished")[1] == "3 released by ta\n"
    run("override", "ann", "macs", "total", "--points", "9", "--reason", "looked again")
    said = "1 released by ta; 2 had seen this before\nmore points than before:\n  ann: 2 before, 9 now\n"
    assert run("release", "--unfinished") == (0, said)


def test_the_course_that_graded_the_results_has_the_rules(run, course, tmp_path_factory, monkeypatch):
    late = [replace(each, handed_in="2026-11-21T12:00:00+08:00") for each in CLASS.submissions]
    ledger_of.write(course / "results", Report(submissions=tuple(late)))
    with Ledger(course / "results", write=True) as ledger:
        rows.add_to_run(ledger, 1, {"root": str(course)})
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    assert [len(each.deductions) for each in results.read(course / "results").staff.submissions] == [1, 1, 1]
    (elsewhere / "specs").mkdir()
    with pytest.raises(UsageError, match=f"was graded with the course in '{course}'; run this in that folder"):
        results.read(course / "results")
    with Ledger(course / "results", write=True) as ledger:
        rows.add_to_run(ledger, 1, {"root": ""})
    with pytest.raises(UsageError, match="run this in a folder without 'specs'"):
        results.read(course / "results")
    with Ledger(course / "results", write=True) as ledger:
        rows.add_to_run(ledger, 1, {"root": str(course)})
    copy = shutil.copytree(course, elsewhere / "copy")
    monkeypatch.chdir(copy)
    assert results.read(copy / "results").root == copy
    monkeypatch.chdir(elsewhere)
    shutil.move(course / "specs", elsewhere / "kept")
    with pytest.raises(UsageError, match=r"was graded for .*, which '.*' does not have; run this in the folder of"):
        results.read(course / "results")
    shutil.copytree(elsewhere / "kept", elsewhere / "specs", dirs_exist_ok=True)
    assert [len(each.deductions) for each in results.read(course / "results").staff.submissions] == [1, 1, 1]


def test_one_student_is_released_by_name(run, course):
    once = ("--student", "bob")
    assert run("release", *once, *once, "--unfinished", "--reveal-hidden")[1] == "1 released by ta\n"
    found = results.read(course / "results")
    assert list(found.releases) == ["bob"]
    names = [[check.id for check in each.tasks[0].checks] for each in found.students.submissions]
    assert ["secret" in row for row in names] == [False, True, False]
    assert "2 not released yet" in run("standing")[1]
    assert run("release", "--student", "eve")[0] == 2


def exported(course, name="ann"):
    assert main(["export", "--results", "results", "--format", "html", "--out", "pages"]) == 0
    return (course / f"pages/students/{name}.html").read_text(encoding="utf-8")


def test_a_students_page_shows_what_was_released_whoever_writes_it(run, course):
    pytest.importorskip("jinja2", reason="pages need Jinja2")
    run("override", "ann", "macs", "total", "--points", "9", "--reason", "well argued")
    assert "well argued" not in exported(course)
    run("release", "--unfinished")
    assert "well argued" in exported(course)
    run("override", "ann", "macs", "total", "--points", "10", "--reason", "better still")
    page = exported(course)
    assert "well argued" in page
    assert "better still" not in page
    run("anonymous")
    assert "well argued" in exported(course)  # was released, and has its name


def test_a_students_page_is_written_under_a_pseudonym_where_names_are_kept_back(run, course):
    pytest.importorskip("jinja2", reason="pages need Jinja2")
    run("anonymous")
    pseudonym = results.read(course / "results").names.of("ann")
    assert "ann" not in re.findall(r"\w+", exported(course, pseudonym))
    assert not (course / "pages/students/ann.html").exists()


def test_the_folder_of_results_need_not_be_named(course, capsys):
    assert main(["standing"]) == 1
    assert "to be marked" in capsys.readouterr().out
    for verb in ("mark", "release", "anonymous"):
        assert main([verb, "--roster", "nowhere.yaml"]) == 2
        assert "nowhere.yaml" in capsys.readouterr().err
    assert main(["export", "--format", "csv"]) == 0
    assert "王小明" in capsys.readouterr().out
    (course / "roster.csv").write_text("id,name,group\nb1,ann,A\nb2,bob,A\n")
    assert main(["override", "results", "bob", "macs", "total", "--points", "1", "--reason", "x"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("labgrade: it does not count: 'bob' (2026-11-20T23:00:00+08:00), because group 'A' handed")
    assert main(["explain", "bob", "macs", "total"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("does not count: │ 'bob' (2026-11-20T23:00:00+08:00), because group 'A' handed in 2 times")
    for begun in ("mac", "lab2/macs"):
        assert main(["explain", "bob", begun, "total"]) == 0
        assert capsys.readouterr().out == said
    assert main(["explain", "bob", "mops"]) == 2


def test_a_check_stands_for_all_its_cases(tmp_path):
    stories = [SimpleNamespace(place=("lab", "macs", check)) for check in ("total", "other[a]", "other[b]", "others")]

    def of(asked):
        return [each.place[2] for each in explain._stories_of_check(asked, stories, tmp_path)]

    assert of("other") == ["other[a]", "other[b]"]
    assert (of("other[b]"), of("others"), of("total")) == (["other[b]"], ["others"], ["total"])
    with pytest.raises(UsageError, match="there is no check 'oth'"):
        of("oth")


def test_names_are_kept_back_until_release(run, course):
    said = run("anonymous")[1]
    assert "3 submissions are shown under pseudonyms until they are released" in said
    assert "a name that students wrote into their work stays where it is" in said
    found = results.read(course / "results")
    who = found.names.of("ann")
    outputs = [
        run("standing"),
        run("mark", typed=["3", "1", ""]),
        run("mark", "--export", "-"),
        run("release"),
        run("override", who, "macs", "broken", "--points", "none", "--reason", "x"),
    ]
    for _, said in outputs:
        assert not re.search(r"\bann\b|\bbob\b|王小明", said)
    assert checks(course)["broken"].decision is not None
    assert all(each.name.startswith("student-") for each in results.read(course / "results").shown.submissions)
    run("release", "--unfinished", "--student", who)
    shown = results.read(course / "results").shown.submissions
    assert sorted(each.name.startswith("student-") for each in shown) == [False, True, True]
    assert "ann" in {each.name for each in shown}
    assert run("anonymous", "--off")[1] == "names are shown\n"
    assert results.read(course / "results").shown == results.read(course / "results").staff
    run("anonymous")
    assert results.read(course / "results").names.of("bob") == found.names.of("bob")


def test_standing_says_what_waits(run, course):
    code, said = run("standing")
    assert code == 1
    assert "3 labgrade failed in macs broken: KeyError: 'conv1'\n    'ann', 'bob', '王小明'\n" in said
    assert "3 to be marked\n    macs essay: 3 of 3 left\n  -> labgrade mark results\n" in said
    run("mark", typed=["3", "1", "", "q"])
    assert "macs essay: 2 of 3 left" in run("standing")[1]


def test_standing_asks_again_for_what_changed(run, course):
    run("mark", typed=["3", "1", ""])
    run("override", "ann", "macs", "total", "--points", "7", "--reason", "see mail")
    changed = student("ann", "a new text", handed_in="2026-11-20T23:00:00+08:00")
    better = replace(changed.tasks[0], checks=(graded("total", 10, correct()), *changed.tasks[0].checks[1:]))
    ledger_of.write(course / "results", report(replace(changed, tasks=(better,)), *CLASS.submissions[1:]))
    said = run("standing")[1]
    assert "1 decided before, and what it was about changed since\n    ann macs essay\n" in said
    assert "overridden, and labgrade's own verdict has changed since" in said
    assert "ann macs total: was PARTIAL 6, is CORRECT 10" in said


def test_standing_says_what_the_next_run_grades(run, course):
    need, next_ = graded("total", 10, incorrect("no")), graded("next", 2, replace(essay().verdict, outcome="SKIPPED"))
    ledger_of.write(course / "results", report(submission("ann", need, replace(next_, needs=("total",)))))
    run("override", "ann", "macs", "total", "--points", "full", "--reason", "our mistake")
    assert (
        "1 opened by a person's decision, and not graded yet\n    ann macs next\n  -> labgrade grade"
        in run("standing")[1]
    )


def test_standing_sends_nobody_to_a_run_that_has_nothing_to_do(run, course):
    need, next_ = graded("total", 10, incorrect("no")), graded("next", 2, replace(essay().verdict, outcome="SKIPPED"))
    next_ = replace(next_, needs=("total",))
    ledger_of.write(course / "results", report(submission("ann", replace(need, basis="files:1"), next_)))
    run("override", "ann", "macs", "total", "--points", "9", "--reason", "on paper")
    ledger_of.write(course / "results", report(submission("ann", replace(need, basis="files:2"), next_)))
    said = run("standing")[1]
    assert "1 to be marked\n    macs total: 1 of 1 left\n  -> labgrade mark" in said
    assert "labgrade grade" not in said


def test_the_roster_and_the_rules_of_the_course_are_applied(run, course):
    (course / "roster.csv").write_text("id,name,group,extension\nb1,ann,A,\nb2,bob,A,\nb3,王小明,,2 days\nb4,eve,,\n")
    late = [replace(each, handed_in="2026-11-21T12:00:00+08:00") for each in CLASS.submissions]
    ledger_of.write(course / "results", Report(submissions=tuple(late)))
    staff = results.read(course / "results").staff
    assert [(each.name, each.members) for each in staff.submissions] == [("ann", ("b1", "b2")), ("王小明", ("b3",))]
    assert [len(each.deductions) for each in staff.submissions] == [1, 0]
    assert any("handed in nothing, or were not graded: 'b4'" in note for note in staff.notes)
    assert "handed in nothing, or were not graded: 'b4'" in run("standing")[1]
    assert run("override", "b2", "macs", "total", "--points", "7", "--reason", "x")[1].startswith("ann macs total")
    (course / "roster.csv").write_text("id,group\nb1,A\nb1,B\n")
    code, said = run("standing")
    assert (code, said) == (2, "roster.csv:3:1: 'b1' is in two groups: in 'A' on line 2, in 'B' here; keep one\n")
    (course / "other.yaml").write_text("students: [{id: b1, submission: ann}]\n")
    assert run("standing", "--roster", "other.yaml")[0] == 1


@pytest.mark.parametrize("verb", ["mark", "standing", "release", "anonymous"])
def test_a_folder_without_results_is_said(course, capsys, verb):
    assert main([verb, "nowhere"]) == 2
    assert capsys.readouterr().err.startswith("labgrade: ")
    (course / "results/results.sqlite").write_text("no database" * 100)
    assert main([verb, "results"]) == 2
    assert "results.sqlite" in capsys.readouterr().err


def test_decisions_survive_the_results_they_are_about(run, course):
    run("mark", typed=["3", "1", "good"])
    with Ledger(course / "results", write=True) as ledger:
        database.rebuild(ledger)
    ledger_of.write(course / "results", CLASS)
    assert checks(course)["essay"].earned == 4
    assert pseudonyms.key_of(course / "results") is None
