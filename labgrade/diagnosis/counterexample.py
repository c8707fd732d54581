"""The verdict of a check with `counterexample`: right on all random networks, or the smallest wrong one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from labgrade.core.errors import FaultError
from labgrade.core.subject import as_plain
from labgrade.core.task import CallForm, InputSpec, SubjectSpec
from labgrade.diagnosis import as_code
from labgrade.diagnosis.networks import families, random_layers
from labgrade.diagnosis.search import Asked, SearchPlan, asked, available, is_drawn, know, search
from labgrade.files.cache import Cache, cache_folder, key_of, version_of
from labgrade.judging.judge import explains_all
from labgrade.subjects import networks
from labgrade.subjects.networks import GENERATED
from labgrade.values import Number, Table, show
from labgrade.verdict import Outcome, Verdict, correct, incorrect, partial, without_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from labgrade.core.task import Alternative, Check, Counterexample, Task
    from labgrade.diagnosis.probe import Trial, Trials
    from labgrade.diagnosis.search import Foresight, SearchResult

_VALUE = "another value"
_LOOKED_AT = 12  # subjects on which a misconception is tried: more say no more
_ENOUGH = 0.5  # of the tries: a function that sleeps would otherwise choose how little is tried of it
_CRASHES = frozenset({Outcome.CRASHED, Outcome.TIMEOUT, Outcome.MEMORY, Outcome.OUTPUT})


def plan_of(task: Task, wanted: Counterexample) -> SearchPlan:
    """Return the plan of a spec's search."""
    return SearchPlan(among=wanted.among, like=task.subject, tries=wanted.tries)


class SearchVerdict(NamedTuple):
    """The verdict, where the answer came from, whether the trials tell nothing, and the smallest wrong subject."""

    verdict: Verdict
    origin: str = ""
    tells_nothing: bool = False
    smallest: tuple[SubjectSpec, Trial] | None = None


def judged(
    trials: Trials,
    plan: SearchPlan,
    remembered: Iterable[Remembered] = (),
    *,
    at_once: bool = False,
    foresight: Foresight[Trial] | None = None,
) -> SearchVerdict:
    """Return the verdict of a search. `remembered` has subjects to try first, and keeps new ones.

    `foresight`: what the function does, as far as that is known.

    Raises:
        FaultError: a failure of labgrade's.
    """
    form = next((f for f in trials.task.answers[trials.check.answer].forms if isinstance(f, CallForm)), None)
    if form is None:  # pragma: no cover - a validated spec has one
        message = f"'{trials.check.answer}' has no form that is called"
        raise FaultError(message)
    if not available():
        reason = "not looked for: this needs Hypothesis"
        return SearchVerdict(without_value(Outcome.MANUAL, reason, hint="pip install 'labgrade[counterexample]'"))
    if absent := trials.absent():
        return SearchVerdict(absent)
    records = list(remembered)
    replayed = [each for each in (record.read() for record in records) if each]
    found = search(plan, trials, wrong, replayed, trials.coming, at_once=at_once, foresight=foresight)
    if not found.tried:
        return SearchVerdict(without_value(Outcome.MANUAL, f"nothing could be tried in {plan.seconds:g} s"))
    origin = found.tried[0][1].origin
    if found.smallest is None:
        return _none_wrong(found, plan, origin)
    subject, trial = found.smallest
    if trial.verdict.outcome is Outcome.MISSING:
        return SearchVerdict(trial.verdict, origin)
    for record in records:
        record.write([subject, *(each for each, _, _ in _looked_at(found))])
    return SearchVerdict(_wrong_on(trials, form, found, subject, trial), origin, smallest=found.smallest)


def know_subjects(plan: SearchPlan, kept: Cache, *, draw: bool = False) -> None:
    """Load the subjects that an earlier run drew for a plan; else `draw` and store them.

    To draw them and import Hypothesis takes a second, which every process of a class would spend.
    """
    if is_drawn(plan) or not available():
        return
    like = None if plan.like is None else as_plain(plan.like)
    key = key_of("asked", _sources(), version_of("hypothesis"), plan.among, like, plan.tries, plan.seed)
    if known := _asked(kept.read(key)):
        know(plan, known)
    elif draw:
        know(plan, drawn := asked(plan))
        plain = [[_plain(each) for each in some] for some in drawn]
        if _asked((json.loads(json.dumps(plain)),)) == drawn:  # else there is more to them than is written
            kept.write(key, plain)


