"""Reads a report back that was written as JSON: every other format can be made of it."""

from __future__ import annotations

import json
from fractions import Fraction
from importlib.resources import files
from typing import Any

from labgrade.errors import UsageError
from labgrade.report.json import SCHEMA
from labgrade.results import Decision, Deduction, Graded, Report, SubmissionReport, TaskReport
from labgrade.verdict import ComparedRow, Outcome, TileGrid, Verdict


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
    told = document.get("schema") if isinstance(document, dict) else None
    if told != SCHEMA:
        what = f"a report of the version '{told}'" if isinstance(told, str) else "no report of labgrade's"
        message = f"{name}: this is {what}; grade again with --labgrade-json to get one of '{SCHEMA}'"
        raise UsageError(message)
    schema = json.loads(files("labgrade.report").joinpath("report.schema.json").read_text(encoding="utf-8"))
    problem = next(jsonschema.Draft202012Validator(schema).iter_errors(document), None)
    if problem is not None:
        message = f"{name}: {problem.json_path}: {problem.message[:200]}"
        raise UsageError(message)
    submissions = tuple(map(_submission, document["submissions"]))
    return Report(submissions=submissions, notes=tuple(document["notes"]))


def _submission(plain: dict[str, Any]) -> SubmissionReport:
    return SubmissionReport(
        name=plain["name"],
        tasks=tuple(map(_task, plain["tasks"])),
        remarks=tuple(plain["left_out"]),
        members=tuple(plain["members"]),
        handed_in=plain["handed_in"],
        deductions=tuple(map(_deduction, plain["deductions"])),
    )


def _deduction(plain: dict[str, Any]) -> Deduction:
    share = plain.get("share")
    return Deduction(
        lab=plain["lab"],
        points=_exact(plain["points"]),
        why=plain["why"],
        share=Fraction(share) if share is not None else None,
        of_earned=plain.get("of_earned", False),
    )


def _task(plain: dict[str, Any]) -> TaskReport:
    return TaskReport(
        lab=plain["lab"],
        id=plain["id"],
        title=plain["title"],
        points=_exact(plain["points"]),
        checks=tuple(map(_check, plain["checks"])),
    )


def _check(plain: dict[str, Any]) -> Graded:
    verdict = Verdict(**_said(plain), notes=tuple(plain["notes"]))
    decided = plain["decision"]
    return Graded(
        id=plain["id"],
        points=_exact(plain["points"]),
        earned=_exact(plain["earned"]),
        verdict=verdict,
        answer_from=plain["answer_from"],
        hidden=plain["hidden"],
        bonus=plain["bonus"],
        seconds=plain["seconds"],
        printed=plain["printed"],
        rows=tuple(ComparedRow(**row) for row in plain["rows"]),
        revealed=plain["revealed"],
        grids=tuple(map(_grid, plain["grids"])),
        decision=decided
        and Decision(
            by=decided["by"],
            at=decided["at"],
            reason=decided["reason"],
            machine=Verdict(**_said(decided["machine"])),
        ),
    )


def _said(plain: dict[str, Any]) -> dict[str, Any]:
    return {
        "outcome": Outcome(plain["outcome"]),
        "credit": _exact(plain["credit"]),
        "reason": plain["reason"],
        "hint": plain["hint"],
        "facts": plain["facts"],
    }


def _grid(plain: dict[str, Any]) -> TileGrid:
    fixed: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in plain.items()}
    return TileGrid(**fixed)


def _exact(number: float) -> Fraction:
    """The number as it was written: 0.6 is 3/5."""
    return Fraction(repr(number))
