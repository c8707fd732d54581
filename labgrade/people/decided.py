"""The report with what people decided in it: pure, so that verdicts and decisions can each be made anew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade import policy
from labgrade.people.decisions import Place, points, say
from labgrade.results import Decision
from labgrade.verdict import PENDING, Outcome, Verdict, without_value

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from labgrade.people.decisions import Decisions, Ruling
    from labgrade.results import Graded, Report, SubmissionReport, TaskReport

EARLIER = "earlier"  # the fact under which staff find a decision that holds no longer
NEXT = "next"  # the fact that says what a check waits for that no person marks
RUN = "labgrade grade"  # what it waits for where the next run judges it; a person's look at what it needs otherwise


def decided(report: Report, decisions: Decisions) -> Report:
    """The report in which each decision in force is the check's verdict, with the machine's beside it.

    A decision about something that changed since holds no longer: the check waits for a person again, and staff see
    what had been decided. What needs a check that a person marked is settled by the mark. A decision can open what
    needs a check; only the mark of one that waited can close it.
    """
    return replace(report, submissions=tuple(_submission(each, decisions) for each in report.submissions))


def credits_of(decisions: Decisions, submission: str, lab: str, task: str) -> Callable[[Graded], Fraction | None]:
    """What `TaskGrading` asks while it grades: the credit that a person gave a check, and that still holds."""

    def credit(graded: Graded) -> Fraction | None:
        ruling = decisions.in_force(Place(submission=submission, lab=lab, task=task, check=graded.id))
        return ruling.credit if ruling is not None and not changed(ruling, graded) else None

    return credit


def changed(ruling: Ruling, graded: Graded) -> str:
    """Why a decision holds no longer; "" while it does."""
    if ruling.worth != graded.points:
        return f"the check was worth {points(ruling.worth)} then, and is worth {points(graded.points)} now"
    lines = [(line.worth, line.what) for line in ruling.lines]
    rubric = list(graded.to_mark.rubric) if graded.to_mark is not None else []
    if lines and rubric and lines != rubric:
        return "the rubric changed since"
    if ruling.basis != graded.basis:
        return "the text changed since" if graded.basis.startswith("text:") else "what was handed in changed since"
    return ""


def _submission(submission: SubmissionReport, decisions: Decisions) -> SubmissionReport:
    tasks = (_Task(submission.name, task, decisions).settled() for task in submission.tasks)
    return replace(submission, tasks=tuple(tasks))


class _Task:
    """One task of one submission. Each check is settled once, after those that it needs."""

    def __init__(self, submission: str, task: TaskReport, decisions: Decisions) -> None:
        self._task = task
        self._machine = {check.id: check for check in task.checks}
        self._done: dict[str, Graded] = {}
        places = {name: Place(submission=submission, lab=task.lab, task=task.id, check=name) for name in self._machine}
        found = {name: decisions.in_force(place) for name, place in places.items()}
        self._rulings = {name: ruling for name, ruling in found.items() if ruling is not None}

    def settled(self) -> TaskReport:
        return replace(self._task, checks=tuple(self._check(name) for name in self._machine))

    def _check(self, name: str) -> Graded:
        if name not in self._done:
            machine, ruling = self._machine[name], self._rulings.get(name)
            if ruling is None:
                self._done[name] = self._by_needs(machine)
            elif why := changed(ruling, machine):
                self._done[name] = _asked_again(machine, ruling, why)
            else:
                self._done[name] = _with(machine, ruling)
        return self._done[name]

    def _by_needs(self, graded: Graded) -> Graded:
        """What becomes of a check that no decision is about, now that what it needs may be settled."""
        waited, skipped = graded.once_met is not None, graded.verdict.outcome is Outcome.SKIPPED and graded.needs
        if not (waited or skipped) or not all(map(self._needed, graded.needs)):
            return graded
        if waited and not any(map(self._is_decided, graded.needs)):
            return graded
        open_ones = [need for need in graded.needs if not self._met(need)]
        failed = [need for need in open_ones if not self._waits(need)]
        if failed:
            named = ", ".join(map(repr, failed))
            verdict = without_value(Outcome.SKIPPED, f"needs full credit for {named} first")
            return graded if skipped else replace(_now(graded, verdict), once_met=None)
        if open_ones and waited:
            return graded
        if graded.once_met is not None:
            return replace(_now(graded, graded.once_met), once_met=None)
        named = ", ".join(map(repr, open_ones or graded.needs))
        reason = f"was skipped, and what was decided about {named} changed since: it is graded by the next run"
        reason = f"waits for {named}, which a person has to look at first" if open_ones else reason
        # A run goes by labgrade's own verdict of what is needed: while that is short of full credit, it skips again.
        remedy = RUN if all(map(self._waits_unmarked, open_ones)) else "labgrade mark"
        return _now(graded, without_value(Outcome.MANUAL, reason, **{NEXT: remedy}))

    def _needed(self, need: str) -> list[str]:
        return [name for name in self._machine if name.partition("[")[0] == need]

    def _is_decided(self, need: str) -> bool:
        """Whether a person's word may have changed what a need comes to, directly or through what it needs itself."""
        return any(self._check(name) != self._machine[name] for name in self._needed(need))

    def _met(self, need: str) -> bool:
        return all(map(self._is_met, self._needed(need)))

    def _is_met(self, name: str) -> bool:
        """Full credit, the machine's or a person's; a fault of ours keeps nobody from what needs it."""
        either = (self._machine[name].verdict, self._check(name).verdict)
        return any(verdict.credit == 1 or verdict.outcome is Outcome.FAULT for verdict in either)

    def _waits(self, need: str) -> bool:
        open_ones = [name for name in self._needed(need) if not self._is_met(name)]
        return all(self._check(name).verdict.outcome in PENDING for name in open_ones)

    def _waits_unmarked(self, need: str) -> bool:
        open_ones = [name for name in self._needed(need) if not self._is_met(name)]
        return all(self._machine[name].verdict.outcome in PENDING for name in open_ones)


