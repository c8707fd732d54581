"""What only computing can tell of a spec: published values that differ, misconceptions that are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.errors import Finding, Mark
from labgrade.model import QuantityCall
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.model import Alternative, Check, Task
    from labgrade.pipeline import Grader


def findings(task: Task, grader: Grader) -> Iterator[Finding]:
    """Each published figure recomputed, each misconception compared with the right value on the task's own subject."""
    start = Mark(str(task.path), 1, 1)
    for check in task.checks:
        if check.checker is None or task.subject is None or task.subject.handed_in:
            continue
        source = check.expected
        if isinstance(source, QuantityCall) and source.published is not None and not check.cases:
            value = grader.oracle.value(source, task.subject)
            if value != source.published:
                message = f"the published value is {source.published}, but {source.quantity} computes {value}"
                yield Finding(source.mark or start, message)
        if not check.cases:
            yield from _coinciding(task, check, grader, start)


def _coinciding(task: Task, check: Check, grader: Grader, start: Mark) -> Iterator[Finding]:
    judging, expect = grader.means(task, check, task.subject)
    if check.expected is None:
        return
    right = expect(check.expected)

    def same(one: Alternative) -> bool:
        return judging(expect(one.source), right).outcome is Outcome.CORRECT

    for known in check.misconceptions:
        if same(known):
            yield Finding(known.mark or start, "this misconception gives the right value on the task's own subject")
    for index, known in enumerate(check.misconceptions):
        for other in check.misconceptions[:index]:
            if judging(expect(known.source), expect(other.source)).outcome is Outcome.CORRECT:
                line = other.mark.line if other.mark else "?"
                message = (
                    f"this misconception gives the same value as the one on line {line}, so neither is ever claimed"
                )
                yield Finding(known.mark or start, message)
