"""Mutants of an exemplar's functions, judged by a task's checks until one of them notices the mistake."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from labgrade.answers import artifacts, call
from labgrade.answers.question import Question
from labgrade.answers.reading.documents import locate
from labgrade.authoring.mutants import Mutant, mutants
from labgrade.authoring.task_trial import submission_of
from labgrade.core.errors import FaultError
from labgrade.core.task import CallForm
from labgrade.diagnosis.counterexample import plan_of
from labgrade.diagnosis.probe import Trials, values_of_each
from labgrade.diagnosis.search import available, subjects
from labgrade.judging.items import items
from labgrade.judging.judge import judge
from labgrade.run.task import TaskGrading
from labgrade.subjects.networks import MICRO
from labgrade.truth.measure import files_given
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from labgrade.core.results import Submission
    from labgrade.core.task import Check, Source, SubjectSpec, Task
    from labgrade.judging.items import Item
    from labgrade.judging.judge import Expect, Judging
    from labgrade.run.grader import Grader
    from labgrade.values import Value
    from labgrade.verdict import Verdict

_LEAST_SECONDS, _TIMES_SLOWER = 2.0, 5.0
_TINY_FILE, _SMALL_FILE, _LARGE_FILE = 256 << 10, 8 << 20, 64 << 20
_AT_ONCE = 40
_FEW = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticedBy:
    """The check that notices a mutant, and what failed where that is a fault of labgrade's."""

    by: str
    fault: str = ""


