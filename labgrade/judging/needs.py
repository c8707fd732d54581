"""Which checks are open, skipped or waiting by what they need: one rule, while grading and when people decide."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from labgrade.verdict import Outcome, Verdict, without_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction


class Need(Enum):
    """What a check is to those that need it; WAITS: nothing but a person's look, or the next run, is missing."""

    MET = "met"
    WAITS = "waits"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsGate:
    """What the needs of a check come to. It is open where both are empty; `failed` closes it for good."""

    failed: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()

    def verdict(self) -> Verdict | None:
        """Return SKIPPED or MANUAL, in place of the check's own verdict; None if the check is open."""
        if self.failed:
            return replace(without_value(Outcome.SKIPPED, ""), waits_for=self.failed)
        if self.waits:
            return replace(without_value(Outcome.MANUAL, ""), waits_for=self.waits)
        return None


# The credit that a person gave a check. AGAIN: they have to decide once more, as what they decided about changed.
AGAIN = "again"
Decided: TypeAlias = "Fraction | str"


def resolve(
    checks: Mapping[str, Sequence[str]], verdicts: Mapping[str, Verdict], decisions: Mapping[str, Decided]
) -> dict[str, NeedsGate]:
    """Return the gate of each check of a task, by its name; cases are called `check[case]`.

    `checks`: the checks that each check needs. `verdicts`: labgrade's own of each check, whatever it needs; without
    those that were skipped, which were never judged. `decisions`: what people decided about some of them.
    A decision can open what needs a check, and close what waited for it; it closes nothing that labgrade found open.
    """
    gates = Gates(checks, verdicts, decisions)
    return {name: gates.of(name) for name in checks}


class Gates:
    """Tells the gate of one check after the other; as `resolve`."""

    def __init__(
        self, checks: Mapping[str, Sequence[str]], verdicts: Mapping[str, Verdict], decisions: Mapping[str, Decided]
    ) -> None:
        self._checks, self._verdicts, self._decisions = checks, verdicts, decisions
        self._cases: dict[str, list[str]] = {}
        for name in checks:
            self._cases.setdefault(name.partition("[")[0], []).append(name)
        self._found: dict[str, NeedsGate] = {}

    def of(self, name: str) -> NeedsGate:
        """Return the gate of the check called `name`."""
        if name not in self._found:
            needs = {need: _all_of(map(self._state, self._cases.get(need, ()))) for need in self._checks[name]}
            self._found[name] = NeedsGate(
                failed=tuple(need for need, met in needs.items() if met is Need.FAILED),
                waits=tuple(need for need, met in needs.items() if met is Need.WAITS),
            )
        return self._found[name]

    def _state(self, name: str) -> Need:
        return _state(self.of(name), self._verdicts.get(name), self._decisions.get(name))


def _state(gate: NeedsGate, own: Verdict | None, decided: Decided | None) -> Need:
    is_open = not gate.failed and not gate.waits
    # A fault of labgrade's does not keep a student from what needs the check.
    right = own is not None and (own.credit == 1 or own.outcome is Outcome.FAULT)
    if decided == 1 or (is_open and right):
        return Need.MET
    if decided == AGAIN:
        return Need.WAITS
    if gate.failed:
        return Need.FAILED
    if own is None or right:  # it counts as soon as the check is open, whatever a person gave
        return Need.WAITS
    return Need.WAITS if own.outcome is Outcome.MANUAL and decided is None else Need.FAILED


def _all_of(states: Iterable[Need]) -> Need:
    found = set(states)
    return next((each for each in (Need.FAILED, Need.WAITS) if each in found), Need.MET)


def quoted_names(needs: Iterable[str]) -> str:
    """Return names of checks as a reason has them: `'macs', 'total'`."""
    return ", ".join(map(repr, needs))
