"""The JSON Schema (draft 2020-12) of a task, made of the language's words and the registered functions.

One schema both validates (`files.validate`) and completes in editors (`specs/task.schema.json`). `title` says what a
thing is called in messages. Alternatives are told apart by `if`/`then`, never by `anyOf`, so that an error speaks about
the alternative that was meant.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from labgrade.core.by_identity import ByIdentity
from labgrade.core.task import (
    Alternative,
    AnswerSpec,
    AnswerValue,
    BuildForm,
    CallForm,
    Check,
    Comparison,
    Counterexample,
    Criterion,
    EntryForm,
    Environment,
    InputSpec,
    Limits,
    LiteralValue,
    Picture,
    QuantityCall,
    RangeCredit,
    RunForm,
    SubjectSpec,
    TableType,
    Task,
    TextForm,
)
from labgrade.spec.kinds import ID, KINDS, SHAPE, TEXT, WHERE
from labgrade.spec.language import KNOWN, properties, required
from labgrade.spec.registry import SLIPS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labgrade.core.task import Schema
    from labgrade.spec.course import Course
    from labgrade.spec.registry import Entry, Registry

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def task_schema(course: Course, given_names: tuple[str, ...]) -> Schema:
    """The schema of one task file. `given_names`: what a `call` may ask for."""
    answers: Schema = {
        "type": "object",
        "title": "answers",
        "minProperties": 1,
        "propertyNames": ID.schema,
        "additionalProperties": {"$ref": "#/$defs/answer"},
    }
    checks = _list({"$ref": "#/$defs/check"})
    return {
        "$schema": DRAFT,
        "title": "a task",
        "description": "One task of a lab: what a student is asked, how it may be handed in, and how it is judged.",
        **_object(
            "a task",
            Task,
            answers=answers,
            checks=checks,
            limits=_object("limits", Limits),
            environment=_object("environment", Environment),
            hand_in={"$ref": "#/$defs/hand_in"},
        ),
        "$defs": _definitions(course, given_names),
    }


def lab_schema() -> Schema:
    """The schema of lab.yaml."""
    return {
        "$schema": DRAFT,
        "title": "a lab",
        "description": "What the tasks of a lab have in common: when it is due, how it is handed in.",
        **_object("a lab", "lab", limits=_object("limits", Limits), environment=_object("environment", Environment)),
        "$defs": {"hand_in": _hand_in()},
    }


def _definitions(course: Course, given_names: tuple[str, ...]) -> Schema:
    subject, networks = _of_a_subject(), _networks(course.models)
    drawn = {**subject, **{word: _or_each(subject[word]) for word in ("model", "input")}}
    value: Schema = {"if": {"type": "object"}, "then": _words("a literal", LiteralValue)}
    given: Schema = {
        "title": "argument",
        "description": f"{', '.join(given_names)}; arguments; values.",
        **value,
    }  # names: see `rules_subject`
    return {
        "model": {"title": "model", "enum": list(course.model_names)},
        "subject": {**_object("a subject", SubjectSpec, **drawn), **_with_input(["input"]), **networks},
        "case": {**_object("a subject", SubjectSpec, **subject), **_with_input([]), **networks},
        "answer": _object(
            "an answer", AnswerSpec, **{"from": _list({"$ref": "#/$defs/form"}), "words": _words_before()}
        ),
        "hand_in": _hand_in(),
        "type": _type(),
        "form": _form(),
        "given": {"type": "array", "minItems": 1, "items": given},
        "check": _check(course.quantities),
        "beside": {**_object("a row of 'beside'", Comparison, **subject), **_with_input([])},
        "checker": _call_schema("checker", course.checkers),
        "source": _source(),
        "quantity": _quantity(course.quantities),
    }


def _object(title: str, holder: type | str, **made: Schema) -> Schema:
    """A mapping of the holder's words and no others; `made` has those that are made of other words."""
    return {"title": title, "type": "object", **_words(title, holder, **made)}


def _words(title: str, holder: type | str, **made: Schema) -> Schema:
    """As `_object`, for a value that is known to be a mapping."""
    needed: Schema = {"required": required(holder)} if required(holder) else {}
    return {"title": title, "additionalProperties": False, **needed, "properties": properties(holder, **made)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "minItems": 1, "items": items}


# ---- subjects --------------------------------------------------------------------------------------------------


