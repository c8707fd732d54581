"""What an editor checks a course's files with: its own words, kept fresh, and no false error on what `init` writes."""

import json

import pytest

from labgrade.authoring import new_course
from labgrade.files import json_schema, yaml
from labgrade.spec import course


@pytest.fixture
def own(tmp_path):
    for name, text in new_course.files("own").items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "specs/task.schema.json").write_text("{}", encoding="utf-8")
    return tmp_path


def problems(made, name, text):
    return [each.keyword for each in json_schema.problems(json.loads(made[name]), yaml.load(text, name).data)]


def test_what_init_writes_is_right_to_its_schemas(own):
    made = new_course.schema_texts(course.find(own))
    files = ((new_course.TASK_SCHEMA, "specs/lab1/1-1-head-bytes.yaml"), (new_course.LAB_SCHEMA, "specs/lab1/lab.yaml"))
    for name, path in files:
        text = (own / path).read_text(encoding="utf-8")
        assert text.startswith(f"# yaml-language-server: $schema=../{name}\n")
        assert problems(made, name, text) == []
    settings = json.loads((own / ".vscode/settings.json").read_text())["yaml.schemas"]
    assert {name.removeprefix("./specs/") for name in settings} == made.keys() - {new_course.TASK_SCHEMA}


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        (new_course.LAB_SCHEMA, "title: A\nhand_in: {code: hw.py, program: {command: python a.py}}", []),
        (new_course.LAB_SCHEMA, "title: A\nhandin: {code: hw.py}", ["additionalProperties"]),
        (new_course.ROSTER_SCHEMA, "students: [{id: a, extension: {lab1: 2 days}}]", []),
        (new_course.ROSTER_SCHEMA, "students: [{name: a}]", ["required"]),
        (new_course.EXPECTED_SCHEMA, '1-1-head-bytes: {"total": CORRECT 8}', []),
        (new_course.EXPECTED_SCHEMA, "1-1-head-bytes: {total: RIGHT 8}", ["pattern"]),
    ],
)
def test_a_schema_refuses_what_labgrade_refuses(own, name, text, wrong):
    assert problems(new_course.schema_texts(course.find(own)), name, text) == wrong


def test_a_course_finds_its_own_words_with_what_they_say(own):
    words = json.loads(new_course.schema_texts(course.find(own))[new_course.TASK_SCHEMA])["$defs"]
    quantity = words["quantity"]["properties"]["quantity"]
    said = dict(zip(quantity["enum"], quantity["markdownEnumDescriptions"], strict=True))
    assert said["head_bytes"] == "The bytes of the parameters of the model's last layer."
    slip = words["check"]["properties"]["misconceptions"]["else"]["items"]["then"]
    told = dict(zip(slip["enum"], slip["markdownEnumDescriptions"], strict=True))
    assert told["head_elements"].startswith("This is the number of parameters.")
    checker = words["checker"]["else"]
    assert dict(zip(checker["enum"], checker["markdownEnumDescriptions"], strict=True))["at_least_half"]


def test_schemas_that_are_stale_are_written_anew(own):
    new_course.keep_schemas(course.find(own))
    found = {path.name: path.read_text(encoding="utf-8") for path in (own / "specs").glob("*.json")}
    assert found == new_course.schema_texts(course.find(own))
    (own / "reference/more.py").write_text('def more(subject) -> int:\n    """More."""\n', encoding="utf-8")
    new_course.keep_schemas(course.find(own))
    assert "more" in (own / "specs/task.schema.json").read_text(encoding="utf-8")


def test_a_course_without_schemas_is_left_alone(own):
    (own / "specs/task.schema.json").unlink()
    new_course.keep_schemas(course.find(own))
    assert not list((own / "specs").glob("*.json"))
