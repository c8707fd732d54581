"""What a schema refuses, held against the library `jsonschema`, which counts and says the same."""

import copy
import random
from pathlib import Path

import jsonschema
import pytest

from labgrade.core.arguments import ALL as GIVEN
from labgrade.core.errors import SpecError
from labgrade.files import json_schema, yaml
from labgrade.spec import course, load, schema

ROOT = Path(__file__).parents[2]
SPECS = load.files(ROOT / "specs")
BAD = sorted((ROOT / "tests/galleries/specs_bad").glob("*.yaml"))
VALUES = [
    None,
    True,
    False,
    0,
    1,
    1.0,
    1.5,
    -1,
    1e300,
    "",
    "a",
    "equal",
    "macs",
    [],
    [1],
    [1, 1],
    [1, True],
    {},
    {"a": 1},
]


@pytest.fixture(scope="module")
def of_a_task():
    return schema.task_schema(course.find(ROOT), tuple(GIVEN))


def by_the_library(wanted, data):
    found = []
    for error in jsonschema.Draft202012Validator(wanted).iter_errors(data):
        keyword = "anyOf" if error.context else error.validator
        missing = error.message.partition("' is a required")[0].strip("'") if keyword == "required" else ""
        found.append((keyword, tuple(error.absolute_path), repr(error.instance), error.schema.get("title"), missing))
    return sorted(found, key=repr)


def by_labgrade(wanted, data):
    found = [
        (p.keyword, p.path, repr(p.value), p.schema.get("title"), p.wanted if p.keyword == "required" else "")
        for p in json_schema.problems(wanted, data)
    ]
    return sorted(found, key=repr)


def data_of(path):
    try:
        return [yaml.load(path.read_text(encoding="utf-8"), path.name).data]
    except SpecError:
        return []


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_spec_has_the_problems_that_the_library_finds(path, of_a_task):
    for data in data_of(path):
        assert by_labgrade(of_a_task, data) == by_the_library(of_a_task, data)


def places(data):
    """Every mapping and list, with each of its keys."""
    for key in data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield data, key
        yield from places(data[key])


def changed(data, chance):
    """The data with one to three places changed at random: a key renamed or gone, a value of another kind."""
    data = copy.deepcopy(data)
    for _ in range(chance.randrange(1, 4)):
        around, key = chance.choice(list(places(data)))
        match chance.randrange(4):
            case 0:
                del around[key]
            case 1 if isinstance(around, dict):
                around[chance.choice(["subject", "answer", "call", "quantity", "literal", "with", "x"])] = around.pop(
                    key
                )
            case _:
                around[key] = copy.deepcopy(chance.choice(VALUES))
    return data


@pytest.mark.slow
def test_specs_changed_at_random_have_the_problems_that_the_library_finds(of_a_task):
    chance, wrong = random.Random(7), 0  # noqa: S311
    right = [data for path in SPECS[:6] for data in data_of(path)]
    assert [by_labgrade(of_a_task, data) for data in right] == [[]] * len(right)
    for _ in range(25):
        data = changed(chance.choice(right), chance)
        found = by_labgrade(of_a_task, data)
        assert found == by_the_library(of_a_task, data)
        wrong += bool(found)
    assert wrong > 12


@pytest.mark.parametrize(
    "wanted",
    [
        *({"type": name} for name in ("object", "array", "string", "number", "integer", "boolean", "null")),
        {"type": ["number", "string"]},
        {"enum": [1, "a", None]},
        {"const": True},
        {"uniqueItems": True, "items": {"minimum": 1}},
        {"minimum": 1, "maximum": 1},
        {"exclusiveMinimum": 1},
        {"minLength": 1, "minItems": 1, "minProperties": 1},
        {"maxProperties": 0, "maxItems": 1, "format": "column", "propertyNames": {"pattern": "^b"}},
        {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/few"}], "$defs": {"few": {"minimum": 1}}},
        {"required": ["a", "b"], "properties": {"a": {"const": 2}}, "additionalProperties": {"type": "string"}},
        {"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["c"]}, "else": {"maxProperties": 0}},
    ],
    ids=repr,
)
def test_each_keyword_refuses_what_the_library_refuses(wanted):
    found = [(value, by_labgrade(wanted, value), by_the_library(wanted, value)) for value in VALUES]
    assert [each for each in found if each[1] != each[2]] == []


def when(conditions, then):
    return {"if": conditions, "then": then}


ALTERNATIVES = [
    when({"properties": {"kind": {"const": "a"}}, "required": ["kind"]}, {"required": ["of a"]}),
    {"maxProperties": 2},
    when({"properties": {"kind": {"const": "b"}}}, {"required": ["of b, or none"]}),
    when({"properties": {"kind": {"const": "a"}, "n": {"const": 1}}}, {"required": ["of a with 1"]}),
    when({"properties": {"kind": {"const": 1}}, "required": ["kind"]}, {"required": ["of 1"]}),
    when({"properties": {"n": {"const": "a"}}, "required": ["n"]}, {"required": ["of n"]}),
    {**when({"properties": {"kind": {"const": "a"}}}, {}), "else": {"required": ["of no a"]}},
]


@pytest.mark.parametrize("kind", ["a", "b", "c", "", 1, True, None, ["a"]], ids=repr)
@pytest.mark.parametrize("more", [{}, {"n": 1}, {"n": "a"}, {"n": 2, "of a": 0, "of b, or none": 0}], ids=repr)
def test_of_many_alternatives_those_hold_that_the_library_finds(kind, more):
    wanted = {"allOf": ALTERNATIVES}
    for data in ({"kind": kind, **more}, more, [kind]):
        assert by_labgrade(wanted, data) == by_the_library(wanted, data)
    assert by_labgrade(wanted, {"kind": kind})


def test_a_keyword_that_is_not_known_is_never_passed_over():
    with pytest.raises(KeyError, match="contains"):
        list(json_schema.problems({"contains": 1}, [1, 2]))
