"""What a task is judged by: its checks, one item a case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labgrade import policy
from labgrade.model import QuantityCall

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from labgrade.model import Check, SubjectSpec, Task


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to judge: a check, or one case of it."""

    check: Check
    id: str
    points: Fraction
    subject: SubjectSpec | None


def items(task: Task) -> list[Item]:
    """The checks of a task in the spec's order, one item a case: `other-models[resnet18]`."""
    found = []
    for check in task.checks:
        if not check.cases:
            found.append(Item(check, check.id, check.points, task.subject))
            continue
        names = _case_names(check)
        shares = policy.share(check.points, len(names))
        found += [
            Item(check, f"{check.id}[{name}]", points, case)
            for name, points, case in zip(names, shares, check.cases, strict=True)
        ]
    return found


def sources(item: Item) -> Iterator[tuple[QuantityCall, SubjectSpec]]:
    """The quantities that a check may ask for."""
    check = item.check
    for row in check.beside:
        subject = row.subject or item.subject
        if isinstance(row.expected, QuantityCall) and subject is not None and not subject.handed_in:
            yield row.expected, subject
    known = (check.expected, *(other.source for other in (*check.also_right, *check.misconceptions)))
    for source in known:
        if isinstance(source, QuantityCall) and item.subject is not None and not item.subject.handed_in:
            yield source, item.subject


def _case_names(check: Check) -> list[str]:
    names: list[str] = []
    for case in check.cases:
        same = sum(name.partition("#")[0] == case.short_name for name in names)
        names.append(case.short_name if not same else f"{case.short_name}#{same + 1}")
    return names
