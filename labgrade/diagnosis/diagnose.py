"""What a student's function does where its answers are wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import FaultError
from labgrade.core.task import CallForm, QuantityCall
from labgrade.diagnosis import as_code, unused
from labgrade.diagnosis.bases import slipped
from labgrade.diagnosis.behaviour import (
    ENOUGH_WRONG,
    Behaviour,
    applies,
    contradicted,
    explore,
    gives,
    matters_on,
    same_as,
)
from labgrade.diagnosis.explain import CONSTANT
from labgrade.diagnosis.fitting import fits
from labgrade.diagnosis.foresight import foresight
from labgrade.diagnosis.networks.called import Called, called_on, networks_for, noun
from labgrade.diagnosis.networks.small_networks import networks
from labgrade.diagnosis.probe import Trial, Trials
from labgrade.diagnosis.repair.repairs import Repairs
from labgrade.diagnosis.separating import separating_on
from labgrade.diagnosis.whole_rows import of_rows, of_tensors
from labgrade.sandbox.outcomes import NOT_IMPORTED
from labgrade.subjects.networks import GENERATED
from labgrade.values import Number, show
from labgrade.verdict import Diagnosis, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labgrade.core.results import NoAnswer, Submission
    from labgrade.core.task import Check, SubjectSpec, Task
    from labgrade.diagnosis.bases import Base
    from labgrade.diagnosis.behaviour import Hypothesis
    from labgrade.diagnosis.counterexample import SearchVerdict
    from labgrade.diagnosis.probe import ProbeGrader
    from labgrade.diagnosis.search import Foresight
    from labgrade.judging.items import Item
    from labgrade.values import Value
    from labgrade.verdict import Verdict

_WRONG = frozenset({Outcome.INCORRECT, Outcome.PARTIAL})
_FAILED = frozenset({Outcome.INCORRECT, Outcome.CRASHED})
_TWICE = 2
_RANDOM = (
    "The function gives other tensors each time that it is called with the same model and input. Something is drawn at "
    "random: an input of its own (torch.randn) in place of the one that it is given, or dropout in train mode."
)


class Diagnoser:
    """Explains the wrong answers of one submission to one task. A function is called on small networks once."""

    def __init__(self, grader: ProbeGrader, task: Task, submission: Submission) -> None:
        self._grader, self._task, self._submission = grader, task, submission
        self._known: dict[str, tuple[Check, Behaviour | None]] = {}
        self._repairs: dict[str, Repairs] = {}

    def explained(self, verdict: Verdict, value: Value, item: Item) -> Verdict | None:
        """Return the verdict on a function's value with its cause; None if none is found. The credit stays."""
        if verdict.outcome not in _WRONG or verdict.agrees:
            return None
        if not verdict.hint and (hint := unused.says(self._grader, self._task, self._submission, item, value)):
            return replace(verdict, hint=hint)
        trials = Trials(self._grader, self._task, item.check, self._submission)
        behaviour = self._behaviour(trials, value)
        if item.subject is None or (behaviour is None and (verdict.hint or not isinstance(value, dict))):
            return None
        judging, expect = self._grader.judging_of(self._task, item.check, item.subject, self._submission)
        trial = Trial(verdict=verdict, value=value, judging=judging, expect=expect)
        if behaviour is None:
            return _named_otherwise(trial, item) or _drawn(trials, verdict) or self._repaired(trials, item, trial)
        found = _diagnosis(trials, behaviour, trial, item)
        found = replace(found, on=noun(trials)) if found is not None else None
        if found is not None and found.causes and not any(each.counterexample for each in self._task.checks):
            found = replace(found, but=())  # the task asks about none of these: nobody knows what is right there
        known = [each for each in item.check.misconceptions if each.says == verdict.hint]
        chance = bool(known) and contradicted(trial, behaviour.called, known)
        if (chance or not known) and (found is None or not found.causes):
            repaired = self._repaired(trials, item, trial)
            if repaired is not None:
                return repaired
        if found is None or not (found.causes or chance or not verdict.hint):
            return replace(verdict, hint="") if chance else None
        # What was seen on many networks tells more than what one value happens to equal.
        lines = _smallest(trials, behaviour.called) if found.wrong else ()
        said = self._in_words_of(trials.check, found)
        return replace(verdict, hint="", lines=(*verdict.lines, *lines), diagnosis=said)

    def unanswered(self, answer: NoAnswer, item: Item) -> Verdict:
        """Return the verdict on a function that fails or returns another type, with the change that makes it right."""
        verdict, trials = answer.verdict, Trials(self._grader, self._task, item.check, self._submission)
        # A file that can't be imported fails on every network, and no change of one function is known to mend it.
        failed = verdict.outcome in _FAILED and NOT_IMPORTED not in verdict.reason
        source = trials.source() if failed and isinstance(item.check.expected, QuantityCall) else None
        if source is None or item.subject is None or answer.origin != f"{source.file}:{source.function}":
            return verdict
        key = f"{_asked(item.check)} {verdict.outcome}"
        own = Trial(verdict=verdict)
        try:
            if key not in self._repairs:
                called = called_on(trials)
                there = [each.network for each in called]
                others = [each for each in networks_for(trials) if each not in there]
                called += [Called(network=each, trial=own) for each in others]
                self._repairs[key] = Repairs(trials, called, failing=True)
            says = self._repairs[key].says(item.subject, own)
        except FaultError:
            return verdict
        return replace(verdict, hint=f"{verdict.hint}; {says}" if verdict.hint else says) if says else verdict

    def _repaired(self, trials: Trials, item: Item, own: Trial) -> Verdict | None:
        """Return the verdict with the change of the source that makes the function right; None if none is found."""
        if trials.source() is None or item.subject is None or not isinstance(trials.check.expected, QuantityCall):
            return None
        key = _asked(trials.check)
        try:
            if key not in self._repairs:
                behaviour = self._behaviour(trials)
                called = [*behaviour.called, *behaviour.others] if behaviour is not None else called_on(trials)
                known = behaviour is not None and behaviour.holds is not None
                self._repairs[key] = Repairs(trials, called, known=known)
            says = self._repairs[key].says(item.subject, own)
        except FaultError:  # then there is one explanation less
            return None
        return replace(own.verdict, hint=says) if says else None

    def refutes(self, item: Item) -> bool:
        """Return whether the function was called elsewhere: then a coincidence of one value says nothing."""
        behaviour = self._behaviour(Trials(self._grader, self._task, item.check, self._submission))
        return behaviour is not None and sum(not each.right for each in behaviour.called) >= ENOUGH_WRONG

    def right_elsewhere(self, item: Item) -> bool:
        """Return whether a function is right on all small networks. It then makes no slip that shows there."""
        behaviour = self._behaviour(Trials(self._grader, self._task, item.check, self._submission))
        return behaviour is not None and bool(behaviour.called) and all(each.right for each in behaviour.called)

    def called_nowhere(self, item: Item) -> bool:
        """Return whether a function fails on all small networks, so that nothing tells slips of one value apart."""
        behaviour = self._behaviour(Trials(self._grader, self._task, item.check, self._submission))
        return behaviour is not None and not behaviour.called

    def unseen(self, item: Item, base: Base, names: Sequence[str]) -> list[str]:
        """Return those of the slips that may be a function's own though it is right on all small networks.

        They make no difference on any of these.
        """
        trials = Trials(self._grader, self._task, item.check, self._submission)
        behaviour, left = self._behaviour(trials), list(names)
        try:
            for called in behaviour.called if behaviour is not None else ():
                if left:
                    made = slipped(base, called.network.subject, {"among": [*left]}, trials.value_of)["values"]
                    other = {name for name, plain in made if not fits(trials.kind, called.trial, plain)}
                    left = [name for name in left if name not in other]
        except FaultError:
            return []
        return left

    def foresight(self, trials: Trials) -> Foresight[Trial] | None:
        """Return what is foreseen of a function of which it is known what it does."""
        known = [each for check, each in self._known.values() if each and check.answer == trials.check.answer]
        return foresight(trials, next((each.holds for each in known if each.holds), None))

    def searched(self, found: SearchVerdict, check: Check) -> Verdict:
        """Return the verdict of a search, with what the function does, if nothing is said of that yet.

        Nothing is added if the function does something else on the smallest network, which is shown beside it.
        """
        verdict = found.verdict
        if verdict.outcome not in _WRONG or verdict.hint:
            return verdict
        trials = Trials(self._grader, self._task, check, self._submission)
        behaviour = self._behaviour(trials, found.smallest[1].value if found.smallest is not None else None)
        if behaviour is None or behaviour.holds is None or behaviour.is_zero:
            says = self._repair_of(found, check)
            return replace(verdict, hint=says) if says else verdict
        if found.smallest is not None:
            subject, trial = found.smallest
            if not gives(trials, behaviour.holds, trial, subject):
                return verdict
        holds = replace(_holding(behaviour, behaviour.holds, behaviour.holds.slips), on=noun(trials))
        return replace(verdict, diagnosis=self._in_words_of(check, holds))

    def _repair_of(self, found: SearchVerdict, check: Check) -> str:
        """Return a known change that makes the function right on the smallest network, too."""
        repairs = self._repairs.get(_asked(check))
        try:
            return "" if repairs is None else repairs.says(*found.smallest) if found.smallest else repairs.of_all()
        except FaultError:
            return ""

    def _behaviour(self, trials: Trials, here: Value | None = None) -> Behaviour | None:
        """Return what was found out about the function; None if there is nothing to find out, or it can't be called.

        `here`: the value of another subject. A function that gives this number everywhere follows no hypothesis.
        """
        if not applies(trials):
            return None
        check = trials.check
        key = _asked(check)
        if key not in self._known:
            try:
                called = called_on(trials)
                constant = isinstance(here, Number) and here.value and _constant(called, here, noun(trials))
                self._known[key] = check, Behaviour(called=called) if constant else explore(trials, called)
            except FaultError:  # then there is one explanation less, and the verdict is what it was
                self._known[key] = check, None
        return self._known[key][1]

    def _in_words_of(self, check: Check, found: Diagnosis) -> Diagnosis:
        """Return the behaviour with this check's sentences in place of those of the check that called the function."""
        first, _ = self._known[_asked(check)]
        words = {
            old.says: new.says
            for olds, news in ((first.also_right, check.also_right), (first.misconceptions, check.misconceptions))
            for old, new in zip(olds, news, strict=True)
        }
        says, elsewhere = (tuple(words.get(each, each) for each in some) for some in (found.says, found.elsewhere))
        convention = words.get(found.convention, found.convention)
        return replace(found, says=says, elsewhere=elsewhere, convention=convention)


