"""The verdict of a check with `counterexample`: right on all random networks, or the smallest one that goes wrong."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade import zoo_networks
from labgrade.counterexample import code, families, layers, wishes
from labgrade.counterexample.memory import Remembered
from labgrade.counterexample.search import Plan, available, search
from labgrade.errors import FaultError
from labgrade.forms import CallForm
from labgrade.oracle import cache_folder
from labgrade.values import Number, Table, show
from labgrade.verdict import Outcome, Verdict, correct, incorrect, partial, without_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labgrade.counterexample.search import Found
    from labgrade.model import Alternative, Check, Counterexample, SubjectSpec, Task
    from labgrade.trials import Trial, Trials

NOTHING_COUNTED = "what it counts is in none of these networks"
_VALUE = "another value"
_LOOKED_AT = 12  # subjects on which a misconception is tried: more say no more
_ENOUGH = 0.5  # of the tries: a function that sleeps would otherwise choose how little is tried of it
_CRASHES = frozenset({Outcome.CRASHED, Outcome.TIMEOUT, Outcome.MEMORY, Outcome.OUTPUT})


def plan_of(task: Task, wanted: Counterexample) -> Plan:
    """The search that a spec asks for."""
    return Plan(among=wanted.among, like=task.subject, tries=wanted.tries)


def judged(trials: Trials, plan: Plan, remembered: Iterable[Remembered] = ()) -> tuple[Verdict, str]:
    """The verdict and where the answer came from. `remembered`: what to try first, and where to keep what is found.

    Raises:
        FaultError: a failure of ours.
    """
    form = next((f for f in trials.task.answers[trials.check.answer].forms if isinstance(f, CallForm)), None)
    if form is None:  # pragma: no cover - a validated spec has one
        message = f"'{trials.check.answer}' has no form that is called"
        raise FaultError(message)
    if not available():
        reason = "not looked for: this needs Hypothesis"
        return without_value(Outcome.MANUAL, reason, hint="pip install 'labgrade[counterexample]'"), ""
    if absent := trials.absent():
        return absent, ""
    records = list(remembered)
    replayed = [each for each in (record.read() for record in records) if each]
    found = search(plan, trials, wrong, replayed, trials.ahead)
    if not found.tried:
        return without_value(Outcome.MANUAL, f"nothing could be tried in {plan.seconds:g} s"), ""
    origin = found.tried[0][1].origin
    if found.smallest is None:
        return _none_wrong(found, plan), origin
    subject, trial = found.smallest
    if trial.verdict.outcome is Outcome.MISSING:
        return trial.verdict, origin
    for record in records:
        record.write([subject, *(each for each, _, _ in _looked_at(found))])
    return _told(trials, form, found, subject, trial), origin


def memory(task: Task, check: Check, file: object) -> Remembered:
    """Where the example for a check is remembered, by the content or the place of the function's file."""
    sources = (families.__file__, wishes.__file__, zoo_networks.__file__)
    ours = hashlib.sha256(b"\0".join(Path(each).read_bytes() for each in sources)).hexdigest()
    return Remembered(cache_folder(), [ours, task.lab, task.id, check.id, check.answer, str(file)])


def wrong(trial: Trial) -> str:
    """The kind of wrong, or nothing. What waits for a person is not known to be wrong."""
    outcome = trial.verdict.outcome
    if outcome is Outcome.FAULT:
        raise FaultError(trial.verdict.facts.get("fault") or trial.verdict.reason)
    if outcome in (Outcome.CORRECT, Outcome.MANUAL) or trial.verdict.agrees or _agrees(trial):
        return ""
    return outcome if trial.value is None else _VALUE


def _agrees(trial: Trial) -> bool:
    """Whether a number printed with few digits, such as `0.000 G` for a tiny network, is right as far as it goes."""
    value, expected = trial.value, trial.expected
    if not isinstance(value, Number) or not isinstance(expected, Number) or value.digits is None:
        return False
    return abs(value.value - expected.value) <= value.half_unit


