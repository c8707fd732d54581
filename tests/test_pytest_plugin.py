"""`pytest --submission=...` in processes of their own, on a small course."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
import small_course

ENVIRONMENT = {**os.environ, "COLUMNS": "80"}


@pytest.fixture
def course(tmp_path):
    small_course.write(tmp_path)
    return tmp_path


def run(folder, *arguments, cwd=None):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    environment = {**ENVIRONMENT, "LABGRADE_CACHE": str(folder / "cache")}
    return subprocess.run(
        command, cwd=cwd or folder, env=environment, check=False, capture_output=True, text=True, encoding="utf-8"
    )


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


def test_plain_pytest_runs_the_tests_and_collects_no_spec(course):
    done = run(course, "-v")
    assert done.returncode == 0
    assert "test_own PASSED" in done.stdout
    assert "task.yaml" not in done.stdout


def test_a_right_submission(course):
    done, report, found = checks(course, "--submission=right", "-v")
    assert found == {("right", "total"): "CORRECT", ("right", "secret"): "CORRECT", ("right", "essay"): "MANUAL"}
    assert "specs/lab/task.yaml::right::total PASSED" in done.stdout
    assert "test_own" not in done.stdout
    assert done.returncode == 0
    assert report["submissions"][0]["earned"] == 7
    assert report["submissions"][0]["at_most"] == 10


def test_a_wrong_submission_fails_and_says_why(course):
    done, _, found = checks(course, "--submission=twice")
    assert found["twice", "total"] == "PARTIAL"
    assert found["twice", "secret"] == "SKIPPED"
    assert found["twice", "essay"] == "MISSING"
    assert done.returncode == 1
    assert "counted twice" in done.stdout
    assert "Traceback" not in done.stdout
    assert "\x1b[" not in done.stdout


def test_several_submissions_and_all(course):
    _, report, _ = checks(course, "--submission=twice", "--submission=right")
    assert [who["name"] for who in report["submissions"]] == ["twice", "right"]
    _, report, found = checks(course, "--submission=all")
    assert [who["name"] for who in report["submissions"]] == ["nothing", "right", "twice", "王小明 的作業"]
    assert found["王小明 的作業", "total"] == "INCORRECT"
    assert found["nothing", "total"] == "MISSING"


def test_one_spec_and_one_check_can_be_chosen(course):
    (course / "specs/lab/other.yaml").write_text(small_course.TASK.replace("id: task\n", "id: other\n"))
    _, report, found = checks(course, "specs/lab/task.yaml", "--submission=right", "-k", "total")
    assert found == {("right", "total"): "CORRECT"}
    assert [task["id"] for task in report["submissions"][0]["tasks"]] == ["task"]


def test_needs_are_judged_even_where_they_were_not_chosen(course):
    _, _, found = checks(course, "--submission=twice", "-k", "secret")
    assert found == {("twice", "secret"): "SKIPPED"}


def test_the_submissions_may_be_elsewhere(course, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("moodle lab 2")
    (course / "submissions" / "right").rename(elsewhere / "right")
    _, _, found = checks(course, "--submission=right", f"--submissions-dir={elsewhere}")
    assert found["right", "total"] == "CORRECT"


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


def test_a_submission_that_holds_the_grader_is_refused(course):
    done = run(course, f"--submission={course.name}", f"--submissions-dir={course.parent}")
    assert done.returncode == 4
    assert "holds the grader itself; in a student's own folder say: labgrade check ." in done.stderr


def test_a_broken_spec_fails_loudly_and_does_not_stop_the_others(course):
    (course / "specs/lab/broken.yaml").write_text("id: broken\ntitel: x\n")
    done, _, found = checks(course, "--submission=right")
    assert found["right", "total"] == "CORRECT"
    assert "specs/lab/broken.yaml:2:1: a task takes no 'titel'; did you mean 'title'?" in done.stdout
    assert done.returncode == 2


def test_junit_has_points_and_tells_a_fault_from_a_wrong_answer(tmp_path):
    small_course.write(tmp_path, faulty=True)
    run(tmp_path, "--submission=twice", "--junitxml=out.xml")
    cases = {case.get("name"): case for case in ET.parse(tmp_path / "out.xml").iter("testcase")}
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


def test_a_fault_is_pending_and_costs_nothing(tmp_path):
    small_course.write(tmp_path, faulty=True)
    done, report, found = checks(tmp_path, "--submission=right")
    assert found["right", "fault"] == "FAULT"
    assert report["submissions"][0]["at_most"] == 12
    assert "own.py:8" in "".join(done.stdout.split())
    assert done.returncode == 1


def test_xdist_gives_the_same_verdicts_in_the_same_order(tmp_path):
    pytest.importorskip("xdist", reason="pytest-xdist is an extra")
    small_course.write(tmp_path, faulty=True)
    _, alone, _ = checks(tmp_path, "--submission=all")
    _, spread, _ = checks(tmp_path, "--submission=all", "-n2")
    assert spread == alone


@pytest.mark.parametrize("more", [[], ["-q"], ["-v"], ["-n2"]])
def test_json_goes_to_stdout_alone_and_all_else_to_stderr(course, more):
    if more == ["-n2"]:
        pytest.importorskip("xdist", reason="pytest-xdist is an extra")
    done = run(course, "--submission=right", "--labgrade-json", "-", *more)
    assert json.loads(done.stdout)["schema"] == "labgrade/report/1"
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


def test_a_students_own_files_are_never_collected(course):
    (course / "submissions/right/conftest.py").write_text("raise SystemExit('loaded')\n")
    (course / "submissions/right/test_mine.py").write_text("raise SystemExit('loaded')\n")
    (course / "submissions/right/pytest.ini").write_text("[pytest]\naddopts = --nonsense\n")
    done, _, found = checks(course, "--submission=right")
    assert found["right", "total"] == "CORRECT"
    assert "loaded" not in done.stdout + done.stderr
