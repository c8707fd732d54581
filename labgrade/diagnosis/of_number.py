"""What is said of a function's number where that tells more than what the function does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from labgrade.core.task import Check
    from labgrade.verdict import Verdict

CONSTANT = "constant"


def with_number(
    seen: Verdict, check: Check, tool: Callable[[], Verdict], number: Callable[[Verdict], Verdict]
) -> Verdict:
    """Return the verdict on a function's behaviour, with what is known of its number where that says more.

    `tool`: the verdict with the tool that gives the number; `number`: a verdict with what a number is by itself.
    """
    found = seen.diagnosis
    if found is None or seen.credit == 1:
        return seen
    if found.causes == (CONSTANT,):  # somebody wrote the number down
        told = number(tool())
        return replace(told, lines=seen.lines, diagnosis=found) if told.hint else seen
    if not found.causes and not seen.hint:  # the number is a tool's, whatever called it
        told = tool()
        return replace(seen, hint=told.hint, facts=told.facts) if told.facts.get("explained") else seen
    of_tools = {each.says for each in check.misconceptions if each.by_share}
    if not of_tools & {*found.says}:
        return seen
    told = tool()  # which says what the tool does otherwise on this subject
    if not told.hint or told.hint in of_tools:
        return seen
    says = tuple(told.hint if each in of_tools else each for each in found.says)
    return replace(seen, facts=told.facts, diagnosis=replace(found, says=says))
