"""Rosters and courses are input, too: what no hand-in can be called, and what leads out of a course."""

from __future__ import annotations

import json
import unicodedata

import pytest
from helpers import small_course

from labgrade.cli import main

SECRET = "what nobody reads by way of a course"  # noqa: S105 - the name says what it stands for


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course with hand-ins and, beside it, what nobody may read by way of it."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "report.md").write_text(SECRET)
    (tmp_path / "etc" / "secret.onnx").write_text(SECRET)
    root = tmp_path / "a" / "course"
    small_course.write(root)
    (root / "course.key").write_text(SECRET)
    (root / "submissions/b1").mkdir(parents=True)
    (root / "submissions/b1/answers.yaml").write_text("size: 1234\n")
    monkeypatch.chdir(root)
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    return root


def everything(folder):
    return sorted(str(each) for each in folder.parents[1].rglob("*") if "cache" not in each.parts and each.is_file())


def refused(course, capsys, said):
    """`validate` says this, `grade` says the same and grades nothing, and no file is there that was not before."""
    before = everything(course)
    for command in (["validate"], ["grade", "submissions", "--out", "results"]):
        assert main(command) == 2
        err = capsys.readouterr().err
        assert said in err
        assert SECRET not in err
        assert "\0" not in err
    assert [each for each in everything(course) if each not in before and "/results/" not in each] == []
    assert not list(course.rglob("results/*.json"))


NFD = unicodedata.normalize("NFD", "\u00e9va")
PATHS = ("../../etc", "..", ".", "...", "/etc", "a/b", "a\\b", "..\\..\\etc", "b1/", "C:/x", "a\nb")
UNSEEN = ("b\0", "\0", "b\x1b[2J", "b\u200b1", "\u202eb1", "\ufeffb1", "b\x7f", "b\u20281")
ALIKE = {"b1": "B1", "\u00e9va": NFD, "b2": "\uff422", "x1": "x\u00b9", "fi": "\ufb01", "i1": "I1"}


@pytest.mark.promise("rosters-and-courses-stay-inside")
@pytest.mark.parametrize("kind", ["yaml", "csv"])
@pytest.mark.parametrize("word", ["id", "submission"])
@pytest.mark.parametrize("name", PATHS + UNSEEN)
def test_a_name_that_is_a_path_or_unseen_is_named_at_its_line(course, capsys, kind, word, name):
    rows = [{"id": "first"}, {"id": "second", word: name}]
    if kind == "yaml":
        lines = "".join(f"- {json.dumps(row)}\n" for row in rows)
        (course / "roster.yaml").write_text(f"students:\n{lines}")
    else:
        cells = [[row["id"], row.get("submission", "x" + row["id"])] for row in rows]
        lines = [",".join(f'"{cell}"' for cell in row) for row in cells]
        (course / "roster.csv").write_bytes("\n".join(["id,submission", *lines]).encode())
    refused(course, capsys, "that can't be seen" if name in UNSEEN else "is a path, and")
    main(["validate"])
    assert f"roster.{kind}:3:" in capsys.readouterr().err


@pytest.mark.parametrize(("one", "other"), ALIKE.items())
def test_two_ids_that_look_alike_are_named_at_the_line_of_the_second(course, capsys, one, other):
    rows = "".join(f"- {json.dumps({'id': each})}\n" for each in (one, "between", other))
    (course / "roster.yaml").write_text(f"students:\n{rows}")
    refused(course, capsys, "roster.yaml:4:")


def test_a_hand_in_that_is_called_by_the_id_of_another_is_named(course, capsys):
    (course / "roster.yaml").write_text("students:\n- {id: b1}\n- {id: b2, submission: B1}\n")
    refused(course, capsys, "roster.yaml:3:24: the submission 'B1' is called by the id of another, on line 2")
    (course / "roster.yaml").write_text("students:\n- {id: b1, group: A}\n- {id: b2, group: A, submission: b1}\n")
    assert main(["validate"]) == 0


@pytest.mark.parametrize(
    "name", ["anna.lee", "\u00e9va", "\u738b\u5c0f\u660e", "b-1_2", "anna@x.edu", "Anna Lee_123", ".a", "b 1"]
)
def test_names_that_people_have_are_none_of_these(course, name):
    (course / "roster.yaml").write_text(f"students:\n- {json.dumps({'id': name, 'submission': name})}\n", "utf-8")
    assert main(["validate"]) == 0


def test_a_table_that_is_none_is_named_at_its_line(course, capsys):
    (course / "roster.csv").write_text("id,name\nb1,Ann\nb2," + "x" * 200_000 + "\n")
    refused(course, capsys, "roster.csv:3:1: this is no line of a table")


@pytest.mark.promise("rosters-and-courses-stay-inside")
@pytest.mark.parametrize(
    "name", ["../../../etc/secret.onnx", "../../course.key", "{root}/course.key", "a\0.onnx", "..", "./../x.onnx"]
)
@pytest.mark.parametrize("word", ["subject", "files"])
def test_a_file_beside_the_spec_lies_beside_it(course, capsys, name, word, tmp_path):
    named = json.dumps(name.replace("{root}", str(course)))
    spec = course / "specs/lab/task.yaml"
    text = spec.read_text()
    if word == "files":
        spec.write_text(f"{text}files: [{named}]\n")
    else:
        spec.write_text(
            small_course.TASK.replace("{model: torchvision/alexnet, input: [1234, 2]}", f"{{file: {named}}}")
        )
        assert spec.read_text() != text
    assert main(["validate"]) == 2
    said = capsys.readouterr().err
    assert "leads out of the spec's folder" in said or "an ONNX file beside the spec" in said
    assert SECRET not in said
    before = everything(course)
    assert main(["kit", "lab", "--out", str(course / "kit")]) != 0
    assert [each for each in everything(course) if each not in before and "/kit/" not in each] == []
    assert not any(SECRET in path.read_text("utf-8", "replace") for path in course.rglob("kit/**/*") if path.is_file())


def test_two_tasks_or_labs_that_are_one_on_another_machine_are_named(course, capsys):
    text = (course / "specs/lab/task.yaml").read_text()
    (course / "specs/lab/Task.yaml").write_text(text.replace("id: task", "id: Task"))
    refused(course, capsys, "differs from 'Task.yaml' beside it only in case")
    (course / "specs/lab/Task.yaml").unlink()
    (course / "specs/LAB").mkdir()
    (course / "specs/LAB/lab.yaml").write_text("title: Lab\n")
    (course / "specs/LAB/other.yaml").write_text(text.replace("id: task", "id: other"))
    refused(course, capsys, "'lab' differs from 'LAB' beside it only in case")


@pytest.mark.parametrize("old", ["id: total", "checker: equal", "id: task"])
def test_a_line_end_is_no_part_of_a_word(course, old):
    spec = course / "specs/lab/task.yaml"
    key, _, value = old.partition(": ")
    assert old in spec.read_text()
    spec.write_text(spec.read_text().replace(old, f'{key}: "{value}\\n"', 1))
    assert main(["validate"]) == 2
