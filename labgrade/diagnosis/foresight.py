"""What a function will come to on networks on which it was not called yet, where it is known what it does."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

from labgrade.diagnosis.bases import slipped
from labgrade.diagnosis.fitting import typed
from labgrade.diagnosis.search import Foresight
from labgrade.values import Number

if TYPE_CHECKING:
    from labgrade.core.task import Plain, SubjectSpec
    from labgrade.diagnosis.behaviour import Behaviour, Hypothesis
    from labgrade.diagnosis.probe import Trial, Trials


def foresight(trials: Trials, behaviour: Behaviour | None) -> Foresight[Trial] | None:
    """Return what is foreseen of a function that gives numbers and follows slips; None of any other."""
    if behaviour is None or behaviour.holds is None or behaviour.holds.says:
        return None
    if not all(isinstance(each.trial.value, Number) for each in behaviour.called):
        return None
    return Foresight(partial(_foreseen, trials, behaviour.holds), _is_one_number)


def _foreseen(trials: Trials, holds: Hypothesis, subject: SubjectSpec) -> Trial:
    """Return what follows from a hypothesis for a subject, with as many of its slips as there is an occasion for.

    Raises:
        FaultError: it can't be computed.
    """
    sizes = range(len(holds.slips), 0, -1)
    asked: dict[str, Plain] = {"among": ["+".join(each) for size in sizes for each in combinations(holds.slips, size)]}
    made = slipped(holds.base, subject, asked, trials.value_of)["values"]
    plain = made[0][1] if made else trials.value_of(holds.base.call, subject)
    return trials.judged(typed(plain, trials.kind), subject)


def _is_one_number(one: Trial, other: Trial) -> bool:
    return isinstance(one.value, Number) and isinstance(other.value, Number) and one.value.value == other.value.value
