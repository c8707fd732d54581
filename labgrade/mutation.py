"""Mutants of an exemplar's functions, judged by a task's checks until one of them notices the mistake."""

from __future__ import annotations

import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.answers.documents import locate
from labgrade.forms import CallForm
from labgrade.mutant_stages import Noticed, Planner
from labgrade.mutants import Mutant, mutants
from labgrade.task_trials import submission_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labgrade.model import Task
    from labgrade.mutant_stages import Stage
    from labgrade.pipeline import Grader
    from labgrade.results import Submission


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


def try_all(
    grader: Grader,
    task: Task,
    who: Submission,
    took: Mapping[str, float],
    *,
    jobs: int = 0,
    explained: Callable[[str, Mutant], object] = lambda _file, _mutant: None,
    tell: Callable[[int, int], None] = lambda _left, _all: None,
) -> list[Tried]:
    """Judge each mutant by the checks, the quickest first, until one notices it.

    Needs are left out, so that a check is judged whatever came before it. `took`: the checks that the exemplar is right
    at, and their seconds. What comes through and is not `explained` is judged once more, each check by itself; what is
    explained is spared the largest files. `tell` hears how many are left, of how many.
    """
    made = mutants_of(task, who)
    if not made:
        return []
    stages, again = Planner(grader, task, who, took).stages()
    noticed: dict[int, Noticed] = {}
    with tempfile.TemporaryDirectory(prefix="labgrade-mutants-") as folder:
        works = [_changed(who, file, mutant, Path(folder) / str(at)) for at, (file, mutant) in enumerate(made)]
        for place, stage in enumerate((*stages, *again)):
            left = [at for at in range(len(made)) if at not in noticed]
            if place >= len(stages) or stage.most:
                left = [at for at in left if not explained(*made[at])]
            tell(len(left), len(made))
            noticed |= _noticed(stage, grader, {at: works[at] for at in left}, jobs)
        tell(0, len(made))
    return [
        Tried(file=file, mutant=mutant, noticed_by=found.by, fault=found.fault)
        for (file, mutant), found in ((each, noticed.get(at, Noticed(by=""))) for at, each in enumerate(made))
    ]


def _noticed(stage: Stage, grader: Grader, works: Mapping[int, Submission], jobs: int) -> dict[int, Noticed]:
    """Those of some works that a stage notices. One stage after the other, since a subject is built once a stage."""

    def judged(who: Submission) -> Noticed | None:
        with tempfile.TemporaryDirectory(dir=grader.store) as store:
            return stage(grader.keeping_in(Path(store)), who)

    at_a_time = jobs or _cores()
    with ThreadPoolExecutor(min(at_a_time, stage.most or at_a_time)) as pool:
        found = dict(zip(works, pool.map(judged, works.values()), strict=True))
    return {at: each for at, each in found.items() if each is not None}


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
