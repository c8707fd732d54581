"""`labgrade test [TASK]`: every task is tried by its own fixtures, so that a weak one shows before students see it."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.authoring import mutation, new_course, samples
from labgrade.authoring.check_values import never_called_again
from labgrade.authoring.lazy_solutions import LazySolutions
from labgrade.authoring.slips import Slips, needed_quantities
from labgrade.authoring.task_trial import (
    differences_when_repeated,
    exemplar_of,
    grade_timed,
    points_exemplar_lacks,
    points_for_nothing,
    samples_as_expected,
    submission_of,
    why_no_exemplar,
)
from labgrade.core.errors import SpecError, UsageError
from labgrade.files.cache import missing
from labgrade.judging.items import items
from labgrade.judging.variants import own_variant
from labgrade.run import grader as pipeline
from labgrade.spec import course, load
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from labgrade.authoring.lazy_solutions import LazySolution
    from labgrade.authoring.mutants import Mutant
    from labgrade.authoring.mutation import MutantResult
    from labgrade.authoring.samples import ExplainedMutants
    from labgrade.authoring.slips import KnownSlip
    from labgrade.core.results import Submission, TaskReport
    from labgrade.core.task import Task
    from labgrade.run.grader import Grader
    from labgrade.spec.course import Course

OK, WEAK = 0, 1
_LONGEST_SAID = 60


@dataclass(slots=True, kw_only=True)
class TaskTrial:
    """What came of trying one task."""

    task: Task
    exemplar: str = ""
    samples: tuple[str, ...] = ()  # others, that come to what their files say
    problems: list[str] = field(default_factory=list)
    slips: list[KnownSlip] = field(default_factory=list)
    lazy: list[LazySolution] = field(default_factory=list)
    tried: list[MutantResult] = field(default_factory=list)
    lacking: tuple[str, ...] = ()
    explained: list[tuple[MutantResult, ExplainedMutants]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def survivors(self) -> list[MutantResult]:
        """Mutants that no check noticed and nobody explained."""
        explained = [tried for tried, _ in self.explained]
        return [tried for tried in self.tried if not tried.noticed_by and tried not in explained]

    @property
    def weak(self) -> str:
        """Say what is wrong with the task, or how much of what is wrong passes it; empty for a good task."""
        passed = sum(not each.noticed_by for each in self.lazy)
        counted = (
            (len(self.problems), "problem", ""),
            (passed, "lazy solution", " not noticed"),
            (len(self.unnoticed), "known slip", " not noticed"),
            (len(self.survivors), "mutant", " not noticed"),
        )
        return ", ".join(f"{count} {what}{'s' if count > 1 else ''}{how}" for count, what, how in counted if count)

    @property
    def unnoticed(self) -> list[KnownSlip]:
        """Return wrong values that the author names and no check of the task notices."""
        return [slip for slip in self.slips if not (any(slip.noticed.values()) or slip.library)]

    @property
    def without_occasion(self) -> int:
        """Return how many library slips give the right value on every subject of the task."""
        return sum(slip.library and not any(slip.noticed.values()) for slip in self.slips)


def add_test(parser: argparse.ArgumentParser) -> None:
    """The arguments of `test`."""
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="such as 2-1-4-macs (default: all)")
    parser.add_argument(
        "--submissions-dir", type=Path, metavar="DIR", help="where the fixtures are (default: submissions)"
    )
    parser.add_argument("--no-mutants", action="store_true", help="leave the exemplar's functions as they are")
    parser.add_argument("--matrix", action="store_true", help="show which check notices which known slip")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="how many mutants at a time (default: cores)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Try the tasks one after the other; 1 where one is weak."""
    found = course.find(Path.cwd())
    folder = options.submissions_dir or found.root / "submissions"
    if not folder.is_dir():
        message = f"there is no folder '{folder}' with fixtures; name one with --submissions-dir"
        raise UsageError(message)
    new_course.keep_schemas(found)
    tasks = _chosen(found, options.tasks)
    done = []
    with pipeline.Grader(found) as grader, tempfile.TemporaryDirectory(prefix="labgrade-empty-") as empty:
        grader.prepare(tasks)
        grader.oracle.recall(pair for task in tasks for pair in needed_quantities(task))
        trier = TaskTrier(grader, folder, Path(empty), mutants=not options.no_mutants, jobs=options.jobs)
        for task in tasks:
            trial = trier.tried(task)
            done.append(trial)
            if trial.lacking and not options.json:
                needed = f"install what it needs: pip install {' '.join(trial.lacking)}"
                print(f"{task.id}: not tried on this machine; {needed}")  # noqa: T201
            elif not options.json:
                _print_trial(trial, folder, matrix=options.matrix)
    if options.json:
        print(json.dumps([_as_plain(trial) for trial in done], indent=1, ensure_ascii=False))  # noqa: T201
    return WEAK if any(trial.weak for trial in done) else OK


