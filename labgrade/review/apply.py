"""The report with what people decided in it: pure, so that verdicts and decisions can each be made anew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.core.points import earned
from labgrade.core.results import Decision
from labgrade.judging.by_hand import is_of_text
from labgrade.judging.needs import AGAIN, quoted_names, resolve
from labgrade.reports.summary import full_reason, hint
from labgrade.review.decisions import Place, in_words, points
from labgrade.verdict import PENDING, Outcome, Verdict, without_value

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from labgrade.core.results import Graded, Report, SubmissionReport, TaskReport
    from labgrade.judging.needs import NeedsGate
    from labgrade.review.decisions import Decisions, Ruling

EARLIER = "earlier"  # the fact under which staff find a decision that holds no longer
NEXT = "next"  # the fact that says what a check waits for that no person marks
RUN = "labgrade grade"  # what it waits for where the next run judges it; a person's look at what it needs otherwise


def with_decisions(report: Report, decisions: Decisions) -> Report:
    """The report in which each decision in force is the check's verdict, with the machine's beside it.

    A decision about something that changed since holds no longer: the check waits for a person again, and staff see
    what had been decided. What needs a check that a person marked is settled by the mark. A decision can open what
    needs a check; only the mark of a waiting check can close it.
    """
    return replace(report, submissions=tuple(_submission(each, decisions) for each in report.submissions))


def credits_of(decisions: Decisions, submission: str, lab: str, task: str) -> Callable[[Graded], Fraction | None]:
    """What `TaskGrading` asks while it grades: the credit that a person gave a check, and that still holds."""

    def credit(graded: Graded) -> Fraction | None:
        ruling = decisions.in_force(Place(submission=submission, lab=lab, task=task, check=graded.id))
        return ruling.credit if ruling is not None and not why_outdated(ruling, graded) else None

    return credit


def why_outdated(ruling: Ruling, graded: Graded) -> str:
    """Return why a decision no longer holds, or "" while it does."""
    if ruling.worth != graded.points:
        return f"the check was worth {points(ruling.worth)} then, and is worth {points(graded.points)} now"
    lines = [(line.worth, line.what) for line in ruling.lines]
    rubric = list(graded.to_mark.rubric) if graded.to_mark is not None else []
    if lines and rubric and lines != rubric:
        return "the rubric changed since"
    if ruling.basis != graded.basis:
        return "the text changed since" if is_of_text(graded.basis) else "what was handed in changed since"
    return ""


def _submission(submission: SubmissionReport, decisions: Decisions) -> SubmissionReport:
    own, told = submission.name, decisions.anything_about(submission.name)
    # What a run found open stays open: without a decision nothing changes.
    tasks = [
        _DecidedTask(own, task, decisions).report() if told or not all(map(_is_open, task.checks)) else task
        for task in submission.tasks
    ]
    return replace(submission, tasks=tuple(tasks)) if tasks != list(submission.tasks) else submission


class _DecidedTask:
    """One task of one submission, with what people decided about its checks."""

    def __init__(self, submission: str, task: TaskReport, decisions: Decisions) -> None:
        self._task = task
        self._machine = {check.id: check for check in task.checks}
        places = {name: Place(submission=submission, lab=task.lab, task=task.id, check=name) for name in self._machine}
        found = {name: decisions.in_force(place) for name, place in places.items()}
        self._rulings = {name: ruling for name, ruling in found.items() if ruling is not None}
        self._stale = {
            name: why for name, ruling in self._rulings.items() if (why := why_outdated(ruling, self._machine[name]))
        }

    def report(self) -> TaskReport:
        # What a run found open stays open: what it needed is of no account any more.
        checks = {name: () if _is_open(check) else check.needs for name, check in self._machine.items()}
        verdicts = {name: own for name, check in self._machine.items() if (own := _machine_verdict(check)) is not None}
        given = {name: ruling.credit for name, ruling in self._rulings.items() if name not in self._stale}
        gates = resolve(checks, verdicts, {**given, **dict.fromkeys(self._stale, AGAIN)})
        # A run goes by labgrade's own verdict of a check whose decision holds no longer, and may skip once more.
        of_next_run = resolve(checks, verdicts, given)
        return replace(
            self._task, checks=tuple(self._check(name, gates[name], of_next_run[name]) for name in self._machine)
        )

    def _check(self, name: str, gate: NeedsGate, of_next_run: NeedsGate) -> Graded:
        machine, ruling = self._machine[name], self._rulings.get(name)
        names = {each.partition("[")[0] for each in self._machine}
        by_needs = _after_needs(machine, gate, of_next_run) if names.issuperset(machine.needs) else machine
        if ruling is None:
            return by_needs
        machine = machine if NEXT in by_needs.verdict.facts else by_needs
        return (
            _decide_again(machine, ruling, self._stale[name]) if name in self._stale else _with_ruling(machine, ruling)
        )


def _is_open(graded: Graded) -> bool:
    return graded.once_met is None and not (graded.verdict.outcome is Outcome.SKIPPED and graded.needs)


def _machine_verdict(graded: Graded) -> Verdict | None:
    """Return labgrade's own verdict, needs aside; None if the check was skipped."""
    return graded.verdict if _is_open(graded) else graded.once_met


