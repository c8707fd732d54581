"""The JSON Schema (draft 2020-12) of a task, generated from the language's words and the registered functions.

One schema both validates (`findings`) and completes in editors (`specs/task.schema.json`). `title` says what a thing
is called in messages. Alternatives are told apart by `if`/`then`, never by `anyOf`, so that an error speaks about the
alternative that was meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from labgrade import schema_told
from labgrade.late_rules import DUE, LATE
from labgrade.schema_words import ID, KINDS, LIMITS, POINTS, check, form, given, shape, table_type

if TYPE_CHECKING:
    from labgrade.course import Course
    from labgrade.registry import Registry, Schema

_SEED: Schema = {"type": "integer", "minimum": 0, "maximum": (1 << 63) - 1}  # what torch.manual_seed takes


def task_schema(course: Course, models: tuple[str, ...], given_names: tuple[str, ...]) -> Schema:
    """The schema of one task file. `models` are the zoo's names, `given_names` what a `call` may ask for."""
    return schema_told.tell(_task(course, models, given_names))


def _task(course: Course, models: tuple[str, ...], given_names: tuple[str, ...]) -> Schema:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "a task",
        "description": "One task of a lab: what a student is asked, how it may be handed in, and how it is judged.",
        "type": "object",
        "additionalProperties": False,
        "required": ["id", "title", "points", "statement", "answers", "checks"],
        "properties": {
            "id": {**ID, "description": "The same as the file's name without .yaml."},
            "title": {"type": "string", "minLength": 1},
            "points": {**POINTS, "description": "The sum of the points of its checks."},
            "statement": {"type": "string", "minLength": 1, "description": "What the student reads."},
            "subject": {"$ref": "#/$defs/subject"},
            "answers": {
                "type": "object",
                "title": "answers",
                "minProperties": 1,
                "propertyNames": ID,
                "additionalProperties": {"$ref": "#/$defs/answer"},
            },
            "checks": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/check"}},
            "limits": LIMITS,
        },
        "$defs": _definitions(course, models, given_names),
    }


def _definitions(course: Course, models: tuple[str, ...], given_names: tuple[str, ...]) -> Schema:
    return {
        "subject": _subject(models, required=["input"]),
        "case": _subject(models, required=[]),
        "answer": _answer(),
        "type": {
            "if": {"type": "object"},
            "then": table_type(),
            "else": {"title": "type", "enum": list(KINDS)},
        },
        "form": form(),
        "given": given(given_names),
        "check": check(),
        "beside": _beside(_subject(models, required=[])),
        "checker": _named("checker", course.checkers),
        "source": _source(),
        "quantity": _quantity(course.quantities),
    }


