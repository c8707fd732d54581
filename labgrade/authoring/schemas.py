"""The JSON Schemas that a course's editor completes and checks with, kept as fresh as what they are made of.

They lie in `specs/`: of a task, with the course's own quantities, checkers, slips and networks and what each says of
itself; of lab.yaml, of roster.yaml, and of the verdicts that a sample must get.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

from labgrade.review.roster import SCHEMA as ROSTER
from labgrade.spec import load, schema
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from labgrade.core.task import Schema
    from labgrade.spec.course import Course

TASK = "task.schema.json"
LAB, ROSTER_NAME, EXPECTED = "lab.schema.json", "roster.schema.json", "expected.schema.json"
# Tasks name their schema in their first line; for the other files an editor is told here.
SETTINGS = {
    "yaml.schemas": {
        f"./specs/{LAB}": "specs/*/lab.yaml",
        f"./specs/{ROSTER_NAME}": "roster.yaml",
        f"./specs/{EXPECTED}": "submissions/*.expected.yaml",
    }
}


def texts(course: Course) -> dict[str, str]:
    """Each schema by the name of its file."""
    made = {LAB: schema.lab_schema(), ROSTER_NAME: ROSTER, EXPECTED: expected_schema(course)}
    plain = {name: json.dumps(each, indent=1, ensure_ascii=False) + "\n" for name, each in made.items()}
    return {TASK: load.schema_text(course), **plain}


def expected_schema(course: Course) -> Schema:
    """What `submissions/NAME.expected.yaml` may say: for each check of a task its outcome and its points."""
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


def keep(course: Course) -> None:
    """Write anew the schemas of a course that has them, where they are not what they would be now.

    Nothing is said where they can't be written: only an editor would miss them.
    """
    if not course.is_own(course.specs) or not (course.specs / TASK).is_file():
        return
    with contextlib.suppress(OSError):
        for name, text in texts(course).items():
            file = course.specs / name
            if not file.is_file() or file.read_text(encoding="utf-8") != text:
                file.write_text(text, encoding="utf-8")