def _after_needs(graded: Graded, gate: NeedsGate, of_next_run: NeedsGate) -> Graded:
    """Return a check with its needs applied as they stand now."""
    if _is_open(graded):
        return graded
    own, first = graded.once_met, gate.verdict()
    if gate.failed and first is not None:
        return replace(_now(graded, first), once_met=None)
    if own is not None:
        return replace(_now(graded, first or own), once_met=own if first is not None else None)
    if first is None:
        again = f"was skipped, and what was decided about {quoted_names(graded.needs)} changed since"
        first = without_value(Outcome.MANUAL, f"{again}: it is graded by the next run")
    return _now(graded, replace(first, facts={NEXT: "labgrade mark" if of_next_run.failed else RUN}))


def _with_ruling(machine: Graded, ruling: Ruling) -> Graded:
    return replace(
        machine,
        earned=earned(machine.points, ruling.credit),
        verdict=_verdict(machine.verdict, ruling),
        decision=Decision(by=ruling.by, at=ruling.at, reason=ruling.reason, machine=machine.verdict),
        once_met=None,
    )


def _verdict(machine: Verdict, ruling: Ruling) -> Verdict:
    outcome = Outcome.CORRECT if ruling.credit == 1 else Outcome.PARTIAL if ruling.credit else Outcome.INCORRECT
    helps = hint(machine) if ruling.credit < 1 and machine.outcome not in PENDING else ""
    return Verdict(
        outcome=outcome, credit=ruling.credit, reason=decision_text(ruling), hint=helps, agrees=ruling.credit == 1
    )


def decision_text(ruling: Ruling) -> str:
    """Return the text of a decision for the student."""
    lines = [f"{points(line.points)} of {points(line.worth)} for {line.what}" for line in ruling.lines]
    given = "; ".join(lines) or f"{points(ruling.worth * ruling.credit)} of {points(ruling.worth)}"
    return f"a person gave {given}" + (f": {ruling.reason}" if ruling.reason else "")


def _decide_again(machine: Graded, ruling: Ruling, why: str) -> Graded:
    if machine.verdict.outcome is Outcome.FAULT:
        facts = {**machine.verdict.facts, EARLIER: in_words(ruling)}
        return replace(machine, verdict=replace(machine.verdict, facts=facts))
    reason = f"waits for a person again: {why}"
    said = f"{machine.verdict.outcome}: {full_reason(machine.verdict)}"
    return _now(machine, without_value(Outcome.MANUAL, reason, **{EARLIER: in_words(ruling), "machine": said}))


def _now(graded: Graded, verdict: Verdict) -> Graded:
    return replace(graded, verdict=verdict, earned=earned(graded.points, verdict.credit))
