"""`pytest --submission=...` in processes of their own, on a small course.

What is asked most often runs once for all tests that look at it: the right submission, a wrong one, all of them.
"""

import importlib.metadata
import json
import os
import re
import sys
import xml.etree.ElementTree as ET
from fractions import Fraction

import pytest
from helpers import small_course
from helpers.pytest_run import ENVIRONMENT, run, started
from helpers.soak import soak

from labgrade.core.results import Report, SubmissionReport, TaskReport
from labgrade.pytest.showing import labs_graded

pytestmark = pytest.mark.slow


@pytest.fixture
def course(tmp_path):
    small_course.write(tmp_path)
    return tmp_path


def checks(folder, *arguments):
    done = run(folder, *arguments, "--labgrade-json", "out.json")
    report = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    found = {
        (who["name"], check["id"]): check["outcome"]
        for who in report["submissions"]
        for task in who["tasks"]
        for check in task["checks"]
    }
    return done, report, found


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    """What came of the right submission, in which there are files that pytest would collect."""
    folder = tmp_path_factory.mktemp("right")
    small_course.write(folder)
    (folder / "submissions/right/conftest.py").write_text("raise SystemExit('loaded')\n")
    (folder / "submissions/right/test_mine.py").write_text("raise SystemExit('loaded')\n")
    (folder / "submissions/right/pytest.ini").write_text("[pytest]\naddopts = --nonsense\n")
    return checks(folder, "--submission=right", "-v")


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """The folder of a course with a faulty task, and what came of a wrong submission."""
    folder = tmp_path_factory.mktemp("twice")
    small_course.write(folder, faulty=True)
    return folder, *checks(folder, "--submission=twice", "--junitxml=out.xml", "--report-html=one.html")


@pytest.fixture(scope="module")
def everyone(tmp_path_factory):
    """The folder of a course with a faulty task, and what came of all of them, one with a name that is no UTF-8."""
    folder = tmp_path_factory.mktemp("everyone")
    small_course.write(folder, faulty=True)
    if sys.platform == "linux":  # other systems refuse such names
        os.mkdir(os.fsencode(folder) + b"/submissions/bad\xff")  # noqa: PTH102 - a name of bytes
    return folder, *checks(folder, "--submission=all", "-v", "--junitxml=out.xml", "--report-html=all.html")


def test_plain_pytest_runs_the_tests_and_collects_no_spec(course):
    done = run(course, "-v")
    assert done.returncode == 0
    assert "test_own PASSED" in done.stdout
    assert "task.yaml" not in done.stdout


def test_a_right_submission(right):
    done, report, found = right
    assert found == {("right", "total"): "CORRECT", ("right", "secret"): "CORRECT", ("right", "essay"): "MANUAL"}
    assert "specs/lab/task.yaml::right::total PASSED" in done.stdout
    assert "test_own" not in done.stdout
    assert done.returncode == 0
    assert report["submissions"][0]["earned"] == 7
    assert report["submissions"][0]["at_most"] == 10


def test_a_students_own_files_are_never_collected(right):
    done, _, _ = right
    assert "loaded" not in done.stdout + done.stderr
    assert "nonsense" not in done.stdout + done.stderr


def test_the_summary_begins_with_the_labs_that_were_graded(right):
    lines = right[0].stdout.splitlines()
    assert lines.count("graded: lab (1 task)") == 1
    assert next(line for line in lines if line.startswith(("graded: ", "note: ", "submission "))).startswith("graded: ")


@pytest.mark.parametrize(
    ("labs", "said"),
    [
        ({}, ""),
        ({"a": 2}, "graded: a (2 tasks)"),
        ({"b": 1, "a": 2}, "graded: a (2 tasks), b (1 task)"),
        ({"a" * 99: 1}, f"graded: {'a' * 99} (1 task)"),
        ({"a": 1, "b" * 99: 1}, "graded: a (1 task) and 1 more lab"),
        ({f"lab{n}": 9 for n in range(9)}, "graded: lab0 (9 tasks), lab1 (9 tasks), lab2 (9 tasks) and 6 more labs"),
        ({"作業" * 10: 1, "作業" * 11: 1}, f"graded: {'作業' * 10} (1 task) and 1 more lab"),
    ],
)
def test_as_many_labs_are_named_as_fit_into_a_line(labs, said):
    named = [(lab, str(number)) for lab, count in labs.items() for number in range(count)]
    tasks = tuple(TaskReport(lab=lab, id=task, title="", points=Fraction(1), checks=()) for lab, task in named)
    report = Report(submissions=(SubmissionReport(name="ann", tasks=tasks), SubmissionReport(name="bob", tasks=tasks)))
    assert labs_graded(report, 80) == said


@pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")
def test_the_report_begins_with_the_protection_in_force(right):
    assert right[1]["notes"][0].startswith("protection: tier ")


def test_a_wrong_submission_fails_and_says_why(twice):
    _, done, _, found = twice
    assert found["twice", "total"] == "PARTIAL"
    assert found["twice", "secret"] == "SKIPPED"
    assert found["twice", "essay"] == "MISSING"
    assert done.returncode == 1
    assert "counted twice" in done.stdout
    assert "Traceback" not in done.stdout
    assert "\x1b[" not in done.stdout


def test_junit_has_points_and_tells_a_fault_from_a_wrong_answer(twice):
    cases = {case.get("name"): case for case in ET.parse(twice[0] / "out.xml").iter("testcase")}
    total = {item.get("name"): item.get("value") for item in cases["total"].iter("property")}
    assert total["points"] == "6"
    assert total["earned"] == "3"
    assert total["outcome"] == "PARTIAL"
    assert total["hint"] == "counted twice"
    assert cases["total"].find("failure") is not None
    assert cases["total"].find("error") is None
    assert cases["fault"].find("error") is not None
    assert cases["fault"].find("failure") is None
    assert "ZeroDivisionError: by zero" in cases["fault"].find("error").text
    assert cases["secret"].find("skipped") is not None


def test_a_page_for_one_is_a_students_and_for_many_that_of_the_class(twice, everyone):
    one = (twice[0] / "one.html").read_text(encoding="utf-8")
    assert "counted twice" in one
    assert "secret" not in one
    every = (everyone[0] / "all.html").read_text(encoding="utf-8")
    assert f"{len(everyone[2]['submissions'])} submissions" in every
    assert "secret" in every


def test_all_submissions(everyone):
    _, done, report, found = everyone
    names = [who["name"] for who in report["submissions"]]
    assert [name for name in names if not name.startswith("bad")] == ["nothing", "right", "twice", "王小明 的作業"]
    assert found["王小明 的作業", "total"] == "INCORRECT"
    assert found["nothing", "total"] == "MISSING"
    assert done.returncode == 1


