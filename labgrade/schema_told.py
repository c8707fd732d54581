"""What each key of the language means, for the editors that show it while one types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labgrade.registry import Entry, Schema

# By the title of what holds the key, else by the key alone.
_TOLD = {
    "title": "What the task or the lab is called, in a line.",
    "subject": "What is analysed: a model of the zoo, an ONNX file, one that students hand in, or a config.",
    "answers": "What is asked for, by name: each with its type and the forms in which it may be handed in.",
    "checks": "What is graded, one point or a few at a time.",
    "limits": "What the student's code may use; a lab's lab.yaml gives defaults.",
    "memory": "The most memory that the student's code may take: `4 GB`.",
    "output": "The most that the student's code may print: `1 MB`.",
    "model": "A model of the zoo: `torchvision/resnet18` in memory, `torchvision/resnet18.onnx` as a file.",
    "file": "A file of the submission, or one that the program wrote.",
    "a subject file": "An ONNX file beside the spec.",
    "handed_in": "An ONNX file of the student's own, by a pattern: everything is computed of that file.",
    "config": "In place of a model: plain data by name, such as layers and heads; a case changes what it names.",
    "input": "The input's shape, batch first: `[1, 3, 224, 224]`, or `{shape, fill, seed}`.",
    "frozen": "Names of modules whose parameters are not trained (requires_grad=False).",
    "tiled": "The size of the tiles into which each linear layer is cut.",
    "program": "What the build makes, by its name; it may be left out where there is only one.",
    "beside": "Answers and what is right, shown to whoever marks by hand.",
    "reveal": "Students see the expected table beside their own.",
    "among": "The family of networks that is searched: cnn, linear, attention, sizes.",
    "shape": "Whole numbers, batch first.",
    "fill": "How the values are drawn: normal unless given.",
    "seed": "Draws the values; 0 unless given.",
    "type": "What kind of value it is: a count, bytes, a number, a text, a shape, a table, ...",
    "from": "The ways of handing it in; the first that is there is judged.",
    "table": "Rows with typed columns.",
    "table_of": "One array for each name.",
    "row": "What a row is called: layer, node, operator.",
    "columns": "The columns that each row has, with the type of each.",
    "call": "A Python function of the student's: `hw.py:total_macs`.",
    "given": "What the function is called with, in this order.",
    "run": "A program of the student's; what it prints or writes is read.",
    "files": "One value a file, named by the `*`: `conv/*.npy`.",
    "report": "A place in the report: `under 2-1-4`, `under [Lab 2, 1]`, or `anywhere`.",
    "id": "The check's name, once in a task.",
    "points": "What it is worth.",
    "answer": "The answer that it judges.",
    "checker": "The function that judges: a name, or a name with its parameters.",
    "measured": "What is computed of the student's file, where the answer is one.",
    "expected": "What is right: a value, `{literal: ...}`, or a quantity.",
    "also_right": "Other conventions that are right, too, each with what it says.",
    "misconceptions": "Known wrong values; `says` is the student's hint: cause and remedy.",
    "partly": "Credit for a range of numbers, for what a single value can't say.",
    "by_hand": "In place of a checker: a rubric by which a person marks.",
    "hidden": "Students see nothing of it: not its existence, subject, verdict or output.",
    "bonus": "Points on top of the task's total; may be missing without harm.",
    "needs": "Checks that must have full credit first; else it is SKIPPED.",
    "cases": "Other subjects for the same check; what a case leaves out is inherited, points are shared.",
    "value": "A value, `{literal: ...}`, or a quantity.",
    "says": "What the student is told.",
    "credit": "The share of the points that it earns, from 0 to 1.",
    "when": "The range; all bounds that are given hold.",
    "above": "More than this.",
    "below": "Less than this.",
    "at_least": "This or more.",
    "at_most": "This or less.",
    "for": "What the points of this line are for.",
    "literal": "A value as it stands, also a mapping.",
    "quantity": "A function of reference/ by name: `labgrade list quantities`.",
}


def tell(schema: Schema, inside: str = "") -> Schema:
    """The schema with a description at every key that has none, whatever stands around it."""
    told: dict[str, Any] = {}
    title = str(schema.get("title", inside))
    for word, value in schema.items():
        if word == "properties" and isinstance(value, dict):
            told[word] = {key: _described(key, each, title) for key, each in value.items()}
        elif isinstance(value, dict):
            told[word] = tell(value, title)
        elif isinstance(value, list):
            told[word] = [tell(each, title) if isinstance(each, dict) else each for each in value]
        else:
            told[word] = value
    return told


def _described(key: str, value: Any, inside: str) -> Any:
    if not isinstance(value, dict):
        return value
    known = _TOLD.get(f"{inside} {key}", _TOLD.get(key))
    whole = tell(value, inside)
    return whole if known is None or "description" in whole or "const" in whole else {**whole, "description": known}


def of_parameter(entry: Entry, name: str) -> str:
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