def _asked(check: Check) -> str:
    """Return what a check asks, without its sentences: all cases of one check ask the same."""
    others = [[each.source for each in some] for some in (check.also_right, check.misconceptions)]
    return f"{check.answer} {check.expected!r} {others!r}"


def _named_otherwise(trial: Trial, item: Item) -> Verdict | None:
    """Return the verdict on right tensors with other names; else None."""
    source = item.check.expected
    expected = trial.expect(source) if isinstance(source, QuantityCall) and trial.expect is not None else None
    if not isinstance(trial.value, dict) or not isinstance(expected, dict):
        return None
    says = of_tensors(trial.value, expected)
    return replace(trial.verdict, hint=says) if says else None


def _drawn(trials: Trials, verdict: Verdict) -> Verdict | None:
    """Return the verdict on a function whose tensors differ from call to call; None where they don't."""
    import numpy as np

    subject = networks()[0].subject
    try:
        values: list[Any] = [each.value for each in trials.ahead([subject, subject])]
    except FaultError:
        return None
    if len(values) != _TWICE or not all(isinstance(each, dict) for each in values):
        return None
    one, other = values
    if not all(isinstance(each, np.ndarray) and each.dtype.kind in "fc" for each in (*one.values(), *other.values())):
        return None
    same = one.keys() == other.keys() and all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)
    return None if same else replace(verdict, hint=_RANDOM)


