"""The report for other programs: JSON as `docs/report-json.md` describes it and `report.schema.json` fixes it."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from labgrade.core import points
from labgrade.core.errors import UsageError
from labgrade.core.points import totals
from labgrade.core.results import Report, SubmissionReport
from labgrade.core.serialise import from_plain
from labgrade.core.serialise import plain as as_plain
from labgrade.core.text import for_json
from labgrade.reports import summary

if TYPE_CHECKING:
    from fractions import Fraction

    from labgrade.core.results import Deduction, Graded, NotShown, TaskReport
    from labgrade.core.task import Plain
    from labgrade.verdict import TileGrid, Verdict

SCHEMA = "labgrade/report/2"
_EXACT = 2**53
_TEXTS = ("lines", "picture", "suggestions", "looked_for", "waits_for", "fits", "remarks")


def render(report: Report) -> str:
    """The report as one JSON document, indented, without a final newline.

    Whatever the report holds is written: take out what a student may not see before (`student_view.for_student`).
    """
    document: dict[str, Plain] = {
        "schema": SCHEMA,
        "notes": list(report.notes),
        "submissions": [_submission(submission) for submission in report.submissions],
    }
    return for_json(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False))


def _submission(submission: SubmissionReport) -> dict[str, Plain]:
    total = points.final_totals(submission)
    return {
        "name": submission.name,
        "members": list(submission.members),
        **({"names": list(submission.called)} if any(submission.called) else {}),
        "handed_in": submission.handed_in,
        "points": _number(total.points),
        "earned": _number(total.earned),
        "at_most": _number(total.at_most),
        "final": _number(total.final),
        "deductions": [_deduction(each) for each in submission.deductions],
        "left_out": list(summary.left_out(submission)),
        **({"not_shown": [_not_shown(each) for each in submission.not_shown]} if submission.not_shown else {}),
        "tasks": [_task(task) for task in submission.tasks],
    }


def _not_shown(each: NotShown) -> dict[str, Plain]:
    known = {name: _number(value) for name in ("earned", "at_most") if (value := getattr(each, name)) is not None}
    return {"lab": each.lab, "points": _number(each.points), **known}


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
        **({} if task.not_shown is None else {"not_shown": _number(task.not_shown)}),
        "checks": [_check(check) for check in task.checks],
    }


def _check(check: Graded) -> dict[str, Plain]:
    verdict = check.verdict
    said = _sentences(verdict, bonus=check.bonus)
    return {
        "id": check.id,
        "outcome": verdict.outcome.value,
        "credit": _number(verdict.credit),
        "points": _number(check.points),
        "earned": _number(check.earned),
        "reason": said["reason"],
        "hint": said["hint"],
        "notes": list(verdict.notes),
        "answer_from": check.answer_from,
        "hidden": check.hidden,
        "bonus": check.bonus,
        "facts": said["facts"],
        "seconds": _short(check.seconds),
        "printed": check.printed,
        "revealed": check.revealed,
        "rows": [{**asdict(row), "got": _short(row.got), "expected": _short(row.expected)} for row in check.rows],
        "grids": [_grid(grid) for grid in check.grids],
        **({} if check.plot is None else {"plot": as_plain(check.plot)}),
        "decision": _decision(check),
        **_parts(said, verdict),
    }


def _sentences(verdict: Verdict, *, bonus: bool = False) -> dict[str, Plain]:
    reason = summary.full_reason(verdict, bonus=bonus)
    return {"reason": reason, "hint": summary.hint(verdict), "facts": dict(summary.facts(verdict, slips=True))}


def _parts(said: dict[str, Plain], verdict: Verdict) -> dict[str, Plain]:
    """What the sentences of a check are made of, where they are more than its reason, its hint and its facts."""
    parts: dict[str, Plain] = {name: list(texts) for name in _TEXTS if (texts := getattr(verdict, name))}
    if verdict.rubric:
        parts["rubric"] = [{"points": _number(worth), "for": what} for worth, what in verdict.rubric]
    if verdict.comparisons:
        parts["comparisons"] = [asdict(each) for each in verdict.comparisons]
    if (suggested := verdict.suggestion) is not None:
        parts["suggestion"] = {
            **asdict(suggested),
            "outcome": suggested.outcome.value,
            "credit": _number(suggested.credit),
        }
    if verdict.diagnosis:
        parts["diagnosis"] = {name: value for name, value in asdict(verdict.diagnosis).items() if value}
    alone: dict[str, Plain] = {"reason": verdict.reason, "hint": verdict.hint, "facts": dict(verdict.facts)}
    return {"parts": {**alone, **parts}} if parts or any(said[name] != alone[name] for name in alone) else {}


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
            **_sentences(machine),
        },
    }


def _short(value: float | None) -> int | float | None:
    """A measured number; without a point where it has no fraction and a float holds every digit of it."""
    return int(value) if value is not None and abs(value) < _EXACT and value == int(value) else value


def _number(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)


def read(text: str, name: str) -> Report:
    """The report in a text, which is called `name` in what is said about it.

    Raises:
        UsageError: it is no report, or one of another version.
    """
    import jsonschema

    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"{name}:{error.lineno}:{error.colno}: this is no JSON: {error.msg.lower()}"
        raise UsageError(message) from error
    version = document.get("schema") if isinstance(document, dict) else None
    if version != SCHEMA:
        what = f"a report of the version '{version}'" if isinstance(version, str) else "no report of labgrade's"
        message = f"{name}: this is {what}; grade again with --labgrade-json to get one of '{SCHEMA}'"
        raise UsageError(message)
    schema = json.loads(files("labgrade.reports").joinpath("report.schema.json").read_text(encoding="utf-8"))
    problem = next(jsonschema.Draft202012Validator(schema).iter_errors(document), None)
    if problem is not None:
        message = f"{name}: {problem.json_path}: {problem.message[:200]}"
        raise UsageError(message)
    submissions = tuple(map(_read_submission, document["submissions"]))
    return Report(submissions=submissions, notes=tuple(document["notes"]))


def _read_submission(plain: dict[str, Any]) -> SubmissionReport:
    tasks = [{**task, "checks": [_read_check(check) for check in task["checks"]]} for task in plain["tasks"]]
    return from_plain({**plain, "tasks": tasks, "remarks": plain["left_out"]}, SubmissionReport)


def _read_check(plain: dict[str, Any]) -> dict[str, Any]:
    """In a report, what a verdict says stands among the words of its check; its `parts` where it has several."""
    parts = dict(plain.get("parts", {}))
    if "rubric" in parts:
        parts["rubric"] = [(line["points"], line["for"]) for line in parts["rubric"]]
    said = {key: plain[key] for key in ("outcome", "credit", "reason", "hint", "facts", "notes")}
    return {**plain, "verdict": {**said, **parts}}