def _with_input(needed: list[Any]) -> Schema:
    several: Schema = {"if": {"required": ["inputs"]}, "else": {"required": needed}}
    return {"if": {"required": ["config"]}, "else": several}


def _of_a_subject() -> dict[str, Schema]:
    one: Schema = {"if": {"type": "object"}, "then": _object("an input", InputSpec), "else": SHAPE.schema}
    return {
        "model": {"$ref": "#/$defs/model"},
        "config": _named_data("a config"),
        "options": {
            "type": "object",
            "properties": {key: _or_each(each) for key, each in properties("options").items()},
        },
        "input": one,
        "inputs": _list(one),
        "arguments": _named_data("arguments"),
    }


def _or_each(one: Any) -> Schema:
    """A value, or `{each: [...]}` with one for each variant."""
    several: Schema = {"type": "array", "minItems": 2, "uniqueItems": True, "items": one}
    told: Schema = {"description": one["description"]} if "description" in one else {}
    then = _object("variants", "each", each=several)
    return {**told, "if": {"type": "object", "required": ["each"]}, "then": then, "else": one}


def _networks(entries: Registry) -> Schema:
    """What the options of each network of `models/` may be; which of them there are is said by `rules_subject`."""
    return {
        "allOf": [
            {
                "if": {"properties": {"model": {"const": f"{name}{suffix}"}}, "required": ["model"]},
                "then": {
                    "properties": {
                        "options": {
                            "description": entry.description,
                            "properties": {key: _or_each(each) for key, each in _settings(f"'{name}'", entry).items()},
                        }
                    }
                },
            }
            for name, entry in sorted(entries.entries.items())
            for suffix in ("", ".onnx")
        ]
    }


def _named_data(title: str) -> Schema:
    """Plain data by name: a config, which functions and quantities get as a dict, or arguments of their own."""
    plain: Schema = {"type": ["number", "string", "boolean", "array", "object"]}
    return {
        "title": title,
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"title": f"name in {title}", "type": "string", "pattern": r"^[A-Za-z_][A-Za-z0-9_]*$"},
        "additionalProperties": plain,
    }


# ---- answers ---------------------------------------------------------------------------------------------------


def _type() -> Schema:
    """A word, `{table: {row: NAME, columns: {NAME: TYPE}}}` or `{table_of: tensor}`."""
    words = _words("a type", "type", table=_object("a table", TableType))
    return {
        "if": {"type": "object"},
        "then": {**words, "minProperties": 1, "maxProperties": 1},
        "else": {"title": "type", "enum": list(KINDS)},
    }


def _words_before() -> Schema:
    """Words, several, or those of each place."""
    several = _one_or_more(TEXT.schema or {})
    places: Schema = {"title": "words", "type": "object", "minProperties": 1, "additionalProperties": False}
    return {
        "if": {"type": "object"},
        "then": {
            **places,
            "properties": {place: {**several, "description": f"Of {place}."} for place in (*WHERE, "all")},
        },
        "else": several,
    }


def _one_or_more(one: Schema) -> Schema:
    return {"if": {"type": "array"}, "then": _list(one), "else": one}


def _hand_in() -> Schema:
    """How a lab or a task is handed in."""
    return {**_object("hand_in", "hand_in", program=_one_or_more(_run())), "minProperties": 1}


def _run() -> Schema:
    return {
        "title": "a run",
        "type": "object",
        "if": {"required": ["build"]},
        "then": _words("a build", BuildForm),
        "else": _words("a run", RunForm),
    }


def _form() -> Schema:
    """One way of handing in an answer; told apart by its first word."""
    others: Schema = {
        "if": {"required": ["entry"]},
        "then": _words("an entry", EntryForm),
        "else": _words("a form", TextForm),
    }
    return {
        "title": "a form",
        "type": "object",
        "if": {"required": ["call"]},
        "then": _words("a call", CallForm),
        "else": {"if": {"required": ["run"]}, "then": _words("a run form", "run form", run=_run()), "else": others},
    }


# ---- checks ----------------------------------------------------------------------------------------------------


