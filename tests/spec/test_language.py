"""The table of words: what is made of it, and that a new word is a row and a field."""

import dataclasses
import json
from pathlib import Path

import pytest

from labgrade.core.errors import SpecError
from labgrade.core.task import (
    Alternative,
    Check,
    Counterexample,
    Criterion,
    InputSpec,
    Limits,
    Picture,
    RangeCredit,
    SubjectSpec,
    TableType,
    Task,
)
from labgrade.judging.items import items
from labgrade.ledger import depends
from labgrade.spec import course, data, language, load, parse, public, schema
from labgrade.spec.kinds import FLAG, Word

ROOT = Path(__file__).parents[2]
SPEC = """
id: task
title: A task
points: 1
statement: What is it?
subject: {model: torchvision/resnet18, input: [1, 3, 224, 224]}
answers: {total: {type: count, from: [{entry: a.b}]}}
checks:
  - {id: total, points: 1, answer: total, checker: equal, expected: {quantity: macs}PRACTICE}
"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WithPractice(Check):
    practice: bool = False


@pytest.mark.parametrize(
    "holder",
    [
        Task,
        Limits,
        SubjectSpec,
        InputSpec,
        TableType,
        Check,
        Alternative,
        RangeCredit,
        Criterion,
        Counterexample,
        Picture,
    ],
    ids=lambda holder: holder.__name__,
)
def test_a_plain_word_is_a_field_of_what_holds_it(holder):
    plain = {word.field or word.name for word in language.WORDS[holder] if word.kind.read is not None}
    assert plain <= {field.name for field in dataclasses.fields(holder)}


@pytest.fixture
def add(monkeypatch):
    """Adds a word to those of a check, for one test: a row, and the field `practice` of a class in place of Check."""

    def add_word(**said):
        words = {holder: each for holder, each in language.WORDS.items() if holder is not Check}
        row = Word("practice", FLAG, "Graded, and never counted.", **said)
        monkeypatch.setattr(language, "WORDS", {**words, WithPractice: (*language.WORDS[Check], row)})
        monkeypatch.setattr(load, "_schema_of", load.task_schema)  # each course's is made once
        for module in (language, parse, schema):
            monkeypatch.setattr(module, "Check", WithPractice)

    return add_word


def written(tmp_path, more):
    path = tmp_path / "lab" / "task.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(SPEC.replace("PRACTICE", more), encoding="utf-8")
    return path


def digest(task):
    return depends.digest_of_data(depends.spec_of_item(task, items(task)[0]))


def test_a_new_boolean_word_is_a_row_and_a_field(tmp_path, add):
    own = course.find(ROOT)
    with pytest.raises(SpecError, match="a check takes no 'practice'"):
        load.read(written(tmp_path, ", practice: true"), own)
    add(for_people=True)
    said = load.read(written(tmp_path, ", practice: true"), own)
    unsaid = load.read(written(tmp_path, ""), own)
    assert (said.checks[0].practice, unsaid.checks[0].practice) == (True, False)
    assert digest(said) == digest(unsaid)
    words = json.loads(load.schema_text(own))["$defs"]["check"]["properties"]
    assert words["practice"] == {"type": "boolean", "description": "Graded, and never counted."}
    with pytest.raises(SpecError, match="'practice' must be true or false, not the text 'yes'"):
        load.read(written(tmp_path, ", practice: yes"), own)
    with pytest.raises(SpecError, match="a check takes no 'practise'; did you mean 'practice'"):
        load.read(written(tmp_path, ", practise: true"), own)


def test_a_word_that_decides_is_part_of_what_a_verdict_depends_on(tmp_path, add):
    own = course.find(ROOT)
    add()
    said, unsaid = (load.read(written(tmp_path, more), own) for more in (", practice: true", ""))
    assert digest(said) != digest(unsaid)


@pytest.mark.parametrize("staff", [True, False])
def test_students_are_given_every_word_that_is_not_for_staff(add, staff):
    add(for_staff=staff)
    spec = {
        "points": 1,
        "id": "a",
        "title": "b",
        "answers": {},
        "checks": [{"answer": "x", "points": 1, "practice": True}],
    }
    assert ("practice" in public.public(spec)["checks"][0]) is not staff


MAIN = {"model": "torchvision/resnet18", "input": [1, 3, 8, 8], "options": {"num_classes": 5}, "seed": 3}


@pytest.mark.parametrize(
    ("case", "main", "whole"),
    [
        ({}, MAIN, MAIN),
        ({"model": "torchvision/alexnet"}, MAIN, {**MAIN, "model": "torchvision/alexnet"}),
        ({"file": "a.onnx", "options": {}}, MAIN, {"file": "a.onnx", "input": [1, 3, 8, 8], "options": {}, "seed": 3}),
        ({"input": [2, 2]}, MAIN, {**MAIN, "input": [2, 2]}),
        ({"config": {"b": 3}}, {"config": {"name": "m", "a": 1, "b": 2}}, {"config": {"a": 1, "b": 3}}),
        ({}, {"config": {"name": "m", "a": 1}}, {"config": {"name": "m", "a": 1}}),
        ({"model": "x", "input": [1]}, {}, {"model": "x", "input": [1]}),
        ({"config": 5}, {"config": {"a": 1}}, {"config": 5}),
    ],
)
def test_a_case_inherits_what_it_leaves_out(case, main, whole):
    assert data.with_inherited(case, main) == whole


def test_the_words_of_a_subject_are_in_one_place():
    assert set(data.WHICH) < set(language.SUBJECT_WORDS)
    assert language.fields(InputSpec, {"shape": [1, 2], "seed": 4}) == {"shape": (1, 2), "seed": 4}