def _diagnosis(trials: Trials, found: Behaviour, trial: Trial, item: Item) -> Diagnosis | None:
    failed = [each for each in found.called if not each.right]
    if not failed or item.subject is None:
        return None
    tried = len(found.called)
    if constant := _constant(found.called, trial.value, noun(trials).removesuffix("s")):
        return Diagnosis(causes=(CONSTANT,), says=(constant,), tried=tried)
    refuted = tuple(found.refuted)
    for holds in (found.holds, *found.same, *found.alike) if found.holds is not None else ():
        here = _here(trials, holds, trial, item.subject)
        if here is not None:
            known = [each for each in item.check.misconceptions if each.says == trial.verdict.hint]
            alike = bool(known) and not holds.says and same_as(trials, replace(holds, slips=here), found.called, known)
            # What the task's own subject refutes is no alternative.
            alternatives = found.alike if holds is found.holds else ()
            fit = [each for each in alternatives if _here(trials, each, trial, item.subject) is not None]
            left = replace(found, holds=holds, alike=fit)
            return _holding(left, holds, here, trial.verdict.hint if alike else "")
    cause, says = _of_rows(trials, failed, trial)
    if cause:
        return Diagnosis(causes=(cause,), says=(says,), tried=tried, refuted=refuted)
    fits = tuple(" and ".join(each.slips) for each in found.rivals)
    everywhere = [*found.called, *found.others]
    if all(not each.right for each in everywhere):
        return Diagnosis(tried=tried, refuted=refuted, fits=fits) if fits or refuted else None
    seen = Diagnosis(
        tried=len(everywhere),
        wrong=sum(not each.right for each in everywhere),
        wrong_on=separating_on(trials, everywhere),
        refuted=refuted,
        fits=fits,
    )
    if found.holds is None or not (found.but or found.spared):
        return seen
    # What it does on the networks that have nothing of what is wrong here.
    return replace(
        seen, elsewhere=_holding(found, found.holds, found.holds.slips).says, but=found.but, spared=found.spared
    )


