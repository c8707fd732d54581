"""The words of the spec language, each in one row of `WORDS`.

The JSON Schema and what editors show, the plain part of the parser, what a verdict depends on, what students are given,
and docs/reference/words.md come from these rows. A new word is a row here and a field of the same name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labgrade.core.task import (
    Alternative,
    AnswerSpec,
    AnswerValue,
    Check,
    Comparison,
    Counterexample,
    Criterion,
    Environment,
    InputSpec,
    Limits,
    LiteralValue,
    Picture,
    QuantityCall,
    RangeCredit,
    SubjectSpec,
    TableType,
    Task,
)
from labgrade.spec import kinds, lab
from labgrade.spec.in_full.check_words import COUNTEREXAMPLE_WORDS, PICTURE, PICTURE_WORDS
from labgrade.spec.in_full.form_words import FORM_WORDS
from labgrade.spec.kinds import BOUND, FLAG, ID, IDS, OTHERS, POINTS, SEED, SHAPE, SHARE, TEXT, Kind, Word, ref

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labgrade.core.task import Schema

KNOWN = "known"  # in place of misconceptions: the slips of the expected quantity

_SUBJECT = (
    Word("model", OTHERS, "A model of the zoo: `torchvision/resnet18`; as a file, `torchvision/resnet18.onnx`."),
    Word("config", OTHERS, "In place of a model: plain data, such as layers and heads. A case changes what it names."),
    Word("file", kinds.FILE_BESIDE, "An ONNX file beside the spec."),
    Word(
        "handed_in",
        kinds.HANDED_IN,
        "A pattern for the student's own ONNX file; everything is computed of that file.",
    ),
    Word("options", OTHERS, "Passed to the function that builds the model; `frozen` and `tiled` are labgrade's own."),
    Word("seed", SEED, "Draws the weights; 0 unless given."),
    Word("input", OTHERS, "The input's shape, batch first: `[1, 3, 224, 224]`, or `{shape, fill, seed}`."),
    Word("inputs", OTHERS, "In place of `input`, where the model takes several: a list, each as `input`."),
    Word("arguments", OTHERS, "Further values by name, for calls and quantities: `{sparsity: 0.5, data: ./x.npz}`."),
)
_CHECK = (
    Word("id", ID, "The check's name, once in a task.", required=True, for_people=True),
    Word("points", POINTS, "What it is worth.", required=True, for_people=True),
    Word("answer", ID, "The answer that it judges.", required=True),
    Word(
        "checker",
        ref("checker"),
        "The function that judges: a name, or a name with its parameters, `{close: {rtol: 1e-5}}`; `labgrade list "
        "checkers`.",
    ),
    Word(
        "measured",
        ref("quantity"),
        "For an answer that is a file: `{quantity: NAME, with: {...}}` is computed of the student's file, in a process "
        "of its own. The checker judges its value.",
    ),
    Word(
        "expected",
        ref("source"),
        "What is right: a value; `{literal: ...}`; `{quantity: NAME, with: {...}, published: N}`, of `labgrade list "
        "quantities`; or what the student's own other answer says, `{answer: total}`.",
    ),
    Word(
        "also_right",
        OTHERS,
        "Other conventions that are right, too: a list of `{value, says}`, or of `{with: {bias: true}, says}`, which "
        "is the expected quantity with these conventions changed. `of: [opset-11]` says that a value is right of "
        "another file; answers of one task that are right of different files wait for a person.",
    ),
    Word(
        "misconceptions",
        OTHERS,
        "Known wrong values. `known`: all slips of the expected quantity, each with its own hint and credit "
        "(`labgrade list slips macs`). Or a list of `known`, of names of slips, of `{value, says, credit}` and of "
        "`{with, says, credit}`; `{value: SLIP, credit: 0.5}` changes what a slip says of itself.",
    ),
    Word(
        "partly",
        OTHERS,
        "Credit for a range of numbers: `{when: {above, below, at_least, at_most}, credit, says}`.",
    ),
    Word(
        "by_hand",
        OTHERS,
        "In place of `checker`: a rubric, `[{points: 4, for: compares all four numbers}]`, which students see; "
        "waits for a person.",
        for_people=True,
    ),
    Word(
        "beside",
        OTHERS,
        "With `by_hand`: what staff see next to the text. `{check: 2-1-4-macs.total}` shows the student's value and "
        "the right one of another task's check; `{says: MACs, answer: macs, expected: ..., model: ...}` does so for an "
        "answer, on a subject of its own if it names one.",
        for_staff=True,
    ),
    Word(
        "hidden",
        FLAG,
        "Students don't see its subject, verdict or output. They see what a task's hidden checks are worth, and after "
        "release what they earned there, unless `lab.yaml` says `hidden_points: secret`.",
        for_people=True,
        for_staff=True,
    ),
    Word("bonus", FLAG, "Points on top of the task's total; a missing answer costs nothing.", for_people=True),
    Word(
        "reveal",
        FLAG,
        "The student's report shows the expected value beside a wrong one, of a table cell by cell. Not for hidden "
        "checks.",
        for_people=True,
    ),
    PICTURE,
    Word(
        "needs",
        IDS,
        "SKIPPED, with no points, while these checks have less than full credit; a visible check can't need a "
        "hidden one.",
        for_people=True,
    ),
    Word(
        "cases",
        OTHERS,
        "Other subjects for the same check, one sub-check a row. A row inherits what it leaves out; points are shared. "
        "Needs a form that can be computed again: `call`, or a `run` that is given the subject.",
        for_people=True,
    ),
    Word(
        "again",
        OTHERS,
        "Further checks of the same answer, on other subjects. They inherit `answer`, `checker`, `measured`, "
        "`expected`, `also_right` and `misconceptions`, but no value that is written down. A hidden one needs this "
        "check unless it says `needs: []`.",
        for_people=True,
    ),
    Word(
        "counterexample",
        OTHERS,
        "`{among: cnn, tries: 100}`: random subjects in place of `cases`. The student sees the smallest network on "
        "which the answer is wrong.",
    ),
)
_ALONE = ("by_hand", "beside", "again", "picture")  # what is not asked again
SUBJECT_WORDS = tuple(word.name for word in _SUBJECT)

# By what holds them: the dataclass that they become, or a name where that has them, too.
WORDS: Mapping[type | str, tuple[Word, ...]] = {
    **FORM_WORDS,
    "lab": lab.WORDS,
    Task: (
        Word("id", ID, "The file's name without `.yaml`.", required=True),
        Word("title", TEXT, "What the task is called, in a line.", required=True),
        Word("points", POINTS, "The sum of the points of its checks, bonus checks aside.", required=True),
        Word("statement", TEXT, "What the student reads.", required=True),
        Word(
            "subject",
            ref("subject"),
            "What is analysed: a model of the zoo, an ONNX file, a model that students hand in, or a config. A task "
            "whose answers need no model has none.",
        ),
        Word(
            "answers",
            OTHERS,
            "What is asked for, by name: each with its `type`, and how it is handed in.",
            required=True,
        ),
        Word(
            "files",
            kinds.FILES_BESIDE,
            "Files beside the spec that students work on: `[small.tflite]`; a kit has them.",
        ),
        Word("hand_in", OTHERS, "How this task is handed in, where it differs from its lab's `hand_in`, key by key."),
        Word("checks", OTHERS, "What is graded, one point or a few at a time.", required=True),
        Word(
            "self_check",
            kinds.one_of("self_check", ("values",)),
            "`values`: a kit carries the right value of a course's own quantity also where students may hand in a "
            "value. Otherwise a kit leaves such a check out.",
            for_people=True,
        ),
        Word(
            "limits",
            OTHERS,
            "What the student's code may use, `{seconds: 60, memory: 4 GB, output: 1 MB}`; `lab.yaml` gives a "
            "lab's defaults.",
        ),
        Word(
            "environment",
            OTHERS,
            "What is set up before a student's code begins: `{variables: {TRITON_INTERPRET: '1'}, preload: "
            "[executorch.runtime]}`; `lab.yaml` gives a lab's.",
        ),
        Word(
            kinds.HIDDEN_POINTS,
            POINTS,
            "What the hidden checks are worth that a kit leaves out. `labgrade kit` writes it, unless `lab.yaml` says "
            "`hidden_points: secret`.",
            for_people=True,
        ),
        Word(
            "packages",
            kinds.PACKAGES,
            "Packages of PyPI that the task needs: `[executorch]`; `lab.yaml` gives a lab's. If one is missing, the "
            "task waits for a person, who reads how to install it. It costs no points.",
            for_people=True,
        ),
    ),
    Environment: (
        Word("preload", kinds.MODULES, "Modules that are imported once, ahead of all functions and programs."),
        Word("variables", kinds.VARIABLES, "Environment variables, set before anything is imported."),
    ),
    Limits: (
        Word("seconds", kinds.SECONDS, "CPU seconds of the student's code; 60 unless the lab says otherwise."),
        Word("memory", kinds.MEMORY, "The most memory that the student's code may take: `4 GB`."),
        Word("output", kinds.OUTPUT, "The most that the student's code may print: `1 MB`."),
    ),
    SubjectSpec: _SUBJECT,
    "each": (
        Word(
            "each",
            OTHERS,
            "A variant for each student: one of these values, drawn from the course's key.",
            required=True,
        ),
    ),
    "options": (
        Word(
            "frozen",
            Kind({"type": "array", "items": {"type": "string"}}),
            "Names of modules whose parameters are not trained (requires_grad=False).",
        ),
        Word(
            "tiled",
            Kind({"title": "the size of a tile", "type": "integer", "minimum": 1}),
            "The size of the tiles into which each linear layer is cut.",
        ),
    ),
    InputSpec: (
        Word("shape", SHAPE, "Whole numbers, batch first.", required=True),
        Word("fill", kinds.FILL, "The values; normal unless given. `tokens` are whole numbers."),
        Word("seed", SEED, "Draws the values; 0 unless given."),
        Word("below", kinds.WHOLE, "Of `tokens`: how many there are; each is less than this."),
        Word("dtype", kinds.DTYPE, "The number type; float32 unless given, int64 for tokens."),
    ),
    AnswerSpec: (
        Word(
            "type",
            ref("type"),
            "What kind of value it is: count, bytes, number, text, shape, table, ...",
            required=True,
        ),
        Word("from", OTHERS, "The forms of handing it in, best first; else `hand_in` says them."),
        Word(
            "call",
            kinds.CALL,
            "A function of the student's and its arguments: `total_macs(model, input_size)` in the file that `hand_in` "
            "names as `code`, or `hw.py:total_macs(model, input_size)`.",
        ),
        Word("entry", kinds.ENTRY, "Its name in answers.yaml and in what a program prints; the answer's unless given."),
        Word(
            "words",
            OTHERS,
            "The words before it in a text: `[Total MACs, MACs]`. Where they differ by place: `{report: [MACs, Total "
            "MACs], all: MACs}`, of `output`, `report`, `program`, and `all` others.",
        ),
        Word("file", TEXT, "A file that is the answer, as it is handed in or as a program writes it: `layers.csv`."),
        Word("whole", kinds.PLACES, "The places that hold a table by itself, without words before it: `[report]`."),
        Word(
            "constant_is_fine",
            TEXT,
            "Why a constant may be right, too: no check calls it on another subject than the task's own.",
            for_people=True,
        ),
    ),
    "type": (
        Word("table", OTHERS, "Rows with typed columns."),
        Word("table_of", kinds.one_of("type", ("tensor",)), "One array for each name."),
    ),
    TableType: (
        Word("row", TEXT, "What a row is called: layer, node, operator.", required=True),
        Word("columns", kinds.COLUMNS, "The columns that each row has, with the type of each.", required=True),
        Word("sparse", FLAG, "A row may leave out columns that it has nothing for."),
    ),
    Check: _CHECK,
    "again": tuple(replace(word, required=word.name in ("id", "points")) for word in _CHECK if word.name not in _ALONE),
    Alternative: (
        Word("value", ref("source"), "A value, `{literal: ...}`, a quantity, or the name of a slip.", field="source"),
        Word("with", kinds.CONVENTIONS, "The expected quantity, or the named slip, with these conventions changed."),
        Word("says", TEXT, "What the student reads; a slip has a sentence of its own.", for_people=True),
        Word("credit", SHARE, "The share of the points that it earns, from 0 to 1."),
        Word("of", IDS, "In `also_right`: names of the other files that it is right of; all answers must be of one."),
    ),
    RangeCredit: (
        Word("when", OTHERS, "The range; all bounds that are given hold.", required=True),
        Word("credit", SHARE, "The share of the points that it earns, from 0 to 1.", required=True),
        Word("says", TEXT, "What the student reads.", required=True, for_people=True),
    ),
    "when": (
        Word("above", BOUND, "More than this."),
        Word("below", BOUND, "Less than this."),
        Word("at_least", BOUND, "This or more."),
        Word("at_most", BOUND, "This or less."),
    ),
    Picture: PICTURE_WORDS,
    Criterion: (
        Word("points", POINTS, "What it is worth.", required=True),
        Word("for", TEXT, "What the points of this line are for.", required=True, field="what"),
    ),
    Comparison: (
        Word("check", kinds.OTHER_CHECK, "A check of another task of the lab: its answer, and what is right there."),
        Word("says", TEXT, "What the row is called, for staff."),
        Word("answer", ID, "The answer that is shown."),
        Word("expected", ref("source"), "What is right: a value, `{literal: ...}`, or a quantity."),
        *_SUBJECT,
    ),
    Counterexample: COUNTEREXAMPLE_WORDS,
    AnswerValue: (
        Word("answer", ID, "Another answer of the task: what the student handed in there.", required=True),
        Word("take", kinds.TAKE, "What is taken of its rows, such as `argmax` or `sum`; else the answer itself."),
        Word("of", TEXT, "The column that is summed up, or that is largest or smallest."),
        Word("by", TEXT, "With argmax and argmin: the column whose value is expected; `of` is a mean over its rows."),
    ),
    LiteralValue: (Word("literal", Kind({}), "A value as it stands, also a mapping."),),
    QuantityCall: (
        Word("quantity", OTHERS, "A function of reference/ by name: `labgrade list quantities`.", required=True),
        Word("with", kinds.CONVENTIONS, "The conventions: keyword-only parameters of the quantity."),
        Word("times", kinds.WHOLE, "A factor: `times: 2` is twice the value."),
        Word(
            "published",
            Kind({}),
            "A published figure; `labgrade validate --compute` fails if it differs.",
            for_people=True,
        ),
    ),
}


def properties(holder: type | str, /, **made: Schema) -> Schema:
    """Return the schema of each word of a holder; `made` has those that are made of other words."""
    return {
        word.name: {**(made[word.name] if word.kind is OTHERS else word.kind.schema or {}), "description": word.says}
        for word in WORDS[holder]
    }


def required(holder: type | str) -> list[Any]:
    """Return the required words of a holder."""
    return [word.name for word in WORDS[holder] if word.required]


def fields(holder: type | str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of plain words: those whose kind says how they are read."""
    return {
        word.field or word.name: word.kind.read(data[word.name])
        for word in WORDS[holder]
        if word.kind.read is not None and word.name in data
    }


def for_people(holder: type) -> set[str]:
    """Return the fields on which no verdict depends."""
    return {word.field or word.name for word in WORDS.get(holder, ()) if word.for_people}


def for_students(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a check's data without the words that are for staff."""
    staff = {word.name for word in WORDS[Check] if word.for_staff}
    if "measured" in data.get("picture", {}):  # by a quantity that a kit may not have, of data that it must not
        staff.add("picture")
    return {name: value for name, value in data.items() if name not in staff}