def _check(quantities: Registry) -> Schema:
    """One graded point of a task."""
    when: Schema = {**_object("when", "when"), "minProperties": 1}
    other = _object("another value", Alternative)
    wrong: Schema = {
        **other,
        "properties": {word: said for word, said in properties(Alternative).items() if word != "of"},
    }
    slips = {name: each.slip.hint for name, each in quantities.entries.items() if each.slip}
    told: list[Any] = ["All slips of the expected quantity.", *slips.values()]
    one: Schema = {"title": "slip", "enum": [KNOWN, *slips], "markdownEnumDescriptions": told}
    several: Schema = {"type": "array", "items": {"if": {"type": "string"}, "then": one, "else": wrong}}
    known: Schema = {"title": "misconceptions", "enum": [KNOWN]}
    made: dict[str, Schema] = {
        "also_right": {"type": "array", "items": other},
        "misconceptions": {"if": {"type": "string"}, "then": known, "else": several},
        "partly": {"type": "array", "items": _object("a partly", RangeCredit, when=when)},
        "cases": _list({"$ref": "#/$defs/case"}),
        "counterexample": _object("a counterexample", Counterexample),
    }
    by_hand = _list(_object("a line of the rubric", Criterion))
    again = _object("an 'again'", "again", **made)
    made["picture"] = _object("a picture", Picture)
    return _object(
        "a check", Check, by_hand=by_hand, beside=_list({"$ref": "#/$defs/beside"}), again=_list(again), **made
    )


def _source() -> Schema:
    """A scalar or list, `{literal: ...}`, `{answer: ...}`, or a quantity."""
    computed: Schema = {
        "if": {"required": ["answer"]},
        "then": _words("an answer's value", AnswerValue),
        "else": {"$ref": "#/$defs/quantity"},
    }
    return {
        "title": "an expected value",
        "if": {"type": "object", "required": ["literal"]},
        "then": _words("a literal", LiteralValue),
        "else": {"if": {"type": "object"}, "then": computed, "else": {"type": ["number", "string", "array"]}},
    }


def _call_schema(kind: str, entries: Registry) -> Schema:
    """A name, or a name with its parameters: `close` or `{close: {rtol: 1e-5}}`."""
    names = sorted(entries.entries)
    return {
        "if": {"type": "object"},
        "then": {
            "title": kind,
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
            "properties": {name: _parameters(f"{kind} '{name}'", entries.get(name)) for name in names},
        },
        "else": _one_of(kind, {name: entries.get(name) for name in names}),
    }


def _one_of(title: str, entries: Mapping[str, Entry]) -> Schema:
    """One of these names; editors show what each says of itself."""
    told: list[Any] = [entry.description for entry in entries.values()]
    return {"title": title, "enum": list(entries), "markdownEnumDescriptions": told}


def _parameters(title: str, entry: Entry) -> Schema:
    return {
        "title": title,
        "description": entry.description,
        "type": "object",
        "additionalProperties": False,
        "required": [key for key, value in entry.parameters.items() if value.required],
        "properties": _settings(title, entry),
    }


def _settings(title: str, entry: Entry) -> Schema:
    """The schema of each parameter of a function."""
    return {
        key: {
            "title": f"'{key}' of {title}",
            "description": _of_parameter(entry, key),
            "default": value.default,
            **value.schema,
        }
        for key, value in entry.parameters.items()
    }


def _quantity(entries: Registry) -> Schema:
    names = sorted(name for name in entries.entries if not name.endswith(SLIPS))
    return {
        **_object(
            "a quantity", QuantityCall, quantity=_one_of("quantity", {name: entries.get(name) for name in names})
        ),
        "allOf": [
            {
                "if": {"properties": {"quantity": {"const": name}}, "required": ["quantity"]},
                "then": _settings_of_quantity(entries.get(name)),
            }
            for name in names
        ],
    }


def _with(entry: Entry) -> Schema:
    """The schema of a quantity's conventions: what a task's own `arguments` say need not be said here."""
    return {"properties": {"with": _parameters(f"quantity '{entry.name}'", entry) | {"required": []}}}


# Of 500 functions, that courses have in common, each read once.
_settings_of_quantity = ByIdentity(_with, 2048)


def _of_parameter(entry: Entry, name: str) -> str:
    """What a function's docstring says of a parameter, with what it may be and its default."""
    parameter = entry.parameters[name]
    text = " ".join(entry.docstring.split())
    said = next((each for each in re.split(r"(?<=[.;]) ", text) if f"`{name}`" in each), "")
    may = (
        f"{parameter.annotation}, required"
        if parameter.required
        else f"{parameter.annotation}, {parameter.default} unless given"
    )
    return f"{said} ({may})" if said else may
