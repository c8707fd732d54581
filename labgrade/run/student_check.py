"""`labgrade check` where nothing is remembered: grades task by task, and shows its progress."""

from __future__ import annotations

import contextlib
import math
import tempfile
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from rich.console import Console

from labgrade.answers.python_source import functions_behind
from labgrade.core import points, student_view
from labgrade.core.results import Report, SubmissionReport
from labgrade.core.task import CallForm
from labgrade.core.text import for_terminal
from labgrade.files import downloaded_weights
from labgrade.judging.variants import own_variant
from labgrade.ledger import memory as verdicts
from labgrade.reports import terminal
from labgrade.reports.summary import missing_task
from labgrade.review import roster
from labgrade.review.groups import drawn_as
from labgrade.run.grader import Grader
from labgrade.run.task import TaskGrading
from labgrade.run.texts import what_was_read
from labgrade.sandbox.time_limits import FIRST_LOOK, NotYetError, Patience
from labgrade.spec import course, load
from labgrade.submissions import find
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from labgrade.core.errors import SpecFinding
    from labgrade.core.results import Graded, Submission, TaskReport
    from labgrade.core.task import Task
    from labgrade.judging.items import Item
    from labgrade.ledger.verdict_memory import MemoryBook
    from labgrade.run.student_memory import Memory
    from labgrade.spec.course import Course


class CheckOptions(Protocol):
    """The options of `labgrade check`."""

    path: Path
    course: Path | None
    lab: str | None
    task: list[str] | None
    torch_home: Path | None
    json: str | None
    html: str | None
    read: bool
    drawn_as: str


_SHORT = 1.0  # seconds below which nobody wonders what is going on
_REFRESHED = 4  # times a second: a watch may run for hours
WRONG = frozenset({Outcome.INCORRECT, Outcome.PARTIAL})


@dataclass(frozen=True, slots=True)
class Checked:
    """The student's report, errors of specs, and whether Ctrl-C ended the run; then the report has what is known.

    `lines`: how many were printed before. `read`: what was read of a report, where that was asked for. `failed`: why
    labgrade, or the course's code, failed, which is for staff.
    """

    report: Report
    broken: list[SpecFinding]
    stopped: bool
    lines: int
    read: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def run(options: CheckOptions, memory: Memory) -> Checked:
    """Grade what is not remembered, and show the progress."""
    state = memory.state()
    found = course.find_for(options.path, options.course)
    specs = load.read_all(load.chosen(found, options.lab, options.task or ()), found)
    tasks = [public_task(read.task) for read in specs if read.task is not None]
    broken = [finding for read in specs for finding in read.findings]
    fresh = bool(options.json or options.html or options.read)
    weights = downloaded_weights.find(options.torch_home)
    with (
        tempfile.TemporaryDirectory(prefix="labgrade-store-", ignore_cleanup_errors=True) as store,
        Grader(found, torch_home=weights) as grader,
        Shown(Console(stderr=True, highlight=False), several=len(tasks) > 1 and options.json != "-") as shown,
    ):
        who = find.take(options.path, find.name_of(options.path), Path(store), opening=grader.runner.open)
        each = _Each(grader, who, memory, shown, fresh=fresh, weights=weights)
        student = drawn_as(roster.of_course(found.root), options.drawn_as or who.name)
        tasks = [own_variant(task, student, found.key) for task in tasks]
        stopped = each.all(tasks)
        # To say what protects starts a server that nothing else may need, and here the code is one's own.
        notes = (*(grader.runner.protection.lines if fresh and not stopped else ()), *_by_whose_specs(found, options))
        reports = with_causes(tasks, each.reports, who)
        seen = [student_view.task_for_student(each) for each in reports] if options.read else []
        read = what_was_read.told(grader.reader, tasks, seen, who) if options.read else []
    graded = SubmissionReport(name=who.name, tasks=tuple(reports), remarks=who.refused)
    report = student_view.for_student(Report(submissions=(graded,), notes=notes))
    if not options.task:
        report = student_view.with_hidden_worth(report, load.points_not_shown(found.specs))
    if options.html:
        now = datetime.now(UTC).astimezone().isoformat(timespec="seconds")
        report = replace(report, labs=load.lab_texts(found.specs), at=now)
    if not (fresh or broken or stopped):
        memory.keep(report, state)
    return Checked(report, broken, stopped, shown.lines, read, each.failed)


