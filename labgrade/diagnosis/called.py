"""A wrong function on the small networks, in as few processes as it lets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labgrade.core.errors import FaultError
from labgrade.core.task import QuantityCall, TableType
from labgrade.diagnosis.counterexample import wrong
from labgrade.diagnosis.small_networks import networks

if TYPE_CHECKING:
    from labgrade.core.task import SubjectSpec
    from labgrade.diagnosis.probe import Trial, Trials
    from labgrade.diagnosis.small_networks import SmallNetwork

_MOST_STARTS = 6  # processes: after each crash the function is called on the networks behind it


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A network with what came of calling the function on it."""

    network: SmallNetwork
    trial: Trial

    @property
    def right(self) -> bool:
        """Whether the value is right there."""
        return not wrong(self.trial)

    @property
    def convention(self) -> str:
        """By which other convention it is right, where it is."""
        reason = self.trial.verdict.reason
        return reason if reason.startswith("right: ") else ""


def called_on(trials: Trials) -> list[Called]:
    """The function's values, in as few processes as it lets."""
    expected = trials.check.expected
    assert isinstance(expected, QuantityCall)  # noqa: S101 - `applies`
    subject = trials.task.subject
    waiting = list(
        networks(
            as_files=subject is not None and subject.is_onnx,
            of_all="layers" not in expected.parameters,
            nested="nested" in trials.quantities.get(expected.quantity).parameters,
            # Tools differ on the rows of what attends.
            attention="layers" not in expected.parameters and not isinstance(trials.kind, TableType),
        )
    )
    waiting = [each for each in waiting if _computable(trials, expected, each.subject)]
    found: list[Called] = []
    most = len(waiting)
    for _ in range(_MOST_STARTS):
        some = waiting[:most]
        done = trials.ahead([each.subject for each in some])
        found += [Called(network=network, trial=trial) for network, trial in zip(some, done, strict=False)]
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
    """Whether a quantity can be computed of a network: a course's own may be about others."""
    try:
        trials.value_of(source, subject)
    except FaultError:
        return False
    return True
