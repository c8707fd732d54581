"""The report for other programs: JSON as `docs/report-json.md` describes it and `report.schema.json` fixes it."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING

from labgrade import policy
from labgrade.policy import totals

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from labgrade.model import Plain
    from labgrade.results import Deduction, Graded, Report, SubmissionReport, TaskReport
    from labgrade.verdict import TileGrid

SCHEMA = "labgrade/report/2"
_EXACT = 2**53
# Half a surrogate pair is no character: it comes from file names that are not UTF-8, and no encoder takes it.
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# Characters that act on a terminal and that JSON would let pass; they only occur inside its strings.
ACTING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def render(report: Report) -> str:
    """The report as one JSON document, indented, without a final newline.

    Whatever the report holds is written: take out what a student may not see before (`policy.for_student`).
    """
    document: dict[str, Plain] = {
        "schema": SCHEMA,
        "notes": list(report.notes),
        "submissions": [_submission(submission) for submission in report.submissions],
    }
    text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    return ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", LONE_SURROGATE.sub("\ufffd", text))


def _submission(submission: SubmissionReport) -> dict[str, Plain]:
    total = policy.settled(submission)
    return {
        "name": submission.name,
        "members": list(submission.members),
        "handed_in": submission.handed_in,
        "points": _number(total.points),
        "earned": _number(total.earned),
        "at_most": _number(total.at_most),
        "final": _number(total.final),
        "deductions": [_deduction(each) for each in submission.deductions],
        "left_out": list(submission.remarks),
        "tasks": [_task(task) for task in submission.tasks],
    }


def _deduction(deduction: Deduction) -> dict[str, Plain]:
    share: dict[str, Plain] = {}
    if deduction.share is not None:
        share = {"share": str(deduction.share), "of_earned": deduction.of_earned}
    return {"lab": deduction.lab, "points": _number(deduction.points), "why": deduction.why, **share}


def _task(task: TaskReport) -> dict[str, Plain]:
    return {
        "lab": task.lab,
        "id": task.id,
        "title": task.title,
        "points": _number(task.points),
        "earned": _number(totals(task.checks).earned),
        "checks": [_check(check) for check in task.checks],
    }


def _check(check: Graded) -> dict[str, Plain]:
    verdict = check.verdict
    facts: Mapping[str, str] = verdict.facts
    return {
        "id": check.id,
        "outcome": verdict.outcome.value,
        "credit": _number(verdict.credit),
        "points": _number(check.points),
        "earned": _number(check.earned),
        "reason": verdict.reason,
        "hint": verdict.hint,
        "notes": list(verdict.notes),
        "answer_from": check.answer_from,
        "hidden": check.hidden,
        "bonus": check.bonus,
        "facts": dict(facts),
        "seconds": _short(check.seconds),
        "printed": check.printed,
        "revealed": check.revealed,
        "rows": [{**asdict(row), "got": _short(row.got), "expected": _short(row.expected)} for row in check.rows],
        "grids": [_grid(grid) for grid in check.grids],
        "decision": _decision(check),
    }


def _grid(grid: TileGrid) -> dict[str, Plain]:
    return {
        "layer": grid.layer,
        "block": grid.block,
        "tiles": list(grid.tiles),
        "scale": list(grid.scale),
        "lines": list(grid.lines),
        "picture": list(grid.picture),
    }


def _decision(check: Graded) -> dict[str, Plain] | None:
    decided = check.decision
    if decided is None:
        return None
    machine = decided.machine
    return {
        "by": decided.by,
        "at": decided.at,
        "reason": decided.reason,
        "machine": {
            "outcome": machine.outcome.value,
            "credit": _number(machine.credit),
            "reason": machine.reason,
            "hint": machine.hint,
            "facts": dict(machine.facts),
        },
    }


def _short(value: float | None) -> int | float | None:
    """A measured number; without a point where it has no fraction and a float holds every digit of it."""
    return int(value) if value is not None and abs(value) < _EXACT and value == int(value) else value


def _number(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)
