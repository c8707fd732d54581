"""What a task is judged by: its checks, one item a case; and the second call, or input, that some are judged on."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labgrade.core.by_identity import ByIdentity
from labgrade.core.points import share
from labgrade.core.task import CallForm, QuantityCall, TableOfType
from labgrade.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from fractions import Fraction

    from labgrade.core.task import Check, Source, SubjectSpec, Task

_TASKS = 256  # of a course, with variants


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to judge: a check, or one case of it."""

    check: Check
    id: str
    points: Fraction
    subject: SubjectSpec | None


def items(task: Task) -> tuple[Item, ...]:
    """Return a task's checks in the spec's order, an item for each case: `other-models[resnet18]`."""
    return _items(task)


def _items_of(task: Task) -> tuple[Item, ...]:
    found = []
    for check in task.checks:
        if not check.cases:
            found.append(Item(check, check.id, check.points, task.subject))
            continue
        names = _case_names(check)
        shares = share(check.points, len(names))
        found += [
            Item(check, f"{check.id}[{name}]", points, case)
            for name, points, case in zip(names, shares, check.cases, strict=True)
        ]
    return tuple(found)


_items = ByIdentity(_items_of, _TASKS)  # asked for several times with each submission


def sources(item: Item) -> Iterator[tuple[QuantityCall, SubjectSpec]]:
    """Yield the quantities that a check may ask for."""
    check = item.check
    for row in check.beside:
        subject = row.subject or item.subject
        if isinstance(row.expected, QuantityCall) and subject is not None and not subject.handed_in:
            yield row.expected, subject
    for source in check.sources():
        if isinstance(source, QuantityCall) and item.subject is not None and not item.subject.handed_in:
            yield source, item.subject


def _case_names(check: Check) -> list[str]:
    names: list[str] = []
    for case in check.cases:
        same = sum(name.partition("#")[0] == case.short_name for name in names)
        names.append(case.short_name if not same else f"{case.short_name}#{same + 1}")
    return names


_DRAWN = ("normal", "uniform", "tokens")
_KEPT = (
    "Something is kept from one call to the next: a variable outside of the function, or a default argument such as "
    "`found={}`. Make it anew inside of the function."
)
_HINT = "Compute from the `input` that the function is called with; don't draw, load or remember one of your own."


def fresh_subject(task: Task, item: Item, key: bytes) -> SubjectSpec | None:
    """Return the item's subject with another input; None if its answer is no tensor that a function computes from one.

    The input of a task can be drawn again from its seed, which is public, and its tensors could be written down. The
    seed of this one follows from the course's key, the task and the item: the same for all, so that its value is
    computed once for a class, and at every regrade.
    """
    subject = item.subject
    if subject is None or not depends_on_input(task, item.check):
        return None
    if not any(each.fill in _DRAWN for each in (subject.input, *subject.further)):
        return None
    meant = json.dumps([task.lab, task.id, item.id]).encode()
    seed = int.from_bytes(hmac.new(key, meant, hashlib.sha256).digest()[:6], "big")
    further = tuple(replace(each, seed=seed + 2 + place) for place, each in enumerate(subject.further))
    return replace(subject, input=replace(subject.input, seed=seed + 1), further=further)


def with_fresh(verdict: Verdict, fresh: Verdict) -> Verdict:
    """Return the verdict on the task's own input, unless the fresh input earns less.

    How the function ended on the other input (a crash, no time left, a fault of labgrade's) is a verdict of its own.
    """
    if fresh.credit >= verdict.credit:
        return verdict
    if fresh.outcome in (Outcome.INCORRECT, Outcome.PARTIAL):
        own = "right" if verdict.credit == 1 else "better"
        reason = f"{own} on the task's own input, wrong on another one: {fresh.reason}"
        # Some of it right is no sign of an input of its own: then the hint would be false.
        return replace(fresh, reason=reason, hint=fresh.hint if fresh.credit else _HINT)
    return fresh


def depends_on_input(task: Task, check: Check) -> bool:
    """Return whether the answer is tensors that a function computes from its input."""
    wanted = task.answers[check.answer]
    calls = any(isinstance(form, CallForm) and "input" in form.given for form in wanted.forms)
    tensors = wanted.type == "tensor" or isinstance(wanted.type, TableOfType)
    return calls and tensors and check.measured is None and isinstance(check.expected, QuantityCall)


def call_before(items: Iterable[Item], item: Item) -> SubjectSpec | None:
    """Return the subject of the call that comes first where a function is called twice in one process.

    This happens once for each check, on its first subject that is small enough to cost nothing; the other is another
    case of the answer.
    """
    check, cases = item.check, [each for each in items if each.check.cases and each.subject is not None]
    small = [each for each in cases if is_small(each.subject)]
    first = next((each for each in small if each.check.id == check.id), None)
    if first is None or first.id != item.id or check.measured is not None:
        return None
    same = [each.subject for each in (*small, *cases) if each.check.answer == check.answer]
    return next((subject for subject in same if subject != item.subject), item.subject)


def called_together(items: Iterable[Item], item: Item) -> list[Item]:
    """Return the cases of an item's check for which a function may be called in one process, in this order.

    There are some only if one is small: first comes `call_before`'s, right behind it the small case that it belongs to;
    then the other small ones. Each larger network occurs once: another takes longer to build than a process to start.
    Last come the small cases with a bonus.
    """
    same = [each for each in items if each.check.cases and each.check.answer == item.check.answer]
    cases = [each for each in same if each.check.measured is None and not each.check.by_hand]
    own = [each for each in cases if each.check.id == item.check.id]
    small = [each for each in own if is_small(each.subject)]
    subject = call_before(cases, small[0]) if small else None
    before = next((each for each in cases if each.subject == subject), None)
    if small and (before is None or subject == small[0].subject):
        return []
    first = [before, small[0]] if small and before is not None else []
    found = [*first, *(each for each in small[1:] if each.subject != subject)]
    if not item.check.bonus:  # which most functions don't earn: what takes long would be called twice
        networks = {_network(each.subject): each for each in reversed([*first, *own])}
        large = [each for name, each in reversed(networks.items()) if name and not is_small(each.subject)]
        found += [each for each in large if each.subject != subject]
        beyond = (each for each in cases if each.check.bonus and is_small(each.subject) and found)
        found += [each for each in beyond if each.subject not in [other.subject for other in found]]
    return found if len(found) > 1 else []


def _network(subject: SubjectSpec | None) -> str:
    """Return what a subject's module depends on; empty for a file."""
    if subject is None or not subject.model or subject.is_onnx:
        return ""
    return json.dumps([subject.model, dict(subject.options), subject.seed], sort_keys=True)


def is_small(subject: SubjectSpec | None) -> bool:
    """Return whether the network is quick to build and run."""
    return subject is not None and subject.model.startswith("micro/")


def with_later(verdict: Verdict, later: Verdict) -> Verdict:
    """Return the verdict on a single call, unless the same call after another earns less."""
    if later.credit >= verdict.credit or later.outcome not in (Outcome.INCORRECT, Outcome.PARTIAL):
        return verdict
    own = "right" if verdict.credit == 1 else "better"
    reason = f"{own} when it is called first, wrong after a call for another subject: {later.reason}"
    return replace(later, reason=reason, hint=_KEPT)


def same_source(one: Source | None, other: Source | None) -> bool:
    """Return whether two checks ask for the same value; a published figure belongs to one subject."""
    if isinstance(one, QuantityCall) and isinstance(other, QuantityCall):
        return (one.quantity, one.parameters) == (other.quantity, other.parameters)
    return False
