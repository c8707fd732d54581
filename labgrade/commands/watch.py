"""`labgrade check --watch`: the verdict on what was just saved, while servers stay warm.

Functions whose code changed come first. Searches for the smallest wrong network follow in a thread of their own, which
the next save does not wait for: what it still finds out then is about files that are no more, and is dropped.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import tempfile
import threading
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from labgrade.authoring.public_source import binds, reachable_names
from labgrade.core import points, student_view
from labgrade.core.errors import UsageError
from labgrade.core.results import CLUTTER, Report, SubmissionReport, TaskReport
from labgrade.core.task import CallForm
from labgrade.files import downloaded_weights
from labgrade.judging.variants import own_variant
from labgrade.reports import student_terminal, summary, terminal
from labgrade.reports.plain_page import Page
from labgrade.review import roster
from labgrade.review.groups import drawn_as
from labgrade.run.grader import Grader
from labgrade.run.student_check import public_task
from labgrade.run.task import TaskGrading
from labgrade.sandbox.time_limits import Patience
from labgrade.spec import course, load
from labgrade.submissions import find
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterator

    from labgrade.core.results import Graded, Submission
    from labgrade.core.task import Task
    from labgrade.judging.items import Item

_QUIET_MS = 40  # after a save, until nothing more is written
_STEP_MS = 20
_LOOK_MS = 200  # between looks at whether Ctrl-C was pressed

_AS_ABOVE = "the same as above"
_NO_ANSWER = frozenset({Outcome.MISSING, Outcome.SKIPPED})
_SEARCHED = frozenset({*terminal.BROKEN, Outcome.INCORRECT})  # a search may call a crash wrong

Place = tuple[str, str, str]  # lab, task, check


def watch(options: argparse.Namespace) -> int:
    """Check at each save until Ctrl-C.

    Raises:
        UsageError: watchfiles is not installed, or it is no folder that is named.
    """
    if importlib.util.find_spec("watchfiles") is None:
        message = "--watch needs watchfiles: pip install watchfiles"
        raise UsageError(message)
    if not options.path.is_dir():
        message = f"--watch: '{options.path}' is no folder"
        raise UsageError(message)
    found = course.find_for(options.path, options.course)
    specs = load.read_all(load.chosen(found, options.lab, options.task or ()), found)
    student = drawn_as(roster.of_course(found.root), options.drawn_as or find.name_of(options.path))
    tasks = [own_variant(public_task(each.task), student, found.key) for each in specs if each.task is not None]
    stop = threading.Event()
    with Grader(found, torch_home=downloaded_weights.find(options.torch_home)) as grader:
        session = Session(grader, tasks, options.path, Console(highlight=False))
        # Watched before the first round: what is saved meanwhile is seen after it.
        changes = _saves(options.path, stop)
        with contextlib.suppress(KeyboardInterrupt):
            next(changes)  # begins to watch
            session.begin(stop)
            for changed in changes:
                if changed:
                    session.begin(stop)
        stop.set()
        session.close()
    if session.failed is not None:
        raise session.failed
    return 0


def _saves(folder: Path, stop: threading.Event) -> Iterator[object]:
    """What was saved in a folder, each time; nothing, now and then, so that Ctrl-C is heard."""
    import watchfiles

    return watchfiles.watch(
        folder,
        watch_filter=lambda _, path: not CLUTTER & set(Path(path).parts),
        debounce=_QUIET_MS,
        step=_STEP_MS,
        stop_event=stop,
        yield_on_timeout=True,
        rust_timeout=_LOOK_MS,
        raise_interrupt=True,
    )


@dataclass
class _Round:
    """One state of the folder: its copy, and what is still to be looked for in it."""

    number: int
    who: Submission
    store: tempfile.TemporaryDirectory[str]
    gradings: dict[str, TaskGrading] = field(default_factory=dict)
    broken: dict[str, list[Graded]] = field(default_factory=dict)  # by the reason, which is shown once
    empty: dict[str, int] = field(default_factory=dict)  # checks without an answer or a point before, by task
    said: set[str] = field(default_factory=set)  # the hints that were shown


class Session:
    """What is known of a folder's checks, from save to save."""

    def __init__(self, grader: Grader, tasks: list[Task], path: Path, console: Console) -> None:
        self._grader, self._tasks, self._path, self._console = grader, tasks, path, console
        self._known: dict[Place, Graded] = {}
        self._digests: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()
        self._number = 0
        self._gone: list[Path] = []
        self._turn = threading.Lock()
        self._unjudged: set[tuple[str, str]] = set()
        self._shown = False
        self.failed: Exception | None = None
        grader.prepare(tasks)

    def begin(self, stop: threading.Event) -> None:
        """Check what lies there now, in a thread; what is under way from before ends at its next check.

        What goes wrong with a round is kept in `failed`, and sets `stop`.
        """
        with self._lock:
            self._number += 1
        threading.Thread(target=self._run, args=(self._number, stop), daemon=True).start()

    def _run(self, number: int, stop: threading.Event) -> None:
        with self._turn:
            try:
                if number == self._number:
                    self._round(number)
            except Exception as error:  # noqa: BLE001 - the command raises it
                if number == self._number:
                    self.failed = error
                    stop.set()

    def _round(self, number: int) -> None:
        """What changed is shown as soon as it is known, searches follow."""
        first = not self._shown
        self._console.print(f"{datetime.now().astimezone():%H:%M:%S} checking", style="dim")
        current = self._taken(number)
        self._grader.runner.patience = Patience(self._gone)
        self._gone.append(current.who.folder)
        self._unjudged |= self._changed(current.who)
        ordered = sorted(self._items(current, search=False), key=lambda each: each[2] not in self._unjudged)
        for grading, item, _ in ordered:
            self._judge(current, grading, item, quiet=first)
            if number != self._number:
                return
        self._unjudged, self._shown = set(), True
        if first:
            student_terminal.render(student_view.for_student(self._report(current)), console=self._console)
            self._console.print("checks again at each save; Ctrl-C ends it", style="dim")
        else:
            self._tell_of_repeats(current)
            self._console.print(f"{self._total(current)}", markup=False, style="bold")
        threading.Thread(target=self._search, args=(current,), daemon=True).start()

    def _tell_of_repeats(self, current: _Round) -> None:
        """How much is wrong for one reason, which was shown once."""
        for reason, checks in current.broken.items():
            if len(checks) > 1:
                worth = sum((each.points - each.earned for each in checks if not each.bonus), Fraction(0))
                first = reason.partition("\n")[0]
                text = f"{len(checks)} checks, {summary.points(worth)} points, depend on this: {first}"
                Page(self._console).line((text, "red"), hang=2)
        if current.empty:
            named = ", ".join(f"{task} ({count})" for task, count in current.empty.items())
            Page(self._console).line((f"not handed in yet: {named}", "dim"), hang=2)

    def close(self) -> None:
        """No more is shown."""
        with self._lock:
            self._number += 1

    def _taken(self, number: int) -> _Round:
        store = tempfile.TemporaryDirectory(prefix="labgrade-store-", ignore_cleanup_errors=True)
        who = find.take(self._path, find.name_of(self._path), Path(store.name), opening=self._grader.runner.open)
        current = _Round(number, who, store)
        current.gradings = {f"{task.lab}/{task.id}": TaskGrading(self._grader, task, who) for task in self._tasks}
        return current

    def _items(self, current: _Round, *, search: bool) -> Iterator[tuple[TaskGrading, Item, tuple[str, str]]]:
        """Items with the function that each is about, if any."""
        for grading in current.gradings.values():
            for item in grading.items.values():
                if bool(item.check.counterexample) is search:
                    forms = grading.task.answers[item.check.answer].forms
                    called = next(
                        ((form.file, form.function) for form in forms if isinstance(form, CallForm)), ("", "")
                    )
                    yield grading, item, called

    def _changed(self, who: Submission) -> set[tuple[str, str]]:
        """The functions whose code, or what it leads to in its file, is not what it was."""
        functions = {
            (form.file, form.function)
            for task in self._tasks
            for answer in task.answers.values()
            for form in answer.forms
            if isinstance(form, CallForm)
        }
        now = {each: code_digest(who.folder / each[0], each[1]) for each in functions}
        changed = {each for each in functions if self._digests.get(each) != now[each]}
        self._digests = now
        return changed

    def _judge(self, current: _Round, grading: TaskGrading, item: Item, *, quiet: bool) -> None:
        graded = grading.graded(item.id)
        place = (grading.task.lab, grading.task.id, item.id)
        with self._lock:
            if current.number != self._number:
                return
            before, self._known[place] = self._known.get(place), graded
            same = current.broken.setdefault(_cause(graded, current.broken), [])
            if graded.verdict.outcome in terminal.BROKEN:
                same.append(graded)
            if quiet or before is None or not _differs(before, graded) or len(same) > 1:
                return
            if graded.verdict.outcome in _NO_ANSWER and graded.earned >= before.earned:
                current.empty[grading.task.id] = current.empty.get(grading.task.id, 0) + 1
            else:
                self._show(current, grading.task, before, graded)

    def _search(self, current: _Round) -> None:
        with current.store:
            for grading, item, _ in list(self._items(current, search=True)):
                with self._lock:
                    if current.number != self._number:
                        return
                # The servers end with the session, whatever still waits for them.
                with contextlib.suppress(Exception):
                    known = (grading.task.lab, grading.task.id, item.id) in self._known
                    self._judge(current, grading, item, quiet=not known)

    def _show(self, current: _Round, task: Task, before: Graded, graded: Graded) -> None:
        """A check whose verdict changed, and what it was."""
        page = Page(self._console)
        gained = graded.earned - before.earned
        was, now = before.verdict.outcome, graded.verdict.outcome
        change = f"still {now}" if was is now else f"{was} -> {now}"
        change += f", {float(gained):+g} points" if gained else ""
        style = "green" if gained > 0 else "red" if gained < 0 else ""
        page.line((f"{task.id}  ", "bold"), (change, style))
        report = Report(submissions=(SubmissionReport(name="", tasks=(_report_of(task, [graded]),)),))
        for check in student_view.for_student(report).submissions[0].tasks[0].checks:
            hint = check.verdict.hint
            if hint and hint in current.said:
                check = replace(check, verdict=replace(check.verdict, hint=_AS_ABOVE))  # noqa: PLW2901
            current.said |= {hint}
            terminal.check_lines(page, check, staff=False, said=current.said)

    def _report(self, current: _Round) -> Report:
        tasks = [
            _report_of(task, [self._known[place] for place in self._known if place[:2] == (task.lab, task.id)])
            for task in self._tasks
        ]
        return Report(submissions=(SubmissionReport(name=current.who.name, tasks=tuple(tasks)),))

    def _total(self, current: _Round) -> str:
        return f"{terminal.spread(points.final_totals(self._report(current).submissions[0]))} points"


