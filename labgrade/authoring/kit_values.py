"""What of a course's own quantities a kit gives: values for the public subjects, and no line of the code.

The code that computes ground truth is the course's solution. A check that needs it has its expected values written
out, where that gives nothing away: where the answer is a function. What may be handed in as a value is written out only
where the task says `self_check: values`. What can't be written out is left to staff, who grade what is handed in.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeGuard

from labgrade.answers.obtain import is_live
from labgrade.core.errors import FaultError
from labgrade.core.task import QuantityCall
from labgrade.spec import public
from labgrade.spec.data import OTHER_VALUES, answers_of
from labgrade.spec.kinds import HIDDEN_POINTS
from labgrade.verdict import as_credit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from labgrade.core.task import Alternative, Check, Source, SubjectSpec, Task

    Compute = Callable[[QuantityCall, SubjectSpec], object]

_MOST_NUMBERS = 10_000  # that a task's file holds: what is more takes long to read
_WHY = {
    "cases": "it is about several subjects",
    "counterexample": "it computes what is right for random networks",
    "measured": "it measures what is handed in",
    "subject": "it is about a file that is handed in",
    "answer": "its value may be handed in as the answer; `self_check: values` in the task gives it all the same",
    "value": "what it expects is no plain value, or more than 10,000 numbers",
}


def with_literal_values(
    data: dict[str, Any], task: Task, own: set[str], compute: Compute
) -> tuple[dict[str, Any] | None, list[str]]:
    """Return a task's public part with values in place of its course's `own` quantities, and what was left out and why.

    None where no check is left. `task` is the whole task, `compute` gives a quantity of a subject.

    Raises:
        FaultError: an expected value can't be computed.
    """
    by_id = {check.id: check for check in task.checks}
    kept, told = [], []
    for check in data["checks"]:
        why = _reason(check, by_id[check["id"]], task, own)
        found = None if why else _literal(check, by_id[check["id"]], task, own, compute)
        if found is None:
            told.append(f"{task.id} {check['id']}: {_WHY[why or 'value']}")
        else:
            kept.append(found)
    if not told:
        return {**data, "checks": kept}, []
    names = {check["id"] for check in kept}
    if any(set(check.get("needs", ())) - names for check in kept):
        kept = [{**check, "needs": [each for each in check.get("needs", ()) if each in names]} for check in kept]
        kept = [{name: value for name, value in check.items() if name != "needs" or value} for check in kept]
    points = public.worth(kept)
    others = public.worth(data["checks"]) - points + as_credit(data.get(HIDDEN_POINTS, 0))
    judged = {name for check in kept for _, name in answers_of(check)}
    answers = {name: answer for name, answer in data["answers"].items() if name in judged}
    sums = {
        "points": public.points_as_number(points),
        **({HIDDEN_POINTS: public.points_as_number(others)} if others else {}),
    }
    return ({**data, **sums, "answers": answers, "checks": kept} if kept else None), told


def _reason(data: dict[str, Any], check: Check, task: Task, own: set[str]) -> str:
    """Return why a check needs the course's code, as a word, or ""."""
    if not own & set(names_under(data, "quantity")):
        return ""
    if check.cases or check.counterexample:
        return "cases" if check.cases else "counterexample"
    if check.measured is not None and check.measured.quantity in own:
        return "measured"
    if task.subject is None or task.subject.handed_in:
        return "subject"
    values = not all(is_live(form) for form in task.answers[check.answer].forms)
    return "answer" if values and task.self_check != "values" else ""


def _literal(data: dict[str, Any], check: Check, task: Task, own: set[str], compute: Compute) -> dict[str, Any] | None:
    """Replace the course's own quantities in a check by values; None if the right value is no plain data."""
    found = copy.deepcopy(data)
    subject = task.subject
    if not own & set(names_under(data, "quantity")) or subject is None:
        return found
    if _is_own(check.expected, own):
        value = _tensors_as_lists(compute(check.expected, subject))
        if not _is_plain(value) or _count(value) > _MOST_NUMBERS:
            return None
        found["expected"] = {"literal": value}
    for word in OTHER_VALUES:
        sources: Iterable[Alternative] = getattr(check, word)
        rows = [
            _alternative(row, each.source, subject, own, compute)
            for row, each in zip(found.get(word, ()), sources, strict=True)
        ]
        found.pop(word, None)
        if left := [row for row in rows if row is not None]:
            found[word] = left
    return found


def _alternative(
    row: dict[str, Any], source: Source, subject: SubjectSpec, own: set[str], compute: Compute
) -> dict[str, Any] | None:
    """Write out a misconception or another right value; None if it does not exist for this subject."""
    if not _is_own(source, own):
        return row
    try:
        value = _tensors_as_lists(compute(source, subject))
    except FaultError:
        return None
    return {**row, "value": {"literal": value}} if _is_plain(value) and _count(value) <= _MOST_NUMBERS else None


def _is_own(source: Source | None, own: set[str]) -> TypeGuard[QuantityCall]:
    return isinstance(source, QuantityCall) and source.quantity in own


def _tensors_as_lists(value: object) -> object:
    """Convert a value's tensors to lists of numbers."""
    if isinstance(value, dict):
        return {key: _tensors_as_lists(each) for key, each in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


def _count(value: object) -> int:
    """Count the numbers and texts in a value."""
    if isinstance(value, dict):
        return sum(map(_count, value.values()))
    return sum(map(_count, value)) if isinstance(value, list | tuple) else 1


def _is_plain(value: object) -> bool:
    """Return whether JSON and YAML can hold a value."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(each) for key, each in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | int | float | bool)


def names_under(value: Any, key: str) -> Iterator[str]:
    """Yield every name under `key`: a text, or the only key of a mapping."""
    if isinstance(value, dict):
        if key in value:
            yield value[key] if isinstance(value[key], str) else next(iter(value[key]))
        for item in value.values():
            yield from names_under(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from names_under(item, key)
