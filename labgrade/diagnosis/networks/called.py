"""On which small networks, or configs, a check's function is called, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labgrade.core.errors import FaultError
from labgrade.core.task import QuantityCall, SubjectSpec, TableOfType, TableType
from labgrade.diagnosis.counterexample import wrong
from labgrade.diagnosis.networks import small_configs
from labgrade.diagnosis.networks.small_networks import AGAIN, SmallNetwork, more, networks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.diagnosis.probe import Trial, Trials

_VARIED, _MOST_VARIED = 3, 4  # networks with other arguments each, and so many of these
_MOST_STARTS = 6  # processes: after each crash the function is called on the networks behind it


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A network with what came of calling the function on it."""

    network: SmallNetwork
    trial: Trial

    @property
    def right(self) -> bool:
        """Return whether the value is right on this network."""
        return not wrong(self.trial)

    @property
    def convention(self) -> str:
        """Return the other convention by which the value is right; an empty text for the expected one."""
        reason = self.trial.verdict.reason
        return reason if reason.startswith("right: ") else ""


def networks_for(trials: Trials) -> list[SmallNetwork]:
    """Return the networks on which a check's function is called, if their expected values can be computed."""
    expected = trials.check.expected
    assert isinstance(expected, QuantityCall)  # noqa: S101 - `applies`
    subject = trials.task.subject
    if subject is not None and subject.is_config:
        return [each for each in small_configs.configs(trials.task) if _computable(trials, expected, each.subject)]
    waiting = list(
        networks(
            as_files=subject is not None and subject.is_onnx,
            of_all="layers" not in expected.parameters,
            # Tools differ on the rows of what attends.
            attention="layers" not in expected.parameters and not isinstance(trials.kind, TableType),
            # In a table by type they have a row of their own.
            derived="layers" in expected.parameters and not isinstance(trials.kind, TableType),
        )
    )
    waiting = [each for each in waiting if _computable(trials, expected, each.subject)]
    if isinstance(trials.kind, TableOfType):  # by name, which has no room for a second run
        waiting = [each for each in waiting if each.words != AGAIN and "twice" not in str(each.subject.options)]
    return _with_arguments(trials, waiting)


def _with_arguments(trials: Trials, waiting: list[SmallNetwork]) -> list[SmallNetwork]:
    """Return the networks with the task's own arguments, and a few with those of its cases, which functions get."""
    about = trials.task.subject
    if about is None or not about.arguments:
        return waiting
    found = [replace(each, subject=replace(each.subject, arguments=about.arguments)) for each in waiting]
    cases = [
        case.arguments for check in trials.task.checks if check.answer == trials.check.answer for case in check.cases
    ]
    others = [each for at, each in enumerate(cases) if each != about.arguments and each not in cases[:at]]
    usual = sorted((each for each in found if not each.rare), key=lambda each: -each.rank)[:_VARIED]
    for own in others[:_MOST_VARIED]:
        changed = " and ".join(f"`{name}`" for name, value in own.items() if value != about.arguments.get(name))
        found += [
            replace(each, subject=replace(each.subject, arguments=own), words=f"another {changed}") for each in usual
        ]
    return found


def further(trials: Trials) -> Iterator[SmallNetwork]:
    """Yield further networks or configs, one of which may tell hypotheses apart."""
    subject = trials.task.subject
    if subject is not None and subject.is_config:
        return small_configs.more(trials.task)
    return more(as_files=subject is not None and subject.is_onnx)


def noun(trials: Trials) -> str:
    """Return the word for the subjects: `configs` or `networks`."""
    return "configs" if trials.task.subject is not None and trials.task.subject.is_config else "networks"


def called_on(trials: Trials) -> list[Called]:
    """Return the function's values on the networks, from as few processes as possible."""
    waiting = networks_for(trials)
    found: list[Called] = []
    most = len(waiting)
    for _ in range(_MOST_STARTS):
        some = waiting[:most]
        done = trials.past([each.subject for each in some])
        found += [
            Called(network=each, trial=trial) for each, trial in zip(some, done, strict=False) if trial is not None
        ]
        waiting = waiting[len(done) :]
        if not waiting:
            break
        if len(done) == len(some):
            continue
        if done or trials(waiting[0].subject).value is None:
            waiting = waiting[1:]
        else:  # a value behind it is no plain data, and leaves nothing of all
            most = max(most // 2, 1)
    return found


def _computable(trials: Trials, source: QuantityCall, subject: SubjectSpec) -> bool:
    """Return whether a quantity can be computed of a network: a course's own may be about other subjects."""
    try:
        trials.value_of(source, subject)
    except FaultError:
        return False
    return True