def _report_of(task: Task, checks: list[Graded]) -> TaskReport:
    found = TaskReport(lab=task.lab, id=task.id, title=task.title, points=task.points, checks=tuple(checks))
    return replace(found, not_shown=task.hidden_points)


def _cause(graded: Graded, known: Collection[str]) -> str:
    """The reason for which a check broke: one that another check broke for, if it is behind this one's, too."""
    own = graded.verdict.reason
    if graded.verdict.outcome not in _SEARCHED:
        return own
    return next((each for each in known if each and each.partition("\n")[0] in own), own)


def _differs(before: Graded, now: Graded) -> bool:
    """Whether there is something new to say: another outcome, other points, or another reason."""
    same = (before.verdict.outcome, before.earned, before.verdict.reason)
    return same != (now.verdict.outcome, now.earned, now.verdict.reason) and not (
        before.verdict.outcome is now.verdict.outcome is Outcome.CORRECT
    )


def code_digest(file: Path, function: str) -> str:
    """A digest of a function and of all in its file that it leads to; of the whole file where that is not known."""
    try:
        text = file.read_bytes()
    except OSError:
        return ""
    try:
        tree = ast.parse(text)
        names = reachable_names(tree, {function})
        parts = [ast.dump(node) for node in tree.body if binds(node) & names or not binds(node)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return hashlib.sha256(text).hexdigest()
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