def _none_wrong(found: Found[Trial], plan: Plan) -> Verdict:
    """Right only where it was seen to be right: what a person has to look at, prints `0.000 G`, or sleeps is not."""
    verdicts = [trial.verdict for _, trial, _ in found.tried]
    many = f"{len(found.tried)} random {_noun(plan)}"
    waiting = [verdict for verdict in verdicts if verdict.outcome is Outcome.MANUAL]
    if waiting:
        return waiting[0]
    unclear = sum(verdict.outcome is not Outcome.CORRECT for verdict in verdicts)
    if unclear:
        reason = f"on {unclear} of {many} the value has too few digits to tell whether it is right"
        return without_value(Outcome.MANUAL, reason, hint="return the whole number, such as 1498376192, not a text")
    if tells_nothing(found):
        reason = f"the right value is the same on each of {many}{_all_of(found)}, which tells nothing of the function"
        return without_value(Outcome.MANUAL, reason, hint=NOTHING_COUNTED)
    if found.complete:
        return correct(f"right on {many}")
    if len(found.tried) < plan.tries * _ENOUGH:
        reason = f"right on {many}, but {plan.tries} were to be tried, and {plan.seconds:g} s allowed no more"
        return without_value(Outcome.MANUAL, reason, hint="make it faster; a call on a tiny network takes milliseconds")
    return correct(f"right on {many}, as many as {plan.seconds:g} s allowed")


def tells_nothing(found: Found[Trial]) -> bool:
    """Whether one value is right on everything that was tried, so that a constant would be right, too.

    Networks without attention say nothing of a function that counts what attention keeps.
    """
    first, *others = [trial.expected for _, trial, _ in found.tried]
    return isinstance(first, Number | Table) and len(others) > 0 and all(each == first for each in others)


def _all_of(found: Found[Trial]) -> str:
    expected = found.tried[0][1].expected
    return f" ({show(expected.value)})" if isinstance(expected, Number) else ""


def _noun(plan: Plan) -> str:
    return "sizes" if plan.among == "sizes" else "networks"


def _told(trials: Trials, form: CallForm, found: Found[Trial], subject: SubjectSpec, trial: Trial) -> Verdict:
    """The verdict on the smallest subject: what happens on it, the lines to paste, layer by layer where that helps."""
    again = trials(subject)
    same = wrong(again) == wrong(trial) and again.value == trial.value
    thing = "network" if subject.model.startswith(zoo_networks.GENERATED) else "size"
    changing = f"on the same {thing}, called twice: first {_got(trial)}, then {_got(again)}"
    first = _headline(trial, thing) if same else changing
    told = "\n".join(
        [first, *code.lines(subject, form, _comment(trial) if same else ""), *layers.lines(trials, subject)]
    )
    facts = {**trial.verdict.facts, "tried": str(len(found.tried)), "seconds": f"{found.seconds:.1f}"}
    if trial.value is None:
        return replace(trial.verdict, reason=told, facts=facts)
    known = misconception(trials.check, found) if same else None
    if known is None:
        return incorrect(told, hint="" if not same else trial.verdict.hint, **facts)
    verdict = partial(known.credit, told, hint=known.says)
    return replace(verdict, facts=facts)


def _headline(trial: Trial, thing: str) -> str:
    if trial.value is None or not isinstance(trial.value, Number):
        return f"on the smallest {thing} found: {trial.verdict.reason}"
    return f"on the smallest {thing} found, you get {_got(trial)}; {_expected(trial)} is right"


def _comment(trial: Trial) -> str:
    if not isinstance(trial.value, Number):
        return ""
    return f"gives {_got(trial)}; right: {_expected(trial)}"


def _got(trial: Trial) -> str:
    if isinstance(trial.value, Number):
        return show(trial.value.value)
    return trial.verdict.reason if trial.value is None else "one value"


def _expected(trial: Trial) -> str:
    return show(trial.expected.value) if isinstance(trial.expected, Number) else "another value"


def misconception(check: Check, found: Found[Trial]) -> Alternative | None:
    """The one that a function follows on every network that was looked at, where it is right and where it is not."""
    trials = [(trial, not kind) for _, trial, kind in _looked_at(found)]
    fitting = [
        known for known in check.misconceptions if all(_follows(trial, known, right=right) for trial, right in trials)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _looked_at(found: Found[Trial]) -> list[tuple[SubjectSpec, Trial, str]]:
    """Some of what was tried, to try misconceptions on: the smallest, the last that were wrong, the first right."""
    valued = [each for each in found.tried if each[1].value is not None]
    wrong = [each for each in valued if each[2]]
    smallest = [each for each in wrong if found.smallest and each[1] is found.smallest[1]]
    others = [each for each in wrong if each not in smallest]
    return [*smallest, *others[-_LOOKED_AT:], *[each for each in valued if not each[2]][:_LOOKED_AT]]


def _follows(trial: Trial, known: Alternative, *, right: bool = False) -> bool:
    """Whether the value is the misconception's. Where a network gives no occasion for it, a right value follows it."""
    if trial.judging is None or trial.expect is None or trial.value is None:
        return False
    try:
        return trial.judging(trial.value, trial.expect(known.source)).outcome is Outcome.CORRECT
    except FaultError:
        return right