def _chosen(found: Course, names: list[str]) -> list[Task]:
    read = load.read_all(load.chosen(found, names=names) if names else load.files(found.specs), found)
    if broken := [finding for each in read for finding in each.findings]:
        raise SpecError(broken)
    return [each.task for each in read if each.task is not None]


class TaskTrier:
    """Tests tasks by a folder's fixtures: the exemplar, an empty hand-in, samples, misconceptions, slips, mutants.

    Raises:
        SpecError: a file beside the fixtures can't be understood.
    """

    def __init__(self, grader: Grader, folder: Path, empty: Path, *, mutants: bool = True, jobs: int = 0) -> None:
        self._grader, self._folder, self._empty = grader, folder, empty
        self._mutants, self._jobs = mutants, jobs
        self._samples = samples.samples(folder)

    def tried(self, task: Task) -> TaskTrial:
        """Try one task; nothing runs if packages that it needs are missing."""
        if lacking := missing(task.packages):
            return TaskTrial(task=task, lacking=lacking)
        begin, grader = time.monotonic(), self._grader
        trial = TaskTrial(task=task, exemplar=exemplar_of(task, self._samples, self._folder, grader))
        trial.problems += points_for_nothing(grader, task, self._empty)
        who = submission_of(self._folder / trial.exemplar if trial.exemplar else self._empty)
        whole, task = task, own_variant(task, who.name, grader.course.key)
        report, first = grade_timed(grader, task, who)
        second = first
        if trial.exemplar:
            trial.problems += points_exemplar_lacks(report, task)
            again, second = grade_timed(grader, task, who)
            trial.problems += differences_when_repeated(report, again)
        else:
            trial.problems.append(why_no_exemplar(task, self._samples, self._folder))
        known = {trial.exemplar: report} if trial.exemplar else {}
        different = samples_as_expected(grader, whole, self._samples, self._folder, known)
        others = [each.name for each in self._samples if task.id in each.expected and each.name != trial.exemplar]
        trial.samples = tuple(name for name in others if not any(each.startswith(f"'{name}' ") for each in different))
        trial.problems += different
        slips = Slips(grader, task, who)
        trial.problems += slips.own_hints()
        trial.slips = slips.all()
        trial.problems += [finding.message for finding in never_called_again(task)]
        if trial.exemplar:
            trial.lazy = list(LazySolutions(grader, task, who).tried())
        if self._mutants and trial.exemplar:
            self._try_mutants(trial, who, _seconds(task, report, first, second))
        trial.seconds = time.monotonic() - begin
        return trial

    def _try_mutants(self, trial: TaskTrial, who: Submission, took: Mapping[str, float]) -> None:
        explained = next(sample.explained for sample in self._samples if sample.name == trial.exemplar)
        why, tell = partial(_why, explained, trial.task), partial(_progress, trial.task.id)
        tried = mutation.try_all(self._grader, trial.task, who, took, jobs=self._jobs, explained=why, tell=tell)
        _separate_explained(trial, tried, explained)


def _progress(name: str, left: int, of: int) -> None:
    """Overwrite the last line of a terminal with the progress."""
    if sys.stderr.isatty():
        said = f"{name}: {of - left} of {of} mutants are noticed so far" if left else ""
        print(f"\r\033[K{said}", end="", file=sys.stderr, flush=True)  # noqa: T201


def _seconds(
    task: Task, report: TaskReport, first: Mapping[str, float], second: Mapping[str, float]
) -> dict[str, float]:
    """Return the seconds of each check that the exemplar passes; of a measurement the longer of two runs."""
    right = [check.id for check in report.checks if check.verdict.outcome is Outcome.CORRECT]
    measured = {item.id for item in items(task) if item.check.measured}
    return {name: max(second[name], first[name]) if name in measured else second[name] for name in right}


def _why(explained: tuple[ExplainedMutants, ...], task: Task, file: str, mutant: Mutant) -> ExplainedMutants | None:
    """Return the explanation of why a mutant may survive, if there is one."""
    return next((one for one in explained if one.covers(file, mutant, task.id)), None)


def _separate_explained(trial: TaskTrial, tried: list[MutantResult], explained: tuple[ExplainedMutants, ...]) -> None:
    trial.tried = tried
    for each in tried:
        if each.fault:
            trial.problems.append(f"labgrade failed on the mutant of {each.file}:{each.mutant.line}: {each.fault}")
        why = _why(explained, trial.task, each.file, each.mutant)
        if why and each.noticed_by and why.becomes:
            trial.problems.append(f"{why.mark}: '{each.noticed_by}' notices this mutant: it does not survive")
        elif why and not each.noticed_by:
            trial.explained.append((each, why))


