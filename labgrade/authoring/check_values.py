"""What only values can tell of a spec: literals of another type, what can't be computed, what coincides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.answers.reading.typed import WrongTypeError, as_value
from labgrade.core.errors import FaultError, Mark, SpecFinding
from labgrade.core.task import LiteralValue, QuantityCall
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.core.task import Check, Source, SubjectSpec, Task
    from labgrade.run.grader import Grader

_FORWARD = QuantityCall(quantity="layer_shapes")  # needs nothing but a model that is built and runs on its input


def literals(task: Task) -> Iterator[SpecFinding]:
    """Each value that the author wrote down and that is none of the answer's type. Computes nothing."""
    for check in task.checks:
        yield from _literals(task, check)


def findings(task: Task, grader: Grader) -> Iterator[SpecFinding]:
    """All values computed: on the task's own subject compared with published figures and with each other.

    What can't be computed is a finding at its place, and the rest goes on.
    """
    for check in task.checks:
        if check.checker is None or (task.subject is not None and task.subject.handed_in):
            continue
        subjects = check.cases or (task.subject,)
        found = [finding for subject in subjects for finding in _uncomputable(task, check, grader, subject)]
        yield from found
        if not found and not any(_literals(task, check)):
            if not check.cases and task.subject is not None:
                yield from _published(task, check, grader, task.subject)
            if not check.counterexample:  # it is judged on other networks than this
                yield from _judged(task, check, grader)


def _start(task: Task) -> Mark:
    return Mark(str(task.path), 1, 1)


def _literals(task: Task, check: Check) -> Iterator[SpecFinding]:
    kind = task.answers[check.answer].type
    for source in check.sources() if check.measured is None else ():
        if isinstance(source, LiteralValue):
            try:
                as_value(source.value, kind, trusted=True)
            except WrongTypeError as error:
                yield SpecFinding(source.mark or _start(task), f"this does not fit the answer's type: {error}")


def _uncomputable(task: Task, check: Check, grader: Grader, subject: SubjectSpec | None) -> Iterator[SpecFinding]:
    """Each quantity that fails on the subject, at the subject where it is that which can't be built or run."""
    _, expect = grader.judging_of(task, check, subject)
    for source in check.sources():
        if not isinstance(source, QuantityCall) or subject is None:
            continue
        try:
            expect(source)
        except FaultError as error:
            broken = "" if subject.is_config else _broken(grader, subject)
            if broken and broken in str(error):
                what = f"'{subject.model}' can't be built or does not run on an input of {list(subject.input.shape)}"
                yield SpecFinding(subject.mark or _start(task), f"{what}: {broken}")
            else:
                yield SpecFinding(source.mark or _start(task), str(error))


def _broken(grader: Grader, subject: SubjectSpec) -> str:
    """Why the subject can't be built or run, or nothing; without the place in the code of a quantity."""
    try:
        grader.oracle.value(_FORWARD, subject)
    except FaultError as error:
        return str(error).partition(f"failed on '{subject.model}': ")[2].rpartition(" (")[0]
    return ""


def _published(task: Task, check: Check, grader: Grader, subject: SubjectSpec) -> Iterator[SpecFinding]:
    source = check.expected
    if isinstance(source, QuantityCall) and source.published is not None:
        value = grader.oracle.value(source, subject)
        if value != source.published:
            message = f"the published value is {source.published}, but {source.quantity} computes {value}"
            yield SpecFinding(source.mark or _start(task), message)


def _judged(task: Task, check: Check, grader: Grader) -> Iterator[SpecFinding]:
    """What the checker tells; one that raises is a finding, and the other checks go on."""
    try:
        yield from _coinciding(task, check, grader)
    except Exception as error:  # noqa: BLE001 - a course's own checker may raise anything
        name = check.checker.name if check.checker else ""
        yield SpecFinding(check.mark or _start(task), f"the checker '{name}' failed: {type(error).__name__}: {error}")


def _coinciding(task: Task, check: Check, grader: Grader) -> Iterator[SpecFinding]:
    """Misconceptions that are right, and pairs of them that no subject tells apart: then neither is ever claimed."""
    means = [grader.judging_of(task, check, subject) for subject in check.cases or (task.subject,)]
    if check.expected is None:
        return

    def same(one: Source, other: Source) -> bool:
        return all(judging(expect(one), expect(other)).outcome is Outcome.CORRECT for judging, expect in means)

    where = "in every case" if check.cases else "on the task's own subject"
    for known in check.misconceptions:
        if same(known.source, check.expected):
            yield SpecFinding(known.mark or _start(task), f"this misconception gives the right value {where}")
    for index, known in enumerate(check.misconceptions):
        for other in check.misconceptions[:index]:
            if same(known.source, other.source):
                line = other.mark.line if other.mark else "?"
                value = f"the same value as the one on line {line}{' in every case' if check.cases else ''}"
                message = f"this misconception gives {value}, so neither is ever claimed"
                yield SpecFinding(known.mark or _start(task), message)
