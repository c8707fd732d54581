"""That a function does not use what it is given: in a case its value is that of what the task itself gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.errors import FaultError
from labgrade.core.task import QuantityCall
from labgrade.truth.measure import UnfitError
from labgrade.values import Number
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from labgrade.core.results import Submission
    from labgrade.core.task import SubjectSpec, Task
    from labgrade.diagnosis.probe import ProbeGrader
    from labgrade.judging.items import Item
    from labgrade.values import Value

_LABEL = "name"
_TELLING = 10


def says(grader: ProbeGrader, task: Task, submission: Submission, item: Item, value: Value) -> str:
    """Return the argument, or key of a config, that a function ignores in a case; an empty text if that is not sure."""
    own, case, source = task.subject, item.subject, item.check.expected
    if own is None or case is None or not item.check.cases or not isinstance(source, QuantityCall):
        return ""
    if isinstance(value, str) or (isinstance(value, Number) and abs(value.value) < _TELLING):
        return ""  # one of few words, or a small number, comes of other mistakes, too
    try:
        found = [words for words, given in _given(own, case) if _fits(grader, task, submission, item, given, value)]
    except (FaultError, UnfitError):
        return ""
    return found[0] if len(found) == 1 else ""


def _fits(
    grader: ProbeGrader, task: Task, submission: Submission, item: Item, given: SubjectSpec, value: Value
) -> bool:
    source = item.check.expected
    assert source is not None  # noqa: S101 - `says`
    judging, expect = grader.judging_of(task, item.check, given, submission)
    return judging(value, expect(source)).outcome is Outcome.CORRECT


def _given(own: SubjectSpec, case: SubjectSpec) -> Iterator[tuple[str, SubjectSpec]]:
    """Yield a sentence, and the case with one value as in the task itself, for which it would be true."""
    for name in _changed(own.arguments, case.arguments):
        is_file = isinstance(own.arguments[name], Path)
        value = "the task's own file" if is_file else f"{name} = {own.arguments[name]!r}"
        yield _sentence(name, value), replace(case, arguments={**case.arguments, name: own.arguments[name]})
    if own.is_config and case.is_config:
        for key in _changed(own.options, case.options):
            value = (
                f"{key} = {own.options[key]!r}" if isinstance(own.options[key], int | float | str) else "the task's own"
            )
            yield _sentence(key, value), replace(case, options={**case.options, key: own.options[key]})


def _sentence(name: str, value: str) -> str:
    return f"`{name}` is not used: this is what comes of {value}, whatever the function is given."


def _changed(own: Mapping[str, Any], case: Mapping[str, Any]) -> list[str]:
    return [name for name, value in own.items() if name != _LABEL and name in case and case[name] != value]
