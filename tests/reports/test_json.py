"""The JSON report: its schema, its numbers, its order, and the text of students in it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from labgrade.core.results import Report, SubmissionReport
from labgrade.core.student_view import for_student
from labgrade.reports.json import render
from labgrade.verdict import Outcome, incorrect
from tests.reports.sample import CLASS, ONE, graded, task

SCHEMA = json.loads(files("labgrade.reports").joinpath("report.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
DOCUMENTATION = Path(__file__).parents[2] / "docs" / "report-json.md"


def one_check(reason: str) -> Report:
    check = graded("total", 5, incorrect(reason))
    return Report(submissions=(SubmissionReport(name="student42", tasks=(task("2-1", "Title", check),)),))


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("report", [ONE, CLASS, for_student(CLASS), Report(submissions=())])
def test_a_report_fits_the_schema(report):
    VALIDATOR.validate(json.loads(render(report)))


def test_the_schema_knows_every_outcome():
    assert SCHEMA["$defs"]["check"]["properties"]["outcome"]["enum"] == [outcome.value for outcome in Outcome]


@pytest.mark.parametrize(
    "damage",
    [
        lambda check: check.pop("reason"),
        lambda check: check.update(outcome="PASSED"),
        lambda check: check.update(credit=1.1),
        lambda check: check.update(points="10"),
        lambda check: check.update(comment="more"),
        lambda check: check["facts"].update(got=57),
    ],
)
def test_the_schema_rejects_what_is_no_report(damage):
    document = json.loads(render(ONE))
    damage(document["submissions"][0]["tasks"][0]["checks"][0])
    assert not VALIDATOR.is_valid(document)


def test_a_whole_check():
    document = json.loads(render(ONE))
    submission = document["submissions"][0]
    assert {key: submission[key] for key in ("name", "points", "earned", "at_most")} == {
        "name": "student42",
        "points": 59.33,
        "earned": 31.68,
        "at_most": 39.68,
    }
    macs = submission["tasks"][1]
    assert {key: value for key, value in macs.items() if key != "checks"} == {
        "lab": "acal-lab2",
        "id": "2-1-4-macs",
        "title": "Computation of GoogLeNet",
        "points": 19.33,
        "earned": 11.68,
    }
    assert macs["checks"][0] == {
        "id": "total",
        "outcome": "PARTIAL",
        "credit": 0.6,
        "points": 10,
        "earned": 6,
        "reason": "got 1,356,857,600, which is off by less than a factor of 2",
        "hint": "Your sizes go wrong at the first max-pool, which rounds up (ceil_mode=True) where you round down.",
        "notes": [],
        "answer_from": "hw2_1.py:total_macs",
        "hidden": False,
        "bonus": False,
        "facts": {"got": "1,356,857,600", "expected": "1,498,376,192", "off": "-141,518,592"},
        "seconds": 0,
        "printed": "",
        "revealed": False,
        "rows": [],
        "grids": [],
        "decision": None,
    }
    assert document["notes"] == list(ONE.notes)


def test_numbers_without_a_fraction_are_integers():
    assert '"points": 10,' in render(ONE)
    assert '"earned": 5.68,' in render(ONE)
    assert not re.search(r": \d+\.0\b", render(ONE))


def test_a_student_gets_no_facts_and_no_hidden_checks():
    text = render(for_student(ONE))
    assert '"hidden": true' not in text
    assert "1,498,376,192" not in text
    assert json.loads(text)["submissions"][0]["points"] == 58


def test_the_same_report_is_the_same_text():
    assert render(ONE) == render(replace(ONE))
    keys = list(json.loads(render(ONE))["submissions"][0]["tasks"][0]["checks"][0])
    assert keys == SCHEMA["$defs"]["check"]["required"]


@pytest.mark.parametrize("text", ["王小明", '"quoted"\\', "\x1b[2J\x9b\x00", "\u202etfel\u2028", "</script>", "😀"])
def test_text_of_a_student_survives(text):
    rendered = render(one_check(text))
    assert json.loads(rendered)["submissions"][0]["tasks"][0]["checks"][0]["reason"] == text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", rendered)


def test_chinese_is_written_as_it_is():
    assert "王小明 (perfect)" in render(CLASS)


def test_half_a_surrogate_pair_can_be_written():
    rendered = render(one_check("name\udcff"))
    assert "name\ufffd" in rendered.encode().decode()


def test_every_field_is_described_and_the_documentation_names_every_outcome():
    text = DOCUMENTATION.read_text(encoding="utf-8")
    for properties in (SCHEMA["properties"], *(each.get("properties", {}) for each in SCHEMA["$defs"].values())):
        assert all(field.get("description") for field in properties.values())
    assert {outcome.value for outcome in Outcome} <= set(re.findall(r"`(\w+)`", text))
    (example,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    VALIDATOR.validate(json.loads(example))
