"""Known wrong values against a task: whether each brings up its own hint, and which checks notice it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labgrade.core.errors import FaultError
from labgrade.core.task import LiteralValue, QuantityCall
from labgrade.diagnosis.counterexample import misconception, plan_of, wrong
from labgrade.diagnosis.probe import Trial
from labgrade.diagnosis.search import SearchResult, available, subjects
from labgrade.judging.items import items
from labgrade.judging.judge import judge
from labgrade.truth.measure import UnfitError
from labgrade.values import Number
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from labgrade.core.results import Submission
    from labgrade.core.task import Alternative, Check, SubjectSpec, Task
    from labgrade.judging.items import Item
    from labgrade.run.grader import Grader

_ENOUGH_WRONG, _ENOUGH = 3, 12  # random networks: so many that tell a slip from what is right, among so many


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSlip:
    """A known wrong value and whether each check notices it. None: not computable for the check's subject.

    `library`: it is one of a library of slips, for which not every task gives an occasion.
    """

    says: str
    noticed: Mapping[str, bool | None]
    library: bool = False


class Slips:
    """The known wrong values of a task, judged as if `who` had handed them in."""

    def __init__(self, grader: Grader, task: Task, who: Submission) -> None:
        self._grader, self._task, self._who = grader, task, who
        self._networks: dict[str, Sequence[SubjectSpec]] = {}

    def own_hints(self) -> Iterator[str]:
        """Yield each misconception whose own value never gives its hint, or gives another's."""
        tried = [
            (check, known, [self._hint(item, known) for item in items(self._task) if item.check is check])
            for check in self._task.checks
            for known in check.misconceptions
        ]
        brought_up = {(check.answer, known.says) for check, known, said in tried if known.says in said}
        for check, known, said in tried:
            claimed = [hint for hint in said if hint is not None]
            where = f"{known.mark}: " if known.mark else ""
            if not claimed and (known.known or (check.answer, known.says) in brought_up):
                continue  # right here, or nothing that can be distinguished from another
            if known.says not in claimed and not (check.counterexample and not available()):
                yield f"{where}this value of '{check.id}' never brings up its own hint"
            for hint in sorted(set(claimed) - {"", known.says}):
                yield f"{where}this value of '{check.id}' brings up another hint: '{hint}'"

    def all(self) -> list[KnownSlip]:
        """Try every known wrong value of the task at each check of the same answer."""
        return [
            KnownSlip(
                says=known.says,
                noticed={item.id: self._noticed(item, known) for item in tried},
                library=known.known,
            )
            for known, tried in _wrong_values(self._task)
        ]

    def _hint(self, item: Item, known: Alternative) -> str | None:
        """Return the hint for this wrong value; None if it is right or can't be computed."""
        if item.check.counterexample:
            tried = list(self._on_networks(item.check, known))
            told = misconception(item.check, SearchResult(tried=tried))
            return (told.says if told else "") if any(kind for _, _, kind in tried) else None
        try:
            judging, expect = self._grader.judging_of(self._task, item.check, item.subject, self._who)
            value = expect(known.source)
            verdict = judge(item.check, value, judging, expect)
        except (FaultError, UnfitError):
            return None
        if verdict.outcome is Outcome.CORRECT or verdict.fits:
            return None
        if not verdict.hint and isinstance(value, Number) and not value.value:
            return None  # nothing at all may come of anything
        return verdict.hint

    def _noticed(self, item: Item, known: Alternative) -> bool | None:
        if item.check.counterexample:
            kinds = (kind for _, _, kind in self._on_networks(item.check, known))
            first = next(kinds, None)
            return None if first is None else bool(first) or any(kinds)
        trial = self._trial(item.check, item.subject, known)
        return None if trial is None else trial.verdict.outcome is not Outcome.CORRECT

    def _on_networks(self, check: Check, known: Alternative) -> Iterator[tuple[SubjectSpec, Trial, str]]:
        """Judge the value on random networks until it was wrong on several."""
        count = found = 0
        for subject in self._subjects(check) if isinstance(known.source, QuantityCall) else ():
            trial = self._trial(check, subject, known)
            if trial is None:
                continue
            kind = wrong(trial)
            yield subject, trial, kind
            count, found = count + 1, found + bool(kind)
            if count >= _ENOUGH and found >= _ENOUGH_WRONG:
                return

    def _subjects(self, check: Check) -> Sequence[SubjectSpec]:
        if check.id not in self._networks:
            plan = plan_of(self._task, check.counterexample) if check.counterexample and available() else None
            self._networks[check.id] = subjects(plan) if plan else ()
        return self._networks[check.id]

    def _trial(self, check: Check, subject: SubjectSpec | None, known: Alternative) -> Trial | None:
        """Judge the value on a subject without misconceptions; None if it can't be computed."""
        try:
            judging, expect = self._grader.judging_of(self._task, check, subject, self._who)
            value = expect(known.source)
            return Trial(
                verdict=judge(replace(check, misconceptions=()), value, judging, expect),
                value=value,
                expected=expect(check.expected) if check.expected is not None else None,
                judging=judging,
                expect=expect,
            )
        except (FaultError, UnfitError):
            return None


def needed_quantities(task: Task) -> Iterator[tuple[QuantityCall, SubjectSpec]]:
    """Yield the quantities that trying a task's slips needs beyond its checks."""
    for known, tried in _wrong_values(task):
        for item in tried:
            if isinstance(known.source, QuantityCall) and item.subject is not None and not item.subject.handed_in:
                yield known.source, item.subject


def _wrong_values(task: Task) -> list[tuple[Alternative, list[Item]]]:
    """Return each known wrong value once, with the checks that may notice it."""
    found: dict[tuple[str, str], tuple[Alternative, list[Item]]] = {}
    for check in task.checks:
        for known in check.misconceptions:
            key = (check.answer, repr(replace(known.source, mark=None)))
            if key not in found and check.measured is None:
                own = [item for item in items(task) if item.check.answer == check.answer and _comparable(item, known)]
                found[key] = known, own
    return list(found.values())


def _comparable(item: Item, known: Alternative) -> bool:
    """Return whether a wrong value concerns an item; a literal concerns only its own check."""
    own = any(known is each for each in item.check.misconceptions)
    return item.check.expected is not None and (own or not isinstance(known.source, LiteralValue))
