"""The files of a new course, which uses labgrade as an installed package, and the schemas that its editor checks with.

The schemas lie in `specs/`, kept as fresh as what they are made of: of a task, with the course's own quantities,
checkers, slips and networks and what each says of itself; of lab.yaml, of roster.yaml, and of the verdicts of samples.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

from labgrade import __version__
from labgrade.spec import load, schema
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from labgrade.core.task import Schema
    from labgrade.spec.course import Course

_TASK = """\
# yaml-language-server: $schema=../task.schema.json
id: 1-1-head-bytes
title: Bytes of the last layer of ResNet-18
points: 10
statement: |
  How many bytes do the weights and the bias of the last linear layer of ResNet-18 take in 32-bit floating point?
  Hand in head_bytes(model) in lab1.py, or the entry total under 1-1 in answers.yaml.
subject:
  model: torchvision/resnet18
  input: [1, 3, 224, 224]
self_check: values                     # students may know the number: it is published all the same
hand_in: {code: lab1.py, entries: <number>}
answers:
  total: {type: bytes, call: head_bytes(model)}
checks:
  - id: total
    points: 8
    answer: total
    checker: equal
    expected: {quantity: head_bytes, published: 2052000}
    misconceptions:
      - {with: {bias: false}, says: 'The bias is missing. It is a parameter of the layer, too.', credit: 0.5}
      - known                          # the slips in reference/ that say so: labgrade list slips head_bytes
    again:
      - id: other-models
        points: 2
        hidden: true                   # students see only what it is worth
        cases: [{model: torchvision/resnet50, options: {num_classes: 7}}]
"""
_REFERENCE = '''\
"""Ground truth of this course. Every public function is a quantity under its own name; see labgrade list quantities."""

from __future__ import annotations

from typing import Any


def head_bytes(subject: Any, *, bias: bool = True) -> int:
    """The bytes of the parameters of the model's last layer.

    `bias`: with its bias.
    """
    module, _ = subject.on_meta()
    head = list(module.children())[-1]
    return sum(each.numel() * each.element_size() for name, each in head.named_parameters() if bias or name != "bias")


def head_elements(subject: Any) -> int:
    """The elements of those parameters, given as bytes.

    Slip of: head_bytes
    Hint: This is the number of parameters. Multiply each tensor's numel() by its element_size().
    Credit: 0.5
    """
    return head_bytes(subject) // 4
'''
_CHECKER = '''\
"""Checkers of this course. Every public function is one under its own name; see labgrade list checkers."""

from __future__ import annotations

from labgrade.values import Number
from labgrade.verdict import Verdict, correct, incorrect


def at_least_half(answer: Number, expected: Number) -> Verdict:
    """Half of the expected value, or more."""
    return correct() if 2 * answer.value >= expected.value else incorrect(f"got {answer}, less than half")
'''
_MODELS = '''\
"""Networks of this course. Every public function is one, `model: nets/small` in a spec; see labgrade list models."""

from __future__ import annotations

from torch import nn


def small(*, width: int = 8, classes: int = 4) -> nn.Module:
    """One convolution and one linear layer, for images of three channels."""
    return nn.Sequential(
        nn.Conv2d(3, width, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes)
    )
'''
_EXEMPLAR = """\
def head_bytes(model):
    return sum(each.numel() * each.element_size() for each in model.fc.parameters())
"""
_CONFTEST = '''\
"""Makes `pytest --submission=NAME` grade."""

pytest_plugins = ["labgrade.pytest_plugin"]
'''
_PYPROJECT = """\
[project]
name = "{name}"
version = "0.1.0"
description = "Tasks of a course, graded by labgrade"
requires-python = ">=3.11"
dependencies = ["labgrade>={version}"]

[tool.pytest.ini_options]
addopts = ["--import-mode=importlib"]
testpaths = ["specs"]
"""
_README = """\
# {name}

Tasks of a course, graded by labgrade. Install it from where you have it, a checkout or a wheel:

    python -m venv .venv && . .venv/bin/activate
    pip install PATH/TO/labgrade

| what | how |
|---|---|
| write a task | `labgrade new lab1/1-2-something`, then edit `specs/lab1/1-2-something.yaml` |
| see what there is | `labgrade list quantities`, `labgrade list checkers`, `labgrade list subjects` |
| add a quantity, a checker, a network | a public function in `reference/`, `checkers/` or `models/` |
| find mistakes in specs | `labgrade validate --compute` |
| find weak tasks | `labgrade test` tries each by `submissions/exemplar` and by mistakes put into it |
| grade | put folders or archives into `submissions/`, then `pytest --submission=all` |
| grade a class | `labgrade grade ~/Downloads/moodle.zip`, then `labgrade standing` and `labgrade export --help` |
| give it to students | `labgrade kit lab1 --out kit` leaves hidden checks out |

Keep this repository private: it holds what hidden checks expect.
"""
_WORKFLOW = """\
name: tasks
on: [push, pull_request]
permissions:
  contents: read
