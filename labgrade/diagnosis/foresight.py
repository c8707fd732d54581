"""What a function will come to on networks on which it was not called yet, where it is known what it does."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

from labgrade.answers.reading.typed_values import NUMBER_KINDS
from labgrade.core.errors import FaultError
from labgrade.core.task import QuantityCall
from labgrade.diagnosis.bases import slipped
from labgrade.diagnosis.fitting import OTHER_INPUTS, typed
from labgrade.diagnosis.search import Foresight
from labgrade.values import Number

if TYPE_CHECKING:
    from labgrade.core.task import Plain, SubjectSpec
    from labgrade.diagnosis.behaviour import Hypothesis
    from labgrade.diagnosis.probe import Trial, Trials


def foresight(trials: Trials, follows: Hypothesis | None) -> Foresight[Trial] | None:
    """Return what is foreseen of a function that gives numbers, and of which it is known what it `follows`."""
    if follows is None or trials.kind not in NUMBER_KINDS or set(follows.slips) & OTHER_INPUTS.keys():
        return None
    return Foresight(partial(_foreseen, trials, follows), _is_one_number)


def _foreseen(trials: Trials, follows: Hypothesis, subject: SubjectSpec) -> Trial:
    """Return what follows from a hypothesis for a subject: the right value where there is no occasion for a mistake.

    Raises:
        FaultError: it can't be computed.
    """
    call = follows.base.call
    if follows.says:
        right = trials.check.expected if isinstance(trials.check.expected, QuantityCall) else call
        try:
            plain = trials.value_of(call, subject)
        except FaultError:
            plain = trials.value_of(right, subject)
    else:
        sizes = range(len(follows.slips), 0, -1)
        asked: dict[str, Plain] = {
            "among": ["+".join(each) for at in sizes for each in combinations(follows.slips, at)]
        }
        made = slipped(follows.base, subject, asked, trials.value_of)["values"]
        plain = made[0][1] if made else trials.value_of(call, subject)
    return trials.judged(typed(plain, trials.kind), subject)


def _is_one_number(one: Trial, other: Trial) -> bool:
    return isinstance(one.value, Number) and isinstance(other.value, Number) and one.value.value == other.value.value