@dataclass
class _Each:
    """Grades the tasks of a hand-in one after another, or recalls them.

    What does not end in a first look waits until all else is done.
    """

    grader: Grader
    who: Submission
    memory: Memory
    shown: Shown
    fresh: bool
    weights: Path | None = None
    found: dict[int, TaskReport] = field(default_factory=dict)  # by the place of the task
    failed: list[str] = field(default_factory=list)
    patience: Patience = field(default_factory=lambda: Patience(first_look=FIRST_LOOK))

    @property
    def reports(self) -> list[TaskReport]:
        """Return the known reports in the order of the tasks."""
        return [report for _, report in sorted(self.found.items())]

    def all(self, tasks: list[Task]) -> bool:
        """Grade each task; return whether Ctrl-C came before the end."""
        self.grader.runner.patience = self.patience
        try:
            known = {} if self.fresh else {at: self.memory.task(task, self.who) for at, task in enumerate(tasks)}
            self.found = {at: report for at, report in known.items() if report is not None}
            left = {at: task for at, task in enumerate(tasks) if at not in self.found}
            self.grader.prepare(left.values())
            with self._books() as book:
                gradings = {at: TaskGrading(self.grader, task, self.who, book(task)) for at, task in left.items()}
                self._all(gradings)
        except KeyboardInterrupt:
            return True
        return False

    def _all(self, gradings: dict[int, TaskGrading]) -> None:
        slow = {at: grading for at, grading in gradings.items() if not self._graded(at, grading)}
        self.patience.first_look = 0
        for at, grading in slow.items():
            self._graded(at, grading)

    @contextlib.contextmanager
    def _books(self) -> Iterator[Callable[[Task], MemoryBook | None]]:
        """Yield what opens a task's memory of verdicts, which `grade` and `pytest` share."""
        if self.fresh or not verdicts.memory_exists():
            yield lambda _: None
            return
        from labgrade.ledger.depends import VerdictParts
        from labgrade.ledger.verdict_memory import MemoryBook, SubmissionKeys

        memory = verdicts.VerdictMemory(lambda: self.grader.runner.protection.tier != "D")
        keys = SubmissionKeys(VerdictParts(self.grader.course, self.weights), self.who)
        with contextlib.closing(memory):
            yield lambda task: MemoryBook(memory, keys, task)

    def _graded(self, at: int, grading: TaskGrading) -> bool:
        """Grade a task as far as somebody waits for it; return whether that is all of it."""
        task, ended = grading.task, True
        self.patience.task(task.id)
        for name in sorted(grading.items, key=lambda name: _size(grading.items[name])):
            self.shown.runs(f"{task.id} {name}")
            try:
                grading.graded(name)
            except NotYetError as error:
                if ended:
                    self.shown.waits(task.id, str(error))
                ended = False
        if ended:
            whole = grading.report()
            why = ((check.id, check.verdict.facts.get("fault")) for check in whole.checks)
            self.failed += [f"{task.id} {name} failed: {said}" for name, said in why if said]
            report = whole if self.fresh else student_view.task_for_student(whole)
            self.found[at] = report
            if not self.fresh:
                self.memory.keep_task(task, self.who, report)
            self.shown.done(report)
        return ended


def _size(item: Item) -> tuple[bool, int]:
    """Sort the smallest networks first, so that a function that does not end shows soonest."""
    subject = item.subject
    numbers = math.prod(subject.input.shape) if subject is not None and not subject.handed_in else 0
    return not item.check.counterexample, numbers


