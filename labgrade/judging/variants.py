"""The variant of a task that is a student's own, and the right value of another student's, recognised as just that."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.core.errors import FaultError, UsageError
from labgrade.judging.items import items
from labgrade.judging.judge import judge
from labgrade.truth.measure import UnfitError
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from labgrade.core.task import Check, SubjectSpec, Task
    from labgrade.judging.items import Item
    from labgrade.judging.judge import Expect, Judging
    from labgrade.spec.course import Course
    from labgrade.values import Value
    from labgrade.verdict import Verdict

    JudgingOf = Callable[[Task, Check, SubjectSpec | None], tuple[Judging, Expect]]

KEY = "course.key"
_KEY_BYTES = 16  # of fewer all can be tried
_WRONG = (Outcome.INCORRECT, Outcome.PARTIAL)


def missing_key_findings(found: Course, tasks: Iterable[Task]) -> tuple[str, ...]:
    """Return a warning if variants are drawn without a proper key."""
    said = weak_key_warning(found)
    return (said,) if said and any(task.variants for task in tasks) else ()


def weak_key_warning(found: Course) -> str:
    """Say why variants are not secret, or "" if the course has a proper key."""
    size = len(found.key)
    if size >= _KEY_BYTES:
        return ""
    has = f"'{KEY}' has {size} byte{'s' if size > 1 else ''}"
    what = has if size else f"'{KEY}' is empty" if (found.root / KEY).is_file() else f"there is no '{KEY}'"
    return (
        f"{what}: each student's variant follows from what anybody knows. Before the first kit is handed out, make a "
        f"key, and keep it: head -c 32 /dev/urandom > {KEY}"
    )


def own_variant(task: Task, student: str, key: bytes) -> Task:
    """Return the task as this student has it, drawn from the course's key and the name; the same at every regrade."""
    if not task.variants or task.variant:
        return task
    meant = json.dumps([task.lab, task.id, student]).encode()
    number = int.from_bytes(hmac.new(key, meant, hashlib.sha256).digest()[:8], "big")
    return replace(task.variants[number % len(task.variants)], variants=task.variants)


def variant_of(task: Task, student: str, key: bytes) -> Task:
    """Return the task as the named student has it.

    Raises:
        UsageError: nobody is named, and each has another.
    """
    if task.variants and not student:
        message = f"each student has a variant of '{task.id}': name the one whose is meant, --for NAME"
        raise UsageError(message)
    return own_variant(task, student, key)


def all_variants(tasks: Iterable[Task]) -> Iterator[Task]:
    """Yield the tasks as all students together have them."""
    for task in tasks:
        yield from task.variants or (task,)


def with_variant(verdict: Verdict, value: Value, item: Item, task: Task, judging_of: JudgingOf) -> Verdict:
    """Return the verdict, for staff with the variant; of a wrong value, with the variant for which it is right."""
    verdict = replace(verdict, facts={**verdict.facts, "variant": task.variant})
    if verdict.outcome not in _WRONG or verdict.agrees:
        return verdict
    other = next((each for each in task.variants if _is_right(value, item, task, each, judging_of)), None)
    if other is None:
        return verdict
    remarks = (*verdict.remarks, f"the right value of another student's variant: {other.variant}")
    hint = verdict.hint or (
        f"This is right for another student's variant ({other.variant}), and yours is {task.variant}: "
        "work on the subject of your own kit."
    )
    return replace(verdict, remarks=remarks, hint=hint)


def _is_right(value: Value, item: Item, task: Task, other: Task, judging_of: JudgingOf) -> bool:
    if other.variant == task.variant:
        return False
    same = next((each for each in items(other) if each.id == item.id), None)
    if same is None or same.subject == item.subject:
        return False
    try:
        judging, expect = judging_of(other, same.check, same.subject)
        return (
            judge(replace(same.check, misconceptions=(), partly=()), value, judging, expect).outcome is Outcome.CORRECT
        )
    except (FaultError, UnfitError):
        return False