class Stage(Protocol):
    """One or several checks. `most` limits how many mutants run at a time, for memory; 0 is the number of cores."""

    @property
    def most(self) -> int:
        """Return how many mutants may run at a time."""

    def __call__(self, grader: Grader, who: Submission) -> NoticedBy | None:
        """Return what notices this work, or None if it passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparateChecks:
    """Checks of one answer for one subject, judged as a student's but without explanations."""

    task: Task
    names: tuple[str, ...]
    most: int = 0

    def __call__(self, grader: Grader, who: Submission) -> NoticedBy | None:
        """Return what notices this work, or None if it passes."""
        grading = TaskGrading(grader, self.task, who, explains=False)
        return next(filter(None, (_noticed_by(name, grading.graded(name).verdict) for name in self.names)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOfMany:
    """A single subject of a search."""

    task: Task
    check: Check
    subject: SubjectSpec
    most: int = 0

    def __call__(self, grader: Grader, who: Submission) -> NoticedBy | None:
        """Return what notices this work, or None if it passes."""
        try:
            return _noticed_by(self.check.id, Trials(grader, self.task, self.check, who)(self.subject).verdict)
        except FaultError as error:
            return NoticedBy(by=self.check.id, fault=str(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSequence:
    """Several stages as one."""

    stages: Sequence[Stage]
    most: int = 0

    def __call__(self, grader: Grader, who: Submission) -> NoticedBy | None:
        """Return what notices this work, or None if it passes."""
        return next(filter(None, (stage(grader, who) for stage in self.stages)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """One subject of several, what an answer for it is judged with, and what judges it alone. `by`: for whom."""

    by: str
    subject: SubjectSpec
    files: Mapping[str, Path]
    check: Check
    judging: Judging
    expect: Expect
    alone: Stage

    def is_right(self, value: Value) -> bool:
        return judge(self.check, value, self.judging, self.expect).outcome is Outcome.CORRECT


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Checks on small subjects, whose calls share one process."""

    task: Task
    form: CallForm
    asked: Sequence[_Asked]
    most: int = 0

    def __call__(self, grader: Grader, who: Submission) -> NoticedBy | None:
        """Return what notices this work, or None if it passes."""
        check, limits = self.asked[0].check, self.task.limits
        wanted = self.task.answers[check.answer]
        questions = [
            Question(wanted=wanted, submission=who, subject=each.subject, model=each.files, limits=limits)
            for each in self.asked
        ]
        _, values = values_of_each(grader, self.form, check, questions)
        for at, each in enumerate(self.asked):
            if at < len(values) and each.is_right(values[at]):
                continue
            if at == 0 and values:  # the first call of a process is one by itself
                return NoticedBy(by=each.by)
            if noticed := each.alone(grader, who):
                return noticed
        return None


class Planner:
    """Finds the stages by which mutants of an exemplar's work are judged.

    `took`: the checks that the exemplar is right at, and the seconds that each takes.
    """

    def __init__(self, grader: Grader, task: Task, who: Submission, took: Mapping[str, float]) -> None:
        bare = (replace(check, needs=(), misconceptions=(), partly=()) for check in task.checks)
        self._task = replace(task, checks=tuple(check for check in bare if check.checker is not None))
        self._grader, self._who, self._took = grader, who, took
        right = (item for item in items(self._task) if item.id in took)
        self._items = [item for item in right if not item.check.counterexample]

    def stages(self) -> tuple[Sequence[Stage], Sequence[Stage]]:
        """Return the stages, quickest first, and stages that judge separately what was judged together."""
        groups = self._together()
        found = [self._tried(group) for group in groups]
        again = [each.alone for group in groups for each in group if isinstance(each.alone, SeparateChecks)]
        found += self._alone({name for one in again for name in one.names})
        return [stage for stage, _ in sorted(found, key=lambda each: each[1])], again

    def _together(self) -> list[list[_Asked]]:
        """Return the stage whose calls one process can make: small subjects, and those of a search."""
        groups: dict[tuple[str, bool], list[_Asked]] = {}
        for item in self._items:
            if self._form(item.check) is not None and self._is_small(item.subject):
                key = item.check.id if item.check.measured else item.check.answer, self._is_tiny(item.subject)
                one = SeparateChecks(task=self._hurried(self._took[item.id]), names=(item.id,))
                groups.setdefault(key, []).append(self._asked(item.id, item.check, _subject(item), one))
        several = [group for group in groups.values() if len(group) > 1]
        return several + [group for check in self._searched() for group in self._random(check)]

    def _alone(self, together: set[str]) -> Iterator[tuple[Stage, float]]:
        """Yield a stage, with its seconds, for each answer and subject that remain."""
        groups: dict[str, list[Item]] = {}
        for item in self._items:
            if item.id not in together:
                key = repr((item.check.answer, item.subject if item.check.cases else None))
                groups.setdefault(key, []).append(item)
        for group in groups.values():
            seconds = sum(self._took[item.id] for item in group)
            names, most = tuple(item.id for item in group), self._most(group[0].subject)
            yield SeparateChecks(task=self._hurried(seconds), names=names, most=most), seconds

    def _tried(self, asked: list[_Asked]) -> tuple[Stage, float]:
        """Try the exemplar by a stage; return the stage and its seconds."""
        form = self._form(asked[0].check)
        begin = time.monotonic()
        if form is None or Together(task=self._task, form=form, asked=asked)(self._grader, self._who) is not None:
            return StageSequence(stages=[each.alone for each in asked]), sum(self._took.values())
        seconds = time.monotonic() - begin
        return Together(task=self._hurried(seconds), form=form, asked=asked), seconds

    def _searched(self) -> Iterator[Check]:
        return (check for check in self._task.checks if check.counterexample and check.id in self._took and available())

    def _random(self, check: Check) -> Iterator[list[_Asked]]:
        """The subjects of a search in groups."""
        if check.counterexample is None:
            return
        found = [
            self._asked(check.id, check, subject, OneOfMany(task=self._task, check=check, subject=subject))
            for subject in subjects(plan_of(self._task, check.counterexample))
        ]
        for at in range(0, len(found), _AT_ONCE):
            yield found[at : at + _AT_ONCE]

    def _asked(self, by: str, check: Check, subject: SubjectSpec, alone: Stage) -> _Asked:
        wanted = self._task.answers[check.answer]
        files = files_given(self._grader.oracle, wanted, subject, self._who)
        judging, expect = self._grader.judging_of(self._task, check, subject, self._who)
        return _Asked(
            by=by,
            subject=subject,
            files=files,
            check=check,
            judging=judging,
            expect=_computed_once(expect),
            alone=alone,
        )

    def _form(self, check: Check) -> CallForm | None:
        """Return the call form of an answer that one process may call for several subjects."""
        forms = [form for form in self._task.answers[check.answer].forms if isinstance(form, CallForm)]
        fits = artifacts.writes if check.measured else call.returns
        return forms[0] if len(forms) == 1 and fits(forms[0]) else None

    def _is_small(self, subject: SubjectSpec | None) -> bool:
        if subject is None or not subject.is_onnx:
            return subject is not None and subject.model in MICRO
        return self._file_bytes(subject) <= _SMALL_FILE

    def _is_tiny(self, subject: SubjectSpec | None) -> bool:
        return subject is None or not subject.is_onnx or self._file_bytes(subject) <= _TINY_FILE

    def _most(self, subject: SubjectSpec | None) -> int:
        large = subject is not None and subject.is_onnx and self._file_bytes(subject) > _LARGE_FILE
        return _FEW if large else 0

    def _file_bytes(self, subject: SubjectSpec) -> int:
        if subject.handed_in:
            return max((path.stat().st_size for path in self._who.folder.glob(subject.handed_in)), default=0)
        return self._grader.oracle.file(subject).stat().st_size

    def _hurried(self, seconds: float) -> Task:
        """Limit a function to five times the exemplar's seconds; a slower mutant counts as noticed."""
        limits = self._task.limits
        allowed = max(_LEAST_SECONDS, _TIMES_SLOWER * seconds)
        return replace(self._task, limits=replace(limits, seconds=min(limits.seconds, allowed)))


def _subject(item: Item) -> SubjectSpec:
    assert item.subject is not None  # noqa: S101 - what is small is there
    return item.subject


def _computed_once(expect: Expect) -> Expect:
    """The same, with each value computed once."""
    known: dict[int, Value] = {}

    def remembered(source: Source) -> Value:
        if id(source) not in known:
            known[id(source)] = expect(source)
        return known[id(source)]

    return remembered


def _noticed_by(name: str, verdict: Verdict) -> NoticedBy | None:
    """Return what notices a mutant; None where it passes as the exemplar does."""
    if verdict.outcome is Outcome.FAULT:
        return NoticedBy(by=name, fault=verdict.facts.get("fault", verdict.reason))
    return None if verdict.outcome is Outcome.CORRECT else NoticedBy(by=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class MutantResult:
    """The check that noticed a mutant, or "", and a fault of labgrade's, if that was the reason."""

    file: str
    mutant: Mutant
    noticed_by: str
    fault: str = ""


def mutants_of(task: Task, who: Submission) -> list[tuple[str, Mutant]]:
    """Return the mutants of the functions that a task calls, and of what these reach, with their file."""
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
) -> list[MutantResult]:
    """Judge each mutant by the checks, the quickest first, until one notices it.

    Needs are left out, so that a check is judged whatever came before it. `took`: the checks that the exemplar is right
    at, and their seconds. What comes through and is not `explained` is judged once more, each check by itself; what is
    explained is spared the largest files. `tell` hears how many are left, of how many.
    """
    made = mutants_of(task, who)
    if not made:
        return []
    stages, again = Planner(grader, task, who, took).stages()
    noticed: dict[int, NoticedBy] = {}
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
        MutantResult(file=file, mutant=mutant, noticed_by=found.by, fault=found.fault)
        for (file, mutant), found in ((each, noticed.get(at, NoticedBy(by=""))) for at, each in enumerate(made))
    ]


def _noticed(stage: Stage, grader: Grader, works: Mapping[int, Submission], jobs: int) -> dict[int, NoticedBy]:
    """Return which works a stage notices. Stages run in turn, since each builds its subject once."""

    def judged(who: Submission) -> NoticedBy | None:
        with tempfile.TemporaryDirectory(dir=grader.store) as store:
            return stage(grader.keeping_in(Path(store)), who)

    at_a_time = jobs or _cores()
    with ThreadPoolExecutor(min(at_a_time, stage.most or at_a_time)) as pool:
        found = dict(zip(works, pool.map(judged, works.values()), strict=True))
    return {at: each for at, each in found.items() if each is not None}


def _cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _changed(who: Submission, file: str, mutant: Mutant, folder: Path) -> Submission:
    """Write the exemplar's work with one mistake in it."""
    for each in who.files:
        target = folder / each
        target.parent.mkdir(parents=True, exist_ok=True)
        if each == file:
            target.write_text(mutant.source, encoding="utf-8")
        else:
            shutil.copyfile(who.folder / each, target)
    return submission_of(folder, who.name)