def lab_schema() -> Schema:
    """The schema of lab.yaml."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "a lab",
        "type": "object",
        "additionalProperties": False,
        "required": ["title"],
        "properties": {"title": {"type": "string", "minLength": 1}, "limits": LIMITS, "due": DUE, "late": LATE},
    }


def _subject(models: tuple[str, ...], required: list[str]) -> Schema:
    return {
        "title": "a subject",
        "type": "object",
        "additionalProperties": False,
        "if": {"required": ["config"]},
        "else": {"required": list(required)},
        "properties": {
            "model": {"title": "model", "enum": list(models)},
            "config": _config(),
            "file": {"type": "string", "title": "an ONNX file beside the spec", "pattern": r"\.onnx$"},
            "handed_in": {
                "type": "string",
                "title": "a pattern for the student's own ONNX file",
                "pattern": r"\.onnx$",
            },
            "options": {
                "type": "object",
                "description": "Passed to the function that builds the model; `frozen` names modules not trained; "
                "`tiled` cuts its linear layers into tiles of that size.",
                "properties": {
                    "frozen": {"type": "array", "items": {"type": "string"}},
                    "tiled": {"title": "the size of a tile", "type": "integer", "minimum": 1},
                },
            },
            "seed": {**_SEED, "description": "Draws the weights; 0 unless given."},
            "input": _input(),
        },
    }


def _input() -> Schema:
    """A shape, or a shape with how its values are drawn."""
    whole: Schema = {
        "title": "an input",
        "type": "object",
        "additionalProperties": False,
        "required": ["shape"],
        "properties": {
            "shape": shape(),
            "fill": {"title": "fill", "enum": ["normal", "uniform", "ones", "zeros"]},
            "seed": _SEED,
        },
    }
    return {"if": {"type": "object"}, "then": whole, "else": shape()}


def _config() -> Schema:
    """Plain data by name: what a quantity that takes a `config`, and a function that is given it, get as a dict."""
    plain: Schema = {"type": ["number", "string", "boolean", "array", "object"]}
    return {
        "title": "a config",
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"title": "name in a config", "type": "string", "pattern": r"^[A-Za-z_][A-Za-z0-9_]*$"},
        "additionalProperties": plain,
    }


def _beside(subject: Schema) -> Schema:
    """An answer shown to the person who marks by hand, of a subject of its own where one is named."""
    own: Schema = {"says": {"type": "string", "minLength": 1}, "answer": ID, "expected": {"$ref": "#/$defs/source"}}
    properties = {**own, **cast("Schema", subject["properties"])}
    return {**subject, "title": "a row of 'beside'", "required": list(own), "properties": properties}


def _answer() -> Schema:
    return {
        "title": "an answer",
        "type": "object",
        "additionalProperties": False,
        "required": ["type", "from"],
        "properties": {
            "type": {"$ref": "#/$defs/type"},
            "from": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/form"}},
        },
    }


def _source() -> Schema:
    """A scalar or list, `{literal: ...}`, or a quantity."""
    return {
        "title": "an expected value",
        "if": {"type": "object", "required": ["literal"]},
        "then": {"title": "a literal", "additionalProperties": False, "properties": {"literal": {}}},
        "else": {
            "if": {"type": "object"},
            "then": {"$ref": "#/$defs/quantity"},
            "else": {"type": ["number", "string", "array"]},
        },
    }


def _named(kind: str, entries: Registry) -> Schema:
    """A name, or a name with its parameters: `close` or `{close: {rtol: 1e-5}}`."""
    names = sorted(entries.entries)
    return {
        "if": {"type": "object"},
        "then": {
            "title": kind,
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
            "properties": {name: _parameters(f"{kind} '{name}'", entries, name) for name in names},
        },
        "else": {"title": kind, "enum": list(names)},
    }


def _parameters(title: str, entries: Registry, name: str) -> Schema:
    entry = entries.get(name)
    return {
        "title": title,
        "description": entry.description,
        "type": "object",
        "additionalProperties": False,
        "required": [key for key, value in entry.parameters.items() if value.required],
        "properties": {
            key: {
                "title": f"'{key}' of {title}",
                "description": schema_told.of_parameter(entry, key),
                "default": value.default,
                **value.schema,
            }
            for key, value in entry.parameters.items()
        },
    }


def _quantity(entries: Registry) -> Schema:
    names = sorted(entries.entries)
    return {
        "title": "a quantity",
        "type": "object",
        "additionalProperties": False,
        "required": ["quantity"],
        "properties": {
            "quantity": {"title": "quantity", "enum": list(names)},
            "with": {"type": "object", "description": "The conventions: keyword-only parameters of the quantity."},
            "published": {"description": "A published figure; `labgrade validate --compute` fails if it differs."},
        },
        "allOf": [
            {
                "if": {"properties": {"quantity": {"const": name}}, "required": ["quantity"]},
                "then": {
                    "properties": {"with": _parameters(f"quantity '{name}'", entries, name)},
                    **(
                        {"required": ["with"]} if any(p.required for p in entries.get(name).parameters.values()) else {}
                    ),
                },
            }
            for name in names
        ],
    }
