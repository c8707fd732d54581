"""The parts of the task schema that depend on nothing but the language itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.forms import ARTIFACT_KINDS, SCALAR_KINDS
from labgrade.model import FAMILIES
from labgrade.run_words import BUILDS, GIVEN

if TYPE_CHECKING:
    from labgrade.registry import Schema

KINDS = (*SCALAR_KINDS, "histogram", "tensor", *ARTIFACT_KINDS)
ID: Schema = {"type": "string", "title": "id", "pattern": r"^[A-Za-z0-9][A-Za-z0-9_-]*$"}
TEXT: Schema = {"type": "string", "minLength": 1}
POINTS: Schema = {"type": "number", "minimum": 0, "maximum": 1_000_000}
_LARGEST_SIZE = 1 << 40
LIMITS: Schema = {
    "title": "limits",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "seconds": {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 86_400,
            "description": "CPU seconds of the student's code.",
        },
        "memory": {"title": "an amount of memory", "type": "string", "pattern": r"^[0-9.]+ ?[KMG]i?B$"},
        "output": {"title": "an amount of output", "type": "string", "pattern": r"^[0-9.]+ ?[KMG]i?B$"},
    },
}

# Words of the language that are planned and not understood by this version; saying so beats "unknown key".
RESERVED = (
    "fresh_inputs",
    "variants",
    "network",
    "generated",
    "from_answer",
)


def shape() -> Schema:
    """A shape: a list of whole numbers."""
    return {
        "title": "a shape",
        "type": "array",
        "minItems": 1,
        "items": {"type": "integer", "minimum": 1, "maximum": _LARGEST_SIZE},
    }


def given(names: tuple[str, ...]) -> Schema:
    """The arguments of a `call`, from the closed list."""
    return {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"title": "argument", "enum": list(names)}}


def table_type() -> Schema:
    """`{table: {row: NAME, columns: {NAME: TYPE}}}` or `{table_of: tensor}`."""
    return {
        "title": "a type",
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {
            "table": {
                "title": "a table",
                "type": "object",
                "additionalProperties": False,
                "required": ["row", "columns"],
                "properties": {
                    "row": TEXT,
                    "columns": {
                        "type": "object",
                        "minProperties": 1,
                        "additionalProperties": {"title": "type of a column", "enum": list(SCALAR_KINDS)},
                    },
                    "sparse": {
                        "type": "boolean",
                        "description": "A row may leave out columns that it has nothing for.",
                    },
                },
            },
            "table_of": {"title": "type", "enum": ["tensor"]},
        },
    }


def form() -> Schema:
    """One way of handing in an answer; told apart by its first word."""
    call: Schema = {
        "title": "a call",
        "additionalProperties": False,
        "required": ["call", "given"],
        "properties": {
            "call": {**TEXT, "title": "a call (file.py:function)", "pattern": r"^[^:]+\.py:[A-Za-z_]\w*$"},
            "given": {"$ref": "#/$defs/given"},
        },
    }
    entry: Schema = {
        "title": "an entry",
        "additionalProperties": False,
        "properties": {"entry": {**TEXT, "description": "A dotted path in answers.yaml or answers.json."}},
    }
    return {
        "title": "a form",
        "type": "object",
        "if": {"required": ["call"]},
        "then": call,
        "else": {
            "if": {"required": ["run"]},
            "then": _run_form(),
            "else": {"if": {"required": ["entry"]}, "then": entry, "else": _text_form()},
        },
    }


def _words() -> Schema:
    """What a text, wherever it is, is searched for; and files that are answers themselves."""
    return {
        "after": {**TEXT, "description": "The next value of the answer's type after these words."},
        "find": {**TEXT, "description": "For experts: a regular expression with a group named `answer`."},
        "file": {**TEXT, "description": "A file of the submission, or one that the program wrote."},
        "files": {**TEXT, "pattern": r"^[^*]*\*[^*]*$", "title": "a pattern with one *"},
    }


def _text_form() -> Schema:
    report: Schema = {
        **TEXT,
        "title": "a place in the report (`under 2-1-4`, `under [Lab 2, 1]`, or `anywhere`)",
        "pattern": r"^(under .+|anywhere)$",
    }
    return {"title": "a form", "additionalProperties": False, "properties": {**_words(), "report": report}}


def _run_form() -> Schema:
    shared: Schema = {
        "folder": {**TEXT, "description": "The folder of the submission that it runs in; by default the top."},
        "provide": {
            "title": "provide",
            "type": "object",
            "minProperties": 1,
            "additionalProperties": TEXT,
            "description": "Placed in the folder beforehand: {models/alexnet.onnx: torchvision/alexnet.onnx}.",
        },
    }
    command: Schema = {**TEXT, "description": "Such as `python hw.py`; it runs in a writable copy."}
    run: Schema = {
        "title": "a run",
        "type": "object",
        "if": {"required": ["build"]},
        "then": _build(shared),
        "else": {
            "title": "a run",
            "additionalProperties": False,
            "required": ["command"],
            "properties": {"command": command, **shared},
        },
    }
    entry: Schema = {**TEXT, "description": "A name in what the program prints: a JSON object, or `name: value`."}
    return {
        "title": "a run form",
        "additionalProperties": False,
        "properties": {"run": run, **_words(), "entry": entry},
    }


def _build(shared: Schema) -> Schema:
    """A C++ program."""
    return {
        "title": "a build",
        "additionalProperties": False,
        "required": ["build", "program"],
        "properties": {
            "build": {
                "title": "build",
                "enum": list(BUILDS),
                "description": "CMakeLists.txt, else a Makefile, else the only .cpp of the folder.",
            },
            "program": {**TEXT, "title": "program's name", "pattern": r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*$"},
            "given": {
                "type": "array",
                "minItems": 1,
                "uniqueItems": True,
                "items": {"title": "argument of a program", "enum": list(GIVEN)},
                "description": "Its arguments, in this order.",
            },
            **shared,
        },
    }


def check() -> Schema:
    """One graded point of a task."""
    alternative: Schema = {
        "title": "another value",
        "type": "object",
        "additionalProperties": False,
        "required": ["value", "says"],
        "properties": {
            "value": {"$ref": "#/$defs/source"},
            "says": TEXT,
            "credit": {"type": "number", "minimum": 0, "maximum": 1},
        },
    }
    return {
        "title": "a check",
        "type": "object",
        "additionalProperties": False,
        "required": ["id", "points", "answer"],
        "properties": {
            "id": ID,
            "points": POINTS,
            "answer": ID,
            "checker": {"$ref": "#/$defs/checker"},
            "measured": {"$ref": "#/$defs/quantity"},
            "expected": {"$ref": "#/$defs/source"},
            "also_right": {"type": "array", "items": alternative},
            "misconceptions": {"type": "array", "items": alternative},
            "partly": {"type": "array", "items": _partly()},
            "by_hand": {"type": "array", "minItems": 1, "items": _criterion()},
            "beside": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/beside"}},
            "hidden": {"type": "boolean"},
            "bonus": {"type": "boolean"},
            "reveal": {"type": "boolean"},
            "needs": {"type": "array", "items": ID},
            "cases": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/case"}},
            "counterexample": _counterexample(),
        },
    }


def _counterexample() -> Schema:
    return {
        "title": "a counterexample",
        "description": "Looks for the smallest random network on which the answer is wrong.",
        "type": "object",
        "additionalProperties": False,
        "required": ["among"],
        "properties": {
            "among": {"title": "a family of networks", "enum": list(FAMILIES)},
            "tries": {"type": "integer", "minimum": 1, "maximum": 10_000, "description": "100 unless given."},
        },
    }


def _partly() -> Schema:
    bound: Schema = {"type": "number"}
    return {
        "title": "a partly",
        "type": "object",
        "additionalProperties": False,
        "required": ["when", "credit", "says"],
        "properties": {
            "when": {
                "title": "when",
                "type": "object",
                "minProperties": 1,
                "additionalProperties": False,
                "properties": {"above": bound, "below": bound, "at_least": bound, "at_most": bound},
            },
            "credit": {"type": "number", "minimum": 0, "maximum": 1},
            "says": TEXT,
        },
    }


def _criterion() -> Schema:
    return {
        "title": "a line of the rubric",
        "type": "object",
        "additionalProperties": False,
        "required": ["points", "for"],
        "properties": {"points": POINTS, "for": TEXT},
    }
