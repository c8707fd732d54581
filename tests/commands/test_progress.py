"""`labgrade check` says what improved since the last run, and writes nothing into the student's folder."""

import pytest
from helpers import small_course

from labgrade.cli import main
from labgrade.files.cache import Cache

pytestmark = pytest.mark.slow


@pytest.fixture
def course(tmp_path, monkeypatch):
    small_course.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def since(capsys):
    return capsys.readouterr().out.partition("since your last run: ")[2]


def answer(course, text):
    (course / "submissions/twice/answers.yaml").write_text(text)


def test_a_first_run_has_nothing_to_compare_with(course, capsys):
    main(["check", "submissions/twice"])
    assert since(capsys) == ""


def test_what_improved_and_what_got_worse_is_said_with_its_points(course, capsys):
    main(["check", "submissions/twice"])
    answer(course, "task: {total: 1234}")
    main(["check", "submissions/twice"])
    assert since(capsys) == "+3 points\n  task total: PARTIAL 3 -> CORRECT 6\n"
    answer(course, "task: {total: 5}")
    main(["check", "submissions/twice"])
    assert since(capsys) == "-6 points\n  task total: CORRECT 6 -> INCORRECT 0\n"
    main(["check", "submissions/twice"])
    assert since(capsys) == "nothing changed\n"


def test_folders_are_told_apart_and_hold_nothing_of_it(course, capsys):
    main(["check", "submissions/twice"])
    main(["check", "submissions/right"])
    assert since(capsys) == ""
    assert [path.name for path in (course / "submissions/twice").iterdir()] == ["answers.yaml"]
    texts = [path.read_text() for path in (course / "cache/progress").glob("*/*.json")]
    assert len(texts) == 2
    assert not any("secret" in text for text in texts)


def test_json_on_stdout_stays_json_and_is_remembered(course, capsys):
    main(["check", "submissions/twice", "--json", "-"])
    answer(course, "task: {total: 1234}")
    main(["check", "submissions/twice", "--json", "-"])
    assert since(capsys) == ""
    answer(course, "task: {total: 5}")
    main(["check", "submissions/twice"])
    assert "CORRECT 6 -> INCORRECT 0" in since(capsys)


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_a_damaged_memory_is_none(course, capsys, text):
    main(["check", "submissions/twice"])
    (file,) = (course / "cache/progress").glob("*/*.json")
    file.write_text(text)
    capsys.readouterr()
    assert main(["check", "submissions/twice"]) == 1
    assert since(capsys) == ""


@pytest.mark.parametrize("value", [[], 3, {"form": 9, "checks": {"a": 1}}, {"form": 1, "checks": 5}, {"form": 1}])
def test_the_memory_of_another_version_is_none(course, capsys, value):
    main(["check", "submissions/twice"])
    (file,) = (course / "cache/progress").glob("*/*.json")
    Cache(course / "cache/progress").write(file.stem, value)
    capsys.readouterr()
    assert main(["check", "submissions/twice"]) == 1
    assert since(capsys) == ""


def test_a_cache_that_cannot_be_written_changes_nothing(course, capsys, monkeypatch):
    (course / "file").write_text("")
    monkeypatch.setattr("labgrade.run.student_memory.cache_folder", lambda: course / "file")
    assert main(["check", "submissions/twice"]) == 1
    assert main(["check", "submissions/twice"]) == 1
    assert since(capsys) == ""
