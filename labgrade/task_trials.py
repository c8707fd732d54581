"""A task tried by its own fixtures: what a good task lets through, and what it notices."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labgrade import fixtures
from labgrade.errors import FaultError
from labgrade.handed_in import UnfitError
from labgrade.items import items
from labgrade.judge import judge
from labgrade.model import LiteralValue
from labgrade.results import Submission
from labgrade.task_grading import TaskGrading
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from labgrade.fixtures import Sample
    from labgrade.items import Item
    from labgrade.model import Alternative, Source, Task
    from labgrade.pipeline import Grader
    from labgrade.results import Graded, TaskReport

_PAID = frozenset({Outcome.CORRECT, Outcome.MANUAL})
_NOTHING = frozenset({Outcome.MISSING, Outcome.SKIPPED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Slip:
    """A known wrong value and the checks that notice it. None: it can't be computed for that check's subject."""

    says: str
    noticed: Mapping[str, bool | None]


def exemplar_of(task: Task, samples: Iterable[Sample], folder: Path, grader: Grader) -> str:
    """Whose work is right throughout: the exemplar if it hands anything in, else a sample that should be, or nobody."""
    for sample in samples:
        expected = sample.expected.get(task.id)
        if expected is not None:
            if all(outcome.startswith(("CORRECT", "MANUAL")) for outcome in expected.values()):
                return sample.name
        elif sample.name == fixtures.EXEMPLAR and not sample.expected:
            report = TaskGrading(grader, task, submission_of(folder / sample.name)).report()
            if any(check.verdict.outcome not in _NOTHING for check in report.checks):
                return sample.name
    return ""


def submission_of(folder: Path, name: str = "") -> Submission:
    """A folder of ours as a submission, its regular files as they are."""
    files = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and "__pycache__" not in path.parts
    )
    return Submission(name=name or folder.name, folder=folder, files=tuple(files))


# ---- what is handed in -----------------------------------------------------------------------------------------


def full_points(report: TaskReport) -> Iterator[str]:
    """What the exemplar does not get."""
    for check in report.checks:
        if check.verdict.outcome not in _PAID:
            yield f"the exemplar is {check.verdict.outcome.value} at '{check.id}': {check.verdict.reason}"


def nothing_for_nothing(grader: Grader, task: Task, empty: Path) -> Iterator[str]:
    """What a submission without files gets all the same."""
    for check in TaskGrading(grader, task, Submission(name="empty", folder=empty, files=())).report().checks:
        if check.earned or check.verdict.outcome not in _NOTHING:
            yield f"nothing handed in is {check.verdict.outcome.value} at '{check.id}', {float(check.earned):g} points"


def same_again(before: TaskReport, after: TaskReport) -> Iterator[str]:
    """What differs when the same submission is judged a second time."""
    for one, other in zip(before.checks, after.checks, strict=True):
        if _told(one) != _told(other):
            yield f"judged twice, '{one.id}' is {one.verdict.outcome.value}, then {other.verdict.outcome.value}"


def timed(grader: Grader, task: Task, who: Submission) -> tuple[TaskReport, dict[str, float]]:
    """All checks judged, and how many seconds each took."""
    grading = TaskGrading(grader, task, who)
    took: dict[str, float] = {}
    for name in grading.items:
        begin = time.monotonic()
        grading.graded(name)
        took[name] = time.monotonic() - begin
    return grading.report(), took


def _told(check: Graded) -> Graded:
    return replace(check, seconds=0.0, printed="")


def as_expected(report: TaskReport, sample: Sample) -> Iterator[str]:
    """Where a sample comes to something else than its file says."""
    wanted, got = sample.expected[report.id], fixtures.outcomes(report)
    for check in dict.fromkeys((*wanted, *got)):
        if wanted.get(check) != got.get(check):
            said, right = (each.get(check, "nothing") for each in (got, wanted))
            yield f"'{sample.name}' is {said} at '{check}', expected {right}"


# ---- known slips -----------------------------------------------------------------------------------------------


def own_hints(grader: Grader, task: Task, who: Submission) -> Iterator[str]:
    """Each misconception that its own value does not bring up on any subject, or that another's hint answers."""
    for check in task.checks:
        of_check = [item for item in items(task) if item.check is check]
        for known in check.misconceptions:
            said = [_hint(grader, task, item, known, who) for item in of_check]
            claimed = [hint for hint in said if hint is not None]
            where = f"{known.mark}: " if known.mark else ""
            if known.says not in claimed:
                yield f"{where}this value of '{check.id}' never brings up its own hint"
            for hint in sorted(set(claimed) - {"", known.says}):
                yield f"{where}this value of '{check.id}' brings up another hint: '{hint}'"


def _hint(grader: Grader, task: Task, item: Item, known: Alternative, who: Submission) -> str | None:
    """What a student with this wrong value is told; None where it is right or can't be computed."""
    try:
        judging, expect = grader.means(task, item.check, item.subject, who)
        verdict = judge(item.check, expect(known.source), judging, expect)
    except (FaultError, UnfitError):
        return None
    if verdict.outcome is Outcome.CORRECT or "fits several misconceptions" in verdict.facts:
        return None
    return verdict.hint


def slips(grader: Grader, task: Task, who: Submission) -> list[Slip]:
    """Every known wrong value of the task's answers, tried at each check of the same answer."""
    found: dict[tuple[str, str], Slip] = {}
    for check in task.checks:
        for known in check.misconceptions:
            key = (check.answer, repr(_meaning(known.source)))
            if key not in found and check.measured is None:
                own = [item for item in items(task) if item.check.answer == check.answer and _comparable(item, known)]
                noticed = {item.id: _noticed(grader, task, item, known, who) for item in own}
                found[key] = Slip(says=known.says, noticed=noticed)
    return list(found.values())


def _meaning(source: Source) -> Source:
    return replace(source, mark=None)


def _comparable(item: Item, known: Alternative) -> bool:
    """A literal is a wrong value of its own check alone."""
    own = any(known is each for each in item.check.misconceptions)
    return item.check.expected is not None and (own or not isinstance(known.source, LiteralValue))


def _noticed(grader: Grader, task: Task, item: Item, known: Alternative, who: Submission) -> bool | None:
    try:
        judging, expect = grader.means(task, item.check, item.subject, who)
        return judge(item.check, expect(known.source), judging, expect).outcome is not Outcome.CORRECT
    except (FaultError, UnfitError):
        return None
