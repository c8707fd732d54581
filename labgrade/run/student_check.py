"""What `labgrade check` does where nothing is remembered: it grades task by task, and shows how far it is."""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from rich.console import Console

from labgrade.core import points, student_view
from labgrade.core.results import Report, SubmissionReport
from labgrade.core.text import for_terminal
from labgrade.files import downloaded_weights
from labgrade.judging.variants import own_variant
from labgrade.reports import terminal
from labgrade.review import roster
from labgrade.review.groups import drawn_as
from labgrade.run.grader import Grader
from labgrade.run.task import TaskGrading
from labgrade.sandbox.time_limits import Patience
from labgrade.spec import course, load
from labgrade.submissions import find

if TYPE_CHECKING:
    from types import TracebackType

    from labgrade.core.errors import SpecFinding
    from labgrade.core.results import Submission, TaskReport
    from labgrade.core.task import Task
    from labgrade.judging.items import Item
    from labgrade.run.student_memory import Memory
    from labgrade.spec.course import Course


class CheckOptions(Protocol):
    """What a student asks of `labgrade check`."""

    path: Path
    course: Path | None
    lab: str | None
    task: list[str] | None
    torch_home: Path | None
    json: str | None
    html: str | None
    drawn_as: str


_SHORT = 1.0  # seconds below which nobody wonders what is going on


def run(options: CheckOptions, memory: Memory) -> tuple[Report, list[SpecFinding], bool]:
    """The student's report, what is wrong with specs, and whether Ctrl-C ended it: then it has what is known."""
    state = memory.state()
    found = course.find_for(options.path, options.course)
    specs = load.read_all(load.chosen(found, options.lab, options.task or ()), found)
    tasks = [public_task(read.task) for read in specs if read.task is not None]
    broken = [finding for read in specs for finding in read.findings]
    fresh = bool(options.json or options.html)
    with (
        tempfile.TemporaryDirectory(prefix="labgrade-store-", ignore_cleanup_errors=True) as store,
        Grader(found, torch_home=downloaded_weights.find(options.torch_home)) as grader,
        Shown(several=len(tasks) > 1 and options.json != "-") as shown,
    ):
        who = find.take(options.path, find.name_of(options.path), Path(store), opening=grader.runner.open)
        each = _Each(grader, who, memory, shown, fresh=fresh)
        student = drawn_as(roster.of_course(found.root), options.drawn_as or who.name)
        stopped = each.all([own_variant(task, student, found.key) for task in tasks])
        # To say what protects starts a server that nothing else may need, and here the code is one's own.
        notes = (*(grader.runner.protection.lines if fresh and not stopped else ()), *_by_whose_specs(found, options))
    graded = SubmissionReport(name=who.name, tasks=tuple(each.reports), remarks=who.refused)
    report = student_view.for_student(Report(submissions=(graded,), notes=notes))
    if not options.task:
        report = student_view.with_more(report, load.points_not_shown(found.specs))
    if options.html:
        now = datetime.now(UTC).astimezone().isoformat(timespec="seconds")
        report = replace(report, labs=load.lab_texts(found.specs), at=now)
    if not (fresh or broken or stopped):
        memory.keep(report, state)
    return report, broken, stopped


@dataclass
class _Each:
    """The tasks of a hand-in, one after another: those that are remembered, and the others."""

    grader: Grader
    who: Submission
    memory: Memory
    shown: Shown
    fresh: bool
    reports: list[TaskReport] = field(default_factory=list)
    patience: Patience = field(default_factory=Patience)

    def all(self, tasks: list[Task]) -> bool:
        """Grade each; whether Ctrl-C came before the end."""
        self.grader.runner.patience = self.patience
        try:
            known = {} if self.fresh else {id(task): self.memory.task(task, self.who) for task in tasks}
            self.grader.prepare([task for task in tasks if known.get(id(task)) is None])
            for task in tasks:
                report = known.get(id(task))
                if report is None:
                    report = self._graded(task)
                    if not self.fresh:
                        self.memory.keep_task(task, self.who, report)
                self.reports.append(report)
        except KeyboardInterrupt:
            return True
        return False

    def _graded(self, task: Task) -> TaskReport:
        grading = TaskGrading(self.grader, task, self.who)
        self.patience.task(task.id)
        for name in sorted(grading.items, key=lambda name: _size(grading.items[name])):
            self.shown.runs(f"{task.id} {name}")
            grading.graded(name)
        report = grading.report() if self.fresh else student_view.task_for_student(grading.report())
        self.shown.done(report)
        return report


def _size(item: Item) -> tuple[bool, int]:
    """The smallest networks first, which a search tries: a function that does not end is then known soonest."""
    subject = item.subject
    numbers = math.prod(subject.input.shape) if subject is not None and not subject.handed_in else 0
    return not item.check.counterexample, numbers


class Shown:
    """What is going on, on stderr: on a terminal what runs and since when, and each task as soon as it is done.

    Of a task alone the report says enough. `several`: there are more.
    """

    def __init__(self, *, several: bool) -> None:
        self._several = several
        self._console = Console(stderr=True, highlight=False)
        self._status = self._console.status(self, spinner="dots")
        self._what = ""
        self._since = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._status.stop()

    def __rich__(self) -> str:
        """What runs, and since when."""
        seconds = time.monotonic() - self._since
        return f"{self._what}{f', {seconds:.0f} s' if seconds >= _SHORT else ''}".replace("[", r"\[")

    def runs(self, what: str) -> None:
        """A check begins."""
        self._what, self._since = what, time.monotonic()

    def done(self, task: TaskReport) -> None:
        """A task is done."""
        if not self._several:
            return
        line = f"{task.id}  {terminal.spread(points.totals(task.checks))}"
        self._console.print(for_terminal(line), markup=False, style="dim")


def _by_whose_specs(found: Course, options: CheckOptions) -> tuple[str, ...]:
    """A warning where somebody else's folder brought what it is judged by."""
    own = Path.cwd().resolve().is_relative_to(options.path.resolve())
    if own or options.course is not None or found.root != options.path:
        return ()
    where = f"in '{options.path}' itself, which whoever made it may have changed"
    return (f"judged by the specs {where}; name others: --course",)


def public_task(task: Task) -> Task:
    """The task without its hidden checks, which are neither run nor counted for a student, with what they are worth."""
    checks = tuple(check for check in task.checks if not check.hidden)
    shown = sum((check.points for check in checks if not check.bonus), Fraction(0))
    others = None if task.hidden_points is None else task.hidden_points + task.points - shown
    seen = tuple(map(public_task, task.variants))
    return replace(task, variants=seen, checks=checks, points=shown, hidden_points=others)