# ---- what is shown ---------------------------------------------------------------------------------------------


def _print_trial(trial: TaskTrial, folder: Path, *, matrix: bool) -> None:
    say: Callable[[str], None] = print
    say(f"{trial.task.id}: {f'weak ({trial.weak})' if trial.weak else 'good'}, in {trial.seconds:.1f} s")
    if trial.exemplar:
        say(f"  exemplar: {trial.exemplar}")
    _print_noticed(trial, say, matrix=matrix)
    for problem in trial.problems:
        say(f"  wrong: {problem}")
    for lazy in trial.lazy:
        if not lazy.noticed_by:
            say(f"  passes every check of '{lazy.answer}': a function that {lazy.says}")
    for slip in trial.unnoticed:
        say(f"  no check notices: {slip.says}")
    for each in trial.survivors:
        say(f"  survived: {folder / trial.exemplar / each.file}:{each.mutant.line}")
        for sign, lines in (("-", each.mutant.was), ("+", each.mutant.becomes)):
            for line in lines.split("\n"):
                say(f"    {sign} {line}")
    if matrix and trial.slips:
        _print_matrix(trial, say)


def _print_noticed(trial: TaskTrial, say: Callable[[str], None], *, matrix: bool) -> None:
    """Print how many wrong answers are noticed, and without a matrix which check notices each slip first."""
    if trial.samples:
        say(f"  samples that come to what their files say: {', '.join(trial.samples)}")
    if trial.slips:
        shown = len(trial.slips) - trial.without_occasion
        others = f"; {trial.without_occasion} more are right on every network here" if trial.without_occasion else ""
        by = "" if matrix or not shown else ", first by"
        say(f"  known slips: {shown - len(trial.unnoticed)} of {shown} are noticed{others}{by}")
        for slip in trial.slips if not matrix else ():
            first = next((name for name, seen in slip.noticed.items() if seen), "")
            if first or not slip.library:
                say(f"    {first or 'none'}: {_short(slip.says)}")
    if trial.lazy:
        say(f"  lazy solutions: {sum(bool(each.noticed_by) for each in trial.lazy)} of {len(trial.lazy)} are noticed")
    if trial.tried:
        killed = sum(bool(each.noticed_by) for each in trial.tried)
        by = ", ".join(
            f"{count} by {name}" for name, count in Counter(e.noticed_by for e in trial.tried if e.noticed_by).items()
        )
        explained = f", {len(trial.explained)} explained" if trial.explained else ""
        first = f" (first: {by})" if by else ""
        say(f"  mutants: {killed} of {len(trial.tried)} are noticed{explained}{first}")
    if not (trial.slips or trial.lazy or trial.tried or trial.lacking):
        say("  tried with the samples alone: it knows no wrong values, and has no function to change")


def _print_matrix(trial: TaskTrial, say: Callable[[str], None]) -> None:
    """Print a row for each slip and a column for each check: x noticed, . not noticed, blank not applicable."""
    names = list(dict.fromkeys(name for slip in trial.slips for name in slip.noticed))
    for number, name in enumerate(names):
        say(f"    {' ' * (number * 2)}{name}")
    marks = {True: "x", False: ".", None: "?"}
    for slip in trial.slips:
        row = " ".join(marks[slip.noticed[name]] if name in slip.noticed else " " for name in names)
        say(f"    {row}  {_short(slip.says)}")


def _short(says: str) -> str:
    said = " ".join(says.split())
    return f"{said[:_LONGEST_SAID]}{'...' if len(said) > _LONGEST_SAID else ''}"


def _as_plain(trial: TaskTrial) -> dict[str, Any]:
    return {
        "task": trial.task.id,
        "exemplar": trial.exemplar,
        "seconds": round(trial.seconds, 2),
        "lacking": list(trial.lacking),
        "wrong": trial.problems,
        "slips": [{"says": slip.says, "noticed_by": dict(slip.noticed)} for slip in trial.slips],
        "lazy": [{"answer": each.answer, "does": each.says, "noticed_by": each.noticed_by} for each in trial.lazy],
        "mutants": len(trial.tried),
        "explained": [_mutant(tried) | {"because": why.because} for tried, why in trial.explained],
        "survived": [_mutant(tried) for tried in trial.survivors],
    }


def _mutant(tried: MutantResult) -> dict[str, Any]:
    mutant = tried.mutant
    return {"file": tried.file, "line": mutant.line, "was": mutant.was, "becomes": mutant.becomes}
