"""Mutants of an exemplar's functions, judged by a task's checks until one of them notices the mistake."""

from __future__ import annotations

import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.answers.documents import locate
from labgrade.forms import CallForm
from labgrade.mutants import Mutant, mutants
from labgrade.task_grading import TaskGrading
from labgrade.task_trials import submission_of
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labgrade.model import Task
    from labgrade.pipeline import Grader
    from labgrade.results import Submission

_LEAST_SECONDS = 4.0
_TIMES_SLOWER = 5.0
_UNNOTICED = frozenset({Outcome.CORRECT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of a mutant: the check that noticed it, or nothing; and whether that is a fault of ours."""

    file: str
    mutant: Mutant
    noticed_by: str
    fault: str = ""


def mutants_of(task: Task, who: Submission) -> list[tuple[str, Mutant]]:
    """The mutants of the functions that a task calls, with their file: what these lead to in the same file."""
    wanted: dict[str, set[str]] = {}
    for answer in task.answers.values():
        for form in answer.forms:
            file = locate(who, form.file) if isinstance(form, CallForm) else None
            if isinstance(form, CallForm) and isinstance(file, str):
                wanted.setdefault(file, set()).add(form.function)
    return [
        (file, mutant)
        for file, names in wanted.items()
        for mutant in mutants((who.folder / file).read_text(encoding="utf-8"), names)
    ]


def try_all(grader: Grader, task: Task, who: Submission, took: Mapping[str, float], *, jobs: int = 0) -> list[Tried]:
    """Judge each mutant by the checks, the quickest first, until one notices it.

    Needs are left out, so that a check is judged whatever came before it. A function may take five times as long as
    the exemplar's: what takes longer was noticed. `took`: the checks that the exemplar is right at, and their seconds.
    """
    made = mutants_of(task, who)
    if not made:
        return []
    bare = replace(task, checks=tuple(replace(check, needs=()) for check in task.checks if check.checker is not None))
    order = sorted(took, key=lambda name: took[name])
    seconds = min(task.limits.seconds, max(_LEAST_SECONDS, _TIMES_SLOWER * max(took.values(), default=0.0)))
    hurried = replace(bare, limits=replace(task.limits, seconds=seconds))
    with tempfile.TemporaryDirectory(prefix="labgrade-mutants-") as folder:
        gradings = [
            TaskGrading(grader, hurried, _changed(who, file, mutant, Path(folder) / str(number)))
            for number, (file, mutant) in enumerate(made)
        ]
        noticed: dict[int, tuple[str, str]] = {}
        with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
            for name in order:  # one subject for all that are left: it is built once
                left = [number for number in range(len(made)) if number not in noticed]
                for number, fault in zip(
                    left, pool.map(_told, (gradings[at] for at in left), repeat(name)), strict=True
                ):
                    if fault is not None:
                        noticed[number] = (name, fault)
    return [
        Tried(file=file, mutant=mutant, noticed_by=noticed.get(at, ("", ""))[0], fault=noticed.get(at, ("", ""))[1])
        for at, (file, mutant) in enumerate(made)
    ]


def _told(grading: TaskGrading, name: str) -> str | None:
    """None where a mutant is as good as the exemplar; else nothing, or the fault of ours that came of it."""
    verdict = grading.graded(name).verdict
    if verdict.outcome is Outcome.FAULT:
        return verdict.facts.get("fault", verdict.reason)
    return None if verdict.outcome in _UNNOTICED else ""


def _changed(who: Submission, file: str, mutant: Mutant, folder: Path) -> Submission:
    """The exemplar's work with one mistake in it."""
    for each in who.files:
        target = folder / each
        target.parent.mkdir(parents=True, exist_ok=True)
        if each == file:
            target.write_text(mutant.source, encoding="utf-8")
        else:
            shutil.copyfile(who.folder / each, target)
    return submission_of(folder, who.name)
