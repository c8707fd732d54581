"""A graded check as plain data and back: how results travel from xdist's workers to the process that reports."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from labgrade.results import Graded, Report, SubmissionReport, TaskReport
from labgrade.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from labgrade.model import Task


def to_plain(task: Task, who: str, graded: Graded) -> dict[str, Any]:
    """One graded check with its place in the report. Fractions travel as text, so that nothing is rounded."""
    verdict = graded.verdict
    return {
        "task": [str(task.path), task.lab, task.id, task.title, str(task.points)],
        "who": who,
        "id": graded.id,
        "points": str(graded.points),
        "earned": str(graded.earned),
        "answer_from": graded.answer_from,
        "hidden": graded.hidden,
        "bonus": graded.bonus,
        "verdict": {
            "outcome": str(verdict.outcome),
            "credit": str(verdict.credit),
            "reason": verdict.reason,
            "hint": verdict.hint,
            "facts": dict(verdict.facts),
            "agrees": verdict.agrees,
            "notes": list(verdict.notes),
        },
    }


def assemble(
    results: Iterable[Mapping[str, Any]],
    names: Sequence[str],
    remarks: Mapping[str, tuple[str, ...]],
    notes: tuple[str, ...] = (),
) -> Report:
    """The report of a run from its results: submissions in the order of `names`, tasks by path, checks as they came."""
    found: dict[str, dict[tuple[str, ...], list[Graded]]] = {name: {} for name in names}
    for result in results:
        found[result["who"]].setdefault(tuple(result["task"]), []).append(_graded(result))
    return Report(
        submissions=tuple(
            SubmissionReport(
                name=name,
                tasks=tuple(
                    TaskReport(lab=key[1], id=key[2], title=key[3], points=Fraction(key[4]), checks=tuple(checks))
                    for key, checks in sorted(tasks.items())
                ),
                remarks=remarks.get(name, ()),
            )
            for name, tasks in found.items()
        ),
        notes=notes,
    )


def _graded(result: Mapping[str, Any]) -> Graded:
    verdict = result["verdict"]
    return Graded(
        id=result["id"],
        points=Fraction(result["points"]),
        earned=Fraction(result["earned"]),
        answer_from=result["answer_from"],
        hidden=result["hidden"],
        bonus=result["bonus"],
        verdict=Verdict(
            outcome=Outcome(verdict["outcome"]),
            credit=Fraction(verdict["credit"]),
            reason=verdict["reason"],
            hint=verdict["hint"],
            facts=verdict["facts"],
            agrees=verdict["agrees"],
            notes=tuple(verdict["notes"]),
        ),
    )
