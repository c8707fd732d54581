"""A task of which nothing was handed in: told once, and not once a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labgrade.results import TaskReport

LOOKED_FOR = "; looked for "
_A_BONUS = " (a bonus: it costs nothing)"
_PLACES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What is said of the first check that is missing, where all were looked for, and what may help; each once."""

    reason: str
    places: tuple[str, ...]
    hints: tuple[str, ...]

    @property
    def told(self) -> str:
        """In a sentence, with the best places: the others are in each check's own reason."""
        more = len(self.places) - _PLACES
        others = f" or {more} other {'place' if more == 1 else 'places'}" if more > 0 else ""
        looked = f"{LOOKED_FOR}{', '.join(self.places[:_PLACES])}{others}" if self.places else ""
        return "; ".join((f"{self.reason}{looked}", *self.hints))


def left_out(task: TaskReport) -> LeftOut | None:
    """What is said of a task of which nothing was handed in; None where there was something to judge."""
    missing = [check.verdict for check in task.checks if check.verdict.outcome is Outcome.MISSING]
    if not missing or any(
        check.verdict.outcome not in (Outcome.MISSING, Outcome.SKIPPED) or check.decision for check in task.checks
    ):
        return None
    said = [verdict.reason.removesuffix(_A_BONUS).partition(LOOKED_FOR) for verdict in missing]
    return LeftOut(
        reason=said[0][0],
        places=_each_once(place for _, _, places in said for place in places.split("; ")),
        hints=_each_once(hint for verdict in missing for hint in verdict.hint.split("; ")),
    )


def _each_once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(None, dict.fromkeys(texts)))