def test_a_fault_is_pending_and_costs_nothing(everyone, twice):
    _, _, report, found = everyone
    assert found["right", "fault"] == "FAULT"
    assert [who["at_most"] for who in report["submissions"] if who["name"] == "right"] == [12]
    assert "own.py:8" in re.sub(r"[\s│]", "", twice[1].stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_name_that_is_not_utf_8_is_printed_escaped_everywhere(everyone):
    folder, done, report, _ = everyone
    assert "Traceback" not in done.stdout + done.stderr
    assert "specs/lab/task.yaml::bad\\xff::total" in done.stdout
    assert "bad\\xff" in [who["name"] for who in report["submissions"]]
    assert any("bad\\xff" in case.get("classname") for case in ET.parse(folder / "out.xml").iter("testcase"))


def test_xdist_gives_the_same_verdicts_in_the_same_order_and_finds_submissions_elsewhere(everyone, tmp_path_factory):
    pytest.importorskip("xdist", reason="pytest-xdist is an extra")
    folder, _, alone, _ = everyone
    elsewhere = tmp_path_factory.mktemp("moodle") / "lab2"
    (folder / "submissions").rename(elsewhere)
    try:
        done, spread, _ = checks(folder, "--submission=all", "--submissions-dir", str(elsewhere), "-n2", "-v")
    finally:
        elsewhere.rename(folder / "submissions")
    assert timeless(spread) == timeless(alone)
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("how", ["-x", "Ctrl-C"])
def test_what_an_interrupted_run_did_not_reach_is_pending(course, how):
    if how == "Ctrl-C":
        with (course / "conftest.py").open("a") as file:
            file.write("def pytest_runtest_makereport(item, call):\n    raise KeyboardInterrupt\n")
    done, report, found = checks(course, "--submission=all", "--results=kept", *(["-x"] if how == "-x" else []))
    assert {who for who, _ in found} == set(small_course.SUBMISSIONS)
    assert [note for note in report["notes"] if "a run did not finish" in note]
    assert all(who["points"] == 10 for who in report["submissions"])
    last = report["submissions"][-1]
    assert {check["outcome"] for task in last["tasks"] for check in task["checks"]} == {"FAULT"}, done.stdout


def test_one_spec_one_check_and_the_submissions_can_be_chosen(course, tmp_path_factory):
    """Two of them, in the order that is asked for; what a check needs is judged even where it was not chosen."""
    elsewhere = tmp_path_factory.mktemp("moodle lab 2")
    for name in ("right", "twice"):
        (course / "submissions" / name).rename(elsewhere / name)
    (course / "specs/lab/other.yaml").write_text(small_course.TASK.replace("id: task\n", "id: other\n"))
    who = ("--submission=twice", "--submission=right")
    _, report, found = checks(course, "specs/lab/other.yaml", *who, f"--submissions-dir={elsewhere}", "-k", "secret")
    assert found == {("twice", "secret"): "SKIPPED", ("right", "secret"): "CORRECT"}
    assert [who["name"] for who in report["submissions"]] == ["twice", "right"]
    assert [task["id"] for task in report["submissions"][0]["tasks"]] == ["other"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--submission=rihgt"], "there is no submission 'rihgt'"),
        (["--submission=rihgt"], "did you mean 'right'?"),
        (["--submission="], "--submission names nobody; it takes the name of a submission, or `all`"),
        (["specs/lab/tsak.yaml", "--submission=right"], "there is no spec 'specs/lab/tsak.yaml'; did you mean 'task'?"),
        (["--submission=right", "--submissions-dir=nowhere"], "there is no folder"),
        (["--submission=all", "--submissions-dir=specs/lab"], "there is no submission in"),
    ],
)
def test_what_is_not_there_is_a_usage_error_without_a_traceback(course, arguments, message):
    done = run(course, *arguments)
    assert done.returncode == 4
    assert message in done.stderr
    assert "Traceback" not in done.stderr + done.stdout


def test_a_path_is_told_apart_into_folder_and_name(course):
    done = run(course, "--submission=../class/s01")
    assert done.returncode == 4
    assert "../class/s01 is a path: --submission=s01 --submissions-dir=../class" in done.stderr


def test_a_submission_that_holds_the_grader_is_refused(course):
    done = run(course, f"--submission={course.name}", f"--submissions-dir={course.parent}")
    assert done.returncode == 4
    assert "pyproject.toml' was handed in, and pytest would run it" in done.stderr


def test_a_broken_spec_fails_loudly_and_does_not_stop_the_others(course):
    (course / "specs/lab/broken.yaml").write_text("id: broken\ntitel: x\n")
    done, _, found = checks(course, "--submission=right")
    assert found["right", "total"] == "CORRECT"
    assert "specs/lab/broken.yaml:2:1: a task takes no 'titel'; did you mean 'title'?" in done.stdout
    assert done.returncode == 2


def timeless(report):
    """The report without how long each check took."""
    return re.sub(r'"seconds": [^,}]*', "", json.dumps(report))


@pytest.mark.parametrize("more", [pytest.param([], marks=soak), ["-q"], pytest.param(["-v"], marks=soak), ["-n2"]])
def test_json_goes_to_stdout_alone_and_all_else_to_stderr(course, more):
    if more == ["-n2"]:
        pytest.importorskip("xdist", reason="pytest-xdist is an extra")
    done = run(course, "--submission=right", "--labgrade-json", "-", *more)
    assert json.loads(done.stdout)["schema"] == "labgrade/report/2"
    assert "right" in done.stderr
    assert "MANUAL" in done.stderr


def test_a_report_that_cannot_be_written_is_refused_before_grading(course):
    done = run(course, "--submission=right", "--labgrade-json", "nowhere/out.json")
    assert done.returncode == 4
    assert "--labgrade-json nowhere/out.json: there is no folder 'nowhere'" in done.stderr
    assert "points" not in done.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")  # noqa: PTH110 - a device
def test_a_full_disk_is_a_sentence_below_the_report(course):
    done = run(course, "--submission=right", "--labgrade-json=/dev/full")
    assert "the report could not be written to '/dev/full': no space left on device" in done.stdout
    assert "CORRECT" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode == 3


