"""A second opinion on what was measured: another quantity of the same file, which must not contradict the verdict.

A quantity `NAME` has one where `reference/` has a function `NAME_second_opinion`, which takes the same file and some of
the same parameters and returns `agrees` (None where it can't tell) and `says`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from labgrade.handed_in import UnfitError
from labgrade.sandbox.visible import visible
from labgrade.verdict import Outcome, Verdict, without_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from labgrade.model import QuantityCall
    from labgrade.registry import Registry

SUFFIX = "_second_opinion"
HELP = "run tiled graphs on random integers too, and hold that against the proof"
_SAID_CHARS = 600


def of(call: QuantityCall, quantities: Registry) -> QuantityCall | None:
    """The call of the quantity that gives a second opinion on this one, if there is any."""
    name = call.quantity + SUFFIX
    if name not in quantities.entries:
        return None
    takes = quantities.get(name).parameters
    return replace(
        call,
        quantity=name,
        parameters={key: value for key, value in call.parameters.items() if key in takes},
        published=None,
    )


def heard(verdict: Verdict, ask: Callable[[], object]) -> Verdict:
    """The verdict with the second opinion among its facts; a FAULT where it calls wrong what the verdict calls right.

    Nothing else is settled by it: it does not see what breaks a rule without changing the outputs.
    """
    try:
        opinion = cast("dict[str, Any]", ask())
    except UnfitError as error:
        opinion = {"agrees": None, "says": f"there is none: {error.verdict.reason}"}
    said = visible(str(opinion["says"]), _SAID_CHARS)
    if verdict.outcome is Outcome.CORRECT and opinion["agrees"] is False:
        reason = "two ways of judging this file disagree, which is labgrade's failure, not yours: a person will look"
        facts = {"fault": f"the verdict was CORRECT ({verdict.reason}); the second opinion: {said}"}
        return without_value(Outcome.FAULT, reason, **facts)
    return replace(verdict, facts={**verdict.facts, "second opinion": said})
