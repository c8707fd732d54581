"""Every format that a report is exported to: what it says, what it keeps back, and that students' text stays text."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from labgrade.cli import main
from labgrade.commands import export
from labgrade.core.errors import UsageError
from labgrade.core.results import Deduction, Report, SubmissionReport
from labgrade.core.student_view import for_student
from labgrade.reports import csv as gradebook
from labgrade.reports import gradescope, junit, markdown
from labgrade.reports import json as as_json
from labgrade.reports import json as read
from labgrade.reports.lms import Merged
from labgrade.verdict import ComparedNumber, Outcome, Verdict, correct, incorrect, without_value
from tests.reports.gallery import HIDDEN, PAYLOADS, attacked, with_secrets
from tests.reports.sample import CLASS, EMPTY, ONE, PERFECT, STUDENT42, graded, task

LATE = replace(STUDENT42, deductions=(Deduction(lab="acal-lab2", points=Fraction("1.5"), why="one day late"),))
RENDERS = [as_json.render, junit.render, gradescope.render, markdown.render, markdown.step_summary, gradebook.render]
ACTS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.mark.parametrize("render", RENDERS)
def test_a_students_view_holds_nothing_hidden(render):
    text = render(for_student(with_secrets()))
    assert [word for word in HIDDEN if word in text] == []


@pytest.mark.parametrize("render", RENDERS)
@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_acts_on_a_terminal(render, payload):
    assert not ACTS.search(render(attacked(payload)).replace("\r\n", "\n"))


# ---- JSON read back --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("report", [ONE, CLASS, attacked("<b>"), with_secrets(), Report(submissions=(LATE,))])
def test_what_was_written_as_json_is_read_back(report):
    text = as_json.render(report)
    again = read.read(text, "report.json")
    assert as_json.render(again) == text
    assert again.submissions[0].tasks[0].checks[0].earned == report.submissions[0].tasks[0].checks[0].earned
    assert again.submissions[0].deductions == report.submissions[0].deductions


def test_the_parts_of_a_verdict_are_read_back_and_staff_s_own_are_kept_from_students():
    verdict = Verdict(
        outcome=Outcome.MANUAL,
        credit=Fraction(0),
        reason="no value could be read",
        hint="h",
        facts={"got": "5"},
        lines=("a", "", "b"),
        picture=("#.",),
        suggestions=("s; t", "u"),
        looked_for=("'f' in a.py; b", "c"),
        rubric=((Fraction(5, 2), "style; looked for"),),
        waits_for=("total",),
        fits=("one", "two / three"),
        comparisons=(ComparedNumber(name="MACs", got="1; expected", expected="2"),),
        remarks=("r; s",),
    )
    one = Report(submissions=(SubmissionReport(name="ann", tasks=(task("t", "T", graded("c", 2, verdict)),)),))
    again = read.read(as_json.render(one), "r").submissions[0].tasks[0].checks[0].verdict
    assert again == verdict
    plain = json.loads(as_json.render(one))["submissions"][0]["tasks"][0]["checks"][0]
    assert plain["reason"].startswith(
        "no value could be read; waits for 'total', which a person has to look at first; "
    )
    assert plain["reason"].endswith("; waits to be marked by a person: 2.5 for style; looked for\na\n\nb\n#.")
    assert plain["hint"] == "h; s; t; u"
    assert plain["facts"]["MACs"] == "got 1; expected; expected 2"
    seen = for_student(one).submissions[0].tasks[0].checks[0].verdict
    assert (seen.facts, seen.fits, seen.comparisons, seen.remarks) == ({}, (), (), ())
    assert (seen.looked_for, seen.rubric) == (verdict.looked_for, verdict.rubric)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "report.json:1:2: this is no JSON: expecting property name enclosed in double quotes"),
        ("[]", "report.json: this is no report of labgrade's; grade again with --labgrade-json to get one of "),
        ('{"schema": "labgrade/report/1"}', "this is a report of the version 'labgrade/report/1'"),
        ('{"schema": "labgrade/report/2", "notes": [], "submissions": 5}', "report.json: $.submissions: 5 is not"),
    ],
)
def test_what_is_no_report_is_refused(text, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        read.read(text, "report.json")


# ---- JUnit -----------------------------------------------------------------------------------------------------


def test_junit_counts_failures_errors_and_what_waits():
    root = ET.fromstring(junit.render(CLASS))
    assert [suite.get("name") for suite in root] == ["student42", "王小明 (perfect)", "empty"]
    suite = root[0]
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "13",
        "failures": "6",
        "errors": "1",
        "skipped": "3",
    }
    kinds = {
        case.get("name"): [child.tag for child in case if child.tag != "properties"] for case in suite.iter("testcase")
    }
    assert kinds["peak"] == ["error"]
    assert kinds["words"] == ["skipped"]
    assert kinds["pooling"] == ["skipped"]
    assert kinds["by-type"] == ["failure"]
    assert kinds["trainable"] == []


@pytest.mark.parametrize("payload", PAYLOADS)
def test_junit_is_xml_whatever_students_write(payload):
    root = ET.fromstring(junit.render(attacked(payload)))
    assert {element.tag for element in root.iter()} == {
        "testsuites",
        "testsuite",
        "testcase",
        "properties",
        "property",
        "failure",
        "error",
        "skipped",
        "system-out",
    }


# ---- Gradescope ------------------------------------------------------------------------------------------------


def test_gradescope_has_a_test_for_each_check():
    document = json.loads(gradescope.render(Report(submissions=(LATE,))))
    assert document["score"] == 30.18
    tests = {test["name"].partition(": ")[2]: test for test in document["tests"]}
    assert tests["other-models[resnet18]"]["visibility"] == "hidden"
    assert tests["pooling (bonus)"]["max_score"] == 0
    assert {name for name, test in tests.items() if "status" not in test} == {"words", "peak"}
    assert [name for name, test in tests.items() if test.get("status") == "passed"] == [
        "total",
        "trainable",
        "non-trainable",
    ] or tests["trainable"]["status"] == "passed"
    assert all(test["visibility"] in ("hidden", "visible") for test in document["tests"])
    assert set(document["tests"][0]) <= {
        *("name", "number", "score", "max_score", "output", "tags", "visibility", "extra_data", "status")
    }
    assert "1.5 points are taken: one day late" in document["output"]


def test_what_gradescope_shows_beside_the_tests_tells_nothing_hidden():
    secret = graded("secret", 5, without_value(Outcome.MANUAL, "waits"), hidden=True)
    one = SubmissionReport(name="a", tasks=(task("t", "T", graded("total", 1, correct()), secret),))
    document = json.loads(gradescope.render(Report(submissions=(one,))))
    assert document["output"] == ""
    assert [test["visibility"] for test in document["tests"]] == ["visible", "hidden"]


def test_neither_numbers_nor_time_tell_that_there_are_hidden_checks():
    def on(name, *, hidden=False):
        return replace(graded(name, 1, correct(), hidden=hidden), seconds=10.0)

    tasks = (
        task("s", "S", on("secret", hidden=True)),
        task("t", "T", on("a"), on("b", hidden=True), on("c")),
        task("u", "U", on("d")),
    )
    document = json.loads(gradescope.render(Report(submissions=(SubmissionReport(name="a", tasks=tasks),))))
    seen = {test["name"][-1]: test["number"] for test in document["tests"] if test["visibility"] == "visible"}
    assert seen == {"a": "1.1", "c": "1.2", "d": "2.1"}
    assert len({test["number"] for test in document["tests"]}) == 5
    assert document["execution_time"] == 30


def test_what_was_left_out_of_a_class_is_for_staff():
    notes = ("protection: tier A", "left out: 'bob/../x', because its path leads out of the hand-in ('..')")
    assert for_student(Report(submissions=(LATE,), notes=notes)).notes == notes[:1]


@pytest.mark.parametrize("of_earned", [True, False])
def test_what_is_deducted_of_hidden_checks_is_not_told(of_earned):
    """A tenth of all points, beside the points that are seen, would say what hidden checks came to."""
    late = Deduction(lab="", points=Fraction(6, 10), why="late", share=Fraction(1, 10), of_earned=of_earned)
    secret = graded("secret", 5, correct(), hidden=True)
    own = (task("t", "T", graded("total", 1, correct()), secret),)
    late = replace(late, lab=own[0].lab)
    report = Report(submissions=(SubmissionReport(name="a", tasks=own, deductions=(late,)),))
    assert json.loads(gradescope.render(report))["output"].endswith(": late: late")  # and no number but the score's
    again = read.read(as_json.render(report), "report.json")
    assert again.submissions[0].deductions == (late,)
    assert for_student(again).submissions[0].deductions[0].points == Fraction(1, 10)


# ---- Markdown, GitHub ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("render", [markdown.render, markdown.step_summary])
def test_a_students_text_means_nothing_to_markdown(payload, render):
    text = render(attacked(payload))
    bare = re.sub(r"\\.|&#\d+;|<!-- -->|<br>|</?details>|</?summary>", "", text)
    assert "<" not in bare
    assert "](" not in bare
    assert "://" not in bare
    assert not re.search("@(?!<!-- -->)", text)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} <= {4, 5, 7}


def test_a_step_summary_stays_below_what_github_takes():
    long = tuple(graded(f"c{n}", 1, incorrect("x" * 1000)) for n in range(40))
    many = tuple(SubmissionReport(name=f"s{n}", tasks=(task("t", "T", *long),)) for n in range(60))
    text = markdown.step_summary(Report(submissions=many))
    assert len(text.encode()) < 1024 * 1024
    assert "does not fit" in text
    assert text.count("<details>") == text.count("</details>")
    assert "does not fit" not in markdown.step_summary(CLASS)


# ---- the gradebook ---------------------------------------------------------------------------------------------


def rows_of(report):
    return list(csv.DictReader(io.StringIO(gradebook.render(report))))


def test_the_gradebook_has_a_row_a_student():
    pair = replace(LATE, members=("Anna Lee", "王小明"))
    rows = rows_of(Report(submissions=(pair, PERFECT, EMPTY)))
    assert [(row["student"], row["submission"]) for row in rows] == [
        ("Anna Lee", "student42"),
        ("王小明", "student42"),
        ("王小明 (perfect)", "王小明 (perfect)"),
        ("empty", "empty"),
    ]
    assert {key: rows[0][key] for key in ("raw", "deducted", "final", "at most", "pending", "points possible")} == {
        "raw": "31.68",
        "deducted": "1.5",
        "final": "30.18",
        "at most": "38.18",
        "pending": "2",
        "points possible": "59.33",
    }
    assert rows[0]["acal-lab2/2-1-4-macs"] == "11.68"
    assert rows[2]["acal-lab2/2-1-4-macs"] == ""


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_cell_is_a_formula(payload):
    cells = [cell for row in csv.reader(io.StringIO(gradebook.render(attacked(payload)))) for cell in row]
    assert [cell for cell in cells if cell.lstrip()[:1] in tuple("=+-@")] == []


def test_no_name_begins_a_line():
    """Not of the gradebook, of which some programs read a line at a time, nor of what is said of a merge."""
    name = "a\n=cmd()"
    assert "\n=" not in gradebook.render(Report(submissions=(SubmissionReport(name=name, tasks=()),)))
    merged = Merged(text=b"", written=0, unknown=(name,), ambiguous=(), pending=(), left=0)
    assert not any("\n" in line for line in export._merge_summary(merged, Path("merged.csv")))


# ---- the command -----------------------------------------------------------------------------------------------


@pytest.fixture
def report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.json").write_text(as_json.render(with_secrets()), encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_every_format_is_written(report):
    assert main(["export", "--json", "report.json", "--format", "all", "--out", "out"]) == 0
    written = sorted(str(path.relative_to("out")) for path in export.Path("out").rglob("*") if path.is_file())
    assert written == [
        "class.html",
        "gradebook.csv",
        "gradescope/student42/results.json",
        "junit.xml",
        "report.json",
        "report.md",
        "students/student42.html",
        "summary.md",
    ]
    assert (report / "out/report.json").read_text() == (report / "report.json").read_text() + "\n"
    student = (report / "out/students/student42.html").read_text(encoding="utf-8")
    assert [word for word in HIDDEN if word in student] == []


def test_a_students_view_of_every_format_holds_nothing_hidden(report):
    assert main(["export", "--json", "report.json", "--format", "all", "--out", "out", "--student-view"]) == 0
    texts = [path.read_text(encoding="utf-8") for path in (report / "out").rglob("*") if path.is_file()]
    assert len(texts) == 7
    assert [word for word in HIDDEN for text in texts if word in text] == []


def test_one_format_goes_to_stdout(report, capsys):
    assert main(["export", "--json", "report.json", "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("student,submission,")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--json", "report.json"], "say which --format to write, or --merge a gradebook"),
        (["--json", "report.json", "--format", "all"], "these are several files; say where they go with --out DIR"),
        (["--json", "absent.json", "--format", "csv"], "'absent.json' can't be read: no such file or directory"),
        (["--results", "absent", "--format", "csv"], "there are no results in 'absent'"),
        (["--json", "report.json", "--merge", "report.json"], "say which column of the gradebook takes the points"),
    ],
)
def test_what_cannot_be_exported_is_a_sentence(report, capsys, arguments, message):
    assert main(["export", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_names_of_students_are_names_of_files_and_none_is_lost():
    names = ["../../etc/passwd", "..", "a/b", "A/B", "a\\b", "王小明", "con|<>:", "x" * 300, "王" * 85]
    files = [*map(export._file_names(names).get, names)]
    assert files[:6] == ["_.._etc_passwd", "_", "a_b", "A_B-2", "a_b-3", "王小明"]
    assert len({name.casefold() for name in files}) == len(names)
    assert max(len(name.encode()) for name in files) <= 120


def test_who_is_called_as_a_file_may_be_has_the_file_of_that_name():
    names = ['"x', "_x-2", ":x", "=x", "_x"]
    assert export._file_names(names) == {'"x': "_x-3", ":x": "_x-4", "=x": "_x-5", "_x": "_x", "_x-2": "_x-2"}


def test_out_may_name_the_one_file(report, capsys):
    (report / "moodle.csv").write_text("Full name,Grade\nstudent42,\n")
    merge = ["export", "--json", "report.json", "--merge", "moodle.csv", "--column", "Grade", "--with-pending"]
    assert main([*merge, "--out", "moodle.csv"]) == 2
    assert "'moodle.csv' is the gradebook itself; say another --out" in capsys.readouterr().err
    assert main([*merge, "--out", "deeper/moodle2.csv"]) == 0
    assert (report / "deeper/moodle2.csv").read_text().startswith("Full name,Grade\nstudent42,")
    assert main([*merge, "--out", "folder"]) == 0
    assert (report / "folder/moodle.csv").is_file()
    assert main([*merge, "--out", "moodle.csv/below"]) == 2
    assert "--out: the folder 'moodle.csv/below' can't be made" in capsys.readouterr().err
    assert main([*merge, "--format", "csv", "--out", "both.csv"]) == 2
    assert "write two files, and 'both.csv' is one; name a folder" in capsys.readouterr().err
    assert main(["export", "--json", "report.json", "--format", "csv", "--out", "mine.csv"]) == 0
    assert (report / "mine.csv").read_text().startswith("student,")