def test_where_nothing_protects_the_grader_others_work_is_refused_unless_that_is_said(course, monkeypatch):
    monkeypatch.setitem(ENVIRONMENT, "LABGRADE_FRESH", "1")
    done = run(course, "--submission=right")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "protection: tier D" in done.stderr
    assert "say --unsafe if you trust it" in done.stderr
    done, report, found = checks(course, "--submission=right", "--unsafe")
    assert found["right", "total"] == "CORRECT"
    assert report["notes"][0].startswith("unsafe: others' code was run with nothing around it")
    assert "note: │ unsafe" in done.stdout


def test_pytest_knows_the_plug_in_without_a_conftest():
    (entry,) = importlib.metadata.entry_points(group="pytest11", name="labgrade.pytest_plugin")
    assert entry.value == "labgrade.pytest_plugin", "install the project again: pip install -e ."


def test_a_folder_and_a_file_behind_options_are_no_test_paths(course, tmp_path_factory):
    """As README writes it: a folder outside and a report that is there already, from the course's own folder."""
    elsewhere = tmp_path_factory.mktemp("moodle") / "lab2"
    (course / "submissions").rename(elsewhere)
    (elsewhere.parent / "out.json").write_text("an older report")
    (course / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = ["--strict-markers", "-v"]\n')
    done = run(
        course,
        *("--submission=right", "--submissions-dir", str(elsewhere)),
        *("--labgrade-json", str(elsewhere.parent / "out.json")),
    )
    assert done.returncode == 0, done.stderr
    assert f"rootdir: {course}\n" in done.stdout
    assert "configfile: pyproject.toml" in done.stdout
    assert "specs/lab/task.yaml::right::total PASSED" in done.stdout
    report = json.loads((elsewhere.parent / "out.json").read_text(encoding="utf-8"))
    assert [who["name"] for who in report["submissions"]] == ["right"]


def test_elsewhere_the_plug_in_does_nothing_and_loads_nothing(tmp_path):
    (tmp_path / "test_other.py").write_text(
        "import sys\n\n\ndef test_other():\n"
        "    loaded = [name for name in sys.modules if name.split('.')[0] in {'labgrade', 'yaml', 'numpy', 'rich'}]\n"
        "    assert loaded == ['labgrade', 'labgrade.pytest_plugin']\n"
    )
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/a.yaml").write_text("no spec of ours")
    done = started(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


MEDDLER = """
import hashlib
import json
import os
import re
import pathlib

from labgrade.verdict import correct


def meddles(answer, expected):
    "Writes into the memory, as a student's code can where no jail holds it."
    folder = pathlib.Path(os.environ["LABGRADE_CACHE"]) / "expected"
    text = json.dumps({"value": 42, "digest": hashlib.sha256(b"42").hexdigest()})
    for path in [*folder.rglob("*.json"), folder / "zz.json"]:
        path.write_text(text)
    return correct()
"""


@pytest.mark.parametrize("more", [[], pytest.param(["-n2"], marks=soak)])
def test_remembered_values_that_change_during_a_run_are_forgotten(course, more):
    run(course, "--submission=right", *more)
    run(course, "--submission=right", *more)
    assert len([each for each in (course / "cache/expected").glob("**/*.json") if each.stem != "computed-late"]) == 1
    (course / "checkers").mkdir()
    (course / "checkers/meddles.py").write_text(MEDDLER)
    last = "  - {id: secret, points: 1, answer: total, checker: equal, expected: 1234, hidden: true, needs: [total]}\n"
    first = "checks:\n  - {id: meddling, points: 1, answer: total, checker: meddles, expected: 1234}\n"
    assert last in small_course.TASK
    task = small_course.TASK.replace(last, "").replace("checks:\n", first)
    (course / "specs/lab/task.yaml").write_text(task)
    done, _, found = checks(course, "--submission=right", *more)
    assert found == {("right", "meddling"): "CORRECT", ("right", "total"): "CORRECT", ("right", "essay"): "MANUAL"}, (
        done.stdout
    )
    assert list((course / "cache/expected").glob("**/*.json")) == []


def test_a_page_that_cannot_be_written_is_refused_before_grading(course):
    done = run(course, "--submission=right", "--report-html", "nowhere/out.html")
    assert done.returncode == 4
    assert "there is no folder" in done.stderr