class Shown:
    """The display of a check: on a terminal what runs and since when, and each task once it is done.

    Of a task alone the report says enough. `several`: there are more. `lines`: how many were printed.
    """

    def __init__(self, console: Console, *, several: bool) -> None:
        self._several = several
        self._console = console
        self._status = console.status(self, spinner="dots", refresh_per_second=_REFRESHED)
        self._what = ""
        self._since = time.monotonic()
        self.lines = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.rests()

    def __rich__(self) -> str:
        """Show what runs, and since when."""
        seconds = time.monotonic() - self._since
        return f"{self._what}{f', {seconds:.0f} s' if seconds >= _SHORT else ''}".replace("[", r"\[")

    def runs(self, what: str) -> None:
        """Show that a check begins."""
        self._what, self._since = what, time.monotonic()
        if self._console.is_terminal:
            self._status.start()

    def rests(self) -> None:
        """Show that nothing runs."""
        self._status.stop()

    def waits(self, task: str, function: str) -> None:
        """Show that a function did not end in a first try."""
        self._line(f"{task}  {function} runs for longer than {FIRST_LOOK:g} s: what is left comes first")

    def done(self, task: TaskReport) -> None:
        """Show a finished task, unless it was not handed in."""
        if self._several and missing_task(task) is None:
            self._line(f"{task.id}  {terminal.spread(points.totals(task.checks))}")

    def _line(self, text: str) -> None:
        self.lines += 1
        self._console.print(for_terminal(text), markup=False, style="dim")


def _by_whose_specs(found: Course, options: CheckOptions) -> tuple[str, ...]:
    """Return a warning where another person's folder brings the specs."""
    own = Path.cwd().resolve().is_relative_to(options.path.resolve())
    if own or options.course is not None or found.root != options.path:
        return ()
    where = f"in '{options.path}' itself, which whoever made it may have changed"
    return (f"judged by the specs {where}; name others: --course",)


def public_task(task: Task) -> Task:
    """Return the task without its hidden checks, which a student does not run, and what those are worth."""
    checks = tuple(check for check in task.checks if not check.hidden)
    shown = sum((check.points for check in checks if not check.bonus), Fraction(0))
    others = None if task.hidden_points is None else task.hidden_points + task.points - shown
    seen = tuple(map(public_task, task.variants))
    return replace(task, variants=seen, checks=checks, points=shown, hidden_points=others)


def with_causes(tasks: Iterable[Task], reports: Iterable[TaskReport], who: Submission) -> list[TaskReport]:
    """Return the reports; a check that is wrong because its function calls a wrong one says only that.

    A verdict that says by itself what is wrong stays as it is.
    """
    reports = list(reports)
    asked = {(task.lab, task.id): task for task in tasks}
    called = {
        (report.lab, report.id, check.id): function
        for report in reports
        for check in report.checks
        if (function := function_of(asked[report.lab, report.id], check))
    }
    wrong = {
        called[report.lab, report.id, check.id]
        for report in reports
        for check in report.checks
        if check.verdict.outcome in WRONG and (report.lab, report.id, check.id) in called
    }
    return [
        replace(
            report,
            checks=tuple(
                with_cause(check, called.get((report.lab, report.id, check.id)), wrong, who) for check in report.checks
            ),
        )
        for report in reports
    ]


def function_of(task: Task, check: Graded) -> tuple[str, str] | None:
    """Return the file and name of the function behind a check of which only the cases are tried."""
    asked = next((each for each in task.checks if each.id == check.id.partition("[")[0]), None)
    if asked is None or asked.counterexample:
        return None
    forms = [form for form in task.answers[asked.answer].forms if isinstance(form, CallForm)]
    found = ((form.file, form.function) for form in forms if check.answer_from == f"{form.file}:{form.function}")
    return next(found, None)


def with_cause(check: Graded, function: tuple[str, str] | None, wrong: set[tuple[str, str]], who: Submission) -> Graded:
    """Return a check of a `function` with what to mend first, where it calls one of the `wrong` functions."""
    verdict = check.verdict
    known = verdict.hint or (verdict.diagnosis is not None and verdict.diagnosis.says)
    if function is None or verdict.outcome not in WRONG or known:
        return check
    file, name = function
    behind = sorted(each for each in functions_behind(who, file, name) if (file, each) in wrong)
    if not behind or any(name in functions_behind(who, file, each) for each in behind):
        return check
    says = f"{name} calls {' and '.join(behind)}, which {'is' if len(behind) == 1 else 'are'} wrong: mend that first"
    return replace(check, verdict=replace(verdict, hint=says, lines=(), picture=(), diagnosis=None))