def _asked(read: tuple[Any] | None) -> Asked | None:
    """Return what `know_subjects` stored; None if there is nothing, or it is damaged."""
    match read:
        case ([right, wrong],):
            known = Asked(_subjects((right,)), _subjects((wrong,)))
            return known if all(known) else None
    return None


def memory(task: Task, check: Check, file: object) -> Remembered:
    """Return where a check's example is remembered, by the content or the place of the function's file."""
    return Remembered(cache_folder(), [_sources(), task.lab, task.id, check.id, check.answer, str(file)])


def _sources() -> str:
    """Return a digest of the code that makes random subjects."""
    sources = (families.__file__, random_layers.__file__, networks.__file__)
    return hashlib.sha256(b"\0".join(Path(each).read_bytes() for each in sources)).hexdigest()


def wrong(trial: Trial) -> str:
    """Return the kind of wrong, or an empty text. A value that waits for a person is not known to be wrong."""
    outcome = trial.verdict.outcome
    if outcome is Outcome.FAULT:
        raise FaultError(trial.verdict.facts.get("fault") or trial.verdict.reason)
    if outcome in (Outcome.CORRECT, Outcome.MANUAL) or trial.verdict.agrees or _agrees(trial):
        return ""
    return outcome if trial.value is None else _VALUE


def _agrees(trial: Trial) -> bool:
    """Return whether a number printed with few digits, as `0.000 G` of a tiny network, is right as far as it goes."""
    value, expected = trial.value, trial.expected
    if not isinstance(value, Number) or not isinstance(expected, Number) or value.digits is None:
        return False
    return abs(value.value - expected.value) <= value.half_unit


def _none_wrong(found: SearchResult[Trial], plan: SearchPlan, origin: str) -> SearchVerdict:
    """Return the verdict if nothing was wrong: CORRECT if it was seen to be right, not `0.000 G` or doubtful."""
    verdicts = [trial.verdict for _, trial, _ in found.tried]
    many = f"{len(found.tried)} random {_noun(plan)}"
    waiting = [verdict for verdict in verdicts if verdict.outcome is Outcome.MANUAL]
    if waiting:
        return SearchVerdict(waiting[0], origin)
    unclear = sum(verdict.outcome is not Outcome.CORRECT for verdict in verdicts)
    if unclear:
        reason = f"on {unclear} of {many} the value has too few digits to tell whether it is right"
        return SearchVerdict(
            without_value(Outcome.MANUAL, reason, hint="return the whole number, such as 1498376192, not a text"),
            origin,
        )
    if tells_nothing(found):
        reason = f"the right value is the same on each of {many}{_all_of(found)}, which tells nothing of the function"
        return SearchVerdict(
            without_value(Outcome.MANUAL, reason, hint="what it counts is in none of these networks"),
            origin,
            tells_nothing=True,
        )
    if found.complete:
        return SearchVerdict(correct(f"right on {many}"), origin)
    if len(found.tried) < plan.tries * _ENOUGH:
        reason = f"right on {many}, but {plan.tries} were to be tried, and {plan.seconds:g} s allowed no more"
        return SearchVerdict(
            without_value(Outcome.MANUAL, reason, hint="make it faster; a call on a tiny network takes milliseconds"),
            origin,
        )
    return SearchVerdict(correct(f"right on {many}, as many as {plan.seconds:g} s allowed"), origin)


def tells_nothing(found: SearchResult[Trial]) -> bool:
    """Return whether one value is right for everything that was tried: a constant would be right, too.

    Networks without attention say nothing of a function that counts what attention keeps.
    """
    first, *others = [trial.expected for _, trial, _ in found.tried]
    return isinstance(first, Number | Table) and len(others) > 0 and all(each == first for each in others)


def _all_of(found: SearchResult[Trial]) -> str:
    expected = found.tried[0][1].expected
    return f" ({show(expected.value)})" if isinstance(expected, Number) else ""


def _noun(plan: SearchPlan) -> str:
    return "sizes" if plan.among == "sizes" else "networks"