def _here(trials: Trials, holds: Hypothesis, trial: Trial, subject: SubjectSpec) -> tuple[str, ...] | None:
    """Return the slips that make the value on the task's own subject; None if they don't, or can't be made there."""
    try:
        return matters_on(trials, holds, trial, subject)
    except FaultError:
        return None


def _of_rows(trials: Trials, failed: Sequence[Called], here: Trial) -> tuple[str, str]:
    """Return what is wrong with rows whose cells are right, on all networks and on the task's own subject."""
    expected = trials.check.expected
    own = replace(here, expected=here.expect(expected)) if here.expect is not None and expected is not None else here
    return of_rows([own, *(each.trial for each in failed)])


def _holding(found: Behaviour, holds: Hypothesis, here: Sequence[str], hint: str = "") -> Diagnosis:
    """Return what is said of a hypothesis that holds. `here`: the slips that matter; a spec may `hint` at one.

    What can't be told from something else is no fact: beside a sure slip nothing is said of it.
    """
    sure = [name for name in holds.slips if holds.says or not _others(found, name)]
    told = [name for name in here if name in sure] or sure or list(here)
    says = dict(zip(holds.slips, holds.says or [_or(found, name) for name in holds.slips], strict=True))
    return Diagnosis(
        causes=holds.slips,
        says=(hint,) if hint and len(told) == 1 else tuple(says[name] for name in told),
        elsewhere=tuple(says[name] for name in sure if name not in told),
        convention=holds.base.says,
        but=found.but,
        spared=found.spared,
        tried=len(found.called),
        refuted=tuple(found.refuted),
    )


def _or(found: Behaviour, slip: str) -> str:
    """Return the sentence of a slip of the hypothesis that holds, with those that may as well be meant."""
    return " Or, which gives the same wherever that was tried: ".join((found.says[slip], *_others(found, slip)))


def _others(found: Behaviour, slip: str) -> list[str]:
    """Return the sentences of slips that come to the same beside the others of the hypothesis that holds."""
    own = found.holds.slips if found.holds is not None else ()
    others = [set(each.slips) - set(own) for each in found.alike if set(own) - set(each.slips) == {slip}]
    said = dict.fromkeys(found.says[name] for (name,) in (each for each in others if len(each) == 1))
    return [each for each in said if each != found.says[slip]]


def _constant(called: Sequence[Called], here: Value | None, each_is: str) -> str:
    """Return what to say of a function that always gives one value, here too; an empty text if it does not."""
    values = [here, *(each.trial.value for each in called)]
    expected = [each.trial.expected for each in called]
    if len(values) < 4 or not _all_same(values) or _all_same(expected):  # noqa: PLR2004
        return ""
    value = getattr(values[0], "value", None)
    if not getattr(values[0], "rows", (here,)):
        return (
            "The function finds nothing in any network: its table is empty each time. Choose layers by what they are "
            "(isinstance), not by names or sizes that one model has."
        )
    if value == 0:
        return (
            f"The function gives 0 for every {each_is}: nothing of what it is given is counted. Look at what your "
            "condition lets through, and at whether an earlier call changed the model."
        )
    shown = f" ({show(value)})" if value is not None else ""
    return (
        f"The function gives the same value{shown} for every {each_is}: what it is given makes no difference. Compute "
        "it from the arguments, not from a model or a size of your own."
    )


def _all_same(values: Sequence[Any]) -> bool:
    """Return whether all values are equal; tensors by name are equal if each of them is."""
    import numpy as np

    first, *others = values
    if not isinstance(first, dict):
        return all(each == first for each in others)
    named = [each for each in others if isinstance(each, dict) and each.keys() == first.keys()]
    return len(named) == len(others) and all(
        np.array_equal(each[name], first[name]) for each in named for name in first
    )


def _smallest(trials: Trials, called: Sequence[Called]) -> tuple[str, ...]:
    """Return the lines that build the smallest network on which the function is wrong, and call it."""
    form = next(each for each in trials.task.answers[trials.check.answer].forms if isinstance(each, CallForm))
    failed = [each for each in called if not each.right and each.network.subject.model.startswith(GENERATED)]
    if not failed:  # files that no few lines make
        return ()
    smallest = min(failed, key=lambda each: each.network.rank)
    got, expected = (getattr(each, "value", None) for each in (smallest.trial.value, smallest.trial.expected))
    said = f"gives {show(got)}; right: {show(expected)}" if got is not None and expected is not None else ""
    return tuple(as_code.lines(smallest.network.subject, form, said))