jobs:
  tasks:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.12", cache: pip, cache-dependency-path: pyproject.toml}
      - run: pip install torch torchvision --index-url https://download.pytorch.org/whl/cpu
      - run: pip install wheels/labgrade-*.whl   # put there: pip wheel --no-deps --wheel-dir wheels PATH/TO/labgrade
      - run: labgrade validate --compute
      - run: labgrade test
"""
_IGNORE = """\
.venv/
__pycache__/
.pytest_cache/
# students' work is nobody else's business: only samples are the course's; name each with a line of its own
results/
exported/
course.key
kit/
submissions/*
!submissions/exemplar/
!submissions/*.expected.yaml
!submissions/*.survivors.yaml
"""


def files(name: str) -> dict[str, str]:
    """Return the files of a new course by path, without the schemas."""
    return {
        "README.md": _README.format(name=name),
        "pyproject.toml": _PYPROJECT.format(name=_project_name(name), version=__version__),
        "conftest.py": _CONFTEST,
        ".gitignore": _IGNORE,
        ".github/workflows/tasks.yml": _WORKFLOW,
        ".pre-commit-config.yaml": _PRE_COMMIT,
        ".vscode/settings.json": json.dumps(SETTINGS, indent=2) + "\n",
        ".vscode/extensions.json": json.dumps({"recommendations": ["redhat.vscode-yaml"]}) + "\n",
        "specs/lab1/lab.yaml": "# yaml-language-server: $schema=../lab.schema.json\ntitle: First lab\n",
        "specs/lab1/1-1-head-bytes.yaml": _TASK,
        "reference/heads.py": _REFERENCE,
        "checkers/halves.py": _CHECKER,
        "models/nets.py": _MODELS,
        "submissions/exemplar/lab1.py": _EXEMPLAR,
    }


_PRE_COMMIT = """\
repos:
  - repo: local
    hooks:
      - id: labgrade-validate
        name: labgrade validate
        entry: labgrade validate
        language: system
        files: ^(specs|checkers|reference|models)/
        pass_filenames: false
"""


def _project_name(name: str) -> str:
    kept = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name).strip("-")
    return kept or "course"


# ---- schemas --------------------------------------------------------------------------------------------------------

TASK_SCHEMA = "task.schema.json"
LAB_SCHEMA, ROSTER_SCHEMA, EXPECTED_SCHEMA = "lab.schema.json", "roster.schema.json", "expected.schema.json"
# Tasks name their schema in their first line; for the other files it is configured here.
SETTINGS = {
    "yaml.schemas": {
        f"./specs/{LAB_SCHEMA}": "specs/*/lab.yaml",
        f"./specs/{ROSTER_SCHEMA}": "roster.yaml",
        f"./specs/{EXPECTED_SCHEMA}": "submissions/*.expected.yaml",
    }
}


def schema_texts(course: Course) -> dict[str, str]:
    """Return each schema's text by file name."""
    return {name: load.schema_as_text(made) for name, made in _schemas(course).items()}


def _schemas(course: Course) -> dict[str, Schema]:
    from labgrade.review.roster import SCHEMA as ROSTER

    others = {LAB_SCHEMA: schema.lab_schema(), ROSTER_SCHEMA: ROSTER, EXPECTED_SCHEMA: expected_schema(course)}
    return {TASK_SCHEMA: load.task_schema(course), **others}


def expected_schema(course: Course) -> Schema:
    """Return the schema of `submissions/NAME.expected.yaml`: an outcome with points for each check."""
    outcome: Schema = {
        "title": "an outcome with its points (CORRECT 4)",
        "type": "string",
        "pattern": rf"^({'|'.join(each.value for each in Outcome)}) \d+(\.\d+)?$",
    }
    checks: Schema = {"title": "checks", "type": "object", "additionalProperties": outcome}
    tasks = [path.stem for path in load.files(course.specs)]
    return {
        "$schema": schema.DRAFT,
        "title": "expected verdicts",
        "description": "What each check of each task must come to for the sample of this name.",
        "type": "object",
        "properties": {task: {**checks, "description": f"The checks of {task}."} for task in tasks},
        "additionalProperties": checks,
    }


def keep_schemas(course: Course) -> None:
    """Write anew the schemas of a course that has them, where they are not what they would be now.

    Nothing is said where they can't be written: only an editor would miss them.
    """
    if not course.is_own(course.specs) or not (course.specs / TASK_SCHEMA).is_file():
        return
    with contextlib.suppress(OSError):
        for name, made in _schemas(course).items():
            file = course.specs / name
            if not file.is_file() or not _holds_schema(file, made):
                file.write_text(load.schema_as_text(made), encoding="utf-8")


def _holds_schema(file: Path, made: Schema) -> bool:
    """Return whether a file holds this schema. Comparing data is ten times as fast as formatting it."""
    try:
        return json.dumps(json.loads(file.read_bytes())) == json.dumps(made)
    except ValueError:
        return False
