"""A graded check as plain data and back: how results travel between processes and are kept."""

from __future__ import annotations

from dataclasses import asdict, astuple, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from labgrade.results import Decision, Graded, Report, SubmissionReport, TaskReport, ToMark
from labgrade.verdict import ComparedRow, Outcome, TileGrid, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from labgrade.model import Task

_ROW = tuple(field.name for field in fields(ComparedRow))


def to_plain(task: Task, who: str, graded: Graded) -> dict[str, Any]:
    """One graded check with its place in the report. Fractions travel as text, so that nothing is rounded."""
    return {
        "task": [str(task.path), task.lab, task.id, task.title, str(task.points)],
        "who": who,
        **plain(graded),
    }


def plain(graded: Graded) -> dict[str, Any]:
    """One graded check, without its place: what JSON can hold."""
    decision = graded.decision
    return {
        "id": graded.id,
        "points": str(graded.points),
        "earned": str(graded.earned),
        "answer_from": graded.answer_from,
        "hidden": graded.hidden,
        "bonus": graded.bonus,
        "seconds": graded.seconds,
        "printed": graded.printed,
        "rows": [astuple(row) for row in graded.rows],
        "grids": [asdict(grid) for grid in graded.grids],
        "revealed": graded.revealed,
        "decision": decision and [decision.by, decision.at, decision.reason, _plain_verdict(decision.machine)],
        "verdict": _plain_verdict(graded.verdict),
        "basis": graded.basis,
        "needs": list(graded.needs),
        "once_met": graded.once_met and _plain_verdict(graded.once_met),
        "to_mark": graded.to_mark
        and [[[str(points), what] for points, what in graded.to_mark.rubric], graded.to_mark.text],
    }


def _plain_verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "outcome": str(verdict.outcome),
        "credit": str(verdict.credit),
        "reason": verdict.reason,
        "hint": verdict.hint,
        "facts": dict(verdict.facts),
        "agrees": verdict.agrees,
        "notes": list(verdict.notes),
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
        found[result["who"]].setdefault(tuple(result["task"]), []).append(from_plain(result))
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


def from_plain(result: Mapping[str, Any]) -> Graded:
    """The graded check that `plain` was made of."""
    decided, once_met, to_mark = result["decision"], result.get("once_met"), result.get("to_mark")
    return Graded(
        id=result["id"],
        points=Fraction(result["points"]),
        earned=Fraction(result["earned"]),
        answer_from=result["answer_from"],
        hidden=result["hidden"],
        bonus=result["bonus"],
        seconds=result["seconds"],
        printed=result["printed"],
        rows=tuple(ComparedRow(**dict(zip(_ROW, row, strict=True))) for row in result["rows"]),
        grids=tuple(_grid(grid) for grid in result["grids"]),
        revealed=result["revealed"],
        decision=decided and Decision(by=decided[0], at=decided[1], reason=decided[2], machine=_verdict(decided[3])),
        verdict=_verdict(result["verdict"]),
        basis=result.get("basis", ""),
        needs=tuple(result.get("needs", ())),
        once_met=once_met and _verdict(once_met),
        to_mark=to_mark
        and ToMark(rubric=tuple((Fraction(points), what) for points, what in to_mark[0]), text=to_mark[1]),
    )


def _grid(grid: Mapping[str, Any]) -> TileGrid:
    fixed: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in grid.items()}
    return TileGrid(**fixed)


def _verdict(verdict: Mapping[str, Any]) -> Verdict:
    return Verdict(
        outcome=Outcome(verdict["outcome"]),
        credit=Fraction(verdict["credit"]),
        reason=verdict["reason"],
        hint=verdict["hint"],
        facts=verdict["facts"],
        agrees=verdict["agrees"],
        notes=tuple(verdict["notes"]),
    )