def _with(machine: Graded, ruling: Ruling) -> Graded:
    return replace(
        machine,
        earned=policy.earned(machine.points, ruling.credit),
        verdict=_verdict(machine.verdict, ruling),
        decision=Decision(by=ruling.by, at=ruling.at, reason=ruling.reason, machine=machine.verdict),
        once_met=None,
    )


def _verdict(machine: Verdict, ruling: Ruling) -> Verdict:
    outcome = Outcome.CORRECT if ruling.credit == 1 else Outcome.PARTIAL if ruling.credit else Outcome.INCORRECT
    hint = machine.hint if ruling.credit < 1 and machine.outcome not in PENDING else ""
    return Verdict(outcome=outcome, credit=ruling.credit, reason=words(ruling), hint=hint, agrees=ruling.credit == 1)


def words(ruling: Ruling) -> str:
    """What the student is told of a decision."""
    lines = [f"{points(line.points)} of {points(line.worth)} for {line.what}" for line in ruling.lines]
    given = "; ".join(lines) or f"{points(ruling.worth * ruling.credit)} of {points(ruling.worth)}"
    return f"a person gave {given}" + (f": {ruling.reason}" if ruling.reason else "")


def _asked_again(machine: Graded, ruling: Ruling, why: str) -> Graded:
    if machine.verdict.outcome is Outcome.FAULT:
        facts = {**machine.verdict.facts, EARLIER: say(ruling)}
        return replace(machine, verdict=replace(machine.verdict, facts=facts))
    reason = f"waits for a person, who had decided about it before: {why}"
    said = f"{machine.verdict.outcome}: {machine.verdict.reason}"
    return _now(machine, without_value(Outcome.MANUAL, reason, **{EARLIER: say(ruling), "machine": said}))


def _now(graded: Graded, verdict: Verdict) -> Graded:
    return replace(graded, verdict=verdict, earned=policy.earned(graded.points, verdict.credit))