def _wrong_on(
    trials: Trials, form: CallForm, found: SearchResult[Trial], subject: SubjectSpec, trial: Trial
) -> Verdict:
    """Return the verdict on the smallest wrong subject: both values, the lines to paste, layers where these help."""
    again = trials(subject)
    same = wrong(again) == wrong(trial) and again.value == trial.value
    thing = "network" if subject.model.startswith(networks.GENERATED) else "size"
    changing = f"on the same {thing}, called twice: first {_got(trial)}, then {_got(again)}"
    first = _headline(trial, thing) if same else changing
    program = as_code.lines(subject, form, _comment(trial) if same else "")
    lines = (*program, *as_code.layer_lines(trials, subject))
    facts = {**trial.verdict.facts, "tried": str(len(found.tried)), "seconds": f"{found.seconds:.1f}"}
    if trial.value is None:
        return replace(trial.verdict, reason=first, lines=lines, facts=facts)
    known = misconception(trials.check, found) if same else None
    if known is None:
        return replace(incorrect(first, hint=trial.verdict.hint if same else "", **facts), lines=lines)
    return replace(partial(known.credit, first, hint=known.says), lines=lines, facts=facts)


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


def misconception(check: Check, found: SearchResult[Trial]) -> Alternative | None:
    """Return the known mistake that a function follows on every network that was tried; None if there is none."""
    trials = [(trial, not kind) for _, trial, kind in _looked_at(found)]
    fitting = [
        known for known in check.misconceptions if all(_follows(trial, known, right=right) for trial, right in trials)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _looked_at(found: SearchResult[Trial]) -> list[tuple[SubjectSpec, Trial, str]]:
    """Return the trials for misconceptions: the smallest, further wrong ones, the first right ones."""
    valued = [each for each in found.tried if each[1].value is not None]
    wrong = [each for each in valued if each[2]]
    smallest = [each for each in wrong if found.smallest and each[1] is found.smallest[1]]
    others = [each for each in wrong if each not in smallest]
    # The last are almost as small as the smallest, and on those many slips come to the same; the first are not.
    half = _LOOKED_AT // 2
    some = others if len(others) <= _LOOKED_AT else [*others[:half], *others[-half:]]
    return [*smallest, *some, *[each for each in valued if not each[2]][:_LOOKED_AT]]


def _follows(trial: Trial, known: Alternative, *, right: bool = False) -> bool:
    """Return whether a value is the misconception's. Where the mistake can't be made, the right value is."""
    if trial.judging is None or trial.expect is None or trial.value is None:
        return False
    try:
        value = trial.expect(known.source)
        fits = trial.judging(trial.value, value).outcome is Outcome.CORRECT
        return fits and explains_all(trial.value, value, trial.expected, trial.judging)
    except FaultError:
        return right


# ---- failing examples that are remembered ----------------------------------------------------------------------------

# What is read is only ever a subject to try again: a damaged or forged record costs a trial and changes no verdict.
_LARGEST = 1 << 20
_MOST = 1 << 12
_MOST_SUBJECTS = 64


class Remembered:
    """The stored example of a check: what was searched, and the content or the place of the function's file."""

    def __init__(self, folder: Path, words: Sequence[str]) -> None:
        self._cache = Cache(folder / "counterexamples", most=_LARGEST)
        self._key = key_of(*words)

    def read(self) -> list[SubjectSpec]:
        """Return the smallest subject and others that were tried; nothing if they can't be read."""
        return _subjects(self._cache.read(self._key))[:_MOST_SUBJECTS]

    def write(self, subjects: Sequence[SubjectSpec]) -> None:
        """Store these in place of earlier ones, the smallest first. A full disk only costs time."""
        self._cache.write(self._key, [_plain(each) for each in subjects])


def _plain(subject: SubjectSpec) -> dict[str, Any]:
    return {"model": subject.model, "shape": list(subject.input.shape), "options": dict(subject.options)}


def _subjects(read: tuple[Any] | None) -> list[SubjectSpec]:
    """Return the stored subjects; none of them if one is invalid."""
    try:
        return [] if read is None else [_subject(each) for each in read[0]]
    except (ValueError, KeyError, TypeError):
        return []


def _subject(plain: Any) -> SubjectSpec:
    """Return a stored subject.

    Raises:
        TypeError: it is none that a search comes upon.
    """
    model, shape, options = plain["model"], plain["shape"], plain["options"]
    ours = model in (GENERATED, f"{GENERATED}.onnx", "linear/layer.onnx", "linear/mlp.onnx")
    sizes = isinstance(shape, list) and shape and all(type(size) is int and 0 < size <= _MOST for size in shape)
    if not ours or not sizes or not isinstance(options, dict):
        message = "this is no subject"
        raise TypeError(message)
    return SubjectSpec(model=model, input=InputSpec(shape=tuple(shape)), options=options, passing=True)
